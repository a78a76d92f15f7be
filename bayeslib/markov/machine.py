"""Binary units with symmetric weights, and what enumerating their states says of them."""

from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..compile.functions import sigmoid
from ..errors import BayeslibError
from ..results import Estimate
from ..validate import as_count, as_floats, check_each, check_finite

MOST_UNITS = 20


class Moments(NamedTuple):
    """Means of units, (n,), and of products of two, (n, n).

    Examples
    --------
    >>> machine = bl.BoltzmannMachine([[0.0, 2.0], [2.0, 0.0]], [-1.0, -1.0])
    >>> moments = machine.moments()
    >>> print(moments.means.round(3), moments.products.round(3))
    [0.5 0.5] [[0.5   0.366]
     [0.366 0.5  ]]
    """

    means: np.ndarray
    products: np.ndarray


class Gradient(NamedTuple):
    """Slopes of the mean log likelihood by each pair's weight, (n, n), and by each bias, (n,).

    Arrays where it is exact, `Estimate`s of arrays where it was sampled.

    Examples
    --------
    >>> machine = bl.BoltzmannMachine(np.zeros((2, 2)), np.zeros(2))
    >>> gradient = machine.gradient([[1, 1], [0, 0], [1, 1]])
    >>> print(gradient.weights.round(3), gradient.biases.round(3))
    [[0.    0.417]
     [0.417 0.   ]] [0.167 0.167]
    """

    weights: np.ndarray | Estimate
    biases: np.ndarray | Estimate


class Machine:
    """The part of a `BoltzmannMachine` that needs no draws."""

    def __init__(self, weights, biases, *, num_visible=None):
        biases, weights = as_floats(biases, "biases"), as_floats(weights, "weights")
        n = biases.size
        if n == 0 or (biases.shape, weights.shape) != ((n,), (n, n)):
            raise BayeslibError(
                f"biases must have shape (n,) and weights must have shape (n, n), got "
                f"{biases.shape} and {weights.shape}"
            )
        check_finite(weights, "weights")
        check_finite(biases, "biases")
        for i, j in np.argwhere(~np.isclose(weights, weights.T, rtol=1e-10, atol=1e-12)):
            raise BayeslibError(
                f"weights must be symmetric, got weights[{i}, {j}]={weights[i, j]:.6g} and "
                f"weights[{j}, {i}]={weights[j, i]:.6g}; for those of pairs i < j alone pass "
                "np.triu(W, 1) + np.triu(W, 1).T"
            )
        for i in np.flatnonzero(np.diag(weights)):
            raise BayeslibError(
                f"weights[{i}, {i}] is {weights[i, i]:.6g}: the diagonal must be zero, a unit's "
                "own bias says how much it likes to be 1"
            )
        weights.flags.writeable = biases.flags.writeable = False
        self.weights, self.biases, self.num_visible = weights, biases, n
        if num_visible is not None:
            self.num_visible = as_count(num_visible, "num_visible", maximum=n)

    @property
    def num_units(self):
        """Visible and hidden ones."""
        return self.biases.size

    def __repr__(self):
        hidden = self.num_units - self.num_visible
        return f"BoltzmannMachine({self.num_visible} visible, {hidden} hidden)"

    def energy(self, states):
        """Return -(sum of W_ij s_i s_j, i < j) - b . s; a float, or (m,) for states (m, n)."""
        s = as_binary(states, "states", self.num_units)
        value = -np.sum(s * (0.5 * (s @ self.weights) + self.biases), axis=-1)
        return float(value) if s.ndim == 1 else value

    def conditional(self, state, unit):
        """Return the probability that a unit is 1 given the others; its own entry is ignored."""
        s = as_binary(state, "state", self.num_units)
        unit = as_count(unit, "unit", minimum=0, maximum=self.num_units - 1)
        value = sigmoid(s @ self.weights[unit] + self.biases[unit])
        return float(value) if s.ndim == 1 else value

    def states(self):
        """Return all states, (2**n, n), the first unit changing slowest; up to 20 units."""
        return _all_states(self.num_units)

    @cached_property
    def log_partition(self):
        """Logarithm of the sum of exp(-energy) over all states, by enumeration; up to 20 units."""
        return _log_sum(-self.energy(self.states()))

    def probabilities(self):
        """Return the probability of each of `states`, (2**n,); up to 20 units."""
        return np.exp(-self.energy(self.states()) - self.log_partition)

    def moments(self, *, clamped=None):
        """Return exact means of units and of products of two, by enumeration: up to 20 units.

        Parameters
        ----------
        clamped : array_like, shape (num_visible,), optional
            Holds the visible units at these values, so that only hidden ones are enumerated.

        Returns
        -------
        Moments
            means (n,), products (n, n) with the means on the diagonal.
        """
        visible = () if clamped is None else as_binary(clamped, "clamped", self.num_visible)
        states, log_p = self._completions(visible)
        p = np.exp(log_p - _log_sum(log_p))
        return Moments(p @ states, states.T @ (p[:, None] * states))

    def _completions(self, visible):
        """Return the states that begin with these units, and their log weights."""
        hidden = _all_states(self.num_units - len(visible))
        states = np.column_stack([np.tile(visible, (len(hidden), 1)), hidden])
        return states, -self.energy(states)

    def log_likelihood(self, data):
        """Return the mean log probability of rows of visible units, exactly: up to 20 units.

        Parameters
        ----------
        data : array_like, shape (m, num_visible)

        Returns
        -------
        float
        """
        rows, share = self._patterns(data)
        log_p = [_log_sum(self._completions(row)[1]) for row in rows]
        return float(share @ np.array(log_p) - self.log_partition)

    def gradient(self, data):
        """Return the exact gradient of `log_likelihood`, clamped minus unclamped moments.

        It enumerates: up to 20 units.

        Parameters
        ----------
        data : array_like, shape (m, num_visible)

        Returns
        -------
        Gradient
            weights (n, n), symmetric: by the weight of each pair, W_ij = W_ji together; biases.
        """
        rows, share = self._patterns(data)
        held = zip(*(self.moments(clamped=row) for row in rows), strict=True)
        means, products = (
            sum(p * part for p, part in zip(share, parts, strict=True)) - free
            for parts, free in zip(held, self.moments(), strict=True)
        )
        np.fill_diagonal(products, 0.0)
        return Gradient(products, means)

    def _patterns(self, data):
        """Return the distinct rows of the data and the share of each."""
        data = np.atleast_2d(as_binary(data, "data", self.num_visible))
        if len(data) == 0:
            raise BayeslibError("data has no rows; pass at least one")
        rows, count = np.unique(data, axis=0, return_counts=True)
        return rows, count / count.sum()


def _log_sum(log_terms):
    # Imported here: it takes longer than a small model to sample.
    from scipy.special import logsumexp

    return float(logsumexp(log_terms))


def _all_states(n):
    if n > MOST_UNITS:
        raise BayeslibError(
            f"{n} units have 2**{n} states, too many to enumerate; {MOST_UNITS} units at most, "
            "beyond use sample and sampled_gradient"
        )
    return ((np.arange(1 << n)[:, None] >> np.arange(n)[::-1]) & 1).astype(np.float64)


def as_binary(value, name, size):
    """Return 0s and 1s, (size,) or (m, size); bool arrays are taken too."""
    array = np.asarray(value)
    array = as_floats(array.astype(float) if array.dtype == bool else array, name)
    if array.ndim not in (1, 2) or array.shape[-1] != size:
        raise BayeslibError(f"{name} must have shape ({size},) or (m, {size}), got {array.shape}")
    remedy = "; for units of -1 and 1 pass (s + 1) / 2"
    check_each(array, name, "0 or 1", np.isin(array, (0.0, 1.0)), remedy)
    return array
