"""Gibbs sampling of a Boltzmann machine: the kernel and its chain."""

import numpy as np

from ..chains.blocks import NUM_EVALS, Record, advance, outcome
from ..compile.callback import GENERATOR, HANDLE, INT, INTS, MATRIX, VECTOR, kernel
from .ising_sample import Stop


@kernel(INT, HANDLE, GENERATOR, INT, INT, INT, INTS, MATRIX, VECTOR, VECTOR, MATRIX, VECTOR)
def boltzmann_kernel(
    handle, rng, first, last, num_warmup, units, weights, biases, state, draws, logdensity
):
    """Do the sweeps first, …, last - 1 over `units`, in their order; return how far it came."""
    n = state.size
    for t in range(first, last):
        if handle[0] != 0:
            return t
        for k in range(units.size):
            i = units[k]
            total = biases[i]
            for j in range(n):
                total += weights[i, j] * state[j]
            u = rng.random()
            state[i] = 1.0 if u < 1.0 / (1.0 + np.exp(-total)) else 0.0
        if t < num_warmup:
            continue
        value = 0.0
        for i in range(n):
            total = biases[i]
            for j in range(i):
                total += weights[i, j] * state[j]
            value += state[i] * total
            draws[t - num_warmup, i] = state[i]
        logdensity[t - num_warmup] = value
    return last


def boltzmann_chain(control, chain, weights, biases, rng, start, units, num_warmup, num_samples):
    n, stop = biases.size, Stop()
    state = np.where(rng.random(n) < 0.5, 1.0, 0.0)
    known = ~np.isnan(start)
    state[known] = start[known]
    values, logdensity = np.empty((num_samples, n)), np.empty(num_samples)

    def step(first, last):
        return boltzmann_kernel(
            stop.handle, rng, first, last, num_warmup, units, weights, biases, state, values,
            logdensity,
        )  # fmt: skip

    num_iterations = num_warmup + num_samples
    done = advance(step, bound=stop, control=control, chain=chain, num_iterations=num_iterations)
    record = Record(n)
    record.counts[NUM_EVALS] = done * units.size
    return outcome(
        done, bound=stop, record=record, rng=rng, values=values, logdensity=logdensity, stats={},
        settings={},
    )  # fmt: skip
