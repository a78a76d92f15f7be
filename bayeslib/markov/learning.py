"""Maximum likelihood for a Boltzmann machine, by gradient ascent."""

from dataclasses import dataclass, field

import numpy as np

from ..errors import warn
from ..validate import as_count, as_positive, as_rng
from .boltzmann import MOST_UNITS, BoltzmannMachine

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

    machine: BoltzmannMachine
    log_likelihood: np.ndarray
    gradient_norm: np.ndarray
    converged: bool
    problems: tuple = ()
    settings: dict = field(default_factory=dict)

    def summary(self):
        """Return how the ascent went, in words."""
        trace = self.log_likelihood
        state = "converged" if self.converged else "not converged"
        lines = [
            f"{self.machine!r}: {state} after {self.gradient_norm.size} iterations; mean log "
            f"likelihood {trace[0]:.6g} before, {trace[-1]:.6g} after; largest entry of the last "
            f"gradient {self.gradient_norm[-1]:.2g}"
        ]
        return "\n".join([*lines, *self.problems])

    def __repr__(self):
        return self.summary()


def learn(machine, data, *, learning_rate, num_iterations, num_sweeps, tolerance, rng):
    """Climb the mean log likelihood; see `BoltzmannMachine.fit`."""
    rate = as_positive(learning_rate, "learning_rate")
    tolerance = as_positive(tolerance, "tolerance")
    num_iterations = as_count(num_iterations, "num_iterations")
    if num_sweeps is not None:
        num_sweeps = as_count(num_sweeps, "num_sweeps", minimum=4)
    rng, seed = as_rng(rng)
    machine = _parted(machine, rng)
    known = machine.num_units <= MOST_UNITS
    trace, norms, converged = [machine.log_likelihood(data) if known else np.nan], [], False
    for _ in range(num_iterations):
        if num_sweeps is None:
            slope = machine.gradient(data)
            norms.append(_largest(slope.weights, slope.biases))
            converged = norms[-1] <= tolerance
            if converged:
                trace.append(trace[-1])
                break
        else:
            (own,) = rng.spawn(1)
            found = machine.sampled_gradient(data, num_sweeps=num_sweeps, rng=own)
            slope = [estimate.value for estimate in found]
            norms.append(_largest(*slope))
            converged = all(_is_zero(estimate) for estimate in found)
        weights = machine.weights + rate * slope[0]
        machine = BoltzmannMachine(
            weights, machine.biases + rate * slope[1], num_visible=machine.num_visible
        )
        trace.append(machine.log_likelihood(data) if known else np.nan)
    trace, norms = np.array(trace), np.array(norms)
    problems = _problems(machine, trace, norms, converged, rate, num_sweeps)
    problems += _idle_problem(machine, data) if known else ()
    if problems:
        warn("; and ".join(problems))
    settings = {"learning_rate": rate, "num_sweeps": num_sweeps, "seed": seed}
    return Learned(machine, trace, norms, converged, problems, settings)


def _parted(machine, rng):
    """Give weights to hidden units that have none."""
    first = machine.num_visible
    if first == machine.num_units or np.all(np.any(machine.weights[first:] != 0.0, axis=1)):
        return machine
    weights = machine.weights.copy()
    alike = np.flatnonzero(~np.any(weights != 0.0, axis=1))
    alike = set(alike[alike >= first].tolist())
    for i in range(machine.num_units):
        for j in range(max(i + 1, first), machine.num_units):
            z = rng.standard_normal()
            if i in alike or j in alike:
                weights[i, j] = weights[j, i] = _SPREAD * z
    return BoltzmannMachine(weights, machine.biases, num_visible=first)


def _largest(weights, biases):
    return float(max(np.abs(weights).max(), np.abs(biases).max()))


def _is_zero(estimate):
    """Whether no entry is more standard errors from zero than noise explains."""
    with np.errstate(invalid="ignore"):
        return bool(np.all(np.abs(estimate.value) <= _NOISE * np.nan_to_num(estimate.mcse)))


def _problems(machine, trace, norms, converged, rate, num_sweeps):
    found = []
    if not converged:
        found.append(
            f"the ascent has not converged: the largest entry of the last gradient is "
            f"{norms[-1]:.2g}; pass more num_iterations"
        )
    fell = np.flatnonzero(np.diff(trace) < -_FALL * (1.0 + np.abs(trace[:-1])))
    if num_sweeps is None and fell.size:
        found.append(
            f"the log likelihood fell in {fell.size} of {norms.size} iterations, first in "
            f"iteration {fell[0]}: learning_rate={rate:g} is too large"
        )
    largest = _largest(machine.weights, machine.biases)
    if largest > _LARGE:
        found.append(
            f"a weight or bias has reached {largest:.3g}: where the data never show a pattern, the "
            "likelihood grows without end; stop earlier, or use more data"
        )
    return tuple(found)


def _idle_problem(machine, data):
    """Say which hidden units tell no row of the data from another."""
    first = machine.num_visible
    if first == machine.num_units:
        return ()
    rows = np.unique(np.asarray(data, dtype=float), axis=0)
    means = np.array([machine.moments(clamped=row).means[first:] for row in rows])
    idle = np.flatnonzero(means.std(axis=0) < _IDLE) + first
    if idle.size == 0 or len(rows) < 2:
        return ()
    return (
        f"hidden units {', '.join(map(str, idle))} do not depend on the data: the ascent has ended "
        "where the likelihood is flat, which need not be its maximum; start from other weights, "
        "or another rng, or with fewer hidden units",
    )
