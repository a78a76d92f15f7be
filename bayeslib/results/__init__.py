"""What every algorithm returns: an approximation of the posterior that answers expectations."""

from .draws import Draws
from .estimate import Estimate
from .gaussian import Gaussian
from .loading import load
from .summary import Summary

__all__ = ["Draws", "Estimate", "Gaussian", "Summary", "load"]
