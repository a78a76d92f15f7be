"""Gaussians and their mixtures."""

import numpy as np

from ..errors import BayeslibError
from ..results.gaussian import LOG_2PI, Gaussian
from ..target.target import Target
from ..validate import as_covariance, as_floats, check_each, check_finite, check_fits
from .truths import gaussian_mixture_truth


def gaussian(mean, cov):
    """A Gaussian of any mean and covariance.

    Parameters
    ----------
    mean : float or array, shape (dim,)
    cov : array, shape (dim, dim), or (dim,) of variances, or one variance
        Symmetric positive definite.

    Returns
    -------
    Target
        log_evidence is 0.

    Examples
    --------
    >>> target = bl.posteriors.gaussian([0.0, 1.0], [[1.0, 0.5], [0.5, 2.0]])
    >>> print(round(target([0.0, 1.0]), 4), target.gradient([1.0, 1.0]).round(4))
    -2.1177 [-1.1429  0.2857]
    """
    q = Gaussian(mean, cov)
    return Target(
        _gaussian, dim=q.dim, data=(q.mean, *_precision(q.cov)), fused=_gaussian_fused,
        truth=gaussian_mixture_truth(np.ones(1), q.mean[None], q.cov[None]),
    )  # fmt: skip


def _precision(cov):
    precision = np.linalg.inv(cov)
    log_constant = -0.5 * (np.linalg.slogdet(cov)[1] + len(cov) * LOG_2PI)
    return 0.5 * (precision + precision.T), float(log_constant)


def _gaussian(theta, mean, precision, log_constant):
    total = 0.0
    for i in range(mean.size):
        for j in range(mean.size):
            total += (theta[i] - mean[i]) * precision[i, j] * (theta[j] - mean[j])
    return log_constant - 0.5 * total


def _gaussian_fused(theta, grad, mean, precision, log_constant):
    total = 0.0
    for i in range(mean.size):
        row = 0.0
        for j in range(mean.size):
            row += precision[i, j] * (theta[j] - mean[j])
        grad[i] = -row
        total += row * (theta[i] - mean[i])
    return log_constant - 0.5 * total


def mixture(weights, means, covs):
    """A mixture of Gaussians, whose modes may lie far apart.

    Parameters
    ----------
    weights : array, shape (k,)
        Not negative, summing to 1.
    means : array, shape (k, dim), or (k,) on the line
    covs : array, shape (k, dim, dim), (k, dim) or (k,), or float
        Covariances; (k, dim), (k,) or one number for variances.

    Returns
    -------
    Target
        log_evidence is 0.

    Examples
    --------
    >>> two = bl.posteriors.mixture([0.3, 0.7], [-4.0, 4.0], [1.0, 1.0])
    >>> print(two.truth.mean.round(2), two.truth.cov.round(2))
    [1.6] [[14.44]]
    >>> print(two.truth.quantiles[0.5].round(2))
    [3.43]
    """
    weights = as_floats(weights, "weights")
    means = as_floats(means, "means")
    fits = weights.ndim == 1 and weights.size > 0 and means.shape[:1] == weights.shape
    check_fits(fits, weights, "weights (k,)", "agree with means (k, dim)", f" and {means.shape}")
    check_each(weights, "weights", "finite and not negative", (weights >= 0.0) & (weights < np.inf))
    check_finite(means, "means")
    if abs(weights.sum() - 1.0) > 1e-8:
        raise BayeslibError(f"weights must sum to 1, they sum to {weights.sum():.10g}")
    means = means.reshape(weights.size, -1)
    if np.ndim(covs) == 0:
        covs = [covs] * weights.size
    if len(covs) != weights.size:
        raise BayeslibError(f"covs must hold {weights.size} covariances, got {len(covs)}")
    dim = means.shape[1]
    covs = np.stack([as_covariance(c, f"covs[{k}]", dim) for k, c in enumerate(covs)])
    weights = weights / weights.sum()
    precisions, log_constants = map(np.array, zip(*map(_precision, covs), strict=True))
    with np.errstate(divide="ignore"):
        log_constants += np.log(weights)
    return Target(
        _mixture, dim=dim, data=(means, precisions, log_constants),
        fused=_mixture_fused, truth=gaussian_mixture_truth(weights, means, covs),
    )  # fmt: skip


def _log_part(k, theta, means, precisions, log_constants):
    value = log_constants[k]
    for i in range(theta.size):
        for j in range(theta.size):
            value -= 0.5 * (theta[i] - means[k, i]) * precisions[k, i, j] * (theta[j] - means[k, j])
    return value


def _mixture(theta, means, precisions, log_constants):
    largest, total = -np.inf, 0.0
    for k in range(log_constants.size):
        value = _log_part(k, theta, means, precisions, log_constants)
        if value > largest:
            total = total * np.exp(largest - value) + 1.0
            largest = value
        elif value > -np.inf:
            total += np.exp(value - largest)
    return largest + np.log(total) if total > 0.0 else -np.inf


def _mixture_fused(theta, grad, means, precisions, log_constants):
    dim = theta.size
    largest, total = -np.inf, 0.0
    grad[:] = 0.0
    for k in range(log_constants.size):
        value = _log_part(k, theta, means, precisions, log_constants)
        weight = 1.0
        if value > largest:
            shrink = np.exp(largest - value)
            total = total * shrink + 1.0
            for i in range(dim):
                grad[i] *= shrink
            largest = value
        elif value > -np.inf:
            weight = np.exp(value - largest)
            total += weight
        else:
            continue
        for i in range(dim):
            row = 0.0
            for j in range(dim):
                row += precisions[k, i, j] * (theta[j] - means[k, j])
            grad[i] -= weight * row
    if total == 0.0:
        return -np.inf
    for i in range(dim):
        grad[i] /= total
    return largest + np.log(total)
