"""Parallel tempering: chains at several temperatures that exchange their states."""

import dataclasses
from typing import NamedTuple

import numpy as np
from numba import from_dtype, types

from ..chains.algorithm import Algorithm, as_plan
from ..chains.loop import Chain, Unasked, accepts, ask, copy, ended, judged, laid_out
from ..chains.run import FAR
from ..chains.starts import check_start
from ..compile.callback import density, helper
from ..compile.kinds import ADDRESS, HANDLE, INT, INTS, MATRIX, VECTOR
from ..diagnostics import mcse
from ..diagnostics.trouble import ladder_problems
from ..errors import BayeslibError, ImproperError, warn
from ..results import Estimate
from ..target.transforms import walked
from ..validate import as_scale
from .ladder import as_ladder, log_normaliser, respace
from .metropolis import Note, Tuning, Walk, learn_walk, propose, set_scale, tuned, walk_windows


class Ladder(NamedTuple):
    """A random walk on each rung, hottest first; `position` is that of the coldest."""

    position: VECTOR
    betas: VECTOR
    states: MATRIX  # a row a rung, as in `scales`
    log_p: VECTOR  # of the target at each state
    log_q: VECTOR  # of the reference
    proposal: VECTOR
    scales: MATRIX
    roots: types.float64[:, :, ::1]
    moments: types.float64[:, :, ::1]
    tunings: from_dtype(Tuning)[::1]
    windows: INTS
    reference: ADDRESS  # 0 where there is none
    reference_handle: HANDLE
    replica: INTS  # which is at each rung
    swaps: MATRIX  # of neighbours: probabilities summed, attempts
    replicas: INT[:, ::1]  # a row a draw, as in `log_ratios`
    log_ratios: MATRIX


def parallel_tempering_step(target, rng, log_p, x, note):
    """Move every rung by a Metropolis step; then let neighbours exchange their states."""
    t, num_rungs, num_warmup = target.account.t, x.betas.size, x.windows[x.windows.size - 1]
    if t == num_warmup:
        x.swaps[:] = 0.0
    for k in range(num_rungs):
        move_rung(target, rng, x, k, note)
        if ended(target):
            return log_p
    for k in range(t % 2, num_rungs - 1, 2):
        exchange(x, k, rng.random())
    if t >= num_warmup:
        n = t - num_warmup
        for k in range(num_rungs):
            x.replicas[n, k] = x.replica[k]
            if x.reference != 0:
                x.log_ratios[n, k] = x.log_p[k] - x.log_q[k]
    return x.log_p[num_rungs - 1]


@helper
def move_rung(target, rng, x, k, note):
    """Propose on rung k, accept by the ratio of its tempered densities; learn in the warm-up."""
    tuning = x.tunings[k]
    walk = Walk(x.states[k], x.proposal, x.proposal, x.roots[k], x.scales[k], x.moments[k], tuning)
    if target.account.warming:  # the rungs may have moved
        set_scale(walk, tuning.factor)
    propose(rng, walk)
    log_p, log_q = log_densities(target, x)
    if accepts(rng, tempered(x.betas[k], log_p, log_q) - on_rung(x, k, k), note):
        x.log_p[k], x.log_q[k] = log_p, log_q
        copy(walk.proposal, walk.position)
    if target.account.warming:
        _learn_walk(target.account.t, x.windows, target, rng, 0.0, walk, note)


_learn_walk = helper(learn_walk)


@helper
def log_densities(target, x):
    """Return those of target and reference at the proposal, both -inf where either is nan."""
    log_p, log_q = density(target.address, x.proposal, target.unused, target.handle), 0.0
    if x.reference != 0:
        log_q = ask(target, x.reference, x.proposal, target.unused, x.reference_handle)
    judged(target, x.proposal, log_p + log_q)
    if log_p < np.inf and log_q < np.inf:
        return log_p, log_q
    return -np.inf, -np.inf


@helper
def tempered(beta, log_p, log_q):
    """Log of q^(1 - beta) p^beta; a log_q of 0 everywhere leaves p^beta."""
    if beta == 1.0:
        return log_p
    if beta == 0.0:
        return log_q
    if log_p == -np.inf or log_q == -np.inf:
        return -np.inf
    return beta * log_p + (1.0 - beta) * log_q


@helper
def on_rung(x, k, j):
    """Return the log density on rung k of the state of rung j."""
    return tempered(x.betas[k], x.log_p[j], x.log_q[j])


@helper
def exchange(x, k, uniform):
    """Swap the states of rungs k and k + 1, or not."""
    j, log_p, log_q = k + 1, x.log_p, x.log_q
    ratio = on_rung(x, k, j) + on_rung(x, j, k) - on_rung(x, k, k) - on_rung(x, j, j)
    probability = np.exp(min(ratio, 0.0))
    x.swaps[0, k] += probability
    x.swaps[1, k] += 1.0
    if not uniform < probability:
        return
    for i in range(x.states.shape[1]):
        x.states[k, i], x.states[j, i] = x.states[j, i], x.states[k, i]
    log_p[k], log_p[j] = log_p[j], log_p[k]
    log_q[k], log_q[j] = log_q[j], log_q[k]
    x.replica[k], x.replica[j] = x.replica[j], x.replica[k]


def initial(run, start, reference, betas, scale, moves_rungs):
    dim, num_rungs, num_samples = start.size, betas.size, run.num_samples
    tunings = np.zeros(num_rungs, dtype=Tuning)
    if scale is None:
        for name, value in tuned(dim, run.num_warmup).items():
            tunings[name] = value
    roots = np.ones((num_rungs, 1, dim)) if scale is None else scale[:, None, :].copy()
    run.kept = other = Unasked(dim) if reference is None else reference.bind(gradient=False)
    adapts, unused = scale is None or moves_rungs, np.empty(dim)
    x = laid_out(
        Ladder, position=start, betas=betas, states=np.tile(start, (num_rungs, 1)),
        log_p=np.full(num_rungs, run.bound(start, unused)),
        log_q=np.full(num_rungs, other(start, unused)),
        proposal=(dim,), scales=np.exp(tunings["average"][:, None]) * roots[:, 0], roots=roots,
        moments=np.zeros((num_rungs, 2, dim)), tunings=tunings,
        windows=walk_windows(run.num_warmup, dim if adapts else 0),
        reference=other.address, reference_handle=other.handle,
        replica=np.arange(num_rungs), swaps=(2, num_rungs - 1),
        replicas=np.zeros((num_samples, num_rungs), dtype=np.int64),
        log_ratios=(num_samples if reference else 0, num_rungs),
    )  # fmt: skip
    return x._replace(position=x.states[-1])


def move_rungs(run):
    """Where a window of the warm-up ends: share the rejections out equally among the rungs."""
    x = run.state
    if run.options["moves_rungs"]:
        respace(x.betas, 1.0 - swap_rates(x), x.roots, x.tunings)
        x.swaps[:] = 0.0


def swap_rates(x):
    return x.swaps[0] / np.maximum(x.swaps[1], 1.0)


def round_trips(replicas):
    """Count the replicas' ways from the hottest rung to the coldest and back."""
    trips = 0
    for one in range(replicas.shape[1]):
        ends = (replicas[:, 0] == one) * 1 - (replicas[:, -1] == one)
        ends = ends[ends != 0]
        arrivals = ends[np.diff(ends, prepend=0) != 0]
        trips += max(np.sum(arrivals == 1) - 1, 0)
    return int(trips)


def settings(run):
    x, rates = run.state, swap_rates(run.state)
    made = max(run.done - run.num_warmup, 0)
    return {
        "inverse_temperatures": x.betas.copy(), "scale": x.scales, "swap_acceptance": rates,
        "barrier": float(np.sum(1.0 - rates)), "round_trips": round_trips(x.replicas[:made]),
    }  # fmt: skip


def stats(run):
    x = run.state
    return {"replica": x.replicas} | ({"log_ratio": x.log_ratios} if x.reference else {})


def raised(run):
    """Return the error that the reference raised, or that a hot state's flight calls for."""
    other, x = run.kept, run.state
    if other.num_errors:
        return run.options["reference"].explain(other.failed_at, " by the reference")
    far = np.flatnonzero(np.abs(x.states[:-1]).max(axis=1) > FAR)
    if far.size:
        found = f"a state passed {FAR:g} at inverse temperature {x.betas[far[0]]:.3g}: improper?"
        return ImproperError(f"{found} pass inverse_temperatures= that begin higher, or reference=")


PARALLEL_TEMPERING = Algorithm(
    "parallel_tempering", Chain(parallel_tempering_step, Ladder, Note), initial, settings,
    lambda num_warmup, x: x.windows, stats=stats, raised=raised, at_window=move_rungs,
)  # fmt: skip


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
        Where all replicas of a chain begin. None draws a start for each chain, as `nuts` does
        (see its Notes).
    reference : Target, optional
        A density q that is easy to sample, such as the prior, with the same parameters. The
        ladder then leads from q along ``q**(1 - beta) * p**beta``, beta from 0 to 1. If
        ``reference.truth`` holds q's evidence, that of p is estimated, see Returns.
    inverse_temperatures : int or array_like, shape (r,), optional
        The ladder, at least two rungs rising to 1, which stay as given. Or their number r, from 2
        to 200 (`smc` counts the steps between them, one fewer), or None for as many as a Gaussian
        of this dimension needs: the warm-up then moves the rungs until all pairs of neighbours
        swap equally often, and freezes them; without a reference the hottest stays at 0.01.
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
        Where the chains run; threads by default. See `metropolis`.
    progress : bool, optional
        None shows a bar on runs of more than about two seconds.

    Returns
    -------
    Draws
        Those of the coldest rung. `log_evidence`, by stepping stones, if the reference's is known
        and the ladder begins at 0; None for fewer than 4 draws a chain. Interrupted, it returns
        what was drawn, ``settings["interrupted"]`` set. Stats:

        - ``acceptance_rate`` and ``accepted``, of the walk of that rung;
        - ``replica`` (num_chains, num_samples, r): which replica is at each rung;
        - ``log_ratio``, with a reference: ``log p - log q`` at each rung.

        Settings, one row a chain:

        - ``inverse_temperatures``, ``scale``: as given or adapted;
        - ``swap_acceptance``, of each pair of neighbours;
        - ``barrier``: the sum of their rejection rates;
        - ``round_trips``, of replicas from the hottest rung to the coldest and back.

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
    An iteration moves each rung, hottest first, by a random-walk Metropolis step. Then neighbours k
    and k + 1 (the hottest is 0) exchange their states with probability
    ``min(1, exp((b[k+1] - b[k]) * (l[k] - l[k+1])))``, l being ``log p - log q``, or ``log p``
    without a reference: even k in even iterations, odd k in odd ones. That order is not reversible,
    and lets replicas travel in one direction. `num_evals` counts those of the target at all rungs,
    not those of the reference. A proposal where a density is nan is rejected and counted, in
    ``settings["num_nan"]``.

    Draw order, for each iteration: for each rung `dim` standard normals and one uniform; then one
    uniform for each pair whose turn it is; accepted when it is below the probability. While the
    scales of the coordinates are learned, one at a time, one normal in place of `dim`. When
    `initial_position` is None, `dim` uniforms for each attempted start come first (see `nuts`).

    References
    ----------
    Geyer (1991), Markov chain Monte Carlo maximum likelihood. Hukushima and Nemoto (1996),
    Exchange Monte Carlo method and application to spin glass simulations. Syed, Bouchard-Côté,
    Deligiannidis and Doucet (2022), Non-reversible parallel tempering. Xie, Lewis, Fan, Kuo and
    Chen (2011), Improving marginal likelihood estimation for Bayesian phylogenetic model selection,
    for stepping stones.

    Examples
    --------
    >>> two = bl.posteriors.mixture([0.3, 0.7], [-8.0, 8.0], [1.0, 1.0])
    >>> draws = bl.parallel_tempering(two, num_samples=2000, rng=1)
    >>> print(draws.expect(), two.truth.mean.round(2))
    [3.53 ± 0.24] [3.2]
    >>> print(draws.settings["round_trips"].min() > 0)
    True
    """
    target = walked(target)
    dim = target.dim
    plan = as_plan(num_samples, num_warmup, num_chains, rng, executor, progress)
    reference = reference and walked(reference)
    if reference is not None and (reference.dim != dim or not _alike(target, reference)):
        rule = f"dim={dim} and the same parameters, names and constraints as the target"
        raise BayeslibError(f"reference must have {rule}, got dim={reference.dim}")
    betas, moves_rungs = as_ladder(inverse_temperatures, dim, reference is not None)
    if scale is not None:
        scale = as_scale(scale, "scale", betas.size, dim)
    if plan.num_warmup < 50 and (scale is None or moves_rungs):
        warn(f"num_warmup={plan.num_warmup} leaves no time to adapt: pass num_warmup=1000")

    def check_reference(starts, generators):
        reference.verify(starts[0])
        for start in starts:
            check_start(reference, start, "the log density of the reference")

    options = {"reference": reference, "betas": betas, "scale": scale, "moves_rungs": moves_rungs}
    draws = PARALLEL_TEMPERING.sample(
        target, initial_position, options, plan, {"adapted": moves_rungs},
        prepare=reference and check_reference, numbers=betas.size * (2 if reference else 1),
    )  # fmt: skip
    warn(*ladder_problems(draws))
    return _with_evidence(draws, reference)


def _alike(one, other):
    """Say whether two targets have the same parameters, as far as both declare them."""
    if one.maps_back and other.maps_back:
        return [*one.original.parameters.items()] == [*other.original.parameters.items()]
    return all(target.transform.is_identity for target in (one, other) if target.maps_back)


def _with_evidence(draws, reference):
    known = getattr(reference and reference.truth, "log_evidence", None)
    betas = draws.settings["inverse_temperatures"]
    if known is None or draws.num_samples < 4 or betas[0, 0] != 0.0:
        return draws
    value, influence = log_normaliser(betas, draws.stats["log_ratio"])
    estimate = Estimate(known + value, mcse(influence), draws.num_evals)
    return dataclasses.replace(draws, log_evidence=estimate)
