"""The compiled loop of black-box variational inference: gradient estimates, and steps along them.

The parameters of q = N(mean, L L') are, in this order, the mean, the logarithms of L's diagonal
and, for a full covariance, the entries of L below it, row by row.
"""

import numpy as np
from numba import types

from ..chains.blocks import INFINITE, NUM_EVALS, NUM_NAN, STATUS, UNDEFINED
from ..compile.callback import (
    ADDRESS,
    GENERATOR,
    HANDLE,
    INT,
    INTS,
    MATRIX,
    VECTOR,
    density,
    helper,
    kernel,
)
from .ascent import adagrad, adam, robbins_monro

ESTIMATORS = ("score", "baseline", "loo", "rao_blackwell", "reparam")
SCORE, BASELINE, LOO, RAO_BLACKWELL, REPARAM = range(5)
OPTIMISERS = ("sgd", "adagrad", "adam")
SGD, ADAGRAD, ADAM = range(3)

# Where `options` holds what, and `constants`.
ESTIMATOR, DENSE, ENTROPY, RULE, AVERAGE_FROM = range(5)
STEP, DECAY, DELAY, FORGET = range(4)

_LOG_2_PI = float(np.log(2.0 * np.pi))
FARTHEST = 1e8  # of a parameter that has run off


@helper
def _unpack(parameters, factor, dense):
    """Write L, of which only the diagonal is used when it is not dense; return log |L|."""
    dim = factor.shape[0]
    log_det, k = 0.0, 2 * dim
    for i in range(dim):
        log_det += parameters[dim + i]
        factor[i, i] = np.exp(parameters[dim + i])
        if dense:
            for j in range(i):
                factor[i, j] = parameters[k]
                k += 1
    return log_det


@helper
def _place(parameters, factor, dense, z, theta):
    """Write mean + L z to theta and return z'z."""
    square = 0.0
    for i in range(z.size):
        square += z[i] * z[i]
        theta[i] = parameters[i] + factor[i, i] * z[i]
        if dense:
            for j in range(i):
                theta[i] += factor[i, j] * z[j]
    return square


@helper
def _score(factor, dense, z, score):
    """Write the gradient of log q by its parameters, at mean + L z."""
    dim = z.size
    for i in range(dim - 1, -1, -1):
        rest = z[i]
        if dense:
            for j in range(i + 1, dim):
                rest -= factor[j, i] * score[j]
        score[i] = rest / factor[i, i]
    k = 2 * dim
    for i in range(dim):
        score[dim + i] = factor[i, i] * score[i] * z[i] - 1.0
        if dense:
            for j in range(i):
                score[k] = score[i] * z[j]
                k += 1


@helper
def _pathwise(factor, dense, z, slope, gradient):
    """Add the gradient of log p(mean + L z) by the parameters, `slope` being that by theta."""
    dim = z.size
    k = 2 * dim
    for i in range(dim):
        gradient[i] += slope[i]
        gradient[dim + i] += slope[i] * factor[i, i] * z[i]
        if dense:
            for j in range(i):
                gradient[k] += slope[i] * z[j]
                k += 1


@helper
def _climb(t, options, constants, parameters, gradient, memory):
    """Take step t along the gradient; `memory` is the optimiser's, (2, num_parameters)."""
    rate = robbins_monro(t / constants[DELAY], constants[STEP], constants[DECAY])
    if options[RULE] == ADAM:
        adam(parameters, gradient, memory[0], memory[1], t + 1, rate)
    elif options[RULE] == ADAGRAD:
        adagrad(parameters, gradient, memory[1], rate)
    else:
        for k in range(gradient.size):
            parameters[k] += rate * gradient[k]


@kernel(
    INT, ADDRESS, HANDLE, GENERATOR, INT, INT, INTS, VECTOR, VECTOR, VECTOR, MATRIX, MATRIX,
    MATRIX, MATRIX, VECTOR, VECTOR, MATRIX, MATRIX, MATRIX, INTS, MATRIX, seconds=3,
)  # fmt: skip
def bbvi_kernel(
    address, handle, rng, first, last, options, constants, parameters, averaged, memory, controls,
    factor, normals, gradient, score, work, gradients, traces, counts, points,
):  # fmt: skip
    """Do the steps first, …, last - 1, each with one gradient estimate from `normals`' draws.

    `controls` holds running averages of f h^2 and h^2, whose ratio is the baseline of each
    parameter. The gradient of step t is left in row ``t % len(gradients)``, and the mean of
    f = log p - log q in ``traces[0, t]``. A step with a draw where f is not finite is not taken.
    Returns where it stopped.
    """
    num_draws, dim = normals.shape
    size, estimator, dense = parameters.size, options[ESTIMATOR], options[DENSE] == 1
    theta, slope, values = work[0, :dim], work[1, :dim], work[2, :num_draws]
    for t in range(first, last):
        log_det = _unpack(parameters, factor, dense)
        for s in range(num_draws):
            for i in range(dim):
                normals[s, i] = rng.standard_normal()
        for k in range(size):
            gradient[k] = 0.0
        finite, total = True, 0.0
        for s in range(num_draws):
            z = normals[s]
            square = _place(parameters, factor, dense, z, theta)
            value = density(address, theta, slope, handle)
            counts[NUM_EVALS] += 1
            if handle[handle.size - 1] != 0:
                return t
            if not (value > -np.inf and value < np.inf):
                if value == np.inf:
                    counts[STATUS] = INFINITE
                    points[1] = theta
                    return t
                if counts[NUM_NAN] == 0:
                    points[0] = theta
                counts[NUM_NAN] += 1
                finite = False
                continue
            log_q = -log_det - 0.5 * square - 0.5 * dim * _LOG_2_PI
            total += value - log_q
            values[s] = value - log_q if options[ENTROPY] == 1 else value
            if estimator == REPARAM:
                _pathwise(factor, dense, z, slope, gradient)
            elif estimator == RAO_BLACKWELL:
                _score(factor, dense, z, score)
                for i in range(dim):
                    here = theta[i]
                    theta[i] = parameters[i]
                    gain = value - density(address, theta, slope, handle)
                    theta[i] = here
                    counts[NUM_EVALS] += 1
                    if handle[handle.size - 1] != 0:
                        return t
                    if options[ENTROPY] == 1:
                        gain += 0.5 * z[i] * z[i]
                    gradient[i] += gain * score[i]
                    gradient[dim + i] += gain * score[dim + i]
        traces[0, t] = total / num_draws if finite else np.nan
        divisor = float(num_draws)
        if finite and estimator <= LOO:
            centre = 0.0
            if estimator == LOO:
                divisor = num_draws - 1.0
                for s in range(num_draws):
                    centre += values[s] / num_draws
            for k in range(size):
                work[3, k] = centre
                if estimator == BASELINE and controls[1, k] > 0.0:
                    work[3, k] = controls[0, k] / controls[1, k]
                work[4, k] = 0.0
                work[5, k] = 0.0
            for s in range(num_draws):
                _score(factor, dense, normals[s], score)
                for k in range(size):
                    gradient[k] += score[k] * (values[s] - work[3, k])
                    work[4, k] += values[s] * score[k] * score[k] / num_draws
                    work[5, k] += score[k] * score[k] / num_draws
            if estimator == BASELINE:
                keep = constants[FORGET]
                for k in range(size):
                    controls[0, k] = keep * controls[0, k] + (1.0 - keep) * work[4, k]
                    controls[1, k] = keep * controls[1, k] + (1.0 - keep) * work[5, k]
        row = t % gradients.shape[0]
        for k in range(size):
            gradient[k] /= divisor
            if estimator == REPARAM and options[ENTROPY] == 1 and k >= dim and k < 2 * dim:
                gradient[k] += 1.0
            finite = finite and gradient[k] > -np.inf and gradient[k] < np.inf
        for k in range(size):
            gradients[row, k] = gradient[k] if finite else np.nan
        if finite and constants[STEP] > 0.0:
            _climb(t, options, constants, parameters, gradient, memory)
            for k in range(size):
                if not abs(parameters[k]) < FARTHEST:
                    counts[STATUS] = UNDEFINED
                    return t
        if t >= options[AVERAGE_FROM]:
            for k in range(size):
                averaged[k] += (parameters[k] - averaged[k]) / (t - options[AVERAGE_FROM] + 1.0)
    return last


@kernel(types.void, ADDRESS, HANDLE, MATRIX, VECTOR, MATRIX)
def evaluate_with_gradients(address, handle, points, values, gradients):
    """Fill `values` with the log density at each row of `points`, and `gradients` with its rows."""
    for i in range(points.shape[0]):
        values[i] = density(address, points[i], gradients[i], handle)
