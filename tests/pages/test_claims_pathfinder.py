"""What the page on fits that start a chain claims of one seed, asserted over several: no luck."""

import numpy as np
import pytest
from scipy import stats
from twins import Z_LIMIT, page, quiet

import bayeslib as bl
from bayeslib import posteriors

pytestmark = quiet
BANANA = posteriors.banana()
NORMAL = posteriors.gaussian(0.0, 1.0)
START = np.array([2.5, -2.0])


def test_a_history_that_forgets_is_seen():
    fast = bl.pathfinder(BANANA, START, keep_path=True, rng=1)
    _, offers = page("pathfinder", "pathfinder")(BANANA, START, history=2, rng=1)
    covs = np.array([q.cov for _, q in offers[: len(fast.settings["covs"])]])
    assert np.abs(covs - fast.settings["covs"][: len(covs)]).max() > 1e-3


def test_the_bounds_of_the_funnel_are_exact():
    neck, lost = page("pathfinder", "neck", "lost")
    rng = np.random.default_rng(1)
    for _ in range(5):
        root = 0.4 * rng.standard_normal((2, 2))
        q = bl.Gaussian(rng.standard_normal(2), root @ root.T + 0.1 * np.eye(2))
        bound = bl.elbo(neck, q, num_samples=20_000, rng=rng)
        assert abs(float(bound) + lost(q.mean, q.cov)) < Z_LIMIT * bound.mcse
        assert abs(float(bound) + lost(q.mean, 1.2 * q.cov)) > Z_LIMIT * bound.mcse


@pytest.mark.parametrize("s", [0.5, 0.707, 0.9, 1.414, 2.0])
def test_acceptance_is_an_arctangent(s):
    draws = bl.independence_metropolis(NORMAL, stats.norm(scale=s), num_samples=4000, rng=3)
    rate = draws.stats["acceptance_rate"]
    error = float(bl.mcse(rate))
    assert abs(rate.mean() - page("pathfinder", "acceptance")(s)) < Z_LIMIT * error
    assert abs(rate.mean() - 2 / np.pi * np.arctan(min(s, 1 / s))) > Z_LIMIT * error
