"""Rejection sampling, fixed and adaptive: exactness, the evidence, and envelopes that leak."""

import numpy as np
import pytest
from bad_inputs import Denying, refused
from densities import cut_off, raising
from registry import log_gamma
from scipy import stats
from twins import page, plain_twin

import bayeslib as bl
from bayeslib import posteriors

TARGET = posteriors.gamma_student()
PRIOR = stats.gamma(3)
LOG_BOUND = -1.5 * np.log(2.0)  # the likelihood is at most 1 / (2 sqrt 2), at theta = y
ALPHA = 1e-6


def same_distribution(x, cdf):
    """Dvoretzky, Kiefer, Wolfowitz and Massart: too far apart with probability below ALPHA."""
    bound = np.sqrt(np.log(2.0 / ALPHA) / (2.0 * len(x)))
    return stats.kstest(x, cdf).statistic < bound


def draw(num_samples=1000, rng=1, **options):
    options = {"log_bound": LOG_BOUND} | options
    return bl.rejection_sample(TARGET, PRIOR, num_samples=num_samples, rng=rng, **options)


# Exactness


@pytest.mark.trust("S11")
def test_draws_follow_the_posterior_and_the_leaky_ones_do_not():
    """50,000 draws: DKW sees any distance above 0.0121, at alpha 1e-6."""
    draws = draw(50_000, 2)
    assert draws.values.shape == (1, 50_000, 1) and draws.independent
    assert same_distribution(draws.flat[:, 0], TARGET.truth.cdf)
    assert abs(draws.expect().z(TARGET.truth.mean)[0]) < 5.0
    options = {"log_bound": -np.log(4.0), "num_proposals": 120_000, "rng": 2}
    leaky = page("rejection", "unguarded")(TARGET, PRIOR, **options)
    assert not same_distribution(leaky, TARGET.truth.cdf)


def test_acceptance_and_evidence_are_those_of_the_theory():
    draws = draw(100_000, 3)
    exact = np.exp(TARGET.truth.log_evidence - LOG_BOUND)
    assert exact == pytest.approx(0.264410, abs=5e-7)
    assert draws.settings["acceptance"] == pytest.approx(exact, abs=5.0 * 0.0014)
    assert abs(draws.log_evidence.z(TARGET.truth.log_evidence)) < 5.0
    # relative error of a negative binomial count: sqrt((1 - a) / N)
    assert draws.log_evidence.mcse == pytest.approx(np.sqrt((1.0 - exact) / 100_000), rel=0.02)


def test_counts_add_up():
    draws = draw(500, 4)
    took = draws.stats["num_proposals"]
    assert took.shape == (1, 500) and took.min() >= 1
    assert took.sum() == draws.settings["num_proposed"] <= draws.num_evals
    assert draws.num_evals % 500 == 0
    haldane = np.log(499 / (draws.settings["num_proposed"] - 1)) + LOG_BOUND
    assert draws.log_evidence.value == pytest.approx(haldane, rel=1e-12)
    assert draws.settings["seed"] == 4 and draws.settings["proposal"] == "gamma(3)"
    assert draws.settings["interrupted"] is False
    assert draws.problems == ()


def test_several_dimensions():
    target = posteriors.gaussian([1.0, -1.0], [[1.0, 0.5], [0.5, 1.0]])
    proposal = stats.multivariate_normal([1.0, -1.0], [[2.0, 0.5], [0.5, 2.0]])
    bound = float(target([1.0, -1.0]) - proposal.logpdf([1.0, -1.0]))
    draws = bl.rejection_sample(target, proposal, log_bound=bound, num_samples=20_000, rng=5)
    assert np.abs(draws.expect().z([1.0, -1.0])).max() < 5.2
    assert abs(draws.log_evidence.z(0.0)) < 4.9


# Envelopes that do not cover


@pytest.mark.row(45)
def test_envelope_error_says_where_by_how_much_and_what_to_do():
    with pytest.raises(bl.EnvelopeError, match=r"log_bound >= -1\.039.*heavier tails") as caught:
        draw(5000, log_bound=-np.log(4.0))
    error = caught.value
    assert error.position.shape == (1,)
    worst = TARGET(error.position) - PRIOR.logpdf(error.position[0])
    assert error.needed_log_bound == pytest.approx(worst, rel=1e-12)
    assert error.log_ratio == pytest.approx(worst + np.log(4.0), rel=1e-12)
    draw(1000, log_bound=LOG_BOUND)  # and the bound it converges to does cover


def test_touching_the_envelope_is_not_a_violation():
    target = posteriors.gaussian(0.0, 1.0)
    draws = bl.rejection_sample(target, stats.norm(), log_bound=0.0, num_samples=1000, rng=7)
    assert draws.settings["acceptance"] == 1.0
    found = draws.log_evidence  # a thousand proposals tell no more than that
    assert (found.value, found.mcse) == (0.0, pytest.approx(1e-3, rel=2e-3))


@pytest.mark.row(46)
def test_rarely_accepting_ends_and_keeps_what_was_accepted():
    with pytest.raises(bl.RejectionError, match="raise max_proposals") as caught:
        draw(100, log_bound=4.0, max_proposals=20_000)
    partial = caught.value.partial
    assert 0 < partial.num_samples < 100 and partial.num_evals == 20_000
    assert abs(partial.log_evidence.z(TARGET.truth.log_evidence)) < 4.9
    with pytest.raises(bl.RejectionError, match="0 of 100 draws after") as caught:
        draw(100, log_bound=40.0, max_proposals=1000)
    assert caught.value.partial.values.shape == (1, 0, 1)


def test_nan_is_rejected_counted_and_said_once():
    t = bl.Target(cut_off, dim=1, data=(1.0, np.nan), gradient=None)
    with pytest.warns(bl.BayeslibWarning, match="is nan at theta=") as caught:
        draws = bl.rejection_sample(t, stats.norm(), log_bound=1.0, num_samples=2000, rng=8)
    assert len(caught) == 1 and draws.values.max() < 1.0
    with pytest.warns(bl.BayeslibWarning, match="is nan at"), pytest.raises(bl.RejectionError):
        bl.rejection_sample(t, stats.norm(), log_bound=9, num_samples=99, rng=8, max_proposals=9)


test_plus_infinity_and_exceptions_end_the_run = refused(
    ((cut_off, 1.0, np.inf), bl.TargetError, r"\+inf at theta="),
    ((raising, 1.0), ValueError, "too far\n.*raised at theta="),
    by=lambda density, *data: bl.rejection_sample(
        bl.Target(density, dim=1, data=data), stats.norm(), log_bound=1.0, num_samples=2000, rng=8
    ),
)


test_bad_arguments_are_named = refused(
    ((PRIOR, {"log_bound": np.inf}), "log_bound must be finite"),
    ((PRIOR, {"log_bound": "0"}), bl.BayeslibTypeError, "log_bound must be a number"),
    ((PRIOR, {"max_proposals": 0}), "max_proposals must be at least 1"),
    ((stats.gamma, {}), bl.BayeslibTypeError, "not frozen"),
    ((stats.poisson(3), {}), bl.BayeslibTypeError, "discrete"),
    ((3.0, {}), bl.BayeslibTypeError, "needs sample"),
    ((stats.multivariate_normal([0, 0]), {}), "dim=2, the target dim=1"),
    ((stats.norm([0, 1], 1), {}), r"needs parameters of shape \(1,\), got \(2,\)"),
    ((Denying(1.0), {}), "a point it drew, theta="),
    by=lambda proposal, options: bl.rejection_sample(
        TARGET, proposal, **{"log_bound": LOG_BOUND, "num_samples": 100, "rng": 1} | options
    ),
)


# Adaptive rejection sampling


def gamma_plain(theta):
    return 2.0 * np.log(theta[0]) - theta[0] if theta[0] > 0.0 else -np.inf


def gamma_fused(theta, grad):
    grad[0] = 2.0 / theta[0] - 1.0
    return 2.0 * np.log(theta[0]) - theta[0]


BLIND = bl.Target(gamma_plain, dim=1, gradient=None)
GAMMA = bl.Target(gamma_plain, dim=1, fused=gamma_fused, support=(0.0, np.inf))


@pytest.mark.parametrize("seed", range(4))
def test_the_hull_is_that_of_the_page(seed):
    """Every point at which the page's cell asks for the density is one of the hull's."""
    target, asked = log_gamma(), []

    class Noting:
        gradient = target.gradient

        def __call__(self, theta):
            asked.append(theta)
            return target(theta)

    options = {"points": [-2.0, 1.5], "num_samples": 200, "rng": seed}
    plain_twin("rejection", "adaptive_rejection_sample")(Noting(), **options)
    fast = bl.adaptive_rejection_sample(target, **options)
    np.testing.assert_allclose(fast.settings["hull"], np.sort(asked), rtol=1e-10)
    assert fast.stats["num_evals"].sum() + 2 == len(asked)


LOG_CONCAVE = {
    "gamma": (GAMMA, [1.0, 4.0], stats.gamma(3).cdf, np.log(2.0)),
    "far normal": (posteriors.gaussian(100.0, 4.0), [90.0, 130.0], stats.norm(100, 2).cdf, 0.0),
    "starts far out": (posteriors.gaussian(0.0, 1.0), [-40.0, 40.0], stats.norm().cdf, 0.0),
    "finite ends": (posteriors.coin(0, 3), [0.5], stats.beta(1, 4).cdf, np.log(0.25)),
    "flat": (posteriors.coin(0, 0), [0.3], stats.uniform().cdf, 0.0),
}


@pytest.mark.trust("S11")
@pytest.mark.parametrize("name", LOG_CONCAVE)
def test_adaptive_draws_follow_the_target(name):
    """100,000 draws: DKW sees any distance above 0.0086, at alpha 1e-6."""
    target, points, cdf, log_evidence = LOG_CONCAVE[name]
    draws = bl.adaptive_rejection_sample(target, points=points, num_samples=100_000, rng=10)
    assert same_distribution(draws.flat[:, 0], cdf)
    assert draws.stats["num_evals"].sum() < 500
    assert draws.num_evals == draws.stats["num_evals"].sum() + len(points) + 100
    assert abs(draws.log_evidence.z(log_evidence)) < 4.9
    assert draws.log_evidence.mcse < 1e-3
    if name == "flat":
        assert draws.log_evidence.value == pytest.approx(0.0, abs=1e-12)


@pytest.mark.trust("M6")
def test_adaptive_evidence_is_right_on_average_and_its_error_honest():
    runs = [
        bl.adaptive_rejection_sample(GAMMA, points=[1.0, 4.0], num_samples=200, rng=seed)
        for seed in range(300)
    ]
    z = np.array([run.log_evidence.z(np.log(2.0)) for run in runs])
    assert abs(z.mean()) < 4.9 * z.std() / np.sqrt(300) + 0.1  # its own bias is of order 1 / N
    assert 0.75 < z.std() < 1.3


TWO = posteriors.mixture([0.5, 0.5], [-3.0, 3.0], [1.0, 1.0])
CONVEX = {
    "a heavy tail": (TARGET, [1.0, 5.0]),
    "two modes": (TWO, [-5.0, 5.0]),
    "two modes under one chord": (TWO, [-4.0, -3.0, 3.0, 4.0]),
    "seen at the start": (TWO, [-4.0, -1.0, 1.0, 4.0]),
}


@pytest.mark.parametrize("name", CONVEX)
def test_a_density_that_is_not_log_concave_is_found_out(name):
    target, points = CONVEX[name]
    with pytest.raises(bl.EnvelopeError, match="not concave") as caught:
        bl.adaptive_rejection_sample(target, points=points, num_samples=5000, rng=13)
    assert caught.value.position.shape == (1,)


test_adaptive_bad_arguments_are_named = refused(
    ((TARGET, {"points": [3.0, 4.0]}), "support has no end on the right"),
    ((GAMMA, {"points": [1.0]}), "a point must lie past the mode"),
    ((posteriors.gaussian(0, 1), {"points": [1.0, 2.0]}), "further left"),
    ((GAMMA, {"points": []}), "points must be 1 to"),
    ((GAMMA, {"points": [-1.0, 4.0]}), "lie inside"),
    ((GAMMA, {"points": [np.nan, 4.0]}), r"points\[1\] is nan|points\[0\] is nan"),
    ((GAMMA, {"points": ["a"]}), bl.BayeslibTypeError, "points must hold real numbers"),
    ((posteriors.gaussian([0, 0], [1, 1]), {"points": [-1, 1]}), "dim=1, got 2"),
    ((BLIND, {"points": [1.0, 4.0]}), bl.GradientError, "no gradient"),
    by=lambda target, options: bl.adaptive_rejection_sample(
        target, num_samples=50, rng=1, **options
    ),
)


def test_support_wider_than_the_density_is_found():
    wide = bl.Target(gamma_plain, dim=1, gradient="auto", support=(-5.0, np.inf))
    with pytest.raises(bl.TargetError, match="true support") as caught:
        bl.adaptive_rejection_sample(wide, points=[1.0, 4.0], num_samples=20_000, rng=14)
    assert caught.value.partial is not None
