"""Unconstrained coordinates: maps, Jacobians, gradients, truths and draws."""

import pickle

import numpy as np
import pytest
from bad_inputs import refused
from scipy import stats

import bayeslib as bl
from bayeslib import Draws, posteriors
from bayeslib.results.coordinates import Transform

SUPPORT = ((0.0, None), (-2.0, 3.0), (None, 2.0), None, (0.0, 1.0), (1.5, None))
TRANSFORM = Transform(SUPPORT)
POINTS = 2.0 * np.random.default_rng(1).standard_normal((50, 6))


def boxed(theta, a):
    """A density on the box, written with everything that a transform touches."""
    if theta[0] <= 0.0 or abs(theta[1] - 0.5) >= 2.5 or theta[2] >= 2.0:
        return -np.inf
    if theta[4] <= 0.0 or theta[4] >= 1.0 or theta[5] <= 1.5:
        return -np.inf
    value = 2.0 * np.log(theta[0]) - theta[0] + a[0] * np.log(theta[1] + 2.0)
    value += np.log(3.0 - theta[1]) + 3.0 * np.log(2.0 - theta[2]) - (2.0 - theta[2]) * a[1]
    value += -0.5 * (theta[3] - theta[0]) ** 2 + np.log(theta[4]) + 2.0 * np.log(1.0 - theta[4])
    return value - a[1] * theta[5] * theta[0]


def boxed_gradient(theta, a):
    return np.array(
        [
            2.0 / theta[0] - 1.0 + theta[3] - theta[0] - a[1] * theta[5],
            a[0] / (theta[1] + 2.0) - 1.0 / (3.0 - theta[1]),
            -3.0 / (2.0 - theta[2]) + a[1],
            theta[0] - theta[3],
            1.0 / theta[4] - 2.0 / (1.0 - theta[4]),
            -a[1] * theta[0],
        ]
    )


def boxed_fused(theta, grad, a):
    grad[:] = boxed_gradient(theta, a)
    return boxed(theta, a)


DATA = (np.array([1.5, 0.7]),)
FORMS = {"auto": {}, "gradient": {"gradient": boxed_gradient}, "fused": {"fused": boxed_fused}}


def box(**form):
    return bl.Target(boxed, dim=6, data=DATA, support=SUPPORT, **form)


# The maps


def test_there_and_back():
    theta = TRANSFORM.constrain(POINTS)
    assert TRANSFORM.inside(theta).all()
    np.testing.assert_allclose(TRANSFORM.unconstrain(theta), POINTS, rtol=1e-11, atol=1e-12)
    assert theta.shape == POINTS.shape
    cube = POINTS.reshape(5, 10, 6)
    np.testing.assert_array_equal(TRANSFORM.constrain(cube).reshape(50, 6), theta)


def test_near_an_end_no_digit_of_the_distance_is_lost():
    x = np.linspace(-700.0, 300.0, 41)[:, None]
    unit = Transform(((0.0, 1.0),)).constrain(x)
    np.testing.assert_allclose(unit[:, 0], stats.logistic.cdf(x[:, 0]), rtol=1e-14)


def test_jacobian_is_the_derivative():
    step = 1e-6
    for i in range(6):
        forward, backward = POINTS.copy(), POINTS.copy()
        forward[:, i] += step
        backward[:, i] -= step
        slope = (TRANSFORM.constrain(forward) - TRANSFORM.constrain(backward))[:, i] / (2.0 * step)
        alone = Transform((SUPPORT[i],)).log_jacobian(POINTS[:, [i]])
        np.testing.assert_allclose(np.exp(alone), np.abs(slope), rtol=1e-6, atol=1e-9)
    parts = [Transform((SUPPORT[i],)).log_jacobian(POINTS[:, [i]]) for i in range(6)]
    np.testing.assert_allclose(TRANSFORM.log_jacobian(POINTS), np.sum(parts, axis=0), rtol=1e-13)


def test_names_say_the_map():
    free = bl.unconstrained(box())
    assert free.names == (
        "log(theta[0])", "logit(theta[1])", "log(2 - theta[2])", "theta[3]", "logit(theta[4])",
        "log(theta[5] - 1.5)",
    )  # fmt: skip
    assert Transform(((-1.0, None), (None, 0.0))).names("ab") == ("log(a + 1)", "log(-b)")


# The target


@pytest.mark.trust("S1")
@pytest.mark.parametrize("form", FORMS)
def test_density_and_gradient(form):
    target = box(**FORMS[form])
    free = bl.unconstrained(target)
    theta = TRANSFORM.constrain(POINTS)
    expected = target.many(theta) + TRANSFORM.log_jacobian(POINTS)
    np.testing.assert_allclose(free.many(POINTS), expected, rtol=1e-12)
    for x in POINTS[:5]:
        np.testing.assert_allclose(free(x), target(TRANSFORM.constrain(x))
                                   + TRANSFORM.log_jacobian(x), rtol=1e-12)  # fmt: skip
        assert free.check_gradient(x) > 0
        free.verify(x, gradient=True)


def test_a_target_without_gradient_stays_without():
    free = bl.unconstrained(box(gradient=None))
    assert not free.has_gradient
    assert np.isfinite(free(POINTS[0]))


def test_open_targets_keep_their_functions_and_truth():
    target = posteriors.banana()
    free = bl.unconstrained(target)
    assert free.truth is target.truth
    assert free.logdensity is target.logdensity
    x = np.array([0.3, -0.4])
    assert free(x) == target(x)
    np.testing.assert_array_equal(free.constrain(x), x)


def test_beyond_rounding_the_density_is_zero():
    free = bl.unconstrained(posteriors.gamma_student())
    assert free(800.0) == -np.inf
    assert free(-800.0) == -np.inf
    assert np.isfinite(free(-700.0))


def test_truth_goes_along():
    target = posteriors.gamma_student()
    free = bl.unconstrained(target)
    truth = free.truth
    x = truth.sample(20_000, 1)
    np.testing.assert_allclose(free.constrain(x), target.truth.sample(20_000, 1), rtol=1e-14)
    assert stats.kstest(truth.cdf(x[:, 0]), "uniform").pvalue > 1e-6
    assert stats.kstest(target.truth.cdf(x[:, 0]), "uniform").pvalue < 1e-6
    for p, quantile in truth.quantiles.items():
        assert truth.cdf(quantile) == pytest.approx(p, abs=1e-9)
    assert truth.mean is None and truth.cov is None
    assert truth.log_evidence == target.truth.log_evidence
    # quantiles of a falling coordinate are those of the other end
    mirrored = Transform(((None, 1.0),))
    quantiles = {0.05: np.array([-3.0]), 0.5: np.array([0.0]), 0.95: np.array([0.5])}
    upper = bl.Target(
        lambda t: t[0] - 1.0 if t[0] < 1.0 else -np.inf, dim=1, support=(None, 1.0),
        truth=bl.Truth(quantiles=quantiles, cdf=lambda x: np.exp(x - 1.0)),
    )  # fmt: skip
    moved = bl.unconstrained(upper).truth
    assert moved.quantiles[0.05] == mirrored.unconstrain([0.5])
    assert len(moved.quantiles) == 3 and list(moved.quantiles) == [0.05, 0.5, 0.95]
    np.testing.assert_allclose(moved.cdf(np.array([0.0])), 1.0 - np.exp(-1.0))


# Draws


def test_draws_come_back_with_their_own_density():
    target = posteriors.gamma_student()
    free = bl.unconstrained(target)
    draws = bl.nuts(free, num_samples=200, num_warmup=200, rng=1)
    back = free.constrain(draws)
    assert isinstance(back, Draws)
    assert back.names == target.names
    np.testing.assert_array_equal(back.values, np.exp(draws.values))
    np.testing.assert_allclose(back.logdensity.ravel(), target.many(back.flat), rtol=1e-11)
    assert back.stats.keys() == draws.stats.keys()
    assert back.settings == draws.settings and back.num_evals == draws.num_evals


# Shapes and errors


def test_numbers_go_through_in_one_dimension():
    free = bl.unconstrained(posteriors.gamma_student())
    assert free.constrain(0.0) == 1.0
    assert free.unconstrain(1.0) == 0.0
    np.testing.assert_array_equal(free.constrain([0.0, 0.0, 0.0]), [1.0, 1.0, 1.0])
    np.testing.assert_array_equal(free.constrain([[0.0], [0.0]]), [[1.0], [1.0]])
    assert free.constrain(np.zeros((2, 3, 1))).shape == (2, 3, 1)


def test_it_is_pickled_with_its_way_back():
    free = bl.unconstrained(posteriors.gamma_student())
    copy = pickle.loads(pickle.dumps(free))
    assert copy(0.3) == free(0.3)
    assert copy.constrain(0.3) == free.constrain(0.3)
    assert repr(copy) == "UnconstrainedTarget(Target(_gamma_student, dim=1))"


test_bad_input_is_named = refused(
    (lambda free: free.constrain(np.zeros(5)), r"shape \(\.\.\., 6\), got \(5,\)"),
    (lambda free: free.constrain("x"), "real numbers"),
    (lambda free: free.unconstrain(np.zeros(6)), "strictly inside the support"),
    (lambda free: free.unconstrain(np.full(6, np.nan)), "strictly inside the support"),
    (lambda free: free.constrain(Draws(np.zeros((1, 2, 3)))), r"x must have shape .* 2, 3\)"),
    (lambda free: Transform(((1.0, 0.0),)), "low < high"),
    (lambda free: Transform(((1.0, np.nan),)), "low < high"),
    by=lambda call: call(bl.unconstrained(box())),
)
