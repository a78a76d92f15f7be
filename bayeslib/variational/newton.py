"""The highest point of a log density, by L-BFGS and Newton steps, and the curvature there."""

import math
from contextlib import suppress
from typing import NamedTuple

import numpy as np
import scipy

from ..errors import BayeslibError, ImproperError
from ..validate import along, shown
from ..waiting import count
from .gaussian_family import LOG_2_PI

SETTLED = 1e-14  # squared length of a Newton step, in posterior standard deviations
NEAR, EXACT = 1e-8, 1e-20  # the same, of a step that needs no damping, and that is the last
STUCK = 1e14  # damping at which no step that is left is worth taking
LEVEL = 1e-3  # slope of the log density per posterior standard deviation that may be rounding
FAR = 1e8  # times the size of the start
FAR_LOG = 300.0  # from the start: further out, the exponential of a logarithm, squared, is 0 or inf
ROUGH = 0.05  # change of the curvature over a small part of the posterior's width
FLAT = 1e-6  # of the largest curvature, in comparable units
_FIRST_STEP, _STEP, _FINE_STEP = 1e-5, 1e-4, 2e-3


class Slopes:
    """Log densities and gradients at points, counted."""

    def __init__(self, target):
        self._target, self._bound = target, target.bind(gradient=True)
        self.names, self.num_evals, self.smooth = target.names, 0, True

    def ask(self, x):
        """Return what the target says at `x`, whatever it is."""
        gradient = np.zeros(x.size)
        value = self._bound(np.ascontiguousarray(x), gradient)
        self.num_evals += 1
        count()
        if self._bound.num_errors:
            raise self._target.explain(self._bound.failed_at)
        return value, gradient

    def __call__(self, x):
        """The same, with -inf where the value or its gradient is not finite."""
        value, gradient = self.ask(x)
        if value == math.inf:
            raise ImproperError(f"the log density is +inf at theta={shown(x)}: it has no maximum")
        if not (math.isfinite(value) and np.isfinite(gradient).all()):
            return -math.inf, gradient
        return value, gradient

    def curvature(self, x, steps, *, fine=False):
        """Minus the Hessian at `x` by central differences of the gradient, symmetrised.

        Of fourth order in `steps` (dim,) when `fine`, else of second. None when a point that it
        needs is outside the support, however close.
        """
        matrix, self.smooth = np.empty((x.size, x.size)), True
        for i in range(x.size):
            step = max(steps[i], 64.0 * np.spacing(abs(x[i])))
            for k in range(6):
                matrix[i] = self._column(x, i, step * 0.1**k, fine)
                if not np.isnan(matrix[i, i]):
                    break
            else:
                return None
        return 0.5 * (matrix + matrix.T)

    def _column(self, x, i, step, fine):
        near = self._difference(x, i, step)
        if not fine or np.isnan(near[i]):
            return near
        wide = self._difference(x, i, 2.0 * step)
        # a quadratic has one curvature at any step, a kink has none, and a flat place only noise
        self.smooth = self.smooth and not abs(near[i] - wide[i]) > ROUGH * abs(near[i])
        return (4.0 * near - wide) / 3.0

    def _difference(self, x, i, step):
        """One column, nan where a point is outside the support."""
        above, below = x.copy(), x.copy()
        above[i] += step
        below[i] -= step
        (high, up), (low, down) = self(above), self(below)
        outside = min(high, low) == -math.inf
        return np.where(outside, np.nan, (down - up) / (above[i] - below[i]))


def run_optimiser(slopes, start, history, max_iterations):
    """Climb the log density by L-BFGS.

    Parameters
    ----------
    slopes : Slopes
    start : numpy.ndarray, shape (dim,)
    history, max_iterations : int

    Returns
    -------
    positions, gradients : numpy.ndarray, shape (num_iterations + 1, dim)
        Of the points that the optimiser accepted, the start first.
    """
    seen, path = {}, [start]

    def descend(x):
        value, gradient = slopes.ask(x)
        if not np.isfinite(value) or not np.isfinite(gradient).all():
            return np.inf if value != np.inf else -np.inf, np.zeros(x.size)
        seen[x.tobytes()] = gradient
        return -value, -gradient

    with np.errstate(all="ignore"):
        scipy.optimize.minimize(
            descend, start, jac=True, method="L-BFGS-B",
            callback=lambda x: path.append(np.array(x)),
            options={
                "maxcor": history, "maxiter": max_iterations, "maxfun": 20 * max_iterations,
                "ftol": 1e-13, "gtol": 1e-8,
            },
        )  # fmt: skip
    known = [x for x in path if x.tobytes() in seen]
    return np.array(known), np.array([seen[x.tobytes()] for x in known])


class Mode(NamedTuple):
    """A maximum.

    Attributes
    ----------
    position : numpy.ndarray, shape (dim,)
    value : float
    hessian : numpy.ndarray, shape (dim, dim)
        Minus that of the log density; positive definite.
    """

    position: np.ndarray
    value: float
    hessian: np.ndarray

    @property
    def log_mass(self):
        """The logarithm of the integral, by Laplace's approximation."""
        _, log_det = np.linalg.slogdet(self.hessian)
        return float(self.value + 0.5 * self.position.size * LOG_2_PI - 0.5 * log_det)

    def distance(self, position):
        """How far a position is, in standard deviations by the curvature."""
        apart = position - self.position
        return float(np.sqrt(max(apart @ self.hessian @ apart, 0.0)))


@np.errstate(divide="ignore", over="ignore", invalid="ignore")
def climb(slopes, start, max_steps, *, origin):
    """Go up to a maximum from `start` by damped Newton steps.

    Parameters
    ----------
    slopes : Slopes
    start : numpy.ndarray, shape (dim,)
        As the end of `run_optimiser`, or at least where the density is not zero.
    max_steps : int
    origin : numpy.ndarray, shape (dim,)
        Where the way up began, from which distances are.

    Returns
    -------
    Mode

    Raises
    ------
    ImproperError
        When the density rises without end.
    BayeslibError
        When it rises up to an edge of its support, or where the climb ends its Hessian is not
        negative definite.
    """
    x, far = start.copy(), FAR * (1.0 + np.abs(origin).max())
    value, gradient = slopes(x)
    steps = _FIRST_STEP * (1.0 + np.abs(x))
    damping, hit_edge = 1e-3, False

    def edge_error():
        far_out = np.abs(x - origin).max() > FAR_LOG
        return _endless_error(x, max_steps) if far_out else _edge_error(x)

    for _ in range(max_steps):
        hessian = slopes.curvature(x, steps)
        if hessian is None:
            raise edge_error()
        units = _units(hessian)
        units = np.where(np.isfinite(units), units, 1.0 + np.abs(x))
        steps = _STEP * units
        scaled = hessian * np.outer(units, units)
        if not np.isfinite(scaled).all():
            break
        eigenvalues, vectors = np.linalg.eigh(scaled)
        lowest, down = eigenvalues[0], units * vectors[:, 0]
        if lowest > FLAT * eigenvalues[-1]:
            move = units * (vectors @ ((units * gradient) @ vectors / eigenvalues))
            if gradient @ move < NEAR:
                with suppress(BayeslibError):  # level, but no maximum: on by damped steps
                    return _finished(slopes, x, value, units)
        while True:
            ridge = damping if lowest > 0.0 else damping - lowest * (1.0 + 1e-6) + 1e-12
            move = units * np.linalg.solve(scaled + ridge * np.eye(x.size), units * gradient)
            decrement = float(gradient @ move)
            new, slope = slopes(x + move)
            if new > value:
                break
            hit_edge = hit_edge or new == -math.inf
            damping *= 4.0
            if decrement < SETTLED or damping > STUCK:
                if np.linalg.norm(units * gradient) > LEVEL:  # it is the damping that is large
                    raise edge_error() if hit_edge else _rough_error(x)
                move = 0.1 * down
                new, slope = slopes(x + move)
                if lowest < -FLAT and new > value:
                    break  # off a saddle
                return _finished(slopes, x, value, steps / _STEP)
        x, value, gradient, damping = x + move, new, slope, 0.2 * damping
        if np.abs(x).max() > far:
            break
    raise _endless_error(x, max_steps)


def _endless_error(x, max_steps):
    found = f"the log density still rises at theta={shown(x)} (max_steps={max_steps})"
    return ImproperError(f"{found}: it has no maximum; check the priors, or raise max_steps")


def _units(hessian):
    """The scale of each coordinate, by its own curvature; inf where there is none."""
    return 1.0 / np.sqrt(np.abs(np.diag(hessian)))


def _finished(slopes, x, value, units):
    """Polish a stationary point by plain Newton steps, and check that it is a maximum."""
    for _ in range(3):
        hessian = slopes.curvature(x, _FINE_STEP * units, fine=True)
        if hessian is None:
            raise _edge_error(x)
        check_definite(hessian, x, slopes.names)
        if not slopes.smooth:
            raise _rough_error(x)
        units = _units(hessian)
        _, gradient = slopes(x)
        move = np.linalg.solve(hessian, gradient)
        new, _ = slopes(x + move)
        if not new > value - 1e-9 * (1.0 + abs(value)):
            break
        x, value = x + move, new
        if gradient @ move < EXACT:
            break
    return Mode(x, value, hessian)


def check_definite(hessian, x, names):
    """Raise unless `hessian`, minus that of the log density, is positive definite beyond doubt."""
    units = np.minimum(_units(hessian), 1e12 * (1.0 + np.abs(x)))
    eigenvalues, vectors = np.linalg.eigh(hessian * np.outer(units, units))
    if eigenvalues[0] > FLAT * max(eigenvalues[-1], 0.0):
        return
    direction = units * vectors[:, 0]
    direction /= np.abs(direction).max()
    what = "rises (a saddle point)" if eigenvalues[0] < -FLAT else "is flat"
    found = f"at theta={shown(x)} the log density {what} along {along(direction, names)}"
    raise BayeslibError(f"{found}: no Gaussian fits; start elsewhere, or give that a prior")


def _edge_error(x):
    found = f"the log density rises to the edge of its support, at theta={shown(x)}"
    return BayeslibError(f'{found}, where no Gaussian fits: use coordinates="unconstrained"')


def _rough_error(x):
    found = "the log density has a kink, or is flat to rounding"
    return BayeslibError(f"{found}, at theta={shown(x)}, where the climb ends: no Gaussian fits")
