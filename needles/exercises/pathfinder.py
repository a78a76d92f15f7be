"""The exercises of the page on fits that start a chain, or are corrected by one."""

import numpy as np

from ..grading import Statistical, Value, near
from ..study import Exercise


def _below():
    """P(theta < 2) of the running example, by quadrature."""
    from scipy import integrate

    from bayeslib.posteriors import gamma_student

    target = gamma_student()
    evidence = np.exp(target.truth.log_evidence)
    return integrate.quad(lambda t: np.exp(target(t)), 0.0, 2.0)[0] / evidence


def _loss(width):
    """Nats that a normal loses by a width relative to the target's."""
    return 0.5 * (width**2 - 1.0) - np.log(width)


EXERCISES = (
    Exercise(
        "together-price",
        expects=Value((9500 / 3300, 356_000 / 201_300)),
        mistakes={
            "The fit's 500 evaluations count, too.": near((9500 / 2800, 356_000 / 200_800)),
            "That is without any warm-up: it counts, and less in a longer run.": lambda a: (
                np.isclose(a[0], 35 / 20, rtol=1e-3)
            ),
            "Divide the price without the fit by the price with it.": lambda a: a[0] < 1.0,
        },
        recipe="(6000 + 35 n) / (500 + 800 + 20 n), for n = 100 and n = 10000.",
        praise="The longer the run, the less it matters what was spent before it.",
    ),
    Exercise(
        "together-narrow",
        expects=Value((_loss(0.2), 10.0 * _loss(0.5))),
        mistakes={
            "That is KL(pi || q); a fit's loss is KL(q || pi): w is the fit's width over the "
            "posterior's.": near((_loss(5.0), 10.0 * _loss(2.0))),
            "In the second fit all ten widths lose, and their losses add up.": near(
                (_loss(0.2), _loss(0.5))
            ),
        },
        recipe="(w^2 - 1) / 2 - ln w for each width w: once for 0.2, and ten times for 0.5.",
        praise="The one that loses less is the worse metric: it is out of proportion by five.",
    ),
    Exercise(
        "together-acceptance",
        expects=Value(4.0 / np.pi * np.arctan(np.sqrt(0.5))),
        mistakes={
            "That is for a standard deviation of one half; here the variance is.": near(
                4.0 / np.pi * np.arctan(0.5)
            ),
            "That is the probability that the proposal lies "
            "farther out; the rate is twice it.": near(2.0 / np.pi * np.arctan(np.sqrt(0.5))),
            "A rate cannot exceed one: give a fraction, not per cent, "
            "and take the smaller of s and 1 / s.": lambda a: a > 1.0,
        },
        recipe="(4 / pi) arctan of the smaller of s and 1 / s, with s the standard deviation.",
        praise="Most proposals are accepted, and yet the variance of the weights is infinite.",
    ),
    Exercise(
        "together-correct",
        expects=Statistical(_below, max_mcse=0.006, max_evals=9000),
        mistakes={
            "That is the probability of lying above two.": lambda a: (
                abs(a[0] - (1.0 - _below())) < 5.0 * a[1]
            ),
            "A fit's own answer: its left tail is too light. Weight its draws.": lambda a: (
                a[0] < 0.01
            ),
        },
        recipe="Weight draws of a Student-t around Laplace's mode, a little wider than the fit.",
        praise="The fit alone misses nearly all of this tail, and no error bar says so.",
    ),
    Exercise(
        "together-pair",
        expects=Value((2.0 / 3.0, 1.0 / 3.0)),
        mistakes={
            "That is y / s, the curvature; the variance is its inverse.": lambda a: np.isclose(
                a[0], 1.5, rtol=1e-3
            ),
            "Up is where log pi rises: from the second point, variance times -1.": near(
                (2.0 / 3.0, 5.0 / 3.0)
            ),
            "A variance is positive: s is 1 - 3, and y is 1 - 4.": lambda a: a[0] < 0.0,
        },
        recipe="s / y with s = 1 - 3 and y = 1 - 4; then 1 + (s / y) * (-1).",
        praise="In one dimension two slopes tell a normal; in more a pair tells one direction.",
    ),
)
