"""Boltzmann machines: binary units with symmetric weights, exactly and by Gibbs sampling."""

from functools import cached_property
from typing import NamedTuple

import numpy as np

from .. import diagnostics
from ..chains.algorithm import Algorithm, as_plan
from ..chains.loop import Chain, laid_out, record
from ..chains.starts import as_states
from ..compile.callback import helper
from ..compile.functions import sigmoid
from ..compile.kinds import INTS, MATRIX, VECTOR
from ..errors import BayeslibError, warn
from ..results import Estimate
from ..validate import as_count, as_floats, check_each, check_finite, check_fits
from .learning import MOST_UNITS, learn

_WORST_RHAT = 1.1  # of the unclamped chains, above which their errors mean little


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
    """Derivatives of the mean log likelihood in each pair's weight, (n, n), and each bias, (n,).

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


class Units(NamedTuple):
    """Units of 0 or 1, and the machine they belong to."""

    position: VECTOR
    moving: INTS  # those that are not clamped
    weights: MATRIX
    biases: VECTOR


Note = record(_nothing="?")


@helper
def towards_one(units, i, num_others):
    """Return by how much unit i likes to be 1, as the first of them are."""
    total, row, state = units.biases[i], units.weights[i], units.position
    for j in range(num_others):
        total += row[j] * state[j]
    return total


@helper
def sweep(rng, units):
    """Draw each unit that moves given all the others, in their order."""
    state, moving = units.position, units.moving
    for k in range(moving.size):
        total = towards_one(units, moving[k], state.size)
        state[moving[k]] = 1.0 if rng.random() < 1.0 / (1.0 + np.exp(-total)) else 0.0


def units_step(target, rng, log_p, units, note):
    """Sweep; return minus the energy, which the warm-up can do without."""
    target.account.num_evals += units.moving.size
    sweep(rng, units)
    if target.account.warming:
        return log_p
    value = 0.0
    for i in range(units.position.size):
        value += units.position[i] * towards_one(units, i, i)
    return value


def initial(run, start, moving, weights, biases):
    position = np.where(np.isnan(start), run.rng.random(start.size) < 0.5, start)
    return laid_out(Units, position=position, moving=moving, weights=weights, biases=biases)


BOLTZMANN = Algorithm("boltzmann", Chain(units_step, Units, Note), initial)


class BoltzmannMachine:
    """Binary units, coupled in pairs by weights, each with a bias.

    A state s, each unit 0 or 1, has a probability proportional to ``exp(-energy)``, where
    ``-energy`` is the sum of ``W[i, j] * s[i] * s[j]`` over i < j, plus ``b @ s``.

    Parameters
    ----------
    weights : array_like, shape (n, n)
        Symmetric, zero on the diagonal; each pair counts once.
    biases : array_like, shape (n,)
        Added: a positive bias favours 1.
    num_visible : int, optional
        The first so many units are visible, the rest hidden; None makes all visible.

    Raises
    ------
    BayeslibError
        For weights that are not symmetric or not zero on the diagonal, and shapes that disagree;
        from every method that enumerates, above 20 units.

    Notes
    -----
    For units of -1 and 1 with couplings J and fields h, pass weights ``4 * J`` and biases
    ``2 * h - 2 * J.sum(axis=1)``, and read ``2 * s - 1``.

    References
    ----------
    Ackley, Hinton and Sejnowski (1985), A learning algorithm for Boltzmann machines.

    Examples
    --------
    >>> machine = bl.BoltzmannMachine([[0.0, 2.0], [2.0, 0.0]], [-1.0, -1.0])
    >>> print(machine.states().tolist(), machine.probabilities().round(3))
    [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]] [0.366 0.134 0.134 0.366]
    >>> print(machine.moments().means, round(machine.conditional([0, 1], 0), 3))
    [0.5 0.5] 0.731
    >>> draws = machine.sample(2000, rng=1)
    >>> print(draws.expect())
    [0.4956 ± 0.0071, 0.4915 ± 0.0071]
    """

    def __init__(self, weights, biases, *, num_visible=None):
        biases, weights = as_floats(biases, "biases"), as_floats(weights, "weights")
        n = biases.size
        check_fits(biases.ndim == 1 and n > 0, biases, "biases", "have shape (n,), n at least 1")
        check_fits(weights.shape == (n, n), weights, "weights", "have shape (n, n)")
        check_finite(weights, "weights")
        check_finite(biases, "biases")
        equal = np.isclose(weights, weights.T, rtol=1e-10, atol=1e-12)
        check_each(weights, "weights", "symmetric", equal, "; of one triangle W pass W + W.T")
        fine = (weights == 0.0) | (np.eye(n) == 0.0)
        check_each(weights, "weights", "zero on the diagonal", fine)
        weights.flags.writeable = biases.flags.writeable = False
        self.weights, self.biases = weights, biases
        num_visible = n if num_visible is None else as_count(num_visible, "num_visible", maximum=n)
        self.num_visible = num_visible

    @property
    def num_units(self):
        """Visible and hidden ones."""
        return self.biases.size

    def __repr__(self):
        hidden = self.num_units - self.num_visible
        return f"BoltzmannMachine({self.num_visible} visible, {hidden} hidden)"

    def energy(self, states):
        """Return the energy, as above: a float, or (m,) for states (m, n)."""
        s = as_binary(states, "states", self.num_units)
        value = -np.sum(s * (0.5 * (s @ self.weights) + self.biases), axis=-1)
        return float(value) if s.ndim == 1 else value

    def conditional(self, state, unit):
        """Return the probability that `unit` is 1 given all others, whatever it is in `state`."""
        s = as_binary(state, "state", self.num_units)
        unit = as_count(unit, "unit", minimum=0, maximum=self.num_units - 1)
        value = sigmoid(s @ self.weights[unit] + self.biases[unit])
        return float(value) if s.ndim == 1 else value

    def states(self):
        """Return all states, ``(2**n, n)``, the first unit changing slowest; up to 20 units."""
        return _all_states(self.num_units)

    @cached_property
    def log_partition(self):
        """Logarithm of the sum of exp(-energy) over all states, by enumeration; up to 20 units."""
        return float(np.logaddexp.reduce(-self.energy(self.states())))

    def probabilities(self):
        """Return the probability of each of `states`, ``(2**n,)``; up to 20 units."""
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
        p = np.exp(log_p - np.logaddexp.reduce(log_p))
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
        log_p = [np.logaddexp.reduce(self._completions(row)[1]) for row in rows]
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
            weights (n, n), symmetric: in the weight of each pair, W_ij = W_ji moved together;
            biases (n,).
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

    def sample(
        self,
        num_samples,
        *,
        num_warmup=1000,
        num_chains=4,
        clamped=None,
        initial=None,
        rng,
        executor=None,
        progress=None,
    ):
        """Sample states by Gibbs sampling, unit after unit.

        Parameters
        ----------
        num_samples : int
            Sweeps kept in each chain.
        num_warmup : int
            Sweeps before them.
        num_chains : int
        clamped : array_like, shape (num_visible,), optional
            Holds the visible units at these values.
        initial : array_like, shape (n,) or (num_chains, n), optional
            None starts every unit at random.
        rng : int, Generator, SeedSequence or None
            One chain draws from it; several draw from ``rng.spawn(num_chains)``.
        executor : concurrent.futures.Executor, optional
        progress : bool, optional

        Returns
        -------
        Draws
            Of s[0], s[1], …; the log density is minus the energy; `num_evals` counts units drawn.

        Raises
        ------
        BayeslibError
            For arguments out of range, each named; when every unit is clamped.
        MemoryError
            Before the run, when the draws would not fit.

        Warns
        -----
        BayeslibWarning
            When `initial` gives all chains one start.

        Notes
        -----
        Draw order: one uniform for every unit, which starts at 1 if it is below 0.5 and neither
        clamped nor given by `initial`; then, for each sweep and each unit that is not clamped, in
        order, one uniform, and the unit is 1 if it is below its conditional probability.
        """
        n = self.num_units
        plan = as_plan(num_samples, num_warmup, num_chains, rng, executor, progress)
        starts, moving = self._starts(clamped, initial, plan.num_chains)
        options = {"moving": moving, "weights": self.weights, "biases": self.biases}
        method, names = "BoltzmannMachine.sample", [f"s[{i}]" for i in range(n)]
        numbers = plan.num_samples * (n + 1)
        return BOLTZMANN.sample_states(method, names, starts, options, plan, {}, numbers)

    def _starts(self, clamped, initial, num_chains):
        """Return starts (num_chains, n), nan where they are drawn, and the units that move."""
        n, held = self.num_units, 0
        starts = np.full((num_chains, n), np.nan)
        if initial is not None:
            starts[:] = as_states(as_binary(initial, "initial", n), (n,), num_chains)
        if clamped is not None:
            held, clamped = self.num_visible, as_binary(clamped, "clamped", self.num_visible)
            check_fits(clamped.ndim == 1, clamped, "clamped", "be one row of visible units")
            starts[:, :held] = clamped
        if held == n:
            raise BayeslibError("with every unit clamped there is nothing to sample")
        return starts, np.arange(held, n)

    def sampled_gradient(self, data, *, num_sweeps=1000, num_warmup=100, num_chains=4, rng):
        """Estimate the gradient of `log_likelihood` by Gibbs sampling, clamped and unclamped.

        Parameters
        ----------
        data : array_like, shape (m, num_visible)
        num_sweeps : int
            Kept in each chain.
        num_warmup : int
            Before them.
        num_chains : int
            Of the unclamped machine; and for every distinct row of the data, when there are hidden
            units to be sampled.
        rng : int, Generator, SeedSequence or None

        Returns
        -------
        Gradient
            Of Estimates, shape (n, n) and (n,), whose errors are those of both phases; nan where
            a chain never moved.

        Warns
        -----
        BayeslibWarning
            When the R-hat of the unclamped machine is above 1.1.

        Notes
        -----
        Draw order: ``rng.spawn`` gives a generator to the unclamped machine, then one to each
        distinct row, in the order of ``np.unique(data, axis=0)``; each draws as `sample` does.
        """
        rows, share = self._patterns(data)
        rng = as_plan(num_sweeps, num_warmup, num_chains, rng, None, None).rng
        n, has_hidden = self.num_units, self.num_visible < self.num_units
        free, *held = rng.spawn(1 + len(rows) if has_hidden else 1)
        i, j = np.triu_indices(n, 1)

        def both(states):
            return np.column_stack([states, states[:, i] * states[:, j]])

        how = {"num_warmup": num_warmup, "num_chains": num_chains, "progress": False}
        draws = self.sample(num_sweeps, rng=free, **how)
        worst = float(np.nanmax(diagnostics.rhat(draws), initial=0.0))
        if worst > _WORST_RHAT:
            warn(f"R-hat of the unclamped machine is {worst:.3g}: raise num_sweeps and num_warmup")
        unclamped = draws.expect(both)
        value, variance, evals = -unclamped.value, unclamped.mcse**2, unclamped.num_evals
        if not has_hidden:
            value = value + share @ both(rows)
        for row, p, own in zip(rows, share, held, strict=False):
            found = self.sample(num_sweeps, clamped=row, rng=own, **how).expect(both)
            # What the clamping decides has no error; of another constant it is unknown.
            zero, clamped = np.flatnonzero(row == 0.0), np.arange(n) < row.size
            known = np.r_[clamped, clamped[j] | np.isin(i, zero)]
            value = value + p * found.value
            variance = variance + np.where(known, 0.0, (p * found.mcse) ** 2)
            evals += found.num_evals

        def square(pairs):
            matrix = np.zeros((n, n))
            matrix[i, j] = matrix[j, i] = pairs
            return matrix

        error = np.sqrt(variance)
        weights = Estimate(square(value[n:]), square(error[n:]), evals)
        return Gradient(weights, Estimate(value[:n], error[:n], evals))

    fit = learn


def _all_states(n):
    if n > MOST_UNITS:
        raise BayeslibError(f"enumeration takes {MOST_UNITS} units at most, got {n}: use sample")
    return ((np.arange(1 << n)[:, None] >> np.arange(n)[::-1]) & 1).astype(np.float64)


def as_binary(value, name, size):
    """Return 0s and 1s, (size,) or (m, size); bool arrays are taken too."""
    array = np.asarray(value)
    array = as_floats(array.astype(float) if array.dtype == bool else array, name)
    fits = array.ndim in (1, 2) and array.shape[-1] == size
    check_fits(fits, array, name, f"have shape ({size},) or (m, {size})")
    check_each(array, name, "0 or 1", np.isin(array, (0.0, 1.0)), "; of -1 and 1 pass (s + 1) / 2")
    return array
