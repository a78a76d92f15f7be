"""Which data are rows, what is refused at the door, and what goes wrong on the way."""

import numpy as np
import pytest
from bad_inputs import refused
from densities import standard

from bayeslib import (
    BayeslibError,
    BayeslibWarning,
    GradientError,
    Target,
    linear_log_likelihood,
    logistic_log_likelihood,
    posteriors,
    sghmc,
    sgld,
)

RNG = np.random.default_rng(610)
X, Y = RNG.standard_normal((8, 2)), RNG.standard_normal(8)
BINARY = (Y > 0.0).astype(float)
RUN = {"step_size": 0.05, "num_samples": 20, "num_warmup": 0, "num_chains": 1, "rng": 1}


def normal_mean(theta, y):
    total = -0.5 * theta[0] ** 2
    for i in range(y.size):
        total -= 0.5 * (y[i] - theta[0]) ** 2
    return total


def average(theta, y):
    total = 0.0
    for i in range(y.size):
        total -= 0.5 * (y[i] - theta[0]) ** 2
    return total / y.size


def shared_average(theta, y):
    """Defined without rows, and still no sum over them."""
    total = 0.0
    for i in range(y.size):
        total -= 0.5 * (y[i] - theta[0]) ** 2
    return total / max(y.size, 1) - 0.5 * theta[0] ** 2


def neighbours(theta, y, start=1):
    total = -0.5 * theta[0] ** 2
    for i in range(start, y.size):
        total -= 0.5 * (y[i] - theta[0] * y[i - 1]) ** 2
    return total


def first_row(theta, y):
    return -0.5 * (theta[0] - y[0]) ** 2


def late_curvature(theta, y):
    """Neighbours count from the fifth row on only, so that the first few rows show nothing."""
    return neighbours(theta, y, 5)


def mean_model(function=normal_mean, **options):
    return Target(function, dim=1, data=(Y,), **options)


def options_of(sampler, **changes):
    return RUN | ({"friction": 1.0} if sampler is sghmc else {}) | changes


def regression(**options):
    return posteriors.linear_regression(X, Y, noise_scale=1.0, prior_scale=1.0, **options)


BOTH = pytest.mark.parametrize("sampler", [sgld, sghmc], ids=["sgld", "sghmc"])


@BOTH
@pytest.mark.parametrize(
    ("function", "words"),
    [
        (average, "with no rows of data the log density is nan|fails on 0 of its 8 rows"),
        (shared_average, "on all rows but .* when the rows' own parts are added up"),
        (neighbours, "a prior plus a sum over the rows"),
        (first_row, "fails on 0 of its 8 rows.*must take any number, none included"),
        (late_curvature, "on all rows but .* when the rows' own parts are added up"),
    ],
)
def test_a_density_that_is_no_sum_over_rows_is_refused(sampler, function, words):
    target = mean_model(function)
    with pytest.raises(BayeslibError, match=words):
        sampler(target, [0.3], batch_size=2, **options_of(sampler))
    sampler(target, [0.3], batch_size=None, **options_of(sampler))


def steep_on_few(theta, grad, y):
    grad[0] = -theta[0]
    for i in range(y.size):
        grad[0] += y[i] - theta[0]
    if y.size < 5:
        grad[0] *= 1.5
    return normal_mean(theta, y)


def scaled_rows(theta, y, weights, X, offset):
    total = -0.5 * theta[0] ** 2
    for i in range(y.shape[0]):
        total -= weights[i] * (y[i, 0] + y[i, 1] + X[i] - theta[0] - offset[0]) ** 2
    return total


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64, np.uint8])
def test_rows_of_every_type_and_shape_are_gathered(kind):
    """One chain of all rows, in any order of theirs, follows the exact gradient."""
    y = (RNG.random((7, 2)) * 3).astype(kind)
    X = RNG.integers(0, 3, 7).astype(np.int16)
    weights = np.asfortranarray(RNG.random(7))
    target = Target(scaled_rows, dim=1, data=(y, weights, X, np.array([0.5])))
    whole = sgld(target, [0.1], batch_size=7, **RUN).values
    rng, exact = np.random.default_rng(1), np.array([0.1])
    for t in range(20):
        rng.random(7)
        step = 0.025 * target.gradient(exact) + np.sqrt(0.05) * rng.standard_normal(1)
        exact = exact + step
        np.testing.assert_allclose(whole[0, t], exact, rtol=1e-10)


def test_rows_are_the_longest_arrays_unless_said():
    target = regression()  # X, y, a number, two precisions, a number
    found = sgld(target, [0.0, 0.0], batch_size=3, **RUN)
    said = sgld(target, [0.0, 0.0], batch_size=3, rows=(0, 1), **RUN)
    np.testing.assert_array_equal(found.values, said.values)
    assert found.settings["num_rows"] == 8
    with pytest.raises(BayeslibError, match=r"fails on .* of its 8 rows.*of data\[0\]"):
        sgld(target, [0.0, 0.0], batch_size=3, rows=0, **RUN)
    square = posteriors.linear_regression(X[:2], Y[:2], noise_scale=1.0, prior_scale=1.0)
    with pytest.raises(BayeslibError, match=r"as many rows as parameters.*rows=\(0, 1, 3\)"):
        sgld(square, [0.0, 0.0], batch_size=1, **RUN)
    assert sgld(square, [0.0, 0.0], batch_size=1, rows=(0, 1), **RUN).settings["num_rows"] == 2


BAD = [
    ({"rows": ()}, "rows must name different arrays"),
    ({"rows": (0, 0)}, "rows must name different arrays"),
    ({"rows": (0, 2)}, r"rows must name different arrays of data, .*\{0: 8, 1: 8, 3: 2\}"),
    ({"rows": (0, 3)}, r"of equally many rows.* got \(0, 3\)"),
    ({"rows": "X"}, "an entry of rows must be an integer"),
    ({"rows": -1}, "an entry of rows must be at least 0"),
    ({"batch_size": 0}, "batch_size must be at least 1"),
    ({"batch_size": 9}, "batch_size must be at most 8, got 9"),
    ({"batch_size": 2.5}, "batch_size must be a whole number"),
    ({"batch_size": "all"}, "batch_size must be an integer"),
    ({"replace": 1}, "replace must be True or False"),
    ({"batch_size": None, "rows": 0}, "rows=0 .* mean nothing without batch_size"),
    ({"batch_size": None, "centre": [0.0, 0.0]}, "centre=.* mean nothing without"),
    ({"centre": [0.0]}, r"centre must have shape \(2,\)"),
    ({"gradient_noise": -1.0}, "gradient_noise must be positive"),
    ({"gradient_noise": [[1.0, 2.0], [2.0, 1.0]]}, "gradient_noise must be positive definite"),
    ({"gradient_noise": [1.0] * 3}, r"gradient_noise must be a number or have shape \(2,\)"),
    ({"step_size": 0.0}, "step_size must be positive"),
    ({"num_steps": 0}, "num_steps must be at least 1"),
    ({"inverse_mass_matrix": [1.0, -1.0]}, "inverse_mass_matrix must be positive"),
    ({"executor": 4}, "executor must be"),
]
BAD_FRICTION = [
    ({"friction": -1.0}, "friction must be at least 0"),
    ({"friction": np.nan}, "friction must be at least 0 and finite"),
    ({"friction": [1.0] * 3}, r"friction must be a number or have shape \(2,\)"),
    ({"friction": "much"}, "friction must hold real numbers"),
    ({"noise_estimate": [0.5, 2.0]}, r"at most friction=.*noise_estimate\[1\] is 2"),
    ({"noise_estimate": "rows"}, 'noise_estimate must be numbers or "batch"'),
    ({"noise_estimate": "batch", "batch_size": 1}, "batch_size > 1, got 'batch'"),
    ({"noise_estimate": "batch", "batch_size": None}, "batch_size > 1, got 'batch'"),
    ({"refresh": 0}, "refresh must be at least 1"),
    ({"step_size": [0.1] * 20}, "step_size must be a number"),
]
BAD_STEP_SIZES = [
    ({"step_size": [0.1] * 19}, r"num_warmup \+ num_samples, .* have shape \(20,\)"),
    ({"step_size": [0.1] * 19 + [0.0]}, r"must be positive and finite, step_size\[19\] is 0"),
    ({"step_size": [0.1] * 19 + [np.inf]}, r"step_size\[19\] is inf"),
]
REFUSED = [(sampler, *row) for sampler in (sgld, sghmc) for row in BAD]
REFUSED += [(sghmc, *row) for row in BAD_FRICTION] + [(sgld, *row) for row in BAD_STEP_SIZES]


test_bad_arguments_are_refused = refused(
    *(((sampler, changes), words) for sampler, changes, words in REFUSED),
    by=lambda sampler, changes: sampler(
        regression(), [0.0, 0.0], **{"batch_size": 2} | options_of(sampler) | changes
    ),
)


test_what_has_no_rows_or_no_gradient_of_theirs_is_refused = refused(
    (lambda: Target(lambda theta: -0.5 * theta[0] ** 2, dim=1), "needs 2 rows of data, got 0"),
    (lambda: Target(normal_mean, dim=1, data=(Y[:1],)), "needs 2 rows of data, got 1"),
    (lambda: mean_model(gradient=None), GradientError, "has no gradient"),
    (lambda: mean_model(fused=steep_on_few), "the gradient at theta=.* on all rows but"),
    by=lambda model: sgld(model(), [0.3], batch_size=1, **RUN),
)


def test_a_batch_that_is_too_large_for_memory_is_refused():
    with pytest.raises(MemoryError, match="the batches of shape"):
        sgld(regression(), [0.0, 0.0], batch_size=10**13, replace=True, **RUN)


def own_linear(theta, X, y):
    return -0.5 * theta @ theta + linear_log_likelihood(theta, X, y, 1.0)


def own_logistic(theta, X, y):
    return -0.5 * theta @ theta + logistic_log_likelihood(theta, X, y)


@pytest.mark.parametrize(("function", "y"), [(own_linear, Y), (own_logistic, BINARY)])
def test_the_librarys_likelihoods_are_sums_over_rows(function, y):
    target = Target(function, dim=2, data=(X, y))
    draws = sghmc(target, [0.1, 0.2], batch_size=3, noise_estimate="batch", **options_of(sghmc))
    assert np.isfinite(draws.values).all() and draws.settings["num_rows"] == 8


@BOTH
def test_steps_that_run_away_are_flagged_and_lose_nothing(sampler):
    options = options_of(sampler, num_samples=400, num_chains=2, step_size=7.0)
    with pytest.warns(BayeslibWarning, match="diverged .*there a chain stays"):
        draws = sampler(regression(), [[0.0, 0.0], [0.1, 0.1]], batch_size=2, **options)
    diverging = draws.stats["diverging"]
    assert diverging.any(axis=1).all() and not diverging[:, 0].any()
    assert np.isfinite(draws.values).all() and np.abs(draws.values).max() <= 1e10
    for chain in range(2):
        first = int(np.argmax(diverging[chain]))
        assert diverging[chain, first:].all()
        stays = draws.values[chain, first:]
        np.testing.assert_array_equal(stays, np.broadcast_to(stays[0], stays.shape))
        assert draws.settings["num_gradients"][chain] <= first + 1
    assert any("diverged" in problem for problem in draws.problems)


def bounded(theta, y):
    return normal_mean(theta, y) if theta[0] > 0.0 else -np.inf


@BOTH
def test_the_edge_of_a_support_is_told_from_too_large_a_step(sampler):
    target = Target(bounded, dim=1, data=(Y,), support=[(0.0, None)])
    options = options_of(sampler, num_samples=500, num_chains=2)
    with pytest.warns(BayeslibWarning, match="into a log density of -inf.*bl.unconstrained"):
        draws = sampler(target, [[0.2], [0.3]], batch_size=4, **options)
    diverging = draws.stats["diverging"].sum(axis=1)
    np.testing.assert_array_equal(draws.settings["num_outside"], diverging)


def raising(theta, y):
    if theta[0] > 1.0:
        raise ValueError("too far")
    return normal_mean(theta, y)


@BOTH
def test_a_density_that_raises_says_so_and_keeps_the_draws(sampler):
    target = Target(raising, dim=1, data=(Y,))
    with pytest.raises(ValueError, match="too far") as caught:
        sampler(target, [0.5], batch_size=4, **options_of(sampler, num_samples=2000))
    assert caught.value.partial.num_samples > 0


def test_weighted_draws_tell_of_divergences_too():
    with pytest.warns(BayeslibWarning, match="diverged"):
        draws = sgld(regression(), [0.0, 0.0], batch_size=2, **RUN | {"step_size": [9.0] * 20})
    assert any("diverged" in problem for problem in draws.problems)


HEAT = {"batch_size": None, "gradient_noise": 4.0, "num_samples": 20_000, "rng": 2}
STARTS = [[1.0], [-1.0], [0.0], [0.5]]


def test_heat_is_said_and_silence_kept_where_the_noise_is_known():
    target = Target(standard, dim=1)
    hot = sghmc(target, STARTS, step_size=0.2, friction=0.5, **HEAT)
    assert any("temperature of the momenta is 1.9" in problem for problem in hot.problems)
    assert hot.flat.var() > 1.6
    mild = sghmc(target, STARTS, step_size=0.1, friction=0.5, noise_estimate=0.2, **HEAT)
    assert not any("temperature" in problem for problem in mild.problems)
    assert abs(mild.flat.var() - 1.0) < 0.1
    options = HEAT | {"gradient_noise": None}
    cold = sghmc(target, STARTS, step_size=0.2, friction=0.5, noise_estimate=0.4, **options)
    assert any("too narrow" in problem for problem in cold.problems)
    assert cold.flat.var() < 0.5


def test_friction_may_be_zero_where_nothing_heats():
    target = Target(standard, dim=1)
    with pytest.warns(BayeslibWarning, match="friction is 0"):
        heated = sghmc(target, STARTS, step_size=0.1, friction=0.0, **HEAT | {"num_samples": 400})
    assert any("friction is 0" in problem for problem in heated.problems)
    still = sghmc(target, STARTS, step_size=0.1, friction=0.0, **HEAT | {"gradient_noise": None})
    drawn = sghmc(target, STARTS, step_size=0.1, friction=0.0, refresh=20, **HEAT)
    for draws in (still, drawn):
        assert not any("friction is 0" in problem for problem in draws.problems)
    energy = still.stats["kinetic_energy"] + 0.5 * still.values[:, :, 0] ** 2
    assert np.ptp(energy, axis=1).max() < 0.2 * energy.max()


def test_more_noise_than_friction_is_counted_and_said():
    with pytest.warns(BayeslibWarning, match="larger than the friction allows"):
        draws = sghmc(
            regression(), [0.0, 0.0], batch_size=2, noise_estimate="batch",
            **options_of(sghmc, friction=1e-3, num_samples=200),
        )  # fmt: skip
    assert 0 < draws.settings["num_negative"][0] <= 200
    assert any("friction allows" in problem for problem in draws.problems)
