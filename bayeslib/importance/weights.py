"""Importance sampling: draws of a proposal, weighted to stand for the target."""

import numpy as np

from ..errors import BayeslibError, TargetError, ZeroWeightsError, warn
from ..proposals import as_proposal
from ..results import Draws, Estimate
from ..target import as_target
from ..validate import as_count, as_rng, check_memory, shown
from .pareto import psis


def importance_sample(target, proposal, *, num_samples, rng):
    """Draw from `proposal` and weight each draw by target over proposal.

    Parameters
    ----------
    target : Target
        Its log density need not be normalised.
    proposal : distribution
        See `as_proposal`. Its tails should be heavier than the target's; its log density must be
        normalised for `log_evidence` to be right.
    num_samples : int
    rng : int, Generator, SeedSequence or None

    Returns
    -------
    Draws
        Independent, shape (1, num_samples, dim), with raw, unnormalised `log_weights`.
        ``settings`` holds ``khat``, the Pareto shape of the weights' tail, and ``ess``, what the
        draws are worth for the mean of a function unrelated to the weights. ``log_evidence`` is
        the log of the mean weight, with its error by the delta method: the mean weight is
        unbiased, its logarithm is biased low.

    Raises
    ------
    ZeroWeightsError
        When no draw has a positive weight.
    TargetError
        When the log density is +inf at a draw.
    BayeslibError
        When the proposal's own density is zero, infinite or nan at one of its draws.

    Warns
    -----
    BayeslibWarning
        When k-hat is above min(1 - 1 / log10(num_samples), 0.7), when fewer than ten draws' worth
        remain, or when the log density is nan somewhere (that draw gets no weight).

    Notes
    -----
    Draw order: ``proposal.sample(num_samples, rng)``, nothing else.

    References
    ----------
    Kahn and Marshall (1953) for the method; Vehtari, Simpson, Gelman, Yao and Gabry (2024) for
    k-hat.

    Examples
    --------
    >>> from scipy import stats
    >>> target = bl.posteriors.gamma_student()
    >>> draws = bl.importance_sample(target, stats.gamma(3), num_samples=4000, rng=1)
    >>> print(draws.expect(), target.truth.mean.round(3))
    [4.146 ± 0.021] [4.167]
    >>> print(draws.log_evidence, round(target.truth.log_evidence, 3))
    -2.363 ± 0.017 -2.37
    >>> print(f"k-hat {draws.settings['khat']:.1f}, worth {draws.settings['ess']:.0f} draws")
    k-hat -1.6, worth 1843 draws
    """
    proposal = as_proposal(proposal, as_target(target).dim)
    num_samples = as_count(num_samples, "num_samples")
    check_memory((num_samples, target.dim + 3), "the draws")
    rng, seed = as_rng(rng)
    draws = weighted_draws(
        target, proposal, num_samples, rng, method="importance_sample",
        settings={"proposal": proposal.label, "num_samples": num_samples, "seed": seed},
    )  # fmt: skip
    warn_of_weights(draws)
    return draws


def weighted_draws(target, proposal, num_samples, rng, *, method, settings, spent=0):
    """Draw from `proposal` and weight, `spent` evaluations having been made before."""
    values = proposal.sample(num_samples, rng)
    logdensity = target.many(values)
    log_q = proposal.logdensity(values)
    log_weights = _log_weights(values, logdensity, log_q, proposal.label)
    return weighted(
        values, logdensity, log_weights,
        num_evals=num_samples + spent, method=method, settings=settings, names=target.names,
    )  # fmt: skip


def weighted(values, logdensity, log_weights, *, num_evals, method, settings, names):
    """Make independent `Draws` of weighted values, with k-hat, ESS and the evidence."""
    _, khat = psis(log_weights)
    weights = np.exp(log_weights - log_weights.max())
    ess = weights.sum() ** 2 / np.square(weights).sum()
    return Draws(
        values[None],
        logdensity=logdensity[None],
        log_weights=log_weights[None],
        num_evals=num_evals,
        method=method,
        settings=settings | {"khat": khat, "ess": float(ess)},
        names=names,
        log_evidence=_log_mean(log_weights, num_evals),
        independent=True,
    )


def warn_of_weights(draws):
    """Warn the caller of a public function when the weights are not to be trusted."""
    size = draws.num_samples
    if draws.settings["khat"] > khat_limit(size) or draws.settings["ess"] < min(10.0, size):
        warn("; ".join(draws.problems))


def _log_weights(values, logdensity, log_q, label):
    bad = ~np.isfinite(log_q)
    if bad.any():
        first = int(bad.argmax())
        raise BayeslibError(
            f"the log density of the proposal {label} is {log_q[first]} at "
            f"theta={shown(values[first])}, a point it drew itself, so that no weight can be "
            "given to it: its sample and logdensity disagree"
        )
    if np.any(logdensity == np.inf):
        first = int(np.argmax(logdensity))
        raise TargetError(f"the log density is +inf at theta={shown(values[first])}: it overflows")
    nan = np.isnan(logdensity)
    if nan.any():
        warn(
            f"the log density is nan at theta={shown(values[nan.argmax()])} and "
            f"{int(nan.sum()) - 1} other draws, which get no weight"
        )
    log_weights = np.where(nan, -np.inf, logdensity - log_q)
    if not np.any(log_weights > -np.inf):
        raise ZeroWeightsError(
            f"none of {len(values)} draws of the proposal {label} lies in the target's support, "
            f"the first is theta={shown(values[0])}: move or widen the proposal"
        )
    return log_weights


def _log_mean(log_weights, num_evals):
    """Logarithm of the mean weight, with its error by the delta method."""
    size = log_weights.size
    shift = log_weights.max()
    weights = np.exp(log_weights - shift)
    mean = weights.mean()
    spread = weights.std(ddof=1) if size > 1 else np.nan
    return Estimate(float(shift + np.log(mean)), float(spread / (mean * np.sqrt(size))), num_evals)
