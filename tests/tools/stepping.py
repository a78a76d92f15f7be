"""Judging one transition: many short chains from exact draws."""

import numpy as np
from recording import measured, note

# 8 moments, two sides, alpha = 1e-6: norm.isf(1e-6 / 16) is 5.3.
Z_LIMIT = 5.6


def moments(x):
    """Eight functions of a state, (n, dim) -> (n, 8); bounded where tails may be heavy."""
    a, b = x[:, 0], x[:, -1]
    if x.shape[1] == 1:
        columns = [a, a**2, np.tanh(2 * a), abs(a), a > 1, a < 0, np.cos(2 * a), np.sin(2 * a)]
    else:
        t = np.tanh(b)
        columns = [a, a**2, t, t**2, a * t, a > 1, np.cos(b), a < -1]
    return np.column_stack(columns).astype(float)


def paired_z(before, after, *, right):
    """z of each moment's mean change, and the smallest bias seen with probability 0.999, in sd.

    `right`, here and below, is what the program is, for the record: not planted with a bug.
    """
    change = moments(after) - moments(before)
    error = change.std(axis=0, ddof=1) / np.sqrt(len(change))
    z, seen = change.mean(axis=0) / error, (Z_LIMIT + 3.1) * error / moments(before).std(axis=0)
    measured("conservation", z, Z_LIMIT, right=right)
    if right:
        note("power", bias=seen.max())
    return z, seen


def swap_z(x, y, *more, right):
    """z of four antisymmetric functions of (x, y): zero on average if the kernel is reversible.

    `more` are the values of others, (n,) each.
    """
    a, b = x[:, 0], y[:, 0]
    pairs = [
        np.tanh(a) * np.cos(b) - np.tanh(b) * np.cos(a),
        a * (b > 0.5) - b * (a > 0.5),
        np.sin(2 * (b - a)),
        (b > a + 0.3) * 1.0 - (a > b + 0.3),
        *more,
    ]
    pairs = np.column_stack(pairs)
    z = pairs.mean(axis=0) / (pairs.std(axis=0, ddof=1) / np.sqrt(len(pairs)))
    measured("reversibility", z, Z_LIMIT, right=right)
    return z


def batch_z(values, truth, *, right):
    """z of means of chains (num_chains, n, ...) by 50 batch means a chain: no ESS of our own."""
    num_chains, n, *rest = values.shape
    batches = values[:, : n - n % 50].reshape(num_chains * 50, -1, *rest).mean(axis=1)
    error = batches.std(axis=0, ddof=1) / np.sqrt(len(batches))
    z = (batches.mean(axis=0) - truth) / error
    measured("means of batches", z, Z_LIMIT, right=right)
    return z


def moments_z(values, mean, cov, *, right):
    """`batch_z` of the means and of all second moments about the exact mean."""
    away, (i, j) = values - mean, np.tril_indices(len(cov))
    found = np.concatenate([away, away[:, :, i] * away[:, :, j]], axis=2)
    return batch_z(found, np.append(np.zeros(len(cov)), cov[i, j]), right=right)


def check_moments(values, mean, cov):
    """Assert that chains have this mean and covariance, and not one a fifth larger."""
    assert np.abs(moments_z(values, mean, cov, right=True)).max() < Z_LIMIT
    assert np.abs(moments_z(values, mean, 1.2 * cov, right=False)).max() > Z_LIMIT
