"""The gradient that a batch of rows estimates, and the noise that is in it."""

import ctypes
from typing import NamedTuple

import numpy as np
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic

from ..chains.loop import Account, copy, ended, record
from ..chains.run import FAR
from ..compile.callback import density, helper
from ..compile.kinds import ADDRESS, BYTE, HANDLE, INT, INTS, MATRIX, VECTOR
from .dynamics import velocity

# Why a chain stays where it is: something was not finite, or the density is zero there.
MOVING, LOST, OUTSIDE = range(3)
# Steps: all, those kept, those kept whose momentum is in the sum of heat, those of them with more
# noise than friction.
Tally = record(steps="i8", summed="i8", heated="i8", negative="i8", fate="i8")


class Noisy(NamedTuple):
    """A `Density` whose gradient is exact, or estimated; its evaluations are of gradients.

    The density itself is that of a part of the data: of all, of a batch, or of one row of a batch
    after the other.
    """

    address: ADDRESS
    handle: HANDLE
    unused: VECTOR
    points: MATRIX
    account: Account
    prior_address: ADDRESS
    prior_handle: HANDLE  # of no rows
    cut: INT[:, ::1]  # of each array that has rows: where they are, where the part's, bytes of one
    order: INTS  # a permutation of all rows, which every batch shuffles further
    batch: INTS  # its rows; none where the gradient is exact
    by_row: types.boolean
    replace: types.boolean
    scale: types.float64  # rows for a row of the batch
    spread: types.float64  # of the estimate's covariance: a multiple of that of one row's gradient
    centre: MATRIX  # no rows, or a point, the likelihood's gradient there, and the prior's
    root: MATRIX  # of a covariance that is added: no rows, one of roots, or a Cholesky factor
    z: VECTOR
    prior: VECTOR  # gradients, here and below
    part: VECTOR
    at_centre: VECTOR
    likelihood: VECTOR
    mean: VECTOR  # of the rows
    variance: VECTOR
    origin: VECTOR  # where the first step that is kept began; over those from here on are sums of
    thetas: VECTOR  # from the origin
    slopes: VECTOR
    products: VECTOR  # of the two
    tally: Tally


@intrinsic
def _copy_compiled(typingctx, to, source, size):
    def codegen(context, builder, signature, args):
        places = [builder.inttoptr(place, BYTE.as_pointer()) for place in args[:2]]
        cgutils.raw_memcpy(builder, *places, args[2], 1)
        return context.get_dummy_value()

    return types.void(INT, INT, INT), codegen


def _copy_plain(to, source, size):
    ctypes.memmove(int(to), int(source), int(size))


# copy_bytes(to, source, size), of addresses: data of any type and shape, without a type of its own.
copy_bytes = _copy_plain if config.DISABLE_JIT else _copy_compiled


@helper
def estimate(target, rng, theta, gradient):
    """Write the gradient, or an unbiased estimate of it; return the log density that came with it.

    The sum over all rows is estimated from a batch of them, with a centre that of the differences
    from there.
    """
    target.account.num_evals += 1
    if target.batch.size == 0:
        return density(target.address, theta, gradient, target.handle)
    draw_batch(rng, target.order, target.batch, target.replace)
    log_p = density(target.prior_address, theta, target.prior, target.prior_handle)
    if target.prior_handle[target.prior_handle.size - 1] != 0:
        target.handle[target.handle.size - 1] += 1  # the only one that is looked at
    log_p += sum_batch(target, theta)
    for i in range(theta.size):
        gradient[i] = target.prior[i] + target.scale * target.likelihood[i]
        if target.centre.shape[0] > 0:
            gradient[i] += target.centre[1, i]
    return log_p


@helper
def draw_batch(rng, order, batch, replace):
    """Draw the rows of a batch, from all or from those not yet drawn."""
    for j in range(batch.size):
        if replace:
            batch[j] = int(rng.random() * order.size)
        else:
            k = j + int(rng.random() * (order.size - j))
            order[j], order[k] = order[k], order[j]
            batch[j] = order[j]


@helper
def sum_batch(target, theta):
    """Write the sum of the rows' gradients, and row by row their variance in each coordinate."""
    total, centred = 0.0, target.centre.shape[0] > 0
    likelihood, mean, variance = target.likelihood, target.mean, target.variance
    num_rows = 1 if target.by_row else target.batch.size
    for i in range(theta.size):
        likelihood[i] = mean[i] = variance[i] = 0.0
    for first in range(0, target.batch.size, num_rows):
        gather(target, first, num_rows)
        total += density(target.address, theta, target.part, target.handle)
        if centred:
            density(target.address, target.centre[0], target.at_centre, target.handle)
        for i in range(theta.size):
            slope = target.part[i] - target.prior[i]
            if centred:
                slope -= target.at_centre[i] - target.centre[2, i]
            likelihood[i] += slope
            change = slope - mean[i]
            mean[i] += change / (first + 1.0)
            variance[i] += change * (slope - mean[i])
    for i in range(theta.size):
        variance[i] /= max(target.batch.size - 1.0, 1.0)
    return total


@helper
def gather(target, first, num_rows):
    """Copy rows of the batch to where the density looks for them."""
    for k in range(target.cut.shape[0]):
        source, to, size = target.cut[k, 0], target.cut[k, 1], target.cut[k, 2]
        for j in range(num_rows):
            copy_bytes(to + j * size, source + target.batch[first + j] * size, size)


@helper
def add_normals(rng, root, scale, z, into):
    """Add scale * L z with z standard normal; L is diagonal, lower triangular, or nothing."""
    if root.shape[0] == 0:
        return
    for i in range(z.size):
        z[i] = rng.standard_normal()
    for j in range(z.size):
        if root.shape[0] == 1:
            into[j] += scale * root[0, j] * z[j]
        else:
            for i in range(j, z.size):
                into[i] += scale * root[i, j] * z[j]


@helper
def times_metric(metric, vector, product):
    """Write M^-1 times a vector."""
    for i in range(vector.size):
        product[i] = velocity(metric, vector, i)


@helper
def moved(target, proposal, position):
    """Move there unless only a runaway gets so far; say whether it did."""
    for i in range(proposal.size):
        if not abs(proposal[i]) <= FAR:
            target.tally.fate = LOST
            return False
    copy(proposal, position)
    return True


@helper
def follows(target, rng, log_p, theta, gradient, slope):
    """Write the gradient with noise added, and add up; or say that the chain cannot go on."""
    if ended(target):
        return False
    finite, tally = abs(log_p) < np.inf, target.tally
    for i in range(theta.size):
        finite = finite and abs(gradient[i]) < np.inf
        slope[i] = gradient[i]
    if not finite:
        tally.fate = OUTSIDE if log_p == -np.inf else LOST
        return False
    add_normals(rng, target.root, 1.0, target.z, slope)
    tally.steps += 1
    if not target.account.warming:
        if tally.summed == 0:
            copy(theta, target.origin)
        tally.summed += 1
        for i in range(theta.size):
            away = theta[i] - target.origin[i]
            target.thetas[i] += away
            target.slopes[i] += slope[i]
            target.products[i] += away * slope[i]
    return True
