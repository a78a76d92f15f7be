"""Importance sampling: weighted draws, resampled, carried through time, annealed, adapted."""

from .adaptive import adaptive_importance_sample
from .annealed import annealed_importance_sample
from .filter import particle_filter
from .pareto import psis
from .resampling import resample
from .sequential import smc
from .weights import importance_sample

__all__ = [
    "adaptive_importance_sample",
    "annealed_importance_sample",
    "importance_sample",
    "particle_filter",
    "psis",
    "resample",
    "smc",
]
