"""Whole arrays of active numbers: sums, products, assignments, linear algebra.

Elementwise arithmetic needs nothing here: numba turns it into loops by itself (see `duals`). The
functions are loops that serve any kind of number. NumPy's own stay in charge of floats: these are
used where an argument depends on theta. Of some, as triu and tril, numba's own code will do.
"""

import operator

import numpy as np
from numba import njit, types
from numba.extending import intrinsic, overload

from ...errors import GradientError
from ..functions.elementwise import active, elementwise, generic, result_type
from ..functions.regression import PASSES
from ..internals import is_nonelike, keep_in_float64, methods_of, stack_vector, stand_among_arrays
from ..kinds import OURS, REAL
from .duals import Active, common_dual, value_of, with_value
from .scalars import RULE

WHOLE = {}  # NumPy's functions, and the loops that stand in for them


def holds_duals(kind):
    return isinstance(kind, types.Array) and isinstance(kind.dtype, Active)


# ------------------------------------------------------------------------------------- reductions
def total(a, axis=None, dtype=None):
    if isinstance(a, Active):
        return lambda a, axis=None, dtype=None: a
    if not holds_duals(a):
        return None
    if not is_nonelike(axis):
        return total_along if a.ndim == 2 else None

    def sum_of_duals(a, axis=None, dtype=None):
        result = 0.0
        for x in a.flat:
            result += x
        return result

    return a.dtype.own.get("sum", sum_of_duals)


def total_along(a, axis=None, dtype=None):
    if not -2 <= axis < 2:
        raise ValueError("axis is out of bounds")
    rows = a if axis % 2 else a.T
    out = np.empty(rows.shape[0], a.dtype)
    for i in range(out.size):
        out[i] = np.sum(rows[i])
    return out


def mean(a):
    return np.sum(a) / a.size


def register_reduction(name, choose):
    # Asked before numba's own rule (that is what the target does), a loop over the numbers. And
    # numba types a.sum() by its own function of that method: it has to learn these as well.
    overload(getattr(np, name), target="cpu")(choose)
    overload(methods_of(name), target="cpu")(choose)


register_reduction("sum", total)
register_reduction("mean", lambda a: mean if holds_duals(a) else None)


# --------------------------------------------------------------------------------------- products
@njit(**OURS)
def vector_vector(a, b):
    result = 0.0
    for i in range(a.size):
        result += a[i] * b[i]
    return result


@njit(**OURS)
def matrix_vector(a, b):
    out = np.empty(a.shape[0], result_type(a, b))
    for i in range(a.shape[0]):
        out[i] = vector_vector(a[i], b)
    return out


@njit(**OURS)
def matrix_matrix(a, b):
    out = np.empty((a.shape[0], b.shape[1]), result_type(a, b))
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            out[i, j] = vector_vector(a[i], b[:, j])
    return out


@njit(**OURS)
def vector_matrix(a, b):
    return np.dot(b.T, a)


PRODUCTS = {
    (1, 1): vector_vector, (1, 2): vector_matrix, (2, 1): matrix_vector, (2, 2): matrix_matrix,
}  # fmt: skip


@overload(operator.matmul)
@overload(np.dot)
@overload(np.vdot)
def matrix_product(a, b):
    active = common_dual((a, b))
    if active is None:
        return None
    shapes = getattr(a, "ndim", 0), getattr(b, "ndim", 0)
    multiply = active.own.get((*shapes, holds_duals(a)), PRODUCTS.get(shapes))
    if multiply is None:
        return None

    def product(a, b):
        if a.shape[-1] != b.shape[0]:
            raise ValueError("the two sides of a product differ in length")
        return multiply(a, b)

    return product


# --------------------------------------------------------- sums over rows, with their own gradients
def register_pass(function, one_pass):
    """Let `function(theta, X, y)` compute its gradient by `one_pass`, once for all directions."""

    @overload(function)
    def compiled(theta, X, y):
        if not holds_duals(theta):
            return None
        if holds_duals(X) or holds_duals(y):
            raise GradientError(f"{function.__name__} differentiates by theta only, not by X or y")

        def total_of_rows(theta, X, y):
            values, slopes = stack_vector(theta.size), stack_vector(theta.size)
            for j in range(theta.size):
                values[j] = value_of(theta[j])
                slopes[j] = 0.0
            value = one_pass(values, slopes, X, y)
            return with_value(np.dot(slopes, theta), value)

        return total_of_rows


for function, one_pass in PASSES.items():
    register_pass(function, one_pass)


# -------------------------------------------------------------------------------- making, changing
def change_inplace(symbol, inplace):
    # Written out: numba makes a loop of `a + b`, not of a call of operator.add.
    scope = {}
    exec(f"def changed(a, b):\n    a[:] = a {symbol} b\n    return a", scope)

    # Asked before numba's own rule, as above: it would die on a dual.
    @overload(inplace, target="cpu")
    def change(a, b):
        if not isinstance(a, types.Array) or common_dual((a, b)) is None:
            return None
        if not holds_duals(a):
            raise GradientError(
                f"no gradient through `a {symbol}= b` where a holds floats; "
                f"write a = a {symbol} b, or make a with dtype=theta.dtype"
            )
        return scope["changed"]


for symbol, name in {"+": "iadd", "-": "isub", "*": "imul", "/": "itruediv", "**": "ipow"}.items():
    change_inplace(symbol, getattr(operator, name))


@elementwise
def choose(condition, x, y):
    return x if condition else y


@overload(np.where)
def where(condition, x, y):
    return None if common_dual((x, y)) is None else lambda condition, x, y: choose(condition, x, y)


stand_among_arrays(Active)
keep_in_float64(Active)


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
