"""Markov chain Monte Carlo: Metropolis, Gibbs, slice sampling, lattices, annealing."""

from .annealing import anneal
from .boltzmann import BoltzmannMachine
from .hastings import metropolis_hastings
from .independence import independence_metropolis
from .ising import ising_sample
from .ising_truth import CRITICAL, IsingTruth, ising_exact, onsager_energy, onsager_magnetisation
from .learning import Learned
from .slices import slice_sample
from .sweeps import gibbs
from .tempering import parallel_tempering
from .walk import metropolis

__all__ = [
    "CRITICAL",
    "BoltzmannMachine",
    "IsingTruth",
    "Learned",
    "anneal",
    "gibbs",
    "independence_metropolis",
    "ising_exact",
    "ising_sample",
    "metropolis",
    "metropolis_hastings",
    "onsager_energy",
    "onsager_magnetisation",
    "parallel_tempering",
    "slice_sample",
]
