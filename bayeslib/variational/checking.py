"""What fits begin with: their family, and unconstrained coordinates."""

from ..errors import BayeslibError
from ..target.target import as_target
from ..target.transforms import unconstrained

FAMILIES = ("meanfield", "fullrank")


def one_of(value, allowed, name):
    """Return the index of `value` in `allowed`, or raise BayeslibError naming what is."""
    if not (isinstance(value, str) and value in allowed):
        listed = ", ".join(f'"{a}"' for a in allowed)
        raise BayeslibError(f"{name} must be one of {listed}, got {value!r}")
    return allowed.index(value)


def freed(target):
    """Return the target in unconstrained coordinates, and their Transform or None.

    Raises
    ------
    BayeslibTypeError
        When `target` is not a Target.
    """
    free = unconstrained(as_target(target))
    return (target, None) if free.transform.is_identity else (free, free.transform)
