"""Where to look before integrating: the map to the unit cube, and where the mass lies in it."""

import numpy as np
import scipy

from ..chains.starts import scatter
from ..errors import BayeslibError
from ..validate import blame, shown
from .grid_posterior import evaluate

_NUM_SCOUTS = 4096
_NUM_WALKERS, _NUM_STEPS = 256, 100


class Place:
    """The map from the unit cube to the region of integration.

    Parameters
    ----------
    bounds : array, shape (dim, 2)
    centre, scale : array, shape (dim,)
        Where an infinite range is resolved best.
    """

    def __init__(self, bounds, centre, scale):
        self.bounds, self.centre, self.scale = bounds, centre, 2.0 * scale
        low, high = bounds.T
        ends = np.isfinite(bounds)
        self._cases = [ends.all(axis=1), *ends.T]  # an end on both sides, below, above
        self._reach = np.maximum(np.where(ends[:, 0], centre - low, high - centre), self.scale)

    def __call__(self, t):
        """Points of the region for `t`, (n, dim) -> (n, dim)."""
        return self.with_jacobian(t)[0]

    @np.errstate(all="ignore")  # of the cases that do not apply
    def with_jacobian(self, t):
        """Points, and the log of the volume that the map gives to a unit of volume, (n,)."""
        low, high = self.bounds.T
        s, rest = 2.0 * t - 1.0, 4.0 * t * (1.0 - t)  # 1 - s^2, without cancellation
        above, below = self._reach * t / (1.0 - t), self._reach * (1.0 - t) / t
        places = [low + (high - low) * t, low + above, high - below]
        slopes = [high - low, self._reach / (1.0 - t) ** 2, self._reach / t**2]
        x = np.select(self._cases, places, self.centre + self.scale * s / rest)
        slope = np.select(self._cases, slopes, 2.0 * self.scale * (1.0 + s * s) / rest**2)
        return x, np.log(slope).sum(axis=1)

    @np.errstate(all="ignore")  # as above
    def inverse(self, x):
        """The t of points x, (..., dim) -> (..., dim)."""
        low, high = self.bounds.T
        z, above, below = (x - self.centre) / self.scale, x - low, high - x
        s = 2.0 * z / (1.0 + np.sqrt(1.0 + 4.0 * z * z))
        above, below = above / self._reach, below / self._reach
        cases = [(x - low) / (high - low), above / (1.0 + above), 1.0 / (1.0 + below)]
        return np.select(self._cases, cases, 0.5 * (s + 1.0))


def find_peaks(target, bounds):
    """Look for the mass.

    Parameters
    ----------
    target : Target
    bounds : array, shape (dim, 2)

    Returns
    -------
    peaks : list of (centre (dim,), scale (dim,))
        Highest first.
    scouts : numpy.ndarray, shape (n, dim)
        Points spread over the whole region, and walkers that started from the peaks.
    num_evals : int
    """
    dim = target.dim
    place = Place(bounds, scatter(np.full(dim, 0.5), bounds.tolist()), np.full(dim, 0.5))
    scouts = place(evenly_spread(np.arange(1, _NUM_SCOUTS + 1), dim))
    heights = evaluate(target, scouts)
    if heights.max() == -np.inf:
        words = f"the density is zero at all {_NUM_SCOUTS} points tried: narrow the bounds"
        raise BayeslibError(blame(target, words))
    num_evals = _NUM_SCOUTS
    peaks = []

    def points(t):
        return place(np.clip(t, 1e-12, 1.0 - 1e-12)[None])

    def depth(t):
        value = target.many(points(t))[0]
        return -value if np.isfinite(value) else 1e300

    options = {"xatol": 1e-9, "fatol": 1e-9, "maxfev": 400 * dim}
    for t in place.inverse(scouts[np.argsort(-heights)[:200:40]]):
        found = scipy.optimize.minimize(depth, t, method="Nelder-Mead", options=options)
        centre = points(found.x)[0]
        scale, cost = _widths(target, bounds, centre, -found.fun)
        num_evals += found.nfev + cost
        peaks.append((found.fun, centre, scale))
    peaks = [peak[1:] for peak in sorted(peaks, key=lambda peak: peak[0])]
    walked = _walk(target, bounds, *map(np.stack, zip(*peaks, strict=True)))
    return peaks, np.concatenate([scouts, walked]), num_evals + _NUM_WALKERS * (1 + _NUM_STEPS)


def _walk(target, bounds, centres, scales):
    """Some places that Metropolis walkers visit, of one fixed seed and with steps of all sizes."""
    rng = np.random.default_rng(0)
    which = np.arange(_NUM_WALKERS) % len(centres)
    theta, scale = centres[which], scales[which]
    height = evaluate(target, theta)
    visited = []
    for step in range(_NUM_STEPS):
        size = 10.0 ** rng.uniform(-1.0, 2.0, (_NUM_WALKERS, 1))
        new = theta + size * scale * rng.standard_normal(theta.shape)
        inside = np.all((new > bounds[:, 0]) & (new < bounds[:, 1]), axis=1)
        new = np.where(inside[:, None], new, theta)
        new_height = evaluate(target, new)
        accepted = np.log(rng.random(_NUM_WALKERS)) < new_height - height
        theta = np.where(accepted[:, None], new, theta)
        height = np.where(accepted, new_height, height)
        if step % 5 == 0:
            visited.append(theta)
    return np.concatenate(visited)


def _widths(target, bounds, centre, height):
    """How far along each axis, in factors of two, the log density falls by a half."""
    steps = 2.0 ** np.arange(-60.0, 61.0)
    widths = np.empty(target.dim)
    for j in range(target.dim):
        points = np.tile(centre, (2 * steps.size, 1))
        points[:, j] = np.clip(centre[j] + np.concatenate([-steps, steps]), *bounds[j])
        fallen = (evaluate(target, points) < height - 0.5).reshape(2, -1)
        if np.any(~fallen.any(axis=1) & np.isinf(bounds[j])):
            where = f"within 1e18 of theta={shown(centre)} along {target.names[j]}"
            raise BayeslibError(f"the log density hardly falls {where}: is it proper? Give bounds")
        widths[j] = steps[np.where(fallen.any(axis=1), fallen.argmax(axis=1), 60)].max()
    return widths, 2 * target.dim * steps.size


def evenly_spread(numbers, dim):
    """Return the points of these numbers, (n, dim), of a sequence that fills the unit cube evenly.

    An additive recurrence by the generalised golden ratio (Roberts 2018); number 0 is the middle.
    """
    ratio = 2.0
    for _ in range(60):
        ratio = (1.0 + ratio) ** (1.0 / (dim + 1.0))
    return (0.5 + numbers[:, None] * ratio ** -np.arange(1.0, dim + 1.0)) % 1.0
