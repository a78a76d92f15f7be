"""Models with a prior that can be drawn from and data that can be simulated, for calibration."""

import math
from dataclasses import dataclass

import numpy as np

from bayeslib import Target


@dataclass(frozen=True)
class Model:
    """A joint distribution of parameters and data.

    Parameters
    ----------
    dim : int
    logdensity : callable
        logdensity(theta, data…, power): log prior + power * log likelihood, constants left out.
    prior, simulate : callable
        prior(rng) -> theta, simulate(theta, rng) -> data, an array.
    constants : tuple of numpy.ndarray
        Known to the density, after the data.
    """

    dim: int
    logdensity: object
    prior: object
    simulate: object
    constants: tuple = ()

    def target(self, data, power=1.0):
        """The posterior of `data`; with another power than 1, a wrong one."""
        return Target(self.logdensity, dim=self.dim, data=(data, *self.constants, power))

    def log_likelihood(self, theta, data):
        """Return the log likelihood: with the power 1, less that with none."""
        whole, prior = (self.logdensity(theta, data, *self.constants, p) for p in (1.0, 0.0))
        return whole - prior


# A normal sample: mean and log standard deviation.


def normal_density(theta, y, power):
    mean, log_sd = theta[0], theta[1]
    total = -0.5 * mean**2 - 0.5 * (log_sd / 0.5) ** 2
    for i in range(y.size):
        total -= power * (0.5 * ((y[i] - mean) / math.exp(log_sd)) ** 2 + log_sd)
    return total


def normal_prior(rng):
    return rng.standard_normal(2) * [1.0, 0.5]


def normal_simulate(theta, rng):
    return theta[0] + np.exp(theta[1]) * rng.standard_normal(10)


# Counts with a trend: intercept and slope of a log rate.

TREND = np.linspace(-1.0, 1.0, 8)


def counts_density(theta, y, x, power):
    total = -0.5 * (theta[0] / 0.7) ** 2 - 0.5 * (theta[1] / 0.7) ** 2
    for i in range(x.size):
        log_rate = 1.0 + theta[0] + theta[1] * x[i]
        total += power * (y[i] * log_rate - math.exp(log_rate))
    return total


def counts_prior(rng):
    return 0.7 * rng.standard_normal(2)


def counts_simulate(theta, rng):
    return rng.poisson(np.exp(1.0 + theta[0] + theta[1] * TREND)).astype(float)


# Groups that share what they know: mean, log spread, and each group's standardised effect.

GROUPS, REPEATS = 4, 3


def groups_density(theta, y, power):
    mean, log_spread = theta[0], theta[1]
    total = -0.5 * mean**2 - 0.5 * (log_spread / 0.5) ** 2
    spread = math.exp(log_spread)
    for j in range(GROUPS):
        total -= 0.5 * theta[2 + j] ** 2
        for i in range(REPEATS):
            total -= power * 0.5 * (y[j, i] - mean - spread * theta[2 + j]) ** 2
    return total


def groups_prior(rng):
    return rng.standard_normal(2 + GROUPS) * np.r_[1.0, 0.5, np.ones(GROUPS)]


def groups_simulate(theta, rng):
    effects = theta[0] + np.exp(theta[1]) * theta[2:]
    return effects[:, None] + rng.standard_normal((GROUPS, REPEATS))


MODELS = {
    "normal": Model(2, normal_density, normal_prior, normal_simulate),
    "counts": Model(2, counts_density, counts_prior, counts_simulate, (TREND,)),
    "groups": Model(2 + GROUPS, groups_density, groups_prior, groups_simulate),
}
