"""Variational inference: the evidence lower bound, and Gaussians fitted to climb it."""

from .advi import advi
from .laplace import laplace
from .lower_bound import elbo

__all__ = ["advi", "elbo", "laplace"]
