"""Runs that must not be believed: what is returned says so, and says why, whatever the seed."""

import numpy as np
import pytest
from scipy import stats

import bayeslib as bl
from bayeslib import posteriors

pytestmark = [
    pytest.mark.slow,
    pytest.mark.trust("M8"),
    pytest.mark.filterwarnings("ignore::bayeslib.BayeslibWarning"),
]
SEEDS = range(5)


def normal(theta):
    return -0.5 * theta[0] ** 2 - 0.5 * theta[1] ** 2


def cauchy(theta):
    return -np.log1p(theta[0] ** 2)


FAR = posteriors.mixture([0.5, 0.5], [[-15.0, 0.0], [15.0, 0.0]], [np.eye(2), np.eye(2)])
APART = np.array([[-15.0, 0.0], [15.0, 0.5], [-14.0, 0.5], [14.0, -0.5]])

# A run with a seed, and the words that the result must have.
TROUBLE = {
    "centred schools": (
        lambda seed: bl.nuts(posteriors.eight_schools(centered=True), rng=seed),
        "diverged",
    ),
    "funnel": (lambda seed: bl.nuts(posteriors.funnel(10), rng=seed), "E-BFMI"),
    "funnel, chains apart": (lambda seed: bl.nuts(posteriors.funnel(10), rng=seed), "R-hat"),
    "far mixture, nuts": (lambda seed: bl.nuts(FAR, APART, rng=seed), "R-hat"),
    "far mixture, hmc": (lambda seed: bl.hmc(FAR, APART, num_steps=10, rng=seed), "R-hat"),
    "far mixture, metropolis": (lambda seed: bl.metropolis(FAR, APART, rng=seed), "R-hat"),
    "Cauchy weights": (
        lambda seed: bl.importance_sample(
            bl.Target(cauchy, dim=1, gradient=None), stats.norm(), num_samples=2000, rng=seed
        ),
        "k-hat",
    ),
}
# The same calls where nothing is wrong.
PEACE = {
    "schools": lambda seed: bl.nuts(
        posteriors.eight_schools(centered=False), target_accept=0.99, num_samples=2000, rng=seed
    ),
    "normal, nuts": lambda seed: bl.nuts(bl.Target(normal, dim=2), num_samples=2000, rng=seed),
    "normal, metropolis": lambda seed: bl.metropolis(
        bl.Target(normal, dim=2), None, num_samples=10_000, rng=seed
    ),
    "heavier weights": lambda seed: bl.importance_sample(
        posteriors.gaussian(0.0, 1.0), stats.cauchy(), num_samples=2000, rng=seed
    ),
}


@pytest.mark.parametrize("name", TROUBLE)
def test_trouble_is_named(name):
    run, words = TROUBLE[name]
    for seed in SEEDS:
        draws = run(seed)
        assert any(words in problem for problem in draws.problems), (seed, draws.problems)
        assert words in str(draws.summary()), seed


@pytest.mark.parametrize("name", PEACE)
def test_no_trouble_is_named_where_there_is_none(name):
    for seed in SEEDS:
        assert PEACE[name](seed).problems == (), seed


def test_chains_from_one_side_cannot_know_of_the_other():
    """Why starts must be dispersed: here nothing is flagged, and everything is wrong."""
    draws = bl.nuts(FAR, np.abs(APART), num_samples=2000, rng=1)
    assert draws.problems == ()
    assert abs(draws.expect().z(FAR.truth.mean)[0]) > 10.0
