"""The compiled loops of the samplers with stochastic gradients.

`metric` is the inverse mass matrix M^-1 and `factor` its root, as in `dynamics`. Addresses and
handles come in threes: of the batch (or of all data), of no rows, of a single row. `table` has a
row for each array of the data that is cut: where its rows are, where the batch's go, where a single
one goes, and the bytes of one. `centre` has no rows, or three: the point of the control variate,
the likelihood's gradient there, and the prior's.
"""

import ctypes

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic

from ..chains.collect import FAR
from ..compile.callback import (
    FLAGS,
    FLOAT,
    GENERATOR,
    HANDLE,
    INT,
    INTS,
    MATRIX,
    VECTOR,
    borrowed,
    density,
    helper,
    kernel,
)
from .dynamics import draw_momentum, kinetic_energy

TABLE, BOOLEAN = INT[:, ::1], types.boolean
SOURCE, BUFFER, SINGLE, BYTES = range(4)
BATCH, PRIOR, ROW = range(3)
# What the kernels are told: rows for a row of the batch, the factor of the rows' variance.
SCALE, SPREAD = range(2)
# What they leave: gradients made, steps in the two kinds of sums, why the chain stays where it is,
# steps with more noise than friction, whether the gradient is known, the log density there.
GRADIENTS, SUMMED, HEATED, ENDED, NEGATIVE, KNOWN, LOGDENSITY = range(7)
STATE_SIZE = 7
MOVING, LOST, OUTSIDE = range(3)
# Sums over the steps that are kept: the origin, theta, the gradient, their product, r M^-1 r.
ORIGIN, THETA, SLOPE, PRODUCT, HEAT = range(5)
NUM_SUMS = 5
# Rows of the work space.
_GRADIENT, _SLOPE, _PRIOR, _LIKELIHOOD, _AT_CENTRE, _MEAN, _VARIANCE = range(7)
_NOISE, _MOVED, _VELOCITY = range(7, 10)
WORK_ROWS = 10


@intrinsic
def _copy_compiled(typingctx, to, source, size):
    def codegen(context, builder, signature, args):
        pointer = ir.IntType(8).as_pointer()
        places = [builder.inttoptr(place, pointer) for place in args[:2]]
        cgutils.raw_memcpy(builder, *places, args[2], 1)
        return context.get_dummy_value()

    return types.void(INT, INT, INT), codegen


def _copy_plain(to, source, size):
    ctypes.memmove(int(to), int(source), int(size))


# copy_bytes(to, source, size), of addresses: data of any type and shape, without a type of its own.
copy_bytes = _copy_plain if config.DISABLE_JIT else _copy_compiled


@helper
def draw_batch(rng, order, batch, replace):
    """Draw the rows of a batch; `order` is a permutation of all rows that is shuffled further."""
    if replace:
        for j in range(batch.size):
            batch[j] = int(rng.random() * order.size)
        return
    for j in range(batch.size):
        k = j + int(rng.random() * (order.size - j))
        batch[j] = order[k]
        order[k] = order[j]
        order[j] = batch[j]


@helper
def gather(batch, table):
    """Copy the rows of the batch to where its density looks for them."""
    for k in range(table.shape[0]):
        source, to, size = table[k, SOURCE], table[k, BUFFER], table[k, BYTES]
        for j in range(batch.size):
            copy_bytes(to + j * size, source + batch[j] * size, size)


@helper
def sum_rows(
    addresses, row_handle, position, batch, table, centre, prior, single, single_centre,
    likelihood, mean, variance,
):  # fmt: skip
    """Write the sum of the rows' gradients, and their variance in each coordinate.

    With a centre, of their differences from those at the centre. Returns the sum of their log
    densities, the prior left out as far as it is in each.
    """
    total = 0.0
    for i in range(position.size):
        likelihood[i] = mean[i] = variance[i] = 0.0
    for j in range(batch.size):
        for k in range(table.shape[0]):
            size = table[k, BYTES]
            copy_bytes(table[k, SINGLE], table[k, BUFFER] + j * size, size)
        total += density(addresses[ROW], position, single, row_handle)
        if centre.shape[0] > 0:
            density(addresses[ROW], centre[0], single_centre, row_handle)
        for i in range(position.size):
            slope = single[i] - prior[i]
            if centre.shape[0] > 0:
                slope -= single_centre[i] - centre[2, i]
            likelihood[i] += slope
            change = slope - mean[i]
            mean[i] += change / (j + 1.0)
            variance[i] += change * (slope - mean[i])
    for i in range(position.size):
        variance[i] /= batch.size - 1.0
    return total


@helper
def estimate(
    addresses, handle, prior_handle, row_handle, rng, position, order, batch, table, replace,
    by_row, told, centre, work, gradient,
):  # fmt: skip
    """Write an estimate of the gradient; return the log density that came with it."""
    dim = position.size
    if batch.size == 0:
        lp = density(addresses[BATCH], position, gradient, handle)
    else:
        prior, likelihood = borrowed(work[_PRIOR, :dim]), borrowed(work[_LIKELIHOOD, :dim])
        at_centre = borrowed(work[_AT_CENTRE, :dim])
        draw_batch(rng, order, batch, replace)
        gather(batch, table)
        lp = density(addresses[PRIOR], position, prior, prior_handle)
        if by_row:
            lp += sum_rows(
                addresses, row_handle, position, batch, table, centre, prior, gradient, at_centre,
                likelihood, borrowed(work[_MEAN, :dim]), borrowed(work[_VARIANCE, :dim]),
            )  # fmt: skip
        else:
            lp += density(addresses[BATCH], position, likelihood, handle)
            for i in range(dim):
                likelihood[i] -= prior[i]
            if centre.shape[0] > 0:
                density(addresses[BATCH], centre[0], at_centre, handle)
                for i in range(dim):
                    likelihood[i] -= at_centre[i] - centre[2, i]
        for i in range(dim):
            gradient[i] = prior[i] + told[SCALE] * likelihood[i]
            if centre.shape[0] > 0:
                gradient[i] += centre[1, i]
    return lp


@helper
def add_noise(rng, root, noise, gradient):
    """Add N(0, V): `root` has no rows, one (the roots of a diagonal), or is V's Cholesky factor."""
    if root.shape[0] == 0:
        return
    for i in range(gradient.size):
        noise[i] = rng.standard_normal()
    if root.shape[0] == 1:
        for i in range(gradient.size):
            gradient[i] += root[0, i] * noise[i]
        return
    for i in range(gradient.size):
        for j in range(i + 1):
            gradient[i] += root[i, j] * noise[j]


@helper
def times_metric(metric, vector, product):
    """Write M^-1 times a vector."""
    if metric.shape[0] == 1:
        for i in range(vector.size):
            product[i] = metric[0, i] * vector[i]
        return
    for i in range(vector.size):
        product[i] = 0.0
        for j in range(vector.size):
            product[i] += metric[i, j] * vector[j]


@helper
def within_reach(vector):
    """Whether every entry is finite, and not so large that only a runaway gets there."""
    for i in range(vector.size):
        if not abs(vector[i]) <= FAR:
            return False
    return True


@helper
def all_finite(vector):
    """Whether no entry is nan or infinite."""
    for i in range(vector.size):
        if not abs(vector[i]) < np.inf:
            return False
    return True


@helper
def told_to_stop(handle, prior_handle, row_handle):
    """Whether the run is to end, or a density raised."""
    words = handle[handle.size - 1] + prior_handle[prior_handle.size - 1]
    return words + row_handle[row_handle.size - 1] != 0


@helper
def add_up(state, sums, position, gradient):
    """Add a step to the sums from which the virial is made."""
    if state[SUMMED] == 0.0:
        for i in range(position.size):
            sums[ORIGIN, i] = position[i]
    state[SUMMED] += 1.0
    for i in range(position.size):
        away = position[i] - sums[ORIGIN, i]
        sums[THETA, i] += away
        sums[SLOPE, i] += gradient[i]
        sums[PRODUCT, i] += away * gradient[i]


@kernel(
    INT, INTS, HANDLE, HANDLE, HANDLE, GENERATOR, INT, INT, INT, INT, VECTOR, VECTOR, MATRIX,
    MATRIX, INTS, INTS, TABLE, BOOLEAN, BOOLEAN, VECTOR, MATRIX, MATRIX, VECTOR, MATRIX, MATRIX,
    MATRIX, VECTOR, FLAGS, FLAGS,
)  # fmt: skip
def sgld_kernel(
    addresses, handle, prior_handle, row_handle, rng, first, last, num_warmup, num_steps,
    step_sizes, position, metric, factor, order, batch, table, replace, by_row, told, centre, root,
    state, sums, work, draws, logdensity, diverging, outside,
):  # fmt: skip
    """Do the iterations first, …, last - 1, each of `num_steps` steps; return where it stopped.

    With all data the log density is that of the draw, and its gradient serves the next step.
    """
    dim, exact = position.size, batch.size == 0
    position, metric, factor = borrowed(position), borrowed(metric), borrowed(factor)
    known, slope = borrowed(work[_GRADIENT, :dim]), borrowed(work[_SLOPE, :dim])
    noise, moved = borrowed(work[_NOISE, :dim]), borrowed(work[_MOVED, :dim])
    drift = borrowed(work[_VELOCITY, :dim])
    lp = state[LOGDENSITY]
    for t in range(first, last):
        step_size = step_sizes[t]
        spread = np.sqrt(step_size)
        for _ in range(num_steps):
            if state[ENDED] != MOVING:
                break
            if state[KNOWN] == 0.0:
                lp = estimate(
                    addresses, handle, prior_handle, row_handle, rng, position, order, batch,
                    table, replace, by_row, told, centre, work, known,
                )  # fmt: skip
                state[GRADIENTS] += 1.0
                if told_to_stop(handle, prior_handle, row_handle):
                    return t
            state[KNOWN] = 0.0
            if not abs(lp) < np.inf or not all_finite(known):
                state[ENDED] = OUTSIDE if lp == -np.inf else LOST
                break
            for i in range(dim):
                slope[i] = known[i]
            add_noise(rng, root, noise, slope)
            if t >= num_warmup:
                add_up(state, sums, position, slope)
            times_metric(metric, slope, drift)
            for i in range(dim):
                noise[i] = rng.standard_normal()
            for i in range(dim):
                moved[i] = position[i] + 0.5 * step_size * drift[i]
                if factor.shape[0] == 1:
                    moved[i] += spread * factor[0, i] * noise[i]
                else:
                    for j in range(i + 1):
                        moved[i] += spread * factor[i, j] * noise[j]
            if not within_reach(moved):
                state[ENDED] = LOST
                break
            for i in range(dim):
                position[i] = moved[i]
        if t < num_warmup:
            continue
        if exact and state[KNOWN] == 0.0 and state[ENDED] == MOVING:
            lp = density(addresses[BATCH], position, known, handle)
            state[GRADIENTS] += 1.0
            if told_to_stop(handle, prior_handle, row_handle):
                return t
            state[KNOWN] = 1.0
        n = t - num_warmup
        for i in range(dim):
            draws[n, i] = position[i]
        logdensity[n] = lp if exact else np.nan
        diverging[n] = state[ENDED] != MOVING
        outside[n] = state[ENDED] == OUTSIDE
    state[LOGDENSITY] = lp
    return last


@kernel(
    INT, INTS, HANDLE, HANDLE, HANDLE, GENERATOR, INT, INT, INT, INT, INT, FLOAT, VECTOR, VECTOR,
    VECTOR, VECTOR, MATRIX, MATRIX, INTS, INTS, TABLE, BOOLEAN, BOOLEAN, VECTOR, MATRIX, MATRIX,
    VECTOR, MATRIX, MATRIX, MATRIX, MATRIX, FLAGS, FLAGS, seconds=4,
)  # fmt: skip
def sghmc_kernel(
    addresses, handle, prior_handle, row_handle, rng, first, last, num_warmup, num_steps, refresh,
    step_size, position, momentum, friction, known_noise, metric, factor, order, batch, table,
    replace, by_row, told, centre, root, state, sums, work, draws, numbers, diverging, outside,
):  # fmt: skip
    """Do the iterations first, …, last - 1, each of `num_steps` steps; return where it stopped.

    `refresh` is 0 when the momentum is drawn once; the rows of `numbers` receive log density and
    kinetic energy.
    """
    dim, exact = position.size, batch.size == 0
    position, metric, factor = borrowed(position), borrowed(metric), borrowed(factor)
    momentum = borrowed(momentum)
    slope, velocity = borrowed(work[_SLOPE, :dim]), borrowed(work[_VELOCITY, :dim])
    noise, moved = borrowed(work[_NOISE, :dim]), borrowed(work[_MOVED, :dim])
    variance = borrowed(work[_VARIANCE, :dim])
    lp = state[LOGDENSITY]
    for t in range(first, last):
        for s in range(num_steps):
            if state[ENDED] != MOVING:
                break
            step = t * num_steps + s
            times_metric(metric, momentum, velocity)
            if t >= num_warmup and step > 0:
                state[HEATED] += 1.0
                for i in range(dim):
                    sums[HEAT, i] += momentum[i] * velocity[i]
            if step == 0 or (refresh > 0 and step % refresh == 0):
                draw_momentum(rng, factor, momentum)
                times_metric(metric, momentum, velocity)
            for i in range(dim):
                moved[i] = position[i] + step_size * velocity[i]
            if not within_reach(moved):
                state[ENDED] = LOST
                break
            for i in range(dim):
                position[i] = moved[i]
            lp = estimate(
                addresses, handle, prior_handle, row_handle, rng, position, order, batch, table,
                replace, by_row, told, centre, work, slope,
            )  # fmt: skip
            state[GRADIENTS] += 1.0
            if told_to_stop(handle, prior_handle, row_handle):
                return t
            if not abs(lp) < np.inf or not all_finite(slope):
                state[ENDED] = OUTSIDE if lp == -np.inf else LOST
                break
            add_noise(rng, root, noise, slope)
            if t >= num_warmup:
                add_up(state, sums, position, slope)
            cut = False
            for i in range(dim):
                rest = friction[i] - known_noise[i]
                if by_row:
                    rest = friction[i] - 0.5 * step_size * told[SPREAD] * variance[i]
                if rest < 0.0:
                    rest, cut = 0.0, True
                momentum[i] += step_size * (slope[i] - friction[i] * velocity[i])
                momentum[i] += np.sqrt(2.0 * rest * step_size) * rng.standard_normal()
            if cut and t >= num_warmup:
                state[NEGATIVE] += 1.0
        if t < num_warmup:
            continue
        n = t - num_warmup
        for i in range(dim):
            draws[n, i] = position[i]
        numbers[0, n] = lp if exact else np.nan
        numbers[1, n] = kinetic_energy(momentum, metric)
        diverging[n] = state[ENDED] != MOVING
        outside[n] = state[ENDED] == OUTSIDE
    state[LOGDENSITY] = lp
    return last
