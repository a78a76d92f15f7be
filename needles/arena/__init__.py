"""The arena: targets, samplers and settings to play with, in the reader's browser."""

from .figure import arena

__all__ = ["arena"]
