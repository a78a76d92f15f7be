"""Posteriors that neither the book nor the library's other tests use, each with exact truth.

Those of models and the demanding ones are in `heldback_models`, which completes the list.

`HELD_BACK` names (target, facts, demanding): facts are (what, f, truth) with f taking all draws,
(n, dim), to (n,); a demanding target is one that defaults need not master, if the run says so.
"""

import math

import numpy as np
from scipy import integrate, special, stats

from bayeslib import Target

HELD_BACK = {}


class Tabulated:
    """A distribution on a fine grid, by the trapezoidal rule; `ends` if it stops at both."""

    def __init__(self, x, logdensity, *, ends=False):
        density = np.exp(logdensity - logdensity.max())
        assert ends or max(density[0], density[-1]) < 1e-9
        self.x, self.cdf = x, integrate.cumulative_trapezoid(density, x, initial=0.0)
        self.density = density / self.cdf[-1]
        self.cdf /= self.cdf[-1]

    def expect(self, values):
        return integrate.trapezoid(values * self.density, self.x)

    def mean(self):
        return self.expect(self.x)

    def std(self):
        return math.sqrt(self.expect((self.x - self.mean()) ** 2))

    def ppf(self, probability):
        return np.interp(probability, self.cdf, self.x)


def marginal(f, law, what, *, mean=True):
    """Mean, spread and three probabilities of one function of the draws, of a known law."""
    if isinstance(f, int):
        column = f

        def f(x):
            return x[:, column]

    facts = []
    if mean:
        centre = float(law.mean())
        facts.append((f"mean of {what}", f, centre))
        square = float(law.std()) ** 2
        facts.append((f"variance of {what}", lambda x: (f(x) - centre) ** 2, square))
    for probability in (0.1, 0.5, 0.9):
        cut = float(law.ppf(probability))
        facts.append((f"P({what} < {cut:.3g})", lambda x, cut=cut: 1.0 * (f(x) < cut), probability))
    return facts


def each(law, dim, **options):
    """The same law, or one of a list, in every dimension."""
    laws = law if isinstance(law, list) else [law] * dim
    return [fact for i in range(dim) for fact in marginal(i, laws[i], f"x{i}", **options)]


def hold(name, logdensity, dim, facts, data=(), *, demanding=False, **options):
    HELD_BACK[name] = (Target(logdensity, dim=dim, data=data, **options), facts, demanding)


# One dimension


def log_of_gamma(theta):
    return 2.5 * theta[0] - 3.0 * math.exp(theta[0])


def logit_of_beta(theta):
    return 2.0 * theta[0] - 7.0 * math.log1p(math.exp(theta[0]))


def modified_normal(theta):
    return -2.0 * theta[0] + math.log(math.erfc((2.0 - theta[0]) / math.sqrt(2.0)))


def power(theta):
    return -(abs(theta[0]) ** 1.5)


def far_student(theta):
    return -3.5 * math.log1p(((theta[0] - 100.0) / 5.0) ** 2 / 6.0)


def moyal(theta):
    return -0.5 * (theta[0] + math.exp(-theta[0]))


def log_of_inverse_normal(theta):
    x = math.exp(theta[0])
    return -0.5 * theta[0] - (x - 0.8) ** 2 / (2.0 * x * 0.64)


def sinh_arcsinh(theta):
    stretched = 0.6 * math.asinh(theta[0]) - 0.3
    z = math.sinh(stretched)
    return -0.5 * z * z + math.log(math.cosh(stretched)) - 0.5 * math.log1p(theta[0] ** 2)


def two_sds(theta):
    wide = math.exp(-0.5 * (theta[0] + 1.0) ** 2)
    return math.log(0.25 * wide + 1.5 * math.exp(-2.0 * (theta[0] - 2.0) ** 2))


LINE = np.linspace(-60.0, 60.0, 1_200_001)
hold("log of gamma", log_of_gamma, 1, each(stats.loggamma(2.5, loc=-math.log(3.0)), 1))
NEAR = LINE[np.abs(LINE) < 40.0]
hold("logit of beta", logit_of_beta, 1,
     each(Tabulated(NEAR, 2.0 * NEAR - 7.0 * np.logaddexp(0.0, NEAR)), 1))  # fmt: skip
hold("normal plus exponential", modified_normal, 1, each(stats.exponnorm(0.5), 1))
hold("power 1.5", power, 1, each(stats.gennorm(1.5), 1))
hold("student at 100", far_student, 1, each(stats.t(6, 100.0, 5.0), 1))
hold("moyal", moyal, 1, each(stats.moyal(), 1))
hold("log of inverse normal", log_of_inverse_normal, 1, each(
    Tabulated(NEAR[NEAR < 8.0], -0.5 * NEAR[NEAR < 8.0]
              - (np.exp(NEAR[NEAR < 8.0]) - 0.8) ** 2 / (1.28 * np.exp(NEAR[NEAR < 8.0]))), 1,
))  # fmt: skip
BENT = np.sinh(np.linspace(-9.0, 9.0, 400_001))
BENT_Z = 0.6 * np.arcsinh(BENT) - 0.3
hold("sinh-arcsinh", sinh_arcsinh, 1, each(Tabulated(
    BENT, -0.5 * np.sinh(BENT_Z) ** 2 + np.log(np.cosh(BENT_Z)) - 0.5 * np.log1p(BENT**2)
), 1))  # fmt: skip
hold("two normals of two widths", two_sds, 1, each(Tabulated(
    NEAR, np.logaddexp(math.log(0.25) - 0.5 * (NEAR + 1.0) ** 2,
                       math.log(1.5) - 2.0 * (NEAR - 2.0) ** 2)
), 1))  # fmt: skip

# Several dimensions


def exchangeable(theta, rho):
    n = theta.size
    total = np.sum(theta)
    return -0.5 * (np.sum(theta**2) - rho / (1.0 + (n - 1) * rho) * total**2) / (1.0 - rho)


def bridge(theta):
    n = theta.size
    s = theta[0] ** 2 + theta[n - 1] ** 2
    for i in range(1, n):
        s += (theta[i] - theta[i - 1]) ** 2
    return -0.5 * s * (n + 1)


def whitened(theta, inverse_root):
    z = inverse_root @ theta
    return -0.5 * np.sum(z**2)


def student7(theta):
    return -5.5 * np.log1p(np.sum(theta**2) / 7.0)


def curve(theta):
    x, y, z = theta[0], theta[1], theta[2]
    across, along = (y - math.sin(2.0 * x)) / 0.3, (z - x * y) / 0.5
    return -0.5 * (x**2 + across**2 + along**2)


def dirichlet(theta, alpha):
    top = max(0.0, theta.max())
    total = math.exp(-top)
    s = 0.0
    for i in range(theta.size):
        total += math.exp(theta[i] - top)
        s += alpha[i] * theta[i]
    return s - alpha.sum() * (top + math.log(total))


def log_gaps(theta):
    s = 0.0
    for i in range(theta.size):
        s += theta[i] - (theta.size - i) * math.exp(theta[i])
    return s


def quartic_ball(theta):
    return -0.25 * np.sum(theta**2) ** 2


def fisher_z(theta):
    return 2.0 * math.log(1.0 - math.tanh(theta[0]) ** 2)


hold("exchangeable, 15", exchangeable, 15, each(stats.norm(), 2) + marginal(
    lambda x: x.sum(axis=1), stats.norm(0.0, math.sqrt(15.0 * (1.0 + 14.0 * 0.6))), "sum"
) + marginal(lambda x: x[:, 0] - x[:, 1], stats.norm(0.0, math.sqrt(0.8)), "x0 - x1"),
     (0.6,))  # fmt: skip
TIMES = np.arange(1, 31) / 31.0
hold("brownian bridge, 30", bridge, 30, [
    fact for i in (0, 14, 29)
    for fact in marginal(i, stats.norm(0.0, math.sqrt(TIMES[i] * (1.0 - TIMES[i]))), f"x{i}")
])  # fmt: skip
ROOT = np.tril(np.random.default_rng(71).uniform(-1.0, 1.0, (6, 6)), -1) + np.eye(6)
ROOT *= 10.0 ** np.array([-2.0, 2.0, 0.0, 1.0, -1.0, 0.0])[:, None]
hold("six scales, correlated", whitened, 6,
     each([stats.norm(0.0, sd) for sd in np.sqrt(np.sum(ROOT**2, axis=1))], 6),
     (np.linalg.inv(ROOT),))  # fmt: skip
hold("student 7, 4", student7, 4, each(stats.t(7), 2))
SIN2 = 0.5 * (1.0 - math.exp(-8.0))
hold("sine and product, 3", curve, 3, [
    *each(stats.norm(), 1),
    ("E y", lambda x: x[:, 1], 0.0),
    ("E y^2", lambda x: x[:, 1] ** 2, SIN2 + 0.09),
    ("E xy", lambda x: x[:, 0] * x[:, 1], 2.0 * math.exp(-2.0)),
    ("E z", lambda x: x[:, 2], 2.0 * math.exp(-2.0)),
    ("P(y < sin 2x)", lambda x: 1.0 * (x[:, 1] < np.sin(2.0 * x[:, 0])), 0.5),
])  # fmt: skip
ALPHA = np.array([0.8, 2.0, 3.0, 4.0])
hold("dirichlet, log ratios", dirichlet, 3, [
    *((f"E log ratio {i}", lambda x, i=i: x[:, i], special.digamma(ALPHA[i]) - special.digamma(4.0))
      for i in range(3)),
    *((f"E p{i}", lambda x, i=i: special.softmax(np.pad(x, ((0, 0), (0, 1))), axis=1)[:, i],
       ALPHA[i] / ALPHA.sum()) for i in range(4)),
], (ALPHA,))  # fmt: skip
hold("gaps of sorted times", log_gaps, 5,
     each([stats.loggamma(1.0, loc=-math.log(5.0 - i)) for i in range(5)], 5))  # fmt: skip
hold("quartic ball, 3", quartic_ball, 3, marginal(
    lambda x: 0.25 * np.sum(x**2, axis=1) ** 2, stats.gamma(0.75), "r^4/4"
) + [("E x0", lambda x: x[:, 0], 0.0)])  # fmt: skip
hold("correlation, Fisher's z", fisher_z, 1, marginal(
    lambda x: 0.5 + 0.5 * np.tanh(x[:, 0]), stats.beta(2.0, 2.0), "(1 + rho)/2"
))  # fmt: skip
