"""Machine code on disk: a file for each function, named by what the function is made of.

What cannot be read is compiled again and replaced; what cannot be stored is done without.
"""

import contextlib
import os
import secrets
from hashlib import sha256
from pathlib import Path

from ..errors import warn
from .internals import as_bytes, from_bytes, global_compiler_lock, machine, user_cache

_KEPT = 1000  # files; those that were used least recently go first
_DIGEST = sha256().digest_size
_said = []  # folders that a warning has named: one


class Stored:
    """In the place of numba's cache of a function, of which there is one signature.

    Parameters
    ----------
    name : str
    digest : str
        Of all that the function is made of.
    missed : callable
        Called when there is nothing to load, so that it has to be compiled.

    Attributes
    ----------
    cache_path : Path
        The folder.
    """

    def __init__(self, name, digest, missed=lambda: None):
        made_of = sha256(repr((digest, machine())).encode()).hexdigest()[:32]
        self.cache_path, self._missed = cache_folder(), missed
        self._path = self.cache_path / f"{name}-{made_of}.nbc"

    @global_compiler_lock
    def load_overload(self, signature=None, context=None):
        """Return what was compiled, or None."""
        # No file; or one that was stored by a module that cannot be imported here.
        with contextlib.suppress(Exception):
            content = self._path.read_bytes()
            code, checksum = content[:-_DIGEST], content[-_DIGEST:]
            if sha256(code).digest() == checksum:
                with contextlib.suppress(OSError):
                    os.utime(self._path)
                return from_bytes(code)
        self._missed()
        return None

    @global_compiler_lock
    def save_overload(self, signature, compiled):
        """Store what was compiled, whole or not at all."""
        if (code := as_bytes(compiled)) is None:
            return
        unfinished = self._path.with_suffix(f".{secrets.token_hex(8)}.tmp")
        try:
            self.cache_path.mkdir(parents=True, exist_ok=True)
            try:
                unfinished.write_bytes(code + sha256(code).digest())
                unfinished.replace(self._path)
            finally:
                unfinished.unlink(missing_ok=True)
        except OSError as error:
            if not _said:
                _said.append(self.cache_path)
                warn(
                    f"compiled code cannot be stored in {self.cache_path} "
                    f"({error.strerror or error}): let NUMBA_CACHE_DIR name another folder"
                )
        with contextlib.suppress(OSError):  # another process may do the same
            files = sorted(self.cache_path.glob("*.nbc"), key=lambda path: path.stat().st_mtime)
            for path in files[:-_KEPT]:
                path.unlink(missing_ok=True)


def cache_folder():
    """Return where machine code is kept."""
    if chosen := os.environ.get("NUMBA_CACHE_DIR"):
        return Path(chosen) / "bayeslib"
    folder = user_cache("bayeslib")
    # an empty XDG_CACHE_HOME counts as unset; else code lands in the reader's folder
    return folder if folder.is_absolute() else Path.home() / ".cache" / "bayeslib"
