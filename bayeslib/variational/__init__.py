"""Fitted densities: Laplace, variational inference, pathfinders, recognition networks."""
