"""The compiled loop of the No-U-Turn Sampler, and how it learns the metric in its warm-up."""

import numpy as np
from numba import types

from ..engine import (
    ADDRESS,
    FLOAT,
    GENERATOR,
    HANDLE,
    INT,
    INTS,
    MATRIX,
    STATUS,
    VECTOR,
    borrowed,
    helper,
    kernel,
)
from .kernels import AVERAGE, BEGUN, STEP, WINDOW, adapt_step_size, begin_step_size
from .tree import ACCEPTANCE, BROKEN, DEPTH, DIVERGED, ENERGY, FULL, SOURCE, STEPS, copy, transition

# After the state that it shares with hmc: draws in the two estimates of a diagonal metric.
FRONT, BACK = 7, 8
STATE_SIZE = 9
# What is learned: nothing, the diagonal from draws and gradients, or the covariance of the draws.
UNIT, DIAGONAL, DENSE = range(3)

COUNTS, SIGNS = INT[:, ::1], types.boolean[:, ::1]

_SMALLEST, _LARGEST = 1e-20, 1e20
_FEWEST = 4  # draws before a variance is believed


@helper
def add_to_moments(x, count, mean, squares):
    """Update a running mean and sum of squared deviations (Welford, 1962)."""
    for i in range(x.size):
        change = x[i] - mean[i]
        mean[i] += change / count
        squares[i] += change * (x[i] - mean[i])


@helper
def learn_diagonal(position, gradient, switch, state, moments, metric, root):
    """Set the diagonal of M^-1 to the sd of the draws over the sd of the gradients.

    Rows 0 to 3 of `moments` are what is used: mean and squares of draws, then of gradients. Rows
    4 to 7 started later and take over at a switch, so that early draws are forgotten.
    """
    state[FRONT] += 1.0
    state[BACK] += 1.0
    add_to_moments(position, state[FRONT], moments[0], moments[1])
    add_to_moments(gradient, state[FRONT], moments[2], moments[3])
    add_to_moments(position, state[BACK], moments[4], moments[5])
    add_to_moments(gradient, state[BACK], moments[6], moments[7])
    if switch:
        for k in range(4):
            for i in range(position.size):
                moments[k, i] = moments[4 + k, i]
                moments[4 + k, i] = 0.0
        state[FRONT] = state[BACK]
        state[BACK] = 0.0
    if state[FRONT] < _FEWEST:
        return False
    for i in range(position.size):
        variance = np.sqrt(moments[1, i] / moments[3, i])
        if _SMALLEST < variance < _LARGEST:  # false for nan: a draw that never moved
            metric[0, i] = variance
            root[0, i] = np.sqrt(variance)
    return True


@helper
def factorise(matrix):
    """Write the Cholesky factor below and on the diagonal; say whether there is one."""
    for j in range(matrix.shape[0]):
        for i in range(j, matrix.shape[0]):
            total = matrix[j, i]  # the upper triangle stays as it was
            for k in range(j):
                total -= matrix[i, k] * matrix[j, k]
            if i == j:
                if not total > 0.0:
                    return False
                matrix[j, j] = np.sqrt(total)
            else:
                matrix[i, j] = total / matrix[j, j]
    return True


@helper
def learn_covariance(position, switch, state, moments, metric, root):
    """Set M^-1 to the regularised covariance of the window's draws at its end, as Stan does.

    Row 0 of `moments` is the mean, the others the sums of products, upper triangle.
    """
    dim = position.size
    state[FRONT] += 1.0
    n = state[FRONT]
    for i in range(dim):
        moments[0, i] += (position[i] - moments[0, i]) / n
    # The deviation from the old mean is that from the new one times n / (n - 1).
    if n > 1.0:
        for i in range(dim):
            change = (position[i] - moments[0, i]) * n / (n - 1.0)
            for j in range(i, dim):
                moments[1 + i, j] += change * (position[j] - moments[0, j])
    if not switch:
        return False
    weight, ridge = n / ((n + 5.0) * max(n - 1.0, 1.0)), 1e-3 * 5.0 / (n + 5.0)
    for i in range(dim):
        for j in range(i, dim):
            moments[1 + i, j] *= weight
        moments[1 + i, i] += ridge
    found = factorise(moments[1:])
    if found:
        for i in range(dim):
            metric[i, i] = 0.0
            for j in range(i + 1):
                root[i, j] = moments[1 + i, j]
                metric[i, i] += root[i, j] * root[i, j]
            for j in range(i + 1, dim):
                metric[i, j] = metric[j, i] = moments[1 + i, j]
    for i in range(dim + 1):
        for j in range(dim):
            moments[i, j] = 0.0
    state[FRONT] = 0.0
    return found


@helper
def adapt_metric(t, ends, learned, position, gradient, state, moments, metric, root):
    """Learn from this draw, in every window but the last; say whether to search a step anew."""
    window = int(state[WINDOW])
    if window == ends.size - 1 or learned == UNIT:
        return False
    switch = t + 1 == ends[window]
    if switch:
        state[WINDOW] += 1.0
    if learned == DENSE:
        if window > 0:
            return learn_covariance(position, switch, state, moments, metric, root)
        return False
    is_new = state[FRONT] < _FEWEST
    switch = switch and window < ends.size - 2  # the last window's end takes nothing over
    return learn_diagonal(position, gradient, switch, state, moments, metric, root) and is_new


@kernel(
    INT, ADDRESS, HANDLE, GENERATOR, INT, INT, INT, INT, FLOAT, INTS, VECTOR, VECTOR, VECTOR,
    MATRIX, MATRIX, MATRIX, VECTOR, MATRIX, INTS, MATRIX, MATRIX, MATRIX, COUNTS, SIGNS, MATRIX,
)  # fmt: skip
def nuts_kernel(
    address, handle, rng, first, last, max_depth, learned, wanted, ends, position, gradient,
    current, metric, root, moments, state, work, counts, points, draws, numbers, whole, flags,
    divergences,
):  # fmt: skip
    """Do the iterations first, …, last - 1, of which the first ``ends[-1]`` are warm-up.

    `current` holds the log density at `position` and how many divergences were noted, `gradient`
    the gradient there. `learned` says what of the metric, `wanted` the acceptance rate to aim at
    (0 keeps the step). `ends` are the windows of `metric`'s adaptation, then of the step size's.
    Rows of `numbers` receive log density, acceptance rate, energy, step size; of `whole`, depth and
    steps; of `flags`, diverging and reached_max_treedepth. Returns where it stopped.
    """
    dim = position.size
    handle, metric, root = borrowed(handle), borrowed(metric), borrowed(root)
    position, gradient, work = borrowed(position), borrowed(gradient), borrowed(work)
    found = np.empty(4)
    q, p, g = work[0, :dim], work[1, :dim], work[2, :dim]
    num_warmup = ends[ends.size - 1]
    lp = current[0]
    for t in range(first, last):
        if wanted > 0.0 and t < num_warmup and state[BEGUN] == 0.0:
            begin_step_size(
                address, handle, rng, position, gradient, lp, metric, root, state, counts, q, p, g
            )
            state[BEGUN] = 1.0
            if handle[handle.size - 1] != 0 or counts[STATUS] != 0:
                copy(position, points[1])
                return t
        lp, end = transition(
            address, handle, rng, position, gradient, lp, root, state[STEP], max_depth, work,
            counts, points, found,
        )  # fmt: skip
        if end == BROKEN:
            return t
        current[0] = lp
        if t < num_warmup:
            if wanted > 0.0:
                adapt_step_size(state, found[ACCEPTANCE], wanted)
                if adapt_metric(t, ends, learned, position, gradient, state, moments, metric, root):
                    state[BEGUN] = 0.0
                if t + 1 == num_warmup:
                    state[STEP] = np.exp(state[AVERAGE])
            continue
        n = t - num_warmup
        for i in range(dim):
            draws[n, i] = position[i]
        numbers[0, n] = lp
        numbers[1, n] = found[ACCEPTANCE]
        numbers[2, n] = found[ENERGY]
        numbers[3, n] = state[STEP]
        whole[0, n] = int(found[DEPTH])
        whole[1, n] = int(found[STEPS])
        flags[0, n] = end == DIVERGED
        flags[1, n] = end == FULL
        if end == DIVERGED and current[1] < divergences.shape[0]:
            for i in range(dim):
                divergences[int(current[1]), i] = work[SOURCE, i]
            current[1] += 1.0
    return last
