"""What an exercise can ask for, and how near an answer comes to it.

Each kind of answer reads what the reader gave (or says what is wrong with it), decides whether it
is right, and says how it misses.
"""

from .answers import UnreadableError
from .chance import Sample, Statistical
from .exact import Choice, Routine, Value, near

__all__ = ["Choice", "Routine", "Sample", "Statistical", "UnreadableError", "Value", "near"]
