"""Metropolis-Hastings with proposals that do not depend on the state."""

from typing import NamedTuple

import numpy as np

from ..chains.algorithm import Algorithm, as_plan
from ..chains.functions import Portable
from ..chains.loop import Chain, acceptance, copy, laid_out, log_density, record
from ..compile.kinds import MATRIX, VECTOR
from ..diagnostics.trouble import longest_stay_problem
from ..errors import BayeslibError, warn
from ..target.proposals import as_proposal
from ..target.target import as_target
from ..validate import shown

Now = record(log_weight="f8")  # of where the chain is


class Proposals(NamedTuple):
    """All that will be proposed, drawn beforehand, and where the chain is."""

    position: VECTOR
    proposals: MATRIX
    log_q: VECTOR
    now: Now


Note = record(acceptance_rate="f8", accepted="?", log_weight="f8")


def independence_step(target, rng, log_p, x, note):
    """Take the next proposal, or stay, by the ratio of their weights p / q."""
    t = target.account.t
    log_new = log_density(target, x.proposals[t])
    log_weight = log_new - x.log_q[t]
    # `accepts` written out: numba warns where a record is longer than one it was compiled for
    note.acceptance_rate = acceptance(log_weight - x.now.log_weight)
    note.accepted = rng.random() < note.acceptance_rate
    if note.accepted:
        x.now.log_weight = log_weight
        copy(x.proposals[t], x.position)
        log_p = log_new
    note.log_weight = x.now.log_weight
    return log_p


def initial(run, start, portable):
    proposal = as_proposal(portable.value, start.size)
    proposals = proposal.sample(run.num_warmup + run.num_samples, run.rng)
    log_q = proposal.logdensity(np.concatenate([start[None], proposals]))
    if not np.isfinite(log_q[0]):
        found = f"log density {log_q[0]} at the start {shown(start)}"
        raise BayeslibError(f"the proposal has {found}: start within its support")
    proposal.check_own(proposals, log_q[1:])
    now = {"log_weight": run.bound(start, np.empty(start.size)) - log_q[0]}
    return laid_out(Proposals, position=start, proposals=proposals, log_q=log_q[1:], now=now)


def settings(run):
    """The most iterations in a row without a move, the one that led to the state included."""
    accepted = run.notes["accepted"][: max(run.done - run.num_warmup, 0)]
    moves = np.flatnonzero(np.concatenate([[True], accepted, [True]]))
    return {"longest_stay": int(np.diff(moves).max())}


INDEPENDENCE_METROPOLIS = Algorithm(
    "independence_metropolis", Chain(independence_step, Proposals, Note), initial, settings
)


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
        Where the chains run; threads by default. See `metropolis`.
    progress : bool, optional
        None shows a bar on runs of more than about two seconds.

    Returns
    -------
    Draws
        Interrupted, it warns and returns what was drawn, ``settings["interrupted"]`` set. Stats:

        - ``acceptance_rate``: the probability with which the proposal was accepted;
        - ``accepted``: whether it was;
        - ``log_weight``: ``log p - log q`` of the state.

        Settings:

        - ``acceptance``: the share accepted;
        - ``longest_stay`` (num_chains,): the most iterations that the chain spent on one state.

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
    The proposal ``new`` is accepted with probability ``min(1, w(new) / w(theta))``, where
    ``w = p / q``. Where w is bounded by c, p and q being normalised, each iteration multiplies the
    total variation distance to the target by at most ``1 - 1 / c`` (Tierney, 1994; Mengersen and
    Tweedie, 1996); where it is not, some states hold the chain for arbitrarily long. A proposal
    where the density is nan is rejected and counted, in ``settings["num_nan"]``.

    Draw order, for each chain: for a start, ``proposal.sample(1, rng)`` until the density is
    positive; then, all at once, as many as there are iterations; then one uniform for each
    iteration; accepted when it is below the probability.

    References
    ----------
    Hastings (1970), Monte Carlo sampling methods using Markov chains and their applications.
    Tierney (1994), Markov chains for exploring posterior distributions. Mengersen and Tweedie
    (1996), Rates of convergence of the Hastings and Metropolis algorithms.

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
    plan = as_plan(num_samples, num_warmup, num_chains, rng, executor, progress)
    draws = INDEPENDENCE_METROPOLIS.sample(
        target, initial_position, {"portable": Portable(proposal)}, plan,
        {"proposal": distribution.label}, draw=lambda rng: distribution.sample(1, rng)[0],
        numbers=-(-(dim + 2) * (plan.num_samples + plan.num_warmup) // plan.num_samples),
    )  # fmt: skip
    warn(longest_stay_problem(draws))
    return draws
