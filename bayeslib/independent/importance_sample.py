"""Importance sampling: draws of a proposal, weighted to stand for the target, and their k-hat."""

from dataclasses import replace

import numpy as np
from scipy import special

from ..chains.far import tail_index
from ..compile.callback import evaluate_many
from ..diagnostics.tails import fit_weights
from ..errors import BayeslibError, TargetError, ZeroWeightsError, warn
from ..results import Draws, Estimate
from ..target import as_proposal, as_target
from ..validate import as_count, as_floats, as_rng, blame, check_each, check_memory, shown
from ..waiting import watching

_ENDS = 8  # draws on rays through which the weights are followed outwards, and as many on axes
_REACH = 2.0  # times as far from the centre as the draws
_HIGHER = 0.01  # log weights above that of the mean, beneath which there is nothing to follow
_MATTERS = 1.0  # standard errors of a mean by which what lies out there would move it


def importance_sample(target, proposal, *, num_samples, progress=None, rng):
    """Draw from `proposal` and weight each draw by target over proposal.

    Parameters
    ----------
    target : Target
        Its log density need not be normalised.
    proposal : distribution
        See `as_proposal`. Its tails should be heavier than the target's; its log density must be
        normalised for `log_evidence` to be right.
    num_samples : int
    progress : bool, optional
        None shows a bar on runs of more than about two seconds.
    rng : int, Generator, SeedSequence or None

    Returns
    -------
    Draws
        Independent, shape (1, num_samples, dim), with raw, unnormalised `log_weights`.
        `log_evidence` is the log of the mean weight, with its error by the delta method: the mean
        weight is unbiased, its logarithm is biased low. Interrupted, it returns the draws that had
        been weighted, ``settings["interrupted"]`` set. Settings:

        - ``khat``: the Pareto shape of the weights' tail;
        - ``ess``: what the draws are worth for the mean of a function unrelated to the weights;
        - ``khat_beyond``: what k-hat would become further out, see Notes; -inf where nothing
          out there would matter. `num_evals` counts the at most 16 evaluations that it takes.

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
        When ``khat`` is above ``min(1 - 1 / log10(num_samples), 0.7)``, unless the draws are worth
        nine tenths of their number; when ``khat_beyond`` is above it; when they are worth less than
        that, and less than ten; or when the log density is nan somewhere (that draw gets no
        weight).

    Notes
    -----
    k-hat sees the weights of the draws only. Draws of a Gaussian proposal end before the tails of a
    Student-t target begin to matter: the weights look tame, and the error is too small. So the
    density is also asked twice as far from the draws' mean as the outermost draws that weigh more
    than the average: on the rays through those of least proposal density, along the axes through
    those with the least or greatest value of a coordinate. Out there the log weight rises by
    ``khat_beyond`` for each unit by which the proposal's log density falls. It is given only where
    the mass out there, as a Pareto tail of that shape, would move a mean by more than its standard
    error.

    Draw order: ``proposal.sample(num_samples, rng)``, nothing else.

    References
    ----------
    Kahn and Marshall (1953) for the method; Vehtari, Simpson, Gelman, Yao and Gabry (2024) for
    k-hat.

    Examples
    --------
    >>> from scipy import stats
    >>> target = bl.posteriors.gamma_student()
    >>> proposal = stats.gamma(3)
    >>> draws = bl.importance_sample(target, proposal, num_samples=4000, rng=1)
    >>> print(draws.expect(), target.truth.mean.round(3))
    [4.146 ± 0.021] [4.167]
    >>> print(draws.log_evidence, round(target.truth.log_evidence, 3))
    -2.363 ± 0.017 -2.37
    >>> khat, worth = draws.settings["khat"], draws.settings["ess"]
    >>> print(f"k-hat {khat:.1f}, worth {worth:.0f} draws")
    k-hat -1.6, worth 1843 draws
    """
    q, num_samples, rng, settings = as_sampling(target, proposal, num_samples, rng)
    with watching("importance_sample", num_samples, progress):
        method = "importance_sample"
        draws = weighted_draws(target, q, num_samples, rng, method=method, settings=settings)
    if not draws.settings["interrupted"]:
        khat, spent = _beyond(target, q, draws, getattr(proposal, "transform", None))
        draws = looked_into(draws, spent, khat_beyond=khat)
    return warn_of_weights(draws)


def as_sampling(target, proposal, num_samples, rng, *, minimum=1, copies=1):
    """Return what all methods that draw from a proposal are told, checked, and their settings.

    `copies` says how often the draws are in memory at once.
    """
    proposal = as_proposal(proposal, as_target(target).dim)
    num_samples = as_count(num_samples, "num_samples", minimum=minimum)
    check_memory((copies, num_samples, target.dim + 3), "the draws")
    rng, seed = as_rng(rng)
    settings = {"proposal": proposal.label, "num_samples": num_samples, "seed": seed}
    return proposal, num_samples, rng, settings


def _beyond(target, proposal, draws, transform):
    """Return how steeply weights that matter rise beyond the draws, and the evaluations spent."""
    log_weights, size = draws.log_weights[0], draws.num_samples
    values, log_q = draws.flat, proposal.logdensity(draws.flat)
    x = values if transform is None else transform.unconstrain(values)
    excess = log_weights - float(draws.log_evidence)
    ends = np.append(x.argmin(axis=0), x.argmax(axis=0))
    most = np.argsort(-excess[ends], kind="stable")[:_ENDS]
    starts = np.append(np.argsort(log_q, kind="stable")[:_ENDS], ends[most])
    away = x[starts] - x.mean(axis=0)
    away[-most.size :] *= np.eye(x.shape[1])[most % x.shape[1]]
    kept = excess[starts] > _HIGHER
    starts, away = starts[kept], away[kept]
    points, bound = x[starts] + (_REACH - 1.0) * away, target.bind(gradient=False)
    points = points if transform is None else transform.constrain(points)
    found = evaluate_many(bound, points)
    if bound.num_errors:
        return -np.inf, starts.size
    with np.errstate(all="ignore"):
        far = proposal.logdensity(points)
        fall = log_q[starts] - far
        khat = (found - far - log_weights[starts]) / fall
        reach = np.abs((values[starts] - values.mean(axis=0)) / values.std(axis=0)).max(axis=1)
        shift = np.exp(excess[starts]) * reach / np.sqrt(size) / np.maximum(1.0 - khat, 0.1)
        told = np.isfinite(fall) & (fall > 1.0) & (shift > _MATTERS)
    return float(np.max(khat[told], initial=-np.inf)), starts.size


def weighted_draws(target, proposal, num_samples, rng, *, method, settings):
    """Draw from `proposal` and weight; after an interrupt these are the first of the draws."""
    proposal = as_proposal(proposal, target.dim)
    values = proposal.sample(num_samples, rng)
    values, logdensity, log_weights, interrupt = compared(target, proposal, values, least=2)
    draws = weighted(
        target, proposal, values, logdensity, log_weights, num_evals=len(values),
        method=method, settings=settings | {"interrupted": interrupt is not None},
    )  # fmt: skip
    warn_of_nan(values[np.isnan(logdensity)], "draws, which get no weight")
    return draws


def compared(target, proposal, values, least=1):
    """Return draws of the proposal, the target's log density, and its log ratio to the proposal's.

    The ratio is -inf where the density is nan. An interrupt leaves the first of the draws, and is
    returned as the fourth, or is raised when they are fewer than `least`.
    """
    caught = None
    try:
        logdensity = target.many(values)
    except KeyboardInterrupt as interrupt:
        logdensity, caught = getattr(interrupt, "partial", np.empty(0)), interrupt
        if logdensity.size < least:
            raise
        values = values[: logdensity.size]
    log_q = proposal.own_logdensity(values)
    check_overflow(logdensity, values)
    log_ratio = np.where(np.isnan(logdensity), -np.inf, logdensity - log_q)
    return values, logdensity, log_ratio, caught


def weighted(target, proposal, values, logdensity, log_weights, *, num_evals, method, settings):
    """Make independent `Draws` of weighted values, with k-hat, ESS and the evidence."""
    if log_weights.max() == -np.inf:
        raise no_weight(target, values, proposal.label)
    _, khat = psis(log_weights)
    shift, size = log_weights.max(), log_weights.size
    weights = np.exp(log_weights - shift)
    ess = weights.sum() ** 2 / np.square(weights).sum()
    # the logarithm of the mean weight, with its error by the delta method
    mean, spread = weights.mean(), weights.std(ddof=1) if size > 1 else np.nan
    error = spread / (mean * np.sqrt(size))
    return Draws(
        values[None], logdensity=logdensity[None], log_weights=log_weights[None],
        num_evals=num_evals, method=method, settings=settings | {"khat": khat, "ess": float(ess)},
        names=target.names, independent=True,
        log_evidence=Estimate(shift + np.log(mean), error, num_evals),
    )  # fmt: skip


def with_tails(target, draws):
    """Return the draws with the setting ``tail_index`` that chains have, and its evaluations."""
    if not np.isfinite(draws.values).all():
        return draws
    index, spent = tail_index(target, draws.values)
    return looked_into(draws, spent, tail_index=index)


def looked_into(draws, spent, **found):
    """Return the draws with what more evaluations, `spent`, have found among the settings."""
    num_evals = draws.num_evals + spent
    return replace(
        draws, settings=draws.settings | found, num_evals=num_evals,
        log_evidence=replace(draws.log_evidence, num_evals=num_evals),
    )  # fmt: skip


def warn_of_weights(draws):
    """Return the draws; warn the caller of a public function when these are not to be trusted."""
    warn(*draws.problems)
    return draws


def check_overflow(logdensity, values):
    """Raise TargetError for the first of `values`, (n, dim), whose log density is +inf."""
    if np.any(logdensity == np.inf):
        first = int(np.argmax(logdensity == np.inf))  # of nan and inf nan would be the largest
        raise TargetError(f"the log density is +inf at theta={shown(values[first])}: it overflows")


def warn_of_nan(points, fate):
    """Warn if there are points, (n, dim), at which the log density is nan, and of their fate."""
    if len(points):
        others = f"{len(points) - 1} other {fate}"
        warn(f"the log density is nan at theta={shown(points[0])} and {others}")


def no_weight(target, values, label, more=""):
    """Return the error for draws of a proposal, (n, dim), none of which has any weight."""
    odd = np.isnan(target.many(values))  # asked again, for particles remember -inf
    found = f"{len(values)} draws of {label}, the first at theta={shown(values[odd.argmax()])}"
    if odd.any():
        found = f"the log density is finite at none, nan at {odd.sum()} of {found}"
        return ZeroWeightsError(blame(target, f"{found}: look for 0/0 or a log of less than 0"))
    found = f"none of {found}, lies in the target's support"
    return ZeroWeightsError(blame(target, f"{found}: move or widen the proposal{more}"))


def psis(log_weights):
    """Pareto-smooth importance weights and measure how heavy their tail is.

    The largest ``min(0.2 S, 3 sqrt(S))`` of S weights are replaced by the expected order
    statistics of a generalised Pareto distribution fitted to them, and truncated at the largest
    raw weight.

    Parameters
    ----------
    log_weights : Draws or array, shape (S,) or (num_chains, num_samples)
        Unnormalised: adding a constant changes nothing. -inf is a weight of zero.

    Returns
    -------
    log_weights : numpy.ndarray
        Smoothed and normalised, their exponentials sum to 1; the shape of the input.
    khat : float
        The fitted shape. Below 0.5 the variance of the weights is probably finite; above
        min(1 - 1 / log10(S), 0.7) estimates are not to be trusted. -inf when the tail and the
        weight below it are all equal, so that nothing stands out; else nan for fewer than 21 draws,
        and inf when fewer than five weights stand out, so that these few carry everything.

    Raises
    ------
    ZeroWeightsError
        When all weights are zero.
    BayeslibError
        When a log weight is nan or +inf, or there is none.

    References
    ----------
    Vehtari, Simpson, Gelman, Yao and Gabry (2024), "Pareto smoothed importance sampling"; the fit
    is that of Zhang and Stephens (2009), "A new and efficient estimation method for the generalized
    Pareto distribution", shrunk towards 0.5 with the weight of ten draws.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from scipy import stats
    >>> target = bl.posteriors.gaussian([0.0], 1.0)
    >>> draws = bl.importance_sample(
    ...     target, stats.norm(1.0, 0.8), num_samples=10_000, rng=1)
    >>> smoothed, khat = bl.psis(draws)
    >>> print(round(khat, 2))
    0.62
    >>> print(replace(draws, log_weights=smoothed).expect())
    [-0.025 ± 0.052]
    """
    given = getattr(log_weights, "log_weights", log_weights)
    if given is None:
        raise BayeslibError("these draws have no weights; psis needs those of importance_sample")
    given = as_floats(given, "log_weights")
    x = given.ravel()
    if x.size == 0:
        raise BayeslibError("log_weights is empty")
    check_each(given, "log_weights", "finite or -inf", given < np.inf)
    if x.max() == -np.inf:
        raise ZeroWeightsError(f"all {x.size} weights are zero")
    x = x - x.max()
    khat, scale, cutoff, tail = fit_weights(x)
    if tail.size and np.isfinite(khat):
        p = (np.arange(tail.size) + 0.5) / tail.size  # of which excess has the Pareto quantiles
        with np.errstate(over="ignore"):  # what is beyond the largest float is cut at the largest
            excess = -scale * special.boxcox1p(-p, -khat)
            x[tail] = np.minimum(np.log(excess + np.exp(cutoff)), 0.0)
    return (x - special.logsumexp(x)).reshape(given.shape), khat
