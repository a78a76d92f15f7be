"""Mixtures of Student-t distributions: proposals that learn."""

from contextlib import suppress

import numpy as np
from scipy import special

_PRIOR_DRAWS = 2.0  # beyond one a dimension: the weight of the common covariance in each


class StudentMixture:
    """A mixture of multivariate Student-t distributions, and of a fixed proposal.

    Parameters
    ----------
    weights : numpy.ndarray, shape (k + 1,)
        Summing to 1; the last is that of `guard`.
    means : numpy.ndarray, shape (k, dim)
    covs : numpy.ndarray, shape (k, dim, dim)
        Scale matrices: the covariance is ``df / (df - 2)`` times as large.
    df : float
    guard : Proposal
        Kept in the mixture, so that weights never exceed its own weights over its share.
    """

    def __init__(self, weights, means, covs, df, guard):
        self.weights, self.means, self.covs, self.df = weights, means, covs, df
        self.guard, self.dim = guard, means.shape[1]
        self._factors = factored(covs)
        self._inverses = np.linalg.inv(self._factors)

    def sample(self, num_samples, rng):
        """Draw (num_samples, dim): how many of each component, then each in turn."""
        counts = rng.multinomial(num_samples, self.weights)
        parts = []
        for mean, factor, n in zip(self.means, self._factors, counts[:-1], strict=True):
            normals = rng.standard_normal((n, self.dim))
            shrink = np.sqrt(rng.chisquare(self.df, size=n) / self.df)
            parts.append(mean + normals @ factor.T / shrink[:, None])
        if counts[-1]:
            parts.append(self.guard.sample(int(counts[-1]), rng))
        return np.concatenate(parts)

    def logdensity(self, x):
        """Normalised log density of each row."""
        return special.logsumexp(self._joint(x)[0], axis=0)

    def _joint(self, x):
        """Log of weight times density, (k + 1, n), and squared distances, (k, n)."""
        n, df, dim = len(x), self.df, self.dim
        log_joint, squares = np.empty((len(self.weights), n)), np.empty((len(self.means), n))
        constant = special.gammaln((df + dim) / 2) - special.gammaln(df / 2)
        constant -= dim / 2 * np.log(df * np.pi)
        for i, (mean, inverse) in enumerate(zip(self.means, self._inverses, strict=True)):
            with np.errstate(over="ignore"):
                squares[i] = np.square(inverse @ (x - mean).T).sum(axis=0)
            log_joint[i] = constant + np.log(np.diag(inverse)).sum()
            log_joint[i] -= (df + dim) / 2 * np.log1p(squares[i] / df)
        log_joint[-1] = self.guard.logdensity(x)
        with np.errstate(divide="ignore"):
            return log_joint + np.log(self.weights)[:, None], squares

    def improved(self, x, weights, ess):
        """One step of expectation maximisation towards weighted draws of the target.

        Parameters
        ----------
        x : numpy.ndarray, shape (n, dim)
        weights : numpy.ndarray, shape (n,)
            Normalised.
        ess : float
            How many draws these are worth: against few, the covariances lean on the common one.

        References
        ----------
        Cappé, Douc, Guillin, Marin and Robert (2008), Adaptive importance sampling in general
        mixture classes.
        """
        log_joint, squares = self._joint(x)
        shares = special.softmax(log_joint, axis=0)[:-1] * weights
        pulls = shares * (self.df + self.dim) / (self.df + squares)
        common = weighted_cov(x, weights)
        means, covs = self.means.copy(), self.covs.copy()
        prior = self.dim + _PRIOR_DRAWS
        for i, (share, pull) in enumerate(zip(shares, pulls, strict=True)):
            if pull.sum() == 0.0:
                continue
            means[i] = pull @ x / pull.sum()
            away = x - means[i]
            scatter = away.T @ (away * pull[:, None])
            covs[i] = (ess * scatter + prior * common) / (ess * share.sum() + prior)
        kept = self.weights[-1]
        totals = shares.sum(axis=1) + 1e-3 / len(shares)
        weights = np.append((1.0 - kept) * totals / totals.sum(), kept)
        return StudentMixture(weights, means, covs, self.df, self.guard)


def weighted_cov(x, weights):
    """Covariance of weighted rows, so much widened that it can be inverted, or nearly."""
    centred = x - weights @ x
    cov = centred.T @ (centred * weights[:, None])
    return cov + np.diag(1e-10 * np.diag(cov) + np.finfo(float).tiny)


def factored(covs):
    """Cholesky factors; of matrices that few draws have left singular, a little widened."""
    variances = np.diagonal(covs, axis1=1, axis2=2)
    unit = np.eye(covs.shape[1]) * np.maximum(variances, np.finfo(float).tiny)[:, None, :]
    for share in (0.0, 1e-8, 1e-6):
        with suppress(np.linalg.LinAlgError):
            return np.linalg.cholesky(covs + share * unit)
    return np.linalg.cholesky(covs + 1e-4 * unit)
