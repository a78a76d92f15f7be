"""Dual numbers as a numba type: a value and the partial derivatives along k directions at once.

`Dual(k)` is an LLVM struct of a double and a vector of k doubles, so one arithmetic operation on
the partials is a handful of SIMD instructions. An ordinary numba array may hold it, which is how
indexing, slices, iteration, unpacking and `len` of the parameter vector come for free.

Importing this module registers everything with numba; `differentiate` does so at the first use.
"""

import math
import operator

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.core.datamodel import models
from numba.core.imputils import lower_cast
from numba.core.typeconv import Conversion
from numba.extending import (
    intrinsic,
    lower_builtin,
    register_model,
    type_callable,
)
from numba.np.arrayobj import make_array, populate_array

from .rules import BINARY, UNARY

f8 = types.float64
REAL = (types.Float, types.Integer, types.Boolean)
# Not nnan and ninf: they would delete the guards against nan and -inf in user code.
FAST = {"reassoc", "contract", "arcp", "nsz"}
RULE = dict(error_model="numpy", fastmath=FAST, no_cpython_wrapper=True)


class Partials(types.Type):
    """A vector of k partial derivatives."""

    def __init__(self, k):
        self.k = k
        super().__init__(name=f"Partials{k}")


class Dual(types.Type):
    """A number that depends on the parameters: its value and k partial derivatives."""

    is_internal = True  # numba then fuses array expressions that hold dual numbers

    def __init__(self, k):
        self.k = k
        super().__init__(name=f"Dual{k}")

    def unify(self, typingctx, other):
        if isinstance(other, REAL):
            return self
        return None

    def can_convert_from(self, typingctx, other):
        return Conversion.safe if isinstance(other, REAL) else None

    def cast_python_value(self, value):
        return float(value)


@register_model(Partials)
class PartialsModel(models.PrimitiveModel):
    def __init__(self, dmm, fe_type):
        super().__init__(dmm, fe_type, ir.VectorType(ir.DoubleType(), fe_type.k))

    def load_from_data_pointer(self, builder, ptr, align=None):
        # An array gives 8-byte alignment; LLVM would assume that of the whole vector.
        return builder.load(ptr, align=8 if align is None else align)


@register_model(Dual)
class DualModel(models.StructModel):
    def __init__(self, dmm, fe_type):
        super().__init__(dmm, fe_type, [("value", f8), ("partials", Partials(fe_type.k))])

    def get_data_type(self):
        # Packed in memory: no padding, and no alignment that an array would not give.
        elements = [model.get_data_type() for model in self._models]
        return ir.LiteralStructType(elements, packed=True)


# ---------------------------------------------------------------- building blocks of the lowering
def unpack(context, builder, kind, number):
    """Value and partials of a lowered argument; a plain number has no partials (None)."""
    if isinstance(kind, Dual):
        dual = cgutils.create_struct_proxy(kind)(context, builder, number)
        return dual.value, dual.partials
    return context.cast(builder, number, kind, f8), None


def pack(context, builder, kind, value, partials):
    dual = cgutils.create_struct_proxy(kind)(context, builder)
    dual.value = value
    dual.partials = zeros(kind.k) if partials is None else partials
    return dual._getvalue()


def zeros(k):
    return ir.Constant(ir.VectorType(ir.DoubleType(), k), [0.0] * k)


def splat(builder, scalar, k):
    lane = ir.Constant(ir.IntType(32), 0)
    vector = builder.insert_element(zeros(k), scalar, lane)
    mask = ir.Constant(ir.VectorType(ir.IntType(32), k), [0] * k)
    return builder.shuffle_vector(vector, zeros(k), mask)


def scale(builder, partials, factor, k):
    return None if partials is None else builder.fmul(partials, splat(builder, factor, k))


def add(builder, left, right):
    if left is None or right is None:
        return left or right
    return builder.fadd(left, right)


def call(context, builder, function, kinds, arguments, returns=f8):
    """Emit a call of a function that numba knows (built in, or a dispatcher)."""
    kind = context.typing_context.resolve_value_type(function)
    signature = kind.get_call_type(context.typing_context, kinds, {})
    implementation = context.get_function(kind, signature)
    result = implementation(builder, arguments)
    return context.cast(builder, result, signature.return_type, returns)


def register(functions, arity, lower, returns=None):
    """Teach numba `functions` of dual numbers: their type here, their code in `lower`.

    Array arguments need a type only: numba fuses array expressions into loops of its own, over the
    scalar code registered here. `returns` is the type of an element, the dual's own when None.
    """

    def result(*kinds):
        dual = common_dual(kinds)
        if dual is None:
            return None
        element = returns or dual
        ndim = max(getattr(kind, "ndim", 0) for kind in kinds)
        return types.Array(element, ndim, "C") if ndim else element

    def unary_type(context):
        return lambda x: result(x)

    def binary_type(context):
        return lambda x, y: result(x, y)

    patterns = [(Dual,)]
    if arity == 2:
        patterns = [(Dual, Dual), *((Dual, real) for real in REAL), *((real, Dual) for real in REAL)]
    for function in functions:
        type_callable(function)(unary_type if arity == 1 else binary_type)
        for pattern in patterns:
            lower_builtin(function, *pattern)(lower)


def common_dual(kinds):
    """The dual type among numbers and arrays; None where there is none or something else."""
    elements = {kind.dtype if isinstance(kind, types.Array) else kind for kind in kinds}
    duals = {element for element in elements if isinstance(element, Dual)}
    others = elements - duals
    return duals.pop() if len(duals) == 1 and all(isinstance(o, REAL) for o in others) else None


# ---------------------------------------------------------------------------- arithmetic, by hand
def lower_arithmetic(formula):
    def lower(context, builder, signature, arguments):
        kind = signature.return_type
        pairs = zip(signature.args, arguments)
        (x, dx), (y, dy) = (unpack(context, builder, *pair) for pair in pairs)
        return pack(context, builder, kind, *formula(builder, kind.k, x, dx, y, dy))

    return lower


def add_formula(builder, k, x, dx, y, dy):
    return builder.fadd(x, y), add(builder, dx, dy)


def sub_formula(builder, k, x, dx, y, dy):
    return builder.fsub(x, y), add(builder, dx, None if dy is None else builder.fneg(dy))


def mul_formula(builder, k, x, dx, y, dy):
    return builder.fmul(x, y), add(builder, scale(builder, dx, y, k), scale(builder, dy, x, k))


def div_formula(builder, k, x, dx, y, dy):
    quotient = builder.fdiv(x, y)
    if dy is not None:
        dx = add(builder, dx, scale(builder, dy, builder.fneg(quotient), k))
    return quotient, scale(builder, dx, builder.fdiv(ir.Constant(y.type, 1.0), y), k)


for operators, formula in (
    ((operator.add, operator.iadd), add_formula),
    ((operator.sub, operator.isub), sub_formula),
    ((operator.mul, operator.imul), mul_formula),
    ((operator.truediv, operator.itruediv), div_formula),
):
    register(operators, 2, lower_arithmetic(formula))


def lower_negative(context, builder, signature, arguments):
    value, partials = unpack(context, builder, signature.args[0], arguments[0])
    negated = builder.fneg(value), builder.fneg(partials)
    return pack(context, builder, signature.return_type, *negated)


register([operator.neg, np.negative], 1, lower_negative)
register([operator.pos, float], 1, lambda context, builder, signature, arguments: arguments[0])


# --------------------------------------------------------- functions, from the table of derivatives
def compiled_rule(derivative, function, argument):
    # Names of its own for each: cached code is linked by name.
    derivative.__qualname__ = f"derivative_of_{function.__name__}_by_{argument}"
    return njit(**RULE)(derivative)


def lower_unary(function, derivative):
    derivative = compiled_rule(derivative, function, "x")

    def lower(context, builder, signature, arguments):
        kind = signature.return_type
        x, dx = unpack(context, builder, kind, arguments[0])
        value = call(context, builder, function, (f8,), (x,))
        slope = call(context, builder, derivative, (f8, f8), (x, value))
        return pack(context, builder, kind, value, scale(builder, dx, slope, kind.k))

    return lower


def lower_binary(function, *derivatives):
    derivatives = [compiled_rule(by, function, x) for by, x in zip(derivatives, "xy")]

    def lower(context, builder, signature, arguments):
        kind = signature.return_type
        # An integer exponent stays one: a power by multiplication is exact and fast.
        keep = [t if isinstance(t, types.Integer) else f8 for t in signature.args]
        parts = [unpack(context, builder, *p) for p in zip(signature.args, arguments)]
        plain = [
            a if isinstance(t, types.Integer) else x
            for t, a, (x, _) in zip(signature.args, arguments, parts)
        ]
        value = call(context, builder, function, tuple(keep), tuple(plain))
        total = None
        for derivative, (_, partials) in zip(derivatives, parts):
            if partials is not None:
                kinds, numbers = (*keep, f8), (*plain, value)
                slope = call(context, builder, derivative, kinds, numbers)
                total = add(builder, total, scale(builder, partials, slope, kind.k))
        return pack(context, builder, kind, value, total)

    return lower


for functions, derivative in UNARY:
    register(functions, 1, lower_unary(functions[0], derivative))
for functions, by_x, by_y in BINARY:
    register(functions, 2, lower_binary(functions[0], by_x, by_y))


# ------------------------------------------------------------- comparisons: of the values, to bool
def lower_comparison(symbol):
    def lower(context, builder, signature, arguments):
        pairs = zip(signature.args, arguments)
        (x, _), (y, _) = (unpack(context, builder, *pair) for pair in pairs)
        if symbol == "!=":
            return builder.fcmp_unordered(symbol, x, y)
        return builder.fcmp_ordered(symbol, x, y)

    return lower


for name, symbol in dict(lt="<", le="<=", gt=">", ge=">=", eq="==", ne="!=").items():
    ufunc = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}
    functions = [getattr(operator, name), *([ufunc[symbol]] if symbol in ufunc else [])]
    register(functions, 2, lower_comparison(symbol), types.boolean)


def lower_test(function):
    def lower(context, builder, signature, arguments):
        value, _ = unpack(context, builder, signature.args[0], arguments[0])
        return call(context, builder, function, (f8,), (value,), types.boolean)

    return lower


for name in ("isnan", "isinf", "isfinite"):
    test = getattr(math, name)
    register([test, getattr(np, name)], 1, lower_test(test), types.boolean)


def cast_real(context, builder, from_kind, to_kind, number):
    value = context.cast(builder, number, from_kind, f8)
    return pack(context, builder, to_kind, value, None)


for real in REAL:
    lower_cast(real, Dual)(cast_real)


def lower_choice(comparison):
    """max and min take the partials of the argument that they return."""

    def lower(context, builder, signature, arguments):
        kind = signature.return_type
        pairs = zip(arguments, signature.args)
        x, y = (context.cast(builder, number, of, kind) for number, of in pairs)
        values = [unpack(context, builder, kind, dual)[0] for dual in (y, x)]
        # As Python does: the first argument, unless the second is strictly beyond it.
        return builder.select(builder.fcmp_ordered(comparison, *values), y, x)

    return lower


register([max, np.maximum], 2, lower_choice(">"))
register([min, np.minimum], 2, lower_choice("<"))


# --------------------------------------------------------------- in and out of the fused function
@intrinsic
def value_of(typingctx, number):
    """The value of a dual or a plain number."""
    if not isinstance(number, (Dual, *REAL)):
        return None

    def codegen(context, builder, signature, arguments):
        return unpack(context, builder, signature.args[0], arguments[0])[0]

    return f8(number), codegen


@intrinsic
def partial(typingctx, number, lane):
    """Partial derivative number `lane` of a dual; zero for a plain number."""
    if not isinstance(number, (Dual, *REAL)):
        return None

    def codegen(context, builder, signature, arguments):
        partials = unpack(context, builder, signature.args[0], arguments[0])[1]
        if partials is None:
            return ir.Constant(ir.DoubleType(), 0.0)
        return builder.extract_element(partials, builder.trunc(arguments[1], ir.IntType(32)))

    return f8(number, types.intp), codegen


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
        word = context.get_value_type(types.intp)
        data = cgutils.alloca_once(builder, item, size=ir.Constant(word, num))
        vector = ir.VectorType(word, lanes)
        lane_numbers = ir.Constant(vector, list(range(lanes)))
        with cgutils.for_range(builder, ir.Constant(word, num), intp=word) as loop:
            lane = builder.sub(loop.index, arguments[1])
            lane = splat_integer(builder, lane, vector)
            hit = builder.icmp_signed("==", lane, lane_numbers)
            one_hot = builder.uitofp(hit, zeros(lanes).type)
            value = builder.load(builder.gep(source.data, [loop.index]))
            dual = pack(context, builder, kind, value, one_hot)
            context.pack_value(builder, kind, dual, builder.gep(data, [loop.index]))
        size = context.get_constant(types.intp, context.get_abi_sizeof(item))
        result = make_array(array_kind)(context, builder)
        populate_array(
            result,
            data=data,
            shape=[ir.Constant(word, num)],
            strides=[size],
            itemsize=size,
            meminfo=None,
        )
        return result._getvalue()

    return array_kind(theta, first, dim, k), codegen


def splat_integer(builder, scalar, vector):
    undefined = ir.Constant(vector, ir.Undefined)
    filled = builder.insert_element(undefined, scalar, ir.Constant(ir.IntType(32), 0))
    mask = ir.Constant(ir.VectorType(ir.IntType(32), vector.count), [0] * vector.count)
    return builder.shuffle_vector(filled, undefined, mask)
