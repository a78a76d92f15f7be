"""What chains learn in their warm-up, and the random walk."""

import numpy as np
import pytest
from bad_inputs import refused
from densities import COV, correlated, gaussian2, sample_gaussian2
from stepping import check_moments
from twins import plain_twin

import bayeslib as bl
from bayeslib import BayeslibWarning, Target, ess, metropolis

SD, PRECISION = np.sqrt(np.diag(COV)), np.linalg.inv(COV)
RATE, METRIC = "acceptance_rate", "inverse_mass_matrix"
ROOTS = SD / np.sqrt(np.diag(PRECISION))
# How far sizes go; what is learned, of a target of unit size, within which factors; a mean between.
ADAPTED = {
    "metropolis": (1e3, {}, "scale", SD, (0.5, 3.5), RATE, (0.2, 0.5)),
    "slice_sample": (1e4, {}, "width", SD, (1.5, 12.0), "num_evals", (8.0, 10.8)),
    "hmc": (1e2, {"num_steps": 4}, METRIC, SD**2, (0.3, 3.0), RATE, (0.7, 0.99)),
    "nuts": (1e3, {}, METRIC, ROOTS, (0.75, 1.33), RATE, (0.7, 0.93)),
}


@pytest.mark.parametrize("way", [-1, 1])
@pytest.mark.parametrize("name", ADAPTED)
def test_adapts_to_the_scale_and_recovers_the_truth(name, way):
    reach, how, learned, unit, (low, high), stat, (least, most) = ADAPTED[name]
    size = reach**way
    target = Target(correlated, dim=2, data=(PRECISION / size**2,))
    starts = size * sample_gaussian2(4, np.random.default_rng(105))
    run = {"num_samples": 10_000, "num_warmup": 2000, "rng": 106}
    draws = getattr(bl, name)(target, starts, **how | run)
    ratio = draws.settings[learned] / (size ** (2 if learned == METRIC else 1) * unit)
    assert np.all((low < ratio) & (ratio < high)), ratio
    assert least < draws.stats[stat].mean() < most
    check_moments(draws.values / size, 0.0, COV)


def test_a_dense_proposal_matches_the_page_in_other_coordinates():
    """A proposal of root @ z is one of z where theta is root @ u."""
    target, cov = gaussian2(), np.array([[1.0, 0.9], [0.9, 1.5]])
    root, start = np.linalg.cholesky(cov), np.array([0.5, -1.0])
    draws = metropolis(target, start, cov=cov, num_samples=300, num_warmup=20, num_chains=1, rng=7)
    path = plain_twin("mcmc", "metropolis")(
        lambda u: target(root @ u), np.linalg.solve(root, start), scale=1.0, num_samples=320, rng=7
    )
    path = path @ root.T
    np.testing.assert_allclose(draws.values[0], path[20:], rtol=1e-9)
    moved = np.any(np.diff(path, axis=0)[19:] != 0.0, axis=1)
    np.testing.assert_array_equal(moved, draws.stats["accepted"][0])
    np.testing.assert_allclose(draws.logdensity[0], target.many(draws.values[0]), rtol=1e-12)
    np.testing.assert_allclose(draws.settings["cov"][0], cov, rtol=1e-12)
    np.testing.assert_allclose(draws.settings["scale"][0] ** 2, np.diag(cov), rtol=1e-12)
    assert draws.num_evals == 321


def correlated_over_decades(dim, correlation):
    sd = 10.0 ** np.linspace(-2, 2, dim)
    cov = sd[:, None] * np.where(np.eye(dim) == 1.0, 1.0, correlation) * sd
    return Target(gaussian2().logdensity, dim=dim, data=(np.linalg.inv(cov),), gradient=None), cov


@pytest.mark.parametrize("metric", ["diag", "dense"])
def test_the_warm_up_finds_scales_that_lie_decades_apart(metric):
    """Within a third of the effective draws of the best proposal; of which 1 % is left unscaled."""
    target, cov = correlated_over_decades(5, 0.0)
    options = {"num_samples": 20_000, "rng": 109}
    best = metropolis(target, None, cov=2.38**2 / 5 * cov, **options)
    draws = metropolis(target, None, metric=metric, **options)
    assert np.min(ess(draws)) > np.min(ess(best)) / 3.0
    with pytest.warns(BayeslibWarning, match="no time to adapt"):
        unscaled = metropolis(target, best.values[:, -1], num_warmup=0, **options)
    assert np.min(ess(unscaled)) < np.min(ess(best)) / 30.0


def test_a_dense_proposal_learns_correlations():
    target, cov = correlated_over_decades(2, 0.99)
    options = {"num_samples": 20_000, "num_warmup": 2000, "rng": 110}
    dense, diag = (metropolis(target, None, metric=m, **options) for m in ("dense", "diag"))
    assert np.min(ess(dense)) > 5.0 * np.min(ess(diag))
    learned = dense.settings["cov"] / (2.38**2 / 2.0 * cov)
    assert np.all((0.3 < learned) & (learned < 3.0)), learned
    sd = np.sqrt(np.diag(cov))
    check_moments(dense.values / sd, 0.0, cov / np.outer(sd, sd))


test_what_a_proposal_may_not_be = refused(
    ({"scale": 1.0, "cov": np.eye(2)}, "scale or cov, not both"),
    ({"cov": [[1.0, 2.0], [2.0, 1.0]]}, "cov must be positive definite"),
    ({"metric": "unit"}, 'metric must be one of "diag", "dense", got \'unit\''),
    by=lambda **options: metropolis(gaussian2(), None, rng=1, **options),
)


def test_adaptation_reaches_the_best_acceptance_rate():
    for dim, best in [(1, 0.44), (8, 0.234)]:
        target = Target(gaussian2().logdensity, dim=dim, data=(np.eye(dim),), gradient=None)
        draws = metropolis(target, None, num_samples=5000, rng=107)
        assert abs(draws.stats["acceptance_rate"].mean() - best) < 0.08


def test_stats_and_settings():
    draws = metropolis(gaussian2(), None, num_samples=50, num_warmup=0, scale=0.5, rng=1)
    assert set(draws.stats) == {"acceptance_rate", "accepted"}
    assert draws.stats["accepted"].dtype == bool
    assert draws.values.shape == (4, 50, 2)
    assert draws.settings["seed"] == 1 and not draws.settings["interrupted"]
    np.testing.assert_array_equal(draws.settings["scale"], np.full((4, 2), 0.5))
