"""Importance sampling: draws of a proposal, weighted to stand for the target."""

import warnings

import numpy as np
from scipy import special

from .errors import BayeslibError, BayeslibWarning, TargetError, ZeroWeightsError
from .proposals import as_proposal
from .results import Draws, Estimate
from .target import as_target
from .trouble import khat_limit
from .validate import as_count, as_floats, as_rng, check_memory


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
    """
    proposal = as_proposal(proposal, as_target(target).dim)
    num_samples = as_count(num_samples, "num_samples")
    check_memory((num_samples, target.dim + 3), "the draws")
    rng, seed = as_rng(rng)
    values = proposal.sample(num_samples, rng)
    logdensity = target.many(values)
    log_q = proposal.logdensity(values)
    log_weights = _log_weights(values, logdensity, log_q, proposal.label)
    _, khat = psis(log_weights)
    weights = np.exp(log_weights - log_weights.max())
    ess = weights.sum() ** 2 / np.square(weights).sum()
    draws = Draws(
        values[None],
        logdensity=logdensity[None],
        log_weights=log_weights[None],
        num_evals=num_samples,
        method="importance_sample",
        settings={
            "proposal": proposal.label,
            "num_samples": num_samples,
            "seed": seed,
            "khat": khat,
            "ess": float(ess),
        },
        names=target.names,
        log_evidence=_log_mean(log_weights),
        independent=True,
    )
    if khat > khat_limit(num_samples) or ess < min(10.0, num_samples):
        warnings.warn("; ".join(draws.problems), BayeslibWarning, stacklevel=2)
    return draws


def _log_weights(values, logdensity, log_q, label):
    bad = ~np.isfinite(log_q)
    if bad.any():
        first = int(bad.argmax())
        raise BayeslibError(
            f"the log density of the proposal {label} is {log_q[first]} at theta={values[first]}, "
            "a point it drew itself, so that no weight can be given to it: its sample and "
            "logdensity disagree"
        )
    if np.any(logdensity == np.inf):
        first = int(np.argmax(logdensity))
        raise TargetError(f"the log density is +inf at theta={values[first]}: it overflows")
    nan = np.isnan(logdensity)
    if nan.any():
        warnings.warn(
            f"the log density is nan at theta={values[nan.argmax()]} and {int(nan.sum()) - 1} "
            "other draws, which get no weight",
            BayeslibWarning,
            stacklevel=3,
        )
    log_weights = np.where(nan, -np.inf, logdensity - log_q)
    if not np.any(log_weights > -np.inf):
        raise ZeroWeightsError(
            f"none of {len(values)} draws of the proposal {label} lies in the target's support, "
            f"the first is theta={values[0]}: move or widen the proposal"
        )
    return log_weights


def _log_mean(log_weights):
    size = log_weights.size
    shift = log_weights.max()
    weights = np.exp(log_weights - shift)
    mean = weights.mean()
    spread = weights.std(ddof=1) if size > 1 else np.nan
    return Estimate(float(shift + np.log(mean)), float(spread / (mean * np.sqrt(size))), size)


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
        The fitted shape. Below 0.5 the variance of the weights is finite; above
        min(1 - 1 / log10(S), 0.7) estimates are not to be trusted. inf when too few weights differ
        from the rest to fit a tail to, so that these few carry everything; -inf when that many
        weights equal the largest, so that nothing sticks out; nan for fewer than 21 draws.

    Raises
    ------
    ZeroWeightsError
        When all weights are zero.
    BayeslibError
        When a log weight is nan or +inf, or there is none.

    References
    ----------
    Vehtari, Simpson, Gelman, Yao and Gabry (2024), "Pareto smoothed importance sampling"; the fit
    is that of Zhang and Stephens (2009), shrunk towards 0.5 with the weight of ten draws.
    """
    given = getattr(log_weights, "log_weights", log_weights)
    if given is None:
        raise BayeslibError("these draws have no weights; psis needs those of importance_sample")
    given = as_floats(given, "log_weights")
    x = given.ravel()
    if x.size == 0:
        raise BayeslibError("log_weights is empty")
    bad = np.isnan(x) | (x == np.inf)
    if bad.any():
        first = int(bad.argmax())
        raise BayeslibError(f"log_weights[{first}] is {x[first]}; it must be finite or -inf")
    if x.max() == -np.inf:
        raise ZeroWeightsError(f"all {x.size} weights are zero")
    smoothed, khat = _smooth(x - x.max())
    smoothed -= special.logsumexp(smoothed)
    return smoothed.reshape(given.shape), khat


def _smooth(x):
    """Smooth log weights whose largest is 0."""
    tail_size = int(np.ceil(min(x.size / 5.0, 3.0 * np.sqrt(x.size))))
    order = np.argsort(x, kind="stable")
    cutoff = max(x[order[-tail_size - 1]], np.log(np.finfo(float).tiny)) if x.size > 1 else 0.0
    if cutoff == 0.0:
        return x, -np.inf
    if tail_size < 5:
        return x, np.nan
    tail = order[x[order] > cutoff]
    if tail.size < 5:
        return x, np.inf
    excess = np.exp(x[tail]) - np.exp(cutoff)
    khat, scale = _fit_pareto(excess)
    if np.isfinite(khat):
        p = (np.arange(tail.size) + 0.5) / tail.size
        x[tail] = np.minimum(np.log(_pareto_quantile(p, khat, scale) + np.exp(cutoff)), 0.0)
    return x, float(khat)


def _fit_pareto(x):
    """Shape and scale of a generalised Pareto distribution, for sorted positive `x`."""
    n = x.size
    grid = 30 + int(np.sqrt(n))
    b = 1.0 - np.sqrt(grid / (np.arange(1, grid + 1) - 0.5))
    b = b / (3.0 * x[int(n / 4 + 0.5) - 1]) + 1.0 / x[-1]
    shape = np.log1p(-b[:, None] * x).mean(axis=1)
    log_likelihood = n * (np.log(-b / shape) - shape - 1.0)
    weights = special.softmax(log_likelihood)
    kept = weights >= 10.0 * np.finfo(float).eps
    b_mean = b[kept] @ weights[kept] / weights[kept].sum()
    shape = np.log1p(-b_mean * x).mean()
    return (n * shape + 5.0) / (n + 10.0), -shape / b_mean


def _pareto_quantile(p, shape, scale):
    if abs(shape) < np.finfo(float).eps:
        return -scale * np.log1p(-p)
    return scale * np.expm1(-shape * np.log1p(-p)) / shape
