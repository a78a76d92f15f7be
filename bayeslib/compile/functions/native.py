"""Machine code of its own for a pass over the rows of data."""

from llvmlite import ir
from numba import carray, types
from numba.extending import intrinsic

from ..kinds import DOUBLE, DOUBLES, WORD
from ..linked import Linked

_DOUBLES = types.CPointer(types.float64)
_NUMBERS = (types.intp,) * 3
_SIGNATURE = types.float64(_DOUBLES, _DOUBLES, _DOUBLES, _DOUBLES, *_NUMBERS)


def native_pass(rows):
    """Return the intrinsic (theta, grad, X, y) that calls a pass by its symbol.

    Parameters
    ----------
    rows : numba dispatcher
        Adds to `grad`, which may be None.
    """

    def compiled(theta, grad, X, y, dim, n, wanted):
        theta, X, y = carray(theta, (dim,)), carray(X, (n, dim)), carray(y, (n,))
        if wanted:
            return rows(theta, carray(grad, (dim,)), X, y)
        return rows(theta, None, X, y)

    compiled.__qualname__ = rows.__name__
    linked = Linked(f"bayeslib.{rows.__name__}", compiled, _SIGNATURE)
    native = ir.FunctionType(DOUBLE, [*[DOUBLES] * 4, *[WORD] * 3])

    @intrinsic
    def call(typingctx, theta, grad, X, y):
        def codegen(context, builder, signature, args):
            theta, grad, X, y = (
                None if kind is types.none else context.make_array(kind)(context, builder, value)
                for kind, value in zip(signature.args, args, strict=True)
            )
            slopes = DOUBLES(None) if grad is None else grad.data
            pointers = [theta.data, slopes, X.data, y.data]
            sizes = [builder.extract_value(array.shape, 0) for array in (theta, y)]
            wanted = WORD(int(grad is not None))
            return linked.call(context, builder, native, [*pointers, *sizes, wanted])

        return types.float64(theta, grad, X, y), codegen

    return call


def takes(theta, grad, X, y):
    """Say whether arrays of these numba types can be handed over as they are."""
    arrays = [(theta, 1), (X, 2), (y, 1)] + ([] if grad is types.none else [(grad, 1)])
    return all(
        isinstance(kind, types.Array)
        and (kind.dtype, kind.ndim, kind.layout) == (types.float64, ndim, "C")
        for kind, ndim in arrays
    )
