"""Machine code of its own for a pass over the rows of data: compiled once, called by every density.

Inlined, the pass took most of the time that a density with a regression in it takes to compile.
"""

import threading
from hashlib import sha256
from pathlib import Path
from types import CellType, FunctionType

import llvmlite.binding as llvm
from llvmlite import ir
from numba import carray, njit, types
from numba.core.ccallback import CFunc
from numba.extending import intrinsic

from ..arithmetic import FAST
from ..disk import cache_of

_OPTIONS = {"error_model": "numpy", "nogil": True, "fastmath": FAST}
_DOUBLES = types.CPointer(types.float64)
_NUMBERS = (types.intp,) * 3
_SIGNATURE = types.float64(_DOUBLES, _DOUBLES, _DOUBLES, _DOUBLES, *_NUMBERS)
_lock = threading.Lock()


class NativePass:
    """A function of (theta, grad, X, y) that adds to `grad`, as a symbol known to the linker.

    Parameters
    ----------
    rows : callable
        In numba's subset; its `grad` may be None.
    load : callable
        Calls `load` of this object; a function of an importable module, because densities on disk
        name it as what to do before they are linked.
    """

    def __init__(self, rows, load):
        self.symbol = f"bayeslib.{rows.__name__}"
        self._rows, self._load, self._code = rows, load, None
        self.call = self._intrinsic()

    def load(self):
        """Compile the pass, or find it on disk, and tell the linker where it is."""
        with _lock:
            if self._code is None:
                function = _of_pointers(self._rows)
                code = CFunc(function, (_SIGNATURE.args, _SIGNATURE.return_type), {}, _OPTIONS)
                code._cache = cache_of(function)
                code.compile()
                llvm.add_symbol(self.symbol, code.address)
                self._code = code

    def _intrinsic(self):
        double, word = ir.DoubleType(), ir.IntType(64)
        pointer = double.as_pointer()
        native = ir.FunctionType(double, [*[pointer] * 4, *[word] * 3])

        @intrinsic
        def call(typingctx, theta, grad, X, y):
            def codegen(context, builder, signature, args):
                self._load()
                context.active_code_library._reload_init.add(self._load)
                theta, grad, X, y = (
                    None
                    if kind is types.none
                    else context.make_array(kind)(context, builder, value)
                    for kind, value in zip(signature.args, args, strict=True)
                )
                slopes = ir.Constant(pointer, None) if grad is None else grad.data
                function = builder.module.globals.get(self.symbol)
                if function is None:
                    function = ir.Function(builder.module, native, self.symbol)
                pointers = [theta.data, slopes, X.data, y.data]
                sizes = [builder.extract_value(array.shape, 0) for array in (theta, y)]
                wanted = ir.Constant(word, int(grad is not None))
                return builder.call(function, [*pointers, *sizes, wanted])

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
    names = _native.__globals__ | {"rows": njit(**_OPTIONS, forceinline=True)(rows)}
    return FunctionType(code, names, rows.__name__, None, (CellType(stamp),))
