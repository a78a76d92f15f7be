"""What all that is compiled shares: how freely it may round, and the types of what it takes.

Sums may be reordered, functions are called as written. LLVM's flag for reordering also lets it
cancel ``exp(log(x))`` to x, and a density that is nan for x < 0 would then have a value there.
"""

import numpy as np
from llvmlite import ir
from numba import typeof, types

from .internals import ReorderedSums

# Everything of fastmath but nnan and ninf: a nan must still reject, an infinity still compare.
FAST = ReorderedSums({"reassoc", "contract", "arcp", "nsz"})
JIT = {"nogil": True, "error_model": "numpy", "fastmath": FAST}
# Part of its callers, which alone could be called from C; making that possible takes time.
INLINED = JIT | {"forceinline": True, "no_cfunc_wrapper": True}
# The same of functions that Python could not call, for their numbers are none of its own.
OURS = INLINED | {"no_cpython_wrapper": True}
# No reassociation: it would undo the rounding by addition in `functions.logistic.exp_negative`.
EXACT = INLINED | {"fastmath": {"contract"}}

# What kernels take, as numba knows it, and of what it is made, as LLVM does.
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
