"""A Gaussian approximation of the posterior."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from ..errors import BayeslibError
from ..summary import PROBABILITIES, Summary
from ..validate import as_count, as_covariance, as_floats, as_rng, check_finite
from .draws import Draws, default_names
from .estimate import Estimate
from .files import write


@dataclass(frozen=True, repr=False)
class Gaussian:
    """A Gaussian approximation of the posterior.

    Parameters
    ----------
    mean : array, shape (dim,)
    cov : array, shape (dim, dim)
        Symmetric positive definite.
    log_evidence : Estimate, optional
    elbo_trace : array, optional
        The evidence lower bound as the fit went, where it was fitted that way.
    names : sequence of str, optional
    num_evals : int
    method : str

    Raises
    ------
    BayeslibError
        When `cov` is not a covariance matrix of the size of `mean`.
    """

    mean: np.ndarray
    cov: np.ndarray
    log_evidence: Estimate | None = None
    elbo_trace: np.ndarray | None = None
    names: tuple = ()
    num_evals: int = 0
    method: str = ""

    def __post_init__(self):
        from scipy import linalg

        mean = np.atleast_1d(as_floats(self.mean, "mean"))
        if mean.ndim != 1:
            raise BayeslibError(f"mean must have shape (dim,), got {mean.shape}")
        check_finite(mean, "mean")
        object.__setattr__(self, "mean", mean)
        object.__setattr__(self, "cov", as_covariance(self.cov, "cov", mean.size))
        object.__setattr__(self, "names", tuple(self.names) or default_names(mean.size))
        object.__setattr__(self, "_cholesky", linalg.cholesky(self.cov, lower=True))

    @property
    def dim(self):
        return self.mean.size

    def logdensity(self, x):
        """Normalised log density at x, shape (dim,) -> float or (n, dim) -> (n,).

        When dim is 1, a number and (n,) numbers too.
        """
        from scipy import linalg

        x = np.asarray(x, dtype=float)
        if self.dim == 1 and x.shape != (1,) and x.ndim < 2:
            x = x[..., None]
        if x.shape[-1:] != (self.dim,) or x.ndim > 2:
            raise BayeslibError(
                f"x must have shape ({self.dim},) or (n, {self.dim}), got {x.shape}"
            )
        z = linalg.solve_triangular(self._cholesky, np.atleast_2d(x - self.mean).T, lower=True)
        log_scale = np.log(np.diag(self._cholesky)).sum() + 0.5 * self.dim * np.log(2.0 * np.pi)
        result = -0.5 * np.square(z).sum(axis=0) - log_scale
        return float(result[0]) if x.ndim == 1 else result

    def sample(self, num_samples, rng):
        """Draw exactly: num_samples × dim standard normals in C order, then the Cholesky factor.

        Parameters
        ----------
        num_samples : int
        rng : int, Generator, SeedSequence or None

        Returns
        -------
        numpy.ndarray, shape (num_samples, dim)
        """
        num_samples = as_count(num_samples, "num_samples")
        rng, _ = as_rng(rng)
        return self.mean + rng.standard_normal((num_samples, self.dim)) @ self._cholesky.T

    def expect(self, f=None, *, num_samples=10_000, rng=0):
        """Estimate the expectation of `f` under the approximation.

        Parameters
        ----------
        f : callable, optional
            As in `Draws.expect`. None returns the mean, exactly.
        num_samples : int
            Draws to average over when `f` is given.
        rng : int, Generator, SeedSequence or None

        Returns
        -------
        Estimate
            Its error is that of the averaging, not that of the approximation.
        """
        if f is None:
            return Estimate(self.mean, np.zeros(self.dim), self.num_evals)
        draws = Draws(self.sample(num_samples, rng)[None], independent=True)
        estimate = draws.expect(f)
        return Estimate(estimate.value, estimate.mcse, self.num_evals)

    def summary(self):
        """Means, standard deviations and quantiles of the marginals, as a `Summary`."""
        from scipy.stats import norm

        sd = np.sqrt(np.diag(self.cov))
        columns = ("mean", "sd", *(f"{100 * p:g}%" for p in PROBABILITIES))
        rows = {
            name: (m, s, *norm.ppf(PROBABILITIES, m, s))
            for name, m, s in zip(self.names, self.mean, sd, strict=True)
        }
        return Summary(
            f"{self.method or 'Gaussian'}, {self.num_evals:,} evaluations", columns, rows
        )

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
        """
        return write(path, "Gaussian", {f.name: getattr(self, f.name) for f in fields(self)})

    def __repr__(self):
        return f"Gaussian({self.method}, dim={self.dim}, num_evals={self.num_evals})"

    def _repr_html_(self):
        return self.summary()._repr_html_()
