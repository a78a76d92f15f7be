"""A small neural network from data to a Gaussian, with its gradient by hand.

The last layer gives, for each row of inputs, the mean (dim), the logarithms of the diagonal of L
(dim) and, for a full covariance, the entries of L below it, row by row: q = N(mean, L L').
"""

import numpy as np

from .ascent import FIRST_DECAY, SECOND_DECAY, TINY

_LOG_2_PI = float(np.log(2.0 * np.pi))
_LIMIT = 12.0  # of a log scale: exp of more is no standard deviation of standardised parameters


def num_outputs(dim, dense):
    """Return how many numbers make a Gaussian of `dim` parameters."""
    return 2 * dim + (dim * (dim - 1) // 2 if dense else 0)


def new_layers(sizes, rng):
    """Return weights and biases in turn, drawn in this order: standard normals, weights scaled.

    The last layer has no biases to begin with and a hundredth of the others' scale, so that every
    q is about N(0, I).
    """
    layers = []
    for i, (before, after) in enumerate(zip(sizes[:-1], sizes[1:], strict=True)):
        last = i == len(sizes) - 2
        scale = (0.01 if last else 1.0) / np.sqrt(before)
        layers.append(scale * rng.standard_normal((before, after)))
        layers.append(np.zeros(after) if last else rng.standard_normal(after))
    return layers


def forward(layers, inputs):
    """Return the activations of every layer, the inputs (n, k) first, the outputs last."""
    activations = [inputs]
    for i in range(0, len(layers), 2):
        inner = activations[-1] @ layers[i] + layers[i + 1]
        activations.append(np.tanh(inner) if i < len(layers) - 2 else inner)
    return activations


def backward(layers, activations, slope):
    """Return the gradient by the layers of a sum whose gradient by the outputs is `slope`."""
    gradients = [None] * len(layers)
    for i in range(len(layers) - 2, -1, -2):
        before = activations[i // 2]
        gradients[i], gradients[i + 1] = before.T @ slope, slope.sum(axis=0)
        if i:
            slope = (slope @ layers[i].T) * (1.0 - before**2)
    return gradients


def split(outputs, dim, dense):
    """Return means (n, dim) and factors L (n, dim, dim) of the outputs (n, m)."""
    log_scales = np.clip(outputs[:, dim : 2 * dim], -_LIMIT, _LIMIT)
    factors = np.zeros((len(outputs), dim, dim))
    factors[:, np.arange(dim), np.arange(dim)] = np.exp(log_scales)
    if dense:
        rows, columns = np.tril_indices(dim, -1)
        factors[:, rows, columns] = outputs[:, 2 * dim :]
    return outputs[:, :dim], factors


def log_q(outputs, x, dense):
    """Return log q(x) of each row, (n,), and its gradient by the outputs, (n, m)."""
    dim = x.shape[1]
    means, factors = split(outputs, dim, dense)
    scales = np.diagonal(factors, axis1=1, axis2=2)
    if dense:
        z = np.linalg.solve(factors, (x - means)[..., None])[..., 0]
        a = np.linalg.solve(np.swapaxes(factors, 1, 2), z[..., None])[..., 0]
    else:
        z = (x - means) / scales
        a = z / scales
    value = -0.5 * np.square(z).sum(axis=1) - np.log(scales).sum(axis=1) - 0.5 * dim * _LOG_2_PI
    slope = np.empty_like(outputs)
    slope[:, :dim] = a
    slope[:, dim : 2 * dim] = (scales * a * z - 1.0) * _free(outputs, dim)
    if dense:
        rows, columns = np.tril_indices(dim, -1)
        slope[:, 2 * dim :] = a[:, rows] * z[:, columns]
    return value, slope


def bound(outputs, normals, joint, dense):
    """Return the evidence lower bound of each row by one draw, and its gradient by the outputs.

    Parameters
    ----------
    outputs : numpy.ndarray, shape (n, m)
    normals : numpy.ndarray, shape (n, dim)
    joint : callable
        joint(x (n, dim)) -> log densities (n,) and their gradients (n, dim).

    Returns
    -------
    value : numpy.ndarray, shape (n,)
        log p(x, y) plus the entropy of q.
    slope : numpy.ndarray, shape (n, m)
    """
    dim = normals.shape[1]
    means, factors = split(outputs, dim, dense)
    log_p, by_x = joint(means + np.einsum("nij,nj->ni", factors, normals))
    scales = np.diagonal(factors, axis1=1, axis2=2)
    value = log_p + np.log(scales).sum(axis=1) + 0.5 * dim * (1.0 + _LOG_2_PI)
    slope = np.empty_like(outputs)
    slope[:, :dim] = by_x
    slope[:, dim : 2 * dim] = (by_x * scales * normals + 1.0) * _free(outputs, dim)
    if dense:
        rows, columns = np.tril_indices(dim, -1)
        slope[:, 2 * dim :] = by_x[:, rows] * normals[:, columns]
    return value, slope


def _free(outputs, dim):
    """Which log scales are not held at their limit."""
    return np.abs(outputs[:, dim : 2 * dim]) < _LIMIT


def adam_step(layers, gradients, memory, t, step_size):
    """Climb by Adam's step number t, from 1, in place; `memory` holds two arrays a layer."""
    for layer, gradient, (first, second) in zip(layers, gradients, memory, strict=True):
        first += (1.0 - FIRST_DECAY) * (gradient - first)
        second += (1.0 - SECOND_DECAY) * (gradient**2 - second)
        spread = np.sqrt(second / (1.0 - SECOND_DECAY**t)) + TINY
        layer += step_size * (first / (1.0 - FIRST_DECAY**t)) / spread
