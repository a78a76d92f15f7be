"""Hamiltonian Monte Carlo."""

from .nuts_sampler import nuts
from .sampler import hmc
from .trajectory import Trajectory, leapfrog

__all__ = ["Trajectory", "hmc", "leapfrog", "nuts", "sghmc", "sgld"]


def __getattr__(name):
    if name not in ("sghmc", "sgld"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import stochastic  # keeps its kernels out of a first run of the others

    return getattr(stochastic, name)
