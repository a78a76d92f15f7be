"""The exercises of the page on the challenge of inference."""

from functools import cache
from itertools import product

import numpy as np

from ..grading import Value, near
from ..study import Exercise
from ..variants import grid

_RATE = np.array([0.05, 0.15, 0.10, 0.01])  # flu, cold, allergy, pneumonia
_STRENGTH = np.array([[0.9, 0.6], [0.2, 0.5], [0.0, 0.1], [0.85, 0.9]])  # of fever, cough
_LEAK = np.array([0.02, 0.05])


@cache
def _pneumonia():
    """Pneumonia given fever and cough; given flu besides; pneumonia and flu together."""
    theta = np.array(list(product([0, 1], repeat=4)))
    absent = (1.0 - _LEAK) * np.prod((1.0 - _STRENGTH) ** theta[:, :, None], axis=1)
    joint = np.where(theta, _RATE, 1.0 - _RATE).prod(axis=1) * np.prod(1.0 - absent, axis=1)
    flu, lungs = theta[:, 0] == 1, theta[:, 3] == 1
    both = joint[lungs & flu].sum()
    return joint[lungs].sum() / joint.sum(), both / joint[flu].sum(), both / joint.sum()


@cache
def _best_survival():
    """The theta that maximises the running posterior's density per unit of exp(-theta)."""
    from scipy import optimize

    # 2 log(theta) - 1.5 log(1 + (theta - 5)^2 / 2) has its only peak above 5
    def slope(x):
        return 2.0 / x - 1.5 * (x - 5.0) / (1.0 + 0.5 * (x - 5.0) ** 2)

    return optimize.brentq(slope, 5.0, 6.0, xtol=1e-13)


@cache
def _best_upside_down():
    """The same with the Jacobian inverted: the density divided by exp(theta)."""
    from scipy import optimize

    def slope(x):
        return 2.0 / x - 2.0 - 1.5 * (x - 5.0) / (1.0 + 0.5 * (x - 5.0) ** 2)

    return optimize.brentq(slope, 1.0, 3.0, xtol=1e-13)


@cache
def _tails():
    """P(y* > 12) under the running posterior, and with its mode plugged in."""
    from scipy import optimize, stats

    from bayeslib import quadrature
    from bayeslib.posteriors import gamma_student

    target, noise = gamma_student(), stats.t(2)
    mode = optimize.brentq(lambda x: target.gradient([x])[0], 3.0, 6.0, xtol=1e-13)
    full = quadrature(target).expect(lambda theta: noise.sf(12.0 - theta[:, 0])).value
    return np.array([full, noise.sf(12.0 - mode)])


EXERCISES = (
    Exercise(
        "challenge-scale",
        expects=Value(lambda: np.array([11.0 / 3.0, 10.0 / 11.0])),
        mistakes={
            "Each likelihood comes with its prior of one third.": near(11.0, at=0),
            "Both right, in the wrong order.": lambda a: np.allclose(
                a[::-1], [11.0 / 3.0, 10.0 / 11.0], rtol=5e-3
            ),
            "So small an evidence would need a negative likelihood at theta = 3.": lambda a: (
                a[0] < 11.0 / 3.0 * 0.97  # nearer it may be rounded: 11 * 0.33, or 3.6
            ),
            "The second number is a probability.": lambda a: a[1] > 1.0,
        },
        recipe="p(D) is a third of 1 + 10 + the likelihood at theta = 3, which is at least zero.",
        praise="That is all that two evaluations of three can say about the scale.",
    ),
    Exercise(
        "challenge-explain",
        expects=Value(lambda: np.array(_pneumonia()[:2])),
        mistakes={
            "Give probabilities between 0 and 1, not per cent.": lambda a: np.any(a > 1.0),
            "That is with sneezing; here sneezing was not asked.": near(0.073, at=0, rtol=1e-2),
            "Knowing about flu does change it: keep only "
            "hypotheses with flu, and renormalise.": near(lambda: _pneumonia()[0]),
            "That is the prior. Flu explains the findings, though not beyond all doubt.": near(
                0.01, at=1
            ),
            "The second is P(pneumonia and flu): divide by P(flu).": lambda a: (
                np.isclose(a[0], _pneumonia()[0], rtol=5e-3)
                and np.isclose(a[1], _pneumonia()[2], rtol=1e-2)
            ),
            "A second explanation makes the first less needed, not more.": lambda a: a[1] > a[0],
        },
        recipe="Sum the probabilities of hypotheses with pneumonia; for the second, among those "
        "with flu, divided by the sum over those with flu.",
        praise="Independent before, dependent after: that is why all combinations must be heard.",
    ),
    Exercise(
        "challenge-grid",
        expects=Value(lambda: grid(10, 1e-4)),
        mistakes={
            "The points multiply from axis to axis, they do not add.": lambda a: (
                np.isclose(a[0], grid(10, 1e-4)[0]) and np.isclose(a[1], 10.0 * a[0])
            ),
            "One too few along each axis: the error is still above one in ten thousand.": near(
                lambda: grid(10, 1e-4)[0] - 1.0, at=0, rtol=1e-5
            ),
            "That is for one in a thousand.": near(21.0, at=0, rtol=1e-5),
        },
        recipe="Solve 10 / (24 n^2) < 1e-4 for n, round up, and take the tenth power.",
        praise="One more digit costs a hundred thousand times as much.",
    ),
    Exercise(
        "challenge-ruler",
        expects=Value(_best_survival),
        mistakes={
            "That is the MAP of theta itself; the Jacobian moves it.": near(4.59240723),
            "That is where the likelihood peaks. The prior's theta squared is still there.": 5.0,
            "That is phi; the question is about the theta it corresponds to.": near(
                lambda: np.exp(-_best_survival())
            ),
            "That is phi at the MAP of theta: the Jacobian was "
            "forgotten, and the question is about the theta.": near(np.exp(-4.59240723), rtol=1e-2),
            "The Jacobian is upside down: the density of phi is p(theta) exp(theta).": near(
                _best_upside_down
            ),
        },
        recipe="Maximise log p(theta, y) + theta.",
        praise="On this ruler the MAP lies above even the measurement.",
    ),
    Exercise(
        "challenge-tail",
        expects=Value(_tails),
        mistakes={
            "Both right, in the wrong order.": near(lambda: _tails()[::-1]),
            "These are probabilities of y* below 12: use sf, not cdf.": lambda a: np.all(a > 0.9),
            "The first is an average over the posterior, not a value at its peak.": near(
                lambda: _tails()[1]
            ),
            "The first is right; the second is one value of sf, at the MAP.": near(
                lambda: _tails()[0]
            ),
        },
        recipe="Average stats.t(2).sf(12 - theta) over the posterior; then evaluate it at the MAP.",
        praise="Close, and not for a good reason.",
    ),
)
