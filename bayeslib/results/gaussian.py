"""A Gaussian approximation of the posterior."""

from dataclasses import dataclass, field

import numpy as np
import scipy

from ..errors import BayeslibError, BayeslibTypeError
from ..validate import as_count, as_covariance, as_floats, as_position, as_rng, check_memory
from .coordinates import Transform, as_transform
from .draws import Draws
from .estimate import Estimate
from .files import write
from .named import as_names
from .summary import PROBABILITIES, QUANTILES, Summarised, tabulate

LOG_2PI = float(np.log(2.0 * np.pi))
_NUM_DRAWS = 10_000  # for moments that no formula gives


@dataclass(frozen=True, repr=False)
class Gaussian(Summarised):
    """A Gaussian approximation of the posterior, of the parameters or of unconstrained coordinates.

    With a `transform` it is the coordinates x, as `unconstrained` makes them, that are Gaussian:
    `mean`, `cov`, `scale`, `entropy` and `kl` are those of x. All the rest speaks of the parameters
    theta.

    Parameters
    ----------
    mean : array, shape (k,)
        Of the k coordinates: as many as parameters, or fewer where some are tied together.
    cov : array, shape (k, k)
        Symmetric positive definite; or its diagonal, (k,), or one variance for every dimension.
    log_evidence : Estimate, optional
    elbo_trace : array, optional
        The evidence lower bound as the fit went, where it was fitted that way.
    names : sequence of str, optional
        Of the parameters.
    num_evals : int
        Evaluations of the log density that the fit took.
    method : str
        The name of the function that made it.
    transform : Transform, or its support, optional
        None when the parameters themselves are Gaussian.
    elbo : Estimate, optional
        The evidence lower bound of this approximation.
    settings : dict
        What the method was asked for and what it settled on; "seed" as in `Draws`.
    problems : tuple of str
        Why the approximation is not to be trusted as it stands; empty when nothing was found.

    Attributes
    ----------
    scale : numpy.ndarray, shape (k, k)
        The lower Cholesky factor of `cov`.

    Raises
    ------
    BayeslibError
        When `cov` is not a covariance matrix of the size of `mean`, or names or `transform` are of
        another size.

    Examples
    --------
    >>> q = bl.Gaussian([0.0, 1.0], [[1.0, 0.5], [0.5, 2.0]], names=["a", "b"])
    >>> print(q.summary())
    Gaussian, 0 evaluations
       mean     sd      5%  50%    95%
    a     0      1  -1.645    0  1.645
    b     1  1.414  -1.326    1  3.326
    >>> lognormal = bl.Gaussian([0.0], [[1.0]], transform=(0.0, None))
    >>> print(lognormal.mean, lognormal.expect(), np.exp(0.5).round(5))
    [0.] [1.64872 ± 0] 1.64872
    """

    mean: np.ndarray
    cov: np.ndarray
    log_evidence: Estimate | None = None
    elbo_trace: np.ndarray | None = None
    names: tuple = ()
    num_evals: int = 0
    method: str = ""
    transform: Transform | None = None
    elbo: Estimate | None = None
    settings: dict = field(default_factory=dict)
    problems: tuple = ()

    def __post_init__(self):
        mean = as_floats(self.mean, "mean")
        mean = as_position(mean, "mean", max(mean.size, 1))
        space = as_transform(self.transform, mean.size)
        if space.dim != mean.size:
            raise BayeslibError(f"transform is of {space.dim} dimensions, mean has {mean.size}")
        names = as_names(self.names, space.size)
        cov = as_covariance(self.cov, "cov", mean.size)
        vars(self).update(
            mean=mean, cov=cov, names=names, problems=tuple(self.problems),
            transform=None if space.is_identity else space, scale=np.linalg.cholesky(cov),
            _map=space,
        )  # fmt: skip

    @property
    def dim(self):
        """The number of parameters."""
        return len(self.names)

    @property
    def base(self):
        """The Gaussian of the coordinates x alone, as a `Gaussian` without transform."""
        return Gaussian(self.mean, self.cov, names=self._map.names(self.names), method=self.method)

    @property
    def entropy(self):
        """-E[log q], in nats; with a transform, that of x."""
        log_scale = np.log(np.diag(self.scale)).sum()
        return float(log_scale + 0.5 * self.mean.size * (1.0 + LOG_2PI))

    def kl(self, other):
        """The Kullback-Leibler divergence KL(self || other), exact, in nats.

        Parameters
        ----------
        other : Gaussian
            In the same coordinates.

        Returns
        -------
        float

        Raises
        ------
        BayeslibError
            When the two are not of the same coordinates.

        Examples
        --------
        >>> narrow, wide = bl.Gaussian([0.0], [[1.0]]), bl.Gaussian([0.0], [[4.0]])
        >>> print(f"{narrow.kl(wide):.3f} {wide.kl(narrow):.3f}")
        0.318 0.807
        """
        if not isinstance(other, Gaussian):
            raise BayeslibTypeError(f"other must be a Gaussian, got {other!r}")
        if other.mean.size != self.mean.size or other.transform != self.transform:
            raise BayeslibError(f"other is of {other._map}, not {self._map}: compare draws")
        ratio = scipy.linalg.solve_triangular(other.scale, self.scale, lower=True)
        shift = scipy.linalg.solve_triangular(other.scale, self.mean - other.mean, lower=True)
        log_ratio = np.log(np.abs(np.diag(ratio))).sum()
        return float(0.5 * (np.sum(ratio**2) + shift @ shift - self.mean.size) - log_ratio)

    def logdensity(self, x):
        """Normalised log density at x, shape (dim,) -> float or (n, dim) -> (n,).

        Here x is always a point of the parameters; when dim is 1, also a number or (n,) numbers.
        With a transform the Jacobian is included. The result is -inf outside the support and at
        infinity, nan at nan.

        Examples
        --------
        >>> lognormal = bl.Gaussian([0.0], [[1.0]], transform=(0.0, None))
        >>> print(lognormal.logdensity([-1.0, 1.0]).round(4))
        [   -inf -0.9189]
        """
        x = as_floats(x, "x")
        if self.dim == 1 and x.shape != (1,) and x.ndim < 2:
            x = x[..., None]
        if x.shape[-1:] != (self.dim,) or x.ndim > 2:
            rule = f"({self.dim},) or (n, {self.dim})"
            raise BayeslibError(f"x must have shape {rule}, got {x.shape}")
        if any(kind == "unit_vector" for kind, _, _ in self._map.blocks):
            raise BayeslibError("a unit_vector has one coordinate more: take fit.base.logdensity")
        rows = np.atleast_2d(x)
        result = np.where(np.isnan(rows).any(axis=1), np.nan, -np.inf)
        inside = np.isfinite(rows).all(axis=1) & self._map.inside(rows)
        place = self._map.unconstrain(rows[inside])
        z = scipy.linalg.solve_triangular(self.scale, (place - self.mean).T, lower=True)
        log_scale = np.log(np.diag(self.scale)).sum() + 0.5 * self.mean.size * LOG_2PI
        log_normal = -0.5 * np.square(z).sum(axis=0) - log_scale
        result[inside] = log_normal - self._map.log_jacobian(place)
        return float(result[0]) if x.ndim == 1 else result

    def sample(self, num_samples, rng):
        """Draw parameters from the approximation, independently.

        Draw order: num_samples × k standard normals, row by row, which the Cholesky factor makes
        coordinates, and a transform parameters.

        Parameters
        ----------
        num_samples : int
        rng : int, Generator, SeedSequence or None

        Returns
        -------
        numpy.ndarray, shape (num_samples, dim)

        Examples
        --------
        >>> q = bl.Gaussian([0.0, 1.0], [[1.0, 0.5], [0.5, 2.0]])
        >>> draws = q.sample(100_000, rng=1)
        >>> print(np.cov(draws.T).round(2))
        [[1.  0.5]
         [0.5 2. ]]
        """
        num_samples = as_count(num_samples, "num_samples")
        check_memory((num_samples, 2 * self.dim), "the draws")
        rng, _ = as_rng(rng)
        x = self.mean + rng.standard_normal((num_samples, self.mean.size)) @ self.scale.T
        return self._map.constrain(x)

    def expect(self, f=None, *, num_samples=10_000, rng=0):
        """Estimate the expectation of `f` under the approximation.

        Parameters
        ----------
        f : callable, optional
            As in `Draws.expect`, of the parameters. None returns their mean: by a formula; between
            two bounds by quadrature; from 10,000 draws where some are tied together.
        num_samples : int
            Draws to average over when `f` is given.
        rng : int, Generator, SeedSequence or None
            The default takes the same draws each time.

        Returns
        -------
        Estimate
            Its error is that of the averaging, not that of the approximation.

        Examples
        --------
        >>> lognormal = bl.Gaussian([0.0], [[1.0]], transform=(0.0, None))
        >>> print(lognormal.expect())  # exact for the fit, however far the posterior
        [1.64872 ± 0]
        >>> print(lognormal.expect(lambda theta: theta[:, 0] > 1.0, rng=1))
        0.4955 ± 0.0050
        """
        if f is None:
            mean, sd = self._moments()
            error = np.where(self._map.monotone, 0.0, sd / np.sqrt(_NUM_DRAWS))
            return Estimate(mean, error, self.num_evals)
        values = self.sample(num_samples, rng)[None]
        draws = Draws(values, num_evals=self.num_evals, names=self.names, independent=True)
        return draws.expect(f)

    def _moments(self):
        """Means and standard deviations of the parameters."""
        at, spread = self.mean, np.sqrt(np.diag(self.cov))
        mean, sd = np.empty((2, self.dim))
        joint = ~self._map.monotone
        if joint.any():
            draws = self.sample(_NUM_DRAWS, 0)[:, joint]
            mean[joint], sd[joint] = draws.mean(axis=0), draws.std(axis=0)
        for i, c in zip(*self._map.alone, strict=True):
            low, high = self._map.support[i]
            mean[i], sd[i] = at[c], spread[c]
            if np.isfinite(low) and np.isfinite(high):
                # a sum at even distances, finer than the logistic function's rise
                z = np.linspace(-9.0, 9.0, int(min(100.0 + 40.0 * sd[i], 1e5)))
                weights = np.exp(-0.5 * z**2)
                weights /= weights.sum()
                theta = low + (high - low) * scipy.special.expit(at[c] + sd[i] * z)
                mean[i] = weights @ theta
                sd[i] = np.sqrt(weights @ np.square(theta - mean[i]))
            elif np.isfinite(low) or np.isfinite(high):
                with np.errstate(over="ignore"):
                    distance = np.exp(mean[i] + 0.5 * sd[i] ** 2)
                    sd[i] = distance * np.sqrt(np.expm1(sd[i] ** 2))
                mean[i] = low + distance if np.isfinite(low) else high - distance
        return mean, sd

    def _quantile(self, p):
        """Marginal quantiles of the parameters, (dim,)."""
        x = scipy.stats.norm.ppf([[p], [1.0 - p]], self.mean, np.sqrt(np.diag(self.cov)))
        ends, joint = self._map.constrain(x), ~self._map.monotone
        theta = ends.min(axis=0) if p < 0.5 else ends.max(axis=0)  # where x falls as theta rises
        if joint.any():
            theta[joint] = np.quantile(self.sample(_NUM_DRAWS, 0)[:, joint], p, axis=0)
        return theta

    def summary(self):
        """Means, standard deviations and quantiles of the marginals, as a `Summary`.

        Examples
        --------
        >>> q = bl.Gaussian([0.0], [[1.0]], transform=(0.0, 1.0), names=["p"])
        >>> print(q.summary())
        Gaussian, 0 evaluations
           mean      sd      5%  50%     95%
        p   0.5  0.2083  0.1618  0.5  0.8382
        """
        numbers = [*self._moments(), *map(self._quantile, PROBABILITIES)]
        title = f"{self.method or 'Gaussian'}, {self.num_evals:,} evaluations"
        if self.elbo is not None:
            title += f", ELBO {self.elbo}"
        if "khat" in self.settings:
            title += f", k-hat {self.settings['khat']:.2g}"
        table = dict(zip(("mean", "sd", *QUANTILES), numbers, strict=True))
        return tabulate(title, table, self.names, self.problems)

    def save(self, path):
        """Save to a file, from which `load` makes the same approximation again.

        Parameters
        ----------
        path : str or path-like
            As in `Draws.save`.

        Returns
        -------
        pathlib.Path
            The file written.

        Examples
        --------
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> q = bl.Gaussian([0.0, 1.0], [[1.0, 0.5], [0.5, 2.0]])
        >>> with TemporaryDirectory() as folder:
        ...     again = bl.load(q.save(Path(folder) / "fit"))
        >>> print(again.kl(q))
        0.0
        """
        return write(path, self)

    def __repr__(self):
        method = f"{self.method}, " if self.method else ""
        return f"Gaussian({method}dim={self.dim}, num_evals={self.num_evals})"
