"""Models with named parameters, as a user would write them, each with its posterior written again.

`MODELS` maps names to `Model`. The second way is NumPy and SciPy over many points at once, with
Jacobians by hand, and integrates out what can be: latent effects in closed form, by quadrature or
by a filter on a grid, discrete states over all their paths.
"""

import itertools
import math
from dataclasses import dataclass

import numpy as np
from scipy import optimize, special, stats

import bayeslib as bl

MODELS = {}
norm, cauchy = stats.norm.logpdf, stats.cauchy.logpdf


@dataclass(frozen=True)
class Model:
    """A target, and its posterior over unconstrained `x`.

    Parameters
    ----------
    target : Target
    again : callable
        again(x) -> (n,): log density of (n, dim) points, up to a constant.
    seen : callable
        seen(draws) -> tuple of arrays: what the columns of x are, of draws of the target.
    dim : int
        Of x.
    options : dict
        For `nuts`.
    """

    target: bl.Target
    again: object
    seen: object
    dim: int
    options: dict

    def coordinates(self, draws):
        """Return the draws as x, (chain, draw, dim)."""
        parts = [np.asarray(part) for part in self.seen(draws)]
        parts = [part[..., None] if part.ndim == 2 else part for part in parts]
        return np.concatenate(parts, axis=-1)


def put(logdensity, parameters, data, again, seen, dim, **options):
    target = bl.Target(logdensity, parameters=parameters, data=data)
    MODELS[logdensity.__name__] = Model(target, again, seen, dim, options)


@np.errstate(all="ignore")  # far out, where weights are zero, numbers overflow
def weighted(model, rng, num=40_000):
    """Return points, normalised weights and k-hat of importance sampling from a fitted t."""
    found = optimize.minimize(lambda x: -model.again(x[None])[0], np.zeros(model.dim))
    cov = np.atleast_2d(found.hess_inv) + 1e-4 * np.eye(model.dim)
    mean = found.x
    for size in (2_000, 4_000, 8_000, num):
        x, log_q = _mixture(mean, cov, size, rng)
        log_ratio = model.again(x) - log_q
        log_ratio[np.isnan(log_ratio)] = -np.inf
        log_weights, k_hat = bl.psis(log_ratio)
        weights = special.softmax(log_weights)
        mean = weights @ x
        cov = (weights * (x - mean).T) @ (x - mean) + 1e-9 * np.eye(model.dim)
    return x, weights, k_hat


def _mixture(mean, cov, size, rng):
    """Draws and log density of a t with 5 degrees and a share of a twice as wide one."""
    parts = [stats.multivariate_t(mean, scale * cov, df=5) for scale in (1.0, 4.0)]
    few = size // 4
    x = np.vstack([p.rvs(n, rng) for p, n in zip(parts, (size - few, few), strict=True)])
    log_q = np.logaddexp(parts[0].logpdf(x) + np.log(0.75), parts[1].logpdf(x) + np.log(0.25))
    return x, log_q


_rng = np.random.default_rng(20)
_X = _rng.normal(size=(30, 2))
_line = 1.0 + _X @ np.array([0.8, -0.5])


# Regressions
def linear(p, X, y):
    mu = p.a + X @ p.b
    prior = -0.5 * p.a**2 / 25.0 - 0.5 * np.sum(p.b**2) - p.sigma
    return prior - 0.5 * np.sum((y - mu) ** 2) / p.sigma**2 - y.size * np.log(p.sigma)


def _mean(x, X):
    return x[:, :1] + x[:, 1:3] @ X.T


def _slopes(x, scale=1.0):
    return norm(x[:, 0], 0, 5) + norm(x[:, 1:3], 0, scale).sum(1)


def _linear(x):
    sigma = np.exp(x[:, 3:])
    return norm(_Y, _mean(x, _X), sigma).sum(1) + _slopes(x) + (x - np.exp(x))[:, 3]


_Y = _line + 0.7 * _rng.normal(size=30)
LINE = {"a": (), "b": 2}
WIDE = LINE | {"sigma": bl.positive()}


def seen_line(d):
    return d["a"], d["b"], np.log(d["sigma"])


put(linear, WIDE, (_X, _Y), _linear, seen_line, 4)


def robust(p, X, y):
    z = (y - p.a - X @ p.b) / p.sigma
    prior = -0.5 * p.a**2 / 25.0 - 0.5 * np.sum(p.b**2) - p.sigma
    return prior - 2.5 * np.sum(np.log1p(z**2 / 4.0)) - y.size * np.log(p.sigma)


def _robust(x):
    likelihood = stats.t.logpdf(_FAR, 4, _mean(x, _X), np.exp(x[:, 3:])).sum(1)
    return likelihood + _slopes(x) + (x - np.exp(x))[:, 3]


_FAR = _line + 0.5 * stats.t.rvs(4, size=30, random_state=_rng)
put(robust, WIDE, (_X, _FAR), _robust, seen_line, 4)


def logistic(p, X, y):
    eta = p.a + X @ p.b
    prior = -0.5 * p.a**2 / 25.0 - 0.5 * np.sum(p.b**2)
    return prior + np.sum(y * eta - bl.log1pexp(eta))


def _logistic(x):
    return stats.bernoulli.logpmf(_YES, special.expit(_mean(x, _X))).sum(1) + _slopes(x)


_YES = (_rng.random(30) < special.expit(_line)).astype(int)
put(logistic, LINE, (_X, _YES), _logistic, lambda d: (d["a"], d["b"]), 3)


def poisson(p, X, exposure, y):
    eta = p.a + X @ p.b + np.log(exposure)
    prior = -0.5 * p.a**2 / 25.0 - 0.5 * np.sum(p.b**2)
    return prior + np.sum(y * eta - np.exp(eta))


def _poisson(x):
    return stats.poisson.logpmf(_COUNT, np.exp(_mean(x, _X)) * _EXPOSURE).sum(1) + _slopes(x)


_EXPOSURE = _rng.uniform(0.5, 3.0, 30)
_COUNT = _rng.poisson(np.exp(_line) * _EXPOSURE)
put(poisson, LINE, (_X, _EXPOSURE, _COUNT), _poisson, lambda d: (d["a"], d["b"]), 3)


def negative_binomial(p, X, y):
    eta = p.a + X @ p.b
    total = -0.5 * p.a**2 / 25.0 - 0.5 * np.sum(p.b**2) - 0.2 * p.phi
    for i in range(y.size):
        total += math.lgamma(y[i] + p.phi) - math.lgamma(p.phi) + p.phi * np.log(p.phi)
        total += y[i] * eta[i] - (y[i] + p.phi) * np.log(np.exp(eta[i]) + p.phi)
    return total


def _negative_binomial(x):
    phi = np.exp(x[:, 3:])
    share = phi / (phi + np.exp(_mean(x, _X)))
    likelihood = stats.nbinom.logpmf(_MANY, phi, share).sum(1)
    return likelihood + _slopes(x) + x[:, 3] - 0.2 * phi[:, 0]


_MANY = _rng.negative_binomial(2, 2 / (2 + np.exp(_line)))
put(
    negative_binomial, LINE | {"phi": bl.positive()}, (_X, _MANY), _negative_binomial,
    lambda d: (d["a"], d["b"], np.log(d["phi"])), 4,
)  # fmt: skip


# Hierarchies: the effects integrate out
def non_centred(p, y, se):
    theta = p.mu + p.tau * p.eta
    prior = -0.5 * p.mu**2 / 25.0 - 0.5 * p.tau**2 / 4.0 - 0.5 * np.sum(p.eta**2)
    return prior - 0.5 * np.sum(((y - theta) / se) ** 2)


def centred(p, y, se):
    prior = -0.5 * p.mu**2 / 25.0 - 0.5 * p.tau**2 / 4.0
    effects = -0.5 * np.sum(((p.theta - p.mu) / p.tau) ** 2) - y.size * np.log(p.tau)
    return prior + effects - 0.5 * np.sum(((y - p.theta) / se) ** 2)


def marginal(y, se):
    def again(x):
        sd = np.sqrt(se**2 + np.exp(2 * x[:, 1:]))
        prior = norm(x[:, 0], 0, 5) + norm(np.exp(x[:, 1]), 0, 2) + x[:, 1]
        return norm(y, x[:, :1], sd).sum(1) + prior

    return again


def seen_group(d):
    return d["mu"], np.log(d["tau"])


_SE = np.full(8, 1.2)
_WEAK = _rng.normal(2.0, np.hypot(1.0, 1.2), 8)
_STRONG = _rng.normal(2.0, 1.0, 8)
GROUP = {"mu": (), "tau": bl.positive()}
put(non_centred, GROUP | {"eta": 8}, (_WEAK, _SE), marginal(_WEAK, _SE), seen_group, 2,
    target_accept=0.95)  # fmt: skip
put(centred, GROUP | {"theta": 8}, (_STRONG, _SE / 6), marginal(_STRONG, _SE / 6), seen_group, 2)


# Discrete things: sums
def mixture(p, y):
    total = -0.5 * np.sum(p.mu**2) / 9.0 - p.sigma
    first = np.log(p.w[0]) - 0.5 * ((y - p.mu[0]) / p.sigma) ** 2
    second = np.log(p.w[1]) - 0.5 * ((y - p.mu[1]) / p.sigma) ** 2
    return total + np.sum(np.logaddexp(first, second)) - y.size * np.log(p.sigma)


def _mixture_again(x):
    mu = np.stack([x[:, 0], x[:, 0] + np.exp(x[:, 1])], axis=1)
    log_w = np.stack([special.log_expit(x[:, 2]), special.log_expit(-x[:, 2])], axis=1)
    parts = norm(_TWO[:, None], mu[:, None], np.exp(x[:, 3])[:, None, None]) + log_w[:, None]
    prior = norm(mu, 0, 3).sum(1) - np.exp(x[:, 3])
    return special.logsumexp(parts, axis=2).sum(1) + prior + x[:, 1] + log_w.sum(1) + x[:, 3]


_TWO = np.concatenate([_rng.normal(-1.5, 0.6, 18), _rng.normal(1.5, 0.6, 12)])
put(
    mixture, {"mu": bl.ordered(2), "w": bl.simplex(2), "sigma": bl.positive()}, (_TWO,),
    _mixture_again,
    lambda d: (d["mu"][..., 0], np.log(np.diff(d["mu"])), special.logit(d["w"][..., 0]),
               np.log(d["sigma"])), 4,
)  # fmt: skip


def change_point(p, y):
    days = np.arange(1.0, y.size)
    total = np.cumsum(y)
    before, after = total[:-1], total[-1] - total[:-1]
    log_p = before * np.log(p.early) - days * p.early
    log_p = log_p + after * np.log(p.late) - (y.size - days) * p.late
    top = np.max(log_p)
    return top + np.log(np.sum(np.exp(log_p - top))) - 0.3 * (p.early + p.late)


def _change_point(x):
    early, late = np.exp(x[:, :1]), np.exp(x[:, 1:])
    parts = []
    for k in range(1, _DAILY.size):
        parts.append(stats.poisson.logpmf(_DAILY[:k], early).sum(1)
                     + stats.poisson.logpmf(_DAILY[k:], late).sum(1))  # fmt: skip
    prior = x.sum(1) - 0.3 * (early + late)[:, 0]
    return special.logsumexp(parts, axis=0) + prior


_DAILY = np.concatenate([_rng.poisson(5.0, 22), _rng.poisson(1.5, 18)])
put(
    change_point, {"early": bl.positive(), "late": bl.positive()}, (_DAILY,), _change_point,
    lambda d: (np.log(d["early"]), np.log(d["late"])), 2,
)  # fmt: skip


def hidden_markov(p, y):
    total = -0.5 * np.sum(p.mu**2) / 9.0 + np.sum(np.log(p.stay))
    low, high = 0.5, 0.5
    for value in y:
        to_low = low * p.stay[0] + high * (1.0 - p.stay[1])
        to_high = low * (1.0 - p.stay[0]) + high * p.stay[1]
        low = to_low * np.exp(-0.5 * (value - p.mu[0]) ** 2)
        high = to_high * np.exp(-0.5 * (value - p.mu[1]) ** 2)
        both = low + high
        total += np.log(both)
        low, high = low / both, high / both
    return total


def _hidden_markov(x):
    mu = np.stack([x[:, 0], x[:, 0] + np.exp(x[:, 1])], axis=1)
    stay, leave = special.log_expit(x[:, 2:4]), special.log_expit(-x[:, 2:4])
    prior = norm(mu, 0, 3).sum(1) + x[:, 1] + (2 * stay + leave).sum(1)
    seen = norm(_STATES[None, :, None], mu[:, None])
    total = np.full(len(x), -np.inf)
    for path in itertools.product((0, 1), repeat=_STATES.size + 1):
        path = np.array(path)
        here = seen[:, np.arange(_STATES.size), path[1:]].sum(1)
        for state in (0, 1):
            same = np.sum((path[:-1] == state) & (path[1:] == state))
            other = np.sum((path[:-1] == state) & (path[1:] != state))
            here += same * stay[:, state] + other * leave[:, state]
        total = np.logaddexp(total, here)
    return total + prior


_STATES = np.array([-1.9, -1.1, -2.2, 1.4, 2.5, 1.8, -1.6])
put(
    hidden_markov, {"mu": bl.ordered(2), "stay": bl.interval(0.0, 1.0, 2)}, (_STATES,),
    _hidden_markov,
    lambda d: (d["mu"][..., 0], np.log(np.diff(d["mu"])), special.logit(d["stay"])), 4,
)  # fmt: skip


def ordinal(p, x, y):
    total = -0.5 * p.b**2 - 0.5 * np.sum(p.c**2) / 9.0
    for i in range(y.size):
        eta = p.b * x[i]
        upper = 1.0 if y[i] == p.c.size else bl.sigmoid(p.c[y[i]] - eta)
        lower = 0.0 if y[i] == 0 else bl.sigmoid(p.c[y[i] - 1] - eta)
        total += np.log(upper - lower)
    return total


def _ordinal(x):
    c = np.cumsum(np.column_stack([x[:, 0], np.exp(x[:, 1:3])]), axis=1)
    edges = np.column_stack([np.full(len(x), -np.inf), c, np.full(len(x), np.inf)])
    cdf = stats.logistic.cdf(edges[:, None] - x[:, 3, None, None] * _X[:, 0, None])
    p = np.diff(cdf, axis=2)[:, np.arange(30), _GRADE]
    return np.log(p).sum(1) + norm(x[:, 3]) + norm(c, 0, 3).sum(1) + x[:, 1:3].sum(1)


_LATENT = 1.2 * _X[:, 0] + stats.logistic.rvs(size=30, random_state=_rng)
_GRADE = np.searchsorted([-1.0, 0.3, 1.5], _LATENT)
put(
    ordinal, {"c": bl.ordered(3), "b": ()}, (_X[:, 0].copy(), _GRADE), _ordinal,
    lambda d: (d["c"][..., 0], np.log(np.diff(d["c"])), d["b"]), 4,
)  # fmt: skip


# Series
def autoregression(p, y):
    mean = p.a + p.phi[0] * y[1:-1] + p.phi[1] * y[:-2]
    prior = -0.5 * p.a**2 - 0.5 * np.sum(p.phi**2) - p.sigma
    residual = y[2:] - mean
    return prior - 0.5 * np.sum(residual**2) / p.sigma**2 - residual.size * np.log(p.sigma)


def _autoregression(x):
    mean = x[:, :1] + x[:, 1:3] @ np.stack([_SERIES[1:-1], _SERIES[:-2]])
    prior = norm(x[:, :3]).sum(1) + (x - np.exp(x))[:, 3]
    return norm(_SERIES[2:], mean, np.exp(x[:, 3:])).sum(1) + prior


_SERIES = np.zeros(42)
for _t in range(2, 42):
    _SERIES[_t] = 0.3 + 0.5 * _SERIES[_t - 1] - 0.4 * _SERIES[_t - 2] + _rng.normal()
put(
    autoregression, {"a": (), "phi": 2, "sigma": bl.positive()}, (_SERIES,), _autoregression,
    lambda d: (d["a"], d["phi"], np.log(d["sigma"])), 4,
)  # fmt: skip


def volatility(p, y):
    prior = -0.5 * (p.mu + 1.0) ** 2 + 7.0 * np.log1p(p.phi) + np.log1p(-p.phi)
    prior += -2.0 * (np.log(p.sigma) + 1.0) ** 2 - np.log(p.sigma)
    total = prior - 0.5 * np.sum(p.z**2)
    h = p.mu + p.sigma * p.z[0] / np.sqrt(1.0 - p.phi**2)
    for t in range(y.size):
        if t > 0:
            h = p.mu + p.phi * (h - p.mu) + p.sigma * p.z[t]
        total += -0.5 * h - 0.5 * y[t] ** 2 * np.exp(-h)
    return total


def _volatility(x):
    """Forwards over a grid of the stationary state, in its standard deviations."""
    mu, phi, sigma = x[:, 0], np.tanh(x[:, 1]), np.exp(x[:, 2])
    u = np.linspace(-5.5, 5.5, 111)
    prior = norm(mu, -1) + stats.beta.logpdf((1 + phi) / 2, 8, 2) + np.log1p(-(phi**2))
    total = prior + norm(x[:, 2], -1, 0.5)
    for i in range(len(x)):
        innovation = np.sqrt(1 - phi[i] ** 2)
        sd = np.exp(0.5 * (mu[i] + u * sigma[i] / innovation))
        step = np.exp(-0.5 * ((u - phi[i] * u[:, None]) / innovation) ** 2)
        step /= step.sum(1, keepdims=True)
        seen = np.exp(-0.5 * (_RETURNS[:, None] / sd) ** 2) / sd
        forward = np.exp(-0.5 * u**2) * seen[0]
        for row in seen[1:]:
            forward = forward @ step * row
        total[i] += np.log(forward.sum())
    return total


_STATE = stats.norm.rvs(size=20, random_state=_rng).cumsum() * 0.3
_RETURNS = np.exp(0.5 * (_STATE - _STATE.mean() - 1.0)) * _rng.normal(size=20)
put(
    volatility,
    {"mu": (), "phi": bl.interval(-1.0, 1.0), "sigma": bl.positive(), "z": _RETURNS.size},
    (_RETURNS,), _volatility, lambda d: (d["mu"], np.arctanh(d["phi"]), np.log(d["sigma"])), 3,
    target_accept=0.9,
)  # fmt: skip


def gaussian_process(p, x, y):
    n = x.size
    K = p.a**2 * np.exp(-0.5 * (x[:, None] - x) ** 2 / p.rho**2) + p.sigma**2 * np.eye(n)
    L, z = np.zeros_like(K), np.zeros_like(K[0])
    total = -2.0 * (np.log(p.rho) ** 2 + np.log(p.a) ** 2) - np.log(p.rho) - np.log(p.a)
    total += -2.0 * (np.log(p.sigma) + 1.2) ** 2 - np.log(p.sigma)
    for i in range(n):
        for j in range(i):
            L[i, j] = (K[i, j] - np.sum(L[i, :j] * L[j, :j])) / L[j, j]
        L[i, i] = np.sqrt(K[i, i] - np.sum(L[i, :i] ** 2))
        z[i] = (y[i] - np.sum(L[i, :i] * z[:i])) / L[i, i]
        total += -0.5 * z[i] ** 2 - np.log(L[i, i])
    return total


def _gaussian_process(x):
    rho, a, sigma = np.exp(x).T[..., None, None]
    K = a**2 * np.exp(-0.5 * (_AT[:, None] - _AT) ** 2 / rho**2) + sigma**2 * np.eye(_AT.size)
    prior = norm(x, [0.0, 0.0, -1.2], 0.5).sum(1)
    return _dense_normal(K, _WAVE) + prior


def _dense_normal(cov, r):
    solved = np.linalg.solve(cov, np.broadcast_to(r, cov.shape[:-1])[..., None])[..., 0]
    return -0.5 * np.sum(r * solved, axis=-1) - 0.5 * np.linalg.slogdet(cov)[1]


_AT = np.linspace(0.0, 5.0, 10)
_WAVE = np.sin(_AT) + 0.3 * _rng.normal(size=10)
put(
    gaussian_process, dict.fromkeys(("rho", "a", "sigma"), bl.positive()), (_AT, _WAVE),
    _gaussian_process, lambda d: (np.log(d["rho"]), np.log(d["a"]), np.log(d["sigma"])), 3,
)  # fmt: skip


def growth(prey, hunters, r):
    return prey * (r[0] - r[1] * hunters), hunters * (r[2] * prey - r[3])


def lotka_volterra(p, y, step):
    total = -0.5 * np.sum((np.log(p.r) + 0.7) ** 2 / 0.25) - np.sum(np.log(p.r)) - 2.0 * p.sigma
    u, v = 2.0, 1.0
    for row in y:
        for _ in range(4):
            a, b = growth(u, v, p.r)
            c, d = growth(u + 0.5 * step * a, v + 0.5 * step * b, p.r)
            e, f = growth(u + 0.5 * step * c, v + 0.5 * step * d, p.r)
            g, h = growth(u + step * e, v + step * f, p.r)
            u = u + step * (a + 2.0 * c + 2.0 * e + g) / 6.0
            v = v + step * (b + 2.0 * d + 2.0 * f + h) / 6.0
        total += -0.5 * ((row[0] - np.log(u)) ** 2 + (row[1] - np.log(v)) ** 2) / p.sigma**2
        total += -2.0 * np.log(p.sigma)
    return total


def _populations(r):
    """log of both, (n, 10, 2), by Runge and Kutta's fourth-order rule in vectors."""

    def slope(s):
        return s * np.stack([r[:, 0] - r[:, 1] * s[:, 1], r[:, 2] * s[:, 0] - r[:, 3]], axis=1)

    s, found = np.tile([2.0, 1.0], (len(r), 1)), []
    for n in range(40):
        k = slope(s)
        total = k / 6
        for share, weight in ((0.5, 3), (0.5, 3), (1.0, 6)):
            k = slope(s + share * _STEP * k)
            total = total + k / weight
        s = s + _STEP * total
        if n % 4 == 3:
            found.append(np.log(s))
    return np.stack(found, axis=1)


def _lotka_volterra(x):
    x = np.clip(x, -6.0, 2.0)  # where rates are absurd, the weights are zero in any case
    paths = _populations(np.exp(x[:, :4]))
    sigma = np.exp(x[:, 4:, None])
    prior = norm(x[:, :4], -0.7, 0.5).sum(1) + x[:, 4] - 2.0 * np.exp(x[:, 4])
    return norm(_HARES, paths, sigma).sum((1, 2)) + prior


_STEP = 0.25
_HARES = _populations(np.array([[0.6, 0.4, 0.4, 0.6]]))[0] + 0.2 * _rng.normal(size=(10, 2))
put(
    lotka_volterra, {"r": bl.positive(4), "sigma": bl.positive()}, (_HARES, _STEP),
    _lotka_volterra, lambda d: (np.log(d["r"]), np.log(d["sigma"])), 5, num_samples=2000,
)  # fmt: skip


# Many parameters, which integrate out
def item_response(p, y):
    eta = p.ability[:, None] - p.hard
    prior = -0.5 * np.sum(p.ability**2) - 0.5 * np.sum(p.hard**2) / 4.0
    return prior + np.sum(y * eta - bl.log1pexp(eta))


def _item_response(x):
    nodes, weights = np.polynomial.hermite_e.hermegauss(31)
    eta = nodes[:, None] - x[:, None]
    parts = special.log_expit(eta) @ _ANSWERS.T + special.log_expit(-eta) @ (1 - _ANSWERS).T
    return special.logsumexp(parts + np.log(weights)[:, None], axis=1).sum(1) + norm(x, 0, 2).sum(1)


_ABLE = _rng.normal(size=(15, 1))
_ANSWERS = (_rng.random((15, 3)) < special.expit(_ABLE - [-1.0, 0.0, 1.0])).astype(int)
put(
    item_response, {"ability": 15, "hard": 3}, (_ANSWERS,), _item_response,
    lambda d: (d["hard"],), 3,
)  # fmt: skip


def horseshoe(p, X, y):
    b = p.tau * p.local * p.z
    prior = -0.5 * np.sum(p.z**2) - np.sum(np.log1p(p.local**2)) - 2.0 * p.tau**2 - p.sigma
    return prior - 0.5 * np.sum((y - X @ b) ** 2) / p.sigma**2 - y.size * np.log(p.sigma)


def _horseshoe(x):
    x = np.clip(x, -9.0, 9.0)
    local, tau, sigma = np.exp(x[:, :3]), np.exp(x[:, 3:4]), np.exp(x[:, 4, None, None])
    sd = (tau * local)[:, None]
    cov = (_SPARSE * sd) @ np.swapaxes(_SPARSE * sd, 1, 2) + sigma**2 * np.eye(20)
    prior = cauchy(local).sum(1) + norm(tau[:, 0], 0, 0.5) - sigma[:, 0, 0] + x.sum(1)
    return _dense_normal(cov, _FEW) + prior


_SPARSE = _rng.normal(size=(20, 3))
_FEW = 1.5 * _SPARSE[:, 0] + 0.7 * _rng.normal(size=20)
put(
    horseshoe, {"z": 3, "local": bl.positive(3), "tau": bl.positive(), "sigma": bl.positive()},
    (_SPARSE, _FEW), _horseshoe,
    lambda d: (np.log(d["local"]), np.log(d["tau"]), np.log(d["sigma"])), 5,
    target_accept=0.99, num_samples=2000,
)  # fmt: skip


def missing(p, x, y):
    full = np.concatenate((p.x_missing, x))
    prior = -0.5 * (p.a**2 + p.b**2 + p.m**2) - p.sigma - p.s
    prior = prior - 0.5 * np.sum((full - p.m) ** 2) / p.s**2 - y.size * np.log(p.s)
    residual = y - p.a - p.b * full
    return prior - 0.5 * np.sum(residual**2) / p.sigma**2 - y.size * np.log(p.sigma)


def _missing(x):
    a, b, m = x[:, :3].T[..., None]
    sigma, s = np.exp(x[:, 3:]).T[..., None]
    total = norm(_KNOWN, m, s).sum(1) + norm(_HALF[6:], a + b * _KNOWN, sigma).sum(1)
    total = total + norm(_HALF[:6], a + b * m, np.hypot(sigma, b * s)).sum(1)
    return total + norm(x[:, :3]).sum(1) + x[:, 3:].sum(1) - sigma[:, 0] - s[:, 0]


_KNOWN = _rng.normal(0.5, 1.0, 14)
_HALF = 0.3 + 0.9 * np.concatenate([_rng.normal(0.5, 1.0, 6), _KNOWN]) + 0.5 * _rng.normal(size=20)
put(
    missing,
    {"a": (), "b": (), "m": (), "sigma": bl.positive(), "s": bl.positive(), "x_missing": 6},
    (_KNOWN, _HALF), _missing,
    lambda d: (d["a"], d["b"], d["m"], np.log(d["sigma"]), np.log(d["s"])), 5,
)  # fmt: skip


# A simplex, a correlation matrix, a network
def dirichlet_multinomial(p, y):
    total = np.sum(np.log(p.w)) - 0.1 * p.k
    for row in y:
        total += math.lgamma(p.k) - math.lgamma(p.k + np.sum(row))
        for j in range(row.size):
            total += math.lgamma(p.k * p.w[j] + row[j]) - math.lgamma(p.k * p.w[j])
    return total


def _dirichlet_multinomial(x):
    log_w = special.log_softmax(np.column_stack([x[:, :2], np.zeros(len(x))]), axis=1)
    k = np.exp(x[:, 2])
    alpha = (k[:, None] * np.exp(log_w))[:, None]
    total = stats.dirichlet_multinomial.logpmf(_VOTES, alpha, _VOTES.sum(1)).sum(1)
    prior = stats.dirichlet.logpdf(np.exp(log_w).T, [2.0, 2.0, 2.0]) - 0.1 * k
    return total + prior + log_w.sum(1) + x[:, 2]


_VOTES = np.array([_rng.multinomial(20, _rng.dirichlet([2.0, 3.0, 5.0])) for _ in range(8)])
put(
    dirichlet_multinomial, {"w": bl.simplex(3), "k": bl.positive()}, (_VOTES,),
    _dirichlet_multinomial,
    lambda d: (np.log(d["w"][..., :2] / d["w"][..., 2:]), np.log(d["k"])), 3,
)  # fmt: skip


def correlation(p, y):
    n = y.shape[1]
    total = -np.sum(p.tau) - y.shape[0] * np.sum(np.log(p.tau))
    for k in range(1, n):  # LKJ(2)
        total += (n - k + 1) * np.log(p.L[k, k]) - y.shape[0] * np.log(p.L[k, k])
    for row in y:
        z = row / p.tau
        for k in range(n):
            z[k] = (z[k] - np.sum(p.L[k, :k] * z[:k])) / p.L[k, k]
        total += -0.5 * np.sum(z**2)
    return total


def _correlation(x):
    """By partial correlations, of which x is the artanh."""
    tau, (a, b, c) = np.exp(x[:, :3]), np.tanh(x[:, 3:]).T
    rest = np.sqrt((1 - a**2) * (1 - b**2))
    R = np.ones((len(x), 3, 3))
    R[:, 0, 1] = R[:, 1, 0] = a
    R[:, 0, 2] = R[:, 2, 0] = b
    R[:, 1, 2] = R[:, 2, 1] = a * b + c * rest
    cov = R * tau[:, :, None] * tau[:, None]
    likelihood = sum(_dense_normal(cov, row) for row in _TRIPLES)
    jacobian = np.log(rest) + np.log1p(-(np.tanh(x[:, 3:]) ** 2)).sum(1)
    prior = np.linalg.slogdet(R)[1] - tau.sum(1) + x[:, :3].sum(1)
    return likelihood + prior + jacobian


def seen_correlation(d):
    L = d["L"]
    R = L @ np.swapaxes(L, -1, -2)
    a, b = R[..., 0, 1], R[..., 0, 2]
    c = (R[..., 1, 2] - a * b) / np.sqrt((1 - a**2) * (1 - b**2))
    return np.log(d["tau"]), np.arctanh(np.stack([a, b, c], axis=-1))


_TRIPLES = _rng.normal(size=(20, 3)) @ np.array([[1.0, 0.6, 0.0], [0.0, 0.8, 0.5], [0.0, 0.0, 1.0]])
put(
    correlation, {"tau": bl.positive(3), "L": bl.cholesky_corr(3)}, (_TRIPLES,), _correlation,
    seen_correlation, 6,
)  # fmt: skip


def network(p, x, y):
    hidden = np.tanh(p.w * (x[:, None] - p.c))
    mean = np.sum(hidden * p.v, axis=1)
    prior = -2.0 * np.sum(np.log(p.w) ** 2) - np.sum(np.log(p.w)) - 0.5 * np.sum((p.c - 2.5) ** 2)
    prior += -0.5 * np.sum(p.v**2) - 2.0 * (np.log(p.sigma) + 1.2) ** 2 - np.log(p.sigma)
    return prior - 0.5 * np.sum((y - mean) ** 2) / p.sigma**2 - y.size * np.log(p.sigma)


def _network(x):
    w = np.exp(x[:, :2])
    c = np.column_stack([x[:, 2], x[:, 2] + np.exp(x[:, 3])])
    hidden = np.tanh(w[:, None] * (_ALONG[:, None] - c[:, None]))
    sigma = np.exp(np.clip(x[:, 4, None, None], -9.0, 9.0))
    cov = hidden @ np.swapaxes(hidden, 1, 2) + sigma**2 * np.eye(_ALONG.size)
    prior = norm(x[:, :2], 0, 0.5).sum(1) + norm(c, 2.5).sum(1) + norm(x[:, 4], -1.2, 0.5)
    return _dense_normal(cov, _STEPS) + prior + x[:, 3]


_ALONG = np.linspace(0.0, 5.0, 30)
_STEPS = np.tanh(2.0 * _ALONG - 2.4) - np.tanh(2.0 * _ALONG - 7.2) - 0.1
_STEPS = _STEPS + 0.2 * _rng.normal(size=30)
put(
    network, {"w": bl.positive(2), "c": bl.ordered(2), "v": 2, "sigma": bl.positive()},
    (_ALONG, _STEPS), _network,
    lambda d: (np.log(d["w"]), d["c"][..., 0], np.log(np.diff(d["c"])), np.log(d["sigma"])), 5,
    target_accept=0.95, num_samples=2000,
)  # fmt: skip


def weibull(p, X, time, died):
    log_scale = p.a + X @ p.b
    z = np.log(time) - log_scale
    prior = -0.5 * p.a**2 / 25.0 - 0.5 * np.sum(p.b**2) - p.k
    events = np.where(died, np.log(p.k) + p.k * z, 0.0)
    return prior + np.sum(events - np.exp(p.k * z))


def _weibull(x):
    k, scale = np.exp(x[:, 3:]), np.exp(_mean(x, _X))
    dead = stats.weibull_min.logpdf(_TIME, k, scale=scale)
    alive = stats.weibull_min.logsf(_TIME, k, scale=scale)
    return np.where(_DIED, dead, alive).sum(1) + _slopes(x) + (x - np.exp(x))[:, 3]


_TIME = np.exp(_line) * _rng.weibull(1.5, 30)
_DIED = _TIME < 4.0
_TIME = np.minimum(_TIME, 4.0)
put(
    weibull, LINE | {"k": bl.positive()}, (_X, _TIME, _DIED), _weibull,
    lambda d: (d["a"], d["b"], np.log(d["k"])), 4,
)  # fmt: skip
