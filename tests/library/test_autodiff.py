"""Automatic gradients: against closed forms, finite differences and the same duals in Python."""

import math
import operator
import re

import numpy as np
import pytest
from densities import slope
from numba import njit
from scipy import special, stats

import bayeslib as bl
from bayeslib import log1pexp, log_sigmoid, sigmoid
from bayeslib.compile import functions
from bayeslib.compile.autodiff import LANES, compilable, differentiate, differentiate_by_tape
from bayeslib.compile.autodiff.arena import new_tape
from bayeslib.compile.autodiff.plain import differentiate_plain
from bayeslib.compile.autodiff.rules import BINARY, UNARY
from bayeslib.compile.functions.special import digamma, log_ndtr, ndtri
from bayeslib.errors import GradientError

RNG = np.random.default_rng(20)
X = RNG.normal(size=(7, 3))
Y = RNG.normal(size=7)


def by_tape(function, dim):
    """As `differentiate`, but in reverse mode."""
    fused, tape = differentiate_by_tape(function, dim), new_tape()
    return lambda theta, grad, *data: fused(theta, grad, tape, *data)


@pytest.fixture(params=[differentiate, by_tape], ids=["forward", "reverse"])
def derive(request):
    return request.param


def gradient_of(fused, theta, *data):
    gradient = np.full(theta.size, np.nan)
    return fused(theta, gradient, *data), gradient


def check(derive, function, theta, *data, rtol=1e-9):
    """Value, gradient and the plain-Python twin of one density at one point."""
    value, gradient = gradient_of(derive(function, theta.size), theta, *data)
    plain = getattr(function, "py_func", function)
    np.testing.assert_allclose(value, plain(theta, *data), rtol=1e-12, atol=1e-13)
    reference = slope(plain, theta, *data)
    np.testing.assert_allclose(gradient, reference, rtol=rtol, atol=rtol * abs(reference).max())
    twin = gradient_of(differentiate_plain(function, theta.size), theta, *data)
    np.testing.assert_allclose(twin[0], value, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(twin[1], gradient, rtol=1e-11, atol=1e-13)
    return gradient


# ------------------------------------------------------------------------ the table of derivatives
BEYOND_ONE = {math.acosh}
INSIDE_ONE = {math.asin, math.acos, math.atanh}
SIGNED = {math.fabs, math.expm1, math.tanh, math.sinh, math.erf, math.lgamma, math.atan}


def points(function):
    if function in BEYOND_ONE:
        return [1.3, 2.9]
    if function in INSIDE_ONE:
        return [-0.7, 0.41]
    return [-1.6, 0.83] if function in SIGNED else [0.37, 0.6 if function is ndtri else 2.2]


def name_of(function):
    if hasattr(function, "__compiled__"):
        return function.__name__
    module = "np" if isinstance(function, np.ufunc) else "math"
    return "abs" if function is abs else f"{module}.{function.__name__}"


def summed(lines, **scope):
    """Return the density that adds up `s` in these lines."""
    body = "\n    ".join(["s = 0.0", *lines, "return s"])
    exec(f"def density(theta):\n    {body}\n", scope := {"np": np, "math": math} | scope)
    return scope["density"]


@pytest.mark.trust("S1")
def test_every_function_of_one_argument(derive):
    """The i-th parameter goes through the i-th function only: one compilation."""
    known = [function for group, _ in UNARY for function in group]
    lines = [f"s += {i + 1} * {name_of(f)}(theta[{i}])" for i, f in enumerate(known)]
    density = summed(lines, **vars(functions), digamma=digamma, log_ndtr=log_ndtr, ndtri=ndtri)
    fused, plain = derive(density, len(known)), differentiate_plain(density, len(known))
    for theta in zip(*(points(group[0]) for group, _ in UNARY for _ in group), strict=True):
        theta = np.array(theta)
        value, gradient = gradient_of(fused, theta)
        np.testing.assert_allclose(value, density(theta), rtol=1e-13)
        np.testing.assert_allclose(gradient, slope(density, theta), rtol=1e-8)
        np.testing.assert_allclose(gradient_of(plain, theta)[1], gradient, rtol=1e-13)


@pytest.mark.trust("S1")
def test_every_function_of_two_arguments(derive):
    known = [function for group, *_ in BINARY for function in group]
    names = "operator.pow operator.ipow pow math.pow np.power np.float_power np.logaddexp".split()
    names += "math.copysign np.copysign math.atan2 np.arctan2 math.hypot np.hypot".split()
    assert len(names) == len(known)
    lines, theta = [], []
    for name in names:
        i = len(theta)
        lines.append(f"s += {name}(theta[{i}], theta[{i + 1}])")
        lines.append(f"s += 2 * {name}(theta[{i + 2}], 1.7) + 3 * {name}(0.6, theta[{i + 3}])")
        theta += [0.9, -1.3, 1.4, 0.8]
    lines += [f"s += theta[{len(theta)}] ** 3 + theta[{len(theta)}] ** -2 + 2 ** theta[0]"]
    theta += [-1.2]
    check(derive, summed(lines, operator=operator), np.array(theta))


@pytest.mark.trust("S1")
def test_powers_whose_exponent_stands_in_the_code(derive):
    exponents = [-64, -5, -2, -1, 0, 1, 2, 3, 7, 100]
    theta = np.linspace(-1.4, -0.8, len(exponents))
    lines = [f"s += {i + 1} * theta[{i}] ** {n}" for i, n in enumerate(exponents)]
    lines += ["t = theta[3]", "t **= 4", "s += t"]
    density = summed(lines)
    value, gradient = gradient_of(derive(density, theta.size), theta)
    np.testing.assert_allclose(value, density(theta), rtol=1e-13)
    weights, n = np.arange(1.0, theta.size + 1), np.array(exponents, dtype=float)
    exact = weights * n * theta ** (n - 1)
    exact[3] += 4.0 * theta[3] ** 3
    np.testing.assert_allclose(gradient, exact, rtol=1e-13)
    at_zero = gradient_of(derive(lambda x: x[0] ** 0 + x[0] ** 1 + x[0] ** 2, 1), np.zeros(1))
    assert at_zero[0] == 1.0 and at_zero[1] == [1.0]


def test_digamma_against_scipy():
    x = np.concatenate(
        [np.logspace(-8, 8, 200), [1.4616321449683623, 8.0, 7.999999], -RNG.random(50) * 30]
    )
    np.testing.assert_allclose([digamma(t) for t in x], special.digamma(x), rtol=2e-12, atol=4e-15)


def test_slopes_keep_their_digits_far_out(derive):
    def density(theta):
        s = np.tanh(theta[0]) + np.expm1(theta[1]) + math.erfc(theta[2])
        return s + sigmoid(theta[3]) + log1pexp(theta[4]) + log_sigmoid(theta[5])

    theta = np.array([18.0, -30.0, 6.0, 50.0, -60.0, 70.0])
    exact = [4 * math.exp(-36.0) / (1 + math.exp(-36.0)) ** 2, math.exp(-30.0)]
    exact += [-2 / math.sqrt(math.pi) * math.exp(-36.0), *np.exp([-50.0, -60.0, -70.0])]
    for function in (derive(density, 6), differentiate_plain(density, 6)):
        np.testing.assert_allclose(gradient_of(function, theta)[1], exact, rtol=1e-13)


def test_a_wrong_rule_is_caught(derive):
    from bayeslib.compile.autodiff.scalars import lower_function, register

    def exponential(x):
        return math.exp(x)

    exponential_rule = lower_function(math.exp, lambda x, v: v * (1 + 1e-6))
    register([exponential], 1, exponential_rule)
    exponential.__module__ = "math"  # not to be compiled as a helper

    def density(theta):
        return exponential(theta[0])

    with pytest.raises(AssertionError):
        check(derive, density, np.array([0.3]))


# --------------------------------------------------------------------------------- whole densities
def loops(theta):
    lp = 0.0
    for i in range(theta.shape[0]):
        lp += np.exp(theta[i]) * theta[-1] ** 2 - math.lgamma(theta[1] ** 2 + 1) / 3
    for t in theta[1:]:
        lp -= 2 * t * t if t > 0 else -t
    for i, t in enumerate(theta):
        lp *= 1.0 + 0.1 * i * t
    return lp / len(theta) + theta.size


def unpacking(theta):
    a, b, c = theta
    (d, e), f = (a * b, +c), -a
    lp = 1
    lp += d
    lp -= e / b
    lp *= f + 2.0
    lp /= 3.0 + c**2
    return lp - float(a) * True


def extremes(theta):
    high, low = max(theta[0], theta[1]), min(theta[0], 0.1)
    return high**2 - low**3 + max(theta[2], -9) + np.maximum(0.0, theta[2]) + abs(theta[1])


def lists(theta):
    squares = [t * t for t in theta]
    return sum(squares) + sum(theta) + theta[::-1][0] * 2


def whole_arrays(theta):
    centred = theta - np.mean(theta)
    m = np.max(theta)
    lp = m + np.log(np.sum(np.exp(theta - m)))
    lp += -0.5 * np.sum(centred**2) + theta.sum() * theta.prod() + np.cumsum(theta)[1]
    lp += np.sum(np.where(theta > 0, theta, 2.0 * theta)) + np.sum(theta[theta > 0] ** 3)
    return lp + np.sum(np.diff(theta) ** 2) + np.array((theta[0], theta[1]))[1]


def scratch(theta):
    z = np.zeros(theta.size, theta.dtype)
    copy = theta.copy()
    for i in range(theta.size):
        z[i] = theta[i] ** 2 + copy[0]
    outer = theta[:2].reshape((2, 1)) * theta
    return z.sum() + outer[1, 2] + np.sum(outer)


def changed_in_place(theta):
    a, M = np.zeros(theta.size, theta.dtype), np.outer(theta, theta)
    a += theta
    a[1:] *= a[:-1]
    a -= 0.5
    M += a
    M /= 2.0
    M **= 2
    return np.sum(a) + np.sum(M)


def rows(theta, X, y):
    lp = 0.0
    for i in range(X.shape[0]):
        lp -= 0.5 * (y[i] - X[i] @ theta) ** 2 + np.sum(X[i] * theta) * 0.1
    return lp


def integers(theta, counts, flags, n):
    lp = 0
    for k, flag in zip(counts, flags):  # noqa: B905  (numba knows no strict)
        lp += k * np.log(theta[0]) - theta[0] * flag + n * theta[1] ** k
    return lp


def doses(theta, x):
    """Slopes are infinite at the first, whose place does not depend on theta."""
    lp, u = 0.0, x * theta[1]
    for dose in x:
        lp += (dose / theta[2]) ** theta[0] + theta[1] * math.sqrt(dose * theta[2])
    lp += np.sum(np.power(x / theta[2], 0.7)) + np.sum(np.sqrt(u**2 / theta[0] ** 2))
    return lp + np.sum(np.cbrt(u) + np.hypot(u, x * theta[2]) * np.arctan2(u, x * theta[2]))


@njit
def square(x):
    return x * x


@njit("f8(f8)")
def only_floats(x):
    return x * x


def plain_helper(x, power=2):
    return square(x) ** power + twice(x)


def twice(x):
    return 2.0 * x


def factorial(n, x):
    return x if n == 0 else n * factorial(n - 1, x)


def helpers(theta):
    return plain_helper(theta[0]) + only_floats(theta[1]) + square(theta[2]) + twice(3.0)


DENSITIES = [
    *((f, ()) for f in (loops, unpacking, extremes, lists, scratch, changed_in_place, helpers)),
    (rows, (X, Y)),
    (doses, (np.array([0.0, 1.0, 2.5]),)),
    (integers, (np.array([0, 3, 2]), np.array([True, False, True]), 3)),
]


@pytest.mark.trust("S1")
@pytest.mark.parametrize("function, data", DENSITIES, ids=lambda f: getattr(f, "__name__", ""))
def test_densities(derive, function, data):
    theta = np.array([0.8, 1.2] if function is integers else [0.3, -0.7, 1.1])
    check(derive, function, theta, *data)
    assert compilable(function)(theta, *data) == pytest.approx(function(theta, *data), rel=1e-12)


def test_whole_arrays_in_reverse():
    """Forwards test_constructs.py asks for each of these."""
    check(by_tape, whole_arrays, np.array([0.3, -0.7, 1.1]))


@pytest.mark.parametrize(
    ("derive", "dim"), [*((differentiate, dim) for dim in (1, LANES, 17, 33)), (by_tape, 17)]
)
def test_every_number_of_passes(derive, dim):
    def density(theta):
        s = 0.0
        for i in range(theta.size):
            s += (i + 1) * theta[i] ** 2 * theta[0]
        return s

    theta = RNG.normal(size=dim)
    weights = np.arange(1, dim + 1)
    exact = 2 * weights * theta * theta[0]
    exact[0] += weights @ theta**2
    value, gradient = gradient_of(derive(density, dim), theta)
    np.testing.assert_allclose(value, weights @ theta**2 * theta[0], rtol=1e-13)
    np.testing.assert_allclose(gradient, exact, rtol=1e-12)


def test_no_partial_derivative_is_read_by_its_number():
    """LLVM would move the read up into all vectors behind it: up to ten times the time."""
    lines = [f"s -= (1.0 - theta[0] - theta[1] * theta[{i}]) ** 2" for i in range(2, 10)]
    fused = differentiate(summed(lines), 10)
    gradient_of(fused, np.ones(10))
    (code,) = fused.inspect_llvm().values()
    assert not re.search(r"extractelement .* i\d+ %", code)


# -------------------------------------------------------------------------------- branches, guards
def guarded(theta):
    if theta[0] < 0.0 or np.any(theta > 5.0):
        return -np.inf
    lp = 0.0
    for t in theta:
        if not math.isfinite(t) or np.isnan(t):
            return np.nan
        lp += np.log(t) - t
    return lp


def test_returns_of_inf_and_nan(derive):
    fused, twin = derive(guarded, 2), differentiate_plain(guarded, 2)
    for function in (fused, twin):
        value, gradient = gradient_of(function, np.array([1.5, 0.5]))
        np.testing.assert_allclose(value, math.log(0.75) - 2.0, rtol=1e-14)
        np.testing.assert_allclose(gradient, [1 / 1.5 - 1, 1.0], rtol=1e-14)
        assert gradient_of(function, np.array([-1.0, 0.5]))[0] == -np.inf
        assert gradient_of(function, np.array([1.0, 5.5]))[0] == -np.inf
        assert np.isnan(gradient_of(function, np.array([1.0, np.nan]))[0])


def test_a_kink_has_the_slope_of_the_side_that_is_evaluated(derive):
    def density(theta):
        lp = abs(theta[0]) + max(theta[1], 0.0)
        return lp + (3 * theta[2] if theta[2] >= 0 else -theta[2])

    for function in (derive(density, 3), differentiate_plain(density, 3)):
        assert gradient_of(function, np.zeros(3))[1].tolist() == [1.0, 1.0, 3.0]
        assert gradient_of(function, np.full(3, -0.1))[1].tolist() == [-1.0, 0.0, -1.0]


def test_infinite_slopes_do_not_leak_through_constants(derive):
    def density(theta, zero):
        return theta[0] + np.sqrt(zero) + np.logaddexp(-np.inf, theta[1]) + theta[2] ** 0

    for function in (derive(density, 3), differentiate_plain(density, 3)):
        value, gradient = gradient_of(function, np.array([0.5, 0.25, 0.0]), 0.0)
        assert value == 1.75 and gradient.tolist() == [1.0, 1.0, 0.0]


def test_a_constant_density_has_no_slope(derive):
    for function in (derive(lambda t: 1, 2), differentiate_plain(lambda t: 1, 2)):
        value, gradient = gradient_of(function, np.ones(2))
        assert value == 1.0 and gradient.tolist() == [0.0, 0.0]


# ----------------------------------------------------------------------------------------- helpers
def test_closures_and_compiled_densities(derive):
    scale = 3.0

    def inner(x):
        return x / scale

    @njit
    def density(theta):
        return inner_compiled(theta[0]) * np.sin(theta[1])

    inner_compiled = njit(inner)
    check(derive, density, np.array([0.4, 1.1]))
    check(derive, lambda theta: inner(theta[0]) ** 2, np.array([0.4]))


def test_compilable_leaves_the_original_alone():
    before = dict(plain_helper.__globals__)
    compiled = compilable(plain_helper)
    assert compiled(2.0) == plain_helper(2.0) == 20.0
    assert plain_helper.__globals__["twice"] is before["twice"] is twice
    assert compilable(factorial)(4, 2.0) == 48.0


# ------------------------------------------------------------------------------------------ errors
SETTINGS, LISTED = {"sd": 2.0}, [2.0]


def no_rule(theta):
    return np.sinc(theta[0])


def in_helper(theta):
    return 1.0 + no_rule(theta)


def stores(theta):
    z = np.zeros(2)
    z[0] = theta[0]
    return z[0]


def linear_algebra(theta):
    return np.linalg.eigvalsh(np.outer(theta, theta))[0]


def in_place(theta):
    z = np.ones(2)
    z *= theta
    return z[0]


def of_parameters(p):
    return -(p["m"] ** 2)


def unlike_arrays(theta):
    a = np.ones(2)
    for _ in range(3):
        a = a * theta[0]
    return np.sum(a)


def condition(theta):
    if theta[0]:
        return theta[1]
    return 0.0


def nothing(theta):
    if theta[0] > 0:
        return theta[0]


def whole(theta):
    return theta[0] // 2


def raising(theta):
    raise ValueError("never")


@pytest.mark.parametrize(
    "function, words",
    [
        (no_rule, r"'no_rule'.*sinc.*line \d+: `return np.sinc\(theta\[0\]\)`.*gradient= or"),
        (in_helper, r"'in_helper'.*sinc.*`return np.sinc\(theta\[0\]\)`"),
        (stores, r"`z\[0\] = theta\[0\]`.*dtype=theta.dtype"),
        (linear_algebra, r"eigvalsh of a matrix.*`return np.linalg.eigvalsh.*cholesky"),
        (in_place, r"write a = a \* b, or make a with dtype=theta.dtype"),
        (condition, r"`if theta\[0\]:`.*x != 0.0"),
        (lambda t: t, r"returns <1-d array from theta>, not a number; add up the terms"),
        (lambda t: bl.logpdf.gaussian(t[0]), r"no attribute 'gaussian'; mend the name"),
        (lambda t: bl.logpdf.halfnormal(t[0]), r"bl.logpdf has no.*did you mean half_normal.$"),
        (lambda t: np.sum(np.log([t[0], t[1]])), r"log of a list.*np.array"),
        (lambda t: np.sum(np.concatenate([t, t])), r"np.concatenate of a list.*\(\(a, b\)\)$"),
        (lambda t: bl.logpdf.poisson(t[0], 5.0), r"poisson of a number from theta.*sum it out"),
        (lambda t: t[t[0]], r"not a whole number.*astype\(int\)"),
        (lambda t: np.sum(t[np.zeros(2)]), r"not a whole number.*astype\(int\)"),
        (lambda t: special.logsumexp(np.outer(t, t), axis=1), r"along an axis.*loop over rows"),
        (unlike_arrays, r"an array of floats becomes.*'.', line.*0.0 \* theta\[0\]"),
        (nothing, r"one float on every path"),
        (whole, r"//.*`return theta\[0\] // 2`"),
        (lambda t: undefined_name(t[0]), r"'undefined_name' is not defined.*define"),  # noqa: F821
        (lambda t: t[0] * SETTINGS["sd"], r"'SETTINGS' is nothing that numba.*data="),
        (lambda t: t[0] * LISTED[0], r"'LISTED' is nothing that numba.*data="),
        (lambda t: np.sum(t.astype(np.float64)), r"astype of an array.*leave it out"),
        (lambda t: np.sum((t > 0).astype(float)), r"astype\(float\).*astype\(np.float64\)$"),
        (lambda t: sum(x * x for x in t), r"a generator; make it a list"),
        (lambda t: np.sum(math.exp(t)), r"Python's exp of an array.*np.exp"),
        (lambda t: math.factorial(3) * t[0], r"not know factorial; .*gammaln\(n \+ 1\)"),
        (lambda t: np.sum(np.outer(t, t).std(axis=0)), r"std along an axis.*np.mean\(M, axis=0\)"),
        (lambda t: np.sum(np.append(t, t[0])), r"append.*write np.concatenate"),
        (lambda t: t[int(t[0])], r"rounding of.*sum it out, or pass.*gradient=None for metrop"),
        (lambda t: special.gammainc(t[0], 2.0), r"special.gammainc.*series in a loop.*Targets$"),
        (lambda t: bl.logistic_log_likelihood(t, np.eye(2), np.eye(2)), r"of outcomes.*y.ravel"),
        (lambda t: np.i0(t[0]), r"does not know numpy.i0.*its formula.*see Targets"),
        (lambda t: np.sum(np.outer(t, t)[np.eye(2) > 0]), r"mask of several dim.*before it goes"),
        (lambda t: bl.logpdf.categorical_logit(1.0, t), r"not a whole number.*astype\(int\)"),
        (lambda t: bl.logpdf.dirichlet(np.eye(2), t), r"more than one vector.*rows"),
        (lambda t: stats.norm.logpdf(t[0]), r"scipy.stats.norm.*bl.logpdf.normal"),
        (raising, r"returns none, not a number; return .*, and -np.inf outside the support"),
    ],
)
def test_errors_name_the_construct_and_the_remedy(function, words):
    with pytest.raises(GradientError, match=words) as caught:
        bl.Target(function, dim=2).gradient([0.3, 0.4])
    assert len(str(caught.value)) < 360 and "Dual" not in str(caught.value)


def test_errors_of_named_parameters():
    for constraint in ((), bl.positive()):

        def forgotten(p):
            -(p.m**2)  # noqa: B018

        for gradient, words in (("auto", "path through it returns none"), (None, "on every path")):
            target = bl.Target(forgotten, parameters={"m": constraint}, gradient=gradient)
            with pytest.raises(bl.BayeslibError, match=f"{words}|got None"):
                target.gradient([1.0]) if gradient else target([1.0])
    for gradient, words in (("auto", "`return .*write p.m$"), (None, "write p.m$")):
        target = bl.Target(of_parameters, parameters={"m": ()}, gradient=gradient)
        with pytest.raises(bl.BayeslibError, match=words):
            target.gradient([1.0]) if gradient else target([1.0])


def test_writing_to_the_parameters_is_refused():
    def writes(theta):
        theta *= 2.0
        return np.sum(theta)

    with pytest.raises(bl.BayeslibTypeError, match="read-only: write to a copy"):
        bl.Target(writes, dim=2, gradient=None)([1.0, 2.0])


def test_an_axis_that_an_array_lacks_is_refused():
    with pytest.raises(ValueError, match="axis 2 is out of bounds"):
        bl.Target(lambda t: -np.outer(t, t).sum(axis=2)[0], dim=2).gradient([1.0, 2.0])


@pytest.mark.parametrize("gradient", ["auto", None])
def test_wrong_arguments_of_a_density_are_named(gradient):
    words = r"normal\(x, loc=0.0, scale=1.0\): .*'mu'"
    target = bl.Target(lambda t: bl.logpdf.normal(t[0], mu=1.0), dim=1, gradient=gradient)
    with pytest.raises(bl.BayeslibTypeError, match=words):
        target.gradient([1.0]) if gradient else target([1.0])
    with pytest.raises(bl.BayeslibTypeError, match=words):
        bl.logpdf.normal(1.0, mu=1.0)


# --------------------------------------------------------------------------- cache, start, fallback


def test_compiled_names_are_never_reused():
    names = [compilable(square).py_func.__qualname__ for _ in range(3)]
    assert len(set(names)) == 3
