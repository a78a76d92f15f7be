"""Linear algebra and other functions of whole arrays, as loops that serve any kind of number.

NumPy's own stay in charge of floats: these are used where an argument depends on theta. Of some,
as triu and tril, numba's own code serves any kind of number.
"""

import numpy as np
from numba import njit, types
from numba.extending import intrinsic, overload

from ..functions.elementwise import active, generic, result_type
from ..internals import methods_of
from .duals import REAL, Active
from .scalars import RULE

WHOLE = {}  # NumPy's functions, and the loops that stand in for them


def depends(*kinds):
    return any(isinstance(kind, Active) for kind in active(kinds))


def loops_for(*names):
    """Decorate a function that stands in for those of NumPy where an argument depends on theta."""

    def register(function):
        for name in names:
            generic(function, name, depends)
            WHOLE[name] = function
        return function

    return register


# ---------------------------------------------------------------------------------- linear algebra
@loops_for(np.linalg.cholesky)
def cholesky(a):
    n = a.shape[0]
    out = np.zeros((n, n), a.dtype)
    for j in range(n):
        for i in range(j, n):
            entry = a[i, j]
            for k in range(j):
                entry -= out[i, k] * out[j, k]
            out[i, j] = np.sqrt(entry) if i == j else entry / out[j, j]
    return out


@njit(**RULE)
def factors(a):
    """Both triangles of a = P L U in one array, the order of the rows, and the sign of P."""
    lu, rows, sign = a.copy(), np.arange(a.shape[0]), 1.0
    for k in range(rows.size):
        pivot = k
        for i in range(k + 1, rows.size):
            if np.abs(lu[i, k]) > np.abs(lu[pivot, k]):
                pivot = i
        if pivot != k:
            sign = -sign
            rows[k], rows[pivot] = rows[pivot], rows[k]
            for j in range(rows.size):
                lu[k, j], lu[pivot, j] = lu[pivot, j], lu[k, j]
        for i in range(k + 1, rows.size):
            lu[i, k] = lu[i, k] / lu[k, k]
            for j in range(k + 1, rows.size):
                lu[i, j] -= lu[i, k] * lu[k, j]
    return lu, rows, sign


@loops_for(np.linalg.solve)
def solve(a, b):
    lu, rows, _ = factors(a)
    n = rows.size
    x = np.empty(b.shape, result_type(a, b)).reshape(n, b.size // n)
    for i in range(n):
        x[i] = b[rows[i]]
    for column in range(x.shape[1]):
        for i in range(n):
            for k in range(i):
                x[i, column] -= lu[i, k] * x[k, column]
        for i in range(n - 1, -1, -1):
            for k in range(i + 1, n):
                x[i, column] -= lu[i, k] * x[k, column]
            x[i, column] /= lu[i, i]
    return x.reshape(b.shape)


@loops_for(np.linalg.inv)
def inv(a):
    return np.linalg.solve(a, np.eye(a.shape[0]))


@loops_for(np.linalg.det)
def det(a):
    lu, _, result = factors(a)
    for i in range(lu.shape[0]):
        result = result * lu[i, i]
    return result


@loops_for(np.linalg.slogdet)
def slogdet(a):
    lu, _, sign = factors(a)
    result = 0.0
    for i in range(lu.shape[0]):
        result += np.log(np.abs(lu[i, i]))
        sign = sign if lu[i, i] > 0.0 else -sign
    return sign, result


@loops_for(np.linalg.norm)
def norm(x):
    return np.sqrt(np.sum(x * x))


@loops_for(np.outer)
def outer(a, b):
    return a.ravel().reshape(a.size, 1) * b.ravel()


@loops_for(np.trace)
def trace(a):
    return np.sum(np.diag(a))


# ------------------------------------------------------------------------------ sums, and their kin
@loops_for(np.var, methods_of("var"))
def var(a):
    return np.sum((a - np.mean(a)) ** 2) / a.size


@loops_for(np.std, methods_of("std"))
def std(a):
    return np.sqrt(np.var(a))


@loops_for(np.prod, methods_of("prod"))
def prod(a):
    result = 1.0
    for x in a.flat:
        result *= x
    return result


@loops_for(np.cumsum, methods_of("cumsum"))
def cumsum(a):
    out = a.flatten()
    for i in range(1, a.size):
        out[i] += out[i - 1]
    return out


@loops_for(np.cumprod, methods_of("cumprod"))
def cumprod(a):
    out = a.flatten()
    for i in range(1, a.size):
        out[i] = out[i] * out[i - 1]
    return out


# -------------------------------------------------------------------------------- along a line
@loops_for(np.linspace)
def linspace(start, stop, num=50):
    return start + (stop - start) * (np.arange(num) / (num - 1.0))


@njit(**RULE)
def interpolated(x, xp, fp):
    if x <= xp[0]:
        return fp[0] + 0.0 * x
    for i in range(1, xp.size):
        if x <= xp[i]:
            return fp[i - 1] + (fp[i] - fp[i - 1]) * ((x - xp[i - 1]) / (xp[i] - xp[i - 1]))
    return fp[-1] + 0.0 * x


def interp(x, xp, fp):
    return np.array([interpolated(number, xp, fp) for number in x.ravel()]).reshape(x.shape)


@overload(np.interp)
def interp_of(x, xp, fp):
    if not depends(x, xp, fp):
        return None
    return interp if isinstance(x, types.Array) else lambda x, xp, fp: interpolated(x, xp, fp)


def interp_of_any(x, xp, fp):
    return interp(x, xp, fp) if isinstance(x, np.ndarray) else interpolated(x, xp, fp)


# ----------------------------------------------------------------------------------- making arrays
@intrinsic
def one_row(typingctx, rows):
    """A tuple of numbers, or of tuples of numbers, as one of numbers that depend on theta."""
    inner = rows.types if isinstance(rows[0], types.BaseTuple) else (rows,)
    dual = next(kind for row in inner for kind in row if isinstance(kind, Active))
    row = types.UniTuple(dual, len(inner[0]))
    kind = types.UniTuple(row, len(rows)) if inner[0] is not rows else row
    return kind(rows), lambda context, builder, signature, args: context.cast(
        builder, args[0], signature.args[0], signature.return_type
    )


@overload(np.array)
@overload(np.asarray)
def array_of(a):
    if isinstance(a, types.Array):
        return (lambda a: a.copy()) if depends(a) else None
    if isinstance(a, types.List):
        if depends(a.dtype):
            return lambda a: fill_row(a)
        return (lambda a: fill_rows(a)) if depends(getattr(a.dtype, "dtype", None)) else None
    if not isinstance(a, types.BaseTuple):
        return None
    rows = a.types if all(isinstance(kind, types.BaseTuple) for kind in a) else (a,)
    numbers = [kind for row in rows for kind in row]
    known = all(isinstance(kind, (Active, *REAL)) for kind in numbers)
    if not known or not depends(*numbers) or len(set(map(len, rows))) > 1:
        return None
    fill = fill_rows if rows[0] is not a else fill_row
    return lambda a: fill(one_row(a))


@njit(**RULE)
def fill_row(a):
    out = np.empty(len(a), result_type(a[0], a[0]))
    for i in range(len(a)):
        out[i] = a[i]
    return out


@njit(**RULE)
def fill_rows(a):
    out = np.empty((len(a), len(a[0])), result_type(a[0][0], a[0][0]))
    for i in range(len(a)):
        out[i] = fill_row(a[i])
    return out
