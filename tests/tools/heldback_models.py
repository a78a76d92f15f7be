"""Held-back posteriors of models with data, and those that are more than defaults can do."""

import math

import numpy as np
from heldback import HELD_BACK, Tabulated, each, hold, marginal
from scipy import special, stats

__all__ = ["HELD_BACK"]

# Models of data

DATA = np.random.default_rng(72)
LENGTHS = DATA.normal(5.0, 2.0, 12)


def mean_and_sd(theta, y):
    precision = math.exp(-2.0 * theta[1])
    return -y.size * theta[1] - 0.5 * precision * np.sum((y - theta[0]) ** 2)


def ridge(theta, X, y):
    return -0.5 * np.sum((y - X @ theta) ** 2) / 0.49 - 0.5 * np.sum(theta**2) / 4.0


def rates(theta, events, exposure):
    s = 0.0
    for i in range(theta.size):
        s += (1.5 + events[i]) * theta[i] - (0.5 + exposure[i]) * math.exp(theta[i])
    return s


def probit(theta, x, y):
    s = -0.125 * (theta[0] ** 2 + theta[1] ** 2)
    for i in range(x.size):
        reach = (2.0 * y[i] - 1.0) * (theta[0] + theta[1] * x[i])
        s += math.log(0.5 * math.erfc(-reach / math.sqrt(2.0)))
    return s


def autoregression(theta, y):
    phi = math.tanh(theta[0])
    s = math.log(1.0 - phi * phi)
    for i in range(1, y.size):
        s -= 0.5 * (y[i] - phi * y[i - 1]) ** 2
    return s


def groups_noncentred(theta, y):
    tau = math.exp(theta[0])
    s = theta[0] - 0.5 * tau * tau
    for j in range(y.size):
        s -= 0.5 * theta[1 + j] ** 2 + 0.5 * (y[j] - tau * theta[1 + j]) ** 2
    return s


def groups_centred(theta, y):
    tau = math.exp(theta[0])
    s = theta[0] - 0.5 * tau * tau - y.size * theta[0]
    for j in range(y.size):
        s -= 0.5 * (theta[1 + j] / tau) ** 2 + 0.5 * (y[j] - theta[1 + j]) ** 2
    return s


SQUARES, N = np.sum((LENGTHS - LENGTHS.mean()) ** 2), LENGTHS.size
hold("mean and log sd", mean_and_sd, 2, marginal(
    0, stats.t(N - 1, LENGTHS.mean(), math.sqrt(SQUARES / (N - 1) / N)), "mu"
) + marginal(
    lambda x: np.exp(-2.0 * x[:, 1]), stats.gamma((N - 1) / 2.0, scale=2.0 / SQUARES), "1/sigma^2"
), (LENGTHS,))  # fmt: skip
X = np.column_stack([np.ones(40), DATA.normal(size=(40, 3))])
X[:, 3] = 0.9 * X[:, 2] + 0.3 * X[:, 3]
Y = X @ [1.0, -2.0, 0.5, 0.0] + 0.7 * DATA.normal(size=40)
COV = np.linalg.inv(X.T @ X / 0.49 + np.eye(4) / 4.0)
hold("ridge regression", ridge, 4, each(
    [stats.norm(m, s) for m, s in zip(COV @ X.T @ Y / 0.49, np.sqrt(np.diag(COV)), strict=True)], 4
), (X, Y))  # fmt: skip
EVENTS, EXPOSURE = np.array([0.0, 1.0, 4.0, 12.0]), np.array([2.0, 0.5, 10.0, 8.0])
hold("log rates", rates, 4, each([
    stats.loggamma(1.5 + e, loc=-math.log(0.5 + t)) for e, t in zip(EVENTS, EXPOSURE, strict=True)
], 4), (EVENTS, EXPOSURE))  # fmt: skip
DOSE = np.linspace(-2.0, 2.0, 16)
CURED = 1.0 * (DATA.normal(size=16) < 0.4 + 0.9 * DOSE)
A, B = np.linspace(-3.0, 4.0, 701), np.linspace(-2.0, 8.0, 1001)
SURFACE = -0.125 * (A[:, None] ** 2 + B**2) + sum(
    special.log_ndtr((2.0 * y - 1.0) * (A[:, None] + B * x))
    for x, y in zip(DOSE, CURED, strict=True)
)  # fmt: skip
hold("probit dose response", probit, 2, each(
    [Tabulated(A, special.logsumexp(SURFACE, axis=1)),
     Tabulated(B, special.logsumexp(SURFACE, axis=0))], 2
), (DOSE, CURED))  # fmt: skip
SERIES = np.zeros(60)
for t in range(1, 60):
    SERIES[t] = 0.8 * SERIES[t - 1] + DATA.normal()
PHI = np.linspace(-1.0, 1.0, 200_001)
hold("autoregression", autoregression, 1, marginal(lambda x: np.tanh(x[:, 0]), Tabulated(
    PHI, -0.5 * (PHI**2 * np.sum(SERIES[:-1] ** 2) - 2.0 * PHI * np.sum(SERIES[1:] * SERIES[:-1])),
    ends=True,
), "phi"), (SERIES,))  # fmt: skip
EFFECTS = np.array([1.2, -0.4, 0.3, 2.1, -1.5, 0.2, 0.9])
LOG_TAU = np.linspace(-25.0, 3.0, 280_001)
TAU2 = np.exp(2.0 * LOG_TAU)
SPREAD = Tabulated(LOG_TAU, LOG_TAU - 0.5 * TAU2 - 3.5 * np.log1p(TAU2)
                   - 0.5 * np.sum(EFFECTS**2) / (1.0 + TAU2))  # fmt: skip
SHRUNK = SPREAD.expect(TAU2 / (1.0 + TAU2)) * EFFECTS[3]
hold("groups, non-centred", groups_noncentred, 8, [
    *marginal(0, SPREAD, "log tau"),
    ("E effect 3", lambda x: np.exp(x[:, 0]) * x[:, 4], SHRUNK),
], (EFFECTS,))  # fmt: skip
hold("groups, centred", groups_centred, 8, [
    *marginal(0, SPREAD, "log tau"), ("E effect 3", lambda x: x[:, 4], SHRUNK),
], (EFFECTS,), demanding=True)  # fmt: skip

# Those that defaults need not master, if they say so


def islands(theta):
    left = -0.5 * ((theta[0] + 8.0) ** 2 + (theta[1] - 6.0) ** 2)
    right = -0.5 * ((theta[0] - 8.0) ** 2 + (theta[1] + 6.0) ** 2)
    return np.logaddexp(math.log(0.2) + left, math.log(0.8) + right)


def cauchy(theta):
    return -math.log1p((theta[0] - 3.0) ** 2)


def triangle(theta):
    if theta[0] < 0.0 or theta[1] < 0.0 or theta[0] + theta[1] > 1.0:
        return -np.inf
    return 0.0


def rayleigh(theta):
    return math.log(theta[0]) - 0.5 * theta[0] ** 2 if theta[0] > 0.0 else -np.inf


def needle(theta):
    along, across = theta[0] + theta[1], theta[0] - theta[1]
    return -0.25 * along**2 - 0.25 * (across / 0.005) ** 2


def valley(theta):
    return -0.5 * (theta[0] / 3.0) ** 2 - 0.5 * ((theta[1] - 0.4 * theta[0] ** 2) / 0.1) ** 2


def rare_width(theta):
    return np.logaddexp(math.log(0.6) - 0.5 * theta[0] ** 2,
                        math.log(0.4 / 40.0) - 0.5 * (theta[0] / 40.0) ** 2)  # fmt: skip


def improper(theta):
    return -0.45 * math.log1p(theta[0] ** 2)


hold("two islands", islands, 2, [
    ("P(right)", lambda x: 1.0 * (x[:, 0] > 0.0), 0.8), ("E x0", lambda x: x[:, 0], 4.8),
], demanding=True)  # fmt: skip
hold("cauchy at 3", cauchy, 1, each(stats.cauchy(3.0), 1, mean=False), demanding=True)
hold("triangle", triangle, 2, each(stats.beta(1.0, 2.0), 2), demanding=True,
     support=[(0.0, 1.0), (0.0, 1.0)])  # fmt: skip
hold("rayleigh", rayleigh, 1, each(stats.rayleigh(), 1), demanding=True, support=(0.0, None))
hold("needle", needle, 2, each(stats.norm(0.0, math.sqrt(0.5 + 0.5 * 0.005**2)), 2) + marginal(
    lambda x: x[:, 0] - x[:, 1], stats.norm(0.0, 0.005 * math.sqrt(2.0)), "x0 - x1"
), demanding=True)  # fmt: skip
hold("valley", valley, 2, each(stats.norm(0.0, 3.0), 1) + [
    ("E x1", lambda x: x[:, 1], 3.6),
    ("E x1^2", lambda x: x[:, 1] ** 2, 0.16 * 3.0 * 81.0 + 0.01),
], demanding=True)  # fmt: skip
hold("rare width", rare_width, 1, [
    ("E x^2", lambda x: x[:, 0] ** 2, 0.6 + 0.4 * 1600.0),
    ("P(|x| < 3)", lambda x: 1.0 * (np.abs(x[:, 0]) < 3.0),
     0.6 * (2.0 * special.ndtr(3.0) - 1.0) + 0.4 * (2.0 * special.ndtr(3.0 / 40.0) - 1.0)),
], demanding=True)  # fmt: skip
hold("no integral", improper, 1, [("E x", lambda x: x[:, 0], math.nan)], demanding=True)
