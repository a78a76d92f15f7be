"""Boltzmann machines: binary units with symmetric weights, exactly and by Gibbs sampling."""

from functools import cached_property
from typing import NamedTuple

import numpy as np

from .. import diagnostics
from ..chains.blocks import run_chains, spawn
from ..chains.collect import collect
from ..chains.run import as_counts
from ..compile.functions import sigmoid
from ..errors import BayeslibError, warn
from ..results import Estimate
from ..validate import as_count, as_floats, as_rng, check_finite, check_memory
from .ising_sample import Named
from .units import boltzmann_chain, boltzmann_kernel

MOST_UNITS = 20
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
    """Of the mean log likelihood: by the weight of each pair, (n, n), and by the biases, (n,).

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


class BoltzmannMachine:
    """Units s_i of 0 or 1 with p(s) proportional to exp(sum of W_ij s_i s_j, i < j, + b . s).

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
    For units of -1 and 1 with couplings J and fields h, pass weights 4 J and biases
    2 h - 2 * (sum of J over each row), and read 2 s - 1.

    References
    ----------
    Ackley, Hinton and Sejnowski (1985), A learning algorithm for Boltzmann machines.

    Examples
    --------
    >>> machine = bl.BoltzmannMachine([[0.0, 2.0], [2.0, 0.0]], [-1.0, -1.0])
    >>> print(machine.states()[:, ::-1].tolist(), machine.probabilities().round(3))
    [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]] [0.366 0.134 0.134 0.366]
    >>> print(machine.moments().means.round(3), round(machine.conditional([0, 1], 0), 3))
    [0.5 0.5] 0.731
    >>> draws = machine.sample(2000, rng=1)
    >>> print(draws.expect())
    [0.4956 ± 0.0071, 0.4915 ± 0.0071]
    """

    def __init__(self, weights, biases, *, num_visible=None):
        biases = as_floats(biases, "biases")
        if biases.ndim != 1 or biases.size == 0:
            raise BayeslibError(f"biases must have shape (n,), got {biases.shape}")
        weights = as_floats(weights, "weights")
        n = biases.size
        if weights.shape != (n, n):
            raise BayeslibError(
                f"weights must have shape ({n}, {n}) for {n} biases, got {weights.shape}"
            )
        check_finite(weights, "weights")
        check_finite(biases, "biases")
        if not np.allclose(weights, weights.T, rtol=1e-10, atol=1e-12):
            i, j = np.argwhere(~np.isclose(weights, weights.T, rtol=1e-10, atol=1e-12))[0]
            raise BayeslibError(
                f"weights must be symmetric, got weights[{i}, {j}]={weights[i, j]:.6g} and "
                f"weights[{j}, {i}]={weights[j, i]:.6g}; for those of pairs i < j alone pass "
                "np.triu(W, 1) + np.triu(W, 1).T"
            )
        if np.any(np.diag(weights) != 0.0):
            i = int(np.argmax(np.diag(weights) != 0.0))
            raise BayeslibError(
                f"weights[{i}, {i}] is {weights[i, i]:.6g}: the diagonal must be zero, a unit's "
                "own bias says how much it likes to be 1"
            )
        self.weights, self.biases = weights, biases
        self.weights.flags.writeable = self.biases.flags.writeable = False
        self.num_visible = n
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
        s = _as_binary(states, "states", self.num_units)
        value = -np.sum(s * (0.5 * (s @ self.weights) + self.biases), axis=-1)
        return float(value) if s.ndim == 1 else value

    def conditional(self, state, unit):
        """Return the probability that a unit is 1 given the others; its own entry is ignored."""
        s = _as_binary(state, "state", self.num_units)
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
        if clamped is None:
            states, p = self.states(), self.probabilities()
        else:
            states, log_p = self._completions(_as_binary(clamped, "clamped", self.num_visible))
            p = np.exp(log_p - _log_sum(log_p))
        return Moments(p @ states, states.T @ (p[:, None] * states))

    def _completions(self, visible):
        """Return the states that have these visible units, and their log weights."""
        hidden = _all_states(self.num_units - self.num_visible)
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
        free, held = self.moments(), [self.moments(clamped=row) for row in rows]
        means = sum(p * m.means for p, m in zip(share, held, strict=True)) - free.means
        products = sum(p * m.products for p, m in zip(share, held, strict=True)) - free.products
        np.fill_diagonal(products, 0.0)
        return Gradient(products, means)

    def _patterns(self, data):
        """Return the distinct rows of the data and the share of each."""
        data = _as_binary(data, "data", self.num_visible)
        data = np.atleast_2d(data)
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
        counts = as_counts(num_samples, num_warmup, num_chains)
        num_samples, num_warmup, num_chains = counts
        n = self.num_units
        starts, units = self._starts(clamped, initial, num_chains)
        check_memory((1, num_chains, num_samples, n + 1), "draws")
        rng, seed = as_rng(rng)
        jobs = [
            (self.weights.copy(), self.biases.copy(), generator, start, units, *counts[1::-1])
            for generator, start in zip(spawn(rng, num_chains), starts, strict=True)
        ]
        boltzmann_kernel.compile()
        outcomes, interrupted = run_chains(
            boltzmann_chain, jobs, num_iterations=num_warmup + num_samples, executor=executor,
            progress=progress, title="BoltzmannMachine.sample",
        )  # fmt: skip
        if num_chains == 1:
            rng.bit_generator.state = outcomes[0].rng_state
        return collect(
            outcomes, target=Named(tuple(f"s[{i}]" for i in range(n))), interrupted=interrupted,
            num_warmup=num_warmup, method="BoltzmannMachine.sample",
            settings={"num_warmup": num_warmup, "seed": seed},
        )  # fmt: skip

    def _starts(self, clamped, initial, num_chains):
        """Return starts (num_chains, n), nan where they are drawn, and the units that move."""
        n = self.num_units
        starts = np.full((num_chains, n), np.nan)
        if initial is not None:
            initial = _as_binary(initial, "initial", n)
            if initial.ndim == 2 and len(initial) != num_chains:
                raise BayeslibError(
                    f"initial must have one row for each of {num_chains} chains, got {len(initial)}"
                )
            starts[:] = initial
            if num_chains > 1 and np.all(starts == starts[0]):
                warn(
                    f"all {num_chains} chains start from the same state, so R-hat cannot show a "
                    "chain that is stuck; pass one state a chain, or initial=None"
                )
        units = np.arange(n)
        if clamped is not None:
            clamped = _as_binary(clamped, "clamped", self.num_visible)
            if clamped.ndim != 1:
                raise BayeslibError(
                    f"clamped must be one row of visible units, got {clamped.shape}"
                )
            starts[:, : self.num_visible] = clamped
            units = units[self.num_visible :]
            if units.size == 0:
                raise BayeslibError("with every unit clamped there is nothing to sample")
        return starts, units

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
        rng, _ = as_rng(rng)
        sizes = {"num_warmup": num_warmup, "num_chains": num_chains, "progress": False}
        has_hidden = self.num_visible < self.num_units
        free, *held = rng.spawn(1 + len(rows) if has_hidden else 1)
        i, j = np.triu_indices(self.num_units, 1)
        pairs = i, j

        def both(states):
            return np.column_stack([states, states[:, i] * states[:, j]])

        draws = self.sample(num_sweeps, rng=free, **sizes)
        worst = float(np.max(np.nan_to_num(diagnostics.rhat(draws)), initial=0.0))
        if worst > _WORST_RHAT:
            warn(
                f"R-hat of the unclamped machine is {worst:.2f}: its chains disagree, and the "
                "errors of this gradient are too small; pass more num_sweeps and num_warmup"
            )
        unclamped = draws.expect(both)
        value, variance, evals = -unclamped.value, unclamped.mcse**2, unclamped.num_evals
        if not has_hidden:
            value = value + share @ both(rows)
        units = np.arange(self.num_units)
        for row, p, own in zip(rows, share, held, strict=False):
            found = self.sample(num_sweeps, clamped=row, rng=own, **sizes).expect(both)
            # What the clamping decides has no error; of another constant it is unknown.
            zero = units[: self.num_visible][row == 0.0]
            known = np.r_[units < self.num_visible, (j < self.num_visible) | np.isin(i, zero)]
            value = value + p * found.value
            variance = variance + np.where(known, 0.0, (p * found.mcse) ** 2)
            evals += found.num_evals
        return Gradient(*self._unpacked(value, np.sqrt(variance), evals, pairs))

    def _unpacked(self, value, error, evals, pairs):
        n = self.num_units
        square = np.zeros((2, n, n))
        for matrix, vector in zip(square, (value, error), strict=True):
            matrix[pairs] = vector[n:]
            matrix += matrix.T
        yield Estimate(*square, evals)
        yield Estimate(value[:n], error[:n], evals)

    def fit(
        self,
        data,
        *,
        learning_rate=0.5,
        num_iterations=1000,
        num_sweeps=None,
        tolerance=1e-3,
        rng,
    ):
        """Learn weights and biases by gradient ascent of the mean log likelihood.

        Parameters
        ----------
        data : array_like, shape (m, num_visible)
        learning_rate : float
            What multiplies the gradient.
        num_iterations : int
            At most.
        num_sweeps : int, optional
            Sweeps in each of 4 chains and each phase, at least 4, from which gradients are
            estimated (`sampled_gradient`, 100 sweeps of warm-up); None enumerates: up to 20 units.
        tolerance : float
            With exact gradients the ascent ends when no entry is larger in size.
        rng : int, Generator, SeedSequence or None
            Used for sampled gradients, and to part hidden units.

        Returns
        -------
        Learned
            The machine, which is a new one, with the trace of its log likelihood.

        Raises
        ------
        BayeslibError
            For arguments out of range, each named; above 20 units without `num_sweeps`.

        Warns
        -----
        BayeslibWarning
            When the ascent has not converged, or went down, when a weight or bias has passed 10 in
            size, or when a hidden unit does not depend on the data; the same lines are in
            `problems`. As `sampled_gradient`, when that is used.

        Notes
        -----
        With all units visible there is one maximum; with hidden ones several, and flat places
        between them, so that runs from several `rng` are to be compared. Hidden units whose weights
        are all zero are alike for ever: these weights first get standard normal draws.

        Draw order: one standard normal for every pair i < j with a hidden unit, row by row, if
        there are hidden units without weights; then, for each iteration, ``rng.spawn`` of one
        generator for its `sampled_gradient`.
        """
        from .learning import learn

        return learn(
            self, data, learning_rate=learning_rate, num_iterations=num_iterations,
            num_sweeps=num_sweeps, tolerance=tolerance, rng=rng,
        )  # fmt: skip


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


def _as_binary(value, name, size):
    """Return 0s and 1s, (size,) or (m, size); bool arrays are taken too."""
    array = np.asarray(value)
    array = as_floats(array.astype(float) if array.dtype == bool else array, name)
    if array.ndim not in (1, 2) or array.shape[-1] != size:
        raise BayeslibError(f"{name} must have shape ({size},) or (m, {size}), got {array.shape}")
    wrong = np.argwhere((array != 0.0) & (array != 1.0))
    if wrong.size:
        raise BayeslibError(
            f"{name} must hold 0 and 1, got {array[tuple(wrong[0])]:g} at {wrong[0].tolist()}; "
            "for units of -1 and 1 pass (s + 1) / 2"
        )
    return array
