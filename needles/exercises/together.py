"""The exercises of the page that compares all methods."""

import numpy as np

from ..grading import Routine, Value
from ..study import Exercise
from ..variants import none_wrong


def _excess(a, b):
    a, b = np.square(a), np.square(b)
    return (a.mean() - b.mean()) / np.sqrt(a.var(ddof=1) / a.size + b.var(ddof=1) / b.size)


def _not_squared(a, b):
    return (a.mean() - b.mean()) / np.sqrt(a.var(ddof=1) / a.size + b.var(ddof=1) / b.size)


def _one_run(a, b):
    a, b = np.square(a), np.square(b)
    return (a.mean() - b.mean()) / np.sqrt(a.var(ddof=1) + b.var(ddof=1))


def _population(a, b):
    a, b = np.square(a), np.square(b)
    return (a.mean() - b.mean()) / np.sqrt(a.var() / a.size + b.var() / b.size)


EXERCISES = (
    Exercise(
        "together-silence",
        expects=Value(lambda: none_wrong(300, 95)),
        mistakes={
            "That is the rule of three, which is close. The exact bound solves "
            "(1 - p)^300 = 0.05.": 3.0 / 300.0,
            "That is the share of right ones.": 0.05 ** (1.0 / 300.0),
            "That is in per cent: end it with %, or divide it by a hundred.": (
                100.0 * (1.0 - 0.05 ** (1.0 / 300.0))
            ),
            "That is two-sided. Here the whole five per cent lie on one side.": (
                1.0 - 0.025 ** (1.0 / 300.0)
            ),
            "With that share all three hundred would be right 95 times in a hundred.": (
                1.0 - 0.95 ** (1.0 / 300.0)
            ),
        },
        recipe="Solve (1 - p)^300 = 0.05 for p.",
        praise="Three hundred silent successes leave room for nearly one error in a hundred.",
    ),
    Exercise(
        "together-contest",
        expects=Routine(
            _excess,
            cases=(
                (np.array([0.3, -0.2, 0.5, 0.1]), np.array([0.1, -0.1, 0.05, 0.2, -0.15])),
                (np.array([1.0, -2.0, 0.5]), np.array([2.0, 1.0, -3.0, 0.1])),
                (np.array([0.01, 0.02, -0.05, 0.03]), np.array([0.02, -0.01, 0.01, 0.015])),
            ),
        ),
        mistakes={
            "Square the errors first: their mean is a bias, not a size.": _not_squared,
            "Divide each variance by its number of replications.": _one_run,
            "The sign: positive where a has the larger error.": lambda a, b: _excess(b, a),
            "The sample variance: ddof=1.": _population,
        },
        recipe="Difference of the mean squares over the root of summed variance / replications.",
        praise="A ranking without this number is an anecdote.",
    ),
)
