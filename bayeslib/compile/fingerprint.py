"""A name for a function's meaning: its code, its constants and whatever it refers to."""

import dis
import enum
import functools
import hashlib
import operator
import pickle
import types
import uuid

import numpy as np
from llvmlite import ir

from .internals import definition_of

LIBRARIES = {"builtins", "cmath", "llvmlite", "math", "numba", "numpy", "scipy"}
_PACKAGE = {__name__.partition(".")[0]}
_SIMPLE = (bool, int, float, complex, str, bytes, np.generic)
_LOOK_UP = {"LOAD_GLOBAL", "LOAD_NAME"}
NOTHING = object()


def fingerprint(*objects):
    """Return a hex digest that changes when the meaning of `objects` does.

    Functions are read through: byte code, constants, defaults, closure cells and the globals
    they name, helpers included. Line numbers and names do not count, so moving a function within
    its module keeps its digest, and editing a helper or a global array changes it. Its module does
    count: machine code on disk imports the modules it was made from, which another process may not
    have, or whose import may do more than define functions.

    Parameters
    ----------
    *objects : object
        Functions (plain or jitted), arrays, numbers, strings and containers of them. What cannot
        be read gets a digest that is never repeated.

    Returns
    -------
    str
        32 hexadecimal digits.
    """
    return Reading(*objects).digest


class Reading:
    """What `fingerprint` read, and where, so that a change is noticed without reading again.

    Parameters
    ----------
    *objects : object

    Attributes
    ----------
    digest : str
    """

    def __init__(self, *objects):
        self._hash, self._seen = hashlib.sha256(), {}
        self._changes = []
        self._watch = self._changes.append
        self._feed_all(objects)
        self.digest = self._hash.hexdigest()[:32]

    def changed(self):
        """Say whether a name, a closure, an array or a function's code is no longer the same.

        Whatever lies in the `objects` themselves, and not in a function, is taken to be constant,
        as this library is.
        """
        return any(differs() for differs in self._changes)

    def _watch_name(self, names, name, value):
        self._watch(lambda: names.get(name, NOTHING) is not value)

    def _write(self, *parts):
        self._hash.update("\x1f".join(map(str, parts)).encode() + b"\x1e")

    def _feed(self, item):
        if id(item) in self._seen:
            self._write("again", self._seen[id(item)])
        elif item is None or isinstance(item, _SIMPLE):
            self._write(type(item).__name__, repr(item))
        elif isinstance(item, np.ndarray):
            shape, content = item.shape, item.tobytes()
            self._write("array", item.dtype.str, shape)
            self._hash.update(content)
            self._watch(lambda: item.shape != shape or item.tobytes() != content)
        elif isinstance(item, types.CodeType):
            self._write("code", item.co_argcount, item.co_flags, item.co_code.hex())
            self._write(item.co_names, item.co_varnames, item.co_freevars)
            self._feed_all(item.co_consts)
        elif hasattr(item, "py_func") and hasattr(item, "targetoptions"):
            self._seen[id(item)] = len(self._seen)
            options = {key: _ordered(value) for key, value in item.targetoptions.items()}
            self._write("jitted", sorted(options.items(), key=repr))
            self._feed(item.py_func)
        elif defined := definition_of(item):
            self._feed(defined)
        elif isinstance(item, types.FunctionType):
            self._seen[id(item)] = len(self._seen)
            if is_of(LIBRARIES, item.__module__):
                self._write("library", item.__module__, item.__qualname__)
            else:
                self._feed_function(item)
        elif isinstance(item, types.ModuleType):
            self._write("module", item.__name__, getattr(item, "__version__", ""))
        elif isinstance(item, ir.Type):  # whose pickle has its text once that has been asked for
            self._write("LLVM", item)
        elif isinstance(item, (types.BuiltinFunctionType, np.ufunc, type)):
            self._write("named", getattr(item, "__module__", ""), item.__name__)
            self._feed(getattr(item, "_fields", None))  # of a namedtuple
            if isinstance(item, enum.EnumType):
                self._feed_all((member.name, member.value) for member in item)
        elif isinstance(item, (tuple, frozenset)):
            self._write(type(item).__name__, len(item))
            self._feed_all(_ordered(item))
        elif isinstance(item, (list, set, dict)):
            self._seen[id(item)] = len(self._seen)
            held = _held(item)
            self._write(type(item).__name__, len(held))
            self._feed_all(held)
            self._watch(lambda: _others(_held(item), held))
        else:
            found = _pickled(item)
            self._write("object", found or uuid.uuid4().hex)
            if found:  # else its identity has to do
                self._watch(lambda: _pickled(item) != found)

    def _feed_all(self, items):
        for item in items:
            self._feed(item)

    def _feed_function(self, function):
        if made_of := getattr(function, "__compiled__", ()):  # in place of its own code
            self._write("compiled", function.__module__, function.__qualname__)
            return self._feed(made_of)
        watched = not is_of(_PACKAGE, function.__module__)
        if watched:
            made_of = function.__code__, function.__defaults__
            self._watch(lambda: _others((function.__code__, function.__defaults__), made_of))
        self._feed(function.__code__)
        scope = function.__globals__
        self._write("of module", scope.get("__name__"))
        self._feed_all([function.__defaults__, function.__kwdefaults__])
        loaded, attributes = names_in(function.__code__)
        for cell in function.__closure__ or ():
            value = contents(cell)
            if watched:
                self._watch(lambda cell=cell, value=value: contents(cell) is not value)
            self._feed_named("closed over", value, attributes)
        for name in loaded:
            value = scope.get(name, NOTHING)
            if watched:
                self._watch_name(scope, name, value)
            if value is not NOTHING:  # else a builtin
                self._feed_named(name, value, attributes)

    def _feed_named(self, name, value, attributes):
        """Read a value, and of a module of the user's own what may be used: ``model.helper(x)``."""
        self._write(name)
        self._feed("empty" if value is NOTHING else value)
        if isinstance(value, types.ModuleType) and not is_of(LIBRARIES, value.__name__):
            for attribute in attributes:
                if hasattr(value, attribute) and (id(value), attribute) not in self._seen:
                    self._seen[id(value), attribute] = len(self._seen)
                    inner = getattr(value, attribute)
                    if not is_of(_PACKAGE, value.__name__):
                        self._watch_name(vars(value), attribute, inner)
                    self._feed_named(attribute, inner, attributes)


@functools.lru_cache(maxsize=1024)
def names_in(code):
    """Return the globals that code may look up, those of inner functions too, and all names."""
    inner = [names_in(item) for item in code.co_consts if isinstance(item, types.CodeType)]
    loaded = {i.argval for i in dis.get_instructions(code) if i.opname in _LOOK_UP}
    loaded = loaded.union(*(names for names, _ in inner))
    return sorted(loaded), sorted({*code.co_names}.union(*(names for _, names in inner)))


def is_of(packages, module):
    return module is not None and module.partition(".")[0] in packages


def contents(cell):
    """Return what a closure's cell holds, or NOTHING."""
    try:
        return cell.cell_contents
    except ValueError:  # a cell not filled yet
        return NOTHING


def _others(now, before):
    """Say whether the items of two tuples are not the same objects."""
    return len(now) != len(before) or any(map(operator.is_not, now, before))


def _held(container):
    """Return what a list, a set or a dictionary holds, in a fixed order."""
    if isinstance(container, dict):
        return (*container.keys(), *container.values())
    return tuple(_ordered(container))


def _ordered(value):
    return tuple(sorted(value, key=repr)) if isinstance(value, (set, frozenset)) else value


def _pickled(item):
    try:
        return hashlib.sha256(pickle.dumps(item)).hexdigest()
    except Exception:
        return None
