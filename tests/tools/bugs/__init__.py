"""All planted bugs, a module for each group; each names the test that must reject it."""

from . import metropolis

GROUPS = (metropolis,)
BUGS = {
    f"{group.__name__.rpartition('.')[2]}: {name}": bug
    for group in GROUPS
    for name, bug in group.BUGS.items()
}
# Those that every `make test` plants: of each way to plant one, at least one.
FEW = [
    "metropolis: accepts ratio^0.9",
    "metropolis: a rejected state is not repeated",
    "metropolis: the scale is never frozen",
]
