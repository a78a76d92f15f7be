"""Sums, products and assignments of whole arrays of active numbers.

Elementwise arithmetic needs nothing here: numba turns it into loops by itself (see `duals`).
"""

import operator

import numpy as np
from numba import njit, types
from numba.extending import overload

from ...errors import GradientError
from ..functions.elementwise import elementwise, result_type
from ..functions.regression import PASSES
from ..internals import is_nonelike, keep_in_float64, methods_of, stack_vector, stand_among_arrays
from ..kinds import OURS
from .duals import Active, common_dual, value_of, with_value


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
