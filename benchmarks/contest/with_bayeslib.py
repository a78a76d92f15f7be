"""bayeslib, on densities as a reader would write them.

Variants: "hand", a hand-written gradient; "auto", the same log density differentiated by the
library. For the logistic regression "hand" is the library's own model, which has its gradient and
is compiled but once for all data; "auto" a density that calls the library's log likelihood; "naive"
one that loops over the rows, "arrays" one of whole arrays. Data and densities equal the peers' up
to constants.
"""

import numpy as np

from bayeslib import Target, log1pexp, logistic_log_likelihood, nuts

from . import problems

UNIT = 1.0  # compiled into every density as a constant; `Contestant` sets it


def gaussian(theta, precision):
    total = 0.0
    for i in range(theta.size):
        row = 0.0
        for j in range(theta.size):
            row += precision[i, j] * theta[j]
        total += row * theta[i]
    return -0.5 * UNIT * total


def gaussian_arrays(theta, precision):
    return -0.5 * UNIT * (theta @ (precision @ theta))


def gaussian_fused(theta, grad, precision):
    total = 0.0
    for i in range(theta.size):
        row = 0.0
        for j in range(theta.size):
            row += precision[i, j] * theta[j]
        grad[i] = -UNIT * row
        total += row * theta[i]
    return -0.5 * UNIT * total


def funnel(theta):
    v, squares = theta[0], 0.0
    for i in range(1, theta.size):
        squares += theta[i] ** 2
    return -UNIT * v * v / 18.0 - 0.5 * squares * np.exp(-v) - 0.5 * (theta.size - 1) * v


def funnel_fused(theta, grad):
    v, squares = theta[0], 0.0
    shrink = np.exp(-v)
    for i in range(1, theta.size):
        squares += theta[i] * theta[i]
        grad[i] = -shrink * theta[i]
    grad[0] = -UNIT * v / 9.0 + 0.5 * squares * shrink - 0.5 * (theta.size - 1)
    return -UNIT * v * v / 18.0 - 0.5 * squares * shrink - 0.5 * (theta.size - 1) * v


def schools(theta, y, sigma):
    mu, log_tau = theta[0], theta[1]
    tau = np.exp(log_tau)
    total = -0.5 * UNIT * mu * mu / 25.0 - np.log1p((tau / 5.0) ** 2) + log_tau
    for j in range(y.size):
        z = (y[j] - mu - tau * theta[2 + j]) / sigma[j]
        total -= 0.5 * theta[2 + j] ** 2 + 0.5 * z * z
    return total


def schools_fused(theta, grad, y, sigma):
    mu, log_tau = theta[0], theta[1]
    tau = np.exp(log_tau)
    spread = tau * tau / 25.0
    total = -0.5 * UNIT * mu * mu / 25.0 - np.log1p(spread) + log_tau
    slope_mu, slope_tau = -UNIT * mu / 25.0, 0.0
    for j in range(y.size):
        eta = theta[2 + j]
        z = (y[j] - mu - tau * eta) / sigma[j]
        pull = z / sigma[j]
        total -= 0.5 * (eta * eta + z * z)
        grad[2 + j] = tau * pull - eta
        slope_mu += pull
        slope_tau += eta * pull
    grad[0] = slope_mu
    grad[1] = slope_tau * tau + 1.0 - 2.0 * spread / (1.0 + spread)
    return total


def logistic_loop(theta, rows, labels):
    total = 0.0
    for j in range(theta.size):
        total -= 0.5 * UNIT * theta[j] ** 2
    for i in range(labels.size):
        s = 0.0
        for j in range(theta.size):
            s += rows[i, j] * theta[j]
        total += labels[i] * s - max(s, 0.0) - np.log1p(np.exp(-abs(s)))
    return total


def logistic_arrays(theta, rows, labels):
    s = rows @ theta
    return np.sum(labels * s - log1pexp(s)) - 0.5 * UNIT * np.sum(theta**2)


def logistic_helper(theta, rows, labels):
    total = 0.0
    for j in range(theta.size):
        total -= 0.5 * UNIT * theta[j] ** 2
    return total + logistic_log_likelihood(theta, rows, labels)


def ar(theta):
    steps = theta[1:] - problems.CORRELATION * theta[:-1]
    return -0.5 * UNIT * (theta[0] ** 2 + np.sum(steps**2) / (1.0 - problems.CORRELATION**2))


def groups(theta, y, group):
    mu, log_tau, eta = theta[0], theta[1], theta[2:]
    z = (y - mu - np.exp(log_tau) * eta[group]) / problems.NOISE
    prior = -0.5 * UNIT * (mu / 5.0) ** 2 - 0.5 * log_tau**2 - 0.5 * np.sum(eta**2)
    return prior - 0.5 * np.sum(z**2)


REGRESSIONS = {"naive": logistic_loop, "arrays": logistic_arrays, "auto": logistic_helper}
PAIRS = {
    "ar": (ar, None),
    "groups": (groups, None),
    "gaussian_2": (gaussian, gaussian_fused),
    "gaussian_100": (gaussian_arrays, gaussian_fused),
    "funnel_10": (funnel, funnel_fused),
    "schools": (schools, schools_fused),
}


def _logistic(variant, data, dim):
    if variant == "hand":
        from bayeslib import posteriors  # the others need no exact truths

        return posteriors.logistic_regression(*data, prior_scale=UNIT**-0.5)
    return Target(REGRESSIONS[variant], dim=dim, data=data)


class Contestant:
    """A target, and `nuts` as its defaults have it."""

    def __init__(self, posterior, variant, unit, seed):
        global UNIT
        UNIT = unit
        data, dim = problems.data(posterior), problems.dim(posterior)
        if posterior == "logistic" or problems.family(posterior) == "rows":
            self.target = _logistic(variant, data, dim)
        else:
            plain, fused = PAIRS[problems.family(posterior)]
            fused = fused if variant == "hand" else None
            self.target = Target(plain, dim=dim, data=data, fused=fused)

    def call(self, seed):
        return nuts(
            self.target, rng=seed, num_chains=problems.NUM_CHAINS, progress=False,
            target_accept=problems.TARGET_ACCEPT, num_warmup=problems.NUM_WARMUP,
            num_samples=problems.NUM_SAMPLES,
        )  # fmt: skip

    def read(self, draws):
        problems_found = list(draws.summary().problems)
        return draws.values, {"num_gradients": draws.num_evals, "problems": problems_found}
