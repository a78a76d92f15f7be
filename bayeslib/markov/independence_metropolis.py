"""Metropolis-Hastings with proposals that do not depend on the state."""

import numpy as np

from ..chains.blocks import INFINITE, NUM_EVALS, NUM_NAN, STATUS, Record, advance, outcome
from ..chains.run import as_counts, sample_chains
from ..compile.callback import (
    ADDRESS,
    FLAGS,
    HANDLE,
    INT,
    INTS,
    MATRIX,
    VECTOR,
    density,
    kernel,
    together,
)
from ..diagnostics.trouble import longest_stay_problem
from ..errors import BayeslibError, warn
from ..target.proposals import as_proposal
from ..target.target import as_target
from ..validate import shown


@kernel(
    INT, ADDRESS, HANDLE, INT, INT, INT, MATRIX, VECTOR, VECTOR, VECTOR, VECTOR, INTS, MATRIX,
    MATRIX, MATRIX, FLAGS,
)  # fmt: skip
def independence_kernel(
    address, handle, first, last, num_warmup, proposals, log_q, uniforms, position, current,
    counts, points, draws, numbers, accepted,
):  # fmt: skip
    """Do the iterations first, …, last - 1, of which the first `num_warmup` are not kept.

    Row t of `proposals`, with its log density in `log_q`, is proposed at iteration t. `current`
    holds log density and log weight at `position`. The rows of `numbers` receive log density,
    acceptance probability and log weight. Returns where it stopped.
    """
    dim = position.size
    proposal, unused = np.empty(dim), np.empty(dim)
    for t in range(first, last):
        for i in range(dim):
            proposal[i] = proposals[t, i]
        new = density(address, proposal, unused, handle)
        counts[NUM_EVALS] += 1
        if handle[handle.size - 1] != 0:
            return t
        log_weight = new - log_q[t]
        if not new < np.inf:
            if new == np.inf:
                counts[STATUS] = INFINITE
                points[1] = proposal
                return t
            if counts[NUM_NAN] == 0:
                points[0] = proposal
            counts[NUM_NAN] += 1
            log_weight = -np.inf
        probability = np.exp(min(log_weight - current[1], 0.0))
        accept = uniforms[t] < probability
        if accept:
            current[0] = new
            current[1] = log_weight
            for i in range(dim):
                position[i] = proposal[i]
        if t < num_warmup:
            continue
        n = t - num_warmup
        for i in range(dim):
            draws[n, i] = position[i]
        numbers[0, n] = current[0]
        numbers[1, n] = probability
        numbers[2, n] = current[1]
        accepted[n] = accept
    return last


def _independence_chain(control, chain, target, rng, start, portable, num_warmup, num_samples):
    dim, num_iterations = target.dim, num_warmup + num_samples
    proposal = as_proposal(portable.value, dim)
    bound, record = target.bind(gradient=False), Record(dim)
    values, numbers = np.empty((num_samples, dim)), np.empty((3, num_samples))
    accepted = np.empty(num_samples, dtype=bool)
    proposals = np.ascontiguousarray(proposal.sample(num_iterations, rng))
    uniforms = rng.random(num_iterations)
    log_q = proposal.logdensity(np.concatenate([start[None], proposals]))
    raised = _disagreement(proposal, start, proposals, log_q)
    done = 0
    if raised is None:
        position, proposals, uniforms, log_q, ours = together(
            start, proposals, uniforms, log_q[1:], log_q[:1]
        )
        current = np.array([bound(position, np.empty(dim)), 0.0])
        current[1] = current[0] - ours[0]

        def step(first, last):
            return independence_kernel(
                bound.address, bound.handle, first, last, num_warmup, proposals, log_q, uniforms,
                position, current, record.counts, record.points, values, numbers, accepted,
            )  # fmt: skip

        done = advance(
            step, bound=bound, control=control, chain=chain, num_iterations=num_iterations
        )
    stats = {"acceptance_rate": numbers[1], "accepted": accepted, "log_weight": numbers[2]}
    settings = {"longest_stay": _longest_stay(accepted[: max(done - num_warmup, 0)])}
    return outcome(
        done, bound=bound, record=record, rng=rng, values=values, logdensity=numbers[0],
        stats=stats, settings=settings, raised=raised,
    )  # fmt: skip


def _disagreement(proposal, start, proposals, log_q):
    bad = np.flatnonzero(~np.isfinite(log_q))
    if not bad.size:
        return None
    where, value = int(bad[0]), log_q[bad[0]]
    if where == 0:
        return BayeslibError(
            f"the log density of the proposal {proposal.label} is {value} at the start "
            f"{shown(start)}, to which the chain could never return: start within its support"
        )
    return BayeslibError(
        f"the log density of the proposal {proposal.label} is {value} at theta="
        f"{shown(proposals[where - 1])}, a point it drew itself: its sample and logdensity disagree"
    )


def _longest_stay(accepted):
    """The most iterations in a row without a move, the one that led to the state included."""
    moves = np.flatnonzero(np.concatenate([[True], accepted, [True]]))
    return int(np.diff(moves).max())


class _Portable:
    """A proposal that can be sent to another process, functions of a notebook included."""

    def __init__(self, value):
        self.value = value

    def __reduce__(self):
        import cloudpickle

        return _unpacked, (cloudpickle.dumps(self.value),)


def _unpacked(pickled):
    import cloudpickle

    return _Portable(cloudpickle.loads(pickled))


def independence_metropolis(
    target,
    proposal,
    *,
    initial_position=None,
    num_samples=1000,
    num_warmup=1000,
    num_chains=4,
    rng,
    executor=None,
    progress=None,
):
    """Sample by Metropolis-Hastings with independent draws of `proposal`.

    Parameters
    ----------
    target : Target
    proposal : distribution
        See `as_proposal`: a frozen `scipy.stats` distribution, or an approximation. Its tails
        should be heavier than the target's; it need not be normalised.
    initial_position : array_like, shape (dim,) or (num_chains, dim), optional
        None draws a start for each chain from the proposal.
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
        stats: ``acceptance_rate``, the probability with which the proposal was accepted;
        ``accepted``, whether it was; ``log_weight``, log p - log q of the state. Settings:
        ``acceptance``, the share accepted, and ``longest_stay`` (num_chains,), the most iterations
        that the chain spent on one state. Interrupted, it returns what was drawn,
        ``settings["interrupted"]`` set.

    Raises
    ------
    BayeslibError
        For arguments out of range, each named; when the proposal's own density is zero, infinite
        or nan at the start or at one of its draws. StartError when the density at a start is nan,
        infinite or zero, or at all of 100 starts drawn; TargetError when it is +inf at a proposal.
    MemoryError
        Before the run, when the draws would not fit.

    Warns
    -----
    BayeslibWarning
        When a chain spent more than a twentieth of its draws, and more than 20, on one state; when
        all chains start at one point, the density was nan at a proposal, or draws reach beyond
        1e10.

    Notes
    -----
    The proposal theta' is accepted with probability min(1, w(theta') / w(theta)), w = p / q. Where
    w is bounded by c, the distance to the target falls at least by a factor 1 - 1 / c an iteration
    (Tierney, 1994; Mengersen and Tweedie, 1996), c taken for normalised p and q; where it is not,
    some states hold the chain for arbitrarily long. Draw order, for each chain: for a start,
    ``proposal.sample(1, rng)`` until the density is positive; then, all at once, as many as there
    are iterations, and as many uniforms, ``rng.random``; accepted when the uniform is below the
    probability. A proposal where the density is nan is rejected and counted
    (``settings["num_nan"]``).

    References
    ----------
    Hastings (1970), Monte Carlo sampling methods using Markov chains and their applications.
    Tierney (1994), Markov chains for exploring posterior distributions.

    Examples
    --------
    >>> from scipy import stats
    >>> target = bl.posteriors.gamma_student()
    >>> draws = bl.independence_metropolis(target, stats.gamma(3, scale=1.5), rng=1)
    >>> print(draws.expect(), target.truth.mean.round(3))
    [4.184 ± 0.030] [4.167]
    >>> print(draws.settings["longest_stay"].max() < 50)
    True
    """
    dim = as_target(target).dim
    distribution = as_proposal(proposal, dim)
    counts = as_counts(num_samples, num_warmup, num_chains)
    draws = sample_chains(
        _independence_chain, (_Portable(proposal),), kernel=independence_kernel, target=target,
        initial_position=initial_position, draw=lambda rng: distribution.sample(1, rng)[0],
        counts=counts, numbers=3 + -(-(dim + 2) * sum(counts[:2]) // counts[0]), rng=rng,
        executor=executor, progress=progress, method="independence_metropolis",
        settings={"proposal": distribution.label},
    )  # fmt: skip
    problem = longest_stay_problem(draws)
    if problem:
        warn(problem)
    return draws
