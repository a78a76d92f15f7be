"""The book's posteriors: densities, gradients and exact truths, each against something else."""

import pickle

import numpy as np
import pytest
from bad_inputs import refused
from scipy import integrate, special, stats
from test_posteriors_data import SAME as SAME_OF_DATA
from test_posteriors_data import TARGETS as OF_DATA

from bayeslib import Target, posteriors, quadrature
from bayeslib.errors import BayeslibTypeError
from bayeslib.posteriors.schools import EFFECTS, STANDARD_ERRORS
from bayeslib.posteriors.truths import PROBABILITIES

WEIGHTS, MEANS = [0.3, 0.7], [[-2.0, 0.0], [2.0, 1.0]]
COVS = [np.eye(2), np.array([[1.0, 0.5], [0.5, 2.0]])]

TARGETS = {
    "gamma_student": posteriors.gamma_student(),
    "gamma_student(-3)": posteriors.gamma_student(-3.0),
    "coin": posteriors.coin(8, 2, prior=(2.0, 0.5)),
    "gaussian(1)": posteriors.gaussian(3.0, 4.0),
    "gaussian(3)": posteriors.gaussian([1.0, 2.0, -1.0], np.eye(3) + 0.5),
    "mixture(1)": posteriors.mixture(WEIGHTS, [-2.0, 3.0], [1.0, 0.25]),
    "mixture(2)": posteriors.mixture(WEIGHTS, MEANS, COVS),
    "banana": posteriors.banana(1.5, width=0.4),
    "donut": posteriors.donut(),
    "funnel": posteriors.funnel(5),
    "eight_schools(centered)": posteriors.eight_schools(centered=True),
    "eight_schools": posteriors.eight_schools(centered=False),
} | OF_DATA
every_target = pytest.mark.parametrize("name", TARGETS)


# Densities


@pytest.mark.trust("S1")
@every_target
def test_gradient_and_fused_value_agree_with_the_plain_density(name):
    target = TARGETS[name]
    # typical points, and far ones: the prior's scale is not the place where slips show
    points = target.truth.sample(3, 1)
    far = target.truth.mean + 3.0 * (points - target.truth.mean)
    for theta in (*points, *(x for x in far if np.isfinite(target(x)))):
        target.check_gradient(theta)
        target.verify(theta, gradient=True)
        if name in OF_DATA:
            exact = Target(target.logdensity, dim=target.dim, data=target.data).gradient(theta)
            close = {"rtol": 1e-10, "atol": 1e-12 * np.abs(exact).max()}
            np.testing.assert_allclose(target.gradient(theta), exact, **close)


SAME = {
    "gamma_student": lambda x: stats.gamma(3).logpdf(x) + stats.t(2).logpdf(5.0 - x),
    "coin": lambda x: stats.beta(2, 0.5).logpdf(x) + 8 * np.log(x) + 2 * np.log1p(-x),
    "gaussian(3)": stats.multivariate_normal([1.0, 2.0, -1.0], np.eye(3) + 0.5).logpdf,
    "mixture(1)": lambda x: np.log(
        0.3 * stats.norm(-2, 1).pdf(x) + 0.7 * stats.norm(3, 0.5).pdf(x)
    ),
    "mixture(2)": lambda x: np.log(
        sum(
            w * stats.multivariate_normal(m, c).pdf(x)
            for w, m, c in zip(WEIGHTS, MEANS, COVS, strict=True)
        )
    ),
    "banana": lambda x: (
        stats.norm.logpdf(x[:, 0]) + stats.norm.logpdf(x[:, 1], 1.5 * (x[:, 0] ** 2 - 1.0), 0.4)
    ),
    "donut": lambda x: -2.0 * (np.hypot(x[:, 0], x[:, 1]) - 3.0) ** 2,
    "funnel": lambda x: (
        stats.norm.logpdf(x[:, 0], 0.0, 3.0)
        + stats.norm.logpdf(x[:, 1:], 0.0, np.exp(0.5 * x[:, :1])).sum(axis=1)
    ),
    "eight_schools(centered)": lambda x: (
        schools_prior(x)
        + schools_likelihood(x[:, 2:])
        + stats.norm.logpdf(x[:, 2:], x[:, :1], np.exp(x[:, 1:2])).sum(axis=1)
    ),
    "eight_schools": lambda x: (
        schools_prior(x)
        + schools_likelihood(x[:, :1] + np.exp(x[:, 1:2]) * x[:, 2:])
        + stats.norm.logpdf(x[:, 2:]).sum(axis=1)
    ),
} | SAME_OF_DATA


def schools_prior(x):
    log_tau = x[:, 1]
    return (
        stats.norm.logpdf(x[:, 0], 0.0, 5.0)
        + stats.halfcauchy.logpdf(np.exp(log_tau), scale=5.0)
        + log_tau
    )


def schools_likelihood(effects):
    return stats.norm.logpdf(EFFECTS, effects, STANDARD_ERRORS).sum(axis=1)


@pytest.mark.parametrize("name", SAME)
def test_density_is_what_its_docstring_says(name):
    target = TARGETS[name]
    points = target.truth.sample(200, 2)
    expected, rtol = SAME[name](points).reshape(200), 1e-11 if name in OF_DATA else 1e-10
    np.testing.assert_allclose(target.many(points), expected, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("theta", [0.0, -1.0, -np.pi])
def test_densities_are_zero_outside_their_support(theta):
    assert TARGETS["gamma_student"](theta) == -np.inf
    assert TARGETS["coin"](theta) == -np.inf
    assert TARGETS["coin"](1.0 - theta) == -np.inf


def test_mixture_is_stable_far_from_all_components():
    target = TARGETS["mixture(2)"]
    assert target([1e3, 1e3]) == pytest.approx(-4e5, rel=0.5)
    assert np.isfinite(target.gradient([1e3, 1e3])).all()
    assert target([1e200, 1e200]) == -np.inf


# Truths


@pytest.mark.parametrize("y", [-200.0, -3.0, 0.5, 5.0, 12.0, 60.0, 1e4])
def test_main_target_is_right_for_any_observation(y):
    """Against scipy's QUADPACK, from 0 to 120 in pieces: nothing in common with our panels."""
    truth = posteriors.gamma_student(y).truth

    def density(x, power=0):
        return x**power * stats.gamma.pdf(x, 3) * stats.t.pdf(y - x, 2)

    edges = np.unique(np.clip([0.0, 1.0, 4.0, 12.0, y - 3.0, y, y + 3.0, 40.0, 120.0], 0, 120))
    parts = np.array([
        [integrate.quad(density, *ends, args=(k,), epsabs=0.0, epsrel=1e-13, limit=200)[0]
         for ends in zip(edges[:-1], edges[1:], strict=True)]
        for k in range(3)
    ])  # fmt: skip
    moments = parts.sum(axis=1)
    below = np.cumsum(parts[0]) / moments[0]
    np.testing.assert_allclose(truth.cdf(edges[1:]), below, rtol=1e-9, atol=1e-12)
    assert truth.log_evidence == pytest.approx(np.log(moments[0]), abs=1e-11)
    mean = moments[1] / moments[0]
    assert truth.mean[0] == pytest.approx(mean, rel=1e-11)
    assert truth.cov[0, 0] == pytest.approx(moments[2] / moments[0] - mean**2, rel=1e-8)


@pytest.mark.parametrize("name", ["gamma_student", "coin", "gaussian(1)", "mixture(1)"])
def test_quantiles_invert_the_distribution_function(name):
    truth = TARGETS[name].truth
    for p in PROBABILITIES:
        assert truth.cdf(truth.quantiles[p])[0] == pytest.approx(p, abs=1e-13)
    x = np.linspace(-20.0, 20.0, 401)
    assert np.all(np.diff(truth.cdf(x)) >= -1e-15)


def test_eight_schools_evidence_and_moments_by_another_quadrature():
    """The trapezium rule in log tau on the marginal likelihood, written with scipy."""
    log_tau = np.linspace(-40.0, 14.0, 541)
    covs = [25.0 + np.diag(STANDARD_ERRORS**2 + np.exp(2.0 * t)) for t in log_tau]
    log_marginal = [stats.multivariate_normal(np.zeros(8), cov).logpdf(EFFECTS) for cov in covs]
    log_joint = log_marginal + stats.halfcauchy.logpdf(np.exp(log_tau), scale=5.0) + log_tau
    density = np.exp(log_joint - log_joint.max())
    step = log_tau[1] - log_tau[0]
    for centered in (True, False):
        truth = posteriors.eight_schools(centered=centered).truth
        evidence = np.log(density.sum() * step) + log_joint.max()
        assert truth.log_evidence == pytest.approx(evidence, abs=1e-9)
        assert truth.mean[1] == pytest.approx(density @ log_tau / density.sum(), abs=1e-9)
    effects = posteriors.eight_schools(centered=True).truth.mean[2:]
    assert effects[0] == pytest.approx(6.2118842, abs=1e-6)  # shrunk from 28 towards mu


@pytest.mark.parametrize("name", ["logistic(1)", "logistic(2)", "challenger", "coal_mining"])
def test_truth_agrees_with_adaptive_quadrature(name):
    """Those without a closed form; test_challenge.py has the others."""
    found, truth = quadrature(TARGETS[name]), TARGETS[name].truth
    assert found.log_evidence.value == pytest.approx(truth.log_evidence, abs=1e-8)
    np.testing.assert_allclose(found.mean, truth.mean, atol=1e-7)
    np.testing.assert_allclose(found.cov, truth.cov, atol=1e-6)


# Moments with tails so heavy that a sample variance says nothing.
HEAVY = {"funnel", "eight_schools(centered)"}


def check_sample(truth, x, name):
    """Bonferroni over at most 108 statistics: |z| > 6.2 has probability below 1e-7."""
    z = [
        (np.mean(x <= points, axis=0) - p) / np.sqrt(p * (1.0 - p) / len(x))
        for p, points in truth.quantiles.items()
    ]
    if name not in HEAVY:
        squares, variance = (x - truth.mean) ** 2, np.diag(truth.cov)
        z.append((x.mean(axis=0) - truth.mean) / np.sqrt(variance / len(x)))
        z.append((squares.mean(axis=0) - variance) / (squares.std(axis=0) / np.sqrt(len(x))))
    assert np.abs(np.concatenate(z)).max() < 6.2


@every_target
def test_exact_draws_have_the_exact_moments_and_quantiles(name):
    """Draws shifted by 0.05 sd must fail: 8 standard errors of a mean of 30,000 draws."""
    target = TARGETS[name]
    x = target.truth.sample(30_000, 5)
    assert x.shape == (30_000, target.dim)
    np.testing.assert_array_equal(x, target.truth.sample(30_000, np.random.default_rng(5)))
    assert np.isfinite(target.many(x)).all()
    check_sample(target.truth, x, name)
    spread = (target.truth.quantiles[0.75] - target.truth.quantiles[0.25]) / 1.35
    with pytest.raises(AssertionError):
        check_sample(target.truth, x + 0.05 * spread, name)


def test_funnel_marginals_in_closed_form():
    """x = exp(v / 2) z: its quantiles by another quadrature, trapezium in v."""
    truth = posteriors.funnel(2).truth
    v = np.linspace(-30.0, 30.0, 3001)
    weight = stats.norm.pdf(v, 0.0, 3.0) * 0.02
    for p in PROBABILITIES:
        x = truth.quantiles[p][1]
        assert weight @ special.ndtr(x * np.exp(-0.5 * v)) == pytest.approx(p, abs=1e-12)
    assert truth.cov[1, 1] == pytest.approx(np.exp(4.5))


# The house rules


@every_target
def test_posteriors_travel_to_other_processes(name):
    target = TARGETS[name]
    again = pickle.loads(pickle.dumps(target))
    x = target.truth.sample(2, 6)
    np.testing.assert_array_equal(again.truth.sample(2, 6), x)
    np.testing.assert_array_equal(again.many(x), target.many(x))
    assert again.names == target.names and again.support == target.support
    np.testing.assert_array_equal(again.truth.quantiles[0.5], target.truth.quantiles[0.5])


def test_names_say_what_the_coordinates_are():
    assert posteriors.eight_schools(centered=True).names[:3] == ("mu", "log_tau", "theta[0]")
    assert posteriors.eight_schools(centered=False).names[-1] == "eta[7]"
    assert posteriors.funnel(3).names == ("v", "x[0]", "x[1]")


test_bad_arguments_are_named = refused(
    (lambda: posteriors.gamma_student(np.nan), "y must be finite"),
    (lambda: posteriors.gamma_student("5"), BayeslibTypeError, "y must be a number"),
    (lambda: posteriors.coin(-1, 2), "heads must be at least 0"),
    (lambda: posteriors.coin(1, 2.5), "tails must be a whole number"),
    (lambda: posteriors.coin(1, 2, prior=(0.0, 1.0)), "must be positive"),
    (lambda: posteriors.coin(1, 2, prior=(1.0,)), r"shape \(2,\)"),
    (lambda: posteriors.gaussian([0.0], [[-1.0]]), "positive definite"),
    (lambda: posteriors.gaussian([], []), "mean must have shape"),
    (lambda: posteriors.gaussian([np.inf], 1.0), r"mean\[0\] is inf"),
    (lambda: posteriors.mixture([0.5, 0.6], [0, 1], [1, 1]), "sum to 1"),
    (lambda: posteriors.mixture([1.5, -0.5], [0, 1], [1, 1]), "negative"),
    (lambda: posteriors.mixture([np.nan, 1], [0, 1], [1, 1]), "is nan"),
    (lambda: posteriors.mixture([1.0], [0, 1], [1, 1]), "must agree"),
    (lambda: posteriors.mixture([0.5, 0.5], [0, 1], [1]), "covs must hold 2"),
    (lambda: posteriors.banana(width=0.0), "width must be positive"),
    (lambda: posteriors.donut(radius=-1.0), "radius must be positive"),
    (lambda: posteriors.funnel(1), "dim must be at least 2"),
    (lambda: posteriors.eight_schools(centered=1), BayeslibTypeError, "True or False"),
)


def test_variances_may_be_numbers():
    isotropic = posteriors.mixture(WEIGHTS, MEANS, [2.0, 0.5])
    twin = posteriors.mixture(WEIGHTS, MEANS, [2.0 * np.eye(2), 0.5 * np.eye(2)])
    assert isotropic([0.3, 0.1]) == twin([0.3, 0.1])
    one = posteriors.mixture(WEIGHTS, MEANS, 2.0)
    assert one([0.3, 0.1]) == posteriors.mixture(WEIGHTS, MEANS, [2.0, 2.0])([0.3, 0.1])
    np.testing.assert_array_equal(posteriors.gaussian([0.0, 1.0], 2.0).truth.cov, 2.0 * np.eye(2))


def test_a_quantile_that_is_not_known_is_named():
    with pytest.raises(KeyError, match=r"no quantile at 0.3; there are \[0.025"):
        posteriors.gamma_student().truth.quantiles[0.3]
    assert posteriors.gamma_student().truth.quantiles.get(0.3) is None
