"""The exercises of the page on black-box variational inference."""

import numpy as np

from ..grading import Routine, Value, near
from ..study import Exercise


def _gradient(f, mean, sd, z):
    values = f(mean + sd * z)
    off = (values - values.mean()) / (z.size - 1)
    return np.array([np.sum(z / sd * off), np.sum((z**2 - 1.0) * off)])


def _same_draws(f, mean, sd, z):
    return _gradient(f, mean, sd, z) * (z.size - 1) / z.size


def _no_baseline(f, mean, sd, z):
    values = f(mean + sd * z)
    return np.array([np.mean(z / sd * values), np.mean((z**2 - 1.0) * values)])


def _no_width(f, mean, sd, z):
    return _gradient(f, mean, sd, z) * np.array([sd, 1.0])


def _by_sd(f, mean, sd, z):
    return _gradient(f, mean, sd, z) / np.array([1.0, sd])


EXERCISES = (
    Exercise(
        "hybrid-bias",
        expects=Value(0.8),
        mistakes={
            "Each baseline contains its own draw here, so that it is not free.": 1.0,
            "That is the part that is lost.": 0.2,
            "The other way: the expectation is too small.": 1.25,
        },
        recipe="The expectation is (1 - 1/S) times the gradient, with S draws.",
        praise="Dividing by four instead of five makes it whole.",
    ),
    Exercise(
        "hybrid-estimator",
        expects=Routine(
            _gradient,
            cases=(
                (np.sin, 1.0, 0.5, np.array([-1.2, 0.3, 0.9, 1.7])),
                (np.floor, -0.4, 2.0, np.array([0.5, -0.1, -2.0])),
                (np.abs, 0.0, 1.0, np.array([1.0, -1.5])),
            ),
        ),
        mistakes={
            "Divide by S - 1: each draw's baseline is the mean of the others.": _same_draws,
            "No baseline is subtracted.": _no_baseline,
            "The score by the mean is z / sd, not z.": _no_width,
            "The second parameter is the logarithm of sd: its score is z^2 - 1.": _by_sd,
        },
        recipe="The sum of h (f - mean of f), divided by S - 1.",
        praise="It works for the staircase as well, which has no slope.",
    ),
    Exercise(
        "hybrid-coin",
        expects=Value(np.array([4.1, 0.0])),
        mistakes={
            "That is the mean of f. Weigh by the square of the score instead.": near(
                2.9, at=0, rtol=1e-5
            ),
            "The two outcomes do not count alike.": near(3.5, at=0, rtol=1e-5),
            "The baseline is right. Now compute h (f - c) for either outcome.": lambda a: (
                np.isclose(a[0], 4.1) and a[1] > 0.0
            ),
        },
        recipe="c = E[f h^2] / E[h^2], where h is -p or 1 - p.",
        praise="Two equations, one constant, and no noise left.",
    ),
    Exercise(
        "hybrid-conditions",
        expects=Value(np.array([0.5, 1.0])),
        mistakes={
            "The lower limit first.": near([1.0, 0.5], rtol=1e-5),
            "For t^-0.3 the squares are t^-0.6, whose sum diverges.": near([0.0, 1.0], rtol=1e-5),
            "The steps themselves have to add up to infinity.": lambda a: a[0] >= 1.0,
            "Steps that shrink faster than 1/t have a finite sum: they never arrive.": lambda a: (
                np.isclose(a[0], 0.5) and a[1] > 1.0
            ),
        },
        recipe="The sum of t^-a converges only for a > 1: ask it of the steps and their squares.",
        praise="One half is excluded, one is included.",
    ),
    Exercise(
        "hybrid-ladder",
        expects=Value(np.array([222.0, 12.0, 78.0])),
        mistakes={
            "That is E[h^2 f^2]; the square of the gradient, 36, is missing.": near(
                258.0, at=0, rtol=1e-5
            ),
            "That is the mean of f; the best baseline is E[f h^2], since E[h^2] = 1.": near(
                10.0, at=1, rtol=1e-5
            ),
            "With the best baseline the variance falls by c^2 = 144, from 222.": near(
                114.0, at=2, rtol=1e-5
            ),
        },
        recipe="222 needs E[h^2 f^2] = 81 + 162 + 15 and the gradient 6.",
        praise="The farther from the optimum, the more a baseline is worth.",
    ),
)
