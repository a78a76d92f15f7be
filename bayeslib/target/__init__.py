"""What is asked: a log density, what may propose for it, and where it lives without bounds."""

from .target import Target
from .truth import Truth

__all__ = ["Target", "Truth"]
