"""Parallel tempering: chains at several temperatures that exchange their states."""

import dataclasses

import numpy as np

from .. import diagnostics
from ..chains.blocks import INFINITE, NUM_EVALS, NUM_NAN, STATUS, Record, advance, outcome
from ..chains.collect import FAR
from ..chains.run import as_counts, sample_chains
from ..compile.callback import (
    ADDRESS,
    FLAGS,
    FLOAT,
    GENERATOR,
    HANDLE,
    INT,
    INTS,
    MATRIX,
    VECTOR,
    density,
    helper,
    kernel,
    together,
)
from ..diagnostics.trouble import ladder_problems
from ..errors import BayeslibError, ImproperError, StartError, warn
from ..results import Estimate
from ..target.target import as_target
from ..validate import shown
from .adaptation import (
    AVERAGE,
    BEST_ACCEPTANCE,
    FACTOR,
    JUMP,
    adapt_factor,
    adapt_one,
    adapt_root,
    walk_windows,
)
from .ladder import as_ladder, as_rung_scales, log_normaliser, respace

_CUBE = FLOAT[:, :, ::1]
_WHOLE = INT[:, ::1]

# Rows of what is known about the states: log density, log density of the reference.
_P, _Q = range(2)
# What became of a replica: it has been at the hottest rung, and then at the coldest.
_HEATED, _COOLED = 1, 2


@helper
def _tempered(beta, log_p, log_q):
    """Log of q^(1 - beta) p^beta; a log_q of 0 everywhere leaves p^beta."""
    if beta == 1.0:
        return log_p
    if beta == 0.0:
        return log_q
    if log_p == -np.inf or log_q == -np.inf:
        return -np.inf
    return beta * log_p + (1.0 - beta) * log_q


@helper
def _exchange(betas, states, known, replica, swaps, k, uniform):
    """Swap the states of rungs k and k + 1, or not."""
    here, there = betas[k], betas[k + 1]
    ratio = (
        _tempered(here, known[_P, k + 1], known[_Q, k + 1])
        + _tempered(there, known[_P, k], known[_Q, k])
        - _tempered(here, known[_P, k], known[_Q, k])
        - _tempered(there, known[_P, k + 1], known[_Q, k + 1])
    )
    probability = np.exp(min(ratio, 0.0))
    swaps[0, k] += probability
    swaps[1, k] += 1.0
    if not uniform < probability:
        return
    for i in range(states.shape[1]):
        states[k, i], states[k + 1, i] = states[k + 1, i], states[k, i]
    for i in range(2):
        known[i, k], known[i, k + 1] = known[i, k + 1], known[i, k]
    replica[k], replica[k + 1] = replica[k + 1], replica[k]


@helper
def _follow(replica, history, round_trips):
    """Note which replicas have been at the ends; count the round trips from the hottest."""
    hot, cold = replica[0], replica[replica.size - 1]
    if history[hot] == _COOLED:
        round_trips[0] += 1
    history[hot] = _HEATED
    if history[cold] == _HEATED:
        history[cold] = _COOLED


@kernel(
    INT, ADDRESS, HANDLE, ADDRESS, HANDLE, GENERATOR, INT, INT, INTS, VECTOR, MATRIX, MATRIX,
    _CUBE, _CUBE, MATRIX, VECTOR, INTS, INTS, INTS, MATRIX, INTS, MATRIX, MATRIX, MATRIX, FLAGS,
    _WHOLE, MATRIX, seconds=4,
)  # fmt: skip
def tempering_kernel(
    address, handle, reference, reference_handle, rng, first, last, ends, betas, states, known,
    roots, moments, adaptation, constants, replica, history, round_trips, swaps, counts, points,
    draws, numbers, accepted, places, ratios,
):  # fmt: skip
    """Do the iterations first, …, last - 1; the first ``ends[-1]`` are adaptation or warm-up.

    Row k of `states` is at ``betas[k]``, its log densities in column k of `known`; ``replica[k]``
    says which replica that is. No reference has address 0. `constants` are those of the random
    walk. The rows of `numbers` receive log density and acceptance probability at the coldest
    rung. Returns where it stopped.
    """
    num_rungs, dim = states.shape
    coldest = num_rungs - 1
    proposal, unused, scale = np.empty(dim), np.empty(dim), np.empty((num_rungs, dim))
    num_warmup = ends[ends.size - 1]
    best, start = constants[0], constants[1]
    for t in range(first, last):
        if t == num_warmup:
            swaps[:] = 0.0
            history[:] = 0
            round_trips[0] = 0
        single = best > 0.0 and t < ends[0]
        probability, accept = 0.0, False
        for k in range(num_rungs):
            if t == first or t <= num_warmup:
                log_factor = adaptation[k, AVERAGE if t >= num_warmup else FACTOR]
                for i in range(dim):
                    scale[k, i] = np.exp(log_factor) * roots[k, 0, i]
            for i in range(dim):
                proposal[i] = states[k, i]
            if single:
                proposal[t % dim] += np.exp(moments[k, 0, t % dim]) * rng.standard_normal()
            else:
                for i in range(dim):
                    proposal[i] += scale[k, i] * rng.standard_normal()
            uniform = rng.random()
            log_p, log_q = density(address, proposal, unused, handle), 0.0
            counts[NUM_EVALS] += 1
            if handle[handle.size - 1] != 0:
                return t
            if reference != 0:
                log_q = density(reference, proposal, unused, reference_handle)
                if reference_handle[reference_handle.size - 1] != 0:
                    return t
            if not (log_p < np.inf and log_q < np.inf):
                if log_p == np.inf or log_q == np.inf:
                    counts[STATUS] = INFINITE
                    points[1] = proposal
                    return t
                if counts[NUM_NAN] == 0:
                    points[0] = proposal
                counts[NUM_NAN] += 1
                log_p = log_q = -np.inf
            ratio = _tempered(betas[k], log_p, log_q) - _tempered(
                betas[k], known[_P, k], known[_Q, k]
            )
            probability = np.exp(min(ratio, 0.0))
            accept = uniform < probability
            if accept:
                known[_P, k] = log_p
                known[_Q, k] = log_q
                for i in range(dim):
                    states[k, i] = proposal[i]
            if best > 0.0 and t < num_warmup:
                if single:
                    adapt_one(t, ends[0], ratio, adaptation[k], roots[k], moments[k], start)
                else:
                    adapt_factor(adaptation[k], ratio, best)
                    adapt_root(t, ends, adaptation[k], states[k], roots[k], moments[k], start)
        for k in range(t % 2, coldest, 2):
            _exchange(betas, states, known, replica, swaps, k, rng.random())
        _follow(replica, history, round_trips)
        if t < num_warmup:
            continue
        n = t - num_warmup
        for i in range(dim):
            draws[n, i] = states[coldest, i]
        numbers[0, n] = known[_P, coldest]
        numbers[1, n] = probability
        accepted[n] = accept
        for k in range(num_rungs):
            places[n, k] = replica[k]
        if reference != 0:
            for k in range(num_rungs):
                ratios[n, k] = known[_P, k] - known[_Q, k]
    return last


def _tempering_chain(
    control, chain, target, rng, start, reference, betas, scale, moves_rungs, num_warmup,
    num_samples,
):  # fmt: skip
    dim, num_rungs, record = target.dim, betas.size, Record(target.dim)
    bound = target.bind(gradient=False)
    other, address = None, (0, np.zeros(1, dtype=np.int64))
    if reference is not None:
        other = reference.bind(gradient=False)
        address = other.address, other.handle
        control.watch(other)
    log_factor = np.log(JUMP / np.sqrt(dim))
    adaptation, constants, ends = np.zeros((num_rungs, 4)), np.zeros(2), np.array([num_warmup])
    roots = np.ones((num_rungs, 1, dim)) if scale is None else scale[:, None, :]
    if scale is None:
        adaptation[:, [FACTOR, AVERAGE]] = log_factor
        constants[:] = BEST_ACCEPTANCE[min(dim, len(BEST_ACCEPTANCE)) - 1], log_factor
    if scale is None or moves_rungs:
        ends = walk_windows(num_warmup, dim)
    known = np.zeros((2, num_rungs))
    known[_P] = bound(start, np.empty(dim))
    if other is not None:
        known[_Q] = other(start, np.empty(dim))
    betas, states, known, roots, moments, adaptation, swaps = together(
        betas, np.tile(start, (num_rungs, 1)), known, roots, np.zeros((num_rungs, 2, dim)),
        adaptation, np.zeros((2, num_rungs - 1)),
    )  # fmt: skip
    replica, history = np.arange(num_rungs), np.zeros(num_rungs, dtype=np.int64)
    round_trips = np.zeros(1, dtype=np.int64)
    values, numbers = np.empty((num_samples, dim)), np.empty((2, num_samples))
    accepted = np.empty(num_samples, dtype=bool)
    places = np.empty((num_samples, num_rungs), dtype=np.int64)
    ratios = np.empty((num_samples if other else 0, num_rungs))
    moments_of_change = ends[:-1] if moves_rungs else ends[:0]

    def step(first, last):
        while first < last:
            later = moments_of_change[moments_of_change > first]
            until = min(last, int(later[0])) if later.size else last
            reached = tempering_kernel(
                bound.address, bound.handle, *address, rng, first, until, ends, betas, states,
                known, roots, moments, adaptation, constants, replica, history, round_trips,
                swaps, record.counts, record.points, values, numbers, accepted, places, ratios,
            )  # fmt: skip
            if reached < until:
                return reached
            if until in moments_of_change:
                respace(betas, 1.0 - swaps[0] / np.maximum(swaps[1], 1.0), roots, adaptation)
                swaps[:] = 0.0
            first = until
        return first

    num_iterations = num_warmup + num_samples
    done = advance(step, bound=bound, control=control, chain=chain, num_iterations=num_iterations)
    rates = swaps[0] / np.maximum(swaps[1], 1.0)
    stats = {
        "acceptance_rate": numbers[1], "accepted": accepted, "replica": places,
    }  # fmt: skip
    if other is not None:
        stats["log_ratio"] = ratios
    settings = {
        "inverse_temperatures": betas.copy(),
        "scale": np.exp(adaptation[:, AVERAGE, None]) * roots[:, 0],
        "swap_acceptance": rates, "barrier": float(np.sum(1.0 - rates)),
        "round_trips": int(round_trips[0]),
    }  # fmt: skip
    return outcome(
        done, bound=bound, record=record, rng=rng, values=values, logdensity=numbers[0],
        stats=stats, settings=settings, raised=_trouble(states, betas, reference, other),
    )  # fmt: skip


def _trouble(states, betas, reference, bound):
    """Return the error that the reference raised, or that a hot state's flight calls for."""
    if bound is not None and bound.num_errors:
        error = reference.explain(bound.failed_at)
        error.add_note(f"bayeslib: raised by the reference at theta={shown(bound.failed_at)}")
        return error
    far = np.flatnonzero(np.abs(states[:-1]).max(axis=1) > FAR)
    if far.size:
        return ImproperError(
            f"at inverse temperature {betas[far[0]]:.3g} a state went beyond {FAR:g}: the density "
            "to that power seems not to be integrable; pass inverse_temperatures= that begin "
            "higher, or a reference="
        )
    return None


def parallel_tempering(
    target,
    initial_position=None,
    *,
    reference=None,
    inverse_temperatures=None,
    scale=None,
    num_samples=1000,
    num_warmup=1000,
    num_chains=4,
    rng,
    executor=None,
    progress=None,
):
    """Sample by random walks at several temperatures that exchange their states.

    Parameters
    ----------
    target : Target
    initial_position : array_like, shape (dim,) or (num_chains, dim), optional
        Where all replicas of a chain begin. None draws a start for each chain, see Notes.
    reference : Target, optional
        A density q that is easy to sample, such as the prior, with the same parameters. The
        ladder then leads from q, at inverse temperature 0, along q^(1 - beta) p^beta. If the
        evidence of q is known (its truth's), that of p is estimated, see Returns.
    inverse_temperatures : int or array_like, shape (r,), optional
        The ladder, rising to 1; fixed when its rungs are given, two at least. A number of rungs
        from 2 to 200 (`smc` counts steps, one less), or None, which takes as many as a Gaussian
        of this dimension needs, is adapted in the warm-up until all pairs of neighbours swap
        equally often, and frozen then. Without a reference it begins at 0.01.
    scale : float or array_like, shape (dim,) or (r, dim), optional
        Standard deviations of the proposal, for all rungs or for each. None adapts them in the
        warm-up, as `metropolis` does, for each rung.
    num_samples : int
        Draws kept in each chain.
    num_warmup : int
        Iterations before them, in each chain; not kept, but counted in `num_evals`.
    num_chains : int
        Independent ladders, each with its own replicas.
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
        Those of the coldest rung. stats: ``acceptance_rate`` and ``accepted`` of its walk;
        ``replica`` (num_chains, num_samples, r), which replica is at each rung; with a reference
        ``log_ratio``, log p - log q at each rung. Settings, one row a chain:
        ``inverse_temperatures``; ``scale``; ``swap_acceptance`` of each pair of neighbours;
        ``barrier``, the sum of their rejections; ``round_trips`` of replicas from the hottest rung
        to the coldest and back. ``log_evidence``, by stepping stones, if the reference's is known
        and the ladder begins at 0; None for fewer than 4 draws a chain. Interrupted, it returns
        what was drawn, ``settings["interrupted"]`` set.

    Raises
    ------
    BayeslibError
        For arguments out of range, each named; StartError when a density at a start is nan,
        infinite or zero; TargetError when it is +inf at a proposal; ImproperError when a hot
        state went beyond 1e10.
    MemoryError
        Before the run, when the draws would not fit.

    Warns
    -----
    BayeslibWarning
        When a chain had no round trip, or a pair swapped less than once in twenty attempts: the
        cold chain then hears nothing of the hot ones. When a warm-up of fewer than 50 iterations
        leaves no time to adapt, all chains start at one point, a density was nan at a proposal, or
        draws reach beyond 1e10.

    Notes
    -----
    An iteration moves each rung, hottest first, by a random-walk Metropolis step; then neighbours
    k and k + 1 (the hottest is 0) exchange their states with probability
    min(1, exp((b[k+1] - b[k]) (l[k] - l[k+1]))), l being log p - log q, for the k that are even in
    even iterations and odd in odd ones. That order is not reversible, and is what lets replicas
    travel in one direction. Every evaluation counts, at all rungs; those of the reference do not.

    Draw order, for each iteration: for each rung `dim` standard normals and one uniform; then one
    uniform for each pair whose turn it is; accepted when it is below the probability. While the
    scales of the coordinates are learned, one at a time, one normal in place of `dim`. When
    `initial_position` is None, `dim` uniforms for each attempted start come first (see `nuts`). A
    proposal where a density is nan is rejected and counted (``settings["num_nan"]``).

    References
    ----------
    Geyer (1991), Markov chain Monte Carlo maximum likelihood. Hukushima and Nemoto (1996),
    Exchange Monte Carlo method and application to spin glass simulations. Syed, Bouchard-Cote,
    Deligiannidis and Doucet (2022), Non-reversible parallel tempering. Xie, Lewis, Fan, Kuo and
    Chen (2011), for stepping stones.

    Examples
    --------
    >>> two = bl.posteriors.mixture([0.3, 0.7], [-8.0, 8.0], [1.0, 1.0])
    >>> draws = bl.parallel_tempering(two, num_samples=2000, rng=1)
    >>> print(draws.expect(), two.truth.mean.round(2))
    [3.50 ± 0.22] [3.2]
    >>> print(draws.settings["round_trips"].min() > 0)
    True
    """
    dim = as_target(target).dim
    counts = as_counts(num_samples, num_warmup, num_chains)
    if reference is not None and as_target(reference).dim != dim:
        raise BayeslibError(
            f"reference must have the target's dim={dim} parameters, got dim={reference.dim}"
        )
    betas, moves_rungs = as_ladder(inverse_temperatures, dim, reference is not None)
    if scale is not None:
        scale = as_rung_scales(scale, betas.size, dim)
    if counts[1] < 50 and (scale is None or moves_rungs):
        warn(
            f"num_warmup={counts[1]} leaves no time to adapt the ladder and its scales; pass "
            "inverse_temperatures and scale, or num_warmup=1000"
        )

    def prepare(starts, generators):
        if reference is None:
            return
        reference.verify(starts[0])
        for start in starts:
            if not reference.finite(start):
                raise StartError(
                    f"the log density of the reference at initial_position={shown(start)} is "
                    f"{reference(start)}: start where both densities are positive"
                )

    draws = sample_chains(
        _tempering_chain, (reference, betas, scale, moves_rungs), kernel=tempering_kernel,
        target=target, initial_position=initial_position, prepare=prepare, counts=counts,
        numbers=3 + betas.size * (1 if reference is None else 2), rng=rng, executor=executor,
        progress=progress, method="parallel_tempering", settings={"adapted": moves_rungs},
    )  # fmt: skip
    problems = ladder_problems(draws)
    if problems:
        warn("; and ".join(problems))
    return _with_evidence(draws, reference)


def _with_evidence(draws, reference):
    known = reference is not None and reference.truth is not None
    if not known or reference.truth.log_evidence is None or draws.num_samples < 4:
        return draws
    betas = draws.settings["inverse_temperatures"]
    if betas[0, 0] != 0.0:
        return draws
    value, influence = log_normaliser(betas, draws.stats["log_ratio"])
    error = float(np.squeeze(diagnostics.mcse(influence)))
    estimate = Estimate(reference.truth.log_evidence + value, error, draws.num_evals)
    return dataclasses.replace(draws, log_evidence=estimate)
