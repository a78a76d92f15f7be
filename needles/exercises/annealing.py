"""The exercises of the page on annealing and tempering."""

import numpy as np

from ..grading import Routine, Value, near
from ..study import Exercise

_ROW = np.array([2.0, 1.0, 2.0, 3.0, 4.0, 3.0, 2.0, 3.0, 4.0, 3.0, 2.0, 1.0, 0.0, 1.0, 2.0])


def _success(temperatures, energies=_ROW, start=1, goal=12):
    """Exact probability of the goal after annealing on states in a row."""
    p = np.zeros(energies.size)
    p[start] = 1.0
    up, down = np.maximum(np.diff(energies), 0.0), np.maximum(-np.diff(energies), 0.0)
    for temperature in temperatures:
        right = 0.5 * p[:-1] * np.exp(-up / temperature)
        left = 0.5 * p[1:] * np.exp(-down / temperature)
        p[:-1] += left - right
        p[1:] += right - left
    return p[goal]


def _race(hottest=range(1, 11)):
    chances = [_success(np.linspace(hot, 0.1, 300)) for hot in hottest]
    return np.array([hottest[int(np.argmax(chances))], max(chances)])


def _depths(energies, strictly=True):
    """Depth of each state in a row; 0 for one that is lowest."""
    energies = np.asarray(energies, dtype=float)
    found = np.zeros(energies.size)
    for i, energy in enumerate(energies):
        climbs = []
        for side in (energies[:i][::-1], energies[i + 1 :]):
            lower = np.flatnonzero(side < energy if strictly else side <= energy)
            if lower.size:
                climbs.append(max(0.0, side[: lower[0] + 1].max() - energy))
        found[i] = min(climbs, default=0.0)
    return found


def _critical_depth(energies):
    return float(_depths(energies).max())


def _from_zero(energies):
    energies = np.asarray(energies, dtype=float)
    depths = _depths(energies)
    worst = int(np.argmax(depths))
    return float(depths[worst] + energies[worst])


def _smallest(energies):
    depths = _depths(energies)
    return float(depths[depths > 0.0].min()) if np.any(depths > 0.0) else 0.0


def _highest_barrier(energies):
    return float(np.max(energies) - np.min(energies))


def _log_swap(betas, logs, k):
    return (betas[k + 1] - betas[k]) * (logs[k] - logs[k + 1])


def _wrong_way(betas, logs, k):
    return (betas[k + 1] - betas[k]) * (logs[k + 1] - logs[k])


def _no_temperatures(betas, logs, k):
    return logs[k] - logs[k + 1]


def _one_side(betas, logs, k):
    return betas[k + 1] * (logs[k] - logs[k + 1])


def _temperatures(betas, logs, k):
    return (1.0 / betas[k + 1] - 1.0 / betas[k]) * (logs[k] - logs[k + 1])


def _coin_log_evidence():
    from bayeslib.posteriors import coin

    return coin(8, 2).truth.log_evidence


EXERCISES = (
    Exercise(
        "annealing-warm",
        expects=Value(3.0 / np.log(10.0)),
        mistakes={
            "That is the inverse temperature.": near(np.log(10.0) / 3.0, rtol=1e-2),
            "Divide by the logarithm: exp(-3 / T) = 0.1.": near(3.0 * np.log(10.0), rtol=1e-2),
            "The logarithm of 0.1 is negative, and so is -3: T is positive.": lambda a: a < 0.0,
        },
        recipe="Solve exp(-3 / T) = 0.1 for T.",
        praise="A rise of T ln 10 is taken one time in ten.",
    ),
    Exercise(
        "annealing-depth",
        expects=Routine(
            _critical_depth,
            cases=(
                (_ROW,),
                (np.array([0.0, 3.0, 1.0, 2.0, 0.5, 4.0, 0.0]),),
                (np.array([5.0, 4.0, 3.0, 2.0, 1.0]),),
                (np.array([1.0, 6.0, 2.0, 5.0, 0.0]),),
                (np.array([4.0, 7.0, 3.0, 5.0, 3.5, 9.0, 2.0]),),
            ),
        ),
        mistakes={
            "That is the height of the pass. The depth is measured from the state.": _from_zero,
            "The critical depth is the largest of the depths.": _smallest,
            "Not the range of the energy: only how far one must climb.": _highest_barrier,
        },
        recipe="For each state, the smaller of the climbs to the left and to the right.",
        praise="For anything but a row it is as hard to find as the minimum itself.",
    ),
    Exercise(
        "annealing-race",
        expects=Value(_race),
        mistakes={
            "From one it starts too cold: the chain never gets out of the first valley.": near(
                1.0, at=0, rtol=1e-5
            ),
            "From ten it wastes its time where no valley can be felt.": near(10.0, at=0, rtol=1e-5),
            "The second number is a probability.": lambda a: a[1] > 1.0,
        },
        recipe="Compute spread(np.linspace(hot, 0.1, 300))[GOAL] for every hot.",
        praise="Hot enough to leave, cold soon enough to stay.",
    ),
    Exercise(
        "annealing-swap",
        expects=Value(4.0 / np.pi * np.arctan(0.5)),
        mistakes={
            "That is the probability that the hot state is the better one: twice it.": near(
                2.0 / np.pi * np.arctan(0.5), rtol=1e-2
            ),
            "The scale of a rung is one over the square root of beta.": near(
                4.0 / np.pi * np.arctan(0.25), rtol=1e-2
            ),
            "A probability: the ratio of the smaller scale "
            "to the larger, not the reverse.": lambda a: (
                np.isclose(a, 4.0 / np.pi * np.arctan(2.0), rtol=1e-2) or a > 1.0
            ),
        },
        recipe="(4 / pi) arctan of the ratio of the two scales, the smaller on top.",
        praise="At a ratio of one it is 1, as it must be.",
    ),
    Exercise(
        "annealing-exponent",
        expects=Routine(
            _log_swap,
            cases=(
                (np.array([0.1, 0.4, 1.0]), np.array([-3.0, -5.0, -1.0]), 0),
                (np.array([0.1, 0.4, 1.0]), np.array([-3.0, -5.0, -1.0]), 1),
                (np.array([0.5, 1.0]), np.array([-20.0, -2.5]), 0),
            ),
        ),
        mistakes={
            "The sign: a better state on the hotter rung should go down for certain.": _wrong_way,
            "At equal temperatures every swap is free: the betas must appear.": _no_temperatures,
            "Both rungs matter: only the difference of the betas enters.": _one_side,
            "Inverse temperatures, not temperatures.": _temperatures,
        },
        recipe="(difference of the betas) times (log density of the hotter minus the colder's).",
        praise="And no normalising constant in sight.",
    ),
    Exercise(
        "annealing-integration",
        expects=Value(_coin_log_evidence, atol=0.02),
        mistakes={
            "Too low: the trapezium rule needs finer steps near beta = 0.": lambda a: (
                np.isclose(np.exp(a), 0.0, atol=1e-3) and a < -5.3
            ),
            "That is the evidence of the count of heads; "
            "the sequence's lacks the factor 45.": lambda a: np.isclose(
                a, -np.log(11.0), atol=0.02
            ),
            "That is the evidence itself; the logarithm is asked.": near(
                lambda: np.exp(_coin_log_evidence()), rtol=0.05
            ),
        },
        recipe="np.trapezoid(stats['log_ratio'].mean(axis=(0, 1)), betas), with betas fine near 0.",
        praise="The same path, integrated instead of multiplied.",
    ),
)
