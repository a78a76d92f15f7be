"""From a Python function to a callback: compiled, kept on disk, and errors in words."""

import contextlib
import re
import threading

import numba
import numpy as np
from numba import types
from numba.extending import intrinsic

from ..errors import BayeslibError, BayeslibTypeError, GradientError
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


def bind(kind, functions, data, dim, support=None):
    """Compile a density (once) and tie it to its data.

    Parameters
    ----------
    kind : {"value", "fused", "pair", "auto"}
        What the callback computes, and from which `functions`: the log density; a fused log
        density and gradient; a log density and a gradient; or a log density that is
        differentiated automatically.
    functions : tuple of callable
        Plain Python functions.
    data : tuple of numpy.ndarray
        From `aligned`; a 0-d array is passed to the functions as a number.
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
        If a function does not compile or returns the wrong type.
    GradientError
        If automatic differentiation meets what it cannot differentiate.
    """
    bounded = support is not None and bool(np.isfinite(support).any())
    bounds = np.ascontiguousarray(np.transpose(support)) if bounded else None
    form = tuple((a.dtype.str, a.ndim) for a in data), bounded
    reading = Reading(kind, functions, form, dim if kind == "auto" else None, stamp())
    key, by_tape = reading.digest, kind == "auto" and prefers_tape(functions[0], dim)
    if numba.config.DISABLE_JIT:
        function = plain_function(kind, functions, dim)
        callback = PlainCallback(function, as_arguments(data), dim, bounded)
    else:
        with _lock:
            if key not in _compiled:
                _compiled[key] = _compile(key, kind, functions, data, dim, bounded, by_tape)
        callback = _compiled[key]
    return Bound(callback, data, dim, bounds, reading, by_tape)


def as_arguments(data):
    """Return the data as the functions see them: a 0-d array is a number."""
    return tuple(a if a.ndim else a.item() for a in data)


def plain_function(kind, functions, dim):
    """Return (theta, grad, *data) -> float in plain Python, as the wrapper computes it."""
    if kind == "value":
        return lambda theta, grad, *data: functions[0](theta, *data)
    if kind == "fused":
        return functions[0]
    if kind == "pair":
        return paired(functions[0], _of_shape(functions[1], dim))
    return differentiate(functions[0], dim)


def _of_shape(gradient, dim):
    def checked(theta, *data):
        array = np.asarray(gradient(theta, *data))
        if array.shape != (dim,):
            raise GradientError(
                f"gradient {gradient.__name__!r} must return shape ({dim},), got {array.shape}"
            )
        return array

    return checked


def _compile(key, kind, functions, data, dim, bounded, by_tape):
    stored = Stored("density", key)
    compiled = stored.load_overload()
    if compiled is None:
        compiled = _compiled_entry(kind, functions, data, dim, bounded, by_tape)
        stored.save_overload(None, compiled)
    return entry.Entry(compiled)


def _compiled_entry(kind, functions, data, dim, bounded, by_tape):
    f, readonly = functions[0], kind != "auto"
    compiled, num_vectors = None, 3 if by_tape else 1 if kind == "value" else 2
    if by_tape:
        kinds = entry.argument_types(data, num_vectors, readonly_theta=readonly)
        with contextlib.suppress(Exception):  # dual numbers may be able to, or theirs is the error
            compiled = _compiled_of(differentiate_by_tape(f, dim), kinds)
    if compiled is None:
        num_vectors = min(num_vectors, 2)
        kinds = entry.argument_types(data, num_vectors, readonly_theta=readonly)
        if kind == "auto":
            jitted = differentiate(f, dim)
        else:
            jitted, *more = (compilable(function, **INLINED) for function in functions)
            if more:
                alone = kinds[0], *kinds[2:]
                _check_alone(f, jitted, alone, True)
                _check_alone(functions[1], *more, alone, False)
                jitted = numba.njit(**INLINED)(paired(jitted, *more))
        try:
            compiled = _compiled_of(jitted, kinds)
        except Exception as error:
            raise (explain if kind == "auto" else _explained)(error, f) from None
    _check_return_type(f, compiled.signature.return_type, True)
    entry.add_entry(compiled, kinds, num_vectors, bounded=bounded)
    return compiled


def _compiled_of(jitted, kinds):
    jitted.py_func.__module__ = __name__  # which the next process has, other than a reader's own
    return compile_function(jitted, kinds)


def paired(logdensity, gradient):
    """Return a fused function, in numba's subset, of two apart."""

    def pair(theta, grad, *data):
        value = logdensity(theta, *data)
        slope = gradient(theta, *data)
        if len(slope) != len(grad):
            raise ValueError("length of gradient")
        for i in range(len(grad)):
            grad[i] = slope[i]
        return value

    pair.__qualname__ = unique(pair.__qualname__)
    return pair


def _check_alone(function, jitted, kinds, is_density):
    """Compile one of two functions alone, so that an error names it and not what joins them."""
    try:
        jitted.get_call_template(kinds, {})
    except Exception as error:
        raise _explained(error, function) from None
    _check_return_type(function, jitted.nopython_signatures[-1].return_type, is_density)


def _check_return_type(function, returned, is_density):
    name = function.__name__
    if not is_density:
        if not (isinstance(returned, types.Array) and returned.ndim == 1):
            raise GradientError(
                f"gradient {name!r} must return a one-dimensional array, got {returned}; "
                "write return np.array([...])"
            )
        return
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
    noise = ("Failed in", "This error", "For more", "- Resolution", "<")
    about = re.split(r"^(?:File |During:)|Raised from", text, flags=re.MULTILINE)[0]
    lines = [line.strip() for line in about.splitlines()]
    said = [line for line in lines if line and not line.startswith(noise)] or [type(error).__name__]
    where = re.findall(r"File \"[^\"]*\", line (\d+)", text)
    line = f" (line {where[-1]} of its file)" if where else ""
    remedy = (
        "Write it in numba's subset: numbers, loops, NumPy arrays and functions; "
        "of SciPy what the page Targets lists; no lists of mixed types."
    )
    if isinstance(error, AttributeError) and "'NoneType'" in text:  # of numba's own a += b
        said, text = ["an array that is read-only is changed in place"], "readonly array setitem"
    if "readonly array" in text and "setitem" in text:
        remedy = "theta and the data are read-only: write to a copy."
    reason = " ".join(said[:2]).rstrip(".")
    if found := unknown_name(text, error):
        reason, remedy = found[0], f"{found[1][0].upper()}{found[1][1:]}."
    return BayeslibTypeError(f"{function.__name__!r} does not compile{line}: {reason}. {remedy}")
