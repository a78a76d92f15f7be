"""Gibbs sampling from full conditionals of the user's own."""

import dataclasses

import numpy as np
from numba import types

from ..chains.blocks import NUM_EVALS, STATUS, UNDEFINED, Record, advance, outcome
from ..chains.run import as_counts, sample_chains
from ..compile.callback import (
    ADDRESS,
    GENERATOR,
    HANDLE,
    INT,
    INTS,
    MATRIX,
    VECTOR,
    borrowed,
    density,
    kernel,
    together,
)
from ..errors import BayeslibError, BayeslibTypeError, warn
from ..target.target import Target, as_target
from ..validate import as_floats, shown
from .conditionals import Conditionals, as_blocks
from .slice_ranks import check_conditionals

SCANS = ("systematic", "random", "symmetric")
_SYSTEMATIC, _RANDOM, _SYMMETRIC = range(3)
_NOWHERE = -1  # of the conditional that failed, when it was the target
_HANDLES = types.int64[:, ::1]


@kernel(
    INT, ADDRESS, HANDLE, INTS, _HANDLES, INTS, INTS, GENERATOR, INT, INT, INT, INT, VECTOR,
    VECTOR, INTS, INTS, MATRIX, MATRIX, VECTOR,
)  # fmt: skip
def gibbs_kernel(
    address, handle, conditionals, handles, ends, places, rng, first, last, num_warmup, scan,
    position, room, failed, counts, points, draws, logdensity,
):  # fmt: skip
    """Do the iterations first, …, last - 1, of which the first `num_warmup` are not kept.

    Conditional k draws the coordinates ``places[ends[k]:ends[k + 1]]``; `address` is 0 when no
    target is known. Returns where it stopped, `failed` says at which conditional.
    """
    dim, num = position.size, conditionals.size
    updates = 2 * num - 1 if scan == _SYMMETRIC else num
    for t in range(first, last):
        if handle[handle.size - 1] != 0:
            return t
        for update in range(updates):
            k = update if update < num else 2 * num - 2 - update
            if scan == _RANDOM:
                k = int(rng.random() * num)
            density(conditionals[k], position, room, borrowed(handles)[k])
            counts[NUM_EVALS] += 1
            if handles[k, handles.shape[1] - 1] != 0:
                failed[0] = k
                return t
            for j in range(ends[k], ends[k + 1]):
                if not abs(room[j - ends[k]]) < np.inf:
                    failed[0] = k
                    counts[STATUS] = UNDEFINED
                    return t
            for j in range(ends[k], ends[k + 1]):
                position[places[j]] = room[j - ends[k]]
        if t < num_warmup:
            continue
        n = t - num_warmup
        for i in range(dim):
            draws[n, i] = position[i]
        if address != 0:
            logdensity[n] = density(address, position, room, handle)
            counts[NUM_EVALS] += 1
            if handle[handle.size - 1] != 0:
                return t
            if not abs(logdensity[n]) < np.inf:
                counts[STATUS] = UNDEFINED
                for i in range(dim):
                    points[1, i] = position[i]
                return t
    return last


def _gibbs_chain(
    control, chain, target, rng, start, conditionals, known, scan, num_warmup, num_samples
):
    dim = target.dim
    bound, record = target.bind(gradient=False), Record(dim)
    callbacks = conditionals.bind(rng, dim)
    handles = np.stack([callback.handle for callback in callbacks])
    for callback, handle in zip(callbacks, handles, strict=True):
        callback.handle = handle
    addresses = np.array([callback.address for callback in callbacks])
    ends = np.cumsum([0, *(block.size for block in conditionals.blocks)])
    places = np.concatenate(conditionals.blocks)
    position, room = together(start, np.zeros(dim))
    failed = np.array([_NOWHERE])
    values, logdensity = np.empty((num_samples, dim)), np.full(num_samples, np.nan)

    def step(first, last):
        return gibbs_kernel(
            bound.address if known else 0, bound.handle, addresses, handles, ends, places, rng,
            first, last, num_warmup, scan, position, room, failed, record.counts, record.points,
            values, logdensity,
        )  # fmt: skip

    num_iterations = num_warmup + num_samples
    done = advance(step, bound=bound, control=control, chain=chain, num_iterations=num_iterations)
    k, raised = int(failed[0]), None
    if record.counts[STATUS] == UNDEFINED:
        if k == _NOWHERE:
            raised = _outside(record.points[1], logdensity[done - num_warmup])
        else:
            raised = _not_finite(conditionals, k, room, position)
    elif k != _NOWHERE:
        raised = conditionals.explain(k, callbacks[k], position, rng)
    return outcome(
        done, bound=bound, record=record, rng=rng, values=values, logdensity=logdensity,
        stats={}, settings={}, raised=raised,
    )  # fmt: skip


def _not_finite(conditionals, k, room, position):
    block = conditionals.blocks[k]
    return BayeslibError(
        f"{conditionals.title(k)} drew {shown(room[: block.size])} for the coordinates "
        f"{block.tolist()} at theta={shown(position)}: a draw must be finite; look for a scale or "
        "a shape that is zero, negative or nan there"
    )


def _outside(theta, value):
    return BayeslibError(
        f"the conditionals drew theta={shown(theta)}, where the log density of the target is "
        f"{value}: they do not belong to this target, or draw outside its support"
    )


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
        conditional(theta, rng, *data) -> a number for one coordinate, or (k,) for a block of k:
        drawn given all the others, by the methods of the Generator `rng` and nothing else. theta
        is (dim,) float64, the present state, read-only: what is returned is written by the sampler.
    initial_position : array_like, shape (dim,) or (num_chains, dim), or None
        None, which needs a `target`, draws a start for each chain, see Notes.
    data : tuple of arrays and numbers
        Passed on to every conditional, never compiled in.
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
        0, …, K - 1, …, 0. The last two are reversible. `slice_sample` has the first two as its
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
        Where the chains run; threads by default. A process pool, or ``client.get_executor()`` of
        a Dask cluster, makes the same draws. If a chain is lost with its worker for good, the
        executor's error is raised, and its `partial` keeps the other chains.
    progress : bool, optional
        None shows a bar on runs of more than about two seconds.

    Returns
    -------
    Draws
        `num_evals` counts draws from conditionals, and evaluations of the target. Settings:
        ``scan``, ``compiled``, and ``checked``, whether there was a target to test against.
        Interrupted, it returns what was drawn, ``settings["interrupted"]`` set.

    Raises
    ------
    BayeslibError
        For arguments out of range, each named; when a conditional draws from something else than
        `rng`, draws nan or infinity or where the target's density is not positive and finite, or
        fails the test against the target; when a coordinate is drawn by none. StartError when the
        target's density at a start is nan, infinite or zero. `partial` keeps the draws made until
        then.
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
    Draw order, for each iteration: what each conditional draws, in the order of the scan; when
    that is random, before each one uniform u, which chooses conditional int(u * K). Normals,
    uniforms and exponentials are the same compiled and in plain Python; of other variates the last
    bit may differ. When `initial_position` is None, `dim` uniforms for each attempted start come
    first (see `nuts`).

    A conditional is tested coordinate by coordinate (16 at most, spread evenly), at the first and
    the last start and in the states three sweeps from them: 200 of its draws are ranked among 7
    others that slice sampling makes from each, in the target alone, at a random place of the
    sequence. If the conditional is that of the target, ranks are uniform, whatever the target
    (Besag and Clifford, 1989); a value known only to be one of several is compared with their
    probabilities. Ranks, and their distances from the middle, fail by the inequality of Dvoretzky,
    Kiefer and Wolfowitz, at each of these states and in all together, with a false-alarm rate of
    1e-9 a run. A scale wrong by a factor of 2 is found; that a conditional is right in other
    states, or that the chain can reach every state, is not shown: dispersed starts show more. The
    chains' generators are left as they are.

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
    >>> draws = bl.gibbs([draw_x, draw_y], starts, data=(0.9,), names=["x", "y"], rng=1)
    >>> print(draws.expect(lambda theta: theta[:, 0] * theta[:, 1]))  # the correlation
    0.898 ± 0.050
    """
    counts = as_counts(num_samples, num_warmup, num_chains)
    if not (isinstance(scan, str) and scan in SCANS):
        raise BayeslibError(f"scan must be one of {', '.join(map(repr, SCANS))}, got {scan!r}")
    functions, known = Conditionals(conditionals, data), target is not None
    joint = as_target(target) if known else _flat_target(initial_position, names)
    if known and names is not None and tuple(names) != joint.names:
        raise BayeslibError(f"names={tuple(names)} are not those of the target, {joint.names}")
    if blocks is not None:
        blocks = as_blocks(blocks, joint.names, len(functions.functions))
    settings = {"scan": scan, "checked": known}

    def prepare(starts, generators):
        functions.arrange(blocks, starts[0], generators[0])
        if functions.reason:
            warn(f"the conditionals run as plain Python, which is slow: {functions.reason}")
        settings["compiled"] = functions.compiled
        if known:
            check_conditionals(functions, joint, starts, generators[0])

    draws = sample_chains(
        _gibbs_chain, (functions, known, SCANS.index(scan)), kernel=gibbs_kernel, target=joint,
        initial_position=initial_position, prepare=prepare, counts=counts, numbers=1, rng=rng,
        executor=executor, progress=progress, method="gibbs", settings=settings, tails=known,
    )  # fmt: skip
    if known:
        return draws
    # The starts were evaluated in the flat density that stands for the target.
    return dataclasses.replace(draws, logdensity=None, num_evals=draws.num_evals - counts[2])


def _flat(theta):
    return 0.0


def _flat_target(initial_position, names):
    """Return a target that knows no more than how many coordinates there are."""
    if initial_position is None:
        raise BayeslibError(
            "initial_position=None draws starts where a target is finite; pass starts, shape "
            "(num_chains, dim), or target="
        )
    shape = as_floats(initial_position, "initial_position").shape
    dim = len(names) if names is not None else (shape[-1] if shape else 1)
    if dim == 0:
        raise BayeslibTypeError("initial_position is empty; it must have one entry a coordinate")
    return Target(_flat, dim=dim, gradient=None, names=names)
