"""Fast functions: accurate everywhere, the same plain and compiled, and differentiated exactly."""

import decimal
from decimal import Decimal
from functools import cache

import numpy as np
import pytest
from calling import python
from numba import njit
from scipy import special, stats

import bayeslib as bl
from bayeslib.compile.autodiff import LANES, num_lanes, prefers_tape
from bayeslib.compile.autodiff.plain import differentiate_plain
from bayeslib.compile.autodiff.rewrite import calls_any
from bayeslib.compile.fingerprint import fingerprint
from bayeslib.compile.functions.regression import SUMS_OVER_ROWS
from bayeslib.errors import GradientError

FUNCTIONS = (bl.log1pexp, bl.sigmoid, bl.log_sigmoid)
COMPILED = {
    bl.log1pexp: njit(lambda x: bl.log1pexp(x)),
    bl.sigmoid: njit(lambda x: bl.sigmoid(x)),
    bl.log_sigmoid: njit(lambda x: bl.log_sigmoid(x)),
}
each = pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
SMALLEST = 5e-324


@cache
def exact(function, x):
    """To 60 digits."""
    with decimal.localcontext(prec=60, Emin=-(10**6)):
        x = Decimal(x)
        if function is bl.log_sigmoid:
            return -exact(bl.log1pexp, -x)
        e = (-abs(x)).exp()
        if function is bl.sigmoid:
            return (1 if x > 0 else e) / (1 + e)
        return max(x, Decimal(0)) + ((1 + e).ln() if abs(x) < 60 else e - e * e / 2)


def points():
    rng = np.random.default_rng(1)
    tiny = 10.0 ** rng.uniform(-300, 0, 300) * rng.choice([-1.0, 1.0], 300)
    edges = [0.0, -0.0, 36.7, -36.7, 708.3, -708.4, 709.8, 1e308, -1e308]
    return np.concatenate(
        [rng.uniform(-1, 1, 700), rng.uniform(-40, 40, 1500), rng.uniform(-708, 708, 300), tiny]
        + [edges]
    )


def worst(function, values, x):
    errors = []
    for value, at in zip(values, x, strict=True):
        truth = exact(function, float(at))
        if abs(truth) > Decimal("2.3e-308"):
            errors.append(abs((Decimal(float(value)) - truth) / truth))
    return float(max(errors))


@each
def test_accurate_to_two_units_in_the_last_place(function):
    x = points()
    for form in (function, COMPILED[function]):
        assert worst(function, form(x), x) < 4.5e-16
        assert worst(function, [form(float(at)) for at in x[::10]], x[::10]) < 4.5e-16


def test_the_measure_of_accuracy_sees_a_lost_digit():
    x = np.array([-20.0, 25.0])
    assert worst(bl.log1pexp, np.log(1.0 + np.exp(x)), x) > 1e-10


@each
def test_results_too_small_for_all_digits_are_right_to_the_last_bit_or_two(function):
    x = np.linspace(-745.0, -708.5, 300)
    x = -x if function is bl.log_sigmoid else x
    for form in (function, COMPILED[function]):
        for value, at in zip(form(x), x, strict=True):
            assert abs(Decimal(float(value)) - exact(function, float(at))) <= Decimal(2 * SMALLEST)


@each
def test_infinities_and_nan(function):
    limits = {bl.log1pexp: (0.0, np.inf), bl.sigmoid: (0.0, 1.0), bl.log_sigmoid: (-np.inf, 0.0)}
    for form in (function, COMPILED[function]):
        assert (form(-np.inf), form(np.inf)) == limits[function]
        assert np.isnan(form(np.nan))
        np.testing.assert_array_equal(form(np.array([np.nan, -np.inf])), [np.nan, form(-np.inf)])


@each
def test_numbers_and_arrays_of_every_kind(function):
    x = np.random.default_rng(2).normal(size=(4, 3))
    for form in (function, COMPILED[function]):
        whole = form(x)
        assert whole.shape == x.shape and whole.dtype == np.float64
        np.testing.assert_allclose(whole, np.vectorize(function)(x), rtol=5e-16)
        np.testing.assert_allclose(form(x.T), whole.T, rtol=5e-16)
        np.testing.assert_allclose(form(x[::2, 1]), whole[::2, 1], rtol=5e-16)
        assert form(2) == form(2.0) == form(np.array([2]))[0]
    assert isinstance(function(2.0), float)
    np.testing.assert_allclose(function([0.5, 1.0]), function(np.array([0.5, 1.0])))


# ------------------------------------------------------------------------------- differentiation
def everywhere(theta, x):
    total = 0.0
    for i in range(theta.size):
        total += bl.log1pexp(x[i] * theta[i]) + 2.0 * bl.sigmoid(theta[i]) * bl.log_sigmoid(
            theta[0]
        )
    return total + np.sum(bl.log1pexp(x * theta)) + bl.sigmoid(theta)[1] + bl.log_sigmoid(2.0)


def test_rules_inside_densities():
    x = np.array([0.7, -1.3, 2.0])
    target = bl.Target(everywhere, dim=3, data=(x,))
    for theta in ([0.3, -0.8, 1.1], [-3.0, 4.0, 0.0]):
        target.check_gradient(theta)
        target.verify(np.array(theta), gradient=True)
        plain = np.empty(3)
        differentiate_plain(everywhere, 3)(np.array(theta), plain, x)
        np.testing.assert_allclose(target.gradient(theta), plain, rtol=1e-13)


# --------------------------------------------------------------------------------- sums over rows
SIZES = [(1, 1), (64, 5), (65, 5), (131, 70)]


def regression(n, dim, seed=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, dim)) / np.sqrt(dim)
    return rng.normal(size=dim), X, (rng.random(n) < 0.4).astype(float)


def with_logistic(theta, X, y):
    log_prior = 0.0
    for j in range(theta.size):
        log_prior -= 0.5 * theta[j] ** 2
    return log_prior + bl.logistic_log_likelihood(theta, X, y)


def check(function, theta, data, value, slopes):
    """In plain Python and compiled."""
    target, plain = bl.Target(function, dim=theta.size, data=data), np.empty(theta.size)
    differentiate_plain(function, theta.size)(theta, plain, *data)
    assert [function(theta, *data), target(theta)] == pytest.approx([value] * 2, rel=1e-12)
    for found in (plain, target.gradient(theta)):
        np.testing.assert_allclose(found, slopes, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize(("n", "dim"), SIZES)
def test_logistic_log_likelihood(n, dim):
    theta, X, y = regression(n, dim)
    p = special.expit(X @ theta)
    value = stats.bernoulli.logpmf(y, p).sum() - 0.5 * theta @ theta
    check(with_logistic, theta, (X, y), value, (y - p) @ X - theta)


def with_linear(theta, X, y):
    coefficients, log_scale = theta[:-1], theta[theta.size - 1]
    scale = np.exp(log_scale)
    return bl.linear_log_likelihood(coefficients, X, y, scale) - 0.5 * log_scale**2


@pytest.mark.parametrize(("n", "dim"), SIZES)
def test_linear_log_likelihood_with_a_noise_of_unknown_size(n, dim):
    coefficients, X, _ = regression(n, dim)
    y = np.random.default_rng(4).normal(size=n)
    theta = np.append(coefficients, 0.3)
    scale, r = np.exp(0.3), y - X @ coefficients
    value = stats.norm.logpdf(r, scale=scale).sum() - 0.045
    slopes = np.append(r @ X / scale**2, r @ r / scale**2 - n - 0.3)
    check(with_linear, theta, (X, y), value, slopes)


def transformed(theta, X, y):
    return bl.logistic_log_likelihood(np.exp(0.5 * theta) + theta[0], X, y)


def test_coefficients_may_be_functions_of_theta():
    theta, X, y = regression(30, 4)
    bl.Target(transformed, dim=4, data=(X, y)).check_gradient(theta)


def scaled_data(theta, X, y):
    return bl.logistic_log_likelihood(theta, X, y * theta[0])


def test_outcomes_must_be_data():
    theta, X, y = regression(5, 2)
    with pytest.raises(GradientError, match="by theta only"):
        bl.Target(scaled_data, dim=2, data=(X, y)).gradient(theta)


def test_outcomes_far_from_their_predictions_do_not_overflow():
    X, y = np.full((200, 1), 1e3), np.zeros(200)
    target = bl.Target(with_logistic, dim=1, data=(X, y))
    assert target([10.0]) == pytest.approx(-2e6, rel=1e-4)
    assert target([-10.0]) == -50.0
    assert np.isnan(njit(with_all_columns)(np.array([np.nan]), X, y))


def with_some_columns(theta, X, y):
    return bl.logistic_log_likelihood(theta, X[:, 1:], y)


def with_all_columns(theta, X, y):
    return bl.logistic_log_likelihood(theta, X, y)


def test_rows_that_do_not_lie_one_after_another():
    theta, X, y = regression(50, 4)
    part = np.ascontiguousarray(X[:, 1:])
    whole = bl.Target(with_some_columns, dim=3, data=(X, y))
    alone = bl.Target(with_all_columns, dim=3, data=(part, y))
    counted = bl.Target(with_all_columns, dim=3, data=(np.rint(part).astype(int), y > 0.5))
    assert whole(theta[1:]) == pytest.approx(alone(theta[1:]), rel=1e-13)
    np.testing.assert_allclose(
        whole.gradient(theta[1:]), alone.gradient(theta[1:]), rtol=1e-12, atol=1e-12
    )
    counted.check_gradient(theta[1:])
    floats = bl.Target(with_all_columns, dim=3, data=(np.rint(part), y))
    assert counted(theta[1:]) == pytest.approx(floats(theta[1:]), rel=1e-13)


def test_shapes_that_do_not_agree_are_named():
    X, y = np.ones((4, 2)), np.ones(4)
    with pytest.raises(ValueError, match=r"shape \(len\(y\), len\(theta\)\) = \(4, 3\), got"):
        bl.logistic_log_likelihood(np.ones(3), X, y)
    for function in (with_logistic, with_linear):
        with pytest.raises(ValueError, match="X must have shape"):
            bl.Target(function, dim=5, data=(X, y))(np.ones(5))
    with pytest.raises(ValueError, match=r"y must have shape \(n,\), got \(4, 1\): pass y.ravel"):
        bl.logistic_log_likelihood(np.ones(2), X, y[:, None])
    for num in (1, 200_001):  # compared with plain Python, and not
        coded = bl.Target(with_logistic, dim=2, data=(np.ones((num, 2)), np.full(num, 2.0)))
        with pytest.raises(ValueError, match="y must be 0 or 1, got 2 in row 0: recode"):
            coded.gradient(np.ones(2))


def test_whole_gradients_in_one_pass():
    assert calls_any(with_logistic, SUMS_OVER_ROWS) and calls_any(with_linear, SUMS_OVER_ROWS)
    assert calls_any(lambda theta, X, y: 2.0 * with_logistic(theta, X, y), SUMS_OVER_ROWS)
    assert not calls_any(everywhere, SUMS_OVER_ROWS)
    assert num_lanes(33) == 24 and num_lanes(25) == LANES
    assert prefers_tape(with_linear, 25) and not prefers_tape(with_linear, 16)


def test_an_edited_compiled_form_is_compiled_again():
    def density(theta):
        return double(theta[0])

    def double(x):
        return x + x

    double.__compiled__ = (lambda x: 2.0 * x,)
    before = fingerprint(density)
    double.__compiled__ = (lambda x: 3.0 * x,)
    assert fingerprint(density) != before
    assert fingerprint(bl.logpdf.normal) == fingerprint(bl.logpdf.normal)


def test_without_a_compiler():
    code = """
        import numpy as np
        from bayeslib import Target, linear_log_likelihood, log1pexp, posteriors

        def density(theta, X, y):
            value = linear_log_likelihood(theta[:2], X, y, np.exp(theta[2]))
            return value - np.sum(log1pexp(theta))

        X = np.column_stack([np.ones(9), np.arange(9.0)])
        target = Target(density, dim=3, data=(X, np.arange(9.0) ** 2))
        target.check_gradient([0.1, 0.4, 0.3])
        posteriors.challenger().check_gradient([-1.0, -2.0])
        print(repr(target([0.1, 0.4, 0.3])))
    """
    compiled, plain = (float(python(code, NUMBA_DISABLE_JIT=disabled)) for disabled in (0, 1))
    assert compiled == pytest.approx(plain, rel=1e-13)
