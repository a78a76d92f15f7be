"""Copies of functions whose helpers are replaced: how plain Python helpers come to be compiled."""

import dis
import types
import uuid

from ..fingerprint import LIBRARIES, NOTHING, contents, is_of, names_in
from ..internals import Dispatcher


def convert(function, wrap, replace=None, done=None):
    """Copy a function, and every helper function that it can name, without touching the originals.

    Parameters
    ----------
    function : function or numba dispatcher
    wrap : callable
        `wrap(copy, original)` makes what stands in for a function: a dispatcher, for one.
    replace : callable, optional
        What stands in for any other global or closed-over value.

    Returns
    -------
    object
        What `wrap` made of the copy of `function`.
    """
    done = {} if done is None else done
    if id(function) in done:
        return done[id(function)]
    source = getattr(function, "py_func", function)
    scope, closure = dict(source.__globals__), source.__closure__ or ()
    cells = tuple(types.CellType() for _ in closure)
    copy = types.FunctionType(
        source.__code__, scope, source.__name__, source.__defaults__, cells or None
    )
    copy.__kwdefaults__ = source.__kwdefaults__
    copy.__qualname__ = unique(source.__qualname__)
    copy.__module__ = source.__module__
    # Known before its helpers are: they may call it back.
    done[id(function)] = result = wrap(copy, function)

    def stand_in(value):
        if is_helper(value):
            return convert(value, wrap, replace, done)
        return value if replace is None else replace(value)

    for name in names_in(source.__code__)[1]:
        if name in scope:
            scope[name] = stand_in(scope[name])
    for cell, own in zip(cells, closure, strict=True):
        if contents(own) is not NOTHING:
            cell.cell_contents = stand_in(contents(own))
    return result


def unique(name):
    """A name for compiled code that no other process will give to other code.

    numba numbers the functions of a process. Two targets of one name, compiled in two processes
    and cached, may get one symbol; a third process that loads both then runs the first for either.
    """
    return f"{name}_{uuid.uuid4().hex}"


def is_helper(value):
    """Whether a value is a function of the user's, compiled or not."""
    if hasattr(value, "__compiled__"):
        return False  # brings its own compiled form, see `functions`
    plain = isinstance(value, types.FunctionType) and not is_of(LIBRARIES, value.__module__)
    return plain or isinstance(value, Dispatcher)


def reached(function, seen=None):
    """Yield the code of a function, and of each helper that it can name, with all that it names."""
    seen = set() if seen is None else seen
    seen.add(id(function))
    source = getattr(function, "py_func", function)
    names = names_in(source.__code__)[1]
    values = [source.__globals__[name] for name in names if name in source.__globals__]
    values += map(contents, source.__closure__ or ())
    modules = [value for value in values if isinstance(value, types.ModuleType)]
    values += [getattr(m, name) for m in modules for name in {*names} & {*dir(m)}]
    yield source.__code__, values
    for value in values:
        if is_helper(value) and id(value) not in seen:
            yield from reached(value, seen)


def calls_any(function, wanted):
    """Whether a function, or a helper that it can name, names one of the functions `wanted`."""
    values = (value for _, named in reached(function) for value in named)
    return any(isinstance(value, types.FunctionType) and value in wanted for value in values)


def looks(function):
    """Whether a function, or a helper that it can name, loops, and whether it multiplies arrays."""
    codes, loops, multiplies = [code for code, _ in reached(function)], False, False
    while codes:
        code = codes.pop()
        codes += [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
        multiplies |= bool({"dot", "vdot", "sum"} & set(code.co_names))
        for step in dis.get_instructions(code):
            loops |= step.opname == "FOR_ITER" or step.opname.startswith("JUMP_BACKWARD")
            multiplies |= step.argrepr in ("@", "@=")
    return loops, multiplies
