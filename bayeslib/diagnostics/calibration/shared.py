"""What both tests do: call the reader's functions, check what they return, put it in words."""

import numpy as np

from ...errors import BayeslibError, BayeslibTypeError
from ...validate import as_floats

ALARM = 1e-3  # below this p-value a result is called a problem


def check_callable(**functions):
    """Raise BayeslibTypeError for the first argument that cannot be called."""
    for name, function in functions.items():
        if not callable(function):
            raise BayeslibTypeError(f"{name} must be callable, got {function!r}")


def as_vector(value, name):
    """Return a number or a vector of numbers as a finite (k,) array."""
    array = np.atleast_1d(as_floats(value, name))
    if array.ndim != 1 or array.size == 0:
        raise BayeslibError(
            f"{name} must return a number or a vector of numbers, got an array of shape "
            f"{array.shape}"
        )
    if not np.isfinite(array).all():
        raise BayeslibError(
            f"{name} returned {array}; every number must be finite: where theta or the data can "
            "be infinite, test a bounded function of them"
        )
    return array


class Simulator:
    """Draws parameters with their data, and evaluates what is compared."""

    def __init__(self, sample_prior, simulate, quantities, names):
        self.sample_prior, self.simulate, self.quantities = sample_prior, simulate, quantities
        self.names = None if names is None else tuple(names)

    def draw(self, rng):
        """Return theta (dim,) from the prior and data from the likelihood, in this order."""
        theta = as_vector(self.sample_prior(rng), "sample_prior")
        return theta, self.simulate(theta, rng)

    def values(self, theta, data):
        """Return the parameters, then the other quantities, shape (k,)."""
        if self.quantities is None:
            return theta
        return np.concatenate([theta, as_vector(self.quantities(theta, data), "quantities")])

    def as_names(self, dim, count):
        """Return one name a quantity."""
        if self.names is None:
            parameters = ["theta"] if dim == 1 else [f"theta[{i}]" for i in range(dim)]
            others = [f"quantity[{i}]" for i in range(count - dim)]
            return (*parameters, *(["quantity"] if count - dim == 1 else others))
        if len(self.names) != count:
            raise BayeslibError(
                f"{len(self.names)} names for {count} quantities ({dim} parameters and "
                f"{count - dim} others): {self.names}"
            )
        return self.names


def table(title, rows, problems):
    """Lay out (name, numbers…) rows, the first of which is the head, and the problems below."""
    width = max(len(row[0]) for row in rows)
    lines = [title]
    for name, *cells in rows:
        shown = [c if isinstance(c, str) else f"{c:.3g}" for c in cells]
        lines.append("  ".join([name.ljust(width), *(cell.rjust(9) for cell in shown)]))
    return "\n".join([*lines, *(f"! {problem}" for problem in problems)])
