"""The random-walk Metropolis algorithm."""

import numpy as np

from ..chains.blocks import INFINITE, NUM_EVALS, NUM_NAN, STATUS, Record, advance, outcome
from ..chains.run import as_counts, sample_chains
from ..compile.callback import (
    ADDRESS,
    FLAGS,
    GENERATOR,
    HANDLE,
    INT,
    INTS,
    MATRIX,
    VECTOR,
    density,
    kernel,
    together,
)
from ..errors import BayeslibError, warn
from ..target.target import as_target
from ..validate import as_covariance, as_scale
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

_METRICS = ("diag", "dense")


@kernel(
    INT, ADDRESS, HANDLE, GENERATOR, INT, INT, INTS, VECTOR, VECTOR, MATRIX, MATRIX, VECTOR,
    VECTOR, INTS, MATRIX, MATRIX, VECTOR, VECTOR, FLAGS, seconds=2,
)  # fmt: skip
def metropolis_kernel(
    address, handle, rng, first, last, ends, position, current, root, moments, state,
    constants, counts, points, draws, logdensity, acceptance, accepted,
):  # fmt: skip
    """Do the iterations first, …, last - 1; the first ``ends[-1]`` are adaptation or warm-up.

    `current` holds the log density at `position`; `constants` the best acceptance rate (0 when
    the scale is fixed) and the logarithm of the initial factor. Returns where it stopped.
    """
    dim, dense = position.size, root.shape[0] > 1
    proposal, unused, scale, z = np.empty(dim), np.empty(dim), np.empty(dim), np.empty(dim)
    num_warmup = ends[ends.size - 1]
    best, start = constants[0], constants[1]
    lp, factor = current[0], 1.0
    for t in range(first, last):
        if t == first or t <= num_warmup:
            log_factor = state[AVERAGE] if t >= num_warmup else state[FACTOR]
            factor = np.exp(log_factor)
            for i in range(dim):
                scale[i] = factor * root[0, i]
        single = best > 0.0 and t < ends[0]
        if single:
            for i in range(dim):
                proposal[i] = position[i]
            proposal[t % dim] += np.exp(moments[0, t % dim]) * rng.standard_normal()
        elif dense:
            for i in range(dim):
                z[i] = factor * rng.standard_normal()
                proposal[i] = position[i]
                for j in range(i + 1):
                    proposal[i] += root[i, j] * z[j]
        else:
            for i in range(dim):
                proposal[i] = position[i] + scale[i] * rng.standard_normal()
        uniform = rng.random()
        new = density(address, proposal, unused, handle)
        counts[NUM_EVALS] += 1
        if handle[handle.size - 1] != 0:
            current[0] = lp
            return t
        ratio = new - lp
        if not new < np.inf:
            if new == np.inf:
                counts[STATUS] = INFINITE
                points[1] = proposal
                current[0] = lp
                return t
            if counts[NUM_NAN] == 0:
                points[0] = proposal
            counts[NUM_NAN] += 1
            ratio = -np.inf
        probability = np.exp(min(ratio, 0.0))
        accept = uniform < probability
        if accept:
            lp = new
            for i in range(dim):
                position[i] = proposal[i]
        if t < num_warmup:
            if single:
                adapt_one(t, ends[0], ratio, state, root, moments, start)
            elif best > 0.0:
                adapt_factor(state, ratio, best)
                adapt_root(t, ends, state, position, root, moments, start)
            continue
        n = t - num_warmup
        for i in range(dim):
            draws[n, i] = position[i]
        logdensity[n] = lp
        acceptance[n] = probability
        accepted[n] = accept
    current[0] = lp
    return last


def _metropolis_chain(control, chain, target, rng, start, root, adapted, num_warmup, num_samples):
    dim, dense = target.dim, len(root) > 1
    bound, record = target.bind(gradient=False), Record(dim)
    moments = np.zeros((1 + dim if dense else 2, dim))
    position, root, moments = together(start, root, moments)
    current = np.array([bound(position, np.empty(dim))])
    values, logdensity = np.empty((num_samples, dim)), np.empty(num_samples)
    acceptance, accepted = np.empty(num_samples), np.empty(num_samples, dtype=bool)
    state = np.zeros(4)
    ends, constants = np.array([num_warmup]), np.zeros(2)
    if adapted:
        log_factor = np.log(JUMP / np.sqrt(dim))
        state[FACTOR] = state[AVERAGE] = log_factor
        constants[:] = BEST_ACCEPTANCE[min(dim, len(BEST_ACCEPTANCE)) - 1], log_factor
        ends = walk_windows(num_warmup, dim)

    def step(first, last):
        return metropolis_kernel(
            bound.address, bound.handle, rng, first, last, ends, position, current, root,
            moments, state, constants, record.counts, record.points, values, logdensity,
            acceptance, accepted,
        )  # fmt: skip

    num_iterations = num_warmup + num_samples
    done = advance(step, bound=bound, control=control, chain=chain, num_iterations=num_iterations)
    stats = {"acceptance_rate": acceptance, "accepted": accepted}
    factor = np.exp(state[AVERAGE])
    settings = {"scale": factor * root[0]}
    if dense:
        settings["cov"] = factor**2 * root @ root.T
        settings["scale"] = np.sqrt(np.diag(settings["cov"]))
    return outcome(
        done, bound=bound, record=record, rng=rng, values=values, logdensity=logdensity,
        stats=stats, settings=settings,
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
        None draws a start for each chain, see Notes.
    scale : float or array_like, shape (dim,), optional
        Standard deviation of the proposal in each dimension. Given, nothing is adapted and the
        warm-up is only a run-in.
    cov : array_like, shape (dim, dim), optional
        Covariance of the proposal, instead of `scale`.
    metric : {"diag", "dense"}
        What the warm-up learns when neither is given: the scale of each dimension, or the
        covariance (for which 100 iterations a dimension are few), times a common factor tuned to
        an acceptance rate between 0.44 (one dimension) and 0.234 (five and more). It is frozen
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
        stats: ``acceptance_rate``, the probability with which the proposal was accepted, and
        ``accepted``, whether it was. Settings: ``scale``, the proposal's standard deviations in
        each chain, (num_chains, dim), ``cov`` (num_chains, dim, dim) where it has one, and
        ``acceptance``, the share accepted; ``tail_index`` (see `nuts`). Interrupted, it returns
        what was drawn, ``settings["interrupted"]`` set.

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
        1e10, or there is no warm-up to adapt in.

    Notes
    -----
    From theta, the proposal theta' = theta + scale * z, or theta + L z with the lower Cholesky
    factor L of `cov`, is accepted with probability min(1, p(theta') / p(theta)). Draw order, for
    each iteration: the `dim` standard normals z, in order, then one uniform, also when it cannot
    matter; accepted when it is below the probability. A proposal where the density is nan is
    rejected and counted (``settings["num_nan"]``). When `initial_position` is None, `dim` uniforms
    for each attempted start come first (see `nuts`).

    A warm-up that adapts begins with moves of one coordinate at a time, 25 of each but at least 10
    and at most 40 % of the iterations, with one normal and one uniform an iteration; each
    coordinate's scale is tuned to an acceptance rate of 0.44. Windows that double then learn the
    scales or the covariance from the draws, and the last fifth only tunes the factor. A warm-up
    of fewer than 50 iterations has single moves only.

    References
    ----------
    Metropolis, Rosenbluth, Rosenbluth, Teller and Teller (1953), Equation of state calculations
    by fast computing machines. Gelman, Roberts and Gilks (1996), Efficient Metropolis jumping
    rules. Haario, Saksman and Tamminen (2001), An adaptive Metropolis algorithm; here adaptation
    ends with the warm-up.

    Examples
    --------
    >>> target = bl.posteriors.gamma_student()
    >>> draws = bl.metropolis(target, None, num_samples=5000, rng=1)
    >>> print(draws.expect(), target.truth.mean.round(3))
    [4.167 ± 0.020] [4.167]
    >>> print(bl.rhat(draws) < 1.01, draws.settings["scale"].ravel() > 1.0)
    [ True] [ True  True  True  True]
    """
    dim = as_target(target).dim
    counts = as_counts(num_samples, num_warmup, num_chains)
    adapted = scale is None and cov is None
    root = _as_root(scale, cov, metric, dim)
    if adapted and counts[1] == 0:
        warn(
            "num_warmup=0 leaves no time to adapt the scale, which stays at "
            f"{JUMP / np.sqrt(dim):.3g}; pass scale, or num_warmup=1000"
        )
    return sample_chains(
        _metropolis_chain, (root, adapted), kernel=metropolis_kernel, target=target,
        initial_position=initial_position, counts=counts, numbers=3, rng=rng, executor=executor,
        progress=progress, method="metropolis", settings={"adapted": adapted},
    )  # fmt: skip


def _as_root(scale, cov, metric, dim):
    """Return the root of the proposal's covariance, its diagonal (1, dim) or (dim, dim)."""
    if not (isinstance(metric, str) and metric in _METRICS):
        raise BayeslibError(f'metric must be "diag" or "dense", got {metric!r}')
    if scale is not None and cov is not None:
        raise BayeslibError("pass scale or cov, not both: each says how far proposals go")
    if cov is not None:
        return np.ascontiguousarray(np.linalg.cholesky(as_covariance(cov, "cov", dim)))
    if scale is not None:
        return as_scale(scale, "scale", dim)[None, :]
    return np.eye(dim) if metric == "dense" else np.ones((1, dim))
