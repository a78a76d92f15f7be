"""Rejection sampling: independent exact draws from under an envelope."""

from .adaptive import adaptive_rejection_sample
from .envelope import rejection_sample

__all__ = ["adaptive_rejection_sample", "rejection_sample"]
