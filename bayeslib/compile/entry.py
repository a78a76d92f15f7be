"""A density's machine code: the user's function, and the few instructions around it.

The way in is written as LLVM instructions. As a jitted function it took several times as long to
compile as the densities that it served.
"""

import ctypes
import itertools

from llvmlite import ir
from numba import from_dtype, types

from .autodiff.arena import NUM_WORDS
from .internals import array_over, cgutils, cpu_target, errands_kept, global_compiler_lock
from .kinds import DOUBLE, DOUBLES, FLOAT, HALF, INTS, NATIVE, VECTOR, WORD, WORDS

_NEVER = DOUBLE(float("-inf"))
# NATIVE, as Python knows it.
PROTOTYPE = ctypes.CFUNCTYPE(
    ctypes.c_int32, ctypes.POINTER(ctypes.c_double), *[ctypes.c_void_p] * 3, ctypes.c_int64,
    ctypes.c_void_p,
)  # fmt: skip


class Entry:
    """The machine code of a density; keeps it alive, and callable from Python.

    Attributes
    ----------
    address : int
        For kernels: a `NATIVE` function, which always returns 0.
    """

    @global_compiler_lock
    def __init__(self, compiled):
        self._library = compiled.library
        self.address = self._library.get_pointer_to_function(_symbol(compiled.fndesc))
        self._native = PROTOTYPE(self.address)

    def __call__(self, theta, grad, handle):
        """Return the log density; a fused one fills `grad`."""
        result, x, d, h = ctypes.c_double(), theta.ctypes, grad.ctypes, handle.ctypes
        self._native(result, None, x.data, d.data, theta.size, h.data)
        return result.value


def argument_types(data, num_vectors, *, readonly_theta):
    """Return the types of a density's arguments: theta, the gradient, the tape; and the data."""
    theta = types.Array(FLOAT, 1, "C", readonly=readonly_theta)
    scalars = [(from_dtype(array.dtype), array.ndim) for array in data]
    return (
        *(theta, VECTOR, INTS)[:num_vectors],
        *(types.Array(kind, ndim, "C", readonly=True) if ndim else kind for kind, ndim in scalars),
    )


def _symbol(fndesc):
    return f"density.{fndesc.mangled_name}"


@global_compiler_lock
def add_entry(compiled, kinds, num_vectors, *, bounded):
    """Add to a compiled function what `Entry` offers: arguments unpacked, exceptions counted.

    The first `num_vectors` arguments are theta, the gradient and a tape, the others data. If
    `bounded`, the handle leads to the ends of the support, low ones first. Beyond them the result
    is -inf, whatever the function returns or raises there.
    """
    context = cpu_target.target_context
    module = context.create_module("entry")
    with context.push_code_library(compiled.library):
        _emit_native(context, module, compiled, kinds, num_vectors, bounded)
    compiled.library.add_ir_module(module)
    compiled.library.finalize()
    errands_kept(compiled)  # those of the functions that it calls are known only now


def _emit_native(context, module, compiled, kinds, num_vectors, bounded):
    fndesc, signature = compiled.fndesc, compiled.signature
    function = ir.Function(module, NATIVE, _symbol(fndesc))
    result, _, x, d, n, h = function.args
    builder = ir.IRBuilder(function.append_basic_block())

    places = itertools.count()

    def next_word(kind=None):
        value = builder.load(builder.gep(h, [WORD(next(places))]))
        return value if kind is None else builder.inttoptr(value, kind)

    given = []
    for kind in kinds[num_vectors:]:
        item = getattr(kind, "dtype", kind)
        pointer = next_word(context.get_data_type(item).as_pointer())
        if isinstance(kind, types.Array):
            shape = [next_word() for _ in range(kind.ndim)]
            given.append(array_over(context, builder, kind, pointer, shape))
        else:
            given.append(context.unpack_value(builder, kind, pointer))
    bounds, tape, failed_at = next_word(DOUBLES), next_word(WORDS), next_word(DOUBLES)
    errors = builder.gep(h, [WORD(next(places))])
    vectors = [(x, n), (d, n), (tape, WORD(NUM_WORDS))]
    arguments = [
        array_over(context, builder, kind, data, [size])
        for kind, (data, size) in zip(kinds[:num_vectors], vectors, strict=False)
    ]
    outside = _outside(builder, x, n, bounds) if bounded else ir.IntType(1)(0)
    folded = _folded(context, builder, signature.args, arguments + given)
    status, value = context.call_internal_no_propagate(builder, fndesc, signature, folded)
    with builder.if_else(status.is_error, likely=False) as (raised, fine):
        with raised:
            count = builder.load(errors)
            inside = builder.not_(outside)
            first = builder.icmp_signed("==", count, WORD(0))
            with builder.if_then(builder.and_(first, inside)):
                cgutils.raw_memcpy(builder, failed_at, x, n, 8)
            builder.store(builder.add(count, builder.zext(inside, WORD)), errors)
            builder.store(_NEVER, result)
        with fine:
            value = context.cast(builder, value, signature.return_type, FLOAT)
            builder.store(builder.select(outside, _NEVER, value), result)
    builder.ret(HALF(0))


def _outside(builder, x, n, bounds):
    """Say whether a component of x, (n,), lies beyond its bounds, (2, n)."""
    beyond = cgutils.alloca_once_value(builder, ir.IntType(1)(0))
    with cgutils.for_range(builder, n, intp=WORD) as loop:
        value = builder.load(builder.gep(x, [loop.index]))
        low = builder.load(builder.gep(bounds, [loop.index]))
        high = builder.load(builder.gep(bounds, [builder.add(loop.index, n)]))
        below = builder.fcmp_ordered("<", value, low)
        above = builder.fcmp_ordered(">", value, high)
        found = builder.or_(builder.load(beyond), builder.or_(below, above))
        builder.store(found, beyond)
    return builder.load(beyond)


def _folded(context, builder, taken, arguments):
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
