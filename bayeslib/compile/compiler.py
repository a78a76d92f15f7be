"""From a Python function to a callback: compiled, kept on disk, and errors in words."""

import contextlib

import numba
import numpy as np
from numba import types
from numba.extending import intrinsic

from ..errors import BayeslibTypeError
from . import entry
from .autodiff import compilable, differentiate, differentiate_by_tape, prefers_tape
from .autodiff.explain import explain
from .autodiff.rewrite import unique
from .callback import Bound, PlainCallback
from .disk import Stored
from .fingerprint import Reading
from .internals import compile_function, global_compiler_lock
from .kinds import INLINED
from .linked import stamp

_compiled = {}


@intrinsic
def constant(typingctx, array):
    """Return the same array, typed as read-only: chains share it."""
    return array.copy(readonly=True)(array), lambda context, builder, signature, args: args[0]


def bind(kind, function, data, dim, support=None):
    """Compile a density (once) and tie it to its data.

    Parameters
    ----------
    kind : {"value", "fused", "auto"}
        What the callback computes, and from what `function`: the log density; a fused log density
        and gradient; or a log density that is differentiated automatically.
    function : callable
        Plain Python.
    data : tuple of numpy.ndarray
        From `aligned`; a 0-d array is passed to the function as a number.
    dim : int
        The number of parameters.
    support : tuple of (low, high), optional
        A pair a dimension, beyond which the log density counts as -inf.

    Returns
    -------
    Bound
        With a handle of its own.

    Raises
    ------
    BayeslibTypeError
        If the function does not compile or returns the wrong type.
    GradientError
        If automatic differentiation meets what it cannot differentiate.
    """
    bounded = support is not None and bool(np.isfinite(support).any())
    bounds = np.ascontiguousarray(np.transpose(support)) if bounded else None
    rows = max((extent for a in data for extent in a.shape), default=0)
    by_tape = kind == "auto" and prefers_tape(function, dim, rows)
    form = tuple((a.dtype.str, a.ndim) for a in data), bounded, by_tape
    reading = Reading(kind, function, form, dim if kind == "auto" else None, stamp())
    key = reading.digest
    if numba.config.DISABLE_JIT:
        callback = PlainCallback(plain_function(kind, function, dim), as_arguments(data))
    else:
        with global_compiler_lock:
            if key not in _compiled:
                stored = Stored("density", key)
                compiled = stored.load_overload()
                if compiled is None:
                    compiled = _compiled_entry(kind, function, data, dim, bounded, by_tape)
                    stored.save_overload(None, compiled)
                _compiled[key] = entry.Entry(compiled)
        callback = _compiled[key]
    return Bound(callback, data, dim, bounds, reading, by_tape)


def as_arguments(data):
    """Return the data as the functions see them: a 0-d array is a number."""
    return tuple(a if a.ndim else a.item() for a in data)


def plain_function(kind, function, dim):
    """Return (theta, grad, *data) -> float in plain Python, as the wrapper computes it."""
    if kind == "value":
        return lambda theta, grad, *data: function(theta, *data)
    return function if kind == "fused" else differentiate(function, dim)


def _compiled_entry(kind, function, data, dim, bounded, by_tape):
    auto = kind == "auto"

    def attempt(derive, num_vectors):
        kinds = entry.argument_types(data, num_vectors, readonly_theta=not auto)
        jitted = derive(function, dim) if auto else compilable(function, **INLINED)
        jitted.py_func.__module__ = __name__  # the next process has it, other than a reader's own
        compiled = compile_function(jitted, kinds)
        _check_return_type(function, compiled.signature.return_type)
        entry.add_entry(compiled, kinds, num_vectors, bounded=bounded)
        return compiled

    if by_tape:
        with contextlib.suppress(Exception):  # dual numbers may be able to, or theirs is the error
            return attempt(differentiate_by_tape, 3)
    try:
        return attempt(differentiate, 1 if kind == "value" else 2)
    except Exception as error:
        raise explain(error, function, auto) from None


def paired(logdensity, gradient):
    """Return a fused function, in numba's subset, of two apart."""

    def pair(theta, grad, *data):
        value = logdensity(theta, *data)
        slope = np.asarray(gradient(theta, *data))
        if slope.size != grad.size:
            raise ValueError("size of gradient")
        for i in range(grad.size):
            grad[i] = slope.flat[i]
        return value

    pair.__name__ = f"{logdensity.__name__} and {gradient.__name__}"
    pair.__qualname__ = unique(pair.__qualname__)
    return pair


def _check_return_type(function, returned):
    if isinstance(returned, (types.Float, types.Integer)):
        return
    found = {
        types.Array: "an array; sum it, or index it",
        types.Boolean: "a bool; return the logarithm of the density",
        types.Optional: "None on one branch; return -np.inf there",
        types.NoneType: "None; return a number on every path, outside the support -np.inf",
    }
    reason = next((text for kind, text in found.items() if isinstance(returned, kind)), returned)
    raise BayeslibTypeError(f"{function.__name__!r} must return a float, got {reason}")
