"""A small neural network from data to a packed Gaussian, with its gradient by hand.

The last layer gives, for each row of inputs, the parameters of `gaussian_family`.
"""

import numpy as np

from .gaussian_family import unpack

_LIMIT = 12.0  # of a log scale: exp of more is no standard deviation of standardised parameters


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


def limited(outputs, dim):
    """Return outputs (n, k) with log scales no further from 0 than a standard deviation may be."""
    packed = outputs.copy()
    packed[:, dim : 2 * dim] = np.clip(outputs[:, dim : 2 * dim], -_LIMIT, _LIMIT)
    return packed


def gaussians(layers, inputs, dim):
    """Return means (n, dim) and factors L (n, dim, dim) for the inputs (n, k)."""
    return unpack(limited(forward(layers, inputs)[-1], dim), dim)
