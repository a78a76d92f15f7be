"""What the pages import: figures that move, exercises that answer, numbers for the prose."""

from .figures.interactive import explore
from .study import ask, check

__all__ = ["ask", "check", "explore"]
