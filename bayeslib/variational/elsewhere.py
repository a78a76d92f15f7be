"""Is there another mode? A few climbs from elsewhere, after a fit that has seen one."""

import numpy as np
import scipy

from ..validate import shown
from .newton import Mode

APART = 5.0  # standard deviations, of either of two Gaussians, between two modes
NO_MATTER = np.log(100.0)  # nats by which a mode is lower that does not count
_SEED = 1  # of the starts, the same for every fit
_NEAR, _REACHES = 8, (4.0, 10.0, 25.0)  # starts on (-2, 2); standard deviations of the others
_MOST_STEPS = 200
_MOST, _MOST_BLIND = 200, 20  # dimensions with a gradient, and without
_MOST_HESSIANS = 8
_SAME = 0.1  # standard deviations between two climbs to one mode
_FLAT = 1e-13  # of the largest curvature: less is rounding
_LEVEL = 0.1  # squared length of a Newton step that would be left, in standard deviations


def elsewhere_problem(gaussians, elbos, transform, what):
    """Say that a fit with a comparable bound lies far from the best one, or return None.

    Parameters
    ----------
    gaussians : sequence of Gaussian or None
        One a fit, of the coordinates in which they are Gaussian; None for one that failed.
    elbos : numpy.ndarray, shape (n,)
        Not finite for one that failed.
    transform : Transform
    what : str
        What a fit is called.
    """
    best = int(np.argmax(elbos))
    comparable = [i for i in np.argsort(-elbos) if elbos[i] > elbos[best] - NO_MATTER]
    for i in comparable:
        shift = gaussians[i].mean - gaussians[best].mean
        apart = [np.linalg.norm(np.linalg.solve(gaussians[j].scale, shift)) for j in (i, best)]
        if min(apart) > APART:
            place = shown(transform.constrain(gaussians[i].mean))
            said = f"{what} {i} of {len(elbos)} ended elsewhere, about theta={place}, its bound"
            remedy = "use multipathfinder, or parallel_tempering"
            return f"{said} {elbos[best] - elbos[i]:.2f} lower: {remedy}"
    return None


def scout(free, gaussians, log_mass, transform):
    """Climb from a few points, and say where another mode holds mass that matters.

    Parameters
    ----------
    free : Target
        In the coordinates of the Gaussians, with up to 200 dimensions; without a gradient, in whose
        place differences of values serve, up to 20.
    gaussians : sequence of Gaussian
        What has been found; a mode is another if it is five standard deviations, by the curvature
        at either, from where a climb from each of their means ends, and five of theirs from them.
    log_mass : float
        The logarithm of the integral that they cover, or of a lower bound on it.
    transform : Transform

    Returns
    -------
    problem : str or None
    num_evals : int

    Notes
    -----
    Nothing is drawn from the fit's generator. The starts are the same in each run: eight on (-2, 2)
    in each coordinate, one either way at 4, 10 and 25 standard deviations of the first Gaussian,
    and the mirror image of its mean in zero. Mass is by Laplace's approximation. A mode into which
    no start leads stays unseen.
    """
    dim = free.dim
    if dim > (_MOST if free.has_gradient else _MOST_BLIND):
        return None, 0
    rng, slopes = np.random.default_rng(_SEED), _Climber(free, np.diag(gaussians[0].cov) ** 0.5)
    near = rng.uniform(-2.0, 2.0, size=(_NEAR, dim))
    way = rng.standard_normal((len(_REACHES), dim))
    way *= np.array(_REACHES)[:, None] / np.abs(way).max(axis=1, keepdims=True)
    away = gaussians[0].mean + np.concatenate([way, -way]) @ gaussians[0].scale.T
    homes = [home for gaussian in gaussians if (home := slopes.climb(gaussian.mean))]
    found = None
    for start in (-gaussians[0].mean, *near, *away) if homes else ():
        end = slopes.climb(start)
        if end is None or found and end.log_mass <= found.log_mass:
            continue
        apart = [np.linalg.norm(np.linalg.solve(g.scale, end.position - g.mean)) for g in gaussians]
        for home in homes:
            apart += [end.distance(home.position), home.distance(end.position)]
        if min(apart) > APART:
            found = end
    covered = max([log_mass, *(home.log_mass for home in homes)])
    if found is None or not found.log_mass > covered - NO_MATTER:
        return None, slopes.num_evals
    place, gain = shown(transform.constrain(found.position)), found.log_mass - covered
    times = f"{np.exp(min(gain, 600.0)):.2g} times the mass of what this covers"
    said = f"another mode, about theta={place}, holds about {times}"
    return f"{said}: start multipathfinder at both, or use parallel_tempering", slopes.num_evals


class _Climber:
    """Climbs a density by L-BFGS, with its gradient or without, and counts evaluations."""

    def __init__(self, free, units):
        self._exact, self._units, self._modes = free.has_gradient, units, []
        self._bound, self.num_evals, self._hessians = free.bind(gradient=self._exact), 0, 0

    def _value(self, x):
        """Minus the log density, and minus its gradient where there is one."""
        gradient = np.zeros(x.size)
        value = self._bound(np.ascontiguousarray(x), gradient)  # -inf where it raised
        self.num_evals += 1
        if not np.isfinite([value, *gradient]).all():
            return np.inf, 0.0 * x
        return -value, -gradient

    def _gradient(self, x):
        if self._exact:
            return self._value(x)[1]
        return _differences(lambda x: self._value(x)[0], x, 1e-4 * self._units)

    @np.errstate(all="ignore")
    def climb(self, start):
        """Return the `Mode` above `start`, or None where no climb ended at one."""
        if not np.isfinite(self._value(start)[0]) or self._hessians > _MOST_HESSIANS:
            return None
        objective = self._value if self._exact else lambda x: self._value(x)[0]
        x = scipy.optimize.minimize(
            objective, start, jac=self._exact, method="L-BFGS-B",
            options={"maxiter": _MOST_STEPS, "ftol": 1e-13, "gtol": 1e-6},
        ).x  # fmt: skip
        for mode in self._modes:
            if mode.distance(x) < _SAME:
                return mode
        self._hessians += 1
        value, gradient = -self._value(x)[0], self._gradient(x)
        rows = _differences(self._gradient, x, 1e-3 * self._units)
        hessian = 0.5 * (rows + rows.T)
        if not np.isfinite(hessian).all():
            return None
        curvatures = np.linalg.eigvalsh(hessian)
        is_flat = curvatures[0] <= _FLAT * curvatures[-1]
        if is_flat or gradient @ np.linalg.solve(hessian, gradient) > _LEVEL:
            return None

        self._modes.append(Mode(x, value, hessian))
        return self._modes[-1]


def _differences(function, x, steps):
    """Central differences of a function along each coordinate, a row each."""
    return np.array([(function(x + s) - function(x - s)) / (2.0 * s.sum()) for s in np.diag(steps)])
