"""Maximum likelihood for a Boltzmann machine, by gradient ascent."""

from dataclasses import dataclass, field

import numpy as np

from ..errors import warn
from ..validate import as_count, as_positive, as_rng

MOST_UNITS = 20  # of which all states are enumerated
_SPREAD = 1.0  # of the weights that part hidden units
_FALL = 1e-9  # of the log likelihood in one exact step, above which it is no rounding
_LARGE = 10.0  # a log odds that data hardly ever ask for
_IDLE = 0.05  # standard deviation over rows of a hidden unit's mean, below which it says nothing
_NOISE = 4.0  # standard errors, above which a sampled gradient is not zero


@dataclass(frozen=True, repr=False)
class Learned:
    """What maximum likelihood made of a Boltzmann machine.

    Attributes
    ----------
    machine : BoltzmannMachine
    log_likelihood : numpy.ndarray, shape (iterations + 1,)
        Mean log probability of the data before the first and after each iteration; nan for
        machines too large to enumerate.
    gradient_norm : numpy.ndarray, shape (iterations,)
        The largest entry, in size, of each iteration's gradient.
    converged : bool
        Whether the last gradient was zero: within the tolerance when exact, within four standard
        errors when sampled.
    problems : tuple of str
    settings : dict

    Examples
    --------
    >>> data = [[1, 1], [1, 1], [0, 0], [1, 0], [0, 1]]
    >>> machine = bl.BoltzmannMachine(np.zeros((2, 2)), np.zeros(2))
    >>> learned = machine.fit(data, learning_rate=1.0, rng=1)
    >>> learned.converged
    True
    >>> print(learned.machine.probabilities().round(2))
    [0.2 0.2 0.2 0.4]
    """

    machine: object
    log_likelihood: np.ndarray
    gradient_norm: np.ndarray
    converged: bool
    problems: tuple = ()
    settings: dict = field(default_factory=dict)

    def summary(self):
        """Return how the ascent went, in words."""
        trace, norms = self.log_likelihood, self.gradient_norm
        state = "converged" if self.converged else "not converged"
        first = f"{self.machine!r}: {state} after {norms.size} iterations, gradient {norms[-1]:.2g}"
        fit = f"mean log likelihood {trace[0]:.6g} before, {trace[-1]:.6g} after"
        return "\n".join([first, fit, *self.problems])

    __repr__ = summary


def learn(
    machine, data, *, learning_rate=0.5, num_iterations=1000, num_sweeps=None, tolerance=1e-3, rng
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
        Used for sampled gradients, and for the first weights of hidden units, see Notes.

    Returns
    -------
    Learned
        The machine, which is a new one, with the trace of its log likelihood. Interrupted, it is
        what was learned until then, ``settings["interrupted"]`` set.

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
    rate = as_positive(learning_rate, "learning_rate")
    tolerance = as_positive(tolerance, "tolerance")
    num_iterations = as_count(num_iterations, "num_iterations")
    if num_sweeps is not None:
        num_sweeps = as_count(num_sweeps, "num_sweeps", minimum=4)
    rng, seed = as_rng(rng)
    machine = _parted(machine, rng)
    known = machine.num_units <= MOST_UNITS
    trace, norms, converged = [machine.log_likelihood(data) if known else np.nan], [], False
    exact = num_sweeps is None
    settings = {"learning_rate": rate, "num_sweeps": num_sweeps, "seed": seed, "interrupted": False}
    try:
        while len(norms) < num_iterations and not (exact and converged):
            if exact:
                slope = machine.gradient(data)
                converged = _largest(*slope) <= tolerance
            else:
                found = machine.sampled_gradient(data, num_sweeps=num_sweeps, rng=rng.spawn(1)[0])
                slope = found._replace(weights=found.weights.value, biases=found.biases.value)
                # No entry is more standard errors from zero than noise explains.
                small = [np.abs(one.value) <= _NOISE * np.nan_to_num(one.mcse) for one in found]
                converged = all(np.all(part) for part in small)
            moved = machine
            if not (exact and converged):
                moved = type(machine)(
                    machine.weights + rate * slope.weights, machine.biases + rate * slope.biases,
                    num_visible=machine.num_visible,
                )  # fmt: skip
            trace.append(moved.log_likelihood(data) if known else np.nan)
            norms.append(_largest(*slope))
            machine = moved
    except KeyboardInterrupt:
        if not norms:
            raise
        settings["interrupted"] = True
    trace, norms = np.array(trace), np.array(norms)
    problems = tuple(_problems(machine, data, trace, norms, converged, settings))
    warn(*problems)
    return Learned(machine, trace, norms, converged, problems, settings)


def _parted(machine, rng):
    """Give weights to hidden units that have none."""
    first, weights = machine.num_visible, machine.weights.copy()
    alike = ~np.any(weights != 0.0, axis=1)
    alike[:first] = False
    if not alike.any():
        return machine
    i, j = np.triu_indices(len(weights), 1)
    i, j = i[j >= first], j[j >= first]
    z = _SPREAD * rng.standard_normal(i.size)
    weights[i, j] = weights[j, i] = np.where(alike[i] | alike[j], z, weights[i, j])
    return type(machine)(weights, machine.biases, num_visible=first)


def _largest(weights, biases):
    return float(max(np.abs(weights).max(), np.abs(biases).max()))


def _problems(machine, data, trace, norms, converged, settings):
    """Yield in words what may be wrong with the end of an ascent."""
    if settings["interrupted"]:
        yield f"the ascent was interrupted after {norms.size} iterations"
    if not converged:
        yield f"the ascent has not converged (gradient {norms[-1]:.2g}): pass more num_iterations"
    fell = np.flatnonzero(np.diff(trace) < -_FALL * (1.0 + np.abs(trace[:-1])))
    if settings["num_sweeps"] is None and fell.size:
        rate = settings["learning_rate"]
        yield f"the log likelihood fell {fell.size} times: learning_rate={rate:g} is too large"
    largest = _largest(machine.weights, machine.biases)
    if largest > _LARGE:
        yield f"a weight or bias has reached {largest:.3g} and may grow on: stop it, or add data"
    first, rows = machine.num_visible, np.unique(np.asarray(data, dtype=float), axis=0)
    if first == machine.num_units or machine.num_units > MOST_UNITS or len(rows) < 2:
        return
    means = np.array([machine.moments(clamped=row).means[first:] for row in rows])
    idle = np.flatnonzero(means.std(axis=0) < _IDLE) + first
    if idle.size:
        some = ", ".join(map(str, idle))
        yield f"hidden units {some} do not depend on the data: pass another rng, or take fewer"
