"""Adaptive quadrature in a few dimensions, over bounded or unbounded regions."""

from functools import reduce

import numpy as np

from ..errors import BayeslibError, warn
from ..results import Estimate
from ..target.target import as_separate
from ..validate import as_count, as_positive
from .grid_posterior import Grid, as_bounds, evaluate, rule_error
from .scouts import Place, find_peaks

_RTOL = (1e-10, 1e-8, 1e-5)  # in one, two and three dimensions
_LARGEST_MASS = 1.0 / 16.0
_MISSED = 10.0

# Gauss-Kronrod rule of 7 and 15 points on (-1, 1), its left half (Piessens et al. 1983, QUADPACK);
# the Gauss rule has weight zero at the points that only Kronrod uses
_LEFT = [  # node, weights of Kronrod and of Gauss
    (-0.9914553711208126, 0.022935322010529224, 0.0),
    (-0.9491079123427585, 0.06309209262997856, 0.1294849661688697),
    (-0.8648644233597691, 0.10479001032225019, 0.0),
    (-0.7415311855993945, 0.14065325971552592, 0.27970539148927664),
    (-0.5860872354676911, 0.1690047266392679, 0.0),
    (-0.4058451513773972, 0.19035057806478542, 0.3818300505051189),
    (-0.20778495500789848, 0.20443294007529889, 0.0),
    (0.0, 0.20948214108472782, 0.4179591836734694),
]

# the same on (0, 1)
_WHOLE = 0.5 * np.concatenate([_LEFT, _LEFT[-2::-1] * np.array([-1.0, 1.0, 1.0])])
NODES, KRONROD, GAUSS = _WHOLE.T + [[0.5], [0.0], [0.0]]
EDGES = np.concatenate([[0.0], np.cumsum(KRONROD)])


def quadrature(target, bounds=None, *, rtol=None, max_evals=2_000_000):
    """Integrate a posterior by adaptive quadrature.

    Parameters
    ----------
    target : Target
        Of 1, 2 or 3 dimensions.
    bounds : sequence of dim pairs (low, high), or one pair for dim = 1; optional
        May be infinite. None takes the target's support, or else the whole space.
    rtol : float, optional
        Wanted relative error of the evidence. None is ``1e-10`` in one dimension, ``1e-8`` in two,
        ``1e-5`` in three.
    max_evals : int
        The search takes some 30,000 evaluations whatever the limit, which counts them: once it is
        reached, no region is halved. At least ``15**dim``.

    Returns
    -------
    Grid
        The final points with their masses: ``log_evidence``, ``mean``, ``cov``, ``expect``,
        ``sample``.

    Raises
    ------
    BayeslibError
        In more than three dimensions, or when the density is zero wherever it was tried, or never
        falls.
    TargetError
        When the log density is nan or +inf somewhere inside the bounds.

    Warns
    -----
    BayeslibWarning
        When `rtol` was not reached within `max_evals`, or floats lie too far apart for it, as in
        a peak that is too thin.

    Notes
    -----
    A peak that stands apart, far narrower than the spacing of the points, can be missed.

    Search: the mass is first looked for at some thousand points spread over the region, from the
    best of these by Nelder and Mead's method, and from there by Metropolis walkers with a fixed
    seed. Infinite ranges are mapped to finite ones, centred and scaled at the highest point found.

    Refinement: the regions with the largest errors are halved across the direction in which a
    product of 7 and 15 point Gauss-Kronrod rules disagrees most, until the errors sum to less than
    wanted. A region is halved too when the density at another of its points, from the search or
    close to the border of a neighbour, stands high above that at all its nodes.

    Examples
    --------
    >>> target = bl.posteriors.gamma_student()
    >>> exact = bl.quadrature(target)
    >>> print(f"{float(exact.log_evidence):.6f} {target.truth.log_evidence:.6f}")
    -2.369974 -2.369974
    >>> print(exact.mean.round(4), exact.quantile(0.95).round(3))
    [4.167] [6.043]
    """
    dim = as_separate(target, "quadrature").dim
    if dim > len(_RTOL):
        raise BayeslibError(f"quadrature takes at most 3 dimensions, got {dim}: sample instead")
    bounds = as_bounds(bounds, target)
    rtol = _RTOL[dim - 1] if rtol is None else as_positive(rtol, "rtol")
    max_evals = as_count(max_evals, "max_evals", minimum=15**dim)
    peaks, scouts, num_evals = find_peaks(target, bounds)
    place = Place(bounds, *peaks[0])
    regions = _Regions(target, place, num_evals, *_first_regions(place, peaks, dim))
    regions.watch(place.inverse(scouts))
    while True:
        worst = regions.inaccurate(rtol)
        if worst.size == 0:
            worst = regions.overlooked(rtol)
        left, boxes = max_evals - regions.num_evals, regions.boxes[worst]
        # Those between whose ends no float lies cannot be halved.
        wide = worst[np.all(np.nextafter(boxes["low"], boxes["high"]) < boxes["high"], axis=1)]
        if wide.size == 0 or left <= 0:
            break
        regions.halve(wide[: max(1, left // (2 * 15**dim))])
    if worst.size:
        reached = f"stopped with a relative error of {regions.relative_error():.2g}, not {rtol:.2g}"
        warn(f"quadrature {reached}: raise max_evals; see if it jumps, has a pole or is too thin")
    return regions.grid({"bounds": bounds.tolist(), "rtol": rtol})


class _Regions:
    """Boxes of the unit cube, each with its product rule."""

    def __init__(self, target, place, num_evals, low, high):
        dim = target.dim
        self.target, self.place, self.shift, self.num_evals = target, place, -np.inf, num_evals
        self.index = np.indices([15] * dim).reshape(dim, -1).T.copy()
        self.nodes = NODES[self.index]
        self.rules = [reduce(np.kron, [KRONROD] * dim)]
        for j in range(dim):
            self.rules.append(reduce(np.kron, [(KRONROD, GAUSS)[i == j] for i in range(dim)]))
        kind = [("low", "f8", (dim,)), ("high", "f8", (dim,)), ("log_values", "f8", (15**dim,))]
        kind += [("mass", "f8"), ("errors", "f8", (dim,)), ("fresh", "?")]
        self._set(np.empty(0, np.dtype(kind, align=True)), low, high)
        self.scouts, self.heights, self.owner = np.empty((0, dim)), np.empty(0), np.empty(0, int)

    def _set(self, kept, low, high):
        """Have the boxes `kept` and new ones."""
        new, which = np.empty(len(low), kept.dtype), slice(len(kept), None)
        new["low"], new["high"], new["fresh"] = low, high, True
        new["log_values"] = self._heights(_points(low, high, self.nodes)).reshape(len(low), -1)
        self.boxes = np.concatenate([kept, new])
        top = self.boxes["log_values"].max()
        if top > self.shift or top < self.shift - 700.0:  # where all masses would round to 0
            self.shift, which = top, slice(0, None)
        if self.shift == -np.inf:
            raise BayeslibError("the density is zero wherever it was tried: narrow the bounds")
        self.boxes["mass"][which], self.boxes["errors"][which] = self._integrate(self.boxes[which])

    def _integrate(self, boxes):
        """Mass of some boxes, (n,), and its errors by the rule along each axis, (n, dim)."""
        values = np.exp(boxes["log_values"] - self.shift) * _volume(boxes)[:, None]
        masses = values @ self.rules[0]
        differences = np.stack([np.abs(values @ r - masses) for r in self.rules[1:]], axis=1)
        # QUADPACK's estimate: a small difference of the rules means a far smaller error
        spread = np.abs(values - masses[:, None]) @ self.rules[0]
        with np.errstate(divide="ignore", invalid="ignore"):
            part = np.minimum(1.0, (200.0 * differences / spread[:, None]) ** 1.5)
        return masses, np.where(spread[:, None] > 0.0, spread[:, None] * part, differences)

    @property
    def total(self):
        """The integral, in units of the highest value."""
        return self.boxes["mass"].sum()

    def relative_error(self):
        """The estimated relative error of the evidence, less what is rounding."""
        return max(0.0, self.boxes["errors"].sum() / self.total - 50.0 * np.finfo(float).eps)

    def inaccurate(self, rtol):
        """The regions with the largest errors, while these sum to more than wanted."""
        if self.relative_error() > rtol:
            total = self.boxes["errors"].sum(axis=1)
            order = np.argsort(-total)
            left = total.sum() - np.cumsum(total[order])
            count = 1 + int(np.argmax(left <= 0.5 * rtol * self.total))
            # no more than those that matter now: what they hide may change the picture
            return order[: min(count, 1 + int(np.sum(total > 0.05 * total[order[0]])))]
        if self.target.dim == 1:  # cells so small that draws from them follow the density
            return np.flatnonzero(self.boxes["mass"] > _LARGEST_MASS * self.total)
        return np.empty(0, dtype=int)

    def watch(self, places):
        """Remember places where the density is known, to see whether a region overlooks them."""
        owner = np.zeros(len(places), dtype=int)
        for j, (low, high) in enumerate(zip(self.boxes["low"], self.boxes["high"], strict=True)):
            owner[np.all((places >= low) & (places < high), axis=1)] = j
        self.scouts = np.concatenate([self.scouts, places])
        self.heights = np.concatenate([self.heights, self._heights(places)])
        self.owner = np.concatenate([self.owner, owner])

    @np.errstate(invalid="ignore")  # of points at infinity
    def _heights(self, t):
        """The log density in the coordinates of the cube, (n, dim) -> (n,)."""
        points, log_slope = self.place.with_jacobian(t)
        self.num_evals += len(t)
        # where the map has run off to infinity, the density counts as zero
        return np.where(np.isfinite(log_slope), evaluate(self.target, points) + log_slope, -np.inf)

    def overlooked(self, rtol):
        """Regions in which a scout stands high above all nodes, which must miss what it is on."""
        self._look_around(rtol)
        tallest = np.full(len(self.boxes), -np.inf)
        np.maximum.at(tallest, self.owner, self.heights)
        above = tallest > self.boxes["log_values"].max(axis=1) + np.log(_MISSED)
        matters = np.exp(tallest - self.shift) * _volume(self.boxes) > rtol * self.total
        return np.flatnonzero(above & matters)

    def _look_around(self, rtol):
        """Send scouts from the outermost nodes of new regions across to their neighbours."""
        least = np.log(0.1 * rtol * self.total / _volume(self.boxes))
        tall = self.boxes["log_values"] - self.shift > least[:, None]
        tall &= self.boxes["fresh"][:, None]
        across, width = [], self.boxes["high"] - self.boxes["low"]
        for side in (0, 14):
            step = 2.0 * (side / 14.0 - NODES[side])  # from the outermost node to its mirror image
            for j in range(self.target.dim):
                region, node = np.nonzero(tall & (self.nodes[:, j] == NODES[side]))
                t = self.boxes["low"][region] + width[region] * self.nodes[node]
                t[:, j] += step * width[region, j]
                across.append(t[(t[:, j] > 0.0) & (t[:, j] < 1.0)])
        self.watch(np.concatenate(across))
        self.boxes["fresh"] = False

    def halve(self, worst):
        """Halve regions across the direction in which their rules differ most."""
        boxes, rows, size = self.boxes[worst], np.arange(len(worst)), len(self.boxes)
        errors, width = boxes["errors"], boxes["high"] - boxes["low"]
        axis = np.where(errors.max(axis=1) > 0.0, errors.argmax(axis=1), width.argmax(axis=1))
        low, high = np.tile(boxes["low"], (2, 1)), np.tile(boxes["high"], (2, 1))
        middle = 0.5 * (low[rows, axis] + high[rows, axis])
        high[rows, axis] = low[len(worst) + rows, axis] = middle
        kept = np.setdiff1d(np.arange(size), worst)
        # the scouts of halved regions go to the right halves
        position = np.argsort(np.append(kept, worst))
        cut_axis, cut = np.zeros(size, dtype=int), np.full(size, np.inf)
        cut_axis[worst], cut[worst] = axis, middle
        along = self.scouts[np.arange(len(self.owner)), cut_axis[self.owner]]
        self.owner = position[self.owner] + len(worst) * (along >= cut[self.owner])
        self._set(self.boxes[kept], low, high)

    def grid(self, settings):
        """The points of all regions, as a result."""
        low, high, blocks = self.boxes["low"], self.boxes["high"], len(self.boxes)
        density = np.exp(self.boxes["log_values"] - self.shift) * _volume(self.boxes)[:, None]
        weights = (density * self.rules[0]).ravel() / self.total
        coarse = (density * reduce(np.kron, [GAUSS] * self.target.dim)).ravel() / self.total
        error = rule_error(np.ones(len(weights)), weights - coarse, blocks)
        log_evidence = self.shift + np.log(self.total)
        return Grid(
            points=self.place(_points(low, high, self.nodes)), weights=weights / weights.sum(),
            coarse=coarse, blocks=blocks, place=self.place,
            cells=np.stack([_points(low, high, EDGES[self.index + k]) for k in (0, 1)]),
            log_evidence=Estimate(log_evidence, error, self.num_evals),
            num_evals=self.num_evals, method="quadrature", names=self.target.names,
            settings=settings | {"relative_error": self.relative_error()},
        )  # fmt: skip


def _points(low, high, t):
    """The places `t`, (k, dim), of the unit cube in each of n boxes, (n * k, dim)."""
    return (low[:, None, :] + (high - low)[:, None, :] * t).reshape(-1, t.shape[1])


def _volume(boxes):
    return np.prod(boxes["high"] - boxes["low"], axis=1)


def _first_regions(place, peaks, dim):
    """Cut the unit cube at the peaks, and at some distance around them."""
    peaks, axes = peaks[: (5, 2, 1)[dim - 1]], []
    points = [centre + s * scale for centre, scale in peaks for s in (-8.0, 0.0, 8.0)]
    points = np.clip(points, *place.bounds.T)
    for cuts in np.clip(place.inverse(points), 0.0, 1.0).T:
        cuts = np.unique([0.0, *cuts, 1.0])
        cuts = cuts[np.append(True, np.diff(cuts) > 1e-9)]
        axes.append(np.append(cuts[cuts < 1.0 - 1e-9], 1.0))
    low = np.stack(np.meshgrid(*[a[:-1] for a in axes], indexing="ij"), axis=-1).reshape(-1, dim)
    high = np.stack(np.meshgrid(*[a[1:] for a in axes], indexing="ij"), axis=-1).reshape(-1, dim)
    return low, high
