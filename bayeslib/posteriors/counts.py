"""Posteriors of counts: ten pumps of a nuclear plant, and a century of coal mining."""

from functools import cache
from math import lgamma

import numpy as np
from scipy import special

from ..target import Quantiles, Target, Truth
from .lattice import rejection
from .truths import Line, by_probability, drawn, mixture_moments, panels, solve_quantile

#: Failures of ten pumps of the nuclear plant Farley 1 and thousands of hours watched (Gaver &
#: O'Muircheartaigh 1987, "Robust empirical Bayes analyses of event rates", table 3).
FAILURES = np.array([5, 1, 5, 14, 3, 19, 1, 1, 4, 22.0])
HOURS = np.array([94.3, 15.7, 62.9, 126.0, 5.24, 31.4, 1.05, 1.05, 2.1, 10.5])

#: Disasters in British coal mines with ten deaths or more, each year from 1851 to 1962 (Jarrett
#: 1979, "A note on the intervals between coal-mining disasters"; by years in Carlin, Gelfand &
#: Smith 1992, "Hierarchical Bayesian analysis of changepoint problems").
# fmt: off
DISASTERS = np.array([
    4, 5, 4, 1, 0, 4, 3, 4, 0, 6, 3, 3, 4, 0, 2, 6, 3, 3, 5, 4, 5, 3, 1, 4, 4, 1, 5, 5,
    3, 4, 2, 5, 2, 2, 3, 4, 2, 1, 3, 2, 2, 1, 1, 1, 1, 3, 0, 0, 1, 0, 1, 1, 0, 0, 3, 1,
    0, 3, 2, 2, 0, 1, 1, 1, 0, 1, 0, 1, 0, 0, 0, 2, 1, 0, 0, 0, 1, 1, 0, 2, 3, 3, 1, 1,
    2, 1, 1, 1, 1, 2, 4, 2, 0, 0, 0, 1, 4, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 1.0,
])
# fmt: on

_COAL_CONSTANT = -special.gammaln(DISASTERS + 1.0).sum() - np.log(DISASTERS.size - 1.0)

_BETA_SHAPE = 0.1
# panels in log alpha and log beta
_ACROSS = np.arange(-8.0, 4.0)
_ALONG = np.concatenate([-np.geomspace(90.0, 3.0, 12), np.arange(-2.0, 7.0)])


def pumps():
    """Ten pumps: failure rates that share a Gamma prior (Gaver & O'Muircheartaigh 1987).

    ``failures_i ~ Poisson(lambda_i hours_i)``, ``lambda_i ~ Gamma(alpha, rate beta)``, ``alpha ~
    Exponential(1)``, ``beta ~ Gamma(0.1, rate 1)``: the priors of George, Makov & Smith (1993,
    "Conjugate likelihood distributions"). Rates are per thousand hours. Sampled in logarithms,
    Jacobian included.

    Returns
    -------
    Target
        dim 12, (log_alpha, log_beta, log_lambda[0], …, log_lambda[9]). The truth is exact up to a
        quadrature over the first two, to 10 digits; log_evidence is log p(failures).

    Examples
    --------
    >>> target = bl.posteriors.pumps()
    >>> print(target.dim, target.names[:3])
    12 ('log_alpha', 'log_beta', 'log_lambda[0]')
    >>> print(np.exp(target.truth.mean[2:5]).round(3))  # per thousand hours
    [0.055 0.072 0.081]
    """
    log_constant = np.sum(FAILURES * np.log(HOURS) - special.gammaln(FAILURES + 1.0))
    return Target(
        _pumps, dim=2 + FAILURES.size, truth=_pumps_truth(),
        data=(FAILURES, HOURS, float(log_constant - special.gammaln(_BETA_SHAPE))),
        names=("log_alpha", "log_beta", *(f"log_lambda[{i}]" for i in range(FAILURES.size))),
    )  # fmt: skip


def _pumps(theta, failures, hours, log_constant):
    log_alpha, log_beta, log_rates = theta[0], theta[1], theta[2:]
    alpha, beta = np.exp(log_alpha), np.exp(log_beta)
    log_prior = log_alpha - alpha + 0.1 * log_beta - beta
    log_density = log_constant + log_prior + failures.size * (alpha * log_beta - lgamma(alpha))
    for i in range(failures.size):
        log_density += (alpha + failures[i]) * log_rates[i]
        log_density -= (beta + hours[i]) * np.exp(log_rates[i])
    return log_density


@cache
def _pumps_truth():
    # To the left alpha is of the order of 1 / |log_beta|, and the density falls as
    # |log_beta|**-11 exp(0.1 log_beta): beyond these ends there is less than 1e-15 of it.
    (across, wa), (along, wb) = _hyper_panels()
    log_alpha, log_beta = (a.ravel() for a in np.meshgrid(across, along, indexing="ij"))
    log_density = _log_hyper(log_alpha, log_beta)
    log_weights = np.log(np.outer(wa, wb).ravel()) + log_density
    log_evidence = special.logsumexp(log_weights)
    weights = np.exp(log_weights - log_evidence)
    kept = weights > 1e-17 * weights.max()
    hyper = np.column_stack([log_alpha, log_beta])[kept]
    mixture = _LogGammas(weights[kept] / weights[kept].sum(), *_rates_given(hyper))
    means = np.column_stack([hyper, mixture.means])
    variances = np.column_stack([np.zeros_like(hyper), mixture.variances])
    mean, cov = mixture_moments(mixture.weights, means, variances[:, :, None] * np.eye(12))
    factor = np.linalg.cholesky(cov[:2, :2])
    z = np.linalg.solve(factor, np.stack([log_alpha, log_beta]) - mean[:2, None]).T
    draw_hyper = rejection(lambda x: _log_hyper(*x.T), mean[:2], factor, log_density, z)
    return Truth(
        mean=mean, cov=cov, quantiles=Quantiles(_pumps_quantiles, mixture),
        log_evidence=float(log_evidence), sample=drawn(_pumps_sample, draw_hyper),
    )  # fmt: skip


def _hyper_panels():
    return [[a.ravel() for a in panels(edges)] for edges in (_ACROSS, _ALONG)]


def _pumps_quantiles(mixture):
    (across, wa), (along, wb) = _hyper_panels()

    def summed(log_density, weights):
        return special.logsumexp(log_density + np.log(weights), axis=-1)

    log_alpha = Line(lambda x: summed(_log_hyper(x[..., None], along), wb), _ACROSS)
    log_beta = Line(lambda x: summed(_log_hyper(across, x[..., None]), wa), _ALONG)
    found = log_alpha.ppf(), log_beta.ppf(), mixture.quantiles()
    return by_probability(np.column_stack(found))


def _pumps_sample(draw_hyper, num_samples, rng):
    """Draw exactly: the hyperparameters, then the rates given them."""
    hyper = draw_hyper(num_samples, rng)
    shapes, rates = _rates_given(hyper)
    return np.column_stack([hyper, np.log(rng.gamma(shapes) / rates)])


def _rates_given(hyper):
    """Shapes and rates of the Gammas from which the pumps' rates come, given (n, 2) logarithms."""
    return np.exp(hyper[:, :1]) + FAILURES, np.exp(hyper[:, 1:]) + HOURS


def _log_hyper(log_alpha, log_beta):
    """The log density of the hyperparameters, the rates integrated out, at arrays of points."""
    alpha, beta = np.exp(log_alpha), np.exp(log_beta)
    total = log_alpha - alpha + _BETA_SHAPE * log_beta - beta - special.gammaln(_BETA_SHAPE)
    for x, t in zip(FAILURES, HOURS, strict=True):
        total = total + special.gammaln(alpha + x) - special.gammaln(alpha)
        total = total + alpha * log_beta - (alpha + x) * np.log(beta + t)
        total = total + x * np.log(t) - special.gammaln(x + 1.0)
    return total


class _LogGammas:
    """A mixture over k components of the logarithms of independent Gammas.

    Parameters
    ----------
    weights : array, shape (k,)
    shapes, rates : array, shape (k, dim)
    """

    def __init__(self, weights, shapes, rates):
        self.weights, self.shapes, self.rates = weights, shapes, rates
        self.means = special.digamma(shapes) - np.log(rates)
        self.variances = special.polygamma(1, shapes)

    def quantiles(self):
        """Marginal quantiles: one row a probability, to 12 digits."""
        spread, shapes, rates = np.sqrt(self.variances), self.shapes.T, self.rates.T
        low = (self.means - 40.0 * spread).min(axis=0)
        high = (self.means + 9.0 * spread).max(axis=0)
        constant = shapes * np.log(rates) - special.gammaln(shapes)

        def cdf_and_pdf(x):
            scaled = np.exp(x)[..., None] * rates
            pdf = np.exp(constant + shapes * x[..., None] - scaled)
            return special.gammainc(shapes, scaled) @ self.weights, pdf @ self.weights

        return solve_quantile(cdf_and_pdf, low, high, self.weights @ self.means)


def coal_mining():
    """Disasters in British coal mines, 1851 to 1962: a rate that changes once.

    ``disasters_t ~ Poisson(early)`` up to a year, uniform over the first 111, and
    ``Poisson(late)`` after it; both rates, per year, are ``Exponential(1)``. The year is summed
    out, so that the posterior is continuous; sampled in logarithms, Jacobian included. The data are
    those of Jarrett (1979), by years as in Carlin, Gelfand & Smith (1992).

    Returns
    -------
    Target
        dim 2, (log_early, log_late). The truth is a mixture over the year of logarithms of Gammas,
        exact; log_evidence is log p(disasters).

    Examples
    --------
    >>> target = bl.posteriors.coal_mining()
    >>> median = np.exp(target.truth.quantiles[0.5])
    >>> print(target.names, median.round(2), "disasters a year")
    ('log_early', 'log_late') [3.05 0.92] disasters a year
    """
    before, n = np.cumsum(DISASTERS)[:-1], DISASTERS.size
    return Target(
        _coal_mining, dim=2, data=(before, DISASTERS.sum(), float(n), float(_COAL_CONSTANT)),
        fused=_coal_mining_fused, names=("log_early", "log_late"), truth=_coal_mining_truth(before),
    )  # fmt: skip


def _coal_mining(theta, before, total, num_years, log_constant):
    log_early, log_late = theta[0], theta[1]
    early, late = np.exp(log_early), np.exp(log_late)
    log_prior = log_early - early + log_late - late
    largest, mass = -np.inf, 0.0
    for k in range(before.size):
        value = before[k] * log_early - (k + 1.0) * early
        value += (total - before[k]) * log_late - (num_years - k - 1.0) * late
        if value > largest:
            mass = mass * np.exp(largest - value) + 1.0
            largest = value
        elif value > -np.inf:
            mass += np.exp(value - largest)
    return log_constant + log_prior + largest + np.log(mass)


def _coal_mining_fused(theta, grad, before, total, num_years, log_constant):
    log_early, log_late = theta[0], theta[1]
    early, late = np.exp(log_early), np.exp(log_late)
    largest, mass, years, counts = -np.inf, 0.0, 0.0, 0.0
    for k in range(before.size):
        value = before[k] * log_early - (k + 1.0) * early
        value += (total - before[k]) * log_late - (num_years - k - 1.0) * late
        weight = 1.0
        if value > largest:
            shrink = np.exp(largest - value)
            mass, years, counts = mass * shrink, years * shrink, counts * shrink
            largest = value
        elif value > -np.inf:
            weight = np.exp(value - largest)
        else:
            continue
        mass += weight
        years += weight * (k + 1.0)
        counts += weight * before[k]
    if mass == 0.0:
        grad[0], grad[1] = 0.0, 0.0
        return -np.inf
    years, counts = years / mass, counts / mass
    grad[0] = 1.0 + counts - (1.0 + years) * early
    grad[1] = 1.0 + total - counts - (1.0 + num_years - years) * late
    log_prior = log_early - early + log_late - late
    return log_constant + log_prior + largest + np.log(mass)


def _coal_mining_truth(before):
    years, n = np.arange(1.0, DISASTERS.size), DISASTERS.size
    shapes = 1.0 + np.column_stack([before, DISASTERS.sum() - before])
    rates = 1.0 + np.column_stack([years, n - years])
    log_weights = np.sum(special.gammaln(shapes) - shapes * np.log(rates), axis=1)
    log_mass = special.logsumexp(log_weights)
    mixture = _LogGammas(np.exp(log_weights - log_mass), shapes, rates)
    covs = mixture.variances[:, :, None] * np.eye(2)
    mean, cov = mixture_moments(mixture.weights, mixture.means, covs)
    return Truth(
        mean=mean, cov=cov, quantiles=Quantiles(lambda: by_probability(mixture.quantiles())),
        log_evidence=float(log_mass + _COAL_CONSTANT), sample=drawn(_coal_mining_sample, mixture),
    )  # fmt: skip


def _coal_mining_sample(mixture, num_samples, rng):
    """Draw exactly: the year, then the rates given it."""
    k = rng.choice(mixture.weights.size, size=num_samples, p=mixture.weights)
    return np.log(rng.gamma(mixture.shapes[k]) / mixture.rates[k])
