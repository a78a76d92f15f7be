"""Machine code of its own for a pass over the rows of data: compiled once, called by every density.

Inlined, the pass took most of the time that a density with a regression in it takes to compile.
"""

import threading
from functools import partial
from hashlib import sha256
from pathlib import Path
from types import CellType, FunctionType

import llvmlite.binding as llvm
from llvmlite import ir
from numba import carray, njit, types
from numba.extending import intrinsic

from ..arithmetic import JIT
from ..disk import cache_of
from ..internals import CFunc, before_linking, keep_in

_DOUBLES = types.CPointer(types.float64)
_NUMBERS = (types.intp,) * 3
_SIGNATURE = types.float64(_DOUBLES, _DOUBLES, _DOUBLES, _DOUBLES, *_NUMBERS)
_lock = threading.Lock()
_rows, _loaded = {}, {}  # of each symbol: the function, its machine code


def native_pass(rows):
    """Return the intrinsic (theta, grad, X, y) that calls a pass by its symbol.

    Parameters
    ----------
    rows : callable
        In numba's subset; adds to `grad`, which may be None.
    """
    symbol = f"bayeslib.{rows.__name__}"
    _rows[symbol] = rows
    load_it = partial(load, symbol)
    double, word = ir.DoubleType(), ir.IntType(64)
    pointer = double.as_pointer()
    native = ir.FunctionType(double, [*[pointer] * 4, *[word] * 3])

    @intrinsic
    def call(typingctx, theta, grad, X, y):
        def codegen(context, builder, signature, args):
            load_it()
            before_linking(context, load_it)
            theta, grad, X, y = (
                None if kind is types.none else context.make_array(kind)(context, builder, value)
                for kind, value in zip(signature.args, args, strict=True)
            )
            slopes = ir.Constant(pointer, None) if grad is None else grad.data
            function = builder.module.globals.get(symbol)
            if function is None:
                function = ir.Function(builder.module, native, symbol)
            pointers = [theta.data, slopes, X.data, y.data]
            sizes = [builder.extract_value(array.shape, 0) for array in (theta, y)]
            wanted = ir.Constant(word, int(grad is not None))
            return builder.call(function, [*pointers, *sizes, wanted])

        return types.float64(theta, grad, X, y), codegen

    return call


def load(symbol):
    """Compile a pass, or find it on disk, and tell the linker where it is.

    Densities on disk name this as what to do before they are linked.
    """
    with _lock:
        if symbol not in _loaded:
            function = _of_pointers(_rows[symbol])
            code = CFunc(function, (_SIGNATURE.args, _SIGNATURE.return_type), {}, JIT)
            keep_in(code, cache_of(function))
            code.compile()
            llvm.add_symbol(symbol, code.address)
            _loaded[symbol] = code


def takes(theta, grad, X, y):
    """Say whether arrays of these numba types can be handed over as they are."""
    arrays = [(theta, 1), (X, 2), (y, 1)] + ([] if grad is types.none else [(grad, 1)])
    return all(
        isinstance(kind, types.Array)
        and (kind.dtype, kind.ndim, kind.layout) == (types.float64, ndim, "C")
        for kind, ndim in arrays
    )


def _native(theta, grad, X, y, dim, n, wanted):
    theta, X, y = carray(theta, (dim,)), carray(X, (n, dim)), carray(y, (n,))
    if wanted:
        return rows(theta, carray(grad, (dim,)), X, y)  # noqa: F821
    return rows(theta, None, X, y)  # noqa: F821


def _of_pointers(rows):
    """Return `_native` for this pass, with a stamp as a closure variable that it does not use.

    numba's disk cache notices an edit of a function's own file, and other values of its closure,
    but not an edit of what it calls; a jitted function in the closure would never be found again.
    """
    folder = Path(__file__).parent
    files = [*sorted(folder.glob("*.py")), folder.parent / "arithmetic.py"]
    stamp = sha256(b"".join(path.read_bytes() for path in files)).hexdigest() + rows.__name__
    code = _native.__code__.replace(co_freevars=("stamp",))
    names = _native.__globals__ | {"rows": njit(**JIT, forceinline=True)(rows)}
    return FunctionType(code, names, rows.__name__, None, (CellType(stamp),))
