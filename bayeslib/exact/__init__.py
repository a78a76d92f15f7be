"""Exact answers where they can be had: enumeration, grids and adaptive quadrature."""
