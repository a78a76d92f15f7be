"""An Ising model on a rectangle, checked, and what its kernel looks up."""

from dataclasses import dataclass

import numpy as np

from ..compile.functions import sigmoid
from ..errors import BayeslibError, BayeslibTypeError
from ..validate import as_bool, as_count, as_floats, as_real, check_finite, check_shape

_LARGEST = 35.0  # of inverse temperature times coupling, so that odds stay finite
_CERTAIN = 80.0  # log odds that no uniform of 53 bits tells from certainty


@dataclass(frozen=True)
class Model:
    """An Ising model: p(s) proportional to exp(-beta E(s)); see `ising_sample`.

    `field` is (rows, cols), or empty where it is the number `uniform_field` at every site.
    """

    shape: tuple
    beta: float
    coupling: float
    field: np.ndarray
    uniform_field: float
    periodic: bool

    @property
    def num_sites(self):
        return self.shape[0] * self.shape[1]

    @property
    def has_field(self):
        return self.uniform_field != 0.0 or bool(np.any(self.field))

    @property
    def join(self):
        """The probability with which a cluster takes in a neighbour of its spin (Wolff)."""
        return -np.expm1(-2.0 * self.beta * max(self.coupling, 0.0))


def as_model(shape, inverse_temperature, field, coupling, periodic):
    """Check what an Ising model is made of; return a `Model`."""
    if not np.iterable(shape) or isinstance(shape, str) or len(shape) != 2:
        raise BayeslibTypeError(f"shape must be (rows, cols), got {shape!r}")
    shape = tuple(as_count(n, f"shape[{i}]") for i, n in enumerate(shape))
    beta = as_real(inverse_temperature, "inverse_temperature", minimum=0.0)
    coupling = as_real(coupling, "coupling")
    periodic = as_bool(periodic, "periodic")
    if periodic and min(shape) < 2:
        raise BayeslibError(f"periodic=True needs at least 2 rows and 2 columns, got shape={shape}")
    field = as_floats(field, "field")
    check_finite(np.atleast_1d(field), "field")
    if field.ndim == 0:
        return Model(shape, beta, coupling, np.empty((0, 0)), float(field), periodic)
    check_shape(field, "field", shape, f"be a number or have shape {shape}")
    product = "inverse_temperature * |coupling| with an array of fields"
    as_real(beta * abs(coupling), product, maximum=_LARGEST)
    return Model(shape, beta, coupling, field, 0.0, periodic)


def tables(model):
    """Return the table for sums of neighbours -4, …, 4 and the factors of the fields."""
    log_odds = 2.0 * model.beta * model.coupling * np.arange(-4.0, 5.0)
    if model.field.size == 0:
        return sigmoid(log_odds + 2.0 * model.beta * model.uniform_field), np.empty((0, 0))
    certain = log_odds.max() + _CERTAIN
    own = np.clip(2.0 * model.beta * model.field, -certain, certain)
    return np.exp(log_odds), np.exp(own)


def bordered(lattice, periodic):
    """Return a copy with the border that the kernel looks up."""
    return np.pad(lattice, 1, mode="wrap" if periodic else "constant")
