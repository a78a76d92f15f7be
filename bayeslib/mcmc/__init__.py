"""Markov chain Monte Carlo: Metropolis, Metropolis-Hastings, and slice sampling."""

from .hastings import metropolis_hastings
from .independence import independence_metropolis
from .slices import slice_sample
from .walk import metropolis

__all__ = ["independence_metropolis", "metropolis", "metropolis_hastings", "slice_sample"]
