"""What an algorithm is, and the one compiled loop that runs all of them.

An algorithm is a state, a note and up to three functions that compiled code can call:

    class Walk(NamedTuple):           # what a chain remembers; annotations are numba's types
        position: VECTOR
        ...
    Note = record(accepted="?", ...)  # what is kept beside each draw, by ArviZ's names

    def step(target, rng, log_p, state, note): ...           # one iteration -> the new log density
    def begin(t, windows, target, rng, log_p, state): ...         # before a step of the warm-up
    def learn(t, windows, target, rng, log_p, state, note): ...   # after it

    CHAIN = Chain(step, Walk, Note, begin=begin, learn=learn)

The functions are plain Python too: nothing in them but numbers and arrays with names.
"""

from typing import NamedTuple

import numpy as np
from numba import from_dtype, types

from ..compile.callback import STOP, Kernel, borrowed, density, helper, together
from ..compile.kinds import ADDRESS, GENERATOR, HANDLE, INT, INTS, MATRIX, VECTOR

# Why a chain ended early: the density was +inf, the posterior is improper, a function of the
# user's gave what it must not, or raised.
FINE, INFINITE, IMPROPER, UNDEFINED, RAISED = range(5)


def record(**fields):
    """Return the dtype of a record: numbers with names, which compiled code may change."""
    taken = [name for name in fields if hasattr(np.record, name)]
    assert not taken, f"plain Python would read NumPy's own attribute: {taken}"
    return np.dtype((np.record, np.dtype(list(fields.items()), align=True)))


# last_nan: which evaluation it was. t: the iteration; whether it is of the warm-up, and the window.
Account = record(
    log_p="f8", num_evals="i8", num_nan="i8", last_nan="i8", num_outside="i8", status="i8",
    t="i8", warming="?", window="i8",
)  # fmt: skip


class Density(NamedTuple):
    """A density bound for one chain, and the account of what it said."""

    address: ADDRESS
    handle: HANDLE
    unused: VECTOR  # where a gradient would go
    points: MATRIX  # the first that gave nan, and the one at which the run ended
    account: Account

    @classmethod
    def of(cls, bound):
        """Open an account for a `Bound`."""
        dim, account = bound.failed_at.size, np.zeros(1, dtype=Account)[0]
        points = np.full((2, dim), np.nan)
        return cls(bound.address, bound.handle, np.empty(dim), points, account)


class Unasked:
    """In place of a target and its `Bound`, where a step knows by itself how likely a state is."""

    address = num_errors = 0

    def __init__(self, dim):
        self.dim, self.failed_at = dim, np.empty(dim)
        self.handle = np.zeros(1, dtype=np.int64)

    def bind(self, gradient):
        """Return another, for a chain of its own."""
        return Unasked(self.dim)

    def __call__(self, theta, gradient):
        return 0.0

    def stop(self):
        """Ask the loop that runs on this handle to return; it does after one step."""
        self.handle[0] += STOP


@helper
def log_density(target, theta):
    """Return log p(theta): -inf where it is nan, or where the run is over, as `ended` tells."""
    return judged(target, theta, density(target.address, theta, target.unused, target.handle))


@helper
def log_density_and_gradient(target, theta, gradient):
    """The same, and write the gradient."""
    return judged(target, theta, density(target.address, theta, gradient, target.handle))


@helper
def judged(target, theta, value):
    account = target.account
    account.num_evals += 1
    if target.handle[target.handle.size - 1] != 0:
        return -np.inf  # it raised, or the run is to stop: no trajectory need go on
    if value < np.inf:  # false for nan
        return value
    if value == np.inf:
        account.status = INFINITE
        copy(theta, target.points[1])
    else:
        if account.num_nan == 0:
            copy(theta, target.points[0])
        account.num_nan += 1
        account.last_nan = account.num_evals
    return -np.inf


@helper
def outside(target, log_p):
    """Whether the last evaluation, which gave log_p, was outside the support: -inf, and not nan."""
    account = target.account
    return log_p == -np.inf and account.last_nan != account.num_evals and not ended(target)


@helper
def acceptance(log_ratio):
    """Return the probability min(1, exp(log_ratio)), with which a proposal is accepted."""
    return np.exp(min(log_ratio, 0.0))


@helper
def accepts(rng, log_ratio, note):
    """Whether a proposal is accepted, which has the probability min(1, exp(log_ratio))."""
    note.acceptance_rate = acceptance(log_ratio)
    note.accepted = rng.random() < note.acceptance_rate
    return note.accepted


@helper
def ask(target, address, first, second, handle):
    """Call a function of the user's, of two vectors; the run is over where it raises."""
    value = density(address, first, second, handle)
    if handle[handle.size - 1] != 0:
        target.account.status = RAISED
    return value


@helper
def ended(target):
    """Whether the density raised or was +inf, the algorithm gave up, or someone pressed stop."""
    return target.handle[target.handle.size - 1] != 0 or target.account.status != FINE


@helper
def copy(vector, into):
    for i in range(vector.size):
        into[i] = vector[i]


def loop(step, begin, learn):
    """Return the loop that calls an algorithm's functions, as `Chain` compiles it."""

    def chain(target, rng, span, windows, state, draws, log_ps, notes):
        """Do the iterations ``span[0]``, …, ``span[1] - 1``; the first ``windows[-1]`` are warm-up.

        Returns where it stopped. The last of `notes` is the warm-up's, and is not kept.
        """
        target, rng = borrowed(target), borrowed(rng)
        state, notes = borrowed(state), borrowed(notes)
        num_warmup, log_p = windows[windows.size - 1], target.account.log_p
        for t in range(span[0], span[1]):
            warming = t < num_warmup
            target.account.t, target.account.warming = t, warming
            note = notes[notes.size - 1 if warming else t - num_warmup]
            if warming:
                begin(t, windows, target, rng, log_p, state)
                if ended(target):
                    return t
            log_p = step(target, rng, log_p, state, note)
            if ended(target):
                return t
            target.account.log_p = log_p
            if warming:
                learn(t, windows, target, rng, log_p, state, note)
                target.account.window += t + 1 == windows[target.account.window]
                continue
            for i in range(draws.shape[1]):
                draws[t - num_warmup, i] = state.position[i]
            log_ps[t - num_warmup] = log_p
        return span[1]

    return chain


def nothing(*unused):
    """Neither prepare nor learn."""


class Chain(Kernel):
    """The `loop` of an algorithm's functions, compiled once for all targets and kept on disk.

    Parameters
    ----------
    step : callable
        step(target, rng, log_p, state, note) -> log density of where the chain now is.
    state : NamedTuple class
        Has `position`; annotated by numba's types, and by `record` for numbers that change.
    note : numpy.dtype
        From `record`.
    begin, learn : callable, optional
        begin(t, windows, target, rng, log_p, state) and learn(..., state, note) are called around
        each step of the warm-up.
    target : NamedTuple class
        `Density`, or one that has its fields and more, which `initial` then puts in its place.
    seconds : int
        See `Kernel`.
    """

    def __init__(
        self, step, state, note, *, begin=nothing, learn=nothing, target=Density, seconds=2
    ):
        self.step, self.begin, self.learn = step, begin, learn
        self.state, self.note, self.target = state, note, target
        chain = loop(helper(step), helper(begin), helper(learn))
        chain.__name__ = chain.__qualname__ = step.__name__.removesuffix("_step")
        takes = (numba_type(target), GENERATOR, INTS, INTS, numba_type(state), MATRIX, VECTOR)
        super().__init__(chain, INT(*takes, from_dtype(note)[::1]), seconds)


def numba_type(cls):
    """Return numba's type of a NamedTuple that is annotated by numba's types and by records."""
    kinds = cls.__annotations__.values()
    kinds = tuple(from_dtype(kind) if isinstance(kind, np.dtype) else kind for kind in kinds)
    return types.BaseTuple.from_types(kinds, cls)


def laid_out(cls, dim=None, **given):
    """Return a `cls` whose float arrays are copies that lie in memory as in every other run.

    Arrays may be given by their shapes, and are then zero, as are vectors that are not given,
    (dim,); records by a dict of what is not zero.
    """
    made = dict(given)  # a name that `cls` has not is refused with the others
    for name, kind in cls.__annotations__.items():
        value = given.get(name, (dim,) if kind is VECTOR else {})
        if isinstance(kind, np.dtype):
            made[name] = np.zeros(1, dtype=kind)[0]
            for key, number in value.items():
                made[name][key] = number
        else:
            made[name] = np.zeros(value) if isinstance(value, tuple) else value
    floats = [name for name, kind in cls.__annotations__.items() if kind in (VECTOR, MATRIX)]
    return cls(**made | dict(zip(floats, together(*(made[name] for name in floats)), strict=True)))
