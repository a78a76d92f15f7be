"""Numbers that are called a[0], a[1], …, as one array called a."""

import functools
import re

import numpy as np

from ..errors import BayeslibError, BayeslibTypeError
from ..validate import frozen

_INDEXED = re.compile(r"(.+)\[([^\[\]]+)\]")


@functools.lru_cache(maxsize=64)
def variables(names):
    """Join names of dimensions to variables.

    Parameters
    ----------
    names : tuple of str

    Returns
    -------
    dict
        The name of each variable: where its numbers lie, an int or an array of the shape of the
        variable, and the labels of its one axis, or None where these are 0, 1, … along each.
    """
    members = {}
    for column, name in enumerate(names):
        match = _INDEXED.fullmatch(name)
        base, label = match.groups() if match else (name, None)
        members.setdefault(base, []).append((name, column, label))
    found = {}
    for base, parts in members.items():
        parts.sort(key=lambda part: [int(i) for i in (part[2] or "").split(",") if i.isdecimal()])
        columns, labels = [part[1] for part in parts], [part[2] for part in parts]
        if None in labels:  # a and a[0] are not parts of one thing
            found |= {name: (column, None) for name, column, _ in parts}
        else:
            shape = _grid(labels)
            found[base] = np.reshape(columns, shape or -1), None if shape else labels
    return found


def _grid(labels):
    """The shape whose indices, in C order, the labels are; None if they are not."""
    try:
        places = [tuple(map(int, label.split(","))) for label in labels]
        shape = tuple(max(axis) + 1 for axis in zip(*places, strict=True))
    except ValueError:
        return None
    return shape if places == list(np.ndindex(*shape)) else None


class Named(np.ndarray):
    """Draws (…, dim) with their variables as attributes: ``p.alpha``, (…, 50)."""

    _names = ()

    def __array_finalize__(self, other):
        self._names, self._asked = getattr(other, "_names", ()), getattr(other, "_asked", set())

    def __getitem__(self, key):
        if isinstance(key, str):
            raise BayeslibTypeError(f"write p.{key} for p[{key!r}]: names are attributes")
        found = super().__getitem__(key)
        if isinstance(found, Named) and not isinstance(key, int):  # an int leaves a row whole
            places = np.broadcast_to(np.arange(self.shape[-1]), self.shape)[key]
            found._names = () if np.any(np.diff(places[None]) != 1) else self._names
        return found

    def __getattr__(self, name):
        found = variables(self._names).get(name)
        if found is None or self.shape[-1:] != (len(self._names),):
            raise AttributeError(f"no dimension is named {name!r}; there are {self._names}")
        self._asked.add(name)
        return frozen(np.array(np.asarray(self)[..., found[0]]))  # a write to it would be lost


def named(values, names):
    """Return draws, (…, dim), as `Named`."""
    view = values.view(Named)
    view._names, view._asked = names, set()
    return view


def asked(draws):
    """The names of which a function has asked so far, if all are of single numbers."""
    known = variables(getattr(draws, "_names", ()))
    names = sorted(getattr(draws, "_asked", ()))
    return names if all(np.ndim(known[name][0]) == 0 for name in names) else []


def as_names(names, dim):
    """Return `dim` different names; none give theta, or theta[0], theta[1] and so on."""
    if names is None or np.size(names) == 0:
        return ("theta",) if dim == 1 else tuple(f"theta[{i}]" for i in range(dim))
    names = (names,) if isinstance(names, str) or np.ndim(names) == 0 else tuple(names)
    if len(names) != dim or len(set(names)) != dim:
        raise BayeslibError(f"names must be {dim} different strings, got {names!r}")
    if not all(isinstance(name, str) for name in names):
        raise BayeslibTypeError(f"names must be strings, got {names!r}")
    if not all(name.strip() and name.isprintable() for name in names):
        raise BayeslibError(f"names must be words of one line, got {names!r}")
    if taken := [n for n in variables(names) if not callable(getattr(np.ndarray, n, len))]:
        raise BayeslibError(f"every array has a .{taken[0]}: in names= call it {taken[0]}_")
    return names
