"""Regressions: linear, logistic, and the O-rings of the Challenger."""

from dataclasses import replace
from functools import lru_cache, partial

import numpy as np
import scipy

from ..compile.functions import linear_log_likelihood, logistic_log_likelihood
from ..compile.functions.regression import logistic_pass, squares_pass
from ..results.gaussian import LOG_2PI
from ..target.target import Target
from ..validate import as_floats, as_positive, as_scale, check_each, check_finite, check_fits
from .lattice import lattice_truth
from .truths import gaussian_mixture_truth

#: Temperature of the joints at launch, in degrees Fahrenheit, and whether an O-ring showed thermal
#: distress, in the 23 flights before the Challenger's last (Dalal, Fowlkes & Hoadley 1989, "Risk
#: analysis of the space shuttle", table 1). At the last launch it was 31.
TEMPERATURES = np.array(
    [66, 70, 69, 68, 67, 72, 73, 70, 57, 63, 70, 78, 67, 53, 67, 75, 70, 81, 76, 79, 75, 76, 58.0]
)
DISTRESS = np.array([0, 1, 0, 0, 0, 0, 0, 0, 1, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 1.0])

_MOST_TERMS = 20_000  # observations up to which a truth takes seconds at most


def linear_regression(X, y, *, noise_scale, prior_scale):
    """A linear regression with Gaussian noise of known size.

    ``theta_j ~ N(0, prior_scale**2)`` and ``y ~ N(X @ theta, noise_scale**2)``.

    Parameters
    ----------
    X : array, shape (n, dim)
        Predictors, one row an observation; a column of ones for an intercept.
    y : array, shape (n,)
        Outcomes.
    noise_scale : float
        Standard deviation of the noise, in the units of `y`.
    prior_scale : float or array, shape (dim,)
        Standard deviation of each coefficient's prior.

    Returns
    -------
    Target
        The truth is a Gaussian, in closed form; log_evidence is log p(y).

    Raises
    ------
    BayeslibError
        For shapes that do not agree, or data that are not finite, saying how many.

    Examples
    --------
    >>> X = np.column_stack([np.ones(5), np.arange(5.0)])
    >>> y = np.array([0.1, 1.2, 1.9, 3.1, 3.9])
    >>> scales = dict(noise_scale=0.2, prior_scale=10.0)
    >>> truth = bl.posteriors.linear_regression(X, y, **scales).truth
    >>> print(truth.mean.round(2), np.sqrt(np.diag(truth.cov)).round(2))
    [0.14 0.95] [0.15 0.06]
    """
    X, y = as_observations(X, y)
    noise_scale = as_positive(noise_scale, "noise_scale")
    prior_scale = as_scale(prior_scale, "prior_scale", X.shape[1])
    return Target(
        _linear, dim=X.shape[1],
        data=(X, y, noise_scale, prior_scale**-2, _log_prior_constant(prior_scale)),
        fused=_linear_fused, truth=_linear_truth(X, y, noise_scale, prior_scale),
    )  # fmt: skip


def as_observations(X, y):
    """Return predictors (n, dim) and outcomes (n,) as finite arrays of matching shapes."""
    X, y = as_floats(X, "X"), as_floats(y, "y")
    fits = X.ndim == 2 and y.shape == X.shape[:1] and X.size > 0
    check_fits(fits, X, "X", "have shape (n, dim) and y (n,), n at least 1", f" and {y.shape}")
    for name, array in (("X", X), ("y", y)):
        check_finite(array, name, "; leave out these rows, or model what is missing")
    return X, y


def _log_prior_constant(prior_scale):
    return float(-np.log(prior_scale).sum() - 0.5 * prior_scale.size * LOG_2PI)


def _log_prior(theta, precision, log_constant):
    for j in range(theta.size):
        log_constant -= 0.5 * precision[j] * theta[j] ** 2
    return log_constant


def _linear(theta, X, y, noise_scale, precision, log_constant):
    log_prior = _log_prior(theta, precision, log_constant)
    return log_prior + linear_log_likelihood(theta, X, y, noise_scale)


def _linear_fused(theta, grad, X, y, noise_scale, precision, log_constant):
    grad[:] = 0.0
    scale = -0.5 / noise_scale**2
    squares = squares_pass(theta, grad, X, y)
    log_prior = log_constant
    for j in range(theta.size):
        pull = precision[j] * theta[j]
        grad[j] = scale * grad[j] - pull
        log_prior -= 0.5 * pull * theta[j]
    return log_prior + scale * squares - y.size * (np.log(noise_scale) + 0.5 * LOG_2PI)


def _linear_truth(X, y, noise_scale, prior_scale):
    # in units of the prior, so that the matrix to be inverted is at least the identity
    A = X * (prior_scale / noise_scale)
    factor = np.linalg.cholesky(np.eye(A.shape[1]) + A.T @ A)
    half = np.linalg.solve(factor, np.diag(prior_scale))
    cov = half.T @ half
    mean = cov @ (X.T @ y) / noise_scale**2
    residuals = y - X @ mean
    fit = residuals @ residuals / noise_scale**2 + np.sum((mean / prior_scale) ** 2)
    log_evidence = -0.5 * (fit + y.size * (LOG_2PI + 2.0 * np.log(noise_scale)))
    log_evidence -= np.log(np.diag(factor)).sum()
    gaussian = gaussian_mixture_truth(np.ones(1), mean[None], cov[None])
    return replace(gaussian, log_evidence=float(log_evidence))


def logistic_regression(X, y, *, prior_scale):
    """A logistic regression with a Gaussian prior.

    ``theta_j ~ N(0, prior_scale**2)`` and ``y ~ Bernoulli(sigmoid(X @ theta))``.

    Parameters
    ----------
    X : array, shape (n, dim)
        Predictors, one row an observation; a column of ones for an intercept.
    y : array, shape (n,)
        Outcomes, 0 or 1.
    prior_scale : float or array, shape (dim,)
        Standard deviation of each coefficient's prior.

    Returns
    -------
    Target
        log_evidence is log p(y). The truth is by quadrature, to 10 digits; it is None beyond 2
        dimensions or 20,000 rows, and for separated data under a very wide prior.

    Raises
    ------
    BayeslibError
        For outcomes other than 0 and 1, shapes that do not agree, or data that are not finite,
        saying how many.

    Examples
    --------
    >>> X = np.column_stack([np.ones(4), [-2.0, -1.0, 1.0, 2.0]])
    >>> y = np.array([0, 1, 1, 1])
    >>> target = bl.posteriors.logistic_regression(X, y, prior_scale=2.0)
    >>> print(target.truth.mean.round(3), round(target.truth.log_evidence, 3))
    [1.536 1.483] -2.701
    """
    X, y = as_observations(X, y)
    check_each(y, "y", "0 or 1", np.isin(y, (0.0, 1.0)), "; write (y == label).astype(float)")
    return _logistic_target(X, y, as_scale(prior_scale, "prior_scale", X.shape[1]), None)


def challenger(*, prior_scale=5.0):
    """The O-rings of the space shuttle: distress against temperature (Dalal et al. 1989).

    A logistic regression of 23 flights: ``logit p = intercept + slope (t - 70) / 10``, with ``t``
    in degrees Fahrenheit. At 31 degrees, the launch of the Challenger: ``intercept - 3.9 slope``.

    Parameters
    ----------
    prior_scale : float or array, shape (2,)
        Standard deviation of the Gaussian priors, in log odds, and in log odds per 10 degrees.

    Returns
    -------
    Target
        dim 2, (intercept, slope). The truth is by quadrature, to 10 digits.

    Examples
    --------
    >>> target = bl.posteriors.challenger()
    >>> draws = target.truth.sample(10_000, np.random.default_rng(1))
    >>> at_31 = bl.sigmoid(draws[:, 0] - 3.9 * draws[:, 1])
    >>> print(at_31.mean() > 0.9)
    True
    """
    X = np.column_stack([np.ones(TEMPERATURES.size), (TEMPERATURES - 70.0) / 10.0])
    scale = as_scale(prior_scale, "prior_scale", 2)
    return _logistic_target(X, DISTRESS, scale, ("intercept", "slope"))


def _logistic_target(X, y, prior_scale, names):
    precision, log_constant = prior_scale**-2, _log_prior_constant(prior_scale)
    known = X.shape[1] <= 2 and len(y) <= _MOST_TERMS
    truth = _logistic_truth(X.tobytes(), y.tobytes(), prior_scale.tobytes()) if known else None
    return Target(
        _logistic, dim=X.shape[1], data=(X, y, precision, log_constant), fused=_logistic_fused,
        names=names, truth=truth,
    )  # fmt: skip


def _logistic(theta, X, y, precision, log_constant):
    return _log_prior(theta, precision, log_constant) + logistic_log_likelihood(theta, X, y)


def _logistic_fused(theta, grad, X, y, precision, log_constant):
    log_prior = log_constant
    for j in range(theta.size):
        grad[j] = -precision[j] * theta[j]
        log_prior += 0.5 * grad[j] * theta[j]
    return log_prior + logistic_pass(theta, grad, X, y)


@lru_cache(maxsize=32)
def _logistic_truth(X, y, prior_scale):
    X, y, prior_scale = (np.frombuffer(a) for a in (X, y, prior_scale))
    X = X.reshape(y.size, -1)
    mode, hessian = _logistic_mode(X, y, prior_scale)
    factor = np.linalg.inv(np.linalg.cholesky(hessian)).T
    # the likelihood's poles lie where a predictor is an odd multiple of pi off the real axis
    strip = np.pi / np.linalg.norm(X @ factor, axis=1).max()
    logdensity = partial(_logistic_many, X=X, y=y, prior_scale=prior_scale)
    return lattice_truth(logdensity, mode, factor, strip)


def _logistic_many(thetas, X, y, prior_scale):
    """The log density at each row of `thetas`, in pieces that fit the cache."""
    values = _log_prior_constant(prior_scale) - 0.5 * np.sum((thetas / prior_scale) ** 2, axis=1)
    size = max(1, 200_000 // y.size)
    for first in range(0, len(thetas), size):
        piece = slice(first, first + size)
        s = thetas[piece] @ X.T
        values[piece] += s @ y - np.logaddexp(0.0, s).sum(axis=1)
    return values


def _logistic_mode(X, y, prior_scale):
    """The posterior mode and the Hessian of -log density there; z is in units of the prior."""
    A = X * prior_scale

    def value(z):
        return -_logistic_many(z[None] * prior_scale, X, y, prior_scale)[0]

    def gradient(z):
        return A.T @ (scipy.special.expit(A @ z) - y) + z

    def hessian(z):
        p = scipy.special.expit(A @ z)
        return (A.T * (p * (1.0 - p))) @ A + np.eye(z.size)

    how = {"method": "trust-exact", "options": {"max_trust_radius": np.inf}}
    z = scipy.optimize.minimize(value, np.zeros(len(A.T)), jac=gradient, hess=hessian, **how).x
    z = z - np.linalg.solve(hessian(z), gradient(z))  # to the last digits
    return z * prior_scale, hessian(z) / np.outer(prior_scale, prior_scale)
