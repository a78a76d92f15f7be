"""The exercises of the page on diagnostics."""

import numpy as np

from ..grading import Choice, Value, near
from ..study import Exercise


def _order():
    """The kinds of the page's six new runs: its permutation, counted from one."""
    return np.random.default_rng(1992).permutation(6) + 1


def _stuck_for_good(answer):
    """Whether only the kinds 1 and 3, good and stuck, stand in each other's place."""
    swapped = _order()
    good, stuck = np.flatnonzero(swapped == 1), np.flatnonzero(swapped == 3)
    swapped[good], swapped[stuck] = 3, 1
    return np.array_equal(answer, swapped)


def _worth(rho):
    return (1.0 - rho) / (1.0 + rho)


def _silence():
    chains = np.arange(1, 200)
    same = 0.9**chains + 0.1**chains
    return [same[3], chains[same < 0.01][0]]


def _thinning(rho=0.98, cost=50.0):
    k = np.arange(1, 2000)
    price = (k + cost) * (1.0 + rho**k) / (1.0 - rho**k)
    return [k[np.argmin(price)], price[0] / price.min()]


EXERCISES = (
    Exercise(
        "diagnostics-mystery",
        expects=Value(_order, atol=0.0),
        mistakes={
            "Four are right; the other two are exchanged. "
            "Which of them is a random walk?": _stuck_for_good,
            "Each of the kinds 1 to 6 stands for one run.": lambda a: (
                not np.array_equal(np.sort(a), np.arange(1, 7))
            ),
        },
        recipe="R-hat, then the rank plot, then the trace. All well: two runs look like that.",
        praise="And one of the two that look well is worthless. Nothing in its draws says so.",
    ),
    Exercise(
        "diagnostics-length",
        expects=Value(lambda: 39.0 * (2.0 / 0.01) ** 2),
        mistakes={
            "So many independent draws; these remember.": 4.0e4,
            "The error falls with the root of the number: square the ratio.": near(
                39.0 * 2.0 / 0.01
            ),
            "The posterior standard deviation is 2, not 1.": near(39.0 * 1.0e4),
            "Memory makes draws worth less: multiply by tau.": near(4.0e4 / 39.0),
            "Every lag counts twice: tau is one plus twice the sum of rho^k.": near(20.0 * 4.0e4),
        },
        recipe="N = tau (sigma / epsilon)^2 with tau = (1 + rho) / (1 - rho).",
        praise="One and a half million, forty thousand of which would do if they were independent.",
    ),
    Exercise(
        "diagnostics-square",
        expects=Value(lambda: [_worth(-0.8), _worth(0.64)]),
        mistakes={
            "These are the times tau; the worth of a draw is one over it.": near(
                lambda: [1.0 / 9.0, 1.0 / _worth(0.64)]
            ),
            "For x the correlation is negative: its draws are worth more than independent.": near(
                1.0 / 9.0, at=0
            ),
            "The squares forget the sign: their correlation is rho^2, which is positive.": near(
                9.0, at=1
            ),
        },
        recipe="(1 - r) / (1 + r), with r = rho for x and r = rho^2 for its square.",
        praise="Nine for the one quantity, a fifth for the other, from the same draws.",
    ),
    Exercise(
        "diagnostics-silence",
        expects=Value(_silence),
        mistakes={
            "The probability is right; the number of chains is off by one.": lambda a: (
                np.isclose(a[0], 0.9**4 + 0.1**4, rtol=5e-3) and abs(a[1] - 44) == 1
            ),
            "That is the chance that they do not all agree.": near(1.0 - 0.9**4 - 0.1**4, at=0),
            "That is for equal basins; here one catches nine starts in ten.": near(0.125, at=0),
        },
        recipe="All in the large one or all in the small one.",
        praise="Dispersed starts are a lottery; know its odds.",
    ),
    Exercise(
        "diagnostics-positive",
        expects=Choice(("reject", "reflect", "redraw"), "redraw"),
        mistakes={
            "A density of zero rejects, and the walk is symmetric. This one is right.": "reject",
            "From a to b by two ways, and back by the same two. This one is right.": "reflect",
        },
        recipe="Which proposal density q(a | b) is not q(b | a)?",
        praise="Its missing Hastings term is a ratio of two normal distribution functions.",
    ),
    Exercise(
        "diagnostics-thinning",
        expects=Value(_thinning),
        mistakes={
            "That is best when f costs nothing. Here one evaluation costs fifty steps.": near(
                1.0, at=0, rtol=1e-5
            ),
            "How many times cheaper: the price of k = 1 over that of the best k.": lambda a: (
                a[1] < 1.0
            ),
        },
        recipe="Try all k up to a few hundred.",
        praise="When f is dear, correlated values of it are not worth their price.",
    ),
)
