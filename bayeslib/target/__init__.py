"""What is asked: a log density, what may propose for it, and where it lives without bounds."""

from .target import Target, Truth

__all__ = ["Target", "Truth"]
