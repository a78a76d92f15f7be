"""Arithmetic, functions and comparisons of active numbers, taught to numba.

Importing this module registers everything; `differentiate` does so at its first use.
"""

import dis
import math
import operator
from functools import cache, partialmethod
from itertools import chain, product

import numpy as np
from numba import njit, types
from numba.extending import lower_builtin, overload, type_callable

from ..internals import type_of_literals
from ..kinds import DOUBLE, FLOAT, JIT, REAL
from .duals import Active, common_dual, unpack
from .rules import ARITHMETIC, BINARY, UNARY

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


def call(context, builder, function, kinds, arguments, returns=FLOAT):
    """Emit a call of a function that numba knows (built in, or a dispatcher)."""
    kind = context.typing_context.resolve_value_type(function)
    signature = kind.get_call_type(context.typing_context, kinds, {})
    implementation = context.get_function(kind, signature)
    result = implementation(builder, arguments)
    return context.cast(builder, result, signature.return_type, returns)


def unpack_all(context, builder, signature, arguments):
    """Return the value and the change of each argument."""
    pairs = zip(signature.args, arguments, strict=True)
    return [unpack(context, builder, *pair) for pair in pairs]


register([operator.pos, float], 1, lambda context, builder, signature, arguments: arguments[0])


# --------------------------------------------------------- functions, from the table of derivatives
class Emitted:
    """A number of the code being generated: plain arithmetic with it emits instructions."""

    def __init__(self, builder, value):
        self.builder, self.value = builder, value

    def combine(self, instruction, other, swapped=False):
        pair = (emitted(other), self.value) if swapped else (self.value, emitted(other))
        return Emitted(self.builder, getattr(self.builder, instruction)(*pair))

    def __neg__(self):
        return Emitted(self.builder, self.builder.fneg(self.value))

    def __pow__(self, exponent):
        """By squaring, in the order of numba's own code for numbers."""
        result, x, rest = 1.0, self, abs(exponent)
        while rest:
            if rest & 1:
                result = result * x
            rest >>= 1
            x = x * x if rest else x
        return 1.0 / result if exponent < 0 else result


def emitted(number):
    return number.value if isinstance(number, Emitted) else DOUBLE(number)


for name, instruction in {"add": "fadd", "sub": "fsub", "mul": "fmul", "truediv": "fdiv"}.items():
    setattr(Emitted, f"__{name}__", partialmethod(Emitted.combine, instruction))
    setattr(Emitted, f"__r{name}__", partialmethod(Emitted.combine, instruction, swapped=True))


@cache
def compiled_rule(derivative, function, argument):
    # Names of its own for each: cached code is linked by name.
    derivative.__qualname__ = f"derivative_of_{function.__name__}_by_{argument}"
    return njit(**RULE)(derivative)


def lower_function(function, *derivatives):
    def lower(context, builder, signature, arguments):
        parts = unpack_all(context, builder, signature, arguments)
        kinds, numbers = [FLOAT for _ in parts], [x for x, _ in parts]
        if function in OPERATORS:
            value = emitted(function(*(Emitted(builder, x) for x in numbers)))
        else:
            if isinstance(signature.args[-1], types.Integer):
                # An integer exponent stays one: a power by multiplication is exact and fast.
                kinds[-1], numbers[-1] = signature.args[-1], arguments[-1]
            value = call(context, builder, function, tuple(kinds), tuple(numbers))
        kinds, numbers, terms = (*kinds, FLOAT), (*numbers, value), []
        for derivative, (_, change), name in zip(derivatives, parts, "xy", strict=False):
            if change is None:
                continue
            if derivative in EMITTED:  # to compile a function would take a new process 15 ms
                slope = emitted(derivative(*(Emitted(builder, number) for number in numbers)))
            else:
                rule = compiled_rule(derivative, function, name)
                slope = call(context, builder, rule, kinds, numbers)
            terms.append((slope, change))
        return signature.return_type.pack(context, builder, value, terms)

    return lower


def is_arithmetic(derivative):
    """Whether a rule neither calls nor compares."""
    steps = {step.opname for step in dis.get_instructions(derivative)}
    return not derivative.__code__.co_names and "COMPARE_OP" not in steps


OPERATORS = {functions[0] for functions, *_ in ARITHMETIC}
EMITTED = set(filter(is_arithmetic, chain(*(by for _, *by in (*ARITHMETIC, *UNARY)))))
for functions, *derivatives in (*ARITHMETIC, *UNARY, *BINARY):
    register(functions, len(derivatives), lower_function(functions[0], *derivatives))


def lower_literal_power(context, builder, signature, arguments):
    kind, n = signature.return_type, signature.args[1].literal_value
    value, change = unpack(context, builder, kind, arguments[0])
    x = Emitted(builder, value)
    slope = emitted(float(n) * x ** (n - 1) if n else 0.0)
    return kind.pack(context, builder, emitted(x**n), [(slope, change)])


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
        return call(context, builder, function, (FLOAT,), (value,), types.boolean)

    return lower


for name in ("isnan", "isinf", "isfinite"):
    test = getattr(math, name)
    register([test, getattr(np, name)], 1, lower_test(test), types.boolean)


def lower_choice(comparison):
    """max and min change as the argument that they return."""

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
