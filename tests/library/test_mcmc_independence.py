"""Independent proposals: how long chains stay, a chain that is held, what is refused."""

from types import SimpleNamespace

import numpy as np
import pytest
from bad_inputs import Denying, refused
from densities import EXACT, gaussian2, standard
from scipy import stats

import bayeslib as bl

STANDARD = bl.Target(standard, dim=1, gradient=None)


def test_the_longest_stay_is_counted():
    draws = bl.independence_metropolis(STANDARD, stats.norm(0.5, 2.0), num_chains=1, rng=7)
    moves = np.flatnonzero(np.concatenate([[True], draws.stats["accepted"][0], [True]]))
    assert draws.settings["longest_stay"] == np.diff(moves).max()


def test_an_approximation_may_propose_and_need_not_be_normalised():
    normal, options = bl.Gaussian([0.0, 0.0], 3.0 * np.eye(2)), {"num_samples": 500, "rng": 8}
    higher = SimpleNamespace(sample=normal.sample, logdensity=lambda x: normal.logdensity(x) + 7.0)
    plain = bl.independence_metropolis(gaussian2(), normal, **options)
    shifted = bl.independence_metropolis(gaussian2(), higher, **options)
    np.testing.assert_array_equal(plain.values, shifted.values)


def test_a_chain_that_is_held_is_flagged():
    """The proposal is too thin: the weight grows without bound in the tails."""
    starts = np.array([0.0, 3.5, -0.5, 0.5])
    with pytest.warns(bl.BayeslibWarning, match="chain 1 stayed in one state for .* heavier tails"):
        held = bl.independence_metropolis(
            STANDARD, stats.norm(0.0, 0.6), initial_position=starts, num_warmup=0, rng=9
        )
    assert any("stayed in one state" in problem for problem in held.problems)
    assert held.settings["longest_stay"][1] > 500
    free = bl.independence_metropolis(
        STANDARD, stats.norm(0.0, 1.5), initial_position=starts, num_warmup=0, rng=9
    )
    assert not free.problems


test_what_is_refused = refused(
    ({"proposal": Denying(2.0), "initial_position": 1.0}, "its sample and logdensity disagree"),
    ({"proposal": stats.gamma(2.0), "initial_position": -1.0}, "start within its support"),
    (
        {"target": EXACT["truncated"][0], "proposal": stats.norm(-30.0, 1.0)},
        bl.StartError,
        "100 attempts.*a proposal that covers the target",
    ),
    ({"proposal": stats.norm}, bl.BayeslibTypeError, "not frozen"),
    ({"proposal": stats.multivariate_normal([0, 0])}, "dim=1"),
    by=lambda **options: bl.independence_metropolis(
        **{"target": STANDARD, "num_chains": 1, "rng": 1} | options
    ),
)
