"""The same dual numbers as plain Python objects: what runs under NUMBA_DISABLE_JIT."""

import math
import operator
from types import ModuleType

import numpy as np

from ..functions.elementwise import WRITTEN
from ..functions.regression import PASSES, linear_log_likelihood
from ..functions.special import clip, taught, teach
from .arrays import WHOLE, interp_of_any
from .rewrite import convert
from .rules import ARITHMETIC, BINARY, UNARY

DIFFERENTIATED = ("math", "numpy", "scipy", __name__.partition(".")[0])


class PlainDual:
    """A value and the vector of its partial derivatives; operators are attached below."""

    def __init__(self, value, partials):
        self.value = np.float64(value)
        self.partials = partials

    def __pos__(self):
        return self

    def __bool__(self):
        raise TypeError("a function of theta is used as a condition; compare it, as in x != 0.0")


def parts(number):
    if isinstance(number, PlainDual):
        return number.value, number.partials
    return np.float64(number), None


# ----------------------------------------------------------- the table of derivatives, over NumPy
def unchecked(function):
    """The NumPy twin of a function of `math`: infinite or nan where that would raise."""
    for functions in [entry[0] for entry in (*UNARY, *BINARY)]:
        if function in functions:
            return next((f for f in functions if isinstance(f, np.ufunc)), functions[0])
    return function


class Module:
    """A module, seen through `change`."""

    def __init__(self, module, change):
        self._module = module
        self._change = change

    def __getattr__(self, name):
        return self._change(getattr(self._module, name))


def over_numpy(value):
    return Module(math, unchecked) if value is math else value


def element_rule(functions, *derivatives):
    """The rule of one entry of the table, of numbers."""
    evaluate = unchecked(functions[0])
    derivatives = [convert(slope, lambda copy, _: copy, over_numpy) for slope in derivatives]

    def element(*numbers):
        pairs = [parts(number) for number in numbers]
        values = [value for value, _ in pairs]
        result = evaluate(*values)
        slopes = zip(derivatives, pairs, strict=True)
        terms = [own * slope(*values, result) for slope, (_, own) in slopes if own is not None]
        return PlainDual(result, sum(terms)) if terms else result

    return element


def lift(function, other):
    """Let a function take dual numbers, and arrays of them, as well: by `other`."""

    def lifted(*arguments, **options):
        depends = any(np.asarray(argument).dtype == object for argument in arguments)
        return (other if depends else function)(*arguments, **options)

    return lifted


def entry_by_entry(element, dtype=object):
    """A function of numbers, for arrays of them too."""

    def entries(*arguments):
        if not any(isinstance(argument, np.ndarray) for argument in arguments):
            return element(*arguments)
        return np.frompyfunc(element, len(arguments), 1)(*arguments).astype(dtype)

    return entries


def of_values(test):
    """A test of numbers, which their values pass or not."""
    return entry_by_entry(lambda *numbers: bool(test(*(parts(n)[0] for n in numbers))), bool)


def over_rows(one_pass):
    """A sum over rows, of coefficients that are dual numbers."""

    def total(theta, X, y):
        values = np.array([parts(number)[0] for number in theta])
        slopes = np.zeros(values.size)
        value = one_pass(values, slopes, X, y)
        return PlainDual(value, parts(slopes @ theta)[1])

    return total


LIFTED = {float: lift(float, entry_by_entry(lambda number: number))}
for functions, *derivatives in (*UNARY, *BINARY):
    rule = entry_by_entry(element_rule(functions, *derivatives))
    LIFTED.update((function, lift(function, rule)) for function in functions)
for function, one_pass in PASSES.items():
    LIFTED[function] = lift(function, over_rows(one_pass))
for name in ("isnan", "isinf", "isfinite"):
    for test in (getattr(math, name), getattr(np, name)):
        LIFTED[test] = lift(test, of_values(test))

for (function, *_), *derivatives in (*ARITHMETIC, BINARY[0]):
    rule, name = entry_by_entry(element_rule((function,), *derivatives)), function.__name__
    setattr(PlainDual, f"__{name}__", rule)
    setattr(PlainDual, f"__r{name}__", lambda b, a, rule=rule: rule(a, b))  # nobody asks for rneg
for name in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(PlainDual, f"__{name}__", of_values(getattr(operator, name)))
PlainDual.__abs__ = LIFTED[abs]


# ------------------------------------------------------------------------------ the fused function
def replace(value):
    """Let the user's function see modules and functions that take dual numbers."""
    if isinstance(value, ModuleType) and value.__name__.partition(".")[0] in DIFFERENTIATED:
        return Module(value, replace)
    try:
        return LIFTED.get(value, value)
    except TypeError:
        return value


def wrap(copy, original):
    # A builtin is replaced only where it can be found among the globals.
    copy.__globals__.setdefault("float", float)
    return copy


LIFTED[linear_log_likelihood] = convert(linear_log_likelihood, wrap, replace)
for function, loops in (WHOLE | {np.interp: interp_of_any, np.clip: clip}).items():
    LIFTED[function] = lift(function, convert(loops, wrap, replace))


def differentiate_plain(function, dim):
    """`autodiff.differentiate` without a compiler; the same signature, the same numbers."""
    teach()
    for own in WRITTEN:
        if own not in LIFTED:
            LIFTED[own] = convert(own, wrap, replace)
    LIFTED.update((name, LIFTED[own]) for name, own in taught.items())
    logdensity = convert(function, wrap, replace)

    def fused(theta, grad, *data):
        duals = np.empty(dim, dtype=object)
        for i, direction in enumerate(np.eye(dim)):
            duals[i] = PlainDual(theta[i], direction)
        with np.errstate(all="ignore"):
            value, partials = parts(logdensity(duals, *data))
        grad[:] = 0.0 if partials is None else partials
        return float(value)

    return fused
