"""Eight schools: a hierarchical model small enough to be known exactly."""

import numpy as np

from ..results.gaussian import LOG_2PI
from ..target import Quantiles, Target, Truth
from ..validate import as_bool
from .truths import Line, by_probability, drawn, mixture_moments, mixture_quantiles

#: Estimated effects of coaching on the verbal SAT in eight schools, in points, and their standard
#: errors (Rubin 1981, "Estimation in parallel randomized experiments", table 1).
EFFECTS = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
STANDARD_ERRORS = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])

_MU_SCALE, _TAU_SCALE = 5.0, 5.0


def eight_schools(centered=False):
    """Eight schools (Rubin 1981): eight effects, their mean and their spread.

    ``mu ~ N(0, 5**2)``, ``tau ~ half-Cauchy(5)``, ``theta_j ~ N(mu, tau**2)``, ``y_j ~ N(theta_j,
    sigma_j**2)``. Sampled in log tau, Jacobian included.

    Parameters
    ----------
    centered : bool
        True: the coordinates are (mu, log_tau, theta[0], …, theta[7]), a funnel. False:
        (mu, log_tau, eta[0], …, eta[7]) with ``theta_j = mu + tau eta_j`` and ``eta_j ~ N(0, 1)``.

    Returns
    -------
    Target
        dim 10. The truth is of the sampled coordinates, exact up to a quadrature over log tau;
        log_evidence is log p(y) and is the same for both.

    Notes
    -----
    The effects follow from the coordinates of the non-centred form by
    ``draws.expect(lambda x: x[:, :1] + np.exp(x[:, 1:2]) * x[:, 2:])``; their truth is that of the
    last eight coordinates of the centred form.

    Examples
    --------
    >>> target = bl.posteriors.eight_schools()
    >>> draws = bl.nuts(target, num_samples=2000, target_accept=0.95, rng=1)
    >>> effects = draws.expect(lambda x: x[:, :1] + np.exp(x[:, 1:2]) * x[:, 2:])
    >>> exact = bl.posteriors.eight_schools(centered=True).truth.mean[2:]
    >>> print(exact.round(1), np.abs(effects.z(exact)).max() < 5)
    [6.2 4.9 3.9 4.8 3.6 4.  6.3 4.9] True
    """
    centered = as_bool(centered, "centered")
    letter = "theta" if centered else "eta"
    plain, fused = (_centered, _centered_fused) if centered else (_noncentered, _noncentered_fused)
    return Target(
        plain, dim=2 + EFFECTS.size, data=(EFFECTS, STANDARD_ERRORS**-2, _log_constant()),
        fused=fused, truth=_truth(centered),
        names=("mu", "log_tau", *(f"{letter}[{j}]" for j in range(EFFECTS.size))),
    )  # fmt: skip


def _log_constant():
    normals = np.concatenate([STANDARD_ERRORS, np.ones(EFFECTS.size), [_MU_SCALE]])
    gaussian = -0.5 * normals.size * LOG_2PI - np.log(normals).sum()
    return float(gaussian + np.log(2.0 / (np.pi * _TAU_SCALE)))


def _noncentered(theta, y, precision, log_constant):
    mu, log_tau, eta = theta[0], theta[1], theta[2:]
    tau = np.exp(log_tau)
    log_prior = -0.5 * (mu / 5.0) ** 2 - np.log1p((tau / 5.0) ** 2) + log_tau
    log_density = log_constant + log_prior
    for j in range(y.size):
        log_density -= 0.5 * eta[j] ** 2
        log_density -= 0.5 * precision[j] * (y[j] - mu - tau * eta[j]) ** 2
    return log_density


def _noncentered_fused(theta, grad, y, precision, log_constant):
    mu, log_tau = theta[0], theta[1]
    tau = np.exp(log_tau)
    spread = 1.0 + tau * tau / 25.0
    total, slope_mu, slope_tau = 0.0, 0.0, 0.0
    for j in range(y.size):
        eta = theta[2 + j]
        residual = y[j] - mu - tau * eta
        pull = precision[j] * residual
        total += eta * eta + pull * residual
        grad[2 + j] = tau * pull - eta
        slope_mu += pull
        slope_tau += pull * eta
    grad[0] = slope_mu - mu / 25.0
    # the derivative of log_tau - log(spread), written so that it survives an infinite tau
    grad[1] = slope_tau * tau + 2.0 / spread - 1.0
    return log_constant - 0.5 * (total + mu * mu / 25.0) - np.log(spread) + log_tau


def _centered(theta, y, precision, log_constant):
    mu, log_tau, effects = theta[0], theta[1], theta[2:]
    tau = np.exp(log_tau)
    log_prior = -0.5 * (mu / 5.0) ** 2 - np.log1p((tau / 5.0) ** 2) + log_tau
    log_density = log_constant + log_prior
    for j in range(y.size):
        log_density += -0.5 * ((effects[j] - mu) / tau) ** 2 - log_tau
        log_density -= 0.5 * precision[j] * (y[j] - effects[j]) ** 2
    return log_density


def _centered_fused(theta, grad, y, precision, log_constant):
    mu, log_tau = theta[0], theta[1]
    tau = np.exp(log_tau)
    spread = 1.0 + tau * tau / 25.0
    shrink = 1.0 / (tau * tau)
    total, slope_mu, between = 0.0, 0.0, 0.0
    for j in range(y.size):
        residual = y[j] - theta[2 + j]
        pull = precision[j] * residual
        deviation = theta[2 + j] - mu
        back = shrink * deviation
        total += pull * residual
        between += back * deviation
        slope_mu += back
        grad[2 + j] = pull - back
    grad[0] = slope_mu - mu / 25.0
    grad[1] = between - y.size + 2.0 / spread - 1.0
    quadratic = total + between + mu * mu / 25.0
    return log_constant - 0.5 * quadratic - np.log(spread) + (1.0 - y.size) * log_tau


def _log_marginal(log_tau):
    """The posterior of log tau alone; given tau, everything is Gaussian."""
    total, precision, mean = _mu_given_tau(log_tau)
    squares = np.sum(np.log(2.0 * np.pi * total) + EFFECTS**2 / total, axis=-1)
    log_likelihood = -0.5 * (squares + np.log(precision * _MU_SCALE**2) - mean**2 * precision)
    log_prior = -np.log1p(np.exp(2.0 * log_tau) / _TAU_SCALE**2) + log_tau
    return log_likelihood + log_prior + np.log(2.0 / (np.pi * _TAU_SCALE))


def _mu_given_tau(log_tau):
    """Variances of the effects' estimates about mu, (…, 8); precision and mean of mu, (…)."""
    total = STANDARD_ERRORS**2 + np.exp(2.0 * log_tau)[..., None]
    precision = 1.0 / _MU_SCALE**2 + np.sum(1.0 / total, axis=-1)
    return total, precision, np.sum(EFFECTS / total, axis=-1) / precision


def _last_given_tau(log_tau, centered):
    """The last coordinates are a + b mu + N(0, s^2): a, b, s, each of shape (…, 8)."""
    tau = np.exp(log_tau)[..., None]
    total = STANDARD_ERRORS**2 + tau**2
    if centered:
        s = STANDARD_ERRORS * tau / np.sqrt(total)
        return tau**2 * EFFECTS / total, STANDARD_ERRORS**2 / total, s
    return tau * EFFECTS / total, -tau / total, STANDARD_ERRORS / np.sqrt(total)


def _truth(centered):
    """One quadrature, over log tau, makes the posterior a mixture of Gaussians."""
    spread = np.log(np.ptp(EFFECTS))
    line = Line(_log_marginal, np.arange(spread - 44.0, spread + 10.0, 0.25))
    log_tau = line.nodes
    _, precision, mean = _mu_given_tau(log_tau)
    a, b, s = _last_given_tau(log_tau, centered)
    means = np.column_stack([mean, log_tau, a + b * mean[:, None]])
    slopes = np.column_stack([np.ones_like(mean), np.zeros_like(mean), b])
    covs = (1.0 / precision)[:, None, None] * slopes[:, :, None] * slopes[:, None, :]
    last = np.arange(2, slopes.shape[1])
    covs[:, last, last] += s**2
    mean, cov = mixture_moments(line.weights, means, covs)
    return Truth(
        mean=mean, cov=cov, quantiles=Quantiles(_quantiles, line, means, covs),
        log_evidence=line.log_evidence, sample=drawn(_sample, line, centered),
    )  # fmt: skip


def _quantiles(line, means, covs):
    sds = np.sqrt(np.diagonal(covs, axis1=1, axis2=2))
    gaussian = [0, *range(2, means.shape[1])]
    found = mixture_quantiles(line.weights, means[:, gaussian], sds[:, gaussian])
    return by_probability(np.insert(list(found.values()), 1, line.ppf(), axis=1))


def _sample(line, centered, num_samples, rng):
    """Draw exactly: log tau by its quantile function, then mu given tau, then the rest."""
    log_tau = line.sample(num_samples, rng)[:, 0]
    _, precision, mean = _mu_given_tau(log_tau)
    mu = mean + rng.standard_normal(num_samples) / np.sqrt(precision)
    a, b, s = _last_given_tau(log_tau, centered)
    last = a + b * mu[:, None] + s * rng.standard_normal(s.shape)
    return np.column_stack([mu, log_tau, last])
