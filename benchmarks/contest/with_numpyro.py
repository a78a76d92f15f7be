"""NumPyro. Variants: "vmap" and "pmap" scan over its NUTS kernel under one jit; "run" is
`MCMC.run` with vectorised chains, the usual way, which traces again at every call and does not
report the steps of the warm-up.
"""

import os
import sys

if sys.argv[3] == "pmap":
    os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"

import jax
import numpy as np
from numpyro.infer import MCMC, NUTS
from numpyro.infer.hmc import hmc

from . import problems
from .jax_densities import logdensity


class Contestant:
    """A potential, and a way to run its chains."""

    def __init__(self, posterior, variant, unit, seed):
        self._posterior = posterior
        self._mcmc = None
        density = logdensity(posterior, unit)

        def potential(x):
            return -density(x)

        if variant == "run":
            self._mcmc = MCMC(
                NUTS(potential_fn=potential, target_accept_prob=problems.TARGET_ACCEPT),
                num_warmup=problems.NUM_WARMUP, num_samples=problems.NUM_SAMPLES,
                num_chains=problems.NUM_CHAINS, chain_method="vectorized", progress_bar=False,
            )  # fmt: skip
        else:
            one = _chain(potential)
            self._chains = jax.pmap(one) if variant == "pmap" else jax.jit(jax.vmap(one))

    def call(self, seed):
        key = jax.random.PRNGKey(seed)
        starts = jax.numpy.asarray(problems.starts(self._posterior, seed))
        if self._mcmc is None:
            return jax.block_until_ready(
                self._chains(jax.random.split(key, problems.NUM_CHAINS), starts)
            )
        self._mcmc.run(key, init_params=starts)
        return jax.block_until_ready(self._mcmc.get_samples(group_by_chain=True)), None

    def read(self, result):
        values, steps = result
        return np.asarray(values), {"num_gradients": None if steps is None else int(steps.sum())}


def _chain(potential):
    init, sample = hmc(potential, algo="NUTS")

    def chain(key, start):
        state = init(
            start, num_warmup=problems.NUM_WARMUP, rng_key=key,
            target_accept_prob=problems.TARGET_ACCEPT,
        )  # fmt: skip

        def step(state, _):
            state = sample(state)
            return state, (state.z, state.num_steps)

        length = problems.NUM_WARMUP + problems.NUM_SAMPLES
        _, (values, steps) = jax.lax.scan(step, state, None, length=length)
        return values[problems.NUM_WARMUP :], steps.sum()

    return chain
