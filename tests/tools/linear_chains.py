"""Chains of steps that are linear in the state, with the law that they settle in, exactly.

The gradient is g = pull - precision @ theta, with one pull and one precision for each batch that
may be drawn; all batches are equally likely.
"""

from itertools import combinations, product

import numpy as np


def law(maps, shifts, noise):
    """Return mean and covariance of x' = F x + c + N(0, noise) when it has settled.

    F and c are those of a batch drawn at random, (num_batches, d, d) and (num_batches, d).
    """
    d = maps.shape[1]
    mean = np.linalg.solve(np.eye(d) - maps.mean(axis=0), shifts.mean(axis=0))
    # about the mean, y' = F y + e with e = F mean + c - mean, which has mean zero over batches
    rest = maps @ mean + shifts - mean
    constant = np.einsum("bi,bj->ij", rest, rest) / len(rest) + noise
    square = np.einsum("bij,bkl->ikjl", maps, maps).reshape(d * d, d * d) / len(maps)
    assert abs(np.linalg.eigvals(square)).max() < 1.0, "the chain does not settle"
    cov = np.linalg.solve(np.eye(d * d) - square, constant.ravel()).reshape(d, d)
    return mean, cov


def langevin(precisions, pulls, *, step_size, gradient_noise=0.0, metric=None):
    """Return maps, shifts and noise of a step of SGLD."""
    dim = precisions.shape[1]
    metric, noise = as_matrix(metric, dim), as_matrix(gradient_noise, dim)
    maps = np.eye(dim) - 0.5 * step_size * metric @ precisions
    shifts = 0.5 * step_size * pulls @ metric
    return maps, shifts, step_size * metric + 0.25 * step_size**2 * metric @ noise @ metric


def hamilton(
    precisions, pulls, *, step_size, friction, noise_estimate=0.0, gradient_noise=0.0, metric=None
):
    """Return maps, shifts and noise of a step of SGHMC, on (position, momentum)."""
    dim, eps = precisions.shape[1], step_size
    metric, noise = as_matrix(metric, dim), as_matrix(gradient_noise, dim)
    friction, known = as_matrix(friction, dim), as_matrix(noise_estimate, dim)
    maps = np.zeros((len(precisions), 2 * dim, 2 * dim))
    maps[:, :dim, :dim], maps[:, :dim, dim:] = np.eye(dim), eps * metric
    maps[:, dim:, :dim] = -eps * precisions
    maps[:, dim:, dim:] = np.eye(dim) - eps**2 * precisions @ metric - eps * friction @ metric
    shifts = np.concatenate([0.0 * pulls, eps * pulls], axis=1)
    total = np.zeros((2 * dim, 2 * dim))
    total[dim:, dim:] = eps**2 * noise + 2.0 * eps * (friction - known)
    return maps, shifts, total


def as_matrix(value, dim):
    """Return a (dim, dim) matrix: the identity for None; numbers are those of the diagonal."""
    value = 1.0 if value is None else np.asarray(value, dtype=float)
    return value if np.ndim(value) == 2 else np.diag(np.broadcast_to(value, dim))


def batches(num_rows, batch_size, *, replace=False):
    """Return all batches, each as likely as another, (num_batches, batch_size)."""
    if replace:
        return np.array(list(product(range(num_rows), repeat=batch_size)))
    return np.array(list(combinations(range(num_rows), batch_size)))


def regression_batches(X, y, noise_scale, prior_scale, chosen):
    """Return each batch's precision and pull, for a linear regression."""
    scale = len(y) / chosen.shape[1] / noise_scale**2
    prior = np.eye(X.shape[1]) / prior_scale**2
    precisions = np.array([prior + scale * X[rows].T @ X[rows] for rows in chosen])
    return precisions, np.array([scale * X[rows].T @ y[rows] for rows in chosen])
