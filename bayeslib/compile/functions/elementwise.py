"""Functions written once, in plain Python, for numbers and arrays, compiled and differentiated.

A formula of numbers becomes a function that broadcasts numbers against arrays of one shape. It is
generic: what numba compiles it for may be floats or numbers that carry derivatives.
"""

import functools
import inspect

import numpy as np
from numba import types
from numba.extending import overload

from ...errors import BayeslibTypeError
from ..kinds import EXACT, REAL

STRICT = {"error_model": "numpy", "fastmath": False}
WRITTEN = []  # all functions made here, which plain Python differentiates too


def generic(function, name=None, only=None):
    """Let compiled code use `function` itself, for any kind of number that its body can take.

    Parameters
    ----------
    function : callable
        Plain Python in numba's subset.
    name : callable, optional
        What it stands in for; itself by default.
    only : callable, optional
        ``only(*kinds)`` tells for which types of arguments.
    """

    def choose(*kinds, **named):
        return function if only is None or only(*kinds, *named.values()) else None

    overload(name or function, strict=False, jit_options=EXACT)(choose)
    function.__compiled__ = ()
    WRITTEN.append(function)
    return function


def active(kinds):
    """The types among those of numbers, and of entries of arrays, that are not the compiler's."""
    found = [kind.dtype if isinstance(kind, types.Array) else kind for kind in kinds]
    return [kind for kind in found if not isinstance(kind, (*REAL, types.Omitted))]


def entry_type(kinds):
    """The type of an entry of what is made of arguments of `kinds`."""
    return (*active(kinds), types.float64)[0]


def result_type(a, b):
    """The dtype of a combination of `a` and `b`, for np.empty."""
    return object if object in (np.asarray(a).dtype, np.asarray(b).dtype) else np.float64


result_type.__compiled__ = ()


@overload(result_type)
def _result_type(a, b):
    dtype = entry_type((a, b))
    return lambda a, b: dtype


def elementwise(formula, ruled=False):
    """Make of a formula of numbers a function of numbers and arrays.

    Parameters
    ----------
    formula : callable
        Numbers to a number. Its name, signature and docstring are those of the result.
    ruled : bool
        Whether its derivative stands in a table, for the formula cannot be differentiated.
    """

    @functools.wraps(formula)
    def function(*args, **kwargs):
        arrays = [np.asarray(a) for a in bind(function, args, kwargs).args]
        kind = object if any(a.dtype == object for a in arrays) else np.float64
        floats = [a if a.dtype == object else a.astype(np.float64) for a in arrays]
        rows = np.broadcast(*floats)
        with np.errstate(all="ignore"):
            out = [formula(*row) for row in rows]
        return np.array(out, dtype=kind).reshape(rows.shape)[()]

    WRITTEN.append(function)
    return compiled_by(function, formula, ruled, STRICT if ruled else EXACT)


def compiled_by(function, formula, ruled, options):
    """Let compiled code use a function of numbers and arrays by its formula, of numbers."""
    function.__compiled__ = (formula,)

    def choose(*kinds, **named):
        given = bind(function, kinds, named).arguments
        if any(isinstance(kind, types.Array) for kind in given.values()):
            return loop_over(function, given, entry_type(given.values()))
        return None if ruled and active(given.values()) else formula

    overload(function, strict=False, jit_options=options)(choose)
    return function


signature_of = functools.cache(inspect.signature)


def bind(function, args, kwargs):
    try:
        return signature_of(function).bind(*args, **kwargs)
    except TypeError as error:
        text = f"{function.__name__}{signature_of(function)}: {error}"
        raise BayeslibTypeError(text) from None


def loop_over(function, given, dtype):
    """A loop over the entries of arguments, at least one of which is an array."""
    signature = signature_of(function)
    arrays = [name for name, kind in given.items() if isinstance(kind, types.Array)]
    entries = [f"{name}.flat[i]" if name in arrays else name for name in signature.parameters]
    differ = " or ".join(f"{name}.shape != {arrays[0]}.shape" for name in arrays[1:])
    refuse = f"raise ValueError('{function.__name__}: arrays of one shape, and numbers, please')"
    source = (
        f"def loop{signature}:\n"
        f"    if {differ or False}:\n        {refuse}\n"
        f"    out = np.empty({arrays[0]}.size, dtype)\n"
        f"    for i in range(out.size):\n        out[i] = function({', '.join(entries)})\n"
        f"    return out.reshape({arrays[0]}.shape)\n"
    )
    scope = {"np": np, "function": function, "dtype": dtype}
    exec(source, scope)
    scope["loop"].__qualname__ = f"loop_of_{function.__module__}_{function.__name__}"
    return scope["loop"]
