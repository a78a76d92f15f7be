"""Approximate Bayesian inference you can run.

Every method takes a `Target` and returns draws, or a density, that answers expectations.
"""

import importlib
import re
from pathlib import Path

# One list of names, for those who run this and for editors, which only read: the stub beside it.
_STUB = Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")
_HOME = {
    name: home
    for home, name in re.findall(r"^from \.([\w.]+) import \(?\s*(\w+) as \2\b", _STUB, re.M)
}
__all__ = sorted(_HOME)
_MODULES = {"logpdf": ".compile.functions.densities", "posteriors": ".posteriors"}
__version__ = "0.1.0"


def __getattr__(name):
    if name in _MODULES:
        return importlib.import_module(_MODULES[name], __name__)
    if name not in _HOME:
        difflib = importlib.import_module("difflib")  # a third of the time of importing bayeslib
        close = difflib.get_close_matches(name, __dir__(), n=1)
        hint = f"; did you mean {close[0]}?" if close else ""
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")
    value = getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__():
    return [*__all__, *_MODULES, "__version__"]
