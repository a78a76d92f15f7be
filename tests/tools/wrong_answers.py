"""Wrong answers to the book's exercises, as slips produce them: one for each typical mistake.

A mistake that an exercise lists as a value or a function is its own example. For one that is
recognised by a predicate an answer stands here, in the order in which the exercise lists them,
computed from the slip and not from the predicate; a function of the right answer, `t`, where that
says it best. `Each` holds several answers that are to be told the same.
"""

from itertools import product

import numpy as np
from scipy import integrate, optimize, special, stats

LOG_TWO = np.log(2.0)
C = 8.0**-0.5  # the largest likelihood of the running example


class Each(tuple):
    """Several answers to the same mistake."""

    def __new__(cls, *answers):
        return super().__new__(cls, answers)


def posterior(theta):
    """The running example, not normalised: Gamma(3, 1) prior, Student likelihood at five."""
    return stats.gamma.pdf(theta, 3.0) * stats.t.pdf(5.0 - theta, 2)


EVIDENCE = integrate.quad(posterior, 0.0, 100.0, points=(5.0,), epsabs=1e-13, limit=200)[0]


def average(f):
    """The posterior mean of a function in the running example."""
    whole = integrate.quad(lambda t: f(t) * posterior(t), 0.0, 100.0, points=(5.0,), epsabs=1e-13)
    return whole[0] / EVIDENCE


def highest(power):
    """Where the running posterior times exp(power * theta) is highest."""
    found = optimize.minimize_scalar(
        lambda theta: -np.log(posterior(theta)) - power * theta,
        bounds=(0.5, 8.0),
        method="bounded",
        options={"xatol": 1e-9},
    )
    return found.x


def pneumonia_and_flu():
    """P(pneumonia, flu | fever and cough), by enumeration of four conditions."""
    rate = {"flu": 0.05, "cold": 0.15, "allergy": 0.10, "lungs": 0.01}
    fever = {"flu": 0.9, "cold": 0.2, "allergy": 0.0, "lungs": 0.85}
    cough = {"flu": 0.6, "cold": 0.5, "allergy": 0.1, "lungs": 0.9}
    both = total = 0.0
    for ill in product((False, True), repeat=4):
        have = [name for name, yes in zip(rate, ill, strict=True) if yes]
        p = np.prod([rate[name] if name in have else 1.0 - rate[name] for name in rate])
        p *= 1.0 - 0.98 * np.prod([1.0 - fever[name] for name in have])
        p *= 1.0 - 0.95 * np.prod([1.0 - cough[name] for name in have])
        total += p
        both += p * ("flu" in have and "lungs" in have)
    return both / total


def cautious_walker():
    """How often the walker with two moods is at each of the three hypotheses, in the long run."""
    joint = (0.125, 0.081, 0.009)
    step = np.zeros((2, 3, 2, 3))
    for mood, here in product(range(2), range(3)):
        for there in {0, 1, 2} - {here}:
            step[mood, here, 0, there] = (0.5, 0.05)[mood] * min(1.0, joint[there] / joint[here])
        step[mood, here, 1, here] = 1.0 - step[mood, here].sum()
    return np.linalg.matrix_power(step.reshape(6, 6), 2**14)[0].reshape(2, 3).sum(axis=0)


def exchanged(order, a, b):
    """An order of runs in which the kinds a and b stand in each other's place."""
    return np.where(order == a, b, np.where(order == b, a, order))


ANSWERS = {
    "amortised-moments": [(1.5, 1.0)],
    "amortised-even": [40.0 / 0.499],
    "amortised-coin": [
        (np.log(8 / 2), 0.7),
        (np.log(9 / 3), 0.7),
        (
            sum(1.0 / k for k in range(3, 9)),
            np.pi**2 / 3.0 - sum(1.0 / k**2 for k in range(1, 9)) - 1.25,
        ),
    ],
    "annealing-warm": [np.log(10.0) / 3.0, 3.0 * np.log(10.0), 3.0 / np.log(0.1)],
    "annealing-race": [(1, 0.3), (10, 0.3), (4, 30.0)],
    "annealing-swap": [
        2.0 / np.pi * np.arctan(0.5),
        4.0 / np.pi * np.arctan(0.25),
        Each(4.0 / np.pi * np.arctan(2.0), 2.0),
    ],
    "annealing-integration": [-8.0, -np.log(11.0), special.beta(9, 3)],
    "challenge-scale": [(11.0, 10 / 11), (10 / 11, 11 / 3), (10 / 3, 1.0), (11 / 3, 1.1)],
    "challenge-explain": [
        lambda t: 100.0 * t,
        (0.073, 0.016),
        lambda t: (t[0], t[0]),
        lambda t: (t[0], 0.01),
        lambda t: (t[0], pneumonia_and_flu()),
        lambda t: (t[0], 1.2 * t[0]),
    ],
    "challenge-grid": [(65, 650), (64, 64.0**10), (21, 21.0**10)],
    "challenge-ruler": [highest(0.0), np.exp(-highest(1.0)), np.exp(-highest(0.0)), highest(-1.0)],
    "challenge-tail": [
        lambda t: t[::-1],
        lambda t: 1.0 - t,
        lambda t: (t[1], t[1]),
        lambda t: (t[0], t[0]),
    ],
    "diagnostics-mystery": [lambda t: exchanged(t, 1, 3), Each((1, 1, 2, 3, 4, 5), [0] * 6)],
    "diagnostics-length": [39.0 * 200.0, 39.0 * 100.0**2, 200.0**2 / 39.0, 8.0e5],
    "diagnostics-square": [(1 / 9, 1.64 / 0.36), (1 / 9, 0.36 / 1.64), (9.0, 9.0)],
    "diagnostics-silence": [Each((0.6562, 43), (0.6562, 45)), (1.0 - 0.6562, 44), (0.125, 44)],
    "diagnostics-thinning": [(1, 2.0), lambda t: (t[0], 1.0 / t[1])],
    "gibbs-price": [1.99 / 0.01, 0.0199 / 1.9801, 1.0 / (1.0 - 0.99**2)],
    "gibbs-centre": [
        Each((5.5 / 38.5**0.5, 0.0), (-5.5 / 38.5**0.5, 0.0)),
        (5.5**2 / 38.5, 5.5 / 38.5**0.5),
    ],
    "gibbs-parallel": [2.0 + 2.0 * 0.9, 2.0 - 2.0 * 0.9, 1.0],
    "gibbs-parity": [Each((1, 1 / 3), (2, 1 / 3)), (4, 1 / 2), (4, 1.0)],
    "hardness-forward": [lambda t: 2.0 * t, 0.125, 0.1064, 0.03456, np.log],
    "hmc-best": [Each(np.pi, 2.0 * np.pi), 0.1],
    "hybrid-coin": [(2.9, 0.0), (3.5, 0.0), (4.1, 0.3)],
    "hybrid-conditions": [(1.0, 0.5), (0.0, 1.0), (1.0, 2.0), (0.5, 2.0)],
    "hybrid-ladder": [(258, 12, 78), (222, 10, 78), (222, 12, 114)],
    "importance-underflow": [lambda t: 1.0 / t, 1.0, Each(0.5, 7.0)],
    "importance-borderline": [(1 / 0.3, 2), (1 / 2, 1 / 0.3), (1.0, 1 / 0.3), (2.0, 1.7)],
    "importance-aim": [np.sqrt, lambda t: 1.0 / t, 0.5],
    "importance-bias": [lambda t: 100.0 * t, lambda t: -t],
    "importance-distant": [(np.log(0.75), 0.02), (np.log(0.25), 0.02), (-12.0, 0.5)],
    "ising-temperature": [lambda t: 1.0 / t, 2.0 / np.arcsinh(1.0), lambda t: -t],
    "ising-ring": [
        10.0 * np.log(2.0 * np.cosh(1.0)),
        LOG_TWO + 9.0 * np.log(2.0 * np.cosh(1.0)),
        (2.0 * np.cosh(1.0)) ** 10 + (2.0 * np.sinh(1.0)) ** 10,
    ],
    "ising-lone": [special.expit(-2.0), special.expit(4.0), Each(-0.02, 0.6)],
    "ising-contrastive": [lambda t: -t],
    "laplace-stirling": [
        special.factorial(10),
        (10.0 / np.e) ** 10,
        (10.0 / np.e) ** 10 * np.sqrt(2.0 * 10.0),
        10.0 * np.log(10.0) - 10.0 + 0.5 * np.log(20.0 * np.pi),
    ],
    "laplace-bic": [
        0.5 * np.log(4.0 * np.pi) - 2.0,
        0.0,
        2.0 - 0.5 * np.log(2.0 * np.pi) + 0.5 * LOG_TWO,
        -0.5 * np.log(4.0 * np.pi),
    ],
    "laplace-width": [74.78, 1.0, np.log],
    "mcmc-barker": [lambda t: 1.0 / t, np.sqrt, 2.0112],
    "mcmc-cautious": [9.0 / (125.0 + 81.0 + 9.0), Each(*cautious_walker()[:2])],
    "mcmc-optimal": [lambda t: (t[0], stats.norm.cdf(-t[0] / 2.0)), lambda t: (t[0], 23.4)],
    "minds-majority": [Each(78.4, -0.2)],
    "minds-worth": [Each(9.0, 99.0)],
    "minds-anchor": [
        -LOG_TWO / np.log(0.95),
        Each(np.log(0.01) / np.log10(0.95), np.log10(0.01) / np.log(0.95)),
    ],
    "minds-race": [(0.64, 2.0), (16 / 17, 4.0)],
    "monte_carlo-digits": [3.0**0.5 * 1e3, 3.0**2 * 1e6, 3.0 * 1e3],
    "monte_carlo-coverage": [
        Each(2.0 * stats.norm.cdf(2.0) - 1.0, 0.95),
        2.0 * stats.t.cdf(2.0, 10) - 1.0,
        2.0 * stats.t.sf(2.0, 9),
        stats.t.cdf(2.0, 9),
        92.3,
    ],
    "monte_carlo-tail": [
        (average(lambda theta: stats.t.sf(8.0 - theta, 2)), 3e-4),
        lambda t: (1.0 - t, 3e-4),
    ],
    "monte_carlo-remember": [Each(10.0**0.5, 10.0), 19.0**-0.5, Each(2.8**0.5, 2.8)],
    "nuts-bill": [(41, 32), (63, 32), (31, 32), Each((40, 40), (40, 41)), (40, 31)],
    "nuts-school": [(28.0, 0.05), (0.3167, 0.05), (4.397, 0.05)],
    "rejection-price": [
        C / EVIDENCE,
        1e3 * EVIDENCE / C,
        1e3 / (C * EVIDENCE),
        1e3 / EVIDENCE,
        500.0,
    ],
    "rejection-envelope": [
        lambda t: t[::-1],
        lambda t: (4.2, t[1]),
        lambda t: (1.0 / t[0], t[1]),
        lambda t: (t[0], EVIDENCE / t[1]),
        lambda t: (t[0], t[1] / EVIDENCE),
    ],
    "rejection-evidence": [
        (20 / 77 * C, 0.05 * C),
        (0.25, 0.05 * C),
        (0.25 * C, 0.05),
        Each((0.25 * C, 0.05**2 * C), (0.25 * C, (0.05 * C) ** 2), (0.088, 0.0)),
    ],
    "rejection-leak": [average(lambda theta: theta), 3.0, 4.094],
    "rejection-half-normal": [
        np.random.default_rng(1).normal(size=4000),
        np.random.default_rng(2).exponential(size=4000),
    ],
    "rejection-dimension": [np.log(1e6) / np.log(1.1), 1e6 / 1.1],
    "sghmc-noise": [100.0**2 * 2.5],
    "sghmc-budget": [(0.05 / 400.0, 20.0), (5e-4, 8000.0), (20.0, 5e-4)],
    "together-price": [(9500 / 2800, 1.77), (1.75, 1.75), (0.35, 0.57)],
    "together-narrow": [(10.390562, 8.068528), (1.129438, 0.318147)],
    "together-acceptance": list(np.array([4, 2, 4]) / np.pi * np.arctan([0.5, 0.5**0.5, 2**0.5])),
    "together-correct": [lambda t: (1.0 - t, 0.002), (0.002, 0.0005)],
    "together-pair": [(1.5, -0.5), (2 / 3, 5 / 3), (-2 / 3, 5 / 3)],
    "vi-gap": [Each(1.0, -1.3)],
    "vi-tail": [Each(1.0, 1.4)],
}

# Wrong in no typical way, where a multiple of the right answer would be a typical mistake.
ODD = {
    "diagnostics-mystery": lambda t: np.roll(t, 1),
    "gibbs-centre": lambda t: 0.9 * t,
    "rejection-half-normal": np.abs(np.random.default_rng(3).normal(scale=2.0, size=4000)),
}
