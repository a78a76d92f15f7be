"""Compile every kernel of the library once, so that no reader waits for it."""

import importlib
import pkgutil

import bayeslib
from bayeslib.compile.callback import Kernel


def kernels():
    """Return what compiles for all models at once: functions, and the loops of algorithms."""
    found = {}
    for module in pkgutil.walk_packages(bayeslib.__path__, "bayeslib."):
        for value in vars(importlib.import_module(module.name)).values():
            parts = (value, getattr(value, "chain", None))
            found |= {id(part): part for part in parts if isinstance(part, Kernel)}
    return list(found.values())


if __name__ == "__main__":
    for kernel in kernels():
        kernel.compile()
