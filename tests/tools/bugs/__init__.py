"""All planted bugs, a module for each group; each names the test that must reject it."""

import importlib
import pkgutil

BUGS = {
    f"{group.name}: {name}": bug
    for group in pkgutil.iter_modules(__path__)
    for name, bug in importlib.import_module(f"{__name__}.{group.name}").BUGS.items()
}
# Those that every `make test` plants: of each way to plant one, at least one.
FEW = [
    "target: a gradient is 15 % wrong in one coordinate",
    "temperatures: a little uphill is free",
    "temperatures: forgets the energy of the state",
    "independent: adaptive rejection leans to the left",
    "diagnostics: ranks are not split",
    "fits: Laplace forgets the power of 2 pi",
    "fits: a step is learned from whatever its curvature",
]
# Those that wait for `make record`, for each compiles anew a sampler whose draws stamp the record.
STAMPED = ("hmc", "metropolis", "nuts", "proposals", "slices", "stochastic")
SELDOM = [name for name in BUGS if name.startswith(STAMPED) and name not in FEW]
