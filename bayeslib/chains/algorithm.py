"""From a target, a start and an algorithm to an outcome: the Python half of every chain."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .blocks import Outcome, advance
from .loop import Chain, Density
from .run import sample_chains


@dataclass(frozen=True)
class Algorithm:
    """A sampler of chains: what is compiled, how a chain begins, and what it settled on.

    Parameters
    ----------
    name : str
        Of the public function, and in capitals of this object in its module.
    chain : Chain
    initial : callable
        initial(run, start, **options) -> the state of a chain; `run` has what is known by then.
    settings : callable
        settings(run) -> dict of what the draws' `settings` shall have, a value a chain.
    windows : callable
        windows(num_warmup, state) -> where the windows of the warm-up end, int64.
    gradient : bool
        Whether the density is asked for gradients.
    scout : Chain, optional
        Takes the first window of the warm-up, on the same state, where ``scouts(state)`` says so.
    stats : callable
        stats(run) -> dict of (num_samples, ...) arrays that do not fit in a note.
    raised : callable
        raised(run) -> the error that a function of the user's met, or None.
    keeps_draws : bool
        Or only their log densities and notes.
    at_window : callable, optional
        at_window(run) is called where a window of the warm-up ends, the last excepted.
    """

    name: str
    chain: Chain
    initial: Callable
    settings: Callable = lambda run: {}
    windows: Callable = lambda num_warmup, state: np.array([num_warmup])
    gradient: bool = False
    scout: Chain | None = None
    scouts: Callable = lambda state: False
    stats: Callable = lambda run: {}
    raised: Callable = lambda run: None
    keeps_draws: bool = True
    at_window: Callable | None = None

    def __reduce__(self):
        return _found, (self.initial.__module__, self.name.upper())

    def compile(self):
        """Compile, or load from disk, before the chains need it at once."""
        if self.scout is not None:
            self.scout.compile()
        self.chain.compile()

    def sample(self, target, initial_position, options, *, numbers=0, **how):
        """Return `Draws` from `sample_chains`: the public function's last line.

        Parameters
        ----------
        options : dict
            Those of `initial`; picklable.
        numbers : int
            Kept for each draw beside its values, its log density and its note.
        **how
            See `sample_chains`.
        """
        return sample_chains(
            run_chain, (self, options), kernel=self, target=target, method=self.name,
            initial_position=initial_position, gradient=self.gradient,
            numbers=1 + len(self.chain.note.names) + numbers, **how,
        )  # fmt: skip


def _found(module, name):
    return getattr(importlib.import_module(module), name)


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

    def __init__(self, algorithm, target, rng, start, options, num_warmup, num_samples):
        self.algorithm, self.target, self.rng, self.done = algorithm, target, rng, 0
        self.num_warmup, self.num_samples, self.kept = num_warmup, num_samples, None
        self.options = options
        self.bound = target.bind(gradient=algorithm.gradient)
        self.density = Density.of(self.bound)
        self.account = self.density.account
        self.draws = np.empty((num_samples, target.dim if algorithm.keeps_draws else 0))
        self.log_p = np.empty(num_samples)
        self.notes = np.zeros(num_samples + 1, dtype=algorithm.chain.note)
        self.state = algorithm.initial(self, start, **options)
        self.windows = algorithm.windows(num_warmup, self.state)
        self.ask()

    def ask(self):
        """Ask for the density, and its gradient, where the chain is."""
        gradient = getattr(self.state, "gradient", self.density.unused)
        self.account.log_p = self.bound(self.state.position, gradient)

    def advance(self, first, last):
        """Do the iterations first, …, last - 1; return where it stopped."""
        algorithm, scouts = self.algorithm, self.algorithm.scouts(self.state)
        ends = self.windows[: -1 if algorithm.at_window else int(scouts)]
        for end in [*ends[(first < ends) & (ends < last)], last]:
            chain = algorithm.scout if scouts and first < self.windows[0] else algorithm.chain
            first = chain(
                self.density, self.rng, np.array([first, end]), self.windows, self.state,
                self.draws, self.log_p, self.notes,
            )  # fmt: skip
            if first < end:
                break
            if algorithm.at_window and end in ends:
                algorithm.at_window(self)
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


def run_chain(control, index, target, rng, start, algorithm, options, num_warmup, num_samples):
    """Run one chain; what goes to threads or an executor."""
    run = Run(algorithm, target, rng, start, options, num_warmup, num_samples)
    run.done = advance(
        run.advance, bound=run.bound, control=control, chain=index,
        num_iterations=num_warmup + num_samples,
    )  # fmt: skip
    return run.outcome()
