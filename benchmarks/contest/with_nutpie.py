"""nutpie, on the PyMC model compiled by its numba backend (the default), two threads.

Variants: "numba", and "own", whose warm-up is of nutpie's own length.
"""

import nutpie

from . import problems, pymc_models
from .problems import NUM_OWN_WARMUP


class Contestant:
    def __init__(self, posterior, variant, unit, seed):
        self._posterior = posterior
        made = pymc_models.model(posterior, unit)
        self._compiled = nutpie.compile_pymc_model(made, backend="numba")
        self._tune = NUM_OWN_WARMUP if variant == "own" else problems.NUM_WARMUP

    def call(self, seed):
        return nutpie.sample(
            self._compiled, draws=problems.NUM_SAMPLES, tune=self._tune,
            chains=problems.NUM_CHAINS, cores=problems.NUM_CORES, seed=seed,
            target_accept=problems.TARGET_ACCEPT, progress_bar=False,
        )  # fmt: skip

    def read(self, trace):
        groups = trace["sample_stats"], trace["warmup_sample_stats"]
        steps = sum(int(group["n_steps"].sum()) for group in groups)
        return pymc_models.values(self._posterior, trace), {"num_gradients": steps}
