"""What may be passed to a Target: functions of the right arguments, and numbers."""

import inspect
import reprlib

import numpy as np

from ..errors import BayeslibTypeError
from ..validate import as_array
from .callback import aligned


def as_function(function, argument, leading, data, name="data"):
    """Return the plain function behind `function`, which must take (*leading, *data)."""
    plain = getattr(function, "py_func", function)
    if not inspect.isfunction(plain) or inspect.iscoroutinefunction(plain):
        got = "an async one" if inspect.isfunction(plain) else reprlib.repr(function)
        remedy = f"; wrap it in def f({', '.join(leading)}): ..."
        raise BayeslibTypeError(
            f"{argument} must be a function, got {got}{remedy if callable(function) else ''}"
        )
    parameters = inspect.signature(plain)
    wanted = (*leading, *(f"{name}[{i}]" for i in range(len(data))))
    try:
        parameters.bind(*wanted)
    except TypeError:
        raise BayeslibTypeError(
            f"{argument} must take ({', '.join(wanted)}), but {plain.__name__!r} takes {parameters}"
            f"{_missing(parameters, len(leading), wanted, name)}"
        ) from None
    if any(p.kind is p.VAR_KEYWORD for p in parameters.parameters.values()):
        raise BayeslibTypeError(
            f"{argument}={plain.__name__!r} takes {parameters}: leave out the keywords, which "
            "compiled code cannot take"
        )
    return plain


def _missing(parameters, num_leading, wanted, name):
    """Say which parameters want data that were not passed, or a keyword, if it is that."""
    if any(p.kind is p.KEYWORD_ONLY for p in parameters.parameters.values()):
        return ": leave out the *, for compiled code takes no keywords"
    taken = [p.name for p in parameters.parameters.values() if p.default is p.empty]
    if len(taken) <= len(wanted):
        return ""
    return f": pass {name}=({', '.join(taken[num_leading:])},)"


def as_data(data, name="data"):
    """Return arrays and numbers as aligned read-only arrays; a number becomes a 0-d one."""
    if isinstance(data, dict):
        raise BayeslibTypeError(
            f"{name} must be a tuple of arrays and numbers, got a dict; write "
            f"{name}=({', '.join(map(str, data))},), in the order of the function's arguments"
        )
    if not isinstance(data, (tuple, list)):
        raise BayeslibTypeError(
            f"{name} must be a tuple of arrays and numbers, got {type(data).__name__}; "
            f"for a single array write {name}=(array,)"
        )
    packed = []
    for i, item in enumerate(data):
        array = as_array(item, f"{name}[{i}]")
        if array.dtype.kind not in "biufc":
            sparse = hasattr(item, "toarray")
            remedy = "pass .toarray()" if sparse else "code it as whole numbers, or leave it out"
            got = f"got {'a sparse matrix' if sparse else f'dtype {array.dtype}'}"
            raise BayeslibTypeError(f"{name}[{i}] must hold numbers, {got}; {remedy}")
        if array.dtype.itemsize > (16 if array.dtype.kind == "c" else 8):
            raise BayeslibTypeError(
                f"{name}[{i}] is of dtype {array.dtype}, more digits than compiled code has: "
                f"pass {name}[{i}].astype({'complex' if array.dtype.kind == 'c' else 'float'})"
            )
        dtype = array.dtype
        if dtype.kind in "iu":  # fewer bits would overflow, and numbers without a sign below 0
            dtype = np.dtype(np.int64 if array.max(initial=0) < 2**63 else np.float64)
        elif dtype.kind == "f":  # compiled sums of float32 lose the digits that NumPy's keep
            dtype = np.dtype(np.float64)
        packed.append(aligned(array.astype(dtype.newbyteorder("="))))
    return tuple(packed)
