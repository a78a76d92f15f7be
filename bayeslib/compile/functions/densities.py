"""Log densities, parametrised as in scipy.stats: ``bl.logpdf.normal(y, mu, sigma)``.

They are used inside a log density, with automatic gradient, and outside it. Those of one number,
but for `categorical_logit`, work entry by entry on arrays of one shape; plain numbers may stand
beside these. Sum the result: ``np.sum(bl.logpdf.normal(y, mu, sigma))``, where sigma is a
standard deviation. Each is ``-inf`` outside the support; within it, a shape or a scale below zero
gives nan, of zero nan or ``-inf`` (`uniform` at `loc`: ``+inf``).
"""

import math

import numpy as np

from .elementwise import elementwise, generic
from .logistic import log_sigmoid
from .special import LOG_ROOT_2PI, logsumexp, solve_triangular, xlog1py, xlogy

__all__ = [
    "bernoulli_logit", "beta", "binomial_logit", "categorical_logit", "cauchy", "dirichlet",
    "exponential", "gamma", "half_cauchy", "half_normal", "half_student_t", "inverse_gamma",
    "laplace", "lkj_cholesky", "lognormal", "multivariate_normal_cholesky", "negative_binomial",
    "normal", "poisson", "student_t", "uniform", "weibull",
]  # fmt: skip


@elementwise
def log_gamma(a):
    return math.lgamma(a) if a > 0.0 else math.nan


@elementwise
def log_rising(a, b):
    """log(Gamma(a + b) / Gamma(a)): of a large a by Stirling's series, or the two would cancel."""
    if a < 1e3:
        return log_gamma(a + b) - log_gamma(a)
    return (a + b - 0.5) * np.log1p(b / a) + b * (np.log(a) - 1.0 - 1.0 / (12.0 * a * (a + b)))


@elementwise
def normal(x, loc=0.0, scale=1.0):
    """Normal: ``scipy.stats.norm(loc, scale)``."""
    z = (x - loc) / scale
    return -0.5 * z * z - np.log(scale) - LOG_ROOT_2PI


@elementwise
def half_normal(x, scale=1.0):
    """Positive half of a normal around zero: ``scipy.stats.halfnorm(scale=scale)``."""
    return math.log(2.0) + normal(x, 0.0, scale) if x >= 0.0 else -math.inf


@elementwise
def student_t(x, df, loc=0.0, scale=1.0):
    """Student's t: ``scipy.stats.t(df, loc, scale)``."""
    z, df = (x - loc) / scale, (1e100 if df > 1e100 else df)  # of inf the normal
    constant = log_rising(0.5 * df, 0.5) - 0.5 * np.log(math.pi * df)
    return constant - np.log(scale) - (0.5 * df + 0.5) * np.log1p(z * z / df)


@elementwise
def half_student_t(x, df, scale=1.0):
    """Positive half of ``scipy.stats.t(df, 0, scale)``."""
    return math.log(2.0) + student_t(x, df, 0.0, scale) if x >= 0.0 else -math.inf


@elementwise
def cauchy(x, loc=0.0, scale=1.0):
    """Cauchy: ``scipy.stats.cauchy(loc, scale)``."""
    z = (x - loc) / scale
    return -math.log(math.pi) - np.log(scale) - np.log1p(z * z)


@elementwise
def half_cauchy(x, scale=1.0):
    """Positive half of a Cauchy around zero: ``scipy.stats.halfcauchy(scale=scale)``."""
    return math.log(2.0) + cauchy(x, 0.0, scale) if x >= 0.0 else -math.inf


@elementwise
def laplace(x, loc=0.0, scale=1.0):
    """Laplace: ``scipy.stats.laplace(loc, scale)``."""
    return -abs(x - loc) / scale - np.log(2.0 * scale)


@elementwise
def gamma(x, a, scale=1.0):
    """Gamma of shape `a`: ``scipy.stats.gamma(a, scale=scale)``; its rate is 1 / scale."""
    if x < 0.0 or x == math.inf:
        return -math.inf
    return xlogy(a - 1.0, x / scale) - x / scale - log_gamma(a) - np.log(scale)


@elementwise
def inverse_gamma(x, a, scale=1.0):
    """Inverse gamma of shape `a`: ``scipy.stats.invgamma(a, scale=scale)``."""
    if x <= 0.0:
        return -math.inf
    return a * np.log(scale) - (a + 1.0) * np.log(x) - log_gamma(a) - scale / x


@elementwise
def beta(x, a, b):
    """Beta: ``scipy.stats.beta(a, b)``."""
    if x < 0.0 or x > 1.0:
        return -math.inf
    constant = log_rising(max(a, b), min(a, b)) - log_gamma(min(a, b))
    return constant + xlogy(a - 1.0, x) + xlog1py(b - 1.0, -x)


@elementwise
def exponential(x, scale=1.0):
    """Exponential of mean `scale`: ``scipy.stats.expon(scale=scale)``."""
    return -x / scale - np.log(scale) if x >= 0.0 else -math.inf


@elementwise
def lognormal(x, s, scale=1.0):
    """Log-normal: ``scipy.stats.lognorm(s, scale=scale)``; log(x) is N(log(scale), s**2)."""
    return normal(np.log(x), np.log(scale), s) - np.log(x) if x > 0.0 else -math.inf


@elementwise
def weibull(x, c, scale=1.0):
    """Weibull of shape `c`: ``scipy.stats.weibull_min(c, scale=scale)``."""
    if x < 0.0 or x == math.inf:
        return -math.inf
    return np.log(c / scale) + xlogy(c - 1.0, x / scale) - (x / scale) ** c


@elementwise
def uniform(x, loc=0.0, scale=1.0):
    """Uniform on [loc, loc + scale]: ``scipy.stats.uniform(loc, scale)``."""
    return -np.log(scale) if loc <= x <= loc + scale else -math.inf


@elementwise
def poisson(k, mu):
    """Poisson, of counts: ``scipy.stats.poisson(mu)``."""
    if not (k >= 0 and k % 1 == 0) or mu == math.inf:
        return -math.inf
    return xlogy(k, mu) - mu - math.lgamma(k + 1.0) if mu >= 0.0 else math.nan


@elementwise
def negative_binomial(k, n, p):
    """Failures before `n` successes: ``scipy.stats.nbinom(n, p)``; its mean is n (1 - p) / p."""
    if not (k >= 0 and k % 1 == 0):
        return -math.inf
    ways = log_rising(n, k) - math.lgamma(k + 1.0)
    return ways + n * np.log(p) + xlog1py(k, -p) if p <= 1.0 else math.nan


@elementwise
def binomial_logit(k, n, logit):
    """Successes in `n` trials: ``scipy.stats.binom(n, expit(logit))``."""
    if not (0 <= k <= n and k % 1 == 0):
        return -math.inf
    ways = math.lgamma(n + 1.0) - math.lgamma(k + 1.0) - math.lgamma(n - k + 1.0)
    ways = ways + (k * log_sigmoid(logit) if k > 0 else 0.0)
    return ways + ((n - k) * log_sigmoid(-logit) if k < n else 0.0)


@elementwise
def bernoulli_logit(k, logit):
    """0 or 1: ``scipy.stats.bernoulli(expit(logit))``."""
    return log_sigmoid(logit if k == 1 else -logit) if k == 0 or k == 1 else -math.inf


@generic
def categorical_logit(k, logits):
    """A number k from 0 on, of probability softmax(logits)[k]; `logits` is a vector.

    For many numbers, add them up in a loop.
    """
    return logits[k] - logsumexp(logits) if 0 <= k < len(logits) else -math.inf


@generic
def dirichlet(x, alpha):
    """Probabilities that sum to one, a vector: ``scipy.stats.dirichlet(alpha)``."""
    result, total = 0.0, 0.0
    if len(alpha) != len(x):
        raise ValueError("x and alpha of a dirichlet differ in length")
    for i in range(len(x)):
        if x[i] < 0.0:
            return -math.inf
        result += xlogy(alpha[i] - 1.0, x[i]) - log_gamma(alpha[i])
        total += x[i]
    return result + log_gamma(np.sum(alpha)) if abs(total - 1.0) < 1e-10 else -math.inf


@generic
def multivariate_normal_cholesky(x, mean, cholesky):
    """A vector: ``scipy.stats.multivariate_normal(mean, L @ L.T)``, where L is `cholesky`."""
    for i in range(cholesky.shape[0]):
        for j in range(i + 1, cholesky.shape[1]):
            if cholesky[i, j] != 0.0:
                raise ValueError("cholesky must be the lower factor, zero above its diagonal")
    z = solve_triangular(cholesky, x - mean, 0, True)
    result = -LOG_ROOT_2PI * len(z)
    for i in range(len(z)):
        result -= 0.5 * z[i] * z[i] + np.log(cholesky[i, i])
    return result


@generic
def lkj_cholesky(cholesky, eta):
    """LKJ of the (d, d) Cholesky factor of a correlation matrix, with its normalising constant.

    Uniform over correlation matrices at eta = 1; the density is over the entries below the
    diagonal of the factor. Lewandowski, Kurowicka and Joe (2009), "Generating random correlation
    matrices based on vines and extended onion method".
    """
    d, result = cholesky.shape[0], 0.0
    for i in range(d):
        if not (cholesky[i, i] > 0.0 and abs(np.sum(cholesky[i, : i + 1] ** 2) - 1.0) < 1e-8):
            return -math.inf
        a = eta + 0.5 * (d - 1 - i)
        result += log_rising(a, 0.5 * i) - 0.5 * i * math.log(math.pi)
        result += (d - 1 - i + 2.0 * (eta - 1.0)) * np.log(cholesky[i, i])
    return result
