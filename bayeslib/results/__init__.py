"""What every algorithm returns: an approximation of the posterior that answers expectations."""

from ..summary import Summary
from .draws import Draws, default_names
from .estimate import Estimate
from .gaussian import Gaussian
from .loading import load

__all__ = ["Draws", "Estimate", "Gaussian", "Summary", "default_names", "load"]
