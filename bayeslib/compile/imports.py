"""Parts of numba, imported without what they need only for linear algebra.

Importing ``scipy.linalg`` takes as long as compiling a small density. numba asks for it when it is
first used, to see whether it is there; a density that multiplies matrices asks again.
"""

import sys


def import_arrays():
    """Import numba's array functions, without SciPy's linear algebra."""
    if "numba.np.arraymath" in sys.modules:
        return
    from numba.np import linalg

    asked, linalg.ensure_blas = linalg.ensure_blas, lambda: None
    try:
        import numba.np.arraymath  # noqa: F401
    finally:
        linalg.ensure_blas = asked
