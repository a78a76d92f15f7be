"""Machine code on disk: numba's cache, which a full disk or a damaged file does not stop.

What cannot be read is compiled again and replaced; what cannot be stored is done without.
"""

from ..errors import warn
from .internals import Cache, NoCache

_said = []  # folders that a warning has named: one


def cache_of(function, missed=lambda: None):
    """Return where numba shall keep the machine code of `function`.

    Parameters
    ----------
    function : callable
        Plain Python, of a file.
    missed : callable
        Called when there is nothing to load, so that it has to be compiled.
    """
    try:
        return Cache(function, missed, _say)
    except (OSError, RuntimeError) as error:  # no folder that can be written to
        _say("the cache folder", error)
        return NoCache(missed)


def _say(folder, reason):
    if not _said:
        _said.append(folder)
        warn(
            f"compiled code cannot be stored in {folder} ({reason}), so that every new process "
            "compiles again: make room there, or let NUMBA_CACHE_DIR name another folder"
        )
