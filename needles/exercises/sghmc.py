"""The exercises of the page on stochastic gradients."""

import numpy as np

from ..grading import Routine, Value, near
from ..study import Exercise

_ROWS, _BATCH, _ONE_ROW = 10_000, 100, 2.5
_NOISE = _ROWS**2 / _BATCH * (1.0 - _BATCH / _ROWS) * _ONE_ROW


def _kick(r, gradient, eps, C, B_hat, z):
    return r - eps * gradient - eps * C * r + np.sqrt(2.0 * eps * (C - B_hat)) * z


def _uphill(r, gradient, eps, C, B_hat, z):
    return _kick(r, -gradient, eps, C, B_hat, z)


def _variance_as_deviation(r, gradient, eps, C, B_hat, z):
    return r - eps * gradient - eps * C * r + 2.0 * eps * (C - B_hat) * z


def _half_the_noise(r, gradient, eps, C, B_hat, z):
    return r - eps * gradient - eps * C * r + np.sqrt(eps * (C - B_hat)) * z


def _unaccounted(r, gradient, eps, C, B_hat, z):
    return _kick(r, gradient, eps, C, 0.0, z)


def _no_drag(r, gradient, eps, C, B_hat, z):
    return r - eps * gradient + np.sqrt(2.0 * eps * (C - B_hat)) * z


def _scaled_like_the_gradient(r, gradient, eps, C, B_hat, z):
    return r - eps * gradient - eps * C * r + eps * np.sqrt(2.0 * (C - B_hat)) * z


def _variance(eps, C, V, B_hat, s):
    """Stationary variance: the closed form, with the step in units of s."""
    half = 1.0 - 0.5 * eps * C
    heat = 1.0 + (0.5 * eps * V - B_hat) / C
    return s**2 * heat * half / (half - 0.25 * (eps / s) ** 2)


def _without_heat(eps, C, V, B_hat, s):
    return _variance(eps, C, 0.0, 0.0, s)


def _continuous(eps, C, V, B_hat, s):
    return s**2 * (1.0 + (0.5 * eps * V - B_hat) / C)


def _unscaled(eps, C, V, B_hat, s):
    return s**2 * _variance(eps, C, V, B_hat, 1.0)


def _ignored(eps, C, V, B_hat, s):
    return _variance(eps, C, V, 0.0, s)


def _langevin(eps, V=4.0):
    return (1.0 + 0.25 * eps * V) / (1.0 - 0.25 * eps)


_KICKS = (
    (1.3, -0.7, 0.1, 2.0, 0.5, 0.8),
    (-0.4, 2.1, 0.02, 1.0, 0.0, -1.1),
    (np.array([0.2, -1.0]), np.array([1.0, 0.3]), 0.3, 0.7, 0.2, np.array([0.5, -0.6])),
)

EXERCISES = (
    Exercise(
        "sghmc-noise",
        expects=Value(_NOISE, digits=4),
        mistakes={
            "That is for batches with replacement, nearly.": _ROWS**2 / _BATCH * _ONE_ROW,
            "That is one row's. The sum over the batch is scaled up by n / b.": _ONE_ROW,
            "That is the variance of a mean, not of an estimated sum.": _ONE_ROW / _BATCH,
            "The batch holds b rows, whose variances add up: n^2 / b, not n^2 / b^2.": near(
                (_ROWS / _BATCH) ** 2 * _ONE_ROW, rtol=0.02
            ),
        },
        recipe="n^2 / b, times 1 - b / n, times the variance of one row.",
        praise="A standard deviation of about 1,600, from rows with one of 1.6.",
    ),
    Exercise(
        "sghmc-growth",
        expects=Value(450.0, digits=2),
        mistakes={
            "It begins at one, not at zero.": 500.0,
            "The heat is shared by position and momentum: half of it each.": 225.0,
            "The noise of a step is eps V^(1/2) z: its variance has eps squared.": 45.0,
        },
        recipe="1 + eps^2 V t / 2 = 10.",
        praise="Forty-five units of time, seven turns of the circle.",
    ),
    Exercise(
        "sghmc-kick",
        expects=Routine(_kick, cases=_KICKS),
        mistakes={
            "The gradient is that of the potential: the force points against it.": _uphill,
            "2 eps (C - B_hat) is a variance: take its root.": _variance_as_deviation,
            "There is a factor of two: drag C dt needs noise 2 C dt.": _half_the_noise,
            "The minibatch brings B_hat of the noise: inject only the rest.": _unaccounted,
            "Where is the friction?": _no_drag,
            "The injected noise has variance proportional to eps.": _scaled_like_the_gradient,
        },
        recipe="r - eps gradient - eps C r + sqrt(2 eps (C - B_hat)) z.",
        praise="Drag and noise, matched.",
    ),
    Exercise(
        "sghmc-stationary",
        expects=Routine(
            _variance,
            cases=(
                (0.05, 1.0, 4.0, 0.1, 1.0),
                (0.05, 1.0, 4.0, 0.0, 1.0),
                (0.3, 0.5, 1.0, 0.05, 0.7),
                (0.2, 3.0, 2.0, 0.1, 2.0),
            ),
            rtol=1e-6,
        ),
        mistakes={
            "The gradient is noisy: a step adds eps^2 V to the momentum.": _without_heat,
            "That is right in continuous time; the step has its own error.": _continuous,
            "The gradient is theta / s^2: a narrow target feels the step more.": _unscaled,
            "Inject 2 eps (C - B_hat), not 2 eps C.": _ignored,
        },
        recipe="Solve P = A P A' + noise for the 2 x 2 matrix P; answer P[0, 0].",
        praise="The heat is the same for every width; the step's error is not.",
    ),
    Exercise(
        "sghmc-budget",
        expects=Value(np.array([5e-4, 20.0]), digits=2),
        mistakes={
            "eps V / 4 = 0.05.": near(1.25e-4, at=0, rtol=1e-5),
            "Those are steps; a step of b rows is b / n of a pass.": near(8000.0, at=1, rtol=0.01),
            "First the step, then the passes.": near(20.0, at=0, rtol=0.01),
        },
        recipe="V = n / b = 400; the step is 4 times 0.05 over V, the price one over 0.05.",
        praise="And for one per cent, a hundred passes a draw.",
    ),
    Exercise(
        "sghmc-richardson",
        expects=Value(lambda: 2.0 * _langevin(0.1) - _langevin(0.2), digits=4),
        mistakes={
            "That is the finer run alone.": _langevin(0.1),
            "Their mean has the first-order error too.": 0.5 * (_langevin(0.1) + _langevin(0.2)),
            "The other way round: away from the error.": 2.0 * _langevin(0.2) - _langevin(0.1),
            "Those weights are for an error of second order; this one is of first.": (
                4.0 * _langevin(0.1) - _langevin(0.2)
            )
            / 3.0,
        },
        recipe="Twice the finer minus the coarser.",
        praise="Richardson's extrapolation. The price is a larger Monte Carlo error.",
    ),
)
