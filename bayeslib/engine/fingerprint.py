"""A name for a function's meaning: its code, its constants and whatever it refers to."""

import hashlib
import pickle
import types
import uuid

import numpy as np
from numba.extending import _Intrinsic as Intrinsic

_LIBRARIES = {"builtins", "cmath", "llvmlite", "math", "numba", "numpy", "scipy"}


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
    digest, seen = hashlib.sha256(), {}
    for item in objects:
        _feed(digest, item, seen)
    return digest.hexdigest()[:32]


def _feed(digest, item, seen):
    def write(*parts):
        digest.update("\x1f".join(map(str, parts)).encode() + b"\x1e")

    if id(item) in seen:
        write("again", seen[id(item)])
    elif item is None or isinstance(item, (bool, int, float, complex, str, bytes, np.generic)):
        write(type(item).__name__, repr(item))
    elif isinstance(item, np.ndarray):
        write("array", item.dtype.str, item.shape)
        digest.update(np.ascontiguousarray(item).tobytes())
    elif isinstance(item, types.CodeType):
        write("code", item.co_argcount, item.co_flags, item.co_code.hex())
        write(item.co_names, item.co_varnames, item.co_freevars)
        _feed_all(digest, item.co_consts, seen)
    elif hasattr(item, "py_func") and hasattr(item, "targetoptions"):
        seen[id(item)] = len(seen)
        options = {key: _ordered(value) for key, value in item.targetoptions.items()}
        write("jitted", sorted(options.items(), key=repr))
        _feed(digest, item.py_func, seen)
    elif isinstance(item, Intrinsic):
        _feed(digest, item._defn, seen)
    elif isinstance(item, types.FunctionType):
        seen[id(item)] = len(seen)
        if item.__module__ and item.__module__.partition(".")[0] in _LIBRARIES:
            write("library", item.__module__, item.__qualname__)
        else:
            _feed_function(digest, item, seen)
    elif isinstance(item, types.ModuleType):
        write("module", item.__name__, getattr(item, "__version__", ""))
    elif isinstance(item, (types.BuiltinFunctionType, np.ufunc, type)):
        write("named", getattr(item, "__module__", ""), item.__name__)
    elif isinstance(item, (tuple, list)):
        write(type(item).__name__, len(item))
        _feed_all(digest, item, seen)
    elif isinstance(item, (set, frozenset)):
        _feed(digest, _ordered(item), seen)
    elif isinstance(item, dict):
        _feed_all(digest, [*item.keys(), *item.values()], seen)
    else:
        write("object", _pickled(item))


def _feed_all(digest, items, seen):
    for item in items:
        _feed(digest, item, seen)


def _feed_function(digest, function, seen):
    _feed(digest, function.__code__, seen)
    _feed(digest, ("of module", function.__globals__.get("__name__")), seen)
    _feed_all(digest, [function.__defaults__, function.__kwdefaults__], seen)
    _feed(digest, getattr(function, "__compiled__", None), seen)
    for cell in function.__closure__ or ():
        try:
            _feed(digest, cell.cell_contents, seen)
        except ValueError:  # a cell not filled yet
            _feed(digest, "empty", seen)
    names = sorted(_names(function.__code__))
    for name in names:
        if name in function.__globals__:
            value = function.__globals__[name]
            _feed(digest, (name, value), seen)
            if isinstance(value, types.ModuleType):
                _feed_module(digest, value, names, seen)


def _feed_module(digest, module, names, seen):
    """Read what a function may use of a module of the user's own, as in ``mymodel.helper(x)``."""
    if module.__name__.partition(".")[0] not in _LIBRARIES:
        for name in names:
            if hasattr(module, name):
                _feed(digest, (name, getattr(module, name)), seen)


def _names(code):
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= _names(constant)
    return names


def _ordered(value):
    return tuple(sorted(value, key=repr)) if isinstance(value, (set, frozenset)) else value


def _pickled(item):
    try:
        return pickle.dumps(item).hex()
    except Exception:
        return uuid.uuid4().hex
