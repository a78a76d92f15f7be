"""A density's machine code: the user's function, and the few instructions around it.

The way in is written as LLVM instructions. As a jitted function it took several times as long to
compile as the densities that it served.
"""

import ctypes

from llvmlite import ir
from numba import from_dtype, types

from .autodiff.arena import BUSY, WORDS, discard, emit
from .disk import cache_of
from .internals import (
    array_over,
    cgutils,
    cpu_target,
    errands_kept,
    global_compiler_lock,
    load_item,
)

FLOAT, INT = types.float64, types.int64
# The same of every density: the name of its folder tells one from another.
_KEY = FLOAT(types.CPointer(FLOAT), types.CPointer(FLOAT), INT, types.CPointer(INT))

_DOUBLE, _WORD, _INT32, _BYTE = ir.DoubleType(), ir.IntType(64), ir.IntType(32), ir.IntType(8)
_NEVER = ir.Constant(_DOUBLE, float("-inf"))
_TAKEN = [_DOUBLE.as_pointer(), _DOUBLE.as_pointer(), _WORD, _WORD.as_pointer()]
_NATIVE = ir.FunctionType(_INT32, [_DOUBLE.as_pointer(), _BYTE.as_pointer().as_pointer(), *_TAKEN])


class Entry:
    """The machine code of a density; keeps it alive, and callable from Python.

    Attributes
    ----------
    address : int
        For kernels: int32 (double *result, char **unused, double *theta, double *grad, int64 dim,
        int64 *handle), which always returns 0.
    function : ctypes function
        The same as double (theta, grad, dim, handle), of addresses.
    """

    _PROTOTYPE = ctypes.CFUNCTYPE(
        ctypes.c_double, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p
    )

    @global_compiler_lock
    def __init__(self, compiled):
        self._library = compiled.library
        native, plain = _symbols(compiled.fndesc)
        self.address = self._library.get_pointer_to_function(native)
        self.function = self._PROTOTYPE(self._library.get_pointer_to_function(plain))


@global_compiler_lock
def load(stub):
    """Return the Entry stored on disk under the function `stub`, or None."""
    compiled = cache_of(stub).load_overload(_KEY, cpu_target.target_context)
    return None if compiled is None else Entry(compiled)


@global_compiler_lock
def store(stub, compiled):
    """Put on disk what `compile_function` returned, and `add_entry` completed."""
    cache_of(stub).save_overload(_KEY, compiled)


def argument_types(data, *, readonly_theta, has_grad, takes_tape=False):
    """Return the types of a density's arguments."""
    theta = types.Array(FLOAT, 1, "C", readonly=readonly_theta)
    leading = (theta, *((FLOAT[::1],) if has_grad else ()), *((INT[::1],) if takes_tape else ()))
    return (*leading, *(_type_of(array) for array in data))


def _type_of(array):
    scalar = from_dtype(array.dtype)
    return types.Array(scalar, array.ndim, "C", readonly=True) if array.ndim else scalar


def _symbols(fndesc):
    return f"density.{fndesc.mangled_name}", f"cfunc.density.{fndesc.mangled_name}"


@global_compiler_lock
def add_entry(compiled, kinds, *, has_grad, bounded, has_tape=False, takes_tape=False):
    """Add to a compiled function what `Entry` offers: arguments unpacked, exceptions counted.

    If `bounded`, the handle also leads to the ends of the support, low ones first. Beyond them the
    result is -inf, whatever the function returns or raises there. If it `has_tape`, it leads to a
    tape too, after these; the function that `takes_tape` gets it after the gradient.
    """
    context, fndesc = cpu_target.target_context, compiled.fndesc
    module = context.create_module("entry")
    native, plain = _symbols(fndesc)
    form = has_grad, bounded, has_tape, takes_tape
    with context.push_code_library(compiled.library):
        inner = _native_entry(context, module, native, fndesc, kinds, *form)
    outer = ir.Function(module, ir.FunctionType(_DOUBLE, _TAKEN), plain)
    builder = ir.IRBuilder(outer.append_basic_block())
    result = cgutils.alloca_once(builder, _DOUBLE)
    unused = ir.Constant(_BYTE.as_pointer().as_pointer(), None)
    builder.call(inner, [result, unused, *outer.args])
    builder.ret(builder.load(result))
    compiled.library.add_ir_module(module)
    compiled.library.finalize()
    errands_kept(compiled)  # those of the functions that it calls are known only now


def _native_entry(context, module, name, fndesc, kinds, has_grad, bounded, has_tape, takes_tape):
    function = ir.Function(module, _NATIVE, name)
    result, _, x, d, n, h = function.args
    builder = ir.IRBuilder(function.append_basic_block())

    def word(index, kind=None):
        value = builder.load(builder.gep(h, [ir.Constant(_WORD, index)]))
        return value if kind is None else builder.inttoptr(value, kind)

    arguments = [array_over(context, builder, kinds[0], x, [n])]
    if has_grad:
        arguments.append(array_over(context, builder, kinds[1], d, [n]))
    at, data_kinds = 0, kinds[len(arguments) + takes_tape :]
    if takes_tape:
        words = sum(1 + getattr(kind, "ndim", 0) for kind in data_kinds)
        tape, give_back = _borrow_tape(context, builder, word(words + bounded, _WORD.as_pointer()))
        size = [ir.Constant(_WORD, WORDS)]
        arguments.append(array_over(context, builder, kinds[len(arguments)], tape, size))
    for kind in data_kinds:
        is_array = isinstance(kind, types.Array)
        stored = context.get_data_type(kind.dtype if is_array else kind).as_pointer()
        shape = [word(at + 1 + j) for j in range(kind.ndim)] if is_array else []
        view = kind if is_array else types.Array(kind, 1, "C")
        pointer = word(at, stored)
        arguments.append(
            array_over(context, builder, kind, pointer, shape)
            if is_array
            else load_item(context, builder, view, pointer)
        )
        at += 1 + len(shape)
    outside = ir.Constant(ir.IntType(1), 0)
    if bounded:
        outside = _outside(builder, x, n, word(at, _DOUBLE.as_pointer()))
        at += 1
    at += has_tape
    callee = ir.Function(
        module, context.call_conv.get_function_type(fndesc.restype, fndesc.argtypes),
        fndesc.llvm_func_name,
    )  # fmt: skip
    folded = _folded(context, builder, fndesc.argtypes, kinds, arguments)
    status, value = context.call_conv.call_function(
        builder, callee, fndesc.restype, fndesc.argtypes, folded
    )
    if takes_tape:
        give_back()
    with builder.if_else(status.is_error, likely=False) as (raised, fine):
        with raised:
            errors = builder.gep(h, [ir.Constant(_WORD, at + 1)])
            count = builder.load(errors)
            inside = builder.not_(outside)
            first = builder.icmp_signed("==", count, ir.Constant(_WORD, 0))
            with builder.if_then(builder.and_(first, inside)):
                failed = word(at, _DOUBLE.as_pointer())
                with cgutils.for_range(builder, n, intp=_WORD) as loop:
                    builder.store(
                        builder.load(builder.gep(x, [loop.index])),
                        builder.gep(failed, [loop.index]),
                    )
            builder.store(builder.add(count, builder.zext(inside, _WORD)), errors)
            builder.store(_NEVER, result)
        with fine:
            value = context.cast(builder, value, fndesc.restype, FLOAT)
            builder.store(builder.select(outside, _NEVER, value), result)
    builder.ret(ir.Constant(_INT32, 0))
    return function


def _borrow_tape(context, builder, tape):
    """Return a tape for this evaluation, and what emits giving it back.

    It is the one at `tape`; where another thread is using that, a new one, thrown away afterwards.
    """
    new = cgutils.alloca_once(builder, _WORD, size=WORDS)
    one, zero = ir.Constant(_WORD, 1), ir.Constant(_WORD, 0)
    busy = builder.gep(tape, [ir.Constant(_WORD, BUSY)])
    taken = builder.icmp_unsigned("!=", builder.atomic_rmw("xchg", busy, one, "acq_rel"), zero)
    with builder.if_then(taken, likely=False):
        for i in range(WORDS):
            builder.store(zero, builder.gep(new, [ir.Constant(_WORD, i)]))
    chosen = builder.select(taken, new, tape)

    def give_back():
        with builder.if_else(taken, likely=False) as (from_here, from_there):
            with from_here:
                emit(context, builder, discard, [builder.ptrtoint(new, _WORD)])
            with from_there:
                builder.store_atomic(zero, busy, "release", 8)

    return chosen, give_back


def _outside(builder, x, n, bounds):
    """Say whether a component of x, (n,), lies beyond its bounds, (2, n)."""
    beyond = cgutils.alloca_once_value(builder, ir.Constant(ir.IntType(1), 0))
    with cgutils.for_range(builder, n, intp=_WORD) as loop:
        value = builder.load(builder.gep(x, [loop.index]))
        low = builder.load(builder.gep(bounds, [loop.index]))
        high = builder.load(builder.gep(bounds, [builder.add(loop.index, n)]))
        below = builder.fcmp_ordered("<", value, low)
        above = builder.fcmp_ordered(">", value, high)
        found = builder.or_(builder.load(beyond), builder.or_(below, above))
        builder.store(found, beyond)
    return builder.load(beyond)


def _folded(context, builder, taken, kinds, arguments):
    """Return the arguments as numba's functions take them: those of ``*data`` in a tuple."""
    folded = []
    for i, kind in enumerate(taken):
        if isinstance(kind, types.Omitted):
            folded.append(None)
        elif isinstance(kind, types.BaseTuple):  # data are arrays and numbers only
            folded.append(context.make_tuple(builder, kind, arguments[i:]))
        else:
            folded.append(arguments[i])
    return folded
