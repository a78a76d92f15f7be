"""Machine code on disk: numba's cache, which a full disk or a damaged file does not stop.

What cannot be read is compiled again and replaced; what cannot be stored is done without.
"""

import pickle
from hashlib import sha256
from pathlib import Path

from numba.core.caching import (
    CompileResultCacheImpl,
    FunctionCache,
    IndexDataCacheFile,
    NullCache,
)

from ..errors import warn

_DIGEST = sha256().digest_size
_said = []  # folders that a warning has named: one


class _Files(IndexDataCacheFile):
    """Each file of machine code ends in a checksum; one that is damaged counts as missing."""

    def _load_index(self):
        try:
            found = super()._load_index()
        except Exception:  # whatever unpickling makes of a damaged file
            return {}
        return found if isinstance(found, dict) else {}

    def _load_data(self, name):
        stored = Path(self._data_path(name)).read_bytes()
        if sha256(stored[:-_DIGEST]).digest() != stored[-_DIGEST:]:
            return None
        return pickle.loads(stored[:-_DIGEST])

    def _save_data(self, name, data):
        data = self._dump(data)
        with self._open_for_write(self._data_path(name)) as file:
            file.write(data + sha256(data).digest())


class _Contents(CompileResultCacheImpl):
    def check_cachable(self, compiled):
        return not compiled.library.has_dynamic_globals  # addresses of this process; no warning


class _Cache(FunctionCache):
    _impl_class = _Contents

    def __init__(self, function, missed):
        super().__init__(function)
        self._missed = missed
        files = self._cache_file
        self._cache_file = _Files(self._cache_path, self._impl.filename_base, files._source_stamp)

    def load_overload(self, sig, target_context):
        try:
            found = super().load_overload(sig, target_context)
        except Exception:  # stored by a module that cannot be imported here, for one
            found = None
        if found is None:
            self._missed()
        return found

    def save_overload(self, sig, data):
        try:
            super().save_overload(sig, data)
        except OSError as error:
            _say(self._cache_path, error.strerror or error)


class _Nowhere(NullCache):
    def __init__(self, missed):
        self._missed = missed

    def load_overload(self, sig, target_context):
        self._missed()


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
        return _Cache(function, missed)
    except (OSError, RuntimeError) as error:  # no folder that can be written to
        _say("the cache folder", error)
        return _Nowhere(missed)


def _say(folder, reason):
    if not _said:
        _said.append(folder)
        warn(
            f"compiled code cannot be stored in {folder} ({reason}), so that every new process "
            "compiles again: make room there, or let NUMBA_CACHE_DIR name another folder"
        )
