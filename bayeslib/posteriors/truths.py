"""Exact answers for the book's posteriors: quadrature on the line and Gaussian mixtures."""

import numpy as np
from scipy import special

from ..target.truth import Quantiles, Truth

PROBABILITIES = (0.025, 0.05, 0.25, 0.5, 0.75, 0.95, 0.975)
_ROWS = np.array(PROBABILITIES)[:, None]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)


def by_probability(rows):
    """Return {probability: row} for one row of marginal quantiles a probability."""
    return dict(zip(PROBABILITIES, rows, strict=True))


def drawn(draw, *known):
    """Return `draw(*known, num_samples, generator)` as a function of num_samples and any seed."""
    return lambda num_samples, rng: draw(*known, num_samples, np.random.default_rng(rng))


def panels(edges):
    """Gauss-Legendre nodes and weights, 16 in each panel between consecutive `edges`.

    Parameters
    ----------
    edges : array, shape (k + 1,)
        Increasing and finite.

    Returns
    -------
    nodes, weights : numpy.ndarray, shape (k, 16)
    """
    half = 0.5 * np.diff(edges)[:, None]
    return edges[:-1, None] + half * (1.0 + _NODES), half * _WEIGHTS


class Line:
    """A density on an interval, known by quadrature to about 14 digits.

    Parameters
    ----------
    logdensity : callable
        Unnormalised, vectorised.
    edges : array, shape (k + 1,)
        Panels so narrow that the density is a polynomial of degree 31 in each, to rounding;
        outside them it must be negligible.
    """

    def __init__(self, logdensity, edges):
        self.edges = np.asarray(edges, dtype=float)
        self._logdensity = logdensity
        nodes, weights = panels(self.edges)
        values = logdensity(nodes)
        shift = values.max()
        masses = np.sum(weights * np.exp(values - shift), axis=1)
        self.log_evidence = float(shift + np.log(masses.sum()))
        self.nodes = nodes.ravel()
        self.weights = (weights * np.exp(values - self.log_evidence)).ravel()
        below = np.cumsum(masses) / masses.sum()
        self._below = np.concatenate([[0.0], below[:-1], [1.0]])

    def expect(self, f):
        """The exact expectation of the vectorised function `f`."""
        return float(self.weights @ f(self.nodes))

    def pdf(self, x):
        """Normalised density at `x`, any shape."""
        return np.exp(self._logdensity(x) - self.log_evidence)

    def cdf(self, x):
        """Distribution function at `x`, shape (n,)."""
        x = np.clip(x, self.edges[0], self.edges[-1])
        return self._cdf_within(x, np.searchsorted(self.edges[1:-1], x, side="right"))

    def ppf(self, p=PROBABILITIES):
        """Quantile function at `p`, shape (n,)."""
        p = np.asarray(p, dtype=float)
        panel = np.searchsorted(self._below[1:-1], p, side="right")
        low, high = self.edges[panel], self.edges[panel + 1]
        mass = self._below[panel + 1] - self._below[panel]
        share = (p - self._below[panel]) / np.maximum(mass, 1e-300)

        def cdf_and_pdf(x):
            return self._cdf_within(x, panel), self.pdf(x)

        start = low + (high - low) * np.clip(share, 0.0, 1.0)
        return solve_quantile(cdf_and_pdf, low, high, start, p)

    def sample(self, num_samples, rng):
        """Draw exactly, by the quantile function of one uniform each, (num_samples, 1)."""
        return self.ppf(np.random.default_rng(rng).random(num_samples))[:, None]

    def _cdf_within(self, x, panel):
        left = self.edges[panel]
        half = 0.5 * (x - left)[..., None]
        inside = self.pdf(left[..., None] + half * (1.0 + _NODES)) @ _WEIGHTS
        return np.clip(self._below[panel] + half[..., 0] * inside, 0.0, 1.0)


def line_truth(line):
    """The `Truth` of a one-dimensional target whose density is the `Line` `line`."""
    mean = line.expect(lambda x: x)
    variance = line.expect(lambda x: (x - mean) ** 2)
    return Truth(
        mean=np.array([mean]), cov=np.array([[variance]]),
        quantiles=Quantiles(lambda: by_probability(line.ppf()[:, None])),
        log_evidence=line.log_evidence, sample=line.sample, cdf=line.cdf,
    )  # fmt: skip


def solve_quantile(cdf_and_pdf, low, high, start, p=_ROWS):
    """Invert distribution functions elementwise by Newton's method inside a shrinking bracket.

    Parameters
    ----------
    cdf_and_pdf : callable
        Takes points of the shape of `p`, returns two arrays of that shape.
    low, high, start, p : array_like
        Points between which the quantiles lie, first guesses, and probabilities, by default a row
        each of `PROBABILITIES`; which together have that shape.

    Returns
    -------
    numpy.ndarray
        Points whose probabilities differ from `p` by no more than rounding, about 1e-15.
    """
    p, low, high, x = (a.copy() for a in np.broadcast_arrays(p, low, high, start))
    for _ in range(200):
        value, slope = cdf_and_pdf(x)
        error = value - p
        low, high = np.where(error < 0.0, x, low), np.where(error > 0.0, x, high)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            newton = x - error / slope
        new = np.where((newton >= low) & (newton <= high), newton, 0.5 * (low + high))
        done = (np.abs(error) <= 1e-15) | (np.abs(new - x) <= 4e-16 * np.abs(x))
        x = np.where(error == 0.0, x, new)
        if np.all(done):
            break
    return x


def mixture_quantiles(weights, means, sds):
    """Marginal quantiles of a mixture of Gaussians.

    Parameters
    ----------
    weights : array, shape (k,)
    means, sds : array, shape (k, dim)
        Marginal means and standard deviations of the components.

    Returns
    -------
    dict
        {probability: array (dim,)}.
    """
    kept = weights > 1e-18 * weights.max()
    weights, means, sds = weights[kept] / weights[kept].sum(), means[kept], sds[kept]

    def cdf_and_pdf(x):
        z = (x[..., None] - means.T) / sds.T
        pdf = np.exp(-0.5 * z * z) / (np.sqrt(2.0 * np.pi) * sds.T)
        return special.ndtr(z) @ weights, pdf @ weights

    reach = 9.0 * sds
    low, high = (means - reach).min(axis=0), (means + reach).max(axis=0)
    return by_probability(solve_quantile(cdf_and_pdf, low, high, 0.5 * (low + high)))


def mixture_moments(weights, means, covs):
    """Mean (dim,) and covariance (dim, dim) of a mixture, from those of its components."""
    mean = weights @ means
    centred = means - mean
    cov = np.einsum("k,kij->ij", weights, covs) + (weights[:, None] * centred).T @ centred
    return mean, cov


def gaussian_mixture_truth(weights, means, covs):
    """The `Truth` of a normalised mixture: weights (k,), means (k, dim), covs (k, dim, dim)."""
    sds = np.sqrt(np.diagonal(covs, axis1=1, axis2=2))
    mean, cov = mixture_moments(weights, means, covs)
    return Truth(
        mean=mean, cov=cov, quantiles=Quantiles(mixture_quantiles, weights, means, sds),
        log_evidence=0.0, sample=drawn(_mixture_sample, weights, means, np.linalg.cholesky(covs)),
        cdf=(lambda x: _mixture_cdf(weights, means, sds, x)) if len(mean) == 1 else None,
    )  # fmt: skip


def _mixture_sample(weights, means, factors, num_samples, rng):
    k = rng.choice(len(weights), size=num_samples, p=weights)
    z = rng.standard_normal((num_samples, means.shape[1]))
    return means[k] + np.einsum("nij,nj->ni", factors[k], z)


def _mixture_cdf(weights, means, sds, x):
    return special.ndtr((np.asarray(x)[..., None] - means[:, 0]) / sds[:, 0]) @ weights
