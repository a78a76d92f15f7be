"""Where to look before integrating: the map to the unit cube, and where the mass lies in it."""

import numpy as np

from ..errors import BayeslibError
from ..validate import blame
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

    def __call__(self, t):
        """Points of the region for `t`, (n, dim) -> (n, dim)."""
        return self._map(t)[0]

    def with_jacobian(self, t):
        """Points, and the log of the volume that the map gives to a unit of volume, (n,)."""
        x, slope = self._map(t)
        with np.errstate(divide="ignore"):
            return x, np.log(slope).sum(axis=1)

    def inverse(self, x):
        """The t of one point x, (dim,) -> (dim,)."""
        t = np.empty_like(x)
        for j, (low, high) in enumerate(self.bounds):
            z = (x[j] - self.centre[j]) / self.scale[j]
            if np.isfinite(low) and np.isfinite(high):
                t[j] = (x[j] - low) / (high - low)
            elif np.isfinite(low):
                z = (x[j] - low) / self._reach(j)
                t[j] = z / (1.0 + z)
            elif np.isfinite(high):
                z = (high - x[j]) / self._reach(j)
                t[j] = 1.0 / (1.0 + z)
            else:
                s = 2.0 * z / (1.0 + np.sqrt(1.0 + 4.0 * z * z))
                t[j] = 0.5 * (s + 1.0)
        return t

    def _reach(self, j):
        low, high = self.bounds[j]
        distance = self.centre[j] - low if np.isfinite(low) else high - self.centre[j]
        return max(distance, self.scale[j])

    def _map(self, t):
        x, slope = np.empty_like(t), np.empty_like(t)
        for j, (low, high) in enumerate(self.bounds):
            u = t[:, j]
            if np.isfinite(low) and np.isfinite(high):
                x[:, j], slope[:, j] = low + (high - low) * u, high - low
            elif np.isfinite(low):
                x[:, j] = low + self._reach(j) * u / (1.0 - u)
                slope[:, j] = self._reach(j) / (1.0 - u) ** 2
            elif np.isfinite(high):
                x[:, j] = high - self._reach(j) * (1.0 - u) / u
                slope[:, j] = self._reach(j) / u**2
            else:
                s = 2.0 * u - 1.0
                rest = 4.0 * u * (1.0 - u)  # 1 - s^2, without cancellation
                x[:, j] = self.centre[j] + self.scale[j] * s / rest
                slope[:, j] = 2.0 * self.scale[j] * (1.0 + s * s) / rest**2
        return x, slope


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
    from scipy import optimize

    dim = target.dim
    place = Place(bounds, _middle(bounds), np.full(dim, 0.5))
    # additive recurrence with the generalised golden ratio (Roberts 2018): evenly spread points
    ratio = generalised_golden_ratio(dim)
    t = (0.5 + np.arange(1, _NUM_SCOUTS + 1)[:, None] * ratio ** -np.arange(1.0, dim + 1.0)) % 1.0
    scouts = place(t)
    heights = evaluate(target, scouts)
    if heights.max() == -np.inf:
        words = (
            f"the density is zero at all {_NUM_SCOUTS} points tried within the bounds "
            f"{bounds.tolist()}; narrow them to where it is not"
        )
        raise BayeslibError(blame(target, words))
    num_evals = _NUM_SCOUTS
    peaks = []
    for x in scouts[np.argsort(-heights)[:200:40]]:
        found = optimize.minimize(
            lambda t: -_finite(target.many(place(np.clip(t, 1e-12, 1.0 - 1e-12)[None]))[0]),
            place.inverse(x),
            method="Nelder-Mead",
            options={"xatol": 1e-9, "fatol": 1e-9, "maxfev": 400 * dim},
        )
        centre = place(np.clip(found.x, 1e-12, 1.0 - 1e-12)[None])[0]
        scale, cost = _widths(target, bounds, centre, -found.fun)
        num_evals += found.nfev + cost
        peaks.append((-found.fun, centre, scale))
    peaks.sort(key=lambda peak: -peak[0])
    peaks = [peak[1:] for peak in peaks]
    walked = _walk(target, bounds, *(np.stack(part) for part in zip(*peaks, strict=True)))
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
        sides = []
        for sign in (-1.0, 1.0):
            points = np.tile(centre, (steps.size, 1))
            points[:, j] = np.clip(centre[j] + sign * steps, *bounds[j])
            fallen = evaluate(target, points) < height - 0.5
            sides.append(steps[fallen.argmax()] if fallen.any() else steps[60])
        widths[j] = max(sides)
    return widths, 2 * target.dim * steps.size


def _middle(bounds):
    middle = np.zeros(len(bounds))
    for j, (low, high) in enumerate(bounds):
        if np.isfinite(low) and np.isfinite(high):
            middle[j] = 0.5 * (low + high)
        elif np.isfinite(low):
            middle[j] = low + 1.0
        elif np.isfinite(high):
            middle[j] = high - 1.0
    return middle


def generalised_golden_ratio(dim):
    """Return what an additive recurrence fills the cube most evenly by (Roberts 2018)."""
    ratio = 2.0
    for _ in range(60):
        ratio = (1.0 + ratio) ** (1.0 / (dim + 1.0))
    return ratio


def _finite(value):
    return value if np.isfinite(value) else -1e300
