"""Independent proposals: invariance, an acceptance known in closed form, a chain that is held."""

import concurrent.futures as futures
import multiprocessing

import numpy as np
import pytest
from densities import EXACT, gaussian2
from scipy import stats
from stepping import Z_LIMIT, independence_steps, mutant, paired_z, swap_z

from bayeslib import (
    BayeslibError,
    BayeslibTypeError,
    BayeslibWarning,
    Gaussian,
    StartError,
    Target,
    independence_metropolis,
)

STARTS = 50_000
PROPOSALS = {
    "log_gamma_normal": stats.multivariate_t([0.8, 0.4], [[1.0, 0.4], [0.4, 1.0]], df=5),
    "mixture": stats.t(5, scale=1.5),
    "funnel": stats.norm([0.0, 0.0], [2.0, 3.0]),
    "truncated": stats.t(5),
}
PROBABILITY = "        probability = np.exp(min(log_weight - current[1], 0.0))\n"
MUTANTS = {
    "no accept step": ("accept = uniforms[t] < probability", "accept = True"),
    "the proposal's density is left out": ("log_weight = new - log_q[t]", "log_weight = new"),
    "the weight is never refreshed": ("            current[1] = log_weight\n", ""),
    "accepts ratio^0.9": (
        PROBABILITY,
        PROBABILITY.replace("log_weight - current[1]", "0.9 * (log_weight - current[1])"),
    ),
    "acceptance is floored at e^-4": (
        PROBABILITY,
        PROBABILITY.replace("min(", "max(-4.0, min(").replace("0.0))", "0.0)))"),
    ),
}


def standard(theta):
    return -0.5 * theta[0] ** 2


STANDARD = Target(standard, dim=1, gradient=None)


@pytest.fixture(scope="module")
def mutants(request):
    return request.config.cache.mkdir("mutants")


@pytest.mark.trust("S8")
@pytest.mark.parametrize("name", EXACT)
def test_conserves_the_target(name):
    target, sample = EXACT[name]
    rng = np.random.default_rng(121)
    starts = sample(STARTS, rng)
    ends, rates = independence_steps(
        target, starts, proposal=PROPOSALS[name], num_steps=10, rng=rng
    )
    z, power = paired_z(starts, ends, right=True)
    assert np.abs(z).max() < Z_LIMIT, z
    assert power.max() < 0.06
    assert np.abs(ends - starts)[:, 0].mean() > 0.3 * starts[:, 0].std()
    assert 0.2 < rates.mean() < 0.95


@pytest.mark.trust("S16")
@pytest.mark.parametrize("bug", MUTANTS)
def test_conservation_fails_for_a_planted_bug(bug, mutants):
    target, sample = EXACT["mixture"]
    module = mutant(mutants, "bayeslib.markov.independence_metropolis", MUTANTS[bug])
    rng = np.random.default_rng(122)
    starts = sample(STARTS, rng)
    ends, _ = independence_steps(
        target, starts, proposal=stats.norm(0.0, 4.0), num_steps=10, rng=rng, module=module
    )
    assert np.abs(paired_z(starts, ends, right=False)[0]).max() > Z_LIMIT


@pytest.mark.trust("S9")
def test_is_reversible():
    target, sample = EXACT["mixture"]
    rng = np.random.default_rng(123)
    starts = sample(STARTS, rng)
    ends, _ = independence_steps(
        target, starts, proposal=stats.norm(0.5, 2.0), num_steps=1, rng=rng
    )
    assert np.abs(swap_z(starts, ends, right=True)).max() < Z_LIMIT
    assert np.mean(ends != starts) > 0.4


@pytest.mark.trust("S10")
@pytest.mark.parametrize("scale", [1.2, 2.0, 5.0])
def test_acceptance_on_a_normal_is_known(scale):
    """N(0, scale^2) proposed to N(0, 1): E min(1, w' / w) = (4 / pi) arctan(1 / scale)."""
    rng = np.random.default_rng(124)
    starts = rng.standard_normal((STARTS, 1))
    _, rates = independence_steps(
        STANDARD, starts, proposal=stats.norm(0.0, scale), num_steps=1, rng=rng
    )
    error = rates.std(ddof=1) / np.sqrt(STARTS)
    exact = 4.0 / np.pi * np.arctan(1.0 / scale)
    assert abs(rates.mean() - exact) < Z_LIMIT * error
    assert abs(rates.mean() - 0.95 * exact) > Z_LIMIT * error


def test_matches_the_plain_algorithm_draw_by_draw():
    proposal = stats.norm(0.5, 2.0)
    draws = independence_metropolis(
        STANDARD, proposal, num_samples=300, num_warmup=20, num_chains=1, rng=7
    )
    rng = np.random.default_rng(7)
    theta = proposal.rvs(size=1, random_state=rng)
    proposals, uniforms = proposal.rvs(size=320, random_state=rng), rng.random(320)
    log_weight, expected = standard(theta) - proposal.logpdf(theta[0]), []
    for proposed, uniform in zip(proposals[:, None], uniforms, strict=True):
        new = standard(proposed) - proposal.logpdf(proposed[0])
        if uniform < np.exp(min(new - log_weight, 0.0)):
            theta, log_weight = proposed, new
        expected.append((theta[0], log_weight))
    theta, log_weight = np.array(expected[20:]).T
    np.testing.assert_allclose(draws.values[0, :, 0], theta, rtol=1e-10)
    np.testing.assert_allclose(draws.stats["log_weight"][0], log_weight, rtol=1e-10)
    assert draws.num_evals == 321
    assert draws.settings["acceptance"] == draws.stats["accepted"].mean()
    moves = np.flatnonzero(np.concatenate([[True], draws.stats["accepted"][0], [True]]))
    assert draws.settings["longest_stay"] == np.diff(moves).max()


def test_an_approximation_may_propose_and_need_not_be_normalised():
    class Shifted:
        def __init__(self, shift):
            self.normal, self.shift = Gaussian([0.0, 0.0], 3.0 * np.eye(2)), shift

        def sample(self, num_samples, rng):
            return self.normal.sample(num_samples, rng)

        def logdensity(self, x):
            return self.normal.logdensity(x) + self.shift

    options = {"num_samples": 500, "rng": 8}
    plain = independence_metropolis(gaussian2(), Gaussian([0, 0], 3.0 * np.eye(2)), **options)
    shifted = independence_metropolis(gaussian2(), Shifted(7.0), **options)
    np.testing.assert_array_equal(plain.values, shifted.values)
    context = multiprocessing.get_context("spawn")
    with futures.ProcessPoolExecutor(1, mp_context=context) as pool:
        there = independence_metropolis(gaussian2(), Shifted(7.0), executor=pool, **options)
    np.testing.assert_array_equal(there.values, plain.values)


def test_a_chain_that_is_held_is_flagged():
    """The proposal is too thin: the weight grows without bound in the tails."""
    starts = np.array([0.0, 3.5, -0.5, 0.5])
    with pytest.warns(BayeslibWarning, match="chain 1 stayed in one state for .* heavier tails"):
        held = independence_metropolis(
            STANDARD, stats.norm(0.0, 0.6), initial_position=starts, num_warmup=0, rng=9
        )
    assert any("stayed in one state" in problem for problem in held.problems)
    assert held.settings["longest_stay"][1] > 500
    free = independence_metropolis(
        STANDARD, stats.norm(0.0, 1.5), initial_position=starts, num_warmup=0, rng=9
    )
    assert not free.problems


def test_what_is_refused():
    class Disagrees:
        def sample(self, num_samples, rng):
            return rng.standard_normal((num_samples, 1))

        def logdensity(self, x):
            return np.where(x[:, 0] > 0.0, -x[:, 0], -np.inf)

    with pytest.raises(BayeslibError, match="its sample and logdensity disagree"):
        independence_metropolis(STANDARD, Disagrees(), initial_position=1.0, num_chains=1, rng=1)
    with pytest.raises(BayeslibError, match="could never return: start within its support"):
        independence_metropolis(
            STANDARD, stats.gamma(2.0), initial_position=-1.0, num_chains=1, rng=1
        )
    with pytest.raises(StartError, match="100 attempts.*a proposal that covers the target"):
        independence_metropolis(EXACT["truncated"][0], stats.norm(-30.0, 1.0), rng=1)
    with pytest.raises(BayeslibTypeError, match="not frozen"):
        independence_metropolis(STANDARD, stats.norm, rng=1)
    with pytest.raises(BayeslibError, match="dim=1"):
        independence_metropolis(STANDARD, stats.multivariate_normal([0, 0]), rng=1)
