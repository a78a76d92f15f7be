"""The evidence lower bound of any approximation."""

import numpy as np

from ..errors import BayeslibError, warn
from ..exact.grid_posterior import evaluate
from ..results import Estimate, Gaussian
from ..target import as_proposal, as_target
from ..validate import as_choice, as_count, as_rng, check_memory, shown

_CLIMB = 0.05  # nats by which the bound may rise while it is averaged
_BATCHES = 10


def elbo(target, approximation, *, num_samples=1000, rng, entropy="sampled"):
    """Estimate the evidence lower bound E_q[log p - log q] of an approximation q.

    The bound lies below the log evidence by KL(q || posterior), exactly.

    Parameters
    ----------
    target : Target
        Its log density, log p, need not be normalised.
    approximation : distribution
        See `as_proposal`: a `Gaussian`, a frozen distribution of `scipy.stats`, or anything with
        ``sample`` and a normalised ``logdensity``.
    num_samples : int
        Draws to average, at least 2.
    rng : int, Generator, SeedSequence or None
    entropy : {"sampled", "exact"}
        "sampled" averages log p - log q, which has no variance where q is the posterior. "exact"
        averages log p alone and adds the entropy in closed form, for a `Gaussian`. Its error is
        the smaller one only if q is less than 0.7 times as wide as the posterior (a Gaussian one).

    Returns
    -------
    Estimate
        -inf when a draw lies outside the target's support, as the bound then is.

    Raises
    ------
    BayeslibError
        For `entropy` of another name, or "exact" of what is no `Gaussian`, or when q's own density
        is zero, infinite or nan at one of its draws.
    TargetError
        When the log density is nan or +inf at a draw.

    Warns
    -----
    BayeslibWarning
        When draws lie outside the target's support.

    Notes
    -----
    The bound is the same in any coordinates: the Jacobian is in log p and in log q.

    Draw order: ``approximation.sample(num_samples, rng)``, nothing else.

    Examples
    --------
    >>> from scipy import stats
    >>> target = bl.posteriors.gamma_student()
    >>> for q in (stats.gamma(3), stats.gamma(6, scale=0.6)):
    ...     print(bl.elbo(target, q, num_samples=4000, rng=1))
    -2.944 ± 0.017
    -2.571 ± 0.010
    >>> print(round(target.truth.log_evidence, 3))  # above both
    -2.37
    """
    proposal = as_proposal(approximation, as_target(target).dim)
    num_samples = as_count(num_samples, "num_samples", minimum=2)
    as_choice(entropy, "entropy", ("sampled", "exact"))
    if entropy == "exact" and not isinstance(approximation, Gaussian):
        raise BayeslibError(f'entropy="exact" is of a Gaussian only, not of {proposal.label}')
    check_memory((num_samples, target.dim + 2), "the draws")
    rng, _ = as_rng(rng)
    if entropy == "exact":
        x = approximation.base.sample(num_samples, rng)
        values, log_jacobian = approximation._map.constrain(x), approximation._map.log_jacobian(x)
        terms = evaluate(target, values) + approximation.entropy + log_jacobian
    else:
        values = proposal.sample(num_samples, rng)
        terms = evaluate(target, values) - proposal.own_logdensity(values)
    outside = values[terms == -np.inf]
    if len(outside):
        found = f"{len(outside)} of {num_samples} draws lie outside the target's support"
        where = f"the first at theta={shown(outside[0])}"
        warn(f"the bound is -inf: {found}, {where}; approximate unconstrained(target)")
    return mean_of(terms)


@np.errstate(over="ignore", invalid="ignore")  # of a fit that went off, and of an error at -inf
def mean_of(terms):
    """Average independent terms, with the standard error, which is nan where one is -inf."""
    return Estimate(terms.mean(), terms.std(ddof=1) / np.sqrt(terms.size), terms.size)


@np.errstate(over="ignore")  # of a run that went off
def risen(trace):
    """Return the rise of the bound in the last half of an ascent, 0 if level; nan of few steps."""
    halves = np.array_split(trace[trace.size // 2 :], 2)
    if halves[1].size < 2 * _BATCHES:
        return np.nan
    batches = [[b.mean() for b in np.array_split(half, _BATCHES)] for half in halves]
    rise = np.mean(batches[1]) - np.mean(batches[0])
    error = np.sqrt(np.var(batches, axis=1, ddof=1).sum() / _BATCHES)
    return rise if rise > max(_CLIMB, 5.0 * error) else 0.0
