"""How the random walk learns its proposal in the warm-up.

First it moves one coordinate at a time, which finds the scale of each within some twenty moves,
however many powers of ten they lie apart. Then it moves all together and learns their variances or
covariance, in windows that double. Last it settles the common factor.

`root` is the proposal's standard deviations, shape (1, dim), or the lower Cholesky factor of its
covariance, (dim, dim); both are multiplied by a common factor, tuned to an acceptance rate.
"""

import numpy as np

from ..compile.callback import helper

# The state: logarithm of the factor, its average, steps since the window began, the window.
FACTOR, AVERAGE, COUNT, WINDOW = range(4)

JUMP = 2.38  # times the posterior's scale over sqrt(dim): the best step for a Gaussian
# Acceptance rates at which the random walk mixes fastest, for 1, 2, … dimensions
# (Gelman, Roberts and Gilks, 1996); the last holds beyond.
BEST_ACCEPTANCE = (0.44, 0.35, 0.28, 0.26, 0.234)

_MOVES = 25  # of each coordinate, at most, before all move together
_PRIOR = 5.0  # draws that the old scales count for when new ones are learned


def walk_windows(num_warmup, dim):
    """Return where the windows of the warm-up end: single moves, learning, and the factor's.

    Returns
    -------
    numpy.ndarray of int64
        Only one, of single moves, for fewer than 50 iterations.
    """
    if num_warmup < 50:
        return np.array([num_warmup])
    end = min(max(_MOVES * dim, num_warmup // 10), 2 * num_warmup // 5)
    stop, size = num_warmup - num_warmup // 5, 25 + 5 * dim
    ends = [end]
    while end < stop:
        end, size = end + size, 2 * size
        if end + size > stop:
            end = stop
        ends.append(end)
    return np.array([*ends, num_warmup])


@helper
def adapt_one(t, end, ratio, state, root, moments, start):
    """Move the logarithm of one coordinate's scale, row 0 of `moments`; row 1 is its average."""
    dim = root.shape[1]
    i, n = t % dim, t // dim + 1.0
    accepted, best = np.exp(min(ratio, 0.0)), BEST_ACCEPTANCE[0]
    moments[0, i] += (accepted - best) * n**-0.6 / (best * (1.0 - best)) ** 0.5
    moments[1, i] += n**-0.75 * (moments[0, i] - moments[1, i])
    if t + 1 == end:
        for j in range(dim):
            root[j if root.shape[0] > 1 else 0, j] = np.exp(moments[1, j]) / JUMP
        moments[:] = 0.0
        state[FACTOR] = state[AVERAGE] = start
        state[WINDOW] = 1.0


@helper
def adapt_factor(state, ratio, best):
    """Move the logarithm of the factor towards the best acceptance (Robbins and Monro, 1951)."""
    state[COUNT] += 1.0
    n = state[COUNT]
    accepted = np.exp(min(ratio, 0.0))
    state[FACTOR] += (accepted - best) * n**-0.6 / (best * (1.0 - best)) ** 0.5
    weight = n**-0.75  # recent values count more, as in Nesterov's dual averaging
    state[AVERAGE] += weight * (state[FACTOR] - state[AVERAGE])


@helper
def adapt_root(t, ends, state, position, root, moments, start):
    """Learn the proposal's shape from the draws of this window; begin the next at its end."""
    window = int(state[WINDOW])
    inside = window < ends.size - 1
    if inside:
        _add(position, t - ends[window - 1] + 1.0, root.shape[0] > 1, moments)
    if t + 1 != ends[window]:
        return
    if inside:
        n = float(ends[window] - ends[window - 1])
        _learn(n, root, moments)
        # What the first window learns are other scales, to which the factor did not belong.
        state[FACTOR] = start if window == 1 else state[AVERAGE]
        state[AVERAGE] = state[FACTOR]
    moments[:] = 0.0
    state[COUNT] = 0.0
    state[WINDOW] += 1.0


@helper
def _add(position, n, dense, moments):
    """Update mean (row 0) and sums of squares or products (lower triangle; Welford, 1962)."""
    dim = position.size
    for i in range(dim):
        moments[0, i] += (position[i] - moments[0, i]) / n
    if n < 2.0:
        return
    # The deviation from the old mean is that from the new one times n / (n - 1).
    for i in range(dim):
        change = position[i] - moments[0, i]
        if dense:
            for j in range(i + 1):
                moments[1 + i, j] += change * (position[j] - moments[0, j]) * n / (n - 1.0)
        else:
            moments[1, i] += change * change * n / (n - 1.0)


@helper
def _learn(n, root, moments):
    """Set `root` from the window's moments, shrunk a little to what it was."""
    dim = root.shape[1]
    if root.shape[0] == 1:
        for i in range(dim):
            variance = moments[1, i] / max(n - 1.0, 1.0)
            old = root[0, i] * root[0, i]
            root[0, i] = np.sqrt((n * variance + _PRIOR * old) / (n + _PRIOR))
        return
    for i in range(dim):
        old = 0.0
        for j in range(i + 1):
            old += root[i, j] * root[i, j]
        variance = moments[1 + i, i] / max(n - 1.0, 1.0)
        moments[1 + i, i] = (n * variance + _PRIOR * old) / (n + _PRIOR)
    # Fewer draws than dimensions say nothing of correlations: these are shrunk the more.
    weight = n / ((n + _PRIOR + dim) * max(n - 1.0, 1.0))
    for i in range(dim):
        for j in range(i):
            total = moments[1 + i, j] * weight
            for k in range(j):
                total -= root[i, k] * root[j, k]
            root[i, j] = total / root[j, j]
        rest = moments[1 + i, i]
        for k in range(i):
            rest -= root[i, k] * root[i, k]
        root[i, i] = np.sqrt(rest)
