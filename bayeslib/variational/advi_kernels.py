"""The compiled ascent of the evidence lower bound, for independent or correlated coordinates.

The approximation is x = mean + scale z, the scale lower triangular with a positive diagonal; one
row of it holds the diagonal alone. Steps are taken in the coordinates of the approximation itself,
mean + scale a and scale (I + b), in which the Fisher information is nearly the identity: the
gradient is a natural one, and neither the units of the parameters nor (with a full scale) their
correlation matter.
"""

import numpy as np

from ..compile.callback import (
    ADDRESS,
    FLOAT,
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

# What a single step may change at most, in the scale of the approximation.
MEAN_STEP, SCALE_STEP = 1.0, 0.2

HALF_LOG_TWO_PI = 0.5 * np.log(2.0 * np.pi)


@helper
def place(mean, scale, dense, z, x):
    """Write mean + scale z to `x`."""
    for i in range(mean.size):
        if dense:
            x[i] = mean[i]
            for j in range(i + 1):
                x[i] += scale[i, j] * z[j]
        else:
            x[i] = mean[i] + scale[0, i] * z[i]


@helper
def pull_back(scale, dense, gradient, u):
    """Write scale' gradient to `u`."""
    for i in range(gradient.size):
        if dense:
            u[i] = 0.0
            for j in range(i, gradient.size):
                u[i] += scale[j, i] * gradient[j]
        else:
            u[i] = scale[0, i] * gradient[i]


@helper
def clipped(step, most):
    return min(max(step, -most), most)


@helper
def move(mean, scale, dense, shift, slope, size, inward):
    """Take a step of `size` along the gradients by a (`shift`) and by b (`slope`), both averages.

    `inward` is taken off the diagonal of `slope`.
    """
    dim = mean.size
    for i in range(dim):
        shift[i] = clipped(size * shift[i], MEAN_STEP)
    for i in range(dim):
        if dense:
            for j in range(i + 1):
                mean[i] += scale[i, j] * shift[j]
        else:
            mean[i] += scale[0, i] * shift[i]
    if not dense:
        for i in range(dim):
            scale[0, i] *= np.exp(clipped(size * (slope[0, i] - inward), SCALE_STEP))
        return
    square = 0.0
    for i in range(dim):
        for j in range(i):
            square += slope[i, j] ** 2
    off = size * min(1.0, SCALE_STEP / (size * np.sqrt(square) + 1e-300))
    for j in range(dim):
        slope[j, j] = np.exp(clipped(size * (slope[j, j] - inward), SCALE_STEP))
    for i in range(dim):
        for j in range(i + 1):
            new = scale[i, j] * slope[j, j]
            for k in range(j + 1, i + 1):
                new += scale[i, k] * off * slope[k, j]
            scale[i, j] = new


@kernel(
    INT, ADDRESS, HANDLE, GENERATOR, INT, INT, FLOAT, INT, VECTOR, MATRIX, VECTOR, MATRIX, MATRIX,
    VECTOR, INTS, seconds=2,
)  # fmt: skip
def ascent_kernel(
    address, handle, rng, num_steps, num_draws, step_size, sticking, mean, scale, mean_sum,
    scale_sum, path, trace, num_outside,
):  # fmt: skip
    """Take `num_steps` steps; returns how many were, fewer when the density raised.

    `path` (num_steps, 2 dim) gets the mean and the logarithm of the standard deviations after
    each step, `trace` the average of log p - log q over its draws. `mean_sum` and `scale_sum` add
    up the parameters after each step, the diagonal as its logarithm. `num_outside` counts draws at
    which the density or its gradient is not finite; such a draw pulls every scale in.
    """
    dim, dense = mean.size, scale.shape[0] > 1
    shift, slope = np.zeros(dim), np.zeros(scale.shape)
    z, x, gradient, u = np.empty(dim), np.empty(dim), np.empty(dim), np.empty(dim)
    for t in range(num_steps):
        shift[:] = 0.0
        slope[:] = 0.0
        log_scale = 0.0
        for i in range(dim):
            log_scale += np.log(scale[i if dense else 0, i])
        total, outside = 0.0, 0
        for _ in range(num_draws):
            square = 0.0
            for i in range(dim):
                z[i] = rng.standard_normal()
                square += z[i] * z[i]
            place(mean, scale, dense, z, x)
            lp = density(address, x, gradient, handle)
            if handle[handle.size - 1] != 0:
                return t
            finite = np.isfinite(lp)
            for i in range(dim):
                finite = finite and np.isfinite(gradient[i])
            if not finite:
                outside += 1
                continue
            total += lp + 0.5 * square
            pull_back(scale, dense, gradient, u)
            for i in range(dim):
                if sticking != 0:
                    u[i] += z[i]
                shift[i] += u[i]
                if dense:
                    for j in range(i + 1):
                        slope[i, j] += u[i] * z[j]
                else:
                    slope[0, i] += u[i] * z[i]
        num_outside[0] += outside
        trace[t] = total / num_draws + log_scale + dim * HALF_LOG_TWO_PI
        if outside > 0:
            trace[t] = -np.inf
        for i in range(dim):
            shift[i] /= num_draws
            for j in range(scale.shape[0]):
                slope[j, i] /= num_draws
        inward = outside / num_draws
        if sticking == 0:
            inward = 2.0 * inward - 1.0  # the gradient of the entropy is the identity
        move(mean, scale, dense, shift, slope, step_size, inward)
        for i in range(dim):
            path[t, i] = mean[i]
            mean_sum[i] += mean[i]
            row = i if dense else 0
            log_diagonal = np.log(scale[row, i])
            scale_sum[row, i] += log_diagonal
            path[t, dim + i] = log_diagonal
            if dense:
                square = scale[i, i] ** 2
                for j in range(i):
                    scale_sum[i, j] += scale[i, j]
                    square += scale[i, j] ** 2
                path[t, dim + i] = 0.5 * np.log(square)
    return num_steps
