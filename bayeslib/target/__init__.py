"""What is asked: a log density, what may propose for it, and where it lives without bounds."""

from .proposals import as_proposal
from .target import Target, as_names, as_separate, as_target
from .transforms import unconstrained
from .truth import Quantiles, Truth

__all__ = [
    "Quantiles", "Target", "Truth", "as_names", "as_proposal", "as_separate", "as_target",
    "unconstrained",
]  # fmt: skip
