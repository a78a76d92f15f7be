"""Arithmetic, functions and comparisons of active numbers, taught to numba.

Importing this module registers everything; `differentiate` does so at its first use.
"""

import dis
import math
import operator
from functools import cache
from itertools import product

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import lower_builtin, overload, type_callable

from ..arithmetic import JIT
from ..internals import type_of_literals
from .duals import REAL, Active, add, common_dual, f8, negate, scale, unpack
from .rules import BINARY, UNARY

RULE = JIT | {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
LITERAL_POWERS = (operator.pow, operator.ipow)  # x ** 2 is typed with its exponent


# ----------------------------------------------------------------------------------- registration
def register(functions, arity, lower, returns=None):
    """Teach numba `functions` of active numbers: their type here, their code in `lower`.

    Array arguments need a type only, of what numba fuses into loops of its own over the scalar code
    registered here: operators and ufuncs. `returns` is the type of an element, the active one when
    None.
    """
    for function in functions:
        register_one(function, arity, lower, returns)


def register_one(function, arity, lower, returns):
    is_fused = isinstance(function, np.ufunc) or function.__module__ == "_operator"

    def result(*kinds):
        dual = common_dual(kinds)
        ndim = max(getattr(kind, "ndim", 0) for kind in kinds)
        if dual is None or (ndim and not is_fused):
            return None
        return types.Array(returns or dual, ndim, "C") if ndim else returns or dual

    # numba reads their signatures
    typer = (lambda x: result(x)) if arity == 1 else (lambda x, y: result(x, y))
    pairs = [(Active, Active), *product([Active], REAL), *product(REAL, [Active])]
    if function in LITERAL_POWERS:
        type_of_literals(function, lambda context: typer)
    else:
        type_callable(function)(lambda context: typer)
    for pattern in [(Active,)] if arity == 1 else pairs:
        lower_builtin(function, *pattern)(lower)


def call(context, builder, function, kinds, arguments, returns=f8):
    """Emit a call of a function that numba knows (built in, or a dispatcher)."""
    kind = context.typing_context.resolve_value_type(function)
    signature = kind.get_call_type(context.typing_context, kinds, {})
    implementation = context.get_function(kind, signature)
    result = implementation(builder, arguments)
    return context.cast(builder, result, signature.return_type, returns)


def unpack_all(context, builder, signature, arguments):
    """Return the value and the partials of each argument."""
    pairs = zip(signature.args, arguments, strict=True)
    return [unpack(context, builder, *pair) for pair in pairs]


# ---------------------------------------------------------------------------- arithmetic, by hand
def lower_arithmetic(formula):
    def lower(context, builder, signature, arguments):
        kind = signature.return_type
        (x, dx), (y, dy) = unpack_all(context, builder, signature, arguments)
        return kind.pack(context, builder, *formula(builder, kind.k, x, dx, y, dy))

    return lower


def divided(builder, k, x, dx, y, dy):
    quotient = builder.fdiv(x, y)
    if dy is not None:
        dx = add(builder, dx, scale(builder, dy, builder.fneg(quotient), k))
    return quotient, scale(builder, dx, builder.fdiv(ir.Constant(y.type, 1.0), y), k)


for name, formula in {
    "add": lambda b, k, x, dx, y, dy: (b.fadd(x, y), add(b, dx, dy)),
    "sub": lambda b, k, x, dx, y, dy: (b.fsub(x, y), add(b, dx, negate(b, dy))),
    "mul": lambda b, k, x, dx, y, dy: (
        b.fmul(x, y),
        add(b, scale(b, dx, y, k), scale(b, dy, x, k)),
    ),
    "truediv": divided,
}.items():
    operators = getattr(operator, name), getattr(operator, f"i{name}")
    register(operators, 2, lower_arithmetic(formula))


def lower_negative(context, builder, signature, arguments):
    value, partials = unpack(context, builder, signature.args[0], arguments[0])
    negated = builder.fneg(value), negate(builder, partials)
    return signature.return_type.pack(context, builder, *negated)


register([operator.neg, np.negative], 1, lower_negative)
register([operator.pos, float], 1, lambda context, builder, signature, arguments: arguments[0])


# --------------------------------------------------------- functions, from the table of derivatives
class Emitted:
    """A number of the code being generated: a rule of plain arithmetic, called with it, emits."""

    def __init__(self, builder, value):
        self.builder, self.value = builder, value

    def _of(self, other):
        return other.value if isinstance(other, Emitted) else ir.Constant(ir.DoubleType(), other)

    def _with(self, operation, left, right):
        return Emitted(self.builder, getattr(self.builder, operation)(left, right))

    def __add__(self, other):
        return self._with("fadd", self.value, self._of(other))

    def __mul__(self, other):
        return self._with("fmul", self.value, self._of(other))

    def __rsub__(self, other):
        return self._with("fsub", self._of(other), self.value)

    def __rtruediv__(self, other):
        return self._with("fdiv", self._of(other), self.value)

    __radd__, __rmul__ = __add__, __mul__


@cache
def compiled_rule(derivative, function, argument):
    # Names of its own for each: cached code is linked by name.
    derivative.__qualname__ = f"derivative_of_{function.__name__}_by_{argument}"
    return njit(**RULE)(derivative)


def lower_function(function, *derivatives):
    def lower(context, builder, signature, arguments):
        kind = signature.return_type
        parts = unpack_all(context, builder, signature, arguments)
        kinds, numbers = [f8 for _ in parts], [x for x, _ in parts]
        if isinstance(signature.args[-1], types.Integer):
            # An integer exponent stays one: a power by multiplication is exact and fast.
            kinds[-1], numbers[-1] = signature.args[-1], arguments[-1]
        value = call(context, builder, function, tuple(kinds), tuple(numbers))
        kinds, numbers, total = (*kinds, f8), (*numbers, value), None
        for derivative, (_, partials), name in zip(derivatives, parts, "xy", strict=False):
            if partials is None:
                continue
            if derivative in ARITHMETIC:  # to compile a function would take a new process 15 ms
                slope = derivative(*(Emitted(builder, number) for number in numbers)).value
            else:
                rule = compiled_rule(derivative, function, name)
                slope = call(context, builder, rule, kinds, numbers)
            total = add(builder, total, scale(builder, partials, slope, kind.k))
        return kind.pack(context, builder, value, total)

    return lower


def is_arithmetic(derivative):
    """Whether a rule neither calls nor compares."""
    steps = {step.opname for step in dis.get_instructions(derivative)}
    return not derivative.__code__.co_names and "COMPARE_OP" not in steps


ARITHMETIC = {derivative for _, derivative in UNARY if is_arithmetic(derivative)}
for functions, *derivatives in (*UNARY, *BINARY):
    register(functions, len(derivatives), lower_function(functions[0], *derivatives))


# ----------------------------------------------- powers whose exponent stands in the code: x ** 2
def raised(builder, x, exponent):
    """x ** exponent, by squaring, in the order of numba's own code for numbers."""
    result = ir.Constant(x.type, 1.0)
    while exponent:
        if exponent & 1:
            result = builder.fmul(result, x)
        exponent >>= 1
        x = builder.fmul(x, x) if exponent else x
    return result


def lower_literal_power(context, builder, signature, arguments):
    kind, exponent = signature.return_type, signature.args[1].literal_value
    x, dx = unpack(context, builder, kind, arguments[0])
    value, size = raised(builder, x, abs(exponent)), abs(exponent)
    one, factor = (ir.Constant(x.type, float(number)) for number in (1, exponent))
    if exponent < 0:
        value = builder.fdiv(one, value)
        slope = builder.fdiv(factor, raised(builder, x, size + 1))
    else:
        slope = builder.fmul(factor, raised(builder, x, max(size - 1, 0)))
    return kind.pack(context, builder, value, scale(builder, dx, slope, kind.k))


# Without this each compiled density would compile numba's loop over an exponent's bits.
for power in LITERAL_POWERS:
    lower_builtin(power, Active, types.IntegerLiteral)(lower_literal_power)


# ------------------------------------------------------------- comparisons: of the values, to bool
def lower_comparison(symbol):
    def lower(context, builder, signature, arguments):
        (x, _), (y, _) = unpack_all(context, builder, signature, arguments)
        compare = builder.fcmp_unordered if symbol == "!=" else builder.fcmp_ordered
        return compare(symbol, x, y)

    return lower


for name, symbol in {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}.items():
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


def lower_choice(comparison):
    """max and min take the partials of the argument that they return."""

    def lower(context, builder, signature, arguments):
        kind = signature.return_type
        pairs = zip(arguments, signature.args, strict=True)
        x, y = (context.cast(builder, number, of, kind) for number, of in pairs)
        values = [unpack(context, builder, kind, dual)[0] for dual in (y, x)]
        # As Python does: the first argument, unless the second is strictly beyond it.
        return builder.select(builder.fcmp_ordered(comparison, *values), y, x)

    return lower


register([max, np.maximum], 2, lower_choice(">"))
register([min, np.minimum], 2, lower_choice("<"))


def extreme_of_many(extreme):
    def many(*numbers):
        return extreme(extreme(numbers[0], numbers[1]), *numbers[2:])

    overload(extreme)(lambda *numbers: many if len(numbers) > 2 and common_dual(numbers) else None)


extreme_of_many(max)
extreme_of_many(min)
