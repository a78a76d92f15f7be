"""What kernels take, as numba knows it, and of what it is made, as LLVM does."""

import numpy as np
from llvmlite import ir
from numba import typeof, types

FLOAT, INT = types.float64, types.int64
VECTOR, MATRIX, INTS = FLOAT[::1], FLOAT[:, ::1], INT[::1]
ADDRESS, HANDLE = INT, INT[::1]
GENERATOR = typeof(np.random.default_rng(0))

REAL = (types.Float, types.Integer, types.Boolean)

DOUBLE, WORD, HALF, BYTE = ir.DoubleType(), ir.IntType(64), ir.IntType(32), ir.IntType(8)
DOUBLES, WORDS = DOUBLE.as_pointer(), WORD.as_pointer()
# int32 (double *result, char **unused, double *theta, double *grad, int64 dim, int64 *handle)
NATIVE = ir.FunctionType(
    HALF, [DOUBLES, BYTE.as_pointer().as_pointer(), DOUBLES, DOUBLES, WORD, WORDS]
)
