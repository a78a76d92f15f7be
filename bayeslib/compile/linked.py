"""Functions with machine code of their own: compiled once, and called by every density by a symbol.

Inlined, they took most of the time that a density with them in it takes to compile. They are plain
Python, of addresses and numbers, all int64, and return one; see `emit`.
"""

import importlib
from functools import cache, partial
from hashlib import sha256
from pathlib import Path

import llvmlite.binding as llvm
from llvmlite import ir
from numba import config, types
from numba.extending import intrinsic

from .disk import Stored
from .internals import CFunc, array_over, before_linking, cgutils, keep_in, make_array
from .kinds import DOUBLES, FLOAT, INT, JIT, WORD

loaded, _errands = {}, {}  # by symbol: the machine code, and how to have it


def emit(context, builder, function, args):
    """Emit a call of such a function, which its module has by its own name."""
    symbol = f"{function.__module__}.{function.__name__}"
    errand = _errands.setdefault(symbol, partial(load, symbol))
    errand()
    before_linking(context, errand)
    kind = ir.FunctionType(WORD, [WORD] * len(args))
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, symbol), args)


def native(function):
    """Make of such a function one that compiled code may call by its name, with integers."""

    @intrinsic
    def call(typingctx, *args):
        def codegen(context, builder, signature, given):
            (numbers,) = given
            return emit(context, builder, function, cgutils.unpack_tuple(builder, numbers))

        return INT(types.StarArgUniTuple(INT, len(args))), codegen

    return call


def address_in(member):
    """Make a function of an array, or None: the address that its struct has there, or 0."""

    @intrinsic
    def address(typingctx, array):
        def codegen(context, builder, signature, args):
            if array is types.none:
                return WORD(0)
            found = make_array(array)(context, builder, args[0])
            return builder.ptrtoint(getattr(found, member), WORD)

        return INT(array), codegen

    return address


# Where the first entry of an array lies, and who keeps it: 0 where nobody may free it.
address_of, owner_of = map(address_in, ("data", "meminfo"))


def load(symbol):
    """Compile a function, or find it on disk, and tell the linker where it is.

    Densities on disk name this as what to do before they are linked. Numba's lock is held then, as
    it is while one is compiled.
    """
    module, _, name = symbol.rpartition(".")
    function = getattr(importlib.import_module(module), name)
    if symbol not in loaded:
        code = CFunc(function, ((INT,) * function.__code__.co_argcount, INT), {}, JIT)
        keep_in(code, Stored(symbol, stamp()))
        code.compile()
        llvm.add_symbol(symbol, code.address)
        loaded[symbol] = code


@cache
def stamp():
    """Return a digest of this folder, in which lies all that they call, and densities but yours."""
    files = sorted(Path(__file__).parent.rglob("*.py"))
    checked = str(config.BOUNDSCHECK).encode()
    return sha256(b"".join([checked, *(path.read_bytes() for path in files)])).hexdigest()


def view_of(kind):
    """Make a function of an address: the memory there, as an array of `kind` without an end."""
    array_kind = types.Array(kind, 1, "C")

    @intrinsic
    def view(typingctx, address):
        def codegen(context, builder, signature, args):
            data = builder.inttoptr(args[0], context.get_data_type(kind).as_pointer())
            return array_over(context, builder, array_kind, data, [WORD(1 << 48)])

        return array_kind(INT), codegen

    return view


words, doubles, halves = map(view_of, (INT, FLOAT, types.int32))
INDEX = types.uint64  # for such an array: it is not asked whether it counts from the end


@intrinsic
def rows_at(typingctx, address, line):
    """The memory at an address, as rows of `line` bytes each, of doubles, without an end."""
    kind = types.Array(FLOAT, 2, "C")

    def codegen(context, builder, signature, args):
        data, width = builder.inttoptr(args[0], DOUBLES), builder.sdiv(args[1], WORD(8))
        return array_over(context, builder, kind, data, [WORD(1 << 48), width])

    return kind(INT, INT), codegen
