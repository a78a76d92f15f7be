"""Simulated annealing: a Metropolis walk that is cooled until it stays where it is."""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ..chains.algorithm import Algorithm, as_plan
from ..chains.functions import Compares, Draws, bind_moves, compile_all, error_of_moves
from ..chains.loop import INFINITE, Chain, ask, copy, ended, judged, laid_out, record
from ..chains.run import spawn
from ..compile.arguments import as_data, as_function
from ..compile.callback import density, helper
from ..compile.kinds import ADDRESS, HANDLE, VECTOR
from ..errors import BayeslibError, StartError
from ..target.target import Target
from ..validate import as_count, as_floats, as_positions, check_memory, shown
from .schedules import as_schedule

_WRONG_CHANGE = 1e-6  # relative difference from the energy that no rounding explains


@dataclass(frozen=True, repr=False)
class Annealed:
    """What simulated annealing found: the lowest states, which are draws of no distribution.

    Attributes
    ----------
    best_state : numpy.ndarray, shape (dim,)
        The lowest that any chain visited.
    best_energy : float
    best_states : numpy.ndarray, shape (num_chains, dim)
        The lowest that each chain visited.
    best_energies : numpy.ndarray, shape (num_chains,)
    final_states : numpy.ndarray, shape (num_chains, dim)
        Where each chain ended.
    energies : numpy.ndarray, shape (num_chains, num_iterations)
        After each iteration.
    temperatures : numpy.ndarray, shape (num_iterations,)
    accepted : numpy.ndarray of bool, shape (num_chains, num_iterations)
    num_evals : int
        Evaluations of the energy, or of its change.
    settings : dict
        ``schedule``, its name, a function's, or "given" for temperatures; ``seed``; ``compiled``,
        whether `propose` and `change` ran as machine code; ``interrupted``; ``num_nan``, at how
        many proposals the energy was nan.

    Examples
    --------
    >>> found = bl.anneal(
    ...     lambda x: abs(x[0] - 7.0), [0.0],
    ...     propose=lambda x, rng: x + rng.integers(-1, 2), initial_temperature=5.0,
    ...     num_iterations=2000, num_chains=2, rng=1,
    ... )
    >>> print(found.best_states.ravel(), found.energies.shape)
    [7. 7.] (2, 2000)
    >>> print(found.acceptance < 1.0)
    True
    """

    best_state: np.ndarray
    best_energy: float
    best_states: np.ndarray
    best_energies: np.ndarray
    final_states: np.ndarray
    energies: np.ndarray
    temperatures: np.ndarray
    accepted: np.ndarray
    num_evals: int
    settings: dict = field(default_factory=dict)

    @property
    def acceptance(self):
        """The share of proposals that were accepted."""
        return float(self.accepted.mean())

    def summary(self):
        """Return what was found, in words."""
        (num_chains, num_iterations), lowest = self.energies.shape, self.best_energies
        lines = [
            f"anneal: lowest energy {self.best_energy:.6g}",
            f"{num_chains} × {num_iterations} iterations, {100.0 * self.acceptance:.1f} % accepted",
            f"lowest of each chain: from {lowest.min():.6g} to {lowest.max():.6g}",
            "optimisation: the states are not draws from any posterior",
        ]
        if self.settings.get("interrupted"):
            lines.append("the run was interrupted; this is what was found until then")
        return "\n".join(lines)

    __repr__ = summary


Lowest = record(energy="f8")  # so far


class Cooling(NamedTuple):
    """Where a walk is, the lowest point that it saw, and the user's functions."""

    position: VECTOR
    proposal: VECTOR
    best: VECTOR
    lowest: Lowest
    temperatures: VECTOR
    propose: ADDRESS
    propose_handle: HANDLE
    compare: ADDRESS  # the change of energy, 0 where the energy itself is asked
    compare_handle: HANDLE


Note = record(accepted="?")


def anneal_step(target, rng, energy, c, note):
    """Propose a state; accept it unless it lies too far uphill for the temperature."""
    ask(target, c.propose, c.position, c.proposal, c.propose_handle)
    if ended(target):
        return energy
    uniform, temperature = rng.random(), c.temperatures[target.account.t]
    rise, new = uphill(target, energy, c)  # +inf where the run is over
    # At temperature 0 only what is not uphill; 0 / 0 would be nan.
    note.accepted = rise <= 0.0
    if rise > 0.0 and temperature > 0.0:
        note.accepted = uniform < np.exp(-rise / temperature)
    if not note.accepted:
        return energy
    copy(c.proposal, c.position)
    if new < c.lowest.energy:
        c.lowest.energy = new
        copy(c.position, c.best)
    return new


@helper
def uphill(target, energy, c):
    """Return how far the proposal lies above, +inf where its energy is nan, and its energy."""
    if c.compare != 0:
        rise = ask(target, c.compare, c.proposal, c.position, c.compare_handle)
        new = energy + rise
    else:
        new = density(target.address, c.proposal, target.unused, target.handle)
        rise = new - energy
    return -judged(target, c.proposal, -rise), new


def initial(run, start, propose, compare, temperatures):
    return laid_out(
        Cooling, position=start, proposal=start, best=start, temperatures=temperatures,
        lowest={"energy": run.bound(start, np.empty(start.size))},
        **bind_moves(run, propose, compare),
    )  # fmt: skip


def settings(run):
    best, final = run.state.best, run.state.position
    return {"best_energy": run.bound(best, np.empty(best.size)), "best": best, "final": final}


def raised(run):
    error = error_of_moves(run)
    if error is None and run.account.status == INFINITE:
        found = f"the energy is -inf at state={shown(run.density.points[1])}"
        return BayeslibError(f"{found}: it must be finite, or +inf where a state is forbidden")
    if error is not None or run.options["compare"] is None or run.done < run.num_samples:
        return error
    # Changes of energy must add up to the energy.
    energy, summed = run.bound(run.state.position, np.empty(run.target.dim)), run.account.log_p
    if abs(energy - summed) <= _WRONG_CHANGE * (1.0 + abs(energy)):
        return None
    found = f"changes add up to {summed:.9g}, not the energy {energy:.9g}"
    return BayeslibError(f"{found}: change must return energy(proposed) - energy(state)")


ANNEAL = Algorithm(
    "anneal", Chain(anneal_step, Cooling, Note), initial, settings, raised=raised, keeps_draws=False
)


def anneal(
    energy,
    initial_state,
    *,
    propose,
    change=None,
    args=(),
    schedule="geometric",
    initial_temperature=None,
    final_temperature=None,
    num_iterations=None,
    num_chains=4,
    rng,
    executor=None,
    progress=None,
):
    """Look for the lowest energy by simulated annealing: optimisation, not sampling.

    Parameters
    ----------
    energy : callable
        ``energy(state, *args) -> float``, in numba's subset of Python; +inf forbids a state.
        ``state`` is (dim,) float64, read-only: whole numbers, such as a tour's cities, are held
        exactly, and become indices by ``int(state[i])``.
    initial_state : array_like, shape (dim,) or (num_chains, dim)
    propose : callable
        ``propose(state, rng, *args) -> (dim,)``, or a number when dim is 1: drawn by the methods
        of the Generator `rng` and nothing else, a move and its reverse being equally likely.
    change : callable, optional
        ``change(proposed, state, *args) -> float``: ``energy(proposed) - energy(state)``, where
        that costs less than the energy. Both are compared at the first proposal and at the end.
    args : tuple of arrays and numbers
        Passed on to the functions.
    schedule : {"geometric", "logarithmic"}, callable or array_like, shape (num_iterations,)
        "geometric" falls by the same factor an iteration, from `initial_temperature` to
        `final_temperature`; "logarithmic" is ``initial_temperature * log(2) / log(k + 2)`` at
        iteration k = 0, 1, …, see Notes. Or schedule(k), asked once with the array k = 0, …,
        num_iterations - 1; or an array of temperatures.
    initial_temperature : float, optional
        In units of the energy; for the two named schedules, which need it. At this temperature,
        uphill moves of the usual size should mostly be accepted.
    final_temperature : float, optional
        Of the geometric schedule; a thousandth of the first when None.
    num_iterations : int, optional
        10 000 when None, or as many as there are temperatures.
    num_chains : int
        Independent runs.
    rng : int, Generator, SeedSequence or None
        One chain draws from it; several draw from ``rng.spawn(num_chains)``. None takes fresh
        entropy and records it in ``settings["seed"]``.
    executor : concurrent.futures.Executor, optional
        Where the chains run; threads by default.
    progress : bool, optional
        None shows a bar on runs of more than about two seconds.

    Returns
    -------
    Annealed
        Its fields: ``best_state``, ``best_energy``, those of each chain (``best_states``,
        ``best_energies``, ``final_states``), the traces ``energies``, ``temperatures`` and
        ``accepted``. Not `Draws`: the states follow no distribution that could be averaged over.
        Interrupted, it is what was found until then, ``settings["interrupted"]`` set.

    Raises
    ------
    BayeslibError
        For arguments out of range, each named; when `propose` draws from something else than
        `rng`, the energy does not compile or reaches -inf, or `change` is not the change of the
        energy. StartError when the energy at a start is not finite.
    Exception
        Whatever one of the functions raises.
    MemoryError
        Before the run, when the traces would not fit.

    Warns
    -----
    BayeslibWarning
        When `propose` or `change` is not in numba's subset of Python, and runs slowly; when the
        energy was nan at a proposal, which is rejected.

    Notes
    -----
    A proposal that raises the energy by d is accepted at temperature T with probability
    ``exp(-d / T)``; one that does not, always. For an energy difference in constant time, let
    `propose` leave in spare entries of the state which move it made; `change` reads them there.

    Logarithmic: such a run ends at the lowest energy with a probability that tends to one if, and
    only if, ``initial_temperature * log(2)`` is at least the critical depth (Hajek, 1988): the
    climb out of the deepest local minimum that is not a global one. It is seldom known.

    Draw order, for each iteration: whatever `propose` draws, then one uniform, also when it cannot
    matter; accepted when it is below the probability.

    References
    ----------
    Kirkpatrick, Gelatt and Vecchi (1983), Optimization by simulated annealing. Geman and Geman
    (1984), Stochastic relaxation, Gibbs distributions, and the Bayesian restoration of images.
    Hajek (1988), Cooling schedules for optimal annealing.

    Examples
    --------
    >>> def energy(x):  # two valleys, the left one deeper
    ...     return (x[0] ** 2 - 1.0) ** 2 + 0.3 * x[0]
    >>> def propose(x, rng):
    ...     return x + 0.5 * rng.standard_normal(1)
    >>> how = dict(propose=propose, initial_temperature=1.0)
    >>> found = bl.anneal(energy, [1.0], **how, rng=1)
    >>> print(found.best_state.round(1), round(found.best_energy, 2))
    [-1.] -0.31
    """
    if num_iterations is not None:
        num_iterations = as_count(num_iterations, "num_iterations")
        check_memory((2, num_iterations), "the traces")
    hottest, coldest = initial_temperature, final_temperature
    temperatures, named = as_schedule(schedule, hottest, coldest, num_iterations)
    plan = as_plan(temperatures.size, 0, num_chains, rng, executor, progress)
    check_memory((2, plan.num_chains, temperatures.size), "the traces")
    starts = as_floats(initial_state, "initial_state")
    dim = as_count(starts.shape[-1] if starts.ndim else 1, "the length of initial_state")
    starts = as_positions(starts, "initial_state", dim, plan.num_chains)
    args = as_data(args, "args")
    propose = Draws(propose, "propose", "state", args, "args", dim)
    energy = as_function(energy, "energy", ("state",), args, "args")
    target = Target(energy, dim=dim, data=args, gradient=None)
    if change is not None:
        change = Compares(change, "change", ("proposed", "state"), args, "args")
    generators = spawn(plan.rng, plan.num_chains)
    _verify(target, propose, change, starts, generators[0])
    compiled = compile_all((propose, change), starts[0], generators[0])
    settings = {"schedule": named, "seed": plan.seed, "compiled": compiled}

    def join(outcomes, size, num_evals, counted):
        lowest = np.array([one.settings["best_energy"] for one in outcomes])
        states = np.stack([one.settings["best"] for one in outcomes])
        return Annealed(
            best_state=states[lowest.argmin()],
            best_energy=float(lowest.min()),
            best_states=states,
            best_energies=lowest,
            final_states=np.stack([one.settings["final"] for one in outcomes]),
            energies=np.stack([one.logdensity[:size] for one in outcomes]),
            temperatures=temperatures[:size],
            accepted=np.stack([one.stats["accepted"][:size] for one in outcomes]),
            num_evals=num_evals,
            settings=settings | {name: counted[name] for name in ("interrupted", "num_nan")},
        )

    options = {"propose": propose, "compare": change, "temperatures": temperatures}
    return ANNEAL.run(target, starts, generators, options, plan, join, "energy", "state")


def _verify(target, propose, change, starts, rng):
    """Try all functions at the starts; `rng` is left as it is.

    Raises
    ------
    StartError
        If the energy is not finite at a start.
    BayeslibError
        If `propose` draws from something else than `rng`, or `change` is not the difference of the
        energies.
    """
    for start in np.unique(starts, axis=0):
        value = target(start)
        if not np.isfinite(value):
            raise StartError(f"the energy at initial_state={shown(start)} is {value}, not finite")
    start, proposed = starts[0], propose.twice(starts[0], rng)
    if change is None:
        return
    claimed, before, after = change(proposed, start), target(start), target(proposed)
    wrong = abs(claimed - (after - before)) > _WRONG_CHANGE * (1.0 + abs(before) + abs(after))
    if wrong or np.isfinite(claimed) != np.isfinite(after):
        found = f"{claimed:.6g}, not {after - before:.6g}, from {shown(start)} to {shown(proposed)}"
        raise BayeslibError(f"{change.label} must return energy(proposed) - energy(state): {found}")
