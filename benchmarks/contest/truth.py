"""The exact means of the contest's posteriors, in the coordinates of `problems`."""

import numpy as np
from scipy import optimize, special

from bayeslib import posteriors

from . import problems

NUM_PAIRS = 100_000


def mean(name):
    """Return the mean, (dim,), and its standard error, (dim,), which is 0 where it is exact."""
    dim = problems.PROBLEMS[name].dim
    if name == "schools":
        return posteriors.eight_schools(centered=False).truth.mean, np.zeros(dim)
    if name == "logistic":
        return _logistic_mean(*problems.data(name))
    return np.zeros(dim), np.zeros(dim)


def _logistic_mean(rows, labels):
    """Importance sampling from a Student-t at the mode, in pairs mirrored at the mode."""

    def negative(theta):
        s = rows @ theta
        value = 0.5 * theta @ theta - s @ labels + np.logaddexp(0.0, s).sum()
        return value, theta - rows.T @ (labels - special.expit(s))

    mode = optimize.minimize(negative, np.zeros(rows.shape[1]), jac=True, tol=1e-10).x
    variance = special.expit(rows @ mode) * special.expit(-rows @ mode)
    precision = np.eye(mode.size) + rows.T @ (variance[:, None] * rows)
    root = np.linalg.inv(np.linalg.cholesky(precision)).T
    rng, degrees = np.random.default_rng(2), 50.0
    blocks = []
    for _ in range(NUM_PAIRS // 5000):
        z = rng.standard_normal((5000, mode.size))
        z /= np.sqrt(rng.chisquare(degrees, size=(5000, 1)) / degrees)
        log_proposal = -0.5 * (degrees + mode.size) * np.log1p((z**2).sum(axis=1) / degrees)
        steps = z @ root.T
        both = []
        for sign in (1.0, -1.0):
            theta = mode + sign * steps
            s = theta @ rows.T
            value = s @ labels - np.logaddexp(0.0, s).sum(axis=1) - 0.5 * (theta**2).sum(axis=1)
            both.append(np.exp(value + negative(mode)[0] - log_proposal))
        blocks.append((both[0] + both[1], (both[0] - both[1])[:, None] * steps))
    weights, moved = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    shift = moved.sum(axis=0) / weights.sum()
    residuals = moved - weights[:, None] * shift
    return mode + shift, np.sqrt(np.square(residuals).sum(axis=0)) / weights.sum()
