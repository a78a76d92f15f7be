"""Gibbs sampling from full conditionals of the user's own."""

import copy
import dataclasses
import reprlib
from typing import NamedTuple

import numpy as np
from numba import types

from ..chains.algorithm import Algorithm, as_plan
from ..chains.functions import Draws, compile_all
from ..chains.loop import FINE, UNDEFINED, Chain, ask, ended, laid_out, log_density, record
from ..compile.arguments import as_data
from ..compile.kinds import INT, INTS, VECTOR
from ..errors import BayeslibError, BayeslibTypeError
from ..target.target import Target, as_target
from ..validate import as_choice, as_count, as_floats, shown
from .slice_ranks import check_conditionals, outside

SCANS = ("systematic", "random", "symmetric")
_SYSTEMATIC, _RANDOM, _SYMMETRIC = range(3)

Now = record(conditional="i8")  # the one that draws, or -1


class Sweep(NamedTuple):
    """Where a chain is, and the user's conditionals."""

    position: VECTOR
    drawn: VECTOR
    conditionals: INTS  # addresses
    handles: types.int64[:, ::1]
    ends: INTS
    places: INTS  # conditional k draws the coordinates places[ends[k]:ends[k + 1]]
    scan: INT
    known: types.boolean  # the target
    now: Now


Note = record(_nothing="?")


def gibbs_step(target, rng, log_p, s, note):
    """Draw each block of coordinates from its conditional, in the order of the scan."""
    num = s.conditionals.size
    for update in range(2 * num - 1 if s.scan == _SYMMETRIC else num):
        k = update if update < num else 2 * num - 2 - update
        if s.scan == _RANDOM:
            k = int(rng.random() * num)
        s.now.conditional = k
        target.account.num_evals += 1
        ask(target, s.conditionals[k], s.position, s.drawn, s.handles[k])
        first, last = s.ends[k], s.ends[k + 1]
        for j in range(first, last):
            if not abs(s.drawn[j - first]) < np.inf and not ended(target):
                target.account.status = UNDEFINED
        if ended(target):
            return log_p
        for j in range(first, last):
            s.position[s.places[j]] = s.drawn[j - first]
    s.now.conditional = -1
    if target.account.warming or not s.known:
        return log_p
    log_p = log_density(target, s.position)
    if log_p == -np.inf and target.handle[target.handle.size - 1] == 0:
        target.account.status = UNDEFINED
    return log_p


def initial(run, start, conditionals, known, scan):
    run.kept = callbacks = [one.bind(run.rng, start.size) for one in conditionals]
    handles = np.stack([callback.handle for callback in callbacks])
    for callback, handle in zip(callbacks, handles, strict=True):
        callback.handle = handle
    return laid_out(
        Sweep, start.size, position=start, handles=handles,
        conditionals=np.array([callback.address for callback in callbacks]),
        ends=np.cumsum([0, *(one.size for one in conditionals)]),
        places=np.concatenate([one.block for one in conditionals]),
        scan=SCANS.index(scan), known=known,
    )  # fmt: skip


def raised(run):
    s, status = run.state, run.account.status
    k, theta = s.now.conditional, s.position
    if k < 0 and status != FINE:
        value = run.bound(theta, s.drawn)
        return BayeslibError(outside("the conditionals", f"theta={shown(theta)}", value))
    one = run.options["conditionals"][k]
    if status == UNDEFINED:
        found = f"{one.label} drew {shown(s.drawn[: one.size])} at theta={shown(theta)}"
        return BayeslibError(f"{found}, not finite: is a scale or shape not positive there?")
    return one.error(run.kept[k], theta, theta, copy.deepcopy(run.rng))


GIBBS = Algorithm("gibbs", Chain(gibbs_step, Sweep, Note), initial, raised=raised)


def gibbs(
    conditionals,
    initial_position,
    *,
    data=(),
    blocks=None,
    target=None,
    names=None,
    scan="systematic",
    num_samples=1000,
    num_warmup=1000,
    num_chains=4,
    rng,
    executor=None,
    progress=None,
):
    """Sample by drawing each coordinate, or block of them, from its full conditional.

    Parameters
    ----------
    conditionals : sequence of callable
        ``conditional(theta, rng, *data)`` returns a number for one coordinate, or (k,) for a block
        of k: drawn given all the others, by the methods of the Generator `rng` and nothing else.
        theta is (dim,) float64, the present state, read-only: what is returned is written by the
        sampler.
    initial_position : array_like, shape (dim,) or (num_chains, dim), or None
        None, which needs a `target`, draws a start for each chain, as `nuts` does (see its Notes).
    data : tuple of arrays and numbers
        Passed on to every conditional.
    blocks : sequence, optional
        Which coordinates each conditional draws: a number, a name, or a tuple of them. They may
        overlap, and must cover all. None deals the coordinates out in order: a conditional that
        returns a number takes the next one, one that returns (k,) the next k.
    target : Target, optional
        The joint density. Its logarithm is recorded at each draw, and the conditionals are tested
        against it before the run, see Notes. An update that only leaves its conditional invariant,
        such as a Metropolis or a slice step, is no draw from it and may be refused: leave `target`
        out then.
    names : sequence of str, optional
        One a coordinate, when there is no target to name them.
    scan : {"systematic", "random", "symmetric"}
        An iteration of K conditionals updates 0, …, K - 1; or K that are chosen at random; or
        0, …, K - 1, …, 0. The last two make the chain reversible. `slice_sample` calls this its
        ``order``.
    num_samples : int
        Draws kept in each chain, one an iteration.
    num_warmup : int
        Iterations before them, in each chain; not kept, but counted in `num_evals`.
    num_chains : int
    rng : int, Generator, SeedSequence or None
        One chain draws from it; several draw from ``rng.spawn(num_chains)``. None takes fresh
        entropy and records it in ``settings["seed"]``.
    executor : concurrent.futures.Executor, optional
        Where the chains run; threads by default. See `metropolis`.
    progress : bool, optional
        None shows a bar on runs of more than about two seconds.

    Returns
    -------
    Draws
        `num_evals` counts draws from conditionals, and evaluations of the target. Interrupted, it
        returns what was drawn, ``settings["interrupted"]`` set. Settings:

        - ``scan``, as asked for;
        - ``compiled``: whether the conditionals ran as machine code;
        - ``checked``: whether there was a target to test against.

    Raises
    ------
    BayeslibError
        For arguments out of range, each named; when a conditional draws from something else than
        `rng`, draws nan or infinity or where the target's density is not positive and finite, or
        fails the test against the target; when no conditional draws a coordinate. StartError when
        the target's density at a start is nan, infinite or zero. `partial` keeps the draws made
        until then.
    Exception
        Whatever a conditional raises.
    MemoryError
        Before the run, when the draws would not fit.

    Warns
    -----
    BayeslibWarning
        When a conditional is not in numba's subset of Python, so that all run as plain Python, a
        hundred times more slowly; when all chains start at one point, or draws reach beyond 1e10.

    Notes
    -----
    Test: a conditional is compared with the target coordinate by coordinate (16 at most, spread
    evenly), at the first and the last start and in the states three sweeps from them. Each of 200
    draws is put at a random place of a sequence whose 7 other members slice sampling of the target
    makes from it, to both sides, and is ranked among them. If the conditional is that of the
    target, ranks are uniform, whatever the target (Besag and Clifford, 1989). A conditional that
    draws one of several values is compared with their probabilities.

    Verdict: the ranks, and their distances from the middle, are tested by the inequality of
    Dvoretzky, Kiefer and Wolfowitz, in each of these states and in all together, with a false-alarm
    rate of 1e-9 a run. A scale wrong by a factor of 2 is found. The test does not show that a
    conditional is right in other states, or that the chain can reach every state; dispersed starts
    show more.

    Draw order, for each iteration: what each conditional draws, in the order of the scan; when
    that is random, before each one uniform u, which chooses conditional ``int(u * K)``. Normals,
    uniforms and exponentials are the same compiled and in plain Python; of other variates the last
    bit may differ. When `initial_position` is None, `dim` uniforms for each attempted start come
    first (see `nuts`). The test leaves the chains' generators as they are.

    References
    ----------
    Geman and Geman (1984), Stochastic relaxation, Gibbs distributions, and the Bayesian
    restoration of images. Gelfand and Smith (1990), Sampling-based approaches to calculating
    marginal densities. Besag and Clifford (1989), Generalized Monte Carlo significance tests.

    Examples
    --------
    >>> def draw_x(theta, rng, rho):
    ...     return rho * theta[1] + np.sqrt(1.0 - rho**2) * rng.standard_normal()
    >>> def draw_y(theta, rng, rho):
    ...     return rho * theta[0] + np.sqrt(1.0 - rho**2) * rng.standard_normal()
    >>> starts = [[-2.0, -2.0], [2.0, 2.0], [-1.0, 1.0], [1.0, -1.0]]
    >>> how = dict(data=(0.9,), names=["x", "y"])
    >>> draws = bl.gibbs([draw_x, draw_y], starts, **how, rng=1)
    >>> print(draws.expect(lambda p: p.x * p.y))  # the correlation, 0.9
    0.898 ± 0.050
    """
    plan = as_plan(num_samples, num_warmup, num_chains, rng, executor, progress)
    as_choice(scan, "scan", SCANS)
    functions, known = as_conditionals(conditionals, data), target is not None
    joint = as_target(target) if known else _flat_target(initial_position, names)
    if known and names is not None and tuple(names) != joint.names:
        raise BayeslibError(f"names={tuple(names)} are not those of the target, {joint.names}")
    if blocks is not None:
        blocks = as_blocks(blocks, joint.names, len(functions))
    options = {"conditionals": functions, "known": known, "scan": scan}
    settings = {"scan": scan, "checked": known}

    def prepare(starts, generators):
        settings["compiled"] = arrange(functions, blocks, starts[0], generators[0])
        if known:
            check_conditionals(functions, joint, starts, generators[0])

    draws = GIBBS.sample(
        joint, initial_position, options, plan, settings, prepare=prepare, tails=known
    )
    if known:
        return draws
    # The starts were evaluated in the flat density that stands for the target.
    return dataclasses.replace(draws, logdensity=None, num_evals=draws.num_evals - plan.num_chains)


def as_conditionals(functions, data):
    """Return the conditionals as `Draws`, checked."""
    if callable(functions) or isinstance(functions, dict) or not np.iterable(functions):
        found = f"got {reprlib.repr(functions)}; pass a list, and what each draws as blocks="
        raise BayeslibTypeError(f"conditionals must be a sequence of functions, {found}")
    data = as_data(data)
    return [Draws(one, f"conditionals[{k}]", "theta", data) for k, one in enumerate(functions)]


def arrange(conditionals, blocks, theta, rng):
    """Try every conditional at `theta`, note in its `block` what it draws; compile them if all can.

    Parameters
    ----------
    conditionals : list of Draws
    blocks : list of numpy.ndarray of int64, or None
        None deals the coordinates out in order.
    theta : numpy.ndarray, shape (dim,)
    rng : Generator
        Left as it is.

    Returns
    -------
    bool
        Whether all run as machine code.

    Raises
    ------
    BayeslibError
        If a conditional draws from something else than the generator it is given, returns another
        number of values than it has coordinates, or if a coordinate is left out.
    """
    sizes = [one.twice(theta, rng).size for one in conditionals]
    if blocks is None:
        if sum(sizes) != theta.size:
            found = f"{sum(sizes)} values in all, but there are {theta.size} coordinates"
            raise BayeslibError(f"the conditionals return {found}; or pass blocks=")
        blocks = np.split(np.arange(theta.size), np.cumsum(sizes)[:-1])
    for one, block, size in zip(conditionals, blocks, sizes, strict=True):
        if block.size != size:
            raise BayeslibError(f"{one.label} must return {block.size} values, got {size}")
        one.block, one.size = block, size
    return compile_all(conditionals, theta, rng)


def as_blocks(blocks, names, num_conditionals):
    """Return the coordinates of each conditional, from numbers or names, each at least once."""
    if not np.iterable(blocks) or isinstance(blocks, str) or len(blocks) != num_conditionals:
        raise BayeslibError(f"blocks must have {num_conditionals} entries, one each, got {blocks}")
    found = []
    for k, block in enumerate(blocks):
        several = np.iterable(block) and not isinstance(block, str)
        found.append(np.array([_place(i, k, names) for i in (block if several else [block])]))
        if found[-1].size == 0 or np.unique(found[-1]).size != found[-1].size:
            raise BayeslibError(f"blocks[{k}]={block!r} is empty or names a coordinate twice")
    missing = set(range(len(names))).difference(*found)
    if missing:
        some = ", ".join(names[i] for i in sorted(missing)[:5])
        raise BayeslibError(f"no conditional draws {some}: every coordinate must be in a block")
    return found


def _place(entry, k, names):
    if isinstance(entry, str):
        return names.index(as_choice(entry, f"blocks[{k}]", names))
    return as_count(entry, f"a number in blocks[{k}]", minimum=0, maximum=len(names) - 1)


def _flat_target(initial_position, names):
    """Return a target that knows no more than how many coordinates there are."""
    if initial_position is None:
        raise BayeslibError("initial_position=None needs a target; pass one, or pass starts")
    shape = as_floats(initial_position, "initial_position").shape
    dim = len(names) if names is not None else (shape[-1] if shape else 1)
    return Target(lambda theta: 0.0, dim=dim, gradient=None, names=names)
