"""The compiled loop of the No-U-Turn Sampler, and how it learns the metric in its warm-up."""

import numpy as np
from numba import types

from ..chains.blocks import NUM_OUTSIDE, STATUS
from ..compile.callback import (
    ADDRESS,
    FLOAT,
    GENERATOR,
    HANDLE,
    INT,
    INTS,
    MATRIX,
    VECTOR,
    borrowed,
    helper,
    kernel,
)
from .kernels import AVERAGE, BEGUN, STEP, WINDOW, adapt_step_size, begin_step_size
from .tree import ACCEPTANCE, BROKEN, DEPTH, DIVERGED, ENERGY, FULL, SOURCE, STEPS, copy, transition

# After the state that it shares with hmc: draws in the two estimates of a diagonal metric, depth of
# the last trajectory of the warm-up that was let grow, transitions watched and how many were lost.
FRONT, BACK, REACHED, WATCHED, LOST = 7, 8, 9, 10, 11
STATE_SIZE = 12
# What is learned: nothing, the diagonal from draws and gradients, or the covariance of the draws.
UNIT, DIAGONAL, DENSE = range(3)

COUNTS, SIGNS = INT[:, ::1], types.boolean[:, ::1]

_SMALLEST, _LARGEST = 1e-20, 1e20
_FEWEST = 4  # draws before a variance is believed
_FULL_EVERY = 8  # iterations of the warm-up from one full trajectory to the next
_LOST = 0.01  # an acceptance rate below it: the step was unstable where the trajectory went
_FEW_LOST = 1.0 / 1500.0
_LEAST = 0.7  # of the averaged step; a funnel is to show its divergences
_STEEPNESS = 8.0  # the share of lost transitions grows about as this power of the step


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


@helper
def warmup_depth(t, ends, state, max_depth):
    """How often a trajectory of the warm-up may double: most stop one short of the last full one.

    They cost half and teach the metric as much. The first tenth and the last window are full.
    """
    num_warmup = ends[ends.size - 1]
    if t % _FULL_EVERY == 0 or 10 * t < num_warmup or 20 * t >= 17 * num_warmup:
        return max_depth
    return min(max_depth, max(int(state[REACHED]) - 1, 1))


@helper
def watch(t, num_warmup, state, probability, step_size):
    """Count lost transitions among those of the usual step, after the first fifth."""
    if 5 * t >= num_warmup and step_size <= 1.1 * np.exp(state[AVERAGE]):
        state[WATCHED] += 1.0
        if probability < _LOST:
            state[LOST] += 1.0


@helper
def final_step_size(state):
    """Return the averaged step, reduced where too many transitions were lost with it.

    The mean acceptance rate does not see a step that is unstable in the tails only.
    """
    step_size = np.exp(state[AVERAGE])
    if state[LOST] > _FEW_LOST * state[WATCHED]:
        excess = state[LOST] / (_FEW_LOST * state[WATCHED])
        step_size *= max(_LEAST, excess ** (-1.0 / _STEEPNESS))
    return step_size


@kernel(
    INT, ADDRESS, HANDLE, GENERATOR, INT, INT, INT, INT, FLOAT, INTS, VECTOR, VECTOR, VECTOR,
    MATRIX, MATRIX, MATRIX, VECTOR, MATRIX, VECTOR, INTS, MATRIX, MATRIX, MATRIX, COUNTS, SIGNS,
    MATRIX, seconds=7,
)  # fmt: skip
def nuts_kernel(
    address, handle, rng, first, last, max_depth, learned, wanted, ends, position, gradient,
    current, metric, root, moments, state, work, found, counts, points, draws, numbers, whole,
    flags, divergences,
):  # fmt: skip
    """Do the iterations first, …, last - 1, of which the first ``ends[-1]`` are warm-up.

    `current` holds the log density at `position` and how many divergences were noted, `gradient`
    the gradient there. `learned` says what of the metric, `wanted` the acceptance rate to aim at
    (0 keeps the step). `ends` are the windows of `metric`'s adaptation, then of the step size's.
    `found` is room for what `transition` finds out.
    Rows of `numbers` receive log density, acceptance rate, energy, step size; of `whole`, depth and
    steps; of `flags`, diverging and reached_max_treedepth. Returns where it stopped.
    """
    dim = position.size
    handle, metric, root = borrowed(handle), borrowed(metric), borrowed(root)
    position, gradient, work = borrowed(position), borrowed(gradient), borrowed(work)
    ends, state, moments = borrowed(ends), borrowed(state), borrowed(moments)
    counts, points, found = borrowed(counts), borrowed(points), borrowed(found)
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
        deepest, step_size = max_depth, state[STEP]
        if wanted > 0.0 and t < num_warmup:
            deepest = warmup_depth(t, ends, state, max_depth)
        lp, end = transition(
            address, handle, rng, position, gradient, lp, root, step_size, deepest, work,
            counts, points, found,
        )  # fmt: skip
        if end == BROKEN:
            return t
        current[0] = lp
        if t < num_warmup:
            counts[NUM_OUTSIDE] = 0
            if wanted > 0.0:
                adapt_step_size(state, found[ACCEPTANCE], wanted)
                watch(t, num_warmup, state, found[ACCEPTANCE], step_size)
                if deepest == max_depth:
                    state[REACHED] = found[DEPTH]
                if adapt_metric(t, ends, learned, position, gradient, state, moments, metric, root):
                    state[BEGUN] = state[WATCHED] = state[LOST] = 0.0
                if t + 1 == num_warmup:
                    state[STEP] = final_step_size(state)
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
