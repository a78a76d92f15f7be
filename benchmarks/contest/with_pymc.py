"""PyMC's own NUTS, two processes. Variants: "default", its C backend, and "numba"."""

import pymc as pm

from . import problems, pymc_models


class Contestant:
    def __init__(self, posterior, variant, unit, seed):
        self._posterior = posterior
        self._model = pymc_models.model(posterior, unit)
        self._options = {"compile_kwargs": {"mode": "NUMBA"}} if variant == "numba" else {}

    def call(self, seed, **options):
        return pm.sample(
            model=self._model, draws=problems.NUM_SAMPLES, tune=problems.NUM_WARMUP,
            chains=problems.NUM_CHAINS, cores=problems.NUM_CORES, random_seed=seed,
            target_accept=problems.TARGET_ACCEPT, progressbar=False,
            compute_convergence_checks=False, **self._options, **options,
        )  # fmt: skip

    def read(self, trace):
        values = pymc_models.values(self._posterior, trace)
        return values, {"num_gradients": _steps(trace.sample_stats)}

    def calibrate(self, seed):
        trace = self.call(seed, discard_tuned_samples=False)
        sampling = _steps(trace.sample_stats)
        return (sampling + _steps(trace.warmup_sample_stats)) / sampling


def _steps(stats):
    return int(stats["n_steps"].sum())
