"""Enumeration, grids and quadrature against closed forms."""

import itertools
from contextlib import nullcontext

import numpy as np
import pytest
from bad_inputs import refused
from scipy import stats

import bayeslib as bl
from bayeslib import posteriors
from bayeslib.errors import BayeslibError, BayeslibTypeError, BayeslibWarning, TargetError
from bayeslib.exact.quadrature import EDGES, GAUSS, KRONROD, NODES

PRIOR = {"fair": 0.8, "heads": 0.1, "tails": 0.1}
BIAS = {"fair": 0.5, "heads": 0.9, "tails": 0.1}


def coin_log_joint(hypothesis):
    q = BIAS[str(hypothesis)]
    return np.log(PRIOR[str(hypothesis)]) + 8.0 * np.log(q) + 2.0 * np.log(1.0 - q)


# Enumeration


def test_the_coin_with_three_hypotheses():
    posterior = bl.enumerate_posterior(coin_log_joint, list(BIAS))
    np.testing.assert_allclose(posterior.probabilities, [0.644746, 0.355254, 6.68e-7], atol=5e-7)
    assert np.exp(posterior.log_evidence.value) == pytest.approx(0.00121172, abs=5e-9)
    assert posterior["tails"] == pytest.approx(6.68472e-7, rel=1e-5)
    chance = posterior.expect(lambda h: [BIAS[str(x)] for x in h])
    exact = 0.644745714 * 0.5 + 0.355253618 * 0.9 + 6.68e-7 * 0.1
    assert chance.value == pytest.approx(exact, abs=1e-8) and chance.mcse == 0.0


@pytest.mark.trust("S11")
def test_enumeration_samples_with_its_probabilities():
    posterior = bl.enumerate_posterior(coin_log_joint, list(BIAS))
    share = np.mean(posterior.sample(100_000, 1) == "fair")
    assert abs(share - 0.644746) < 4.9 * np.sqrt(0.25 / 1e5)
    assert abs(share - PRIOR["fair"]) > 4.9 * np.sqrt(0.25 / 1e5)


def test_enumeration_of_vectors_with_values_given():
    bits = (np.arange(8)[:, None] >> np.arange(3)) & 1
    posterior = bl.enumerate_posterior(bits @ np.log([1.0, 2.0, 3.0]), bits)
    np.testing.assert_allclose(posterior.expect().value, [1 / 2, 2 / 3, 3 / 4])
    assert np.exp(posterior.log_evidence.value) == pytest.approx(24.0)
    assert posterior[[1, 1, 1]] == pytest.approx(6.0 / 24.0)
    assert posterior.sample(5, 2).shape == (5, 3)


def test_numbers_beside_text_stay_numbers():
    assert bl.enumerate_posterior(lambda h: h[1] / 1, [("fair", 0), ("bent", 9)])["bent", 9] > 0.99


def test_impossible_hypotheses_may_have_an_infinite_value():
    posterior = bl.enumerate_posterior([0.0, -np.inf], [1.0, np.inf])
    assert posterior.expect().value == 1.0


test_bad_enumerations_are_named = refused(
    (([0.0], []), "at least one"),
    (([0.0], [1, 2]), r"shape \(2,\)"),
    (([0.0, np.nan], ["a", "b"]), "nan for b"),
    (([0.0, np.inf], ["a", "b"]), "inf for b"),
    (([-np.inf, -np.inf], ["a", "b"]), "every hypothesis"),
    ((lambda h: [1.0], ["a"]), BayeslibTypeError, "must return a number"),
    ((lambda h: h.sort(), np.ones((2, 2))), ValueError, "read-only"),
    ((lambda h: True, ["a"]), BayeslibTypeError, "must return a number"),
    by=bl.enumerate_posterior,
)


POSSIBLE = bl.enumerate_posterior([0.0, 0.0], ["a", "b"])
test_unknown_hypotheses_and_functions_are_named = refused(
    (lambda: POSSIBLE["c"], "'c' is not among"),
    (lambda: bl.enumerate_posterior([0.0, 0.0], np.eye(2))[0], "0 is not among the 2"),
    (POSSIBLE.expect, BayeslibTypeError, "hypotheses must hold real numbers"),
    (lambda: POSSIBLE.expect(lambda h: None), BayeslibTypeError, "f must return numbers"),
)


def test_hypotheses_may_come_from_any_iterable():
    posterior = bl.enumerate_posterior(
        lambda h: -float(sum(h)), itertools.product([0, 1], repeat=3)
    )
    assert posterior.log_evidence.value == pytest.approx(3.0 * np.log1p(np.exp(-1.0)))
    assert posterior.expect(lambda h: h[0]).value == pytest.approx(1.0 / (1.0 + np.e))
    with pytest.raises(BayeslibError, match="give its rows one length"):
        bl.enumerate_posterior(lambda h: 0.0, [(0,), (0, 1)])


def test_an_enumeration_lists_its_most_probable_hypotheses():
    posterior = bl.enumerate_posterior(lambda k: -0.1 * k, range(12))
    summary = posterior.summary()
    assert list(summary.rows) == [str(k) for k in range(10)]
    assert summary["3", "probability"] == pytest.approx(posterior[3])
    assert "the 10 most probable" in str(summary) and "<table" in posterior._repr_html_()


# Quadrature


def test_the_rules_are_gauss_and_kronrod():
    for degree in range(23):
        exact = 1.0 / (degree + 1.0)
        assert KRONROD @ NODES**degree == pytest.approx(exact, abs=1e-15)
        if degree < 14:
            assert GAUSS @ NODES**degree == pytest.approx(exact, abs=1e-15)
    assert abs(GAUSS @ NODES**14 - 1.0 / 15.0) > 1e-9
    assert np.all((EDGES[:-1] < NODES) & (NODES < EDGES[1:]))


LINE = {
    "gamma_student": posteriors.gamma_student(),
    "observation far out": posteriors.gamma_student(-30.0),
    "coin": posteriors.coin(8, 2),
    "many tosses": posteriors.coin(80_000, 20_000),
    "a pole at the end": posteriors.coin(0, 2, prior=(0.5, 0.5)),
    "narrow and far": posteriors.gaussian(1e4, 1e-6),
    "two modes": posteriors.mixture([0.3, 0.7], [-20.0, 30.0], [1.0, 0.01]),
}


@pytest.mark.trust("M6")
@pytest.mark.parametrize("name", LINE)
def test_quadrature_on_the_line(name):
    target = LINE[name]
    found = bl.quadrature(target)
    truth = target.truth
    assert found.log_evidence.value == pytest.approx(truth.log_evidence, abs=1e-9)
    spread = np.sqrt(truth.cov[0, 0])
    assert abs(found.mean[0] - truth.mean[0]) < 1e-9 * spread + 2 * np.spacing(abs(truth.mean[0]))
    assert found.cov[0, 0] == pytest.approx(truth.cov[0, 0], rel=1e-7)
    for p in truth.quantiles:
        assert abs(found.quantile(p)[0] - truth.quantiles[p][0]) < 5e-3 * spread
    draws = found.sample(50_000, 1)
    # DKW at alpha 1e-6 sees 0.0121; cells are far finer than that
    assert stats.kstest(draws[:, 0], truth.cdf).statistic < np.sqrt(np.log(2e6) / 1e5)


PLANE = {
    "gaussian": (posteriors.gaussian([1.0, -50.0], [[1.0, 0.9], [0.9, 1.0]]), 1e-8),
    "two modes": (posteriors.mixture([0.3, 0.7], [[-10, 0], [12, 1]], [np.eye(2)] * 2), 1e-8),
    "banana": (posteriors.banana(), 1e-7),
    "donut": (posteriors.donut(), 1e-8),
    "thin donut": (posteriors.donut(3.0, 0.05), 1e-8),
    "funnel": (posteriors.funnel(2), 1e-8),
    "space": (posteriors.gaussian([1.0, 2.0, 3.0], np.eye(3) + 0.8), 1e-5),
}


@pytest.mark.trust("M6")
@pytest.mark.parametrize("name", PLANE)
def test_quadrature_in_two_and_three_dimensions(name):
    target, accuracy = PLANE[name]
    found = bl.quadrature(target)
    assert found.log_evidence.value == pytest.approx(target.truth.log_evidence, abs=accuracy)
    np.testing.assert_allclose(found.mean, target.truth.mean, atol=1e-5)
    if name != "funnel":
        np.testing.assert_allclose(found.cov, target.truth.cov, rtol=1e-5, atol=1e-5)


def test_quadrature_errors_are_larger_than_the_truth():
    target = posteriors.gamma_student()
    for rtol in (1e-2, 1e-5, 1e-8):
        found = bl.quadrature(target, rtol=rtol)
        miss = abs(found.log_evidence.value - target.truth.log_evidence)
        assert miss <= max(found.log_evidence.mcse, 1e-13)
        mean = found.expect()
        assert abs(mean.value - target.truth.mean)[0] <= max(mean.mcse[0], 1e-12)


def test_quadrature_within_bounds_and_of_an_event():
    target = posteriors.gaussian(0.0, 1.0)
    half = bl.quadrature(target, (-np.inf, 0.0))
    assert np.exp(half.log_evidence.value) == pytest.approx(0.5, rel=1e-9)
    assert half.mean[0] == pytest.approx(-np.sqrt(2.0 / np.pi), rel=1e-9)
    assert bl.quadrature(target, (0.0, np.inf)).mean[0] == pytest.approx(np.sqrt(2.0 / np.pi))
    narrow = bl.quadrature(posteriors.gaussian(0.0, 1e-24), (0.0, np.inf))
    np.testing.assert_allclose(narrow.quantile(0.999), 3.29e-12, rtol=1e-3)
    tail = bl.quadrature(posteriors.gamma_student(), (6.0, np.inf))
    evidence = posteriors.gamma_student().truth.log_evidence
    assert np.exp(tail.log_evidence.value - evidence) == pytest.approx(0.05382494, abs=5e-9)


def disc(theta):
    return 0.0 if theta[0] ** 2 + theta[1] ** 2 < 0.5 else -np.inf


def test_quadrature_says_when_it_did_not_get_there():
    target = bl.Target(disc, dim=2, gradient=None, support=[(-1.0, 1.0)] * 2)
    with pytest.warns(BayeslibWarning, match="raise max_evals"):
        found = bl.quadrature(target, max_evals=200_000)
    assert np.exp(found.log_evidence.value) == pytest.approx(0.5 * np.pi, rel=1e-2)
    assert found.num_evals < 300_000 and found.log_evidence.mcse > 1e-5
    for mean, variance, bounds in [(0.3, 1e-34, (-1.0, 1.0)), (1e8, 1e-16, None)]:
        with pytest.warns(BayeslibWarning, match="is too thin"):
            found = bl.quadrature(posteriors.gaussian(mean, variance), bounds)
        assert found.num_evals < 100_000 and np.isfinite(found.log_evidence.value)


test_bad_integrals_are_named = refused(
    ((posteriors.funnel(4), {}), "at most 3 dimensions"),
    ((LINE["coin"], {"bounds": (1.0, 0.0)}), "low < high"),
    ((LINE["coin"], {"bounds": [(0, 1), (0, 1)]}), "1 pairs"),
    ((LINE["coin"], {"bounds": (np.nan, 1.0)}), "low < high"),
    ((LINE["coin"], {"rtol": 0.0}), "rtol must be positive"),
    ((LINE["coin"], {"max_evals": 3}), "max_evals must be at least 15"),
    ((bl.Target(lambda theta: np.nan, dim=1, gradient=None), {}), TargetError, "is nan at theta="),
    ((bl.Target(lambda theta: -np.inf, dim=1, gradient=None), {}), "density is zero at all"),
    ((bl.Target(lambda theta: 0.0, dim=1, gradient=None), {}), "hardly falls within 1e18"),
    by=lambda target, options: bl.quadrature(target, **options),
)


# The grid


def test_grid_on_the_line_converges_and_knows_how_far_it_is():
    target = posteriors.gamma_student()
    for num_points, accuracy in ((50, 1e-4), (200, 1e-6), (1000, 1e-8)):
        found = bl.grid_posterior(target, (0.0, 25.0), num_points=num_points)
        miss = abs(found.log_evidence.value - target.truth.log_evidence)
        assert miss < accuracy and miss < found.log_evidence.mcse + 1e-10
        mean = found.expect()
        assert abs(mean.value - target.truth.mean)[0] < mean.mcse[0] + 1e-9
    tail = found.expect(lambda theta: theta[:, 0] > 6.0)
    assert abs(tail.value - 0.05382494) < tail.mcse
    draws = found.sample(50_000, 2)[:, 0]
    assert stats.kstest(draws, target.truth.cdf).statistic < np.sqrt(np.log(2e6) / 1e5)


def test_draws_from_too_coarse_a_grid_would_be_caught():
    coarse = bl.grid_posterior(posteriors.gamma_student(), (0.0, 25.0), num_points=12)
    draws = coarse.sample(50_000, 2)[:, 0]
    statistic = stats.kstest(draws, posteriors.gamma_student().truth.cdf).statistic
    assert statistic > np.sqrt(np.log(2e6) / 1e5)


def test_grid_in_the_plane():
    target = posteriors.mixture([0.3, 0.7], [[-2.0, 0.0], [2.0, 1.0]], [np.eye(2)] * 2)
    found = bl.grid_posterior(target, [(-8.0, 8.0), (-6.0, 7.0)], num_points=(160, 130))
    assert len(found.points) == 160 * 130 == found.num_evals
    assert found.log_evidence.value == pytest.approx(0.0, abs=1e-7)
    np.testing.assert_allclose(found.mean, target.truth.mean, atol=1e-6)
    np.testing.assert_allclose(found.cov, target.truth.cov, atol=1e-5)
    np.testing.assert_allclose(found.quantile(0.5), target.truth.quantiles[0.5], atol=0.01)
    assert found.weights.sum() == pytest.approx(1.0)
    summary = found.summary()
    assert summary["theta[1]", "mean"] == pytest.approx(0.7, abs=1e-6)
    assert "grid_posterior" in str(summary) and "<table" in found._repr_html_()


@pytest.mark.parametrize("num_points", [20, 40, (400, 20), 200])
def test_an_axis_with_too_few_points_shows_in_the_error_of_a_grid(num_points):
    target = posteriors.gaussian([0.0, 0.0], [1.0, 0.0025])
    said = pytest.warns(bl.BayeslibWarning, match=r"cells along theta\[1\]")
    with nullcontext() if num_points == 200 else said:
        found = bl.grid_posterior(target, [(-5.0, 5.2), (-5.0, 5.3)], num_points=num_points)
    miss = abs(found.log_evidence.value - target.truth.log_evidence)
    assert miss < found.log_evidence.mcse + 1e-6


@pytest.mark.parametrize("num_points", [20, 61])
def test_a_density_cut_off_by_the_bounds_hardly_adds_to_the_error_of_a_grid(num_points):
    target = bl.Target(lambda theta: -np.sum(theta), dim=2)
    found = bl.grid_posterior(target, [(0.0, 10.0)] * 2, num_points=num_points)
    miss = abs(found.log_evidence.value - 2.0 * np.log1p(-np.exp(-10.0)))
    assert miss < found.log_evidence.mcse < 10.0 * miss


test_bad_grids_are_named = refused(
    ({"bounds": None, "num_points": 10}, "finite bounds"),
    ({"bounds": (-1e308, 1e308), "num_points": 10}, r"below 1e300, got \[\[-1e\+308"),
    ({"bounds": (0.0, 5.0), "num_points": 1}, "at least 2"),
    ({"bounds": (-5.0, -1.0), "num_points": 10}, "zero at all 10"),
    ({"bounds": (0.0, 5.0), "num_points": "ten"}, BayeslibTypeError, "num_points must hold"),
    ({"bounds": (0.0, 5.0), "num_points": 1e15}, MemoryError, "GiB"),
    ({"bounds": (0.0, 5.0), "num_points": (3, 4)}, "be a number or have shape"),
    by=lambda **options: bl.grid_posterior(posteriors.gamma_student(), **options),
)


def test_functions_of_one_point_and_what_is_no_function():
    found = bl.grid_posterior(posteriors.gamma_student(), (0.0, 20.0), num_points=10)
    assert found.expect(np.mean) == found.expect(lambda theta: theta[:, 0])
    with pytest.raises(BayeslibTypeError, match="callable"):
        found.expect(3)
