"""Gandy and Scott's test: an exact draw hidden in a chain has any place in its order.

An exact draw is put at a random place of a chain of sixteen states, which are made from it forwards
and, the kernels being reversible, backwards by the same steps. If the kernel leaves the target
alone, and only then, every state is as good as every other: the rank of the hidden one is uniform,
however slowly the chain moves.
"""

import numpy as np
import pytest
from scipy import special
from sparing import over
from steps import ROWS
from verdict import fails, passes

pytestmark = pytest.mark.slow

FEW = [name for name in ROWS if ROWS[name].reversible and name.endswith("log_gamma_normal")]
REVERSIBLE = [*FEW, *(name for name in ROWS if ROWS[name].reversible and name not in FEW)]
LENGTH = 16
# Where each test sees: functions of the state, ranked along the chain.
FUNCTIONS = (lambda x: x[:, 0], lambda x: x[:, -1], lambda x: np.abs(x[:, 0] - 0.5))


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


def check_of(name, change=None):
    """A check by the chi-square of the ranks of `size` hidden draws."""
    row = ROWS[name]

    def step(states, rng):
        ends, _ = row.step(states, rng, num_steps=1)
        return change(states, ends) if change else ends

    def check(rng, size):
        found = ranks(step, row.exact(size, rng), rng)
        expected = size / LENGTH
        counts = np.array([np.bincount(r, minlength=LENGTH) for r in found.T])
        statistic = np.sum((counts - expected) ** 2, axis=1) / expected
        return special.chdtrc(LENGTH - 1, statistic)

    return check


@pytest.mark.fresh
@pytest.mark.trust("M3")
@over("name", REVERSIBLE, few=len(FEW), rest=pytest.mark.study)
def test_a_hidden_draw_has_any_rank(name):
    assert passes(check_of(name), name=f"rank {name}", size=4000)


@pytest.mark.trust("M3")
@pytest.mark.parametrize("name", FEW)
def test_states_pulled_inwards_by_a_tenth_a_step_are_found(name):
    check = check_of(name, lambda old, new: 0.9 * new)
    assert fails(check, name=f"pulled {name}", size=4000)
