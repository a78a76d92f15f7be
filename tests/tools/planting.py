"""Bugs, planted one at a time in the library as it runs: a function in the place of another.

Compiled code has what it calls frozen in. So while a bug is planted, every module of the library
has fresh, uncompiled copies of all that is compiled: whatever the test then uses compiles over the
wrong function, or is loaded from disk, where machine code is kept by what it is made of.
"""

import contextlib
import dataclasses
import importlib
import importlib.util
import inspect
import os
import pkgutil
import sys
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import pytest
from numba import jit
from recording import unheard

import bayeslib as bl
from bayeslib.chains.algorithm import Algorithm
from bayeslib.chains.loop import Chain
from bayeslib.compile.callback import Kernel

_copies = count()
# What was imported first while a bug is planted would keep it.
for _module in pkgutil.walk_packages(bl.__path__, "bayeslib."):
    importlib.import_module(_module.name)
for _name in bl.__all__:
    getattr(bl, _name)


@dataclass(frozen=True)
class Bug:
    """A bug and its test.

    Parameters
    ----------
    where : str
        module.function, module.Class.method, or module.CONSTANT: what is replaced.
    wrong : object
        What takes its place: a plain function for a function, however that is compiled. What it
        calls by the names of its own module is right, even what it replaces.
    test : str
        module.function of the test that must fail.
    arguments : dict
        Those of the test, each from its own parametrisation.
    error : type, optional
        What the test may raise besides a failed assertion.
    """

    where: str
    wrong: object
    test: str
    arguments: dict = field(default_factory=dict)
    error: type = AssertionError

    def found(self):
        """Return whose attribute is replaced, a module or a class, and its name."""
        path, _, name = self.where.rpartition(".")
        return pkgutil.resolve_name(path), name

    def made(self, old):
        """Return the wrong one as what the old one is."""
        if isinstance(old, Kernel):
            return Kernel(self.wrong, old.signature, old.seconds)
        if is_jitted(old):
            return jit(**old.targetoptions)(self.wrong)
        if isinstance(old, (property, classmethod, staticmethod)):
            return type(old)(self.wrong)
        return self.wrong


def is_jitted(value):
    return hasattr(value, "py_func") and hasattr(value, "targetoptions")


def again(value, given):
    """Return a fresh copy of what is compiled, or holds it, its parts swapped as given."""

    def parts(*names):
        return {name: given.get(id(part := getattr(value, name)), part) for name in names}

    if isinstance(value, Algorithm):
        return dataclasses.replace(value, **parts(*(f.name for f in dataclasses.fields(value))))
    if isinstance(value, Chain):
        return Chain(**parts("step", "state", "note", "begin", "learn", "target", "seconds"))
    if isinstance(value, Kernel):
        return Kernel(value.py_func, value.signature, value.seconds)
    return jit(**value.targetoptions)(value.py_func)


def places():
    """Return the modules that hold functions of the library: its own, and the tools of tests."""
    own = tuple(f"{Path(file).parent}{os.sep}" for file in (bl.__file__, __file__))
    files = [(module, getattr(module, "__file__", None)) for module in [*sys.modules.values()]]
    return [module for module, file in files if file and file.startswith(own)]


@contextlib.contextmanager
def planted(bug):
    """Let the wrong function stand in the place of the right one, compiled code included.

    Yields what is measured and noted meanwhile, which no record keeps.
    """
    owner, name = bug.found()
    old = inspect.getattr_static(owner, name)
    wrong = bug.made(old)
    loaded, before = set(sys.modules), [(vars(module), dict(vars(module))) for module in places()]
    values = {id(value): value for _, names in before for value in names.values()}
    algorithms = [value for value in values.values() if isinstance(value, Algorithm)]
    chains = [algorithm.chain for algorithm in algorithms]
    given = {k: again(v, {}) for k, v in values.items() if is_jitted(v) or type(v) is Kernel}
    right = {id(old): given.get(id(old), old)}
    if not (inspect.isclass(owner) or isinstance(old, (int, float, str))):
        given[id(old)] = wrong

    def put():
        for place, names in before:
            own = place["__name__"] == getattr(bug.wrong, "__module__", None)
            there = given | right if own else given
            place.update({n: there[id(v)] for n, v in names.items() if id(v) in there})

    try:
        setattr(owner, name, wrong)
        put()  # chains read what they are made of when they are made, and algorithms hold chains
        given |= {id(chain): again(chain, given) for chain in chains}
        given |= {id(algorithm): again(algorithm, given) for algorithm in algorithms}
        put()
        with unheard() as found:
            yield found
    finally:
        setattr(owner, name, old)
        for place, names in before:
            place.update(names)
        for module in places():
            if module.__name__ not in loaded:
                del sys.modules[module.__name__]


def fresh_test(name):
    """Return the function of a test from a copy of its module made now."""
    module, function = name.split(".")
    (path,) = Path(__file__).parents[1].glob(f"*/{module}.py")
    specification = importlib.util.spec_from_file_location(f"{module}_{next(_copies)}", path)
    copy = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(copy)
    return getattr(copy, function)


def arguments_of(function, chosen):
    """Return what the test's own parametrisation gives for the arguments chosen.

    A value may be named by its place in the list.
    """
    offered, marked = {}, type(pytest.param())
    for mark in getattr(function, "pytestmark", ()):
        if mark.name == "parametrize":
            names, rows = mark.args[:2]
            names = [n.strip() for n in names.split(",")] if isinstance(names, str) else names
            rows = [row.values if isinstance(row, marked) else row for row in rows]
            rows = [row if isinstance(row, tuple) else (row,) for row in rows]
            offered |= dict(zip(names, zip(*rows, strict=True), strict=True))
    assert set(chosen) == set(inspect.signature(function).parameters)
    found = {}
    for name, value in chosen.items():
        if value not in offered[name] and isinstance(value, int):
            value = offered[name][value]
        assert value in offered[name], f"{name}={value!r} is not among {offered[name]}"
        found[name] = value
    return found
