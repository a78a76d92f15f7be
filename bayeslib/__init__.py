"""Approximate Bayesian inference you can run.

Every method takes a `Target` and returns draws, or a density, that answers expectations.
"""

import importlib
import sys
import types

_HOME = {
    "Amortised": "hybrid",
    "BayeslibError": "errors",
    "BayeslibTypeError": "errors",
    "BayeslibWarning": "errors",
    "BoltzmannMachine": "mcmc",
    "Draws": "results",
    "EnvelopeError": "errors",
    "Estimate": "results",
    "Gaussian": "results",
    "GradientError": "errors",
    "ImproperError": "errors",
    "RejectionError": "errors",
    "StartError": "errors",
    "Target": "target",
    "TargetError": "errors",
    "Truth": "target",
    "ZeroWeightsError": "errors",
    "adaptive_importance_sample": "importance",
    "adaptive_rejection_sample": "rejection",
    "advi": "vi",
    "anneal": "mcmc",
    "annealed_importance_sample": "importance",
    "arena": "arena",
    "autocorrelation": "diagnostics",
    "bbvi": "hybrid",
    "bbvi_gradients": "hybrid",
    "bfmi": "diagnostics",
    "check": "study",
    "elbo": "vi",
    "enumerate_posterior": "challenge",
    "ess": "diagnostics",
    "explore": "explore",
    "geweke_test": "calibration",
    "gibbs": "mcmc",
    "grid_posterior": "challenge",
    "hdi": "diagnostics",
    "hmc": "hmc",
    "importance_sample": "importance",
    "independence_metropolis": "mcmc",
    "inverse_cdf_sample": "monte_carlo",
    "ising_exact": "mcmc",
    "ising_sample": "mcmc",
    "laplace": "vi",
    "leapfrog": "hmc",
    "linear_log_likelihood": "functions",
    "load": "results",
    "log1pexp": "functions",
    "log_sigmoid": "functions",
    "logistic_log_likelihood": "functions",
    "mcse": "diagnostics",
    "metropolis": "mcmc",
    "metropolis_hastings": "mcmc",
    "monte_carlo": "monte_carlo",
    "multipathfinder": "hybrid",
    "nuts": "hmc",
    "onsager_energy": "mcmc",
    "onsager_magnetisation": "mcmc",
    "parallel_tempering": "mcmc",
    "particle_filter": "importance",
    "pathfinder": "hybrid",
    "psis": "importance",
    "quadrature": "challenge",
    "rejection_sample": "rejection",
    "resample": "importance",
    "rhat": "diagnostics",
    "sghmc": "hmc",
    "sgld": "hmc",
    "sigmoid": "functions",
    "simulation_based_calibration": "calibration",
    "slice_sample": "mcmc",
    "smc": "importance",
    "train_amortised": "hybrid",
    "unconstrained": "transforms",
}

_MODULES = ("plots", "posteriors")

__all__ = sorted(_HOME)
__version__ = "0.1.0"


class _Package(types.ModuleType):
    """Lets ``bayeslib.hmc`` be the function, whether or not the module was imported before."""

    def __getattr__(self, name):
        if name in _MODULES:
            return importlib.import_module(f".{name}", __name__)
        if name not in _HOME:
            raise AttributeError(f"module 'bayeslib' has no attribute {name!r}")
        value = getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)
        setattr(self, name, value)
        return value

    def __setattr__(self, name, value):
        if _HOME.get(name) == name and isinstance(value, types.ModuleType):
            value = getattr(value, name)  # the import system binds a module to its package
        super().__setattr__(name, value)

    def __dir__(self):
        return [*__all__, *_MODULES, "__version__"]


sys.modules[__name__].__class__ = _Package
