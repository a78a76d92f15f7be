"""Is it right: how much draws tell, what speaks against them, whether a sampler fits."""

from .measures import autocorrelation, bfmi, ess, hdi, mcse, rhat

__all__ = ["autocorrelation", "bfmi", "ess", "hdi", "mcse", "rhat"]
