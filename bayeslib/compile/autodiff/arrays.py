"""Sums, products and assignments of whole arrays of dual numbers.

Elementwise arithmetic needs nothing here: numba turns it into loops by itself (see `duals`).
"""

import operator

import numpy as np
from numba import types
from numba.extending import intrinsic, overload

from ...errors import GradientError
from ..functions.regression import PASSES, stack_vector
from ..internals import is_nonelike, methods_of, stand_among_arrays
from .duals import Dual, common_dual, value_of, with_value


def holds_duals(kind):
    return isinstance(kind, types.Array) and isinstance(kind.dtype, Dual)


# ------------------------------------------------------------------------------------- reductions
def total(a, axis=None, dtype=None):
    if not holds_duals(a) or not is_nonelike(axis):
        return None

    def sum_of_duals(a, axis=None, dtype=None):
        result = 0.0
        for x in a.flat:
            result += x
        return result

    return sum_of_duals


def mean(a):
    return (lambda a: np.sum(a) / a.size) if holds_duals(a) else None


def product(a):
    if not holds_duals(a):
        return None

    def product_of_duals(a):
        result = 1.0
        for x in a.flat:
            result *= x
        return result

    return product_of_duals


def running_total(a):
    if not (holds_duals(a) and a.ndim == 1):
        return None

    def running_total_of_duals(a):
        out = a.copy()
        for i in range(1, a.size):
            out[i] += out[i - 1]
        return out

    return running_total_of_duals


# numba types a.sum() by its own function of that method: it has to learn these as well.
REDUCTIONS = {"sum": total, "mean": mean, "prod": product, "cumsum": running_total}
for name, implementation in REDUCTIONS.items():
    overload(getattr(np, name))(implementation)
    overload(methods_of(name))(implementation)


# --------------------------------------------------------------------------------------- products
@intrinsic
def dual_dtype(typingctx, a, b):
    """The dtype of a combination of `a` and `b`, for np.empty."""
    dual = common_dual((a, b))
    if dual is None:
        return None
    return types.DType(dual)(a, b), lambda context, *_: context.get_dummy_value()


def vector_vector(a, b):
    if a.size != b.size:
        raise ValueError("the two sides of a product differ in length")
    result = 0.0
    for i in range(a.size):
        result += a[i] * b[i]
    return result


def matrix_vector(a, b):
    if a.shape[1] != b.size:
        raise ValueError("the two sides of a product differ in length")
    out = np.empty(a.shape[0], dual_dtype(a, b))
    for i in range(a.shape[0]):
        entry = 0.0
        for j in range(b.size):
            entry += a[i, j] * b[j]
        out[i] = entry
    return out


def vector_matrix(a, b):
    return np.dot(b.T, a)


@overload(operator.matmul)
@overload(np.dot)
@overload(np.vdot)
def matrix_product(a, b):
    if common_dual((a, b)) is None:
        return None
    products = {(1, 1): vector_vector, (2, 1): matrix_vector, (1, 2): vector_matrix}
    return products.get((getattr(a, "ndim", 0), getattr(b, "ndim", 0)))


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
            result = slopes[0] * theta[0]
            for j in range(1, theta.size):
                result += slopes[j] * theta[j]
            return with_value(result, value)

        return total_of_rows


for function, one_pass in PASSES.items():
    register_pass(function, one_pass)


# -------------------------------------------------------------------------------- making, changing
def refuse_inplace(symbol, inplace):
    # Asked before numba's own rule (that is what the target does), which would die on a dual.
    @overload(inplace, target="cpu")
    def refuse(a, b):
        if isinstance(a, types.Array) and common_dual((a, b)) is not None:
            raise GradientError(
                f"no gradient through `a {symbol}= b` on a whole array; write a = a {symbol} b"
            )


for name, symbol in {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "pow": "**"}.items():
    refuse_inplace(symbol, getattr(operator, "i" + name))


@overload(np.array)
@overload(np.asarray)
def array_of(a):
    if holds_duals(a):
        return lambda a: a.copy()
    if isinstance(a, types.UniTuple) and isinstance(a.dtype, Dual):

        def array_of_duals(a):
            out = np.empty(len(a), dual_dtype(a[0], 0.0))
            for i in range(len(a)):
                out[i] = a[i]
            return out

        return array_of_duals
    return None


@overload(np.where)
def where(condition, x, y):
    if common_dual((x, y)) is None:
        return None
    if isinstance(condition, types.Boolean):
        return lambda condition, x, y: x if condition else y
    if getattr(condition, "ndim", 0) != 1 or {getattr(kind, "ndim", 0) for kind in (x, y)} - {0, 1}:
        return None

    def choose(condition, x, y):
        out = np.empty(condition.size, dual_dtype(x, y))
        for i in range(out.size):
            out[i] = entry(x, i) if condition[i] else entry(y, i)
        return out

    return choose


def entry(a, i):
    """Entry i of an array, or the number itself."""


@overload(entry)
def _entry(a, i):
    return (lambda a, i: a[i]) if isinstance(a, types.Array) else (lambda a, i: a)


stand_among_arrays(Dual)
