"""Hamiltonian Monte Carlo."""

from .sampler import hmc
from .trajectory import Trajectory, leapfrog

__all__ = ["Trajectory", "hmc", "leapfrog"]
