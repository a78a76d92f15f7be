"""Small densities with exact samplers, for the tests of the samplers."""

import math

import numpy as np

from bayeslib import Target, hmc, metropolis, nuts, posteriors


def correlated(theta, precision):
    total = 0.0
    for i in range(theta.size):
        for j in range(theta.size):
            total += precision[i, j] * theta[i] * theta[j]
    return -0.5 * total


COV = np.array([[1.0, 0.8], [0.8, 2.0]])
METRICS = {"identity": None, "diagonal": [0.5, 2.0], "dense": [[1.0, 0.5], [0.5, 0.8]]}


def gaussian2():
    return Target(correlated, dim=2, data=(np.linalg.inv(COV),))


def sample_gaussian2(num_samples, rng):
    return rng.standard_normal((num_samples, 2)) @ np.linalg.cholesky(COV).T


def gaussian20():
    """Correlated, with scales from 0.05 to 20."""
    distance = np.abs(np.subtract.outer(np.arange(20), np.arange(20)))
    scales = np.exp(np.linspace(-3.0, 3.0, 20))
    return posteriors.gaussian(np.arange(20.0), 0.8**distance * np.outer(scales, scales))


def log_gamma_normal(theta):
    return 3.0 * theta[0] - math.exp(theta[0]) - 0.5 * ((theta[1] - 0.5 * theta[0]) / 0.7) ** 2


def log_gamma_normal_fused(theta, grad):
    miss = (theta[1] - 0.5 * theta[0]) / 0.7**2
    grad[0] = 3.0 - math.exp(theta[0]) + 0.5 * miss
    grad[1] = -miss
    return log_gamma_normal(theta)


def sample_log_gamma_normal(num_samples, rng):
    first = np.log(rng.gamma(3.0, size=num_samples))
    return np.column_stack([first, 0.5 * first + 0.7 * rng.standard_normal(num_samples)])


def mixture(theta):
    near = -0.5 * (theta[0] + 1.0) ** 2
    far = -0.5 * ((theta[0] - 1.5) / 0.5) ** 2 - math.log(0.5)
    return math.log(0.4 * math.exp(near) + 0.6 * math.exp(far))


def sample_mixture(num_samples, rng):
    near = rng.random(num_samples) < 0.4
    z = rng.standard_normal(num_samples)
    return np.where(near, z - 1.0, 0.5 * z + 1.5)[:, None]


def funnel(theta):
    return -0.5 * (theta[0] / 1.5) ** 2 - 0.5 * theta[1] ** 2 * math.exp(-theta[0]) - 0.5 * theta[0]


def sample_funnel(num_samples, rng):
    first = 1.5 * rng.standard_normal(num_samples)
    return np.column_stack([first, np.exp(0.5 * first) * rng.standard_normal(num_samples)])


def truncated(theta):
    return -0.5 * theta[0] ** 2 if theta[0] > -0.5 else -math.inf


def minus_theta(theta):
    return -theta


def sample_truncated(num_samples, rng):
    draws = rng.standard_normal(4 * num_samples)
    return draws[draws > -0.5][:num_samples, None]


def standard(theta):
    return -0.5 * theta[0] ** 2


def exponential(theta):
    return -theta[0] if theta[0] > 0.0 else -math.inf


def elliptic(theta, freedom):
    """Student's density about zero, in as many dimensions as there are."""
    return -0.5 * (freedom + theta.size) * np.log1p(np.sum(theta**2) / freedom)


def cut_off(theta, end, value):
    """A standard normal density up to an end, and `value` from there on."""
    return -0.5 * theta[0] ** 2 if theta[0] < end else value


def raising(theta, end):
    """A standard normal density up to an end, beyond which it raises."""
    if theta[0] > end:
        raise ValueError("too far")
    return -0.5 * theta[0] ** 2


def slow(theta, size):
    """A normal density that takes as long as `size` sines."""
    total = 0.0
    for i in range(size):
        total += math.sin(theta[0] + i)
    return -0.5 * theta[0] ** 2 + 1e-12 * total


def slope(function, theta, *data):
    """The gradient by central differences of order eight."""
    gradient = np.zeros(theta.size)
    for i, direction in enumerate(np.eye(theta.size)):
        step = 0.01 * direction * np.clip(abs(theta[i]), 0.25, 1.0)
        for j, weight in enumerate((4 / 5, -1 / 5, 4 / 105, -1 / 280), 1):
            up, down = (function(theta + s * j * step, *data) for s in (1, -1))
            gradient[i] += weight * (up - down) / step[i]
    return gradient


# Short runs of three samplers, for what is the same in all.
SHORT = {"num_samples": 200, "num_warmup": 150, "rng": 11}
SAMPLERS = {
    "metropolis": lambda **options: metropolis(gaussian2(), None, **options),
    "hmc": lambda **options: hmc(gaussian2(), num_steps=4, **options),
    "nuts": lambda **options: nuts(gaussian2(), **options),
}

EXACT = {
    "log_gamma_normal": (
        Target(log_gamma_normal, dim=2, fused=log_gamma_normal_fused),
        sample_log_gamma_normal,
    ),
    "mixture": (Target(mixture, dim=1), sample_mixture),
    "funnel": (Target(funnel, dim=2), sample_funnel),
    "truncated": (Target(truncated, dim=1, gradient=minus_theta), sample_truncated),
}
