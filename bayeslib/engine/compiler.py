"""From a Python function to a callback: the wrapper, its disk cache, and errors in words."""

import linecache
import os
import re
import shutil
import sys
import tempfile
import threading
import types as pytypes
from pathlib import Path
from pickle import UnpicklingError

import numba
import numpy as np
from numba import carray, types
from numba.core import errors as numba_errors
from numba.core.ccallback import CFunc
from numba.core.typing.templates import signature as make_signature
from numba.extending import intrinsic

from ..errors import BayeslibError, BayeslibTypeError, GradientError
from .callback import FAST, FLOAT, INLINED, INT, Bound, CompiledCallback, PlainCallback
from .fingerprint import fingerprint

_CALLBACK = make_signature(
    FLOAT, types.CPointer(FLOAT), types.CPointer(FLOAT), INT, types.CPointer(INT)
)
_TEMPLATE = 1  # raise when the generated code changes its meaning
_KEPT = 400  # wrappers on disk; the oldest go first
_compiled = {}
_lock = threading.RLock()


@intrinsic
def pointer(typingctx, address):
    """Turn an integer into a pointer."""

    def codegen(context, builder, signature, args):
        return builder.inttoptr(args[0], context.get_value_type(types.voidptr))

    return types.voidptr(INT), codegen


@intrinsic
def constant(typingctx, array):
    """Return the same array, typed as read-only: chains share it."""
    return array.copy(readonly=True)(array), lambda context, builder, signature, args: args[0]


def bind(kind, functions, data, dim):
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
    if numba.config.DISABLE_JIT:
        function = plain_function(kind, functions, dim)
        return Bound(PlainCallback(function, as_arguments(data), dim), data, dim)
    kinds = tuple((a.dtype.str, a.ndim) for a in data)
    key = fingerprint(kind, functions, kinds, _TEMPLATE, numba.__version__, _rules(kind, dim))
    with _lock:
        if key not in _compiled:
            _compiled[key] = _compile(key, kind, functions, data, dim)
    return Bound(_compiled[key], data, dim)


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
        return _plain_pair(*functions)
    from ..autodiff import differentiate

    return differentiate(functions[0], dim)


def _plain_pair(logdensity, gradient):
    def pair(theta, grad, *data):
        value = logdensity(theta, *data)
        grad[:] = gradient_array(gradient(theta, *data), grad.size, gradient)
        return value

    return pair


def gradient_array(value, dim, function):
    """Return a gradient as a (dim,) array, or raise GradientError naming both shapes."""
    array = np.asarray(value)
    if array.shape != (dim,):
        raise GradientError(
            f"gradient {function.__name__!r} must return shape ({dim},), got {array.shape}"
        )
    return array


def _rules(kind, dim):
    """Return what a derived gradient depends on besides the function: dim and the calculus."""
    if kind != "auto":
        return ()
    folder = Path(__file__).parent.parent / "autodiff"
    return (dim, *(path.read_bytes() for path in sorted(folder.glob("*.py"))))


def _compile(key, kind, functions, data, dim):
    source = _wrapper_source(kind, data)
    path = _cache_folder() / f"density_{key}" / f"density_{key}.py"
    seen = path.exists()
    jitted = None if seen else _jitted(kind, functions, dim)
    if not seen:
        _check_types(kind, functions, jitted, data)
    cached = seen or _write(path, source)
    namespace = {"pointer": pointer, "constant": constant, "carray": carray, "inf": np.inf}
    namespace |= {f"t{i}": a.dtype for i, a in enumerate(data)} | {"double": np.dtype(np.float64)}
    try:
        return _callback(path, source, namespace, jitted, cached)
    except numba_errors.NumbaError:
        if jitted is not None:
            raise
        # The wrapper is on disk, its machine code is not: another processor, or a pruned cache.
    except (AttributeError, EOFError, ImportError, UnpicklingError):
        cached = False  # stored by a module that cannot be imported here, or not to the end
    return _callback(path, source, namespace, jitted or _jitted(kind, functions, dim), cached)


def _callback(path, source, namespace, jitted, cached):
    module = pytypes.ModuleType(path.stem)
    module.__file__ = str(path)
    module.__dict__.update(namespace)
    if jitted is not None:
        module.__dict__.update(zip("fk", jitted, strict=False))
    # Before executing: else numba stores the module as '<dynamic>' and the next process fails.
    sys.modules[path.stem] = module
    linecache.cache[str(path)] = (len(source), None, source.splitlines(True), str(path))
    exec(compile(source, str(path), "exec"), module.__dict__)
    options = {"fastmath": FAST, "error_model": "numpy"}
    cfunc = CFunc(module.callback, (_CALLBACK.args, FLOAT), locals={}, options=options)
    if cached:
        cfunc.enable_caching()
    cfunc.compile()
    return CompiledCallback(cfunc)


def _jitted(kind, functions, dim):
    from ..autodiff import compilable, differentiate

    if kind == "auto":
        return (differentiate(functions[0], dim),)
    return tuple(compilable(function, **INLINED) for function in functions)


def _wrapper_source(kind, data):
    lines, args, word = [], "", 0
    for i, array in enumerate(data):
        shape = "".join(f"h[{word + 1 + j}], " for j in range(array.ndim)) or "1, "
        view = f"carray(pointer(h[{word}]), ({shape}), t{i})"
        lines.append(f"    a{i} = {f'constant({view})' if array.ndim else f'{view}[0]'}")
        args += f", a{i}"
        word += 1 + array.ndim
    body = {
        "value": [f"return f(constant(theta){args})"],
        "fused": [f"return f(constant(theta), grad{args})"],
        "auto": [f"return f(theta, grad{args})"],
        "pair": [
            f"value = f(constant(theta){args})",
            f"slope = k(constant(theta){args})",
            "if len(slope) != n:",
            "    raise ValueError('length of gradient')",
            "for i in range(n):",
            "    grad[i] = slope[i]",
            "return value",
        ],
    }[kind]
    return "\n".join(
        [
            "def callback(x, d, n, h):",
            "    theta, grad = carray(x, n), carray(d, n)",
            *lines,
            "    try:",
            *(f"        {line}" for line in body),
            "    except Exception:",
            f"        if h[{word + 1}] == 0:",
            f"            failed = carray(pointer(h[{word}]), (n,), double)",
            "            for i in range(n):",
            "                failed[i] = theta[i]",
            f"        h[{word + 1}] += 1",
            "        return -inf",
            "",
        ]
    )


def _check_types(kind, functions, jitted, data):
    """Compile the user's functions alone, so that an error names them and not the wrapper."""
    theta = types.Array(FLOAT, 1, "C", readonly=kind != "auto")
    grad = () if kind in ("value", "pair") else (FLOAT[::1],)
    args = tuple(_type_of(array) for array in data)
    for i, function in enumerate(functions):
        try:
            jitted[i].get_call_template((theta, *grad, *args), {})
        except BayeslibError:
            raise
        except Exception as error:  # not all that the compiler raises is a NumbaError
            raise _compile_error(function, error) from None
        _check_return_type(function, jitted[i].nopython_signatures[-1].return_type, i == 0)


def _type_of(array):
    scalar = numba.from_dtype(array.dtype)
    return types.Array(scalar, array.ndim, "C", readonly=True) if array.ndim else scalar


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
    raise BayeslibTypeError(f"{name!r} must return a float, got {reason or returned}")


def _compile_error(function, error):
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
    noise = ("Failed in", "During:", "File ", "^", "This error", "For more", "- Resolution", "<")
    lines = [line.strip() for line in text.splitlines()]
    said = [line for line in lines if line and not line.startswith(noise)]
    where = re.findall(r"File \"[^\"]*\", line (\d+)", text)
    line = f" (line {where[-1]} of its file)" if where else ""
    remedy = (
        "Write it in numba's subset: numbers, loops, NumPy arrays and functions; "
        "no scipy, no lists of mixed types."
    )
    if "readonly array" in text and "setitem" in text:
        remedy = "theta and the data are read-only: write to a copy."
    message = (
        f"{function.__name__!r} does not compile{line}: {' '.join(said[:2]).rstrip('.')}. {remedy}"
    )
    return BayeslibTypeError(message)


def _cache_folder():
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    if chosen:
        return Path(chosen) / "bayeslib"
    from numba.misc.appdirs import AppDirs

    folder = Path(AppDirs(appname="bayeslib", appauthor=False).user_cache_dir)
    # an empty XDG_CACHE_HOME counts as unset; else wrappers land in the reader's folder
    return folder if folder.is_absolute() else Path.home() / ".cache" / "bayeslib"


def _write(path, source):
    """Write the wrapper for other processes to find; say whether that was possible."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _prune(path.parent.parent)
        with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False) as file:
            file.write(source)
        os.replace(file.name, path)
    except OSError:
        return False
    return True


def _prune(folder):
    wrappers = list(folder.glob("density_*"))
    if len(wrappers) > _KEPT:
        wrappers.sort(key=lambda path: path.stat().st_mtime)
        for path in wrappers[: _KEPT // 4]:
            shutil.rmtree(path, ignore_errors=True)
