"""The exercises of the page on how hard inference is."""

from itertools import product

import numpy as np

from ..grading import Routine, Value, near
from ..study import Exercise
from ..variants import forward


def _evidence(stay=0.8, prior=0.5):
    return forward(stay, 0.9, 0.4, 0.2, prior)


def _quickscore(rate, strength, leak):
    total = 0.0
    for subset in product([0, 1], repeat=len(leak)):
        silent = np.prod((1.0 - strength) ** np.array(subset), axis=1)
        absent = np.prod((1.0 - leak) ** np.array(subset))
        total += (-1.0) ** sum(subset) * absent * np.prod(1.0 - rate + rate * silent)
    return total


def _one_finding_at_a_time(rate, strength, leak):
    absent = (1.0 - leak) * np.prod(1.0 - rate[:, None] * strength, axis=0)
    return np.prod(1.0 - absent)


def _all_absent(rate, strength, leak):
    silent = np.prod(1.0 - strength, axis=1)
    return np.prod(1.0 - leak) * np.prod(1.0 - rate + rate * silent)


def _clinic(seed, num_conditions, num_findings):
    rng = np.random.default_rng(seed)
    return (
        rng.uniform(0.02, 0.5, num_conditions),
        rng.uniform(0.0, 0.95, (num_conditions, num_findings)),
        rng.uniform(0.01, 0.2, num_findings),
    )


EXERCISES = (
    Exercise(
        "hardness-forward",
        expects=Value(_evidence),
        mistakes={
            "The first label has a prior, too: one half.": near(lambda: _evidence(prior=1.0)),
            "That is the evidence of three pixels that do not know of each other.": near(
                lambda: _evidence(stay=0.5)
            ),
            "A neighbour is the same with probability 0.8, not 0.2.": near(
                lambda: _evidence(stay=0.2)
            ),
            "That is the most probable labelling alone; add up all eight.": near(
                0.5 * 0.9 * (0.2 * 0.6) * (0.8 * 0.8)
            ),
            "That is its logarithm.": near(lambda: np.log(_evidence())),
        },
        recipe="alpha_2(0) = 0.4 (0.8 x 0.45 + 0.2 x 0.05), alpha_2(1) likewise with 0.6; once "
        "more for the third pixel; add its two.",
        praise="Eight labellings were added up, and none was written down.",
    ),
    Exercise(
        "challenge-quickscore",
        expects=Routine(
            _quickscore, cases=(_clinic(1, 3, 1), _clinic(2, 5, 2), _clinic(3, 9, 4)), rtol=1e-8
        ),
        mistakes={
            "You multiplied the findings' probabilities; they share their causes, and so "
            "depend on each other.": _one_finding_at_a_time,
            "That is the probability that all findings are absent.": _all_absent,
            "That is the probability of at least "
            "one finding, not of all.": lambda rate, strength, leak: (
                1.0 - _all_absent(rate, strength, leak)
            ),
        },
        recipe="Sum over subsets of findings, with sign, the probability that all of them are "
        "absent; each is a product over conditions of 1 - rate + rate * (all silent).",
        praise="Does it come back for random_clinic(600)? Then the exponent has moved from the "
        "conditions to the findings.",
    ),
)
