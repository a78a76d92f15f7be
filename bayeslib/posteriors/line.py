"""Posteriors on the line: the book's main target and the coin."""

import numpy as np
from scipy import special

from ..target import Target, Truth
from ..validate import as_count, as_real, as_scale
from .truths import PROBABILITIES, Line, line_truth


def gamma_student(y=5.0):
    """The book's main target: a Gamma prior and one observation with Student-t noise.

    ``theta ~ Gamma(3, rate 1)`` and ``y - theta ~ Student-t`` with 2 degrees of freedom. The
    log density is log prior + log likelihood, so that its evidence is p(y).

    Parameters
    ----------
    y : float
        The observation, in the units of theta.

    Returns
    -------
    Target
        dim 1, support (0, inf). The truth is by quadrature, to 12 digits.

    Examples
    --------
    >>> target = bl.posteriors.gamma_student(y=5.0)
    >>> print(target.support, target.truth.mean.round(4))
    ((0.0, inf),) [4.167]
    >>> print(round(target.truth.log_evidence, 4))
    -2.37
    """
    y = as_real(y, "y")

    def logdensity(x):
        log_prior = 2.0 * np.log(np.maximum(x, 1e-300)) - x - np.log(2.0)
        return log_prior - 1.5 * np.log1p(0.5 * (y - x) ** 2) - 1.5 * np.log(2.0)

    # beyond 120 the prior is below 1e-45 of its peak; the likelihood's poles lie sqrt(2) off the
    # axis, so panels of this width resolve it to rounding wherever y is
    truth = line_truth(Line(logdensity, np.arange(0.0, 120.5, 0.5)))
    return Target(
        _gamma_student, dim=1, data=(y,), fused=_gamma_student_fused, support=(0.0, np.inf),
        truth=truth,
    )  # fmt: skip


def _gamma_student(theta, y):
    x = theta[0]
    if x <= 0.0:
        return -np.inf
    log_prior = 2.0 * np.log(x) - x - np.log(2.0)
    log_likelihood = -1.5 * np.log1p(0.5 * (y - x) ** 2) - 1.5 * np.log(2.0)
    return log_prior + log_likelihood


def _gamma_student_fused(theta, grad, y):
    x = theta[0]
    if x <= 0.0:
        grad[0] = 0.0
        return -np.inf
    r = y - x
    t = 1.0 + 0.5 * r * r
    grad[0] = 2.0 / x - 1.0 + 1.5 * r / t
    return 2.0 * np.log(x) - x - 1.5 * np.log(t) - 2.5 * np.log(2.0)


def coin(heads, tails, *, prior=(1.0, 1.0)):
    """The probability of heads, after a sequence of tosses, under a Beta prior.

    The evidence is the probability of the tosses in the order in which they fell: no binomial
    coefficient. (The book's coin with three hypotheses goes through `enumerate_posterior`.)

    Parameters
    ----------
    heads, tails : int
        How often each came up.
    prior : (float, float)
        The two parameters of the Beta prior; (1, 1) is uniform.

    Returns
    -------
    Target
        dim 1, support (0, 1). The truth is Beta(prior[0] + heads, prior[1] + tails).

    Examples
    --------
    >>> target = bl.posteriors.coin(8, 2)
    >>> print(target.truth.mean)
    [0.75]
    >>> print(round(np.exp(-target.truth.log_evidence), 6))  # 1 / p(tosses)
    495.0
    """
    heads = as_count(heads, "heads", minimum=0)
    tails = as_count(tails, "tails", minimum=0)
    prior = as_scale(prior, "prior", 2)
    a, b = (prior + [heads, tails]).tolist()
    mean = a / (a + b)
    truth = Truth(
        mean=np.array([mean]), cov=np.array([[mean * (1.0 - mean) / (a + b + 1.0)]]),
        quantiles={p: np.array([special.betaincinv(a, b, p)]) for p in PROBABILITIES},
        log_evidence=float(special.betaln(a, b) - special.betaln(*prior)),
        sample=lambda num_samples, rng: np.random.default_rng(rng).beta(a, b, (num_samples, 1)),
        cdf=lambda x: special.betainc(a, b, np.clip(x, 0.0, 1.0)),
    )  # fmt: skip
    return Target(
        _coin, dim=1, data=(a, b, float(special.betaln(*prior))), fused=_coin_fused,
        support=(0.0, 1.0), truth=truth,
    )  # fmt: skip


def _coin(theta, a, b, log_constant):
    x = theta[0]
    if x <= 0.0 or x >= 1.0:
        return -np.inf
    return (a - 1.0) * np.log(x) + (b - 1.0) * np.log1p(-x) - log_constant


def _coin_fused(theta, grad, a, b, log_constant):
    x = theta[0]
    grad[0] = (a - 1.0) / x - (b - 1.0) / (1.0 - x) if 0.0 < x < 1.0 else 0.0
    return _coin(theta, a, b, log_constant)
