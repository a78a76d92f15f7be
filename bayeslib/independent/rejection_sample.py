"""Rejection sampling under an envelope that is known beforehand."""

import numpy as np

from ..errors import EnvelopeError, RejectionError, warn
from ..results import Draws, Estimate
from ..validate import as_count, as_real, blame, shown
from ..waiting import watched
from .importance_sample import as_sampling, compared, warn_of_nan


@watched()
def rejection_sample(
    target, proposal, *, log_bound, num_samples, rng, max_proposals=None, progress=None
):
    """Draw exactly from `target` by accepting some of the draws of `proposal`.

    Parameters
    ----------
    target : Target
        Its log density need not be normalised.
    proposal : distribution
        See `as_proposal`; its log density must be normalised for `log_evidence` to be right.
    log_bound : float
        The logarithm of c in ``p~(theta) <= c q(theta)``, which must hold everywhere.
    num_samples : int
        Draws to return.
    rng : int, Generator, SeedSequence or None
    max_proposals : int, optional
        Give up when this many proposals were not enough; None is 10,000 a draw, at least a million.
    progress : bool, optional
        None shows a bar on runs of more than about two seconds.

    Returns
    -------
    Draws
        Independent, shape (1, num_samples, dim). `log_evidence` follows from the acceptance. An
        interrupt warns and returns what was accepted until then, ``settings["interrupted"]`` set.

        - Stats: ``num_proposals``, how many each draw took.
        - Settings: ``num_proposed`` in all, up to and including the last one accepted, and
          ``acceptance``.

    Raises
    ------
    EnvelopeError
        At the first round in which the target rises above the envelope, with the worst position.
    RejectionError
        When `max_proposals` were made; its `partial` holds the draws accepted until then.
    TargetError
        When the log density is +inf at a proposal.
    BayeslibError
        When the proposal's own density is zero, infinite or nan at one of its draws.

    Warns
    -----
    BayeslibWarning
        When the log density is nan at a proposal, which is rejected.

    Notes
    -----
    Evidence: after N acceptances in T proposals ``a = (N - 1) / (T - 1)`` estimates the acceptance
    probability without bias (Haldane 1945), and its variance is estimated by ``a * (1 - a) / (T -
    2)``, with one rejection where there was none. The evidence is a times ``exp(log_bound)``; its
    logarithm gets its error by the delta method.

    Draw order: a round is ``proposal.sample(num_samples, rng)`` and then
    ``rng.random(num_samples)``; proposal i is accepted when ``log u[i] < log p - log q -
    log_bound``. Rounds follow until `num_samples` are accepted; what the last round accepts beyond
    that is dropped, so that the draws come in the order proposed.

    References
    ----------
    von Neumann (1951), "Various techniques used in connection with random digits". Haldane
    (1945), "On a method of estimating frequencies", for the unbiased estimate.

    Examples
    --------
    >>> from scipy import stats
    >>> target = bl.posteriors.coin(8, 2)
    >>> log_bound = target(0.8)  # the mode: nowhere is the density higher
    >>> draws = bl.rejection_sample(
    ...     target, stats.uniform(), log_bound=log_bound, num_samples=2000, rng=1
    ... )
    >>> print(draws.expect(), target.truth.mean.round(4))
    [0.7480 ± 0.0027] [0.75]
    >>> print(draws.log_evidence, round(target.truth.log_evidence, 3))
    -6.190 ± 0.019 -6.205
    """
    proposal, num_samples, rng, settings = as_sampling(target, proposal, num_samples, rng)
    settings |= {"log_bound": as_real(log_bound, "log_bound"), "interrupted": False}
    if max_proposals is None:
        max_proposals = max(1_000_000, 10_000 * num_samples)
    settings["max_proposals"] = max_proposals = as_count(max_proposals, "max_proposals")
    rounds = _Rounds(target, settings)
    try:
        while rounds.num_accepted < num_samples:
            if rounds.num_proposed >= max_proposals:
                raise _gave_up(rounds)
            rounds.add(proposal, proposal.sample(num_samples, rng), rng.random(num_samples))
    except KeyboardInterrupt:
        if rounds.num_accepted == 0:
            raise
        settings["interrupted"] = True
        warn(f"the run was interrupted: {rounds.num_accepted} of {num_samples} draws are kept")
    return rounds.draws()


class _Rounds:
    """What the rounds so far have accepted."""

    def __init__(self, target, settings):
        self.target, self.settings = target, settings
        self.accepted, self.nan = [], []
        self.num_accepted = self.num_proposed = 0

    def add(self, proposal, values, uniforms):
        bound = self.settings["log_bound"]
        values, log_p, log_ratio, interrupt = compared(self.target, proposal, values)
        self.nan.append(values[np.isnan(log_p)])
        log_ratio -= bound
        worst = int(np.argmax(log_ratio))
        if log_ratio[worst] > 1e-12 * (1.0 + abs(log_p[worst]) + abs(bound)):  # more than rounding
            needed = float(bound + log_ratio[worst])
            found = f"the target rises above the envelope at theta={shown(values[worst])}"
            remedy = f"use log_bound >= {np.ceil(1e4 * needed) / 1e4:.10g}, not {bound:.6g}"
            told = f"{found}: {remedy}, or a proposal with heavier tails"
            where = {"position": values[worst].copy(), "log_ratio": float(log_ratio[worst])}
            raise EnvelopeError(told, needed_log_bound=needed, **where)
        accepted = np.flatnonzero(np.log(uniforms[: len(values)]) < log_ratio)
        self.accepted.append((values[accepted], log_p[accepted], self.num_proposed + accepted))
        self.num_accepted += accepted.size
        self.num_proposed += len(values)
        if interrupt:
            raise interrupt

    def draws(self):
        """What was accepted as `Draws`; without a complete run the count of proposals is fixed."""
        warn_of_nan(np.concatenate(self.nan), "proposals, which were rejected")
        wanted = self.settings["num_samples"]
        kept = map(np.concatenate, zip(*self.accepted, strict=True))
        values, logdensity, index = (array[:wanted] for array in kept)
        complete = len(values) == wanted
        trials = int(index[-1]) + 1 if complete else self.num_proposed
        # unbiased, as the last acceptance of a complete run was waited for
        accepted, proposed = len(values) - complete, trials - complete
        acceptance, log_evidence = float("nan") if len(values) else 0.0, None
        if accepted > 0 and proposed > 1:
            acceptance = accepted / proposed
            rejected = max(1.0 - acceptance, 1.0 / proposed)  # one at least, or the error were 0
            error = np.sqrt(rejected / acceptance / (proposed - 1))
            value = np.log(acceptance) + self.settings["log_bound"]
            log_evidence = Estimate(value, error, self.num_proposed)
        return Draws(
            values[None], logdensity=logdensity[None],
            stats={"num_proposals": np.diff(index, prepend=-1)[None]}, num_evals=self.num_proposed,
            method="rejection_sample",
            settings={**self.settings, "num_proposed": trials, "acceptance": acceptance},
            names=self.target.names, log_evidence=log_evidence, independent=True,
        )  # fmt: skip


def _gave_up(rounds):
    got, wanted = rounds.num_accepted, rounds.settings["num_samples"]
    found = f"{got} of {wanted} draws after {rounds.num_proposed:,} proposals, kept in `partial`"
    words = f"{found}: lower log_bound, bring the proposal nearer, or raise max_proposals"
    error = RejectionError(words if got else blame(rounds.target, words))
    error.partial = rounds.draws()
    return error
