"""The public names, each from where it lives; `__init__` reads them here."""

from . import posteriors as posteriors
from .compile.functions.logistic import log1pexp as log1pexp
from .compile.functions.logistic import log_sigmoid as log_sigmoid
from .compile.functions.logistic import sigmoid as sigmoid
from .compile.functions.regression import linear_log_likelihood as linear_log_likelihood
from .compile.functions.regression import logistic_log_likelihood as logistic_log_likelihood
from .diagnostics.calibration.joint import geweke_test as geweke_test
from .diagnostics.calibration.ranks import (
    simulation_based_calibration as simulation_based_calibration,
)
from .diagnostics.measures import autocorrelation as autocorrelation
from .diagnostics.measures import bfmi as bfmi
from .diagnostics.measures import ess as ess
from .diagnostics.measures import hdi as hdi
from .diagnostics.measures import mcse as mcse
from .diagnostics.measures import rhat as rhat
from .errors import BayeslibError as BayeslibError
from .errors import BayeslibTypeError as BayeslibTypeError
from .errors import BayeslibWarning as BayeslibWarning
from .errors import EnvelopeError as EnvelopeError
from .errors import GradientError as GradientError
from .errors import ImproperError as ImproperError
from .errors import RejectionError as RejectionError
from .errors import StartError as StartError
from .errors import TargetError as TargetError
from .errors import TooLargeError as TooLargeError
from .errors import ZeroWeightsError as ZeroWeightsError
from .exact.enumerate_posterior import enumerate_posterior as enumerate_posterior
from .exact.grid_posterior import grid_posterior as grid_posterior
from .exact.quadrature import quadrature as quadrature
from .hamiltonian.hmc import hmc as hmc
from .hamiltonian.leapfrog import leapfrog as leapfrog
from .hamiltonian.nuts import nuts as nuts
from .hamiltonian.sghmc import sghmc as sghmc
from .hamiltonian.sgld import sgld as sgld
from .independent.adaptive_importance_sample import (
    adaptive_importance_sample as adaptive_importance_sample,
)
from .independent.adaptive_rejection_sample import (
    adaptive_rejection_sample as adaptive_rejection_sample,
)
from .independent.annealed_importance_sample import (
    annealed_importance_sample as annealed_importance_sample,
)
from .independent.importance_sample import importance_sample as importance_sample
from .independent.importance_sample import psis as psis
from .independent.monte_carlo import inverse_cdf_sample as inverse_cdf_sample
from .independent.monte_carlo import monte_carlo as monte_carlo
from .independent.particle_filter import particle_filter as particle_filter
from .independent.rejection_sample import rejection_sample as rejection_sample
from .independent.resample import resample as resample
from .independent.smc import smc as smc
from .markov.anneal import anneal as anneal
from .markov.boltzmann import BoltzmannMachine as BoltzmannMachine
from .markov.gibbs import gibbs as gibbs
from .markov.independence_metropolis import independence_metropolis as independence_metropolis
from .markov.ising_exact import ising_exact as ising_exact
from .markov.ising_exact import onsager_energy as onsager_energy
from .markov.ising_exact import onsager_magnetisation as onsager_magnetisation
from .markov.ising_sample import ising_sample as ising_sample
from .markov.metropolis import metropolis as metropolis
from .markov.metropolis_hastings import metropolis_hastings as metropolis_hastings
from .markov.parallel_tempering import parallel_tempering as parallel_tempering
from .markov.slice_sample import slice_sample as slice_sample
from .results.draws import Draws as Draws
from .results.estimate import Estimate as Estimate
from .results.gaussian import Gaussian as Gaussian
from .results.loading import load as load
from .target.parameters import cholesky_corr as cholesky_corr
from .target.parameters import interval as interval
from .target.parameters import lower as lower
from .target.parameters import ordered as ordered
from .target.parameters import positive as positive
from .target.parameters import simplex as simplex
from .target.parameters import unit_vector as unit_vector
from .target.parameters import upper as upper
from .target.target import Target as Target
from .target.target import Truth as Truth
from .target.transforms import unconstrained as unconstrained
from .variational.advi import advi as advi
from .variational.bbvi import bbvi as bbvi
from .variational.bbvi_gradients import bbvi_gradients as bbvi_gradients
from .variational.elbo import elbo as elbo
from .variational.laplace import laplace as laplace
from .variational.multipathfinder import multipathfinder as multipathfinder
from .variational.pathfinder import pathfinder as pathfinder
from .variational.train_amortised import Amortised as Amortised
from .variational.train_amortised import train_amortised as train_amortised

__version__: str
