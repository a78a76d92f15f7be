"""Posteriors as a user would write them, data simulated with fixed seeds, each with its truth.

`OUTSIDE` maps names to targets, some of them those of `own_models` without their constraints;
`target.truth` holds mean and covariance, and the log evidence where it is known. It is exact, but
for those of `LEARNED`: theirs is that of long runs of `nuts`, kept in tests/data/outside.npz and
made again by ``python tests/tools/outside_truths.py`` (a minute); of the mixture, whose three
components bear no names, over all six labellings.
"""

import math
from pathlib import Path

import numpy as np
from heldback_models import HELD_BACK
from own_models import MODELS

import bayeslib as bl

STORED = Path(__file__).parents[1] / "data" / "outside.npz"
OUTSIDE, LEARNED, PROPOSAL_SD = {}, [], {}
_known = dict(np.load(STORED)) if STORED.exists() else {}


def stored(name):
    """Return the truth that is stored, if one is."""
    if f"{name}/mean" not in _known:
        return None
    evidence = float(_known.get(f"{name}/log_evidence", math.nan))
    evidence = None if math.isnan(evidence) else evidence
    return bl.Truth(
        mean=_known[f"{name}/mean"], cov=_known[f"{name}/cov"], log_evidence=evidence
    )  # fmt: skip


def put(name, logdensity, dim, data=(), *, truth=None, proposal_sd=2.0, **options):
    """A model, its truth the stored one unless it is given."""
    if truth is None:
        truth = stored(name)
        LEARNED.append(name)
    OUTSIDE[name] = bl.Target(logdensity, dim=dim, data=data, truth=truth, **options)
    PROPOSAL_SD[name] = proposal_sd


def small(name, logdensity, mean, cov, log_evidence=0.0, data=(), **options):
    """A posterior whose truth is exact."""
    mean = np.atleast_1d(np.asarray(mean, float))
    cov = np.atleast_2d(np.eye(mean.size) * cov if np.ndim(cov) == 0 else cov)
    truth = bl.Truth(mean=mean, cov=cov, log_evidence=log_evidence)
    put(name, logdensity, mean.size, data, truth=truth, **options)


def proposal(name):
    """A Gaussian about zero, of standard deviation PROPOSAL_SD[name] in each dimension.

    For one of the `BOOK`, about its mean, with four times its covariance.
    """
    dim = OUTSIDE[name].dim
    if name in BOOK:
        truth = OUTSIDE[name].truth
        return bl.Gaussian(truth.mean, 4.0 * truth.cov)
    return bl.Gaussian(np.zeros(dim), PROPOSAL_SD[name] ** 2 * np.eye(dim))


# Regressions


def probit(theta, X, y):
    s = -0.125 * np.sum(theta**2)
    for i in range(y.size):
        eta = 0.0
        for j in range(theta.size):
            eta += X[i, j] * theta[j]
        s += math.log(0.5 * math.erfc(-(2.0 * y[i] - 1.0) * eta / math.sqrt(2.0)) + 1e-300)
    return s


def tobit(theta, x, y):
    """Intercept, slope, log sigma; what is below zero is recorded as zero."""
    s = -0.05 * np.sum(theta**2)
    sigma = math.exp(theta[2])
    for i in range(y.size):
        eta = theta[0] + theta[1] * x[i]
        if y[i] > 0.0:
            z = (y[i] - eta) / sigma
            s += -0.5 * z * z - theta[2]
        else:
            s += math.log(0.5 * math.erfc(eta / sigma / math.sqrt(2.0)) + 1e-300)
    return s


def random_effects_logit(theta, group, x, y):
    """Intercept, slope, log tau and each group's standardised effect."""
    s = -0.125 * (theta[0] ** 2 + theta[1] ** 2) - 0.5 * theta[2] ** 2
    tau = math.exp(theta[2])
    for j in range(3, theta.size):
        s -= 0.5 * theta[j] ** 2
    for i in range(y.size):
        eta = theta[0] + theta[1] * x[i] + tau * theta[3 + group[i]]
        s += y[i] * eta - max(eta, 0.0) - math.log1p(math.exp(-abs(eta)))
    return s


RNG = np.random.default_rng(810)
X60 = RNG.normal(size=60)
XP = np.column_stack([np.ones(80), RNG.normal(size=(80, 3))])
put("probit", probit, 4, (XP, 1.0 * (RNG.normal(size=80) < XP @ [0.3, -1.0, 0.5, 0.0])))
CENSORED = np.maximum(0.0, 0.3 + 1.0 * X60 + 0.8 * RNG.normal(size=60))
put("tobit", tobit, 3, (X60, CENSORED))
GROUP = np.repeat(np.arange(40), 8)
XR = RNG.normal(size=320)
ETA = -0.5 + 0.8 * XR + 0.9 * RNG.normal(size=40)[GROUP]
put("random effects logit", random_effects_logit, 43,
    (GROUP, XR, 1.0 * (RNG.random(320) < 1.0 / (1.0 + np.exp(-ETA)))))  # fmt: skip


# Latent classes and a latent series


def zero_inflated(theta, y):
    """Logit of the share of zeros that are no counts, log rate."""
    s = -0.5 * (theta[0] ** 2 + theta[1] ** 2)
    rate = math.exp(theta[1])
    share = 1.0 / (1.0 + math.exp(-theta[0]))
    for i in range(y.size):
        if y[i] == 0.0:
            s += math.log(share + (1.0 - share) * math.exp(-rate))
        else:
            s += math.log(1.0 - share + 1e-300) + y[i] * theta[1] - rate
    return s


def mixture(theta, y):
    """Three means, three log sds, logits of two weights against the third; all exchangeable."""
    top = max(theta[6], max(theta[7], 0.0))
    log_total = top + math.log(
        math.exp(theta[6] - top) + math.exp(theta[7] - top) + math.exp(-top)
    )  # fmt: skip
    a, b, c = theta[6] - log_total, theta[7] - log_total, -log_total
    s = 3.0 * (a + b + c)
    for k in range(3):
        s += -0.5 * (theta[k] / 4.0) ** 2 - 0.5 * (theta[3 + k] / 0.5) ** 2
    for i in range(y.size):
        p = a - theta[3] - 0.5 * ((y[i] - theta[0]) * math.exp(-theta[3])) ** 2
        q = b - theta[4] - 0.5 * ((y[i] - theta[1]) * math.exp(-theta[4])) ** 2
        r = c - theta[5] - 0.5 * ((y[i] - theta[2]) * math.exp(-theta[5])) ** 2
        s += np.logaddexp(np.logaddexp(p, q), r)
    return s


def stochastic_volatility(theta, y):
    """Level, Fisher's z of the persistence, log sd, and each day's standardised change."""
    phi, sigma = math.tanh(theta[1]), math.exp(theta[2])
    s = -0.5 * theta[0] ** 2 - 0.5 * ((theta[1] - 1.5) / 0.5) ** 2
    s -= 0.5 * ((theta[2] + 1.5) / 0.7) ** 2
    h = theta[0] + sigma / math.sqrt(1.0 - phi * phi + 1e-12) * theta[3]
    for i in range(y.size):
        if i > 0:
            h = theta[0] + phi * (h - theta[0]) + sigma * theta[3 + i]
        s += -0.5 * theta[3 + i] ** 2 - 0.5 * h - 0.5 * y[i] * y[i] * math.exp(-h)
    return s


put("zero inflated", zero_inflated, 2, (RNG.poisson(2.5, 60) * (RNG.random(60) < 0.7) * 1.0,))
MIXED = np.r_[RNG.normal(-3.0, 0.6, 40), RNG.normal(0.0, 0.6, 30), RNG.normal(3.0, 0.6, 30)]
put("mixture of three", mixture, 8, (MIXED,), proposal_sd=3.0)
H = np.zeros(100)
H[0] = RNG.normal(0.0, 0.7)
for i in range(1, 100):
    H[i] = 0.95 * H[i - 1] + 0.25 * RNG.normal()
put("stochastic volatility", stochastic_volatility, 103, (np.exp(0.5 * H) * RNG.normal(size=100),))


# Models of one's own, in coordinates without constraints

OWN = (
    "robust", "poisson", "weibull", "missing", "non_centred", "ordinal", "change_point",
    "hidden_markov", "autoregression", "gaussian_process", "lotka_volterra", "correlation",
)  # fmt: skip
for name in OWN:
    free = bl.unconstrained(MODELS[name].target)
    put(f"own: {name}", free.logdensity, free.dim, free.data)


# Small ones, of exact truth


def exponential(theta):
    return -theta[0] if theta[0] >= 0.0 else -np.inf


def unguarded(theta):
    return -0.5 * theta[0] ** 2


def student(theta, nu, constant):
    return constant - 0.5 * (nu + theta.size) * math.log1p(np.sum(theta**2) / nu)


def two_modes(theta, left, wide, right, narrow, share):
    d = theta.size
    p = q = 0.0
    for i in range(d):
        p -= 0.5 * ((theta[i] - left) / wide) ** 2
        q -= 0.5 * ((theta[i] - right) / narrow) ** 2
    p += math.log(share) - d * math.log(wide)
    q += math.log(1.0 - share) - d * math.log(narrow)
    return np.logaddexp(p, q) - 0.5 * d * math.log(2.0 * math.pi)


small("exp(1)", exponential, [1.0], 1.0, support=(0.0, None))
small("half normal, no guard", unguarded, [math.sqrt(2.0 / math.pi)], 1.0 - 2.0 / math.pi,
      0.5 * math.log(0.5 * math.pi), support=(0.0, None))  # fmt: skip
for nu in (3.0, 5.0):
    for d in (1, 5):
        unit = (
            math.lgamma(0.5 * (nu + d)) - math.lgamma(0.5 * nu) - 0.5 * d * math.log(nu * math.pi)
        )
        small(f"t{nu:.0f} in {d}", student, np.zeros(d), nu / (nu - 2.0), 0.0, (nu, unit))
for d in (1, 2, 5):
    for kind, narrow in (("equal", 1.0), ("unequal", 0.3)):
        x, share = 10.0 / math.sqrt(d), 0.3
        mean = np.full(d, (1.0 - 2.0 * share) * 0.5 * x)
        inside = (share + (1.0 - share) * narrow**2) * np.eye(d)
        small(f"two modes in {d}, {kind}", two_modes, mean,
              inside + share * (1.0 - share) * x * x * np.ones((d, d)), 0.0,
              (-0.5 * x, 1.0, 0.5 * x, narrow, share), proposal_sd=5.0)  # fmt: skip
for name, target in (("banana", bl.posteriors.banana()), ("funnel", bl.posteriors.funnel(10))):
    OUTSIDE[name], PROPOSAL_SD[name] = target, 4.0


# Held-back posteriors by parameter: mean and variances. Where the mean does not exist, nan.

EXACT = {
    "sine and product, 3": (
        [0.0, 0.0, 2.0 * math.exp(-2.0)],
        [1.0, 0.59 - 0.5 * math.exp(-8.0),
         0.84 + 7.5 * math.exp(-8.0) - 4.0 * math.exp(-4.0)],
    ),
    "quartic ball, 3": (np.zeros(3), np.full(3, 2.0 * math.gamma(1.25) / math.gamma(0.75) / 3.0)),
    "two islands": ([4.8, -3.6], [41.96, 24.04]),
    "cauchy at 3": ([math.nan], [math.nan]),
    "triangle": ([1.0 / 3.0] * 2, [1.0 / 18.0] * 2),
    "rayleigh": ([math.sqrt(0.5 * math.pi)], [2.0 - 0.5 * math.pi]),
    "needle": ([0.0, 0.0], [0.5 + 0.5 * 0.005**2] * 2),
    "valley": ([0.0, 3.6], [9.0, 25.93]),
    "rare width": ([0.0], [640.6]),
    "no integral": ([math.nan], [math.nan]),
}  # fmt: skip
for name, (target, _, _) in HELD_BACK.items():
    truth = None
    if name in EXACT:
        mean, variances = np.array(EXACT[name])
        truth = bl.Truth(mean=mean, cov=np.diag(variances))
    support = None if target.support is None else tuple(target.support)
    put(f"heldback: {name}", target.logdensity, target.dim, target.data, truth=truth,
        support=support)  # fmt: skip


# Easy ones of the book: one peak, tails no heavier than a Gaussian's; a proposal twice as wide


def easy_ones():
    """Return names and targets."""
    rng = np.random.default_rng(830)
    X = np.column_stack([np.ones(50), rng.normal(size=(50, 3))])
    line = X @ [1.0, -1.0, 0.5, 0.0]
    make = bl.posteriors
    return {
        "gaussian": make.gaussian([1.0], [[4.0]]),
        "gaussian in 5": make.gaussian(np.arange(5.0), 0.5 + 0.5 * np.eye(5)),
        "gaussian in 20": make.gaussian(np.zeros(20), 0.3 + 0.7 * np.eye(20)),
        "linear regression": make.linear_regression(
            X, line + rng.normal(size=50), noise_scale=1.0, prior_scale=2.0
        ),
        "O-rings": make.challenger(),
        "coal mines": make.coal_mining(),
        "coin": make.coin(8, 2),
        "running example": make.gamma_student(),
        "pumps": make.pumps(),
        "eight schools": make.eight_schools(),
    }


BOOK = {f"book: {name}": target for name, target in easy_ones().items()}
OUTSIDE |= BOOK
