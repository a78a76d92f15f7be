"""Metropolis-Hastings with a proposal of the user's own."""

import numpy as np

from ..chains.blocks import (
    INFINITE,
    NUM_EVALS,
    NUM_NAN,
    STATUS,
    UNDEFINED,
    Record,
    advance,
    outcome,
)
from ..chains.moves import Move
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
from ..validate import shown


@kernel(
    INT, ADDRESS, HANDLE, ADDRESS, HANDLE, ADDRESS, HANDLE, GENERATOR, INT, INT, INT, VECTOR,
    VECTOR, VECTOR, INTS, MATRIX, MATRIX, VECTOR, VECTOR, FLAGS,
)  # fmt: skip
def hastings_kernel(
    address, handle, move, move_handle, correction, correction_handle, rng, first, last,
    num_warmup, position, proposal, current, counts, points, draws, logdensity, acceptance,
    accepted,
):  # fmt: skip
    """Do the iterations first, …, last - 1, of which the first `num_warmup` are not kept.

    `move` and `correction` are callbacks of two vectors, see `Move.bind`; no correction has
    address 0. `current` holds the log density at `position`. Returns where it stopped.
    """
    dim = position.size
    unused = np.empty(dim)
    lp = current[0]
    for t in range(first, last):
        density(move, position, proposal, move_handle)
        if move_handle[move_handle.size - 1] != 0:
            current[0] = lp
            return t
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
        elif correction != 0 and new > -np.inf:
            change = density(correction, proposal, position, correction_handle)
            undefined = not change < np.inf
            if undefined or correction_handle[correction_handle.size - 1] != 0:
                if undefined:
                    counts[STATUS] = UNDEFINED
                current[0] = lp
                return t
            ratio += change
        probability = np.exp(min(ratio, 0.0))
        accept = uniform < probability
        if accept:
            lp = new
            for i in range(dim):
                position[i] = proposal[i]
        if t < num_warmup:
            continue
        n = t - num_warmup
        for i in range(dim):
            draws[n, i] = position[i]
        logdensity[n] = lp
        acceptance[n] = probability
        accepted[n] = accept
    current[0] = lp
    return last


def _hastings_chain(control, chain, target, rng, start, moves, num_warmup, num_samples):
    dim = target.dim
    bound, record = target.bind(gradient=False), Record(dim)
    callbacks = move, correction = moves.bind(rng)
    position, proposal = together(start, np.zeros(dim))
    current = np.array([bound(position, np.empty(dim))])
    values, logdensity = np.empty((num_samples, dim)), np.empty(num_samples)
    acceptance, accepted = np.empty(num_samples), np.empty(num_samples, dtype=bool)
    corrects = (0, np.zeros(1, dtype=np.int64))
    if correction is not None:
        corrects = (correction.address, correction.handle)

    def step(first, last):
        return hastings_kernel(
            bound.address, bound.handle, move.address, move.handle, *corrects, rng, first, last,
            num_warmup, position, proposal, current, record.counts, record.points, values,
            logdensity, acceptance, accepted,
        )  # fmt: skip

    num_iterations = num_warmup + num_samples
    done = advance(step, bound=bound, control=control, chain=chain, num_iterations=num_iterations)
    raised = moves.explain(callbacks, position, proposal, rng)
    if raised is None and record.counts[STATUS] == UNDEFINED:
        raised = BayeslibError(
            f"log_ratio is {moves.ratio(proposal, position)} for proposed={shown(proposal)}, "
            f"current={shown(position)}: a proposal that was made must have a positive density "
            "log q(proposed | current); where the way back is impossible, return -np.inf"
        )
    return outcome(
        done, bound=bound, record=record, rng=rng, values=values, logdensity=logdensity,
        stats={"acceptance_rate": acceptance, "accepted": accepted}, settings={}, raised=raised,
    )  # fmt: skip


def metropolis_hastings(
    target,
    initial_position=None,
    *,
    propose,
    log_ratio,
    args=(),
    num_samples=1000,
    num_warmup=1000,
    num_chains=4,
    rng,
    executor=None,
    progress=None,
):
    """Sample by the Metropolis-Hastings algorithm with a proposal of your own.

    Parameters
    ----------
    target : Target
    initial_position : array_like, shape (dim,) or (num_chains, dim), optional
        None draws a start for each chain, see Notes.
    propose : callable
        propose(theta, rng, *args) -> (dim,), or a number when dim is 1: drawn from q(. | theta) by
        the methods of the Generator `rng` and nothing else. theta is (dim,) float64, read-only.
    log_ratio : callable or None
        log_ratio(proposed, current, *args) -> float: the Hastings correction
        log q(current | proposed) - log q(proposed | current). None says that the proposal is
        symmetric, q(a | b) = q(b | a), which makes it the Metropolis algorithm; said of a
        proposal that is not, the chain samples another distribution.
    args : tuple of arrays and numbers
        Passed on to both functions, never compiled in.
    num_samples : int
        Draws kept in each chain.
    num_warmup : int
        Iterations before them, in each chain; not kept, but counted in `num_evals`. Nothing is
        adapted.
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
        ``accepted``, whether it was. Settings: ``acceptance``, the share accepted, and
        ``compiled``. Interrupted, it returns what was drawn, ``settings["interrupted"]`` set.

    Raises
    ------
    BayeslibError
        For arguments out of range, each named; StartError when the density at a start is nan,
        infinite or zero. When `propose` draws from something else than `rng`, `log_ratio` does
        not change its sign as its arguments are exchanged (both tried at the first start), or
        `log_ratio` is nan or +inf; TargetError when the density is +inf at a proposal. `partial`
        keeps the draws made until then.
    Exception
        Whatever `propose` or `log_ratio` raises.
    MemoryError
        Before the run, when the draws would not fit.

    Warns
    -----
    BayeslibWarning
        When a function is not in numba's subset of Python, and so runs as plain Python, a hundred
        times more slowly; when all chains start at one point, the density was nan at a proposal,
        or draws reach beyond 1e10.

    Notes
    -----
    The proposal theta' is accepted with probability
    min(1, p(theta') q(theta | theta') / (p(theta) q(theta' | theta))). Draw order, for each
    iteration: whatever `propose` draws, then one uniform, also when it cannot matter; accepted
    when it is below the probability. Normals, uniforms and exponentials are the same compiled and
    in plain Python; of other variates the last bit may differ. `log_ratio` is asked only where the
    density is positive. A proposal where the density is nan is rejected and counted
    (``settings["num_nan"]``). When `initial_position` is None, `dim` uniforms for each attempted
    start come first (see `nuts`).

    References
    ----------
    Hastings (1970), Monte Carlo sampling methods using Markov chains and their applications.

    Examples
    --------
    >>> def propose(theta, rng, scale):  # a factor, so that theta stays above 0
    ...     return theta * np.exp(scale * rng.standard_normal(theta.size))
    >>> def log_ratio(proposed, current, scale):
    ...     return np.log(proposed[0] / current[0])
    >>> target = bl.posteriors.gamma_student()
    >>> how = dict(propose=propose, log_ratio=log_ratio, args=(0.8,))
    >>> draws = bl.metropolis_hastings(target, **how, num_samples=5000, rng=1)
    >>> print(draws.expect(), target.truth.mean.round(3))
    [4.165 ± 0.023] [4.167]
    """
    move = Move(propose, log_ratio, args, as_target(target).dim)
    counts = as_counts(num_samples, num_warmup, num_chains)
    settings = {}

    def prepare(starts, generators):
        move.verify(starts[0], generators[0])
        if move.reason:
            warn(f"propose and log_ratio run as plain Python, which is slow: {move.reason}")
        settings["compiled"] = move.compiled

    return sample_chains(
        _hastings_chain, (move,), kernel=hastings_kernel, target=target,
        initial_position=initial_position, prepare=prepare, counts=counts, numbers=3, rng=rng,
        executor=executor, progress=progress, method="metropolis_hastings", settings=settings,
    )  # fmt: skip
