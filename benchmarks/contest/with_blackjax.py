"""BlackJAX: window adaptation and NUTS under one jit, as its documentation has it.

Variants: "vmap" runs the chains in lockstep in one thread; "pmap" gives each a device of its own,
which are threads. Which is faster depends on the posterior; see README.md.
"""

import os
import sys

if sys.argv[3] == "pmap":
    os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"

import blackjax
import jax
import numpy as np
from blackjax.adaptation.base import get_filter_adapt_info_fn

from . import problems
from .jax_densities import logdensity


class Contestant:
    """One compiled function from keys and starts to draws and their number of steps."""

    def __init__(self, posterior, variant, unit, seed):
        self._posterior = posterior
        one = _chain(logdensity(posterior, unit))
        self._chains = jax.pmap(one) if variant == "pmap" else jax.jit(jax.vmap(one))

    def call(self, seed):
        keys = jax.random.split(jax.random.PRNGKey(seed), problems.NUM_CHAINS)
        starts = jax.numpy.asarray(problems.starts(self._posterior, seed))
        return jax.block_until_ready(self._chains(keys, starts))

    def read(self, result):
        values, steps = result
        return np.asarray(values), {"num_gradients": int(np.sum(steps))}


def _chain(density):
    steps_only = get_filter_adapt_info_fn(info_keys={"num_integration_steps"})

    def chain(key, start):
        warmup_key, key = jax.random.split(key)
        adaptation = blackjax.window_adaptation(
            blackjax.nuts, density, target_acceptance_rate=problems.TARGET_ACCEPT,
            adaptation_info_fn=steps_only,
        )  # fmt: skip
        (state, parameters), warmup = adaptation.run(warmup_key, start, problems.NUM_WARMUP)
        kernel = blackjax.nuts(density, **parameters).step

        def step(state, key):
            state, info = kernel(key, state)
            return state, (state.position, info.num_integration_steps)

        keys = jax.random.split(key, problems.NUM_SAMPLES)
        _, (values, steps) = jax.lax.scan(step, state, keys)
        return values, steps.sum() + warmup.info.num_integration_steps.sum()

    return chain
