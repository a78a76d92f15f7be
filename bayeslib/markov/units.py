"""Gibbs sampling of a Boltzmann machine: the kernel and its chain."""

from typing import NamedTuple

import numpy as np

from ..chains.loop import laid_out, numba_type
from ..chains.sweeps import Sweeps
from ..compile.callback import (
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


class Units(NamedTuple):
    """Units of 0 or 1, and the machine they belong to."""

    state: VECTOR
    moving: INTS  # those that are not clamped
    weights: MATRIX
    biases: VECTOR


@helper
def towards_one(units, i, num_others):
    """Return by how much unit i likes to be 1, as the first of them are."""
    total, row, state = units.biases[i], units.weights[i], units.state
    for j in range(num_others):
        total += row[j] * state[j]
    return total


@helper
def sweep(rng, units):
    """Draw each unit that moves given all the others, in their order."""
    state, moving = units.state, units.moving
    for k in range(moving.size):
        total = towards_one(units, moving[k], state.size)
        state[moving[k]] = 1.0 if rng.random() < 1.0 / (1.0 + np.exp(-total)) else 0.0


@kernel(INT, HANDLE, GENERATOR, INTS, INT, numba_type(Units), MATRIX, VECTOR)
def units_kernel(handle, rng, span, num_warmup, units, draws, log_p):
    """Sweep; keep the units and minus their energy; see `Sweeps`."""
    units = borrowed(units)
    state = units.state
    for t in range(span[0], span[1]):
        if handle[0] != 0:
            return t
        sweep(rng, units)
        if t >= num_warmup:
            value = 0.0
            for i in range(state.size):
                value += state[i] * towards_one(units, i, i)
                draws[t - num_warmup, i] = state[i]
            log_p[t - num_warmup] = value
    return span[1]


def units_chain(control, chain, machine, rng, start, moving, counts):
    num_samples, num_warmup, _ = counts
    drawn = np.where(rng.random(start.size) < 0.5, 1.0, 0.0)
    units = laid_out(
        Units, state=np.where(np.isnan(start), drawn, start), moving=moving,
        weights=machine.weights, biases=machine.biases,
    )  # fmt: skip
    draws = np.empty((num_samples, start.size))
    return Sweeps(units_kernel, rng, units, num_warmup, draws).run(control, chain, moving.size)
