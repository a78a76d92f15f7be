"""What every algorithm returns: an approximation of the posterior that answers expectations."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy import linalg

from . import diagnostics
from .errors import BayeslibError, ZeroWeightsError
from .rows import apply_rows
from .summary import Summary, weighted_quantiles
from .validate import as_count, as_covariance, as_floats, as_rng, check_finite

_SUMMARY_PROBABILITIES = (0.05, 0.5, 0.95)


@dataclass(frozen=True)
class Estimate:
    """A number that knows its Monte Carlo error.

    Parameters
    ----------
    value : float or numpy.ndarray
        The estimate, in the units of the quantity.
    mcse : float or numpy.ndarray
        Its Monte Carlo standard error, same shape; nan where it is unknown.
    num_evals : int
        Evaluations of the log density (or of the integrand) that it cost.

    Notes
    -----
    Printing shows the error to two significant digits and the value no further.
    """

    value: float | np.ndarray
    mcse: float | np.ndarray
    num_evals: int = 0

    def z(self, truth):
        """How many standard errors the estimate lies above `truth`."""
        difference, mcse = np.asarray(self.value) - truth, np.asarray(self.mcse)
        with np.errstate(divide="ignore", invalid="ignore"):  # an exact value has no error
            return np.where((difference == 0.0) & (mcse == 0.0), 0.0, difference / mcse)[()]

    def __float__(self):
        return float(np.asarray(self.value).item())

    def __str__(self):
        values, errors = np.broadcast_arrays(np.asarray(self.value), np.asarray(self.mcse))
        if values.ndim == 0:
            return _with_error(float(values), float(errors))
        inner = ", ".join(
            _with_error(float(v), float(e))
            for v, e in zip(values.ravel(), errors.ravel(), strict=True)
        )
        return f"[{inner}]"

    def __repr__(self):
        return f"Estimate({self}, num_evals={self.num_evals})"

    def __format__(self, spec):
        return str(self) if not spec else format(float(self), spec)


def _with_error(value, error):
    if not (np.isfinite(value) and np.isfinite(error)):
        return f"{value:.6g} ± {error:.2g}"
    if error == 0.0:
        return f"{value:.6g} ± 0"
    decimals = 1 - int(np.floor(np.log10(error)))
    shown = max(decimals, 0)
    return f"{round(value, decimals):.{shown}f} ± {round(error, decimals):.{shown}f}"


@dataclass(frozen=True, repr=False)
class Draws:
    """Draws from the posterior, weighted or not, in one or several chains.

    Parameters
    ----------
    values : array, shape (num_chains, num_samples, dim)
    logdensity : array, shape (num_chains, num_samples), optional
        The unnormalised log density of the target at each draw.
    log_weights : array, shape (num_chains, num_samples), optional
        Unnormalised log importance weights; None when every draw counts the same.
    stats : dict of arrays, shape (num_chains, num_samples)
        By ArviZ's names: acceptance_rate, diverging, energy, …
    num_evals : int
        Evaluations of the density (one with its gradient counts once), warm-up included.
    method : str
        The name of the function that drew them.
    settings : dict
        What it was asked for and what it settled on, the seed included.
    names : sequence of str, optional
        One a dimension.
    log_evidence : Estimate, optional
        The logarithm of the target's integral, where the method estimates it.
    independent : bool
        True when the draws are independent of each other, as chains' are not.

    Raises
    ------
    BayeslibError
        When shapes disagree.
    """

    values: np.ndarray
    logdensity: np.ndarray | None = None
    log_weights: np.ndarray | None = None
    stats: dict = field(default_factory=dict)
    num_evals: int = 0
    method: str = ""
    settings: dict = field(default_factory=dict)
    names: tuple = ()
    log_evidence: Estimate | None = None
    independent: bool = False

    def __post_init__(self):
        values = np.asarray(self.values, dtype=float)
        if values.ndim != 3:
            raise BayeslibError(
                f"values must have shape (num_chains, num_samples, dim), got {values.shape}"
            )
        for name in ("logdensity", "log_weights"):
            array = getattr(self, name)
            if array is not None and np.shape(array) != values.shape[:2]:
                raise BayeslibError(
                    f"{name} must have shape {values.shape[:2]}, got {np.shape(array)}"
                )
        names = tuple(self.names) or default_names(values.shape[2])
        if len(names) != values.shape[2]:
            raise BayeslibError(f"{len(names)} names for {values.shape[2]} dimensions: {names}")
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "names", names)

    @property
    def num_chains(self):
        return self.values.shape[0]

    @property
    def num_samples(self):
        """Draws a chain."""
        return self.values.shape[1]

    @property
    def dim(self):
        return self.values.shape[2]

    @property
    def flat(self):
        """All draws in one array, chain after chain, shape (num_chains * num_samples, dim)."""
        return self.values.reshape(-1, self.dim)

    @property
    def weights(self):
        """Normalised weights of `flat`, shape (num_chains * num_samples,), summing to 1."""
        self._check_some()
        if self.log_weights is None:
            size = self.num_chains * self.num_samples
            return np.full(size, 1.0 / size)
        log_weights = np.ravel(self.log_weights)
        if log_weights.max() == -np.inf:
            raise ZeroWeightsError(f"all {log_weights.size} weights are zero: nothing to average")
        weights = np.exp(log_weights - log_weights.max())
        return weights / weights.sum()

    def _check_some(self):
        if self.num_chains * self.num_samples == 0:
            raise BayeslibError(
                f"there are no draws, values has shape {self.values.shape}: nothing to average"
            )

    def __getitem__(self, name):
        """The draws of one named dimension, shape (num_chains, num_samples)."""
        if name not in self.names:
            raise BayeslibError(f"no dimension is named {name!r}; there are {self.names}")
        return self.values[:, :, self.names.index(name)]

    def expect(self, f=None):
        """Estimate the posterior expectation of `f`.

        Parameters
        ----------
        f : callable, optional
            Takes all draws at once, shape (n, dim), and returns (n,) or (n, k), which is fast;
            or takes one draw, shape (dim,), and returns a number or k numbers. The default is the
            identity: the posterior mean.

        Returns
        -------
        Estimate
            value and mcse are floats for an `f` that returns (n,), else shape (k,).
            The error is that of independent draws, of weighted ones (delta method),
            or of chains (through the effective sample size of `f` itself).

        Raises
        ------
        BayeslibError
            When there are no draws, or `f` does not return a number or a vector of numbers for
            one; ZeroWeightsError when every weight is zero.
        """
        self._check_some()
        results = self.flat if f is None else apply_rows(f, self.flat).astype(float)
        if self.log_weights is not None:
            weights = self.weights
            value = weights @ results
            error = np.sqrt(np.square(weights) @ np.square(results - value))
        else:
            value = results.mean(axis=0)
            if self.independent:
                spread = results.std(axis=0, ddof=1) if len(results) > 1 else np.nan * value
                error = spread / np.sqrt(len(results))
            else:
                shape = (self.num_chains, self.num_samples)
                error = diagnostics.mcse(results.reshape(shape + results.shape[1:]))
        if results.ndim == 1:
            value, error = float(value), float(error)
        return Estimate(value, error, self.num_evals)

    def sample(self, num_samples, rng):
        """Draw with replacement from the approximation.

        Parameters
        ----------
        num_samples : int
        rng : int, Generator, SeedSequence or None

        Returns
        -------
        numpy.ndarray, shape (num_samples, dim)
            One integer (or one uniform for weighted draws) is consumed for each.
        """
        self._check_some()
        num_samples = as_count(num_samples, "num_samples")
        rng, _ = as_rng(rng)
        size = len(self.flat)
        if self.log_weights is None:
            return self.flat[rng.integers(size, size=num_samples)]
        return self.flat[rng.choice(size, size=num_samples, p=self.weights)]

    @property
    def problems(self):
        """Why these draws are not to be trusted as they stand, tuple of str."""
        from .trouble import find_problems

        return find_problems(self)

    def summary(self):
        """Marginal means, errors, quantiles and diagnostics.

        Returns
        -------
        Summary
            Prints in a terminal, renders in a notebook, and lists the problems found.
        """
        weights = self.weights
        columns = ["mean", "mcse", "sd", *(f"{100 * p:g}%" for p in _SUMMARY_PROBABILITIES)]
        mean = self.expect()
        spread = np.sqrt(weights @ np.square(self.flat - mean.value))
        table = [mean.value, mean.mcse, spread]
        table += list(weighted_quantiles(self.flat, weights, _SUMMARY_PROBABILITIES))
        if self.log_weights is not None or self.independent:
            columns.append("ess")
            table.append(np.full(self.dim, 1.0 / np.square(weights).sum()))
        else:
            columns += ["ess_bulk", "ess_tail", "rhat"]
            table += [diagnostics.ess(self), diagnostics.ess(self, kind="tail")]
            table.append(diagnostics.rhat(self))
        rows = {
            name: tuple(float(column[i]) for column in table) for i, name in enumerate(self.names)
        }
        title = f"{self.method or 'draws'}: {self.num_chains} × {self.num_samples} draws"
        title += f", {self.num_evals:,} evaluations"
        if "acceptance" in self.settings:
            title += f", acceptance {self.settings['acceptance']:.3g}"
        if "khat" in self.settings:
            title += f", k-hat {self.settings['khat']:.2g}"
        return Summary(title, tuple(columns), rows, self.problems)

    def __repr__(self):
        return (
            f"Draws({self.method}, num_chains={self.num_chains}, "
            f"num_samples={self.num_samples}, dim={self.dim}, num_evals={self.num_evals})"
        )

    def _repr_html_(self):
        return self.summary()._repr_html_()


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
        columns = ("mean", "sd", *(f"{100 * p:g}%" for p in _SUMMARY_PROBABILITIES))
        rows = {
            name: (m, s, *norm.ppf(_SUMMARY_PROBABILITIES, m, s))
            for name, m, s in zip(self.names, self.mean, sd, strict=True)
        }
        return Summary(
            f"{self.method or 'Gaussian'}, {self.num_evals:,} evaluations", columns, rows
        )

    def __repr__(self):
        return f"Gaussian({self.method}, dim={self.dim}, num_evals={self.num_evals})"

    def _repr_html_(self):
        return self.summary()._repr_html_()


def default_names(dim):
    """Names of unnamed dimensions: theta, or theta[0], theta[1], …"""
    return ("theta",) if dim == 1 else tuple(f"theta[{i}]" for i in range(dim))
