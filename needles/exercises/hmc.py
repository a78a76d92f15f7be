"""The exercises of the page on Hamiltonian Monte Carlo."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from ..grading import Routine, Value
from ..study import Exercise


@dataclass(frozen=True)
class _Map:
    """A map of arrays to arrays that is called by its name."""

    name: str
    function: Callable

    def __call__(self, z):
        return self.function(z)

    def __repr__(self):
        return self.name


def _euler(z):
    return np.array([z[0] + 0.3 * z[1], z[1] - 0.3 * z[0] ** 3])


def _leapfrog(z):
    r = z[1] - 0.15 * z[0] ** 3
    theta = z[0] + 0.3 * r
    return np.array([theta, r - 0.15 * theta**3])


def _mirror(z):
    return np.array([z[0] + 0.5 * np.sin(z[1]), z[1], -2.0 * z[2]])


def _jacobian(step, z):
    h = 1e-5 * np.eye(len(z))
    return np.array([(step(z + e) - step(z - e)) / 2e-5 for e in h])


def _volume(step, z):
    return abs(np.linalg.det(_jacobian(step, z)))


def _signed(step, z):
    return np.linalg.det(_jacobian(step, z))


def _undivided(step, z):
    return _volume(step, z) * 2.0 ** len(z)


def _diagonal(step, z):
    return abs(np.prod(np.diag(_jacobian(step, z))))


@cache
def _best_length():
    from scipy import optimize

    found = optimize.minimize_scalar(
        lambda t: -(np.sin(t) ** 2) / (1.0 + np.cos(t) ** 2) / t,
        bounds=(0.1, 3.0),
        method="bounded",
        options={"xatol": 1e-10},
    )
    return float(found.x)


EXERCISES = (
    Exercise(
        "hmc-order",
        expects=Value(np.array([4.0, 2.0]), digits=2),
        mistakes={
            "That is the error of a single step; half the "
            "step needs twice as many of them.": np.array([8.0, 4.0]),
            "The leapfrog's symmetry gives it a higher order.": np.array([2.0, 2.0]),
            "The other way round: the leapfrog is the better one.": np.array([2.0, 4.0]),
            "By which factor it shrinks: a number above one.": np.array([0.25, 0.5]),
            "Those are the orders; the factor is two to that power.": np.array([2.0, 1.0]),
        },
        recipe="Two to the power of the order.",
        praise="Half the step is twice the cost, and four times the accuracy.",
    ),
    Exercise(
        "hmc-determinant",
        expects=Routine(
            _volume,
            cases=(
                (_Map("euler", _euler), np.array([0.8, -0.5])),
                (_Map("leapfrog", _leapfrog), np.array([0.8, -0.5])),
                (_Map("mirror", _mirror), np.array([0.3, 1.0, -0.7])),
            ),
            rtol=1e-4,
        ),
        mistakes={
            "A factor of volume is not negative: take the determinant's absolute value.": _signed,
            "The points are 2 h apart: divide by that.": _undivided,
            "All entries of the Jacobian matrix count, not those on the diagonal.": _diagonal,
        },
        recipe="abs(np.linalg.det(J)) with the columns (step(z + h e) - step(z - h e)) / (2 h).",
        praise="One for every map made of shears.",
    ),
    Exercise(
        "hmc-mass",
        expects=Value(np.array([1.0, 0.0, 1.0, 0.0, 0.0]), atol=0.0),
        mistakes={
            "(b) is a shear, but with -r it goes the same "
            "way again: it does not come home.": np.array([1.0, 1.0, 1.0, 0.0, 0.0]),
            "(a) keeps volume, and the sine is odd: turned round, it comes home.": np.array(
                [0.0, 0.0, 1.0, 0.0, 0.0]
            ),
            "(c) still kicks by a function of the "
            "position, and step 3 knows the right H.": np.array([1.0, 0.0, 0.0, 0.0, 0.0]),
            "(d) keeps volume. Read backwards, it begins "
            "with a drift: does it come home?": np.array([1.0, 0.0, 1.0, 1.0, 0.0]),
            "(e) draws its momentum from another Gaussian than exp(-K).": np.array(
                [1.0, 0.0, 1.0, 0.0, 1.0]
            ),
            "Step 3 forgives every slide that keeps volume and comes home.": np.zeros(5),
        },
        recipe="Volume and the way back for the slide; exp(-K) must be the density of the push.",
        praise="The slide decides how often, if it keeps volume and the way back.",
    ),
    Exercise(
        "hmc-stability",
        expects=Value(2.0 * np.sqrt(0.1)),
        mistakes={
            "That is for the widest direction; the narrowest is the limit.": 2.0 * np.sqrt(1.9),
            "Twice the standard deviation, not twice the variance.": 0.2,
            "That holds for a correlation of zero.": 2.0,
            "omega is one over the standard deviation: epsilon < 2 sd.": 2.0 / np.sqrt(0.1),
        },
        recipe="Twice the square root of the smaller eigenvalue of the covariance.",
        praise="A correlation of 0.9 has taken two thirds of the step.",
    ),
    Exercise(
        "hmc-length",
        expects=Value(np.pi),
        mistakes={
            "That is for a standard deviation of one; this one has two.": np.pi / 2.0,
            "At half the period the draw is the mirror image of the one before.": 2.0 * np.pi,
            "At the full period one is home again.": 4.0 * np.pi,
        },
        recipe="A quarter of the period 2 pi sigma.",
        praise="For this width, that is. Another coordinate has another.",
    ),
    Exercise(
        "hmc-best",
        expects=Value(_best_length),
        mistakes={
            "There the draws are independent; a shorter slide is cheaper.": np.pi / 2.0,
            "There the square never changes.": lambda a: a > 3.0,
            "Short slides make a random walk: the numerator falls like t squared.": lambda a: (
                a < 0.2
            ),
        },
        recipe="Minimise -(sin(t)^2 / (1 + cos(t)^2)) / t numerically.",
        praise="Nearly nine tenths of a quarter turn.",
    ),
)
