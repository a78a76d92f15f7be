"""From a Python function to a callback: compiled, kept on disk, and errors in words."""

import contextlib
import re
import threading

import numba
import numpy as np
from numba import types
from numba.extending import intrinsic

from ..errors import BayeslibError, BayeslibTypeError
from . import entry
from .arithmetic import INLINED
from .autodiff import compilable, differentiate, differentiate_by_tape, prefers_tape
from .autodiff.explain import explain, forgets, only_raises, unknown_name
from .autodiff.rewrite import unique
from .callback import Bound, PlainCallback
from .disk import Stored
from .fingerprint import Reading
from .internals import compile_function
from .linked import stamp

_compiled = {}
_lock = threading.RLock()


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
    form = tuple((a.dtype.str, a.ndim) for a in data), bounded
    reading = Reading(kind, function, form, dim if kind == "auto" else None, stamp())
    key, by_tape = reading.digest, kind == "auto" and prefers_tape(function, dim)
    if numba.config.DISABLE_JIT:
        plain = plain_function(kind, function, dim)
        callback = PlainCallback(plain, as_arguments(data), dim, bounded)
    else:
        with _lock:
            if key not in _compiled:
                _compiled[key] = _compile(key, kind, function, data, dim, bounded, by_tape)
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


def _compile(key, kind, function, data, dim, bounded, by_tape):
    stored = Stored("density", key)
    compiled = stored.load_overload()
    if compiled is None:
        compiled = _compiled_entry(kind, function, data, dim, bounded, by_tape)
        stored.save_overload(None, compiled)
    return entry.Entry(compiled)


def _compiled_entry(kind, function, data, dim, bounded, by_tape):
    readonly, compiled = kind != "auto", None
    num_vectors = 3 if by_tape else 1 if kind == "value" else 2
    if by_tape:
        kinds = entry.argument_types(data, num_vectors, readonly_theta=readonly)
        with contextlib.suppress(Exception):  # dual numbers may be able to, or theirs is the error
            compiled = _compiled_of(differentiate_by_tape(function, dim), kinds)
    if compiled is None:
        num_vectors = min(num_vectors, 2)
        kinds = entry.argument_types(data, num_vectors, readonly_theta=readonly)
        if kind == "auto":
            jitted = differentiate(function, dim)
        else:
            jitted = compilable(function, **INLINED)
        try:
            compiled = _compiled_of(jitted, kinds)
        except Exception as error:
            raise (explain if kind == "auto" else _explained)(error, function) from None
    _check_return_type(function, compiled.signature.return_type)
    entry.add_entry(compiled, kinds, num_vectors, bounded=bounded)
    return compiled


def _compiled_of(jitted, kinds):
    jitted.py_func.__module__ = __name__  # which the next process has, other than a reader's own
    return compile_function(jitted, kinds)


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
    name = function.__name__
    if isinstance(returned, (types.Float, types.Integer)):
        return
    found = {
        types.Array: "an array; sum it, or index it",
        types.Boolean: "a bool; return the logarithm of the density",
        types.Optional: "None on one branch; return -np.inf there",
        types.NoneType: "None; is there a return statement?",
    }
    reason = next((text for kind, text in found.items() if isinstance(returned, kind)), None)
    if isinstance(returned, types.NoneType) and only_raises(function):
        reason = "none: it always raises; outside the support return -np.inf"
    raise BayeslibTypeError(f"{name!r} must return a float, got {reason or returned}")


def _explained(error, function):
    """Return what to raise when the compiler has raised, a NumbaError or something else."""
    if isinstance(error, BayeslibError):
        return error
    if forgets(function):
        return BayeslibTypeError(
            f"{function.__name__!r} must return a float, got None; is there a return on every path?"
        )
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
    if "unify return type" in text and "array(" in text:
        return BayeslibTypeError(
            f"{function.__name__!r} must return a float, got an array; sum it, or index it"
        )
    about = re.split(r"^(?:File |During:)|Raised from", text, flags=re.MULTILINE)[0]
    said = re.findall(r"^\s*(?!Failed in|This error|For more|- Resolution|<)(\S.*)", about, re.M)
    where = re.findall(r"File \"(?!<string>)[^\"]*\", line (\d+)", text)
    line = f" (line {where[-1]} of its file)" if where else ""
    remedy = (
        "Write it in numba's subset: numbers, loops, NumPy arrays and functions; "
        "of SciPy what the page Targets lists; no lists of mixed types."
    )
    reason = " ".join(said[:2] or [type(error).__name__]).rstrip(".")
    if found := unknown_name(text, error, function):
        reason, remedy = found[0], f"{found[1][0].upper()}{found[1][1:]}.".replace("?.", "?")
    return BayeslibTypeError(f"{function.__name__!r} does not compile{line}: {reason}. {remedy}")
