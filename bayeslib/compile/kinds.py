"""What kernels take, as numba knows it."""

import numpy as np
from numba import typeof, types

FLOAT, INT = types.float64, types.int64
VECTOR, MATRIX, INTS = FLOAT[::1], FLOAT[:, ::1], INT[::1]
ADDRESS, HANDLE = INT, INT[::1]
GENERATOR = typeof(np.random.default_rng(0))
