"""The evidence lower bound of any approximation."""

import numpy as np

from ..errors import BayeslibError, TargetError, warn
from ..results import Estimate, Gaussian
from ..target.proposals import as_proposal
from ..target.target import as_target
from ..validate import as_count, as_rng, blame, check_memory, shown


def elbo(target, approximation, *, num_samples=1000, rng, entropy="sampled"):
    """Estimate the evidence lower bound E_q[log p - log q] of an approximation q.

    It lies below the log evidence by KL(q || posterior), exactly.

    Parameters
    ----------
    target : Target
        Its log density, log p, need not be normalised.
    approximation : distribution
        See `as_proposal`: a `Gaussian`, a frozen distribution of `scipy.stats`, or anything with
        ``sample`` and a normalised ``logdensity``.
    num_samples : int
    rng : int, Generator, SeedSequence or None
    entropy : {"sampled", "exact"}
        "sampled" averages log p - log q, which has no variance where q is the posterior. "exact"
        averages log p alone and adds the entropy in closed form, for a `Gaussian`: the smaller
        error when q is far from the posterior.

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
    Draw order: ``approximation.sample(num_samples, rng)``, nothing else. The average of
    E_q[log p] - E_q[log q] is the same in any coordinates, the Jacobian being in both.

    Examples
    --------
    >>> from scipy import stats
    >>> target = bl.posteriors.gamma_student()
    >>> for q in (stats.gamma(3), stats.gamma(6, scale=0.6)):
    ...     bound = bl.elbo(target, q, num_samples=4000, rng=1)
    ...     print(bound, float(bound) < target.truth.log_evidence)
    -2.944 ± 0.017 True
    -2.571 ± 0.010 True
    """
    proposal = as_proposal(approximation, as_target(target).dim)
    num_samples = as_count(num_samples, "num_samples", minimum=2)
    if not (isinstance(entropy, str) and entropy in ("sampled", "exact")):
        raise BayeslibError(f'entropy must be "sampled" or "exact", got {entropy!r}')
    if entropy == "exact" and not isinstance(approximation, Gaussian):
        raise BayeslibError(
            f'entropy="exact" is known of a Gaussian only, not of {proposal.label}: leave it '
            '"sampled"'
        )
    check_memory((num_samples, target.dim + 2), "the draws")
    rng, _ = as_rng(rng)
    transform = approximation.transform if entropy == "exact" else None
    if transform is None:
        values = proposal.sample(num_samples, rng)
    else:
        x = approximation.base.sample(num_samples, rng)
        values = transform.constrain(x)
    terms, outside = bound_terms(target, values)
    if entropy == "exact":
        terms = terms + approximation.entropy
        if transform is not None:
            terms = terms + transform.log_jacobian(x)
    else:
        log_q = proposal.logdensity(values)
        bad = ~np.isfinite(log_q)
        if bad.any():
            first = int(bad.argmax())
            raise BayeslibError(
                f"the log density of the approximation {proposal.label} is {log_q[first]} at "
                f"theta={shown(values[first])}, a point it drew itself: its sample and "
                "logdensity disagree"
            )
        terms = terms - log_q
    if outside:
        first = values[int(np.argmax(terms == -np.inf))]
        warn(
            f"{outside} of {num_samples} draws of the approximation lie outside the target's "
            f"support, the first is theta={shown(first)}: the bound is -inf; approximate on "
            "unconstrained coordinates"
        )
    return mean_of(terms)


def bound_terms(target, values, *, forgive_nan=False):
    """Log densities at draws (n, dim), which may be -inf, and how many are.

    With `forgive_nan` nan counts as -inf; otherwise it raises, as +inf always does.
    """
    logdensity = target.many(values)
    if forgive_nan:
        logdensity = np.where(np.isnan(logdensity), -np.inf, logdensity)
    bad = np.isnan(logdensity) | (logdensity == np.inf)
    if bad.any():
        first = int(bad.argmax())
        words = f"the log density is {logdensity[first]} at theta={shown(values[first])}"
        raise TargetError(blame(target, words))
    return logdensity, int(np.sum(logdensity == -np.inf))


def mean_of(terms):
    """Average independent terms, with the standard error; -inf if one of them is."""
    if np.any(terms == -np.inf):
        return Estimate(-np.inf, np.nan, terms.size)
    return Estimate(float(terms.mean()), float(terms.std(ddof=1) / np.sqrt(terms.size)), terms.size)
