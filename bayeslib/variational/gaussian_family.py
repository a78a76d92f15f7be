"""A Gaussian as one vector: N(m, L L'), packed as m, the logarithms of L's diagonal, and the rest.

The rest are the entries of L below its diagonal, row by row, of the family "fullrank" alone: of
independent coordinates, "meanfield", L is diagonal. The plain functions take one such vector or an
array of them; those for compiled code write to the arrays they are given.
"""

import numpy as np

from ..compile.callback import helper
from ..errors import BayeslibError
from ..validate import as_floats, as_scale, check_finite, check_shape

FAMILIES = ("meanfield", "fullrank")
LOG_2_PI = float(np.log(2.0 * np.pi))


def as_factor(scale, dim):
    """Return L for standard deviations or a triangular factor, and whether it is dense."""
    array = as_floats(scale, "scale")
    if array.ndim < 2:
        return np.diag(as_scale(scale, "scale", dim)), False
    check_shape(array, "scale", (dim, dim), f"have shape ({dim},) or ({dim}, {dim})")
    check_finite(array, "scale")
    if np.any(np.triu(array, 1)) or not np.all(np.diag(array) > 0.0):
        raise BayeslibError("scale must be lower triangular with a positive diagonal")
    return array, True


def pack(mean, factor, dense):
    """Return N(mean, L L') as one array."""
    below = factor[np.tril_indices(mean.size, -1)] if dense else ()
    return np.concatenate([mean, np.log(np.diag(factor)), below])


def unpack(parameters, dim):
    """Return the mean (..., dim) and L (..., dim, dim) of packed ones, (..., k)."""
    factor = np.zeros((*parameters.shape[:-1], dim, dim))
    factor[..., np.arange(dim), np.arange(dim)] = np.exp(parameters[..., dim : 2 * dim])
    if parameters.shape[-1] > 2 * dim:
        rows, columns = np.tril_indices(dim, -1)
        factor[..., rows, columns] = parameters[..., 2 * dim :]
    return parameters[..., :dim].copy(), factor


def log_density(log_det, square, dim):
    """Return log q at m + L z, for log |L| and z'z."""
    return -log_det - 0.5 * square - 0.5 * dim * LOG_2_PI


def log_q(parameters, x):
    """Return log q(x), (n,), of n packed Gaussians at points (n, dim), and its gradient.

    The gradient, (n, k), is that by the parameters.
    """
    dim = x.shape[1]
    mean, factor = unpack(parameters, dim)
    if parameters.shape[1] > 2 * dim:
        z = np.linalg.solve(factor, (x - mean)[..., None])[..., 0]
        slope = np.linalg.solve(np.swapaxes(factor, 1, 2), z[..., None])[..., 0]
    else:
        scale = np.diagonal(factor, axis1=1, axis2=2)
        z = (x - mean) / scale
        slope = z / scale
    log_det = parameters[:, dim : 2 * dim].sum(axis=1)
    value = log_density(log_det, np.square(z).sum(axis=1), dim)
    return value, _pathwise(parameters, factor, z, slope, -1.0)


def bound(parameters, z, log_p):
    """Return the evidence lower bound of n packed Gaussians by one draw each, and its gradient.

    Parameters
    ----------
    parameters : numpy.ndarray, shape (n, k)
    z : numpy.ndarray, shape (n, dim)
        Standard normals.
    log_p : callable
        log_p(x (n, dim)) -> log densities (n,) and their gradients (n, dim).

    Returns
    -------
    value : numpy.ndarray, shape (n,)
        log p(x) plus the entropy of q.
    gradient : numpy.ndarray, shape (n, k)
        By the parameters.
    """
    dim = z.shape[1]
    mean, factor = unpack(parameters, dim)
    value, slope = log_p(mean + np.einsum("nij,nj->ni", factor, z))
    value = value + parameters[:, dim : 2 * dim].sum(axis=1) + 0.5 * dim * (1.0 + LOG_2_PI)
    return value, _pathwise(parameters, factor, z, slope, 1.0)


def _pathwise(parameters, factor, z, slope, entropies):
    """The gradients by the parameters of f(m + L z), `slope` by x, and of so many log |L|."""
    parts = [slope, slope * np.diagonal(factor, axis1=1, axis2=2) * z + entropies]
    if parameters.shape[1] > 2 * z.shape[1]:
        rows, columns = np.tril_indices(z.shape[1], -1)
        parts.append(slope[:, rows] * z[:, columns])
    return np.concatenate(parts, axis=1)


# For compiled code


_log_density = helper(log_density)


@helper
def factorise(parameters, factor):
    """Write L, (dim, dim), of which the upper half is left as it was; return log |L|."""
    dim = factor.shape[0]
    log_det, k = 0.0, 2 * dim
    for i in range(dim):
        log_det += parameters[dim + i]
        factor[i, i] = np.exp(parameters[dim + i])
        for j in range(i if parameters.size > 2 * dim else 0):
            factor[i, j] = parameters[k]
            k += 1
    return log_det


@helper
def place(parameters, factor, log_det, z, x):
    """Write m + L z to `x`, and return log q there."""
    square = 0.0
    for i in range(z.size):
        square += z[i] * z[i]
        x[i] = parameters[i] + factor[i, i] * z[i]
        for j in range(i if parameters.size > 2 * z.size else 0):
            x[i] += factor[i, j] * z[j]
    return _log_density(log_det, square, z.size)


@helper
def draw_normals(rng, z):
    for i in range(z.size):
        z[i] = rng.standard_normal()


@helper
def pull_back(parameters, factor, slope, u):
    """Write L' slope: the gradient by z of what has the gradient `slope` at m + L z."""
    dim = slope.size
    for i in range(dim):
        u[i] = factor[i, i] * slope[i]
        for j in range(i + 1, dim if parameters.size > 2 * dim else 0):
            u[i] += factor[j, i] * slope[j]


@helper
def add_pathwise(factor, z, slope, gradient):
    """Add the gradient by the parameters of what has the gradient `slope` at m + L z."""
    dim = z.size
    k = 2 * dim
    for i in range(dim):
        gradient[i] += slope[i]
        gradient[dim + i] += slope[i] * factor[i, i] * z[i]
        for j in range(i if gradient.size > 2 * dim else 0):
            gradient[k] += slope[i] * z[j]
            k += 1


@helper
def score(factor, z, slope, gradient):
    """Write the gradient of log q by the parameters at m + L z; `slope` is room for dim numbers."""
    dim = z.size
    for i in range(dim - 1, -1, -1):  # solves L' slope = z
        slope[i] = z[i]
        for j in range(i + 1, dim if gradient.size > 2 * dim else 0):
            slope[i] -= factor[j, i] * slope[j]
        slope[i] /= factor[i, i]
    gradient[:] = 0.0
    add_pathwise(factor, z, slope, gradient)
    for i in range(dim):
        gradient[dim + i] -= 1.0  # of -log |L|
