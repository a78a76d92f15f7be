"""Exact answers where they can be had: enumeration, grids and adaptive quadrature."""

from .discrete import Enumeration, enumerate_posterior
from .grid import Grid, grid_posterior
from .quadrature import quadrature

__all__ = ["Enumeration", "Grid", "enumerate_posterior", "grid_posterior", "quadrature"]
