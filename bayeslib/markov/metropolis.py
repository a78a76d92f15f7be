"""The random-walk Metropolis algorithm, and how it learns its proposal in the warm-up.

First it moves one coordinate at a time, which finds the scale of each within some twenty moves,
however many powers of ten they lie apart. Then it moves all together and learns their variances or
covariance, in windows that double. Last it settles the common factor.

A walk has a `root`, the proposal's standard deviations, shape (1, dim), or the lower Cholesky
factor of its covariance, (dim, dim); both are multiplied by a common factor, tuned to an acceptance
rate.
"""

from typing import NamedTuple

import numpy as np

from ..chains.algorithm import Algorithm, as_plan
from ..chains.loop import Chain, accepts, copy, laid_out, log_density, record
from ..chains.warmup import doubling_windows, learn_root
from ..compile.callback import helper
from ..compile.kinds import MATRIX, VECTOR
from ..errors import BayeslibError, warn
from ..target.transforms import walked
from ..validate import as_choice, as_covariance, as_scale

# best: the acceptance rate that is sought, 0 where nothing is. start, factor, average: logarithms
# of the factor. alone: the coordinate, from 1, that moves alone, 0 where all move.
Tuning = record(best="f8", start="f8", factor="f8", average="f8", alone="i8")

JUMP = 2.38  # times the posterior's scale over sqrt(dim): the best step for a Gaussian
# Acceptance rates at which the random walk mixes fastest, for 1, 2, … dimensions
# (Gelman, Roberts and Gilks, 1996); the last holds beyond.
BEST_ACCEPTANCE = (0.44, 0.35, 0.28, 0.26, 0.234)

_MOVES = 25  # of each coordinate, at most, before all move together


class Walk(NamedTuple):
    """What a random walk remembers."""

    position: VECTOR
    proposal: VECTOR
    z: VECTOR
    root: MATRIX  # of the proposal's covariance: (1, dim) its diagonal, or lower triangular
    scale: VECTOR  # root times the factor, or the factor alone where root is a triangle
    moments: MATRIX
    tuning: Tuning


Note = record(acceptance_rate="f8", accepted="?")


def metropolis_step(target, rng, log_p, walk, note):
    """Propose theta + L z, and accept it with probability min(1, p(theta') / p(theta))."""
    propose(rng, walk)
    log_new = log_density(target, walk.proposal)
    if not accepts(rng, log_new - log_p, note):
        return log_p
    copy(walk.proposal, walk.position)
    return log_new


@helper
def propose(rng, walk):
    theta, proposal, root, alone = walk.position, walk.proposal, walk.root, walk.tuning.alone - 1
    if alone >= 0:  # early in the warm-up
        copy(theta, proposal)
        proposal[alone] += np.exp(walk.moments[0, alone]) * rng.standard_normal()
        return
    if root.shape[0] == 1:
        for i in range(theta.size):
            proposal[i] = theta[i] + walk.scale[i] * rng.standard_normal()
        return
    for i in range(theta.size):
        walk.z[i] = walk.scale[0] * rng.standard_normal()
        total = theta[i]
        for j in range(i + 1):
            total += root[i, j] * walk.z[j]
        proposal[i] = total


def walk_windows(num_warmup, dim):
    """Return where the windows of the warm-up end: single moves, learning, and the factor's.

    Returns
    -------
    numpy.ndarray of int64
        Only one, of single moves, for fewer than 50 iterations; or where `dim` is 0.
    """
    if num_warmup < 50 or dim == 0:
        return np.array([num_warmup])
    end = min(max(_MOVES * dim, num_warmup // 10), 2 * num_warmup // 5)
    return doubling_windows(end, 25 + 5 * dim, num_warmup - num_warmup // 5, num_warmup)


def tuned(dim, num_warmup):
    """Return what a `Tuning` that adapts begins with."""
    log_factor = np.log(JUMP / np.sqrt(dim))
    best = BEST_ACCEPTANCE[min(dim, len(BEST_ACCEPTANCE)) - 1]
    factors = dict.fromkeys(("start", "factor", "average"), log_factor)
    return factors | {"best": best, "alone": num_warmup > 0}


def learn_walk(t, windows, target, rng, log_p, walk, note):
    """Tune the factor, learn the shape, and freeze both at the end of the warm-up."""
    tuning = walk.tuning
    if tuning.best == 0.0:
        return
    if tuning.alone > 0:
        _learn_coordinate(t, windows, walk, note)
        return
    window, best = target.account.window, tuning.best
    n, change = float(t + 1 - windows[window - 1]), note.acceptance_rate - best
    # Robbins and Monro (1951); recent values count more in the average, as in Nesterov's.
    tuning.factor += change * n**-0.6 / (best * (1.0 - best)) ** 0.5
    tuning.average += n**-0.75 * (tuning.factor - tuning.average)
    if learn_root(t, windows, window, walk.position, walk.moments, walk.root, True):
        # What the first window learns are other scales, to which the factor did not belong.
        tuning.factor = tuning.start if window == 1 else tuning.average
        tuning.average = tuning.factor
    set_scale(walk, tuning.average if t + 1 == windows[windows.size - 1] else tuning.factor)


@helper
def _learn_coordinate(t, windows, walk, note):
    """Tune the logarithm of one coordinate's scale, row 0 of `moments`; row 1 is its average."""
    tuning, root, dim, best = walk.tuning, walk.root, walk.position.size, BEST_ACCEPTANCE[0]
    log_scale, average, i, n = walk.moments[0], walk.moments[1], t % dim, t // dim + 1.0
    log_scale[i] += (note.acceptance_rate - best) * n**-0.6 / (best * (1.0 - best)) ** 0.5
    average[i] += n**-0.75 * (log_scale[i] - average[i])
    tuning.alone = (t + 1) % dim + 1
    if t + 1 == windows[0]:
        for j in range(dim):
            root[j if root.shape[0] > 1 else 0, j] = np.exp(average[j]) / JUMP
        tuning.factor = tuning.average = tuning.start
        tuning.alone = 0
        set_scale(walk, tuning.factor)


@helper
def set_scale(walk, log_factor):
    """Propose with this factor."""
    for i in range(walk.scale.size):
        walk.scale[i] = np.exp(log_factor) * (1.0 if walk.root.shape[0] > 1 else walk.root[0, i])


def initial(run, start, root, adapted):
    dim, dense = start.size, len(root) > 1
    tuning = tuned(dim, run.num_warmup) if adapted else {}
    factor = np.exp(tuning["factor"]) if adapted else 1.0
    return laid_out(
        Walk, dim, position=start, root=root, tuning=tuning, moments=(1 + dim if dense else 2, dim),
        scale=np.full(dim, factor) if dense else factor * root[0],
    )  # fmt: skip


def settings(run):
    walk = run.state
    if len(walk.root) == 1:
        return {"scale": walk.scale}
    cov = walk.scale[0] ** 2 * walk.root @ walk.root.T
    return {"scale": np.sqrt(np.diag(cov)), "cov": cov}


METROPOLIS = Algorithm(
    "metropolis", Chain(metropolis_step, Walk, Note, learn=learn_walk), initial, settings,
    lambda num_warmup, walk: walk_windows(num_warmup, walk.z.size if walk.tuning.best else 0),
)  # fmt: skip


def metropolis(
    target,
    initial_position=None,
    *,
    scale=None,
    cov=None,
    metric="diag",
    num_samples=1000,
    num_warmup=1000,
    num_chains=4,
    rng,
    executor=None,
    progress=None,
):
    """Sample by the random-walk Metropolis algorithm with Gaussian proposals.

    Parameters
    ----------
    target : Target
    initial_position : array_like, shape (dim,) or (num_chains, dim), optional
        None draws a start for each chain, as `nuts` does (see its Notes).
    scale : float or array_like, shape (dim,), optional
        Standard deviation of the proposal in each dimension. Given, nothing is adapted and the
        warm-up is only burn-in.
    cov : array_like, shape (dim, dim), optional
        Covariance of the proposal, instead of `scale`.
    metric : {"diag", "dense"}
        What the warm-up learns when neither is given: the scale of each dimension, or the
        covariance (for which 100 iterations a dimension are few). A common factor is tuned to an
        acceptance rate of 0.44 in one dimension, falling to 0.234 in five and more. All is frozen
        before the first draw that is kept.
    num_samples : int
        Draws kept in each chain.
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
        Interrupted, it warns and returns what was drawn, ``settings["interrupted"]`` set. Stats:

        - ``acceptance_rate``: the probability with which the proposal was accepted;
        - ``accepted``: whether it was.

        Settings:

        - ``scale`` (num_chains, dim): the proposal's standard deviations in each chain;
        - ``cov`` (num_chains, dim, dim): its covariance, where it has one;
        - ``acceptance``: the share accepted;
        - ``tail_index``: see `nuts`.

    Raises
    ------
    BayeslibError
        For arguments out of range, each named; StartError when the density at a start is nan,
        infinite or zero; TargetError when it is +inf at a proposal.
    MemoryError
        Before the run, when the draws would not fit.

    Warns
    -----
    BayeslibWarning
        When all chains start at one point, the density was nan at a proposal, draws reach beyond
        1e10 or a parameter ran to its bound, or there is no warm-up to adapt in.

    Notes
    -----
    From ``theta``, the proposal ``theta + scale * z``, or ``theta + L @ z`` with the lower Cholesky
    factor L of `cov`, is accepted with probability ``min(1, p(proposal) / p(theta))``. A proposal
    where the density is nan is rejected and counted, in ``settings["num_nan"]``.

    Warm-up: one that adapts begins with moves of one coordinate at a time: 25 of each, but in all
    at least a tenth of the warm-up and at most 40 % of it. They tune each coordinate's scale to an
    acceptance rate of 0.44. The scales or the covariance are then learned from the draws, in
    windows that double in length, and the last fifth only tunes the factor. A warm-up of fewer than
    50 iterations moves one coordinate at a time throughout.

    Draw order, for each iteration: the `dim` standard normals z, in order (one, for a move of one
    coordinate), then one uniform, also when it cannot matter; accepted when it is below the
    probability. When `initial_position` is None, `dim` uniforms for each attempted start come first
    (see `nuts`).

    References
    ----------
    Metropolis, Rosenbluth, Rosenbluth, Teller and Teller (1953), Equation of state calculations
    by fast computing machines. Gelman, Roberts and Gilks (1996), Efficient Metropolis jumping
    rules. Haario, Saksman and Tamminen (2001), An adaptive Metropolis algorithm; here adaptation
    ends with the warm-up.

    Examples
    --------
    >>> target = bl.posteriors.gamma_student()
    >>> draws = bl.metropolis(target, num_samples=5000, rng=1)
    >>> print(draws.expect(), target.truth.mean.round(3))
    [4.167 ± 0.020] [4.167]
    >>> print(bl.rhat(draws) < 1.01, draws.settings["scale"].ravel() > 1.0)
    [ True] [ True  True  True  True]
    """
    target = walked(target)
    plan = as_plan(num_samples, num_warmup, num_chains, rng, executor, progress)
    adapted = scale is None and cov is None
    options = {"root": _as_root(scale, cov, metric, target.dim), "adapted": adapted}
    if adapted and plan.num_warmup == 0:
        warn("num_warmup=0 leaves no time to adapt the scale; pass scale, or num_warmup=1000")
    return METROPOLIS.sample(target, initial_position, options, plan, {"adapted": adapted})


def _as_root(scale, cov, metric, dim):
    """Return the root of the proposal's covariance, its diagonal (1, dim) or (dim, dim)."""
    as_choice(metric, "metric", ("diag", "dense"))
    if scale is not None and cov is not None:
        raise BayeslibError("pass scale or cov, not both: each says how far proposals go")
    if cov is not None:
        return np.ascontiguousarray(np.linalg.cholesky(as_covariance(cov, "cov", dim)))
    if scale is not None:
        return as_scale(scale, "scale", dim)[None, :]
    return np.eye(dim) if metric == "dense" else np.ones((1, dim))
