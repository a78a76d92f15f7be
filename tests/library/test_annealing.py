"""Simulated annealing: Boltzmann's weights at a fixed temperature, known minima, failures."""

import concurrent.futures as futures
import math
import multiprocessing

import numpy as np
import pytest
from bad_inputs import refused
from calling import interrupted_after, needs_signals
from densities import slow
from scipy import stats
from sparing import over

import bayeslib as bl

ENERGIES = np.array([0.0, 1.3, 0.4, 2.0, 0.9, 0.1])


def ring(state, energies):
    return energies[int(state[0])]


def neighbour(state, rng, energies):
    step = 1.0 if rng.random() < 0.5 else -1.0
    return np.array([(state[0] + step) % energies.size])


def well(state):
    """Two wells; the deeper one, at -1.0366, is the farther from the start at 1."""
    return (state[0] ** 2 - 1.0) ** 2 + 0.3 * state[0]


def step(state, rng):
    return state + 0.3 * rng.standard_normal(1)


WELL = {"propose": step, "initial_temperature": 1.0}
LOWEST = float(np.min(np.roots([4.0, 0.0, -4.0, 0.3])))


def length(state, distance):
    n, total = len(distance), 0.0
    for i in range(n):
        total += distance[int(state[i]), int(state[(i + 1) % n])]
    return total


def reverse(state, rng, distance):
    """Reverse a piece of the tour; which one is left in the last two entries."""
    n = len(distance)
    i, j = int(n * rng.random()), int(n * rng.random())
    i, j = min(i, j), max(i, j)
    proposed = state.copy()
    for k in range(i, j + 1):
        proposed[k] = state[i + j - k]
    proposed[n], proposed[n + 1] = i, j
    return proposed


def reversal_change(proposed, state, distance):
    n = len(distance)
    i, j = int(proposed[n]), int(proposed[n + 1])
    if j - i >= n - 1:
        return 0.0
    a, b = int(state[(i - 1) % n]), int(state[i])
    c, d = int(state[j]), int(state[(j + 1) % n])
    return distance[a, c] + distance[b, d] - distance[a, b] - distance[c, d]


CITIES = np.random.default_rng(9).random((9, 2))
DISTANCE = np.linalg.norm(CITIES[:, None] - CITIES, axis=2)
TOUR = {"propose": reverse, "args": (DISTANCE,), "initial_temperature": 1.0}
ROUND = np.concatenate([np.arange(9), [0, 0]])


def boltzmann_z(temperature, truth=0.7):
    """z of the share of each state at a fixed temperature, from 200 chains' independent means."""
    found = bl.anneal(
        ring, np.arange(200)[:, None] % 6, propose=neighbour, args=(ENERGIES,),
        schedule=np.full(1000, temperature), num_chains=200, rng=5,
    )  # fmt: skip
    kept = found.energies[:, 200:]
    shares = np.stack([np.mean(kept == e, axis=1) for e in ENERGIES], axis=1)
    weights = np.exp(-ENERGIES / truth)
    error = shares.std(axis=0, ddof=1) / np.sqrt(len(shares))
    return (shares.mean(axis=0) - weights / weights.sum()) / error


LIMIT = float(stats.norm.isf(1e-6 / 12))


@pytest.mark.trust("S8")
def test_at_a_fixed_temperature_the_states_have_boltzmanns_weights():
    assert np.abs(boltzmann_z(0.7)).max() < LIMIT
    assert np.abs(boltzmann_z(0.8)).max() > LIMIT


@over("seed", [1, 2, 3])
def test_finds_the_lower_well_and_a_descent_does_not(seed):
    """Of 40 chains at least half; a chain that only descends stays in the well it begins in."""
    options = {"num_chains": 40, "rng": seed}
    found = bl.anneal(well, 1.0, num_iterations=3000, **WELL, **options)
    assert abs(found.best_state[0] - LOWEST) < 0.02
    assert np.mean(np.abs(found.final_states - LOWEST) < 0.3) > 0.5
    small = bl.anneal(well, 1.0, propose=step, schedule=np.zeros(3000), **options)
    assert np.mean(small.final_states > 0.0) > 0.9


def test_the_change_of_energy_makes_the_same_walk():
    plain = bl.anneal(length, ROUND, rng=4, **TOUR)
    quick = bl.anneal(length, ROUND, change=reversal_change, rng=4, **TOUR)
    assert plain.accepted.tobytes() == quick.accepted.tobytes()
    np.testing.assert_allclose(quick.energies, plain.energies, rtol=1e-10)
    assert quick.best_energy == plain.best_energy


def test_the_traces_belong_together():
    found = bl.anneal(well, [[1.0], [-1.0]], num_iterations=500, num_chains=2, rng=6, **WELL)
    assert found.energies.shape == found.accepted.shape == (2, 500)
    assert found.temperatures.shape == (500,) and found.num_evals == 1000
    np.testing.assert_array_equal(found.best_energies, [well(s) for s in found.best_states])
    np.testing.assert_array_equal(found.energies[:, -1], [well(s) for s in found.final_states])
    np.testing.assert_array_equal(found.best_energies, found.energies.min(axis=1))
    assert found.best_energy == found.best_energies.min()
    still = ~found.accepted[:, 1:]
    assert np.all(np.diff(found.energies, axis=1)[still] == 0.0)
    assert 0.0 < found.acceptance == found.accepted.mean() < 1.0
    assert not isinstance(found, bl.Draws)
    assert "not draws from any posterior" in repr(found)


def test_the_schedules_are_what_they_are_called():
    k = np.arange(200)
    geometric = bl.anneal(well, 1.0, num_iterations=200, rng=1, **WELL).temperatures
    np.testing.assert_allclose(geometric[1:] / geometric[:-1], 1e-3 ** (1 / 199))
    assert geometric[0] == 1.0
    slow = bl.anneal(well, 1.0, num_iterations=200, schedule="logarithmic", rng=1, **WELL)
    np.testing.assert_allclose(slow.temperatures, np.log(2) / np.log(k + 2))
    own = bl.anneal(
        well, 1.0, propose=step, schedule=lambda k: 1.0 / (1.0 + k), num_iterations=200, rng=1
    )
    np.testing.assert_array_equal(own.temperatures, 1.0 / (1.0 + k))


@pytest.mark.trust("S14")
def test_the_seed_decides_everything_wherever_it_runs():
    options = {"num_iterations": 400, "rng": 7, "change": reversal_change, **TOUR}
    first = bl.anneal(length, ROUND, **options)
    context = multiprocessing.get_context("spawn")
    with futures.ProcessPoolExecutor(2, mp_context=context) as pool:
        other = bl.anneal(length, ROUND, executor=pool, **options)
    assert first.energies.tobytes() == other.energies.tobytes()
    assert first.settings["seed"] == 7
    again = bl.anneal(length, ROUND, **(options | {"rng": 8}))
    assert first.energies.tobytes() != again.energies.tobytes()
    rng = np.random.default_rng(7)
    one = bl.anneal(well, 1.0, num_iterations=300, num_chains=1, rng=rng, **WELL)
    two = bl.anneal(well, 1.0, num_iterations=300, num_chains=1, rng=rng, **WELL)
    assert one.energies.tobytes() != two.energies.tobytes()


def test_plain_python_draws_the_same():
    def uncompiled(state, rng):
        return getattr(state, "__add__")(0.3 * rng.standard_normal(1))  # noqa: B009

    options = WELL | {"num_iterations": 300, "rng": 3}
    with pytest.warns(bl.BayeslibWarning, match="run as plain Python"):
        slow = bl.anneal(well, 1.0, **options | {"propose": uncompiled})
    fast = bl.anneal(well, 1.0, **options)
    np.testing.assert_allclose(slow.energies, fast.energies, rtol=1e-12)
    assert fast.settings["compiled"] and not slow.settings["compiled"]


def holed(state):
    return math.nan if state[0] < 0.0 else state[0]


def fenced(state):
    return math.inf if state[0] < 0.0 else state[0]


def raising(state):
    if state[0] < 0.0:
        raise ArithmeticError("below zero")
    return state[0]


def wrong_later(proposed, state):
    change = well(proposed) - well(state)
    return change if proposed[0] > 0.0 else change + 0.1


SHARED = np.random.default_rng(0)  # a source of randomness that is not the chain's


def test_a_forbidden_state_is_never_entered():
    found = bl.anneal(fenced, 1.0, rng=1, **WELL)
    assert 0.0 <= found.best_energy < 0.05 and np.all(found.energies >= 0.0)


def test_a_nan_is_rejected_and_said():
    with pytest.warns(bl.BayeslibWarning, match="energy was nan at"):
        found = bl.anneal(holed, 1.0, rng=1, **WELL)
    assert found.settings["num_nan"] > 0 and 0.0 <= found.best_energy < 0.05


test_what_is_wrong_is_named = refused(
    ((lambda s: -math.inf if s[0] < 0.0 else s[0], {}), "energy is -inf"),
    ((raising, {}), ArithmeticError, "below zero"),
    ((lambda s: s[0], {"change": lambda a, b: raising(a) - b[0]}), ArithmeticError, "below zero"),
    ((well, {"propose": lambda s, r: step(raising(s), r)}), ArithmeticError, "below zero"),
    ((well, {"propose": lambda state, rng: state[:0]}), "must return what it drew"),
    ((well, {"propose": lambda s, r: s + SHARED.random(1)}), "from the same rng"),
    ((well, {"change": wrong_later}), "add up to"),
    ((well, {"change": lambda a, b: 0.5}), "must return energy"),
    ((holed, {"initial_state": -1.0}), bl.StartError, "is nan"),
    ((fenced, {"initial_state": -1.0}), bl.StartError, "is inf"),
    ((well, {"initial_state": []}), "at least 1, got 0"),
    ((well, {"initial_state": [math.nan]}), "initial_state"),
    ((well, {"initial_state": np.ones((3, 1))}), "initial_state must have"),
    ((well, {"initial_state": None}), "initial_state"),
    ((well, {"schedule": "linear"}), "'linear'"),
    ((well, {"schedule": None, "initial_temperature": None}), bl.BayeslibTypeError, "real numbers"),
    ((well, {"schedule": [1.0, -1.0]}), "initial_temperature and"),
    ((well, {"initial_temperature": None}), "needs initial_temperature"),
    ((well, {"initial_temperature": 0.0}), "must be positive"),
    ((well, {"final_temperature": 2.0}), "above initial_temperature"),
    ((well, {"num_iterations": 0}), "num_iterations"),
    ((well, {"num_iterations": 1e12}), MemoryError, "GiB"),
    ((well, {"num_chains": 0}), "num_chains"),
    ((well, {"rng": "one"}), bl.BayeslibTypeError, "rng"),
    ((well, {"propose": None}), bl.BayeslibTypeError, "propose must be a function"),
    ((well, {"args": (1.0,)}), bl.BayeslibTypeError, "must take"),
    ((lambda a, b: 0.0, {}), bl.BayeslibTypeError, "energy must take"),
    ((well, {"change": lambda a: 0.0}), bl.BayeslibTypeError, "change must take"),
    by=lambda energy, options: bl.anneal(
        energy, **{"initial_state": 1.0, "rng": 1, "num_iterations": 2000} | WELL | options
    ),
)


test_bad_temperatures_are_named = refused(
    ({"schedule": [1.0, -1.0]}, r"schedule\[1\] is -1"),
    ({"schedule": lambda k: np.ones(3), "num_iterations": 10}, "num_iterations=10 temperatures"),
    ({"schedule": np.ones(5), "num_iterations": 10}, r"temperatures, got \(5,\)"),
    ({"schedule": lambda k: np.full(k.size, math.nan)}, "finite and not negative"),
    (
        {"schedule": "logarithmic", "initial_temperature": 1.0, "final_temperature": 0.1},
        "no final_temperature",
    ),
    by=lambda **options: bl.anneal(well, 1.0, propose=step, rng=1, **options),
)


def slow_step(state, rng, n):
    return state + rng.standard_normal(1)


@needs_signals
def test_an_interrupt_keeps_what_was_found():
    options = {"propose": slow_step, "args": (20_000,), "initial_temperature": 1.0}
    bl.anneal(slow, 0.0, num_iterations=5, rng=1, **options)
    with interrupted_after(0.5), pytest.warns(bl.BayeslibWarning, match="a chain are kept"):
        found = bl.anneal(slow, 0.0, num_iterations=1_000_000, rng=1, progress=False, **options)
    assert found.settings["interrupted"] and "interrupted" in found.summary()
    assert 1 < found.energies.shape[1] == found.temperatures.size < 1_000_000
