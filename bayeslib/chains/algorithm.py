"""From a target, a start and an algorithm to an outcome: the Python half of every chain."""

import dataclasses
import pkgutil
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..diagnostics.trouble import divergence_problem
from ..errors import TooLargeError, warn
from ..target.verify import out_of_bounds
from ..validate import as_count, as_rng, check_memory
from ..waiting import blocks
from .far import endless, runaway, tail_index
from .loop import Chain, Density, Unasked
from .run import Outcome, into_draws, join_chains, run_chains, spawn
from .starts import initial_positions

_LONGEST = 10**9  # iterations of a warm-up


class Plan(NamedTuple):
    """How many iterations a run makes, from which seed, and where: what every sampler is told."""

    num_samples: int
    num_warmup: int
    num_chains: int
    rng: np.random.Generator
    seed: object
    executor: object
    progress: bool | None


def as_plan(num_samples, num_warmup, num_chains, rng, executor, progress):
    """Return a `Plan`; a generator that one chain draws from is left where that chain left it."""
    num_samples = as_count(num_samples, "num_samples")
    num_warmup = as_count(num_warmup, "num_warmup", minimum=0)
    if num_warmup > _LONGEST:
        raise TooLargeError(f"num_warmup must be at most {_LONGEST:,}, got {num_warmup:,}")
    num_chains = as_count(num_chains, "num_chains")
    return Plan(num_samples, num_warmup, num_chains, *as_rng(rng), executor, progress)


@dataclasses.dataclass(frozen=True)
class Algorithm:
    """A sampler of chains: what is compiled, how a chain begins, and what it settled on.

    Parameters
    ----------
    name : str
        In capitals that of this object in its module.
    chain : Chain
    initial : callable
        initial(run, start, **options) -> the state of a chain; `run` has what is known by then.
    settings : callable
        settings(run) -> dict of what the draws' `settings` shall have, a value a chain.
    windows : callable
        windows(num_warmup, state) -> where the windows of the warm-up end, int64.
    gradient : bool
        Whether the density is asked for gradients.
    stats : callable
        stats(run) -> dict of (num_samples, ...) arrays that do not fit in a note.
    raised : callable
        raised(run) -> the error that a function of the user's met, or None.
    keeps_draws : bool
        Or only their log densities and notes.
    joined : callable
        joined(draws) -> the draws of all chains, completed.
    at_window : callable, optional
        at_window(run) is called where a window of the warm-up ends, the last excepted. To leave
        compiled code at each costs more than a short run: None where nothing is to be done there.
    diverged : str
        Where a reader finds the transitions that diverged.
    """

    name: str
    chain: Chain
    initial: Callable
    settings: Callable = lambda run: {}
    windows: Callable = lambda num_warmup, state: np.array([num_warmup])
    gradient: bool = False
    stats: Callable = lambda run: {}
    raised: Callable = lambda run: None
    keeps_draws: bool = True
    joined: Callable = lambda draws: draws
    at_window: Callable | None = None
    diverged: str = ""

    def __reduce__(self):
        return pkgutil.resolve_name, (f"{self.initial.__module__}:{self.name.upper()}",)

    def room(self, target, *shape):
        """Return arrays for what chains shall keep: draws, and their log densities."""
        return np.empty((*shape, target.dim if self.keeps_draws else 0)), np.empty(shape)

    def run(self, target, starts, generators, options, plan, join, *subject):
        """Run one chain a start and join what they made, cut to the shortest chain that has any.

        Parameters
        ----------
        target : Target or Unasked
        starts : array_like, one a chain
        generators : list of numpy.random.Generator
        options : dict
            Those of `initial`, the same for every chain; picklable.
        plan : Plan
        join, subject
            See `join_chains`.
        """
        self.chain.compile()  # before the chains need it at once
        room = [None] * len(starts)
        if plan.executor is None:  # chains side by side need not be copied to be joined
            room = zip(*self.room(target, len(starts), plan.num_samples), strict=True)
        chains = zip(generators, starts, room, strict=True)
        jobs = [(target, *chain, self, options, plan[:3]) for chain in chains]
        outcomes, interrupted = run_chains(run_chain, jobs, plan, self.name)
        if len(jobs) == 1:  # in another process, perhaps
            plan.rng.bit_generator.state = outcomes[0].rng_state
        return join_chains(outcomes, target, plan, interrupted, join, *subject)

    def sample_states(self, method, names, starts, options, plan, settings, numbers):
        """Run one chain a start where steps know by themselves how likely a state is.

        Parameters
        ----------
        method, names, settings
            See `into_draws`.
        starts, options, plan
            See `run`.
        numbers : int
            Kept in each chain, to estimate the memory.
        """
        check_memory((1, plan.num_chains, numbers), "draws")
        join = into_draws(method, names, {"seed": plan.seed, **settings})
        generators = spawn(plan.rng, plan.num_chains)
        return self.run(Unasked(len(names)), starts, generators, options, plan, join)

    def sample(
        self, target, initial_position, options, plan, settings, *,
        numbers=0, draw=None, prepare=None, tails=True,
    ):  # fmt: skip
        """Run one chain a generator from checked starts, and join what they drew.

        Parameters
        ----------
        target : Target
        initial_position : array_like or None
            See `initial_positions`, as for `draw`; of the parameters, where `target` is `walked`.
        options : dict
            Those of `initial`, the same for every chain; picklable.
        plan : Plan
        settings : dict
            Completed by ``seed``, by `join_chains` and `into_draws`, and by ``tail_index``.
        numbers : int
            Kept for each draw beside its values, its log density and its note, to estimate the
            memory.
        prepare : callable, optional
            prepare(starts, generators) is called before the chains begin; it draws nothing.
        tails : bool
            Whether the target's density is that of the draws, and can be asked about its tails.

        Returns
        -------
        Draws
        """
        num_chains = plan.num_chains
        numbers += target.dim + 1 + len(self.chain.note.names)
        check_memory((2, num_chains, plan.num_samples, numbers), "draws")
        generators = spawn(plan.rng, num_chains)
        back = target if target.maps_back else None
        if back:
            initial_position = back.starts(initial_position, num_chains)
        else:
            initial_position = target.flatten(initial_position)
        starts, num_evals = initial_positions(
            target, initial_position, generators, gradient=self.gradient, draw=draw
        )
        if prepare is not None:
            prepare(starts, generators)
        made = into_draws(self.name, target.names, {"seed": plan.seed, **settings}, num_evals)

        def join(*found):
            draws = self.joined(made(*found))
            said, spent = endless(target, draws.values, self.gradient) if tails else (None, 0)
            if said:
                draws.settings["runaway"] = draws.settings["endless"] = said
            draws = dataclasses.replace(draws, num_evals=draws.num_evals + spent)
            return back.constrain(draws) if back else draws

        draws = self.run(target, starts, generators, options, plan, join)
        if back:
            target = back.original
            draws.settings["unconstrained"] = True
        elif target.layout and target.layout.transform.fixed.any():
            fixed = np.flatnonzero(target.layout.transform.fixed)
            draws.settings["fixed"] = [target.names[i] for i in fixed]
        finite = np.isfinite(draws.values).all()
        said = finite and (out_of_bounds(target, draws.values) or runaway(target, draws.values))
        if said:
            draws.settings["runaway"] = said
        if problem := divergence_problem(draws):
            by_chain = ", ".join(map(str, draws.stats["diverging"].sum(axis=1)))
            warn(f"{problem} (by chain: {by_chain}; {self.diverged})")
        else:
            warn(draws.settings.get("runaway"))
        if draws.settings["interrupted"] or not tails or not finite:
            return draws
        index, spent = tail_index(target, draws.values, gradient=self.gradient and not back)
        draws.settings["tail_index"] = index
        return dataclasses.replace(draws, num_evals=draws.num_evals + spent) if spent else draws


class Run:
    """One chain, ready to run: what its algorithm may look at.

    Attributes
    ----------
    target : Target
    rng : Generator
    options : dict
        What `initial` was given.
    num_warmup, num_samples, done : int
        `done` counts the iterations made, warm-up included.
    density : Density
    account : record
        What was asked of the density, and why the chain ended.
    state : NamedTuple
        The algorithm's.
    draws, log_p, notes : numpy.ndarray
        (num_samples, dim), (num_samples,), and records (num_samples + 1,), the last unused.
    kept : object
        Set by `initial` to what must live as long as the chain: callbacks, say.
    """

    def __init__(self, algorithm, target, rng, start, room, options, counts):
        self.algorithm, self.target, self.rng, self.options = algorithm, target, rng, options
        num_samples, self.num_warmup, _ = counts
        self.num_samples, self.done, self.kept = num_samples, 0, None
        self.bound = target.bind(gradient=algorithm.gradient)
        self.density = Density.of(self.bound)
        self.account = self.density.account
        self.draws, self.log_p = room or algorithm.room(target, num_samples)
        self.notes = np.zeros(num_samples + 1, dtype=algorithm.chain.note)
        self.state = algorithm.initial(self, start, **options)
        self.windows = algorithm.windows(self.num_warmup, self.state)
        self.ask()

    def ask(self):
        """Ask for the density, and its gradient, where the chain is."""
        gradient = getattr(self.state, "gradient", self.density.unused)
        self.account.log_p = self.bound(self.state.position, gradient)

    def advance(self, first, last):
        """Do the iterations first, …, last - 1; return where it stopped.

        That is before `last` only for a reason noted in its account or handle. All it needs to go
        on is in its own arrays, so that the sizes of blocks leave no trace in the draws.
        """
        ends = self.windows[: -1 if self.algorithm.at_window else 0]
        for end in [*ends[(first < ends) & (ends < last)], last]:
            first = self.algorithm.chain(
                self.density, self.rng, np.array([first, end]), self.windows, self.state,
                self.draws, self.log_p, self.notes,
            )  # fmt: skip
            if first < end:
                break
            if end in ends:
                self.algorithm.at_window(self)
        return first

    def outcome(self):
        """Return what was made of it."""
        failed_at = self.bound.failed_at.copy() if self.bound.num_errors else None
        stats = {name: self.notes[name][:-1] for name in self.notes.dtype.names if name[0] != "_"}
        return Outcome(
            self.done, self.draws, self.log_p, stats | self.algorithm.stats(self),
            self.algorithm.settings(self), self.account, self.density.points, failed_at,
            self.rng.bit_generator.state, raised=self.algorithm.raised(self),
        )  # fmt: skip


def run_chain(control, index, target, rng, start, room, algorithm, options, counts):
    """Run one chain in blocks of about a tenth of a second; what threads or an executor do."""
    run = Run(algorithm, target, rng, start, room, options, counts)
    control.watch(run.bound)
    for first, last in blocks(run.num_warmup + run.num_samples):
        run.done = control.done[index] = run.advance(first, last)
        if run.done < last:
            break
    return run.outcome()
