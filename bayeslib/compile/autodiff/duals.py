"""Dual numbers as a numba type: a value and the partial derivatives along k directions at once.

`Active` is any number that depends on the parameters: these, and those of a tape (see `tape`). What
is written for active numbers by `unpack` and `pack`, or as a loop over them, serves both.

`Dual(k)` is an LLVM struct of a double and a vector of k doubles, so one arithmetic operation on
the partials is a handful of SIMD instructions. An ordinary numba array may hold it, which is how
indexing, slices, iteration, unpacking and `len` of the parameter vector come for free.
"""

from llvmlite import ir
from numba import types
from numba.extending import box, intrinsic, lower_cast, models, register_model

from ..functions.elementwise import active
from ..internals import Conversion, array_over, cgutils, lower_constant, make_array
from ..kinds import DOUBLE, FLOAT, HALF, REAL, WORD

ONE = DOUBLE(1.0)


class Active(types.Type):
    """A number that depends on the parameters.

    Its `unpack` gives the value and how that changes with the parameters; its `pack` makes a number
    of a value and of terms, pairs of a slope and the change of what it is a slope by. Without terms
    it is a constant. Its `struct`, for LLVM, is packed: without padding in memory, or an alignment
    that an array would not give.
    """

    is_internal = True  # numba then fuses array expressions that hold such numbers
    # What this type does in a way of its own: "sum", and products of arrays by their numbers of
    # dimensions and whether the first holds such numbers.
    own = {}

    def made_of(self, builder, *members):
        number = self.struct(ir.Undefined)
        for i, member in enumerate(members):
            number = builder.insert_value(number, member, i)
        return number

    def unify(self, typingctx, other):
        return self if isinstance(other, REAL) else None

    def can_convert_from(self, typingctx, other):
        return Conversion.safe if isinstance(other, REAL) else None


class Dual(Active):
    """Its value and k partial derivatives."""

    def __init__(self, k):
        self.k = k
        self.struct = ir.LiteralStructType([DOUBLE, ir.VectorType(DOUBLE, k)], packed=True)
        super().__init__(name=f"Dual{k}")

    def unpack(self, context, builder, number):
        return [builder.extract_value(number, i) for i in range(2)]

    def pack(self, context, builder, value, terms):
        change = zeros(self.k)
        for i, (slope, partials) in enumerate(terms):
            if slope != ONE:
                partials = builder.fmul(partials, splat(builder, slope, self.k))
            change = builder.fadd(change, partials) if i else partials
        return self.made_of(builder, value, change)


@register_model(Dual)
class ActiveModel(models.PrimitiveModel):
    def __init__(self, dmm, kind):
        super().__init__(dmm, kind, kind.struct)


@box(Active)
def to_python(kind, number, c):
    """What `print` shows of it: its value."""
    return c.pyapi.float_from_double(kind.unpack(c.context, c.builder, number)[0])


def common_dual(kinds):
    """The active type among numbers and arrays; None where there is none or something else."""
    found = {*active(kinds)}
    dual = found.pop() if len(found) == 1 else None
    return dual if isinstance(dual, Active) else None


# ---------------------------------------------------------------- building blocks of the lowering
def unpack(context, builder, kind, number):
    """Value and change of a lowered argument; a plain number does not change (None)."""
    if isinstance(kind, Active):
        return kind.unpack(context, builder, number)
    return context.cast(builder, number, kind, FLOAT), None


def zeros(k):
    return ir.Constant(ir.VectorType(DOUBLE, k), [0.0] * k)


def splat(builder, scalar, k):
    undefined = ir.Constant(ir.VectorType(scalar.type, k), ir.Undefined)
    filled = builder.insert_element(undefined, scalar, HALF(0))
    mask = ir.Constant(ir.VectorType(HALF, k), [0] * k)
    return builder.shuffle_vector(filled, undefined, mask)


@lower_constant(Active)
def constant(context, builder, kind, value):
    # The zero that numba's own sums start from.
    nothing = [member(None) for member in kind.struct.elements[1:]]
    return kind.struct([DOUBLE(value), *nothing])


@lower_cast(types.Float, Active)
@lower_cast(types.Integer, Active)
@lower_cast(types.Boolean, Active)
def cast_real(context, builder, from_kind, to_kind, number):
    value = context.cast(builder, number, from_kind, FLOAT)
    return to_kind.pack(context, builder, value, [])


# --------------------------------------------------------------- in and out of the fused function
@intrinsic
def value_of(typingctx, number):
    """The value of an active or a plain number."""
    if isinstance(number, types.Optional):
        raise TypeError(f"value_of({number})")  # known to `explain`; numba's own error says nothing
    if not isinstance(number, (Active, *REAL)):
        return None

    def codegen(context, builder, signature, arguments):
        return unpack(context, builder, signature.args[0], arguments[0])[0]

    return FLOAT(number), codegen


@intrinsic
def with_value(typingctx, number, value):
    """The active number of another value that changes as this one does."""

    def codegen(context, builder, signature, arguments):
        change = unpack(context, builder, number, arguments[0])[1]
        return number.pack(context, builder, arguments[1], [(ONE, change)])

    return number(number, FLOAT), codegen


@intrinsic
def write_partials(typingctx, number, grad, first, num):
    """Write the first `num` partial derivatives of a dual to ``grad[first:]``; zeros of a number.

    As a whole vector: LLVM moves a read of one lane, by its number, up into all that made it.
    """
    if not isinstance(number, (Dual, *REAL)):
        return None

    def codegen(context, builder, signature, arguments):
        of, array_kind = signature.args[:2]
        partials = unpack(context, builder, of, arguments[0])[1]
        into = make_array(array_kind)(context, builder, arguments[1]).data
        into = builder.gep(into, [arguments[2]])
        size = builder.mul(arguments[3], WORD(8))
        if partials is None:
            cgutils.memset(builder, into, size, 0)
        else:
            made = cgutils.alloca_once_value(builder, partials)
            cgutils.raw_memcpy(builder, into, made, size, 1)
        return context.get_dummy_value()

    return types.none(number, grad, types.intp, types.intp), codegen


@intrinsic
def seed(typingctx, theta, first, dim, k):
    """The (dim,) parameters as dual numbers, differentiated by k of them from `first` on.

    The array lives on the stack: no allocation, no reference count, and LLVM keeps short
    parameter vectors in registers.
    """
    if not (isinstance(dim, types.IntegerLiteral) and isinstance(k, types.IntegerLiteral)):
        return None
    num, lanes = dim.literal_value, k.literal_value
    kind = Dual(lanes)
    array_kind = types.Array(kind, 1, "C")

    def codegen(context, builder, signature, arguments):
        source = make_array(signature.args[0])(context, builder, arguments[0])
        item = context.get_data_type(kind)
        data = cgutils.alloca_once(builder, item, size=WORD(num))
        lane_numbers = ir.Constant(ir.VectorType(WORD, lanes), list(range(lanes)))
        with cgutils.for_range(builder, WORD(num), intp=WORD) as loop:
            lane = splat(builder, builder.sub(loop.index, arguments[1]), lanes)
            hit = builder.icmp_signed("==", lane, lane_numbers)
            one_hot = builder.uitofp(hit, zeros(lanes).type)
            value = builder.load(builder.gep(source.data, [loop.index]))
            dual = kind.pack(context, builder, value, [(ONE, one_hot)])
            context.pack_value(builder, kind, dual, builder.gep(data, [loop.index]))
        return array_over(context, builder, array_kind, data, [WORD(num)])

    return array_kind(theta, first, dim, k), codegen
