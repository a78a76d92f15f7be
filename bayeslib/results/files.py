"""Results on disk: an npz archive of arrays, with a header in JSON that says how they belong."""

import json
import os
import re
import secrets
from dataclasses import fields
from pathlib import Path

import numpy as np

from .. import __version__
from ..errors import BayeslibError, BayeslibTypeError
from .coordinates import Transform
from .estimate import Estimate

FORMAT = 1
_HEADER = "header"
_KINDS = "biufcSUmM"  # what an array may hold without being pickled


def write(path, result):
    """Write a result to `path` at once or not at all.

    Parameters
    ----------
    path : str or path-like
        ``.npz`` is added when it is missing.
    result : dataclass
        Of numbers, text, arrays, estimates, None, and tuples, lists and dictionaries of them.

    Returns
    -------
    pathlib.Path
        The file written.

    Raises
    ------
    BayeslibError
        For a value that is none of these, named by its place.
    OSError
        When the file cannot be written.
    """
    path = _with_suffix(_as_path(path))
    arrays = {}
    tree = {f.name: _encode(getattr(result, f.name), f.name, arrays) for f in fields(result)}
    kind = type(result).__name__
    head = {"format": FORMAT, "bayeslib": __version__, "kind": kind, "fields": tree}
    if not path.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {str(path.parent)!r} to save {path.name} in")
    unfinished = path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")
    try:
        with open(unfinished, "xb") as file:
            np.savez(file, **{_HEADER: np.array(json.dumps(head))}, **arrays)
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)
    return path


def read(path):
    """Read what `write` wrote.

    Parameters
    ----------
    path : str or path-like
        ``.npz`` may be left out.

    Returns
    -------
    kind : str
    fields : dict

    Raises
    ------
    BayeslibError
        When the file is damaged, is not one of ours, or was written by a later version.
    OSError
        When there is no such file, or it cannot be read.
    """
    path = _as_path(path)
    if not path.exists() and _with_suffix(path).exists():
        path = _with_suffix(path)
    try:
        with open(path, "rb") as file:
            if file.read(2) != b"PK":
                raise _foreign(path)
            file.seek(0)
            members = np.load(file, allow_pickle=False)  # it checks each part that is read
            if _HEADER not in members.files:
                raise _foreign(path, f": it holds {', '.join(members.files[:5])}")
            header = json.loads(str(members[_HEADER]))
            if not isinstance(header, dict) or "format" not in header:
                raise _foreign(path, ": its header is of something else")
            if header["format"] > FORMAT:
                found = f"{str(path)!r} was written by bayeslib {header.get('bayeslib')}"
                raise BayeslibError(f"{found}, in a format unknown to this: install a newer one")
            found = {name: _decode(value, members) for name, value in header["fields"].items()}
            return header["kind"], found
    except (OSError, BayeslibError):
        raise
    except Exception as error:  # there is no end to what a damaged archive provokes
        raise BayeslibError(f"{str(path)!r} is damaged or incomplete: {error}") from error


def _foreign(path, why=""):
    return BayeslibError(f"{str(path)!r} is not a file that save() of bayeslib wrote{why}")


def _as_path(path):
    try:
        return Path(path)
    except TypeError:
        raise BayeslibTypeError(f"path must be a str or path-like, got {path!r}") from None


def _with_suffix(path):
    return path if path.suffix == ".npz" else path.with_name(path.name + ".npz")


def _encode(value, place, arrays):
    if isinstance(value, np.ndarray | np.generic):
        if value.dtype.kind not in _KINDS or isinstance(value, np.ma.MaskedArray):
            raise _unsaveable(place, f"an array of dtype {value.dtype}")
        name = _new_name(place, arrays)
        arrays[name] = np.asarray(value)
        return {"scalar" if isinstance(value, np.generic) else "array": name}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Transform):
        value = {"support": value.support, "blocks": value.blocks}
    if isinstance(value, Estimate):
        return {"estimate": _encode((value.value, value.mcse, value.num_evals), place, arrays)}
    if isinstance(value, tuple | list):
        items = [_encode(item, f"{place}/{i}", arrays) for i, item in enumerate(value)]
        return items if isinstance(value, list) else {"tuple": items}
    if isinstance(value, dict):
        pairs = []
        for key, item in value.items():
            places = (key, f"{place}/key"), (item, f"{place}/{key}")
            pairs.append([_encode(part, where, arrays) for part, where in places])
        return {"dict": pairs}
    raise _unsaveable(place, f"a {type(value).__name__}")


def _unsaveable(place, what):
    kinds = "numbers, text, arrays and tuples, lists and dictionaries of them"
    return BayeslibError(f"{place} is {what}, which cannot be saved: a file holds {kinds}")


def _new_name(place, arrays):
    """A name for a member of the archive that says where its array belongs."""
    name = wanted = re.sub(r"[^\w./\[\]-]", "_", place)
    while name in arrays:
        name = f"{wanted}~{len(arrays)}"
    return name


def _decode(value, members):
    if isinstance(value, list):
        return [_decode(item, members) for item in value]
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind in ("array", "scalar"):
        array = members[content]
        return array if kind == "array" else array[()]
    if kind == "dict":
        return {_decode(key, members): _decode(item, members) for key, item in content}
    content = _decode(content, members)
    return {"tuple": tuple, "estimate": lambda parts: Estimate(*parts)}[kind](content)
