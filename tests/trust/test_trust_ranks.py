"""Gandy and Scott's test: an exact draw hidden in a chain has any place in its order.

An exact draw is put at a random place of a chain of sixteen states, which are made from it forwards
and, the kernels being reversible, backwards by the same steps. If the kernel leaves the target
alone, and only then, every state is as good as every other: the rank of the hidden one is uniform,
however slowly the chain moves.
"""

import numpy as np
import pytest
from densities import EXACT
from registry import uneven, uneven_ratio
from scipy import special
from stepping import hastings_steps, hmc_steps, metropolis_steps, nuts_steps, slice_steps
from verdict import fails, passes

from bayeslib import hmc, metropolis, nuts

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::bayeslib.BayeslibWarning"),  # of runs made to learn steps
]

LENGTH = 16
# Where each test sees: functions of the state, ranked along the chain.
FUNCTIONS = (lambda x: x[:, 0], lambda x: x[:, -1], lambda x: np.abs(x[:, 0] - 0.5))


def learned_metropolis(target):
    run = metropolis(target, None, num_samples=50, num_warmup=2000, num_chains=1, rng=410)
    return {"scale": run.settings["scale"][0]}


def learned_hmc(target):
    run = hmc(target, num_steps=4, num_samples=50, num_warmup=1000, num_chains=1, rng=411)
    return {
        "step_size": run.settings["step_size"][0],
        "metric": run.settings["inverse_mass_matrix"][0],
        "num_leapfrogs": 4,
    }


def learned_nuts(target):
    run = nuts(target, num_samples=50, num_warmup=1000, num_chains=1, rng=412)
    return {
        "step_size": run.settings["step_size"][0],
        "metric": run.settings["inverse_mass_matrix"][0],
        "max_depth": 10,
    }


def no_learning(**settings):
    return lambda target: settings


# A sweep in systematic order is not reversible; in random order it is.
KERNELS = {
    "metropolis_hastings": (
        hastings_steps,
        no_learning(propose=uneven, log_ratio=uneven_ratio, args=(0.8,)),
    ),
    "slice_sample": (slice_steps, no_learning(width=1.0, at_random=True)),
    "metropolis": (metropolis_steps, learned_metropolis),
    "hmc": (hmc_steps, learned_hmc),
    "nuts": (nuts_steps, learned_nuts),
}


def ranks(step, start, rng):
    """Ranks of the hidden states, (n, functions); `step` moves (n, dim) states once."""
    n = len(start)
    place = rng.integers(LENGTH, size=n)
    below = np.zeros((n, len(FUNCTIONS)))
    hidden = np.column_stack([f(start) for f in FUNCTIONS])
    ties = np.zeros_like(below)
    for to_go in (LENGTH - 1 - place, place):
        state = start.copy()
        for t in range(1, LENGTH):
            moving = to_go >= t
            state[moving] = step(state[moving], rng)
            values = np.column_stack([f(state) for f in FUNCTIONS])
            below += moving[:, None] & (values < hidden)
            ties += moving[:, None] & (values == hidden)
    return (below + np.floor(rng.random(below.shape) * (ties + 1))).astype(int)


def check_of(sampler, name, change=None):
    """A check by the chi-square of the ranks of `size` hidden draws."""
    steps, learn = KERNELS[sampler]
    target, sample = EXACT[name]
    settings = learn(target)

    def step(states, rng):
        ends, _ = steps(target, states, num_steps=1, rng=rng, **settings)
        return change(states, ends) if change else ends

    def check(rng, size):
        found = ranks(step, sample(size, rng), rng)
        expected = size / LENGTH
        counts = np.array([np.bincount(r, minlength=LENGTH) for r in found.T])
        statistic = np.sum((counts - expected) ** 2, axis=1) / expected
        return special.chdtrc(LENGTH - 1, statistic)

    return check


@pytest.mark.fresh
@pytest.mark.trust("M3")
@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("sampler", KERNELS)
def test_a_hidden_draw_has_any_rank(sampler, name):
    assert passes(check_of(sampler, name), name=f"rank {sampler} {name}", size=4000)


@pytest.mark.trust("M3")
@pytest.mark.parametrize("sampler", KERNELS)
def test_states_pulled_inwards_by_a_tenth_a_step_are_found(sampler):
    check = check_of(sampler, "log_gamma_normal", lambda old, new: 0.9 * new)
    assert fails(check, name=f"pulled {sampler}", size=4000)
