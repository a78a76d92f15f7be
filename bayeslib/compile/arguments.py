"""What may be passed to a Target: functions of the right arguments, and numbers."""

import inspect
import reprlib

import numpy as np

from ..errors import BayeslibError, BayeslibTypeError
from ..validate import as_array
from .callback import aligned


def as_function(function, argument, leading, data, name="data"):
    """Return the plain function behind `function`, which must take (*leading, *data)."""
    plain = getattr(function, "py_func", function)
    if not inspect.isfunction(plain) or inspect.iscoroutinefunction(plain):
        remedy = f"; wrap in a def f({', '.join(leading)}): ..." if callable(function) else ""
        raise BayeslibTypeError(
            f"{argument} must be a function, got {reprlib.repr(function)}{remedy}"
        )
    signature = inspect.signature(plain)
    parameters = signature.parameters.values()
    if any(p.kind in (p.KEYWORD_ONLY, p.VAR_KEYWORD) for p in parameters):
        got = f"{argument}={plain.__name__!r} takes {signature}"
        raise BayeslibTypeError(f"{got}: leave out the keywords, unknown to compiled code")
    wanted = (*leading, *(f"{name}[{i}]" for i in range(len(data))))
    try:
        signature.bind(*wanted)
    except TypeError:
        taken = [p.name for p in parameters if p.default is p.empty]
        missing = len(taken) > len(wanted)
        remedy = f": pass {name}=({', '.join(taken[len(leading) :])},)" if missing else ""
        raise BayeslibTypeError(
            f"{argument} must take ({', '.join(wanted)}), but {plain.__name__!r} takes "
            f"{signature}{remedy}"
        ) from None
    return plain


def as_data(data, name="data"):
    """Return arrays and numbers as aligned read-only arrays; a number becomes a 0-d one."""
    if not isinstance(data, (tuple, list)):
        members = map(str, data) if isinstance(data, dict) else ["array"]
        raise BayeslibTypeError(
            f"{name} must be a tuple of arrays and numbers, got {type(data).__name__}; "
            f"write {name}=({', '.join(members)},), in the order of the function's arguments"
        )
    packed, first = [], None
    for i, item in enumerate(data):
        if hasattr(item, "iloc"):  # of pandas: rows have labels, which arrays lose
            first = first or (i, item.index)
            if len(first[1]) == len(item.index) and not first[1].equals(item.index):
                found = f"{name}[{i}] has other row labels than {name}[{first[0]}]"
                raise BayeslibError(f"{found}: put both in one order, or pass .to_numpy() of each")
        array = as_array(item, f"{name}[{i}]")
        kind = complex if array.dtype.kind == "c" else float
        if array.dtype.kind not in "biufc" or array.dtype.itemsize > np.dtype(kind).itemsize:
            sparse = hasattr(item, "toarray")
            got = "a sparse matrix" if sparse else f"dtype {array.dtype}"
            remedy = ".toarray()" if sparse else f".astype({kind.__name__}), words as whole numbers"
            raise BayeslibTypeError(
                f"{name}[{i}] must hold numbers of double precision, got {got}; pass {remedy}"
            )
        dtype = array.dtype
        if dtype.kind in "iu":  # fewer bits would overflow, and numbers without a sign below 0
            dtype = np.dtype(np.int64 if array.max(initial=0) < 2**63 else np.float64)
        elif dtype.kind == "f":  # compiled sums of float32 lose the digits that NumPy's keep
            dtype = np.dtype(np.float64)
        packed.append(aligned(array.astype(dtype.newbyteorder("="))))
    return tuple(packed)
