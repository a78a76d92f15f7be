"""Hamiltonian Monte Carlo."""

from .nuts_sampler import nuts
from .sampler import hmc
from .trajectory import Trajectory, leapfrog

__all__ = ["Trajectory", "hmc", "leapfrog", "nuts"]
