"""Posteriors as weighted points that fill the space: the result class, and the plain grid."""

from dataclasses import dataclass, field

import numpy as np
import scipy

from ..errors import BayeslibError, TargetError, warn
from ..results import Estimate
from ..results.named import named
from ..results.rows import apply_rows
from ..results.summary import PROBABILITIES, QUANTILES, Summarised, tabulate
from ..target.target import as_separate
from ..validate import as_count, as_one_each, as_pairs, as_real, as_rng, blame, check_memory, shown


@dataclass(frozen=True, repr=False)
class Grid(Summarised):
    """A density known at points, each of which stands for a cell around it.

    Attributes
    ----------
    points : numpy.ndarray, shape (n, dim)
    weights : numpy.ndarray, shape (n,)
        Posterior mass of each point's cell; sums to 1.
    log_evidence : Estimate
        Its error, as that of `expect`, is the difference from a coarser rule, which uses some of
        the points: not random, and usually much larger than the true error.
    num_evals : int
        Evaluations of the log density.
    method : str
        "grid_posterior" or "quadrature".
    names : tuple of str
    settings : dict
        What was asked for; of `quadrature` also the relative error of the evidence reached.
    coarse : numpy.ndarray, shape (n,)
        Mass of each point's cell by the coarser rule.
    blocks : int
        The points come in this many equal blocks, over which absolute differences are summed.
    cells : numpy.ndarray, shape (2, n, dim)
        Lower and upper corner of the cells, in the coordinates that `place` maps to the points'.
    place : callable
        place(t (n, dim)) -> (n, dim): the map from the coordinates of the cells to parameters.

    Examples
    --------
    >>> target = bl.posteriors.banana()
    >>> grid = bl.grid_posterior(target, [(-5, 5), (-4, 24)], num_points=200)
    >>> grid
    Grid(grid_posterior, 40000 points, dim=2)
    >>> print(np.diag(grid.cov).round(2), np.diag(target.truth.cov).round(2))
    [1.   2.25] [1.   2.25]
    >>> grid.sample(10, rng=1).shape
    (10, 2)
    """

    points: np.ndarray
    weights: np.ndarray
    coarse: np.ndarray
    blocks: int
    cells: np.ndarray
    place: object
    log_evidence: Estimate
    num_evals: int
    method: str
    names: tuple
    settings: dict = field(default_factory=dict)

    @property
    def dim(self):
        """The number of parameters."""
        return self.points.shape[1]

    @property
    def mean(self):
        """Posterior mean, shape (dim,)."""
        return self.weights @ self.points

    @property
    def cov(self):
        """Posterior covariance, shape (dim, dim)."""
        centred = self.points - self.mean
        return (self.weights[:, None] * centred).T @ centred

    def expect(self, f=None):
        """The posterior expectation of `f`, with the error of the rule.

        Parameters
        ----------
        f : callable, optional
            Takes all points at once, (n, dim), returns (n,) or (n, k); or takes one, (dim,), and
            returns a number or k numbers; see `Draws.expect`. None is the mean.

        Returns
        -------
        Estimate
            Floats for an `f` of shape (n,), arrays (k,) else.
        """
        results = self.points
        if f is not None:
            results = apply_rows(f, named(results, self.names)).astype(float)
        used = (self.weights > 0.0) | (self.coarse > 0.0)
        results = np.where(used.reshape(-1, *[1] * (results.ndim - 1)), results, 0.0)
        value = self.weights @ results
        error = rule_error(results - value, self.weights - self.coarse, self.blocks)
        return Estimate(value, error, self.num_evals)

    def sample(self, num_samples, rng):
        """Draw a cell by its mass and a place in it uniformly, (num_samples, dim).

        The draws follow a density that is constant in each cell. Draw order:
        ``rng.choice(n, size=num_samples, p=weights)``, then ``rng.random((num_samples, dim))``.
        """
        num_samples = as_count(num_samples, "num_samples")
        rng, _ = as_rng(rng)
        index = rng.choice(self.weights.size, size=num_samples, p=self.weights)
        low, high = self.cells[0, index], self.cells[1, index]
        return self.place(low + (high - low) * rng.random((num_samples, self.dim)))

    def quantile(self, probability):
        """Marginal quantiles of the density that is constant in each cell, shape (dim,)."""
        probability, found = as_real(probability, "probability", minimum=0, maximum=1), []

        def excess(t, low, width):
            return self.weights @ np.clip((t - low) / width, 0.0, 1.0) - probability

        for low, high in np.moveaxis(self.cells, 2, 0):
            width, t = np.maximum(high - low, 1e-290), high.max()  # one may be lost in rounding
            if excess(t, low, width) > 0.0:
                tiny = 1e-9 * width.min()
                t = scipy.optimize.brentq(excess, low.min(), t, (low, width), tiny, maxiter=1000)
            found.append(t)
        return self.place(np.array([found]))[0]

    def summary(self):
        """Means, standard deviations and quantiles of the marginals, as a `Summary`."""
        mean = self.expect()
        table = {"mean": mean.value, "error": mean.mcse, "sd": np.sqrt(np.diag(self.cov))}
        table |= zip(QUANTILES, map(self.quantile, PROBABILITIES), strict=True)
        title = f"{self.method}: {self.weights.size:,} points, {self.num_evals:,} evaluations"
        return tabulate(title, table, self.names)

    def __repr__(self):
        return f"Grid({self.method}, {self.weights.size} points, dim={self.dim})"


def rule_error(results, difference, blocks):
    """Sum over blocks of the absolute difference of two rules: (n,) -> float, (n, k) -> (k,)."""
    terms = difference.reshape(-1, *[1] * (results.ndim - 1)) * results
    return np.abs(terms.reshape(blocks, -1, *results.shape[1:]).sum(axis=1)).sum(axis=0)


def every_second(n):
    """Return how many of `n` cells each point stands for if only every second one counts."""
    cells = np.zeros(n)
    cells[::2] = np.diff([0.0, *np.arange(1.5, n - 0.5, 2.0), n])
    return cells


def grid_posterior(target, bounds=None, *, num_points):
    """Evaluate the posterior on a regular grid.

    Parameters
    ----------
    target : Target
    bounds : sequence of dim pairs (low, high), finite; or one pair for dim = 1
        What lies outside is treated as impossible. None takes the target's support.
    num_points : int or sequence of dim int
        Points along each axis, at least 2: the centres of that many equal cells.

    Returns
    -------
    Grid
        As many points as the product of `num_points` over the axes. Its errors compare the sum over
        all points with that over every second one along each axis, in cells twice as wide; they do
        not count mass outside the bounds.

    Raises
    ------
    BayeslibError
        When the bounds are not finite or the density is zero at every point.
    TargetError
        When the log density is nan or +inf at a point.

    Warns
    -----
    BayeslibWarning
        When more than nine tenths of the mass lie in one cell along an axis.

    Examples
    --------
    >>> target = bl.posteriors.coin(8, 2)  # its support is (0, 1)
    >>> grid = bl.grid_posterior(target, num_points=200)
    >>> print(grid.mean.round(4), target.truth.mean.round(4))
    [0.75] [0.75]
    >>> print(grid.expect(lambda p: p[:, 0] > 0.5))
    0.9673 ± 0.0012
    """
    bounds = as_bounds(bounds, as_separate(target, "grid_posterior"))
    if not (np.abs(bounds) < 1e300).all():  # whose differences are no numbers, beyond
        rule = "a grid needs finite bounds, below 1e300"
        raise BayeslibError(f"{rule}, got {bounds.tolist()}; or use quadrature")
    counts = as_one_each(num_points, "num_points", target.dim).tolist()
    counts = [as_count(n, "num_points", minimum=2) for n in counts]
    check_memory((np.prod(counts, dtype=float), 4 * target.dim + 3), "the grid")
    steps = (bounds[:, 1] - bounds[:, 0]) / counts
    index = np.indices(counts).reshape(target.dim, -1).T.copy()
    low = bounds[:, 0] + index * steps
    points = low + 0.5 * steps
    logdensity = evaluate(target, points)
    shift = logdensity.max()
    if shift == -np.inf:
        words = f"the density is zero at all {len(points)} points of the grid: it lies elsewhere, "
        raise BayeslibError(blame(target, words + "or between them"))
    mass = np.exp(logdensity - shift)
    total = mass.sum()
    coarse = mass / total
    for name, n, place in zip(target.names, counts, index.T, strict=True):
        coarse *= every_second(n)[place]
        share = np.bincount(place, mass).max() / total
        if share > 0.9:  # of a Gaussian a third as wide as its cell, or less
            said = f"one of {n} cells along {name} holds {100.0 * share:.3g} % of the mass"
            warn(f"{said}, and its inside is not known: narrow the bounds, or raise num_points")
    log_evidence = shift + np.log(total * np.prod(steps))
    return Grid(
        points=points, weights=mass / total, coarse=coarse, blocks=1,
        cells=np.stack([low, low + steps]), place=np.asarray,
        log_evidence=Estimate(log_evidence, abs(coarse.sum() - 1.0), len(points)),
        num_evals=len(points), method="grid_posterior", names=target.names,
        settings={"bounds": bounds.tolist(), "num_points": counts},
    )  # fmt: skip


def as_bounds(bounds, target):
    """Return bounds as an array (dim, 2); None is the target's support, or the whole space."""
    if bounds is None:
        bounds = target.support or (None,) * target.dim
    return as_pairs(bounds, "bounds", target.dim)


def evaluate(target, points, *, forgive_nan=False):
    """The log density at points (n, dim): never +inf, and nan only where that counts as -inf."""
    values = target.many(points)
    if forgive_nan:
        values = np.where(np.isnan(values), -np.inf, values)
    bad = np.flatnonzero(~(values < np.inf))  # nan too
    if bad.size:
        words = f"the log density is {values[bad[0]]} at theta={shown(points[bad[0]])}"
        raise TargetError(blame(target, words))
    return values
