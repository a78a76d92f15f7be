"""Metropolis-Hastings with a proposal of the user's own."""

from typing import NamedTuple

import numpy as np

from ..chains.algorithm import Algorithm, as_plan
from ..chains.functions import Compares, Draws, bind_moves, compile_all, error_of_moves
from ..chains.loop import UNDEFINED, Chain, accepts, ask, copy, ended, laid_out, log_density, record
from ..compile.arguments import as_data
from ..compile.callback import helper
from ..compile.kinds import ADDRESS, HANDLE, VECTOR
from ..errors import BayeslibError
from ..target.target import as_target
from ..validate import shown


class Moves(NamedTuple):
    """Where a chain is, where it might go, and the user's functions that say so."""

    position: VECTOR
    proposal: VECTOR
    propose: ADDRESS
    propose_handle: HANDLE
    compare: ADDRESS  # the log ratio, 0 for a symmetric proposal
    compare_handle: HANDLE


Note = record(acceptance_rate="f8", accepted="?")


def metropolis_hastings_step(target, rng, log_p, m, note):
    """Propose theta', and accept it by the ratio of densities times that of the proposals."""
    ask(target, m.propose, m.position, m.proposal, m.propose_handle)
    if ended(target):
        return log_p
    log_new = log_density(target, m.proposal)
    accepted = accepts(rng, log_new - log_p + correction(target, log_new, m), note)
    if ended(target) or not accepted:
        return log_p
    copy(m.proposal, m.position)
    return log_new


@helper
def correction(target, log_new, m):
    """Return log q(theta | theta') - log q(theta' | theta), where it matters."""
    if m.compare == 0 or log_new == -np.inf:
        return 0.0
    value = ask(target, m.compare, m.proposal, m.position, m.compare_handle)
    if not value < np.inf and not ended(target):
        target.account.status = UNDEFINED
    return value


def initial(run, start, propose, compare):
    return laid_out(Moves, start.size, position=start, **bind_moves(run, propose, compare))


def raised(run):
    if run.account.status != UNDEFINED:
        return error_of_moves(run)
    here, there = run.state.position, run.state.proposal
    found = f"log_ratio is {run.options['compare'](there, here)} for proposed={shown(there)}"
    return BayeslibError(f"{found}, current={shown(here)}: it must be finite, or -np.inf")


METROPOLIS_HASTINGS = Algorithm(
    "metropolis_hastings", Chain(metropolis_hastings_step, Moves, Note), initial, raised=raised
)


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
        None draws a start for each chain, as `nuts` does (see its Notes).
    propose : callable
        ``propose(theta, rng, *args) -> (dim,)``, or a number when dim is 1: drawn from
        ``q(. | theta)`` by the methods of the Generator `rng` and nothing else. ``theta`` is
        (dim,) float64, read-only.
    log_ratio : callable or None
        ``log_ratio(proposed, current, *args) -> float``: the Hastings correction
        ``log q(current | proposed) - log q(proposed | current)``. None is for a symmetric
        proposal, ``q(a | b) = q(b | a)``, which makes it the Metropolis algorithm; with one that
        is not symmetric, the chain samples another distribution.
    args : tuple of arrays and numbers
        Passed on to both functions.
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
        Where the chains run; threads by default. See `metropolis`.
    progress : bool, optional
        None shows a bar on runs of more than about two seconds.

    Returns
    -------
    Draws
        Interrupted, it warns and returns what was drawn, ``settings["interrupted"]`` set. Stats:

        - ``acceptance_rate``: the probability with which the proposal was accepted;
        - ``accepted``: whether it was.

        Settings:

        - ``acceptance``: the share accepted;
        - ``compiled``: whether the functions ran as machine code.

    Raises
    ------
    BayeslibError
        For arguments out of range, each named; when `propose` draws from something else than
        `rng`, or `log_ratio` does not change its sign as its arguments are exchanged (both tried
        at the first start); when `log_ratio` is nan or +inf. StartError when the density at a
        start is nan, infinite or zero; TargetError when it is +inf at a proposal. `partial` keeps
        the draws made until then.
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
    The proposal ``new`` is accepted with probability
    ``min(1, p(new) q(theta | new) / (p(theta) q(new | theta)))``. `log_ratio` is asked only where
    the density is positive. A proposal where the density is nan is rejected and counted, in
    ``settings["num_nan"]``.

    Draw order, for each iteration: whatever `propose` draws, then one uniform, also when it cannot
    matter; accepted when it is below the probability. Normals, uniforms and exponentials are the
    same compiled and in plain Python; of other variates the last bit may differ. When
    `initial_position` is None, `dim` uniforms for each attempted start come first (see `nuts`).

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
    dim, args = as_target(target).dim, as_data(args, "args")
    propose = Draws(propose, "propose", "theta", args, "args", dim)
    if log_ratio is not None:
        log_ratio = Compares(log_ratio, "log_ratio", ("proposed", "current"), args, "args")
    plan = as_plan(num_samples, num_warmup, num_chains, rng, executor, progress)
    options, settings = {"propose": propose, "compare": log_ratio}, {}

    def prepare(starts, generators):
        where = starts[0], generators[0]
        verify_move(propose, log_ratio, *where)
        settings["compiled"] = compile_all((propose, log_ratio), *where)

    return METROPOLIS_HASTINGS.sample(
        target, initial_position, options, plan, settings, prepare=prepare
    )


def verify_move(propose, log_ratio, theta, rng):
    """Try both functions at `theta` with copies of `rng`.

    Raises
    ------
    BayeslibError
        If the same generator gives two proposals, or if exchanging the arguments of `log_ratio`
        does not change its sign.
    """
    proposed = propose.twice(theta, rng)
    if log_ratio is None:
        return
    there, back = log_ratio(proposed, theta), log_ratio(theta, proposed)
    if np.isfinite(there + back) and abs(there + back) > 1e-8 * (1.0 + abs(there)):
        found = f"{log_ratio.label} is {there:.6g} from {shown(theta)} to {shown(proposed)}"
        raise BayeslibError(f"{found} and {back:.6g} the other way; it must change its sign only")
