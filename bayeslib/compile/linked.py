"""Functions with machine code of their own: compiled once, and called by every density by address.

Inlined, they took most of the time that a density with them in it takes to compile.
"""

import importlib
import threading
from functools import cache, partial
from hashlib import sha256
from pathlib import Path

import llvmlite.binding as llvm

from .arithmetic import JIT
from .disk import Stored
from .internals import CFunc, before_linking, cgutils, keep_in

_lock = threading.Lock()
_known, loaded = {}, {}  # by symbol: the function and its signature; its machine code


class Linked:
    """A function that compiled code calls by its symbol.

    Parameters
    ----------
    symbol : str
    function : callable
        In numba's subset.
    signature : numba.core.typing.Signature
    """

    def __init__(self, symbol, function, signature):
        _known[symbol] = function, signature
        self._symbol, self._load = symbol, partial(load, symbol, function.__module__)

    def call(self, context, builder, kind, args):
        """Emit a call; `kind` is the type of the function, as LLVM knows it."""
        self._load()
        before_linking(context, self._load)
        function = cgutils.get_or_insert_function(builder.module, kind, self._symbol)
        return builder.call(function, args)


def load(symbol, module):
    """Compile a function, or find it on disk, and tell the linker where it is.

    Densities on disk name this as what to do before they are linked.
    """
    importlib.import_module(module)  # which a density from the disk has not done
    with _lock:
        if symbol not in loaded:
            function, signature = _known[symbol]
            code = CFunc(function, (signature.args, signature.return_type), {}, JIT)
            keep_in(code, Stored(symbol, stamp()))
            code.compile()
            llvm.add_symbol(symbol, code.address)
            loaded[symbol] = code


@cache
def stamp():
    """Return a digest of this folder, in which lies all that they call, and densities but yours."""
    files = sorted(Path(__file__).parent.rglob("*.py"))
    return sha256(b"".join(path.read_bytes() for path in files)).hexdigest()
