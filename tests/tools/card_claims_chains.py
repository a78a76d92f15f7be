"""What backs the numbers on the cards: independent draws and Markov chains."""

import inspect
import itertools

import numpy as np
import pytest
from card_numbers import claim, given, near
from scipy import integrate, optimize, stats

import bayeslib as bl
from bayeslib.diagnostics import trouble

# ---- independent draws ----


@claim("rejection-dimension")
def _():
    grid = np.linspace(-9, 9, 20_001)
    ratio = stats.norm.pdf(grid) / stats.norm.pdf(grid, scale=1.01)
    return {
        "1.01": given("the width of the proposal, chosen"),
        "1000": given("the dimension, chosen"),
        r"1/20\,959": near(1 / ratio.max() ** 1000, 1e-4),
        "per cent": near(1.01 - 1, 1e-9),
        "thousand": given("the dimension again"),
    }


@claim("monte_carlo-unbiased-consistent")
def _():
    bias = [n / (n + 5) - 1 for n in (1, 100, 10**6)]  # of the mean of draws with mean one
    assert bias[0] < bias[1] < bias[2] < 0 and abs(bias[2]) < 1e-5
    return {"5": given("any positive number would do")}


@claim("monte_carlo-zero")
def _():
    exact = [1 - 0.05 ** (1 / n) for n in (100, 1000)]  # probability that still gives 5 %
    return {
        "3": [near(100 * exact[0], 0.02), near(1000 * exact[1], 0.01)],
        "95": near(100 * (1 - np.exp(-3)), 0.001),
        "0.05": [np.exp(-3), (1 - 3 / 1000) ** 1000],
    }


@claim("challenge-missing-mass")
def _():
    known = np.array([1.0, 10.0])
    for third in (0.0, 3.0, 1e6):
        posterior = np.append(known, third) / (11 + third)
        assert np.isclose(posterior[1] / posterior[0], 10) and posterior[:2].sum() <= 1
    return {
        "10": given("a likelihood, chosen"),
        "ten": known[1] / known[0],
        "third": given("an ordinal"),
    }


@claim("challenge-two-problems")
def _():
    places = 1000
    looks = np.minimum(np.arange(1, places + 1), places - 1)  # the last place needs no look
    return {"2": near(places / looks.mean(), 0.002)}


@claim("challenge-grid")
def _():
    n = np.array([100, 200])
    middles = [np.exp((np.arange(k) + 0.5) / k).mean() for k in n]
    first, second = np.abs(np.array(middles) - (np.e - 1))
    order = np.log2(first / second)
    factor = 10 ** (3 / order)  # more points for a tenth of the error in three dimensions
    return {"2": [near(order, 1e-4), near(3 / np.log10(factor), 1e-4)], "10": near(10.0, 0)}


@claim("challenge-typical")
def _():
    radius = stats.chi(10**5)
    assert radius.mean() == pytest.approx(np.sqrt(10**5), rel=1e-4)
    slope = 1.7**2 / (stats.norm.logpdf(0) - stats.norm.logpdf(1.7))
    return {"2": [near(1 / radius.var(), 1e-3), slope]}


@claim("importance-khat")
def _():
    shapes = np.linspace(0.3, 0.7, 401)
    finite = shapes[np.isfinite([stats.genpareto.var(k) for k in shapes])]
    assert trouble.khat_limit(1000) == pytest.approx(1 - 1 / np.log10(1000))
    return {r"\frac12": near(finite.max(), 0.003), "0.7": trouble.khat_limit(10**6)}


# ---- chains ----


def forgetful_walk(seed, num_steps=20_000, chains=8):
    """Walk on Gamma(3, 1) by lognormal steps without the Hastings ratio; (chains, steps)."""
    rng = np.random.default_rng(seed)
    theta, states = np.full(chains, 2.0), np.empty((num_steps, chains))
    for state in states:
        new = theta * np.exp(rng.normal(0, 1.2, chains))
        log_ratio = 2 * np.log(new / theta) - (new - theta)
        theta = np.where(np.log(rng.random(chains)) < log_ratio, new, theta)
        state[:] = theta
    return states[100:].T


@claim("mcmc-forgotten")
def _():
    # Two thirds of a million draws, worth 10,000 or more: an error of 0.1 is seven of its sds.
    draws = forgetful_walk(seed=7)
    theta = np.array([1.0, 3.0])
    divided = stats.gamma.logpdf(theta, 3) - np.log(theta)
    shape = 1 + np.diff(divided + theta)[0] / np.log(3)
    return {
        "3": given("the target, chosen"),
        "2": [near(shape, 1e-9), near(draws.mean(), 0.05)],
        "1.00": bl.rhat(draws[:, :, None]).item(),
    }


def efficiency_1d(scale, edge=6.0, n=121):
    """Return the efficiency and the acceptance of a Gaussian walk on a Gaussian, on a grid."""
    x = np.linspace(-edge, edge, n)
    target = stats.norm.pdf(x) / stats.norm.pdf(x).sum()
    step = stats.norm.pdf(x[None] - x[:, None], scale=scale) * (x[1] - x[0])
    moves = step * np.minimum(1, target[None] / target[:, None])
    kernel = moves + np.diag(1 - moves.sum(axis=1))
    potential = np.linalg.solve(np.eye(n) - kernel + target, x)
    return 1 / (2 * (target * x) @ potential - target @ x**2), target @ moves.sum(axis=1)


@claim("mcmc-acceptance")
def _():
    line = optimize.minimize_scalar(
        lambda scale: -efficiency_1d(scale)[0], bounds=(1.5, 3.5), method="bounded"
    )
    best = optimize.minimize_scalar(
        lambda s: -(s**2) * 2 * stats.norm.cdf(-s / 2), bounds=(1, 4), method="bounded"
    )

    def in_1d(acceptance):
        """The efficiency at the scale that accepts so much, as a share of the best."""
        return efficiency_1d(2 / np.tan(acceptance * np.pi / 2))[0] / -line.fun

    assert in_1d(0.44) > 0.999  # on a flat top
    assert in_1d(1 / 6) < 2 / 3 < min(in_1d(1 / 4), in_1d(1 / 2))
    for acceptance in (1 / 6, 1 / 2):  # a rule of thumb is one that costs no more than a third
        size = -2 * stats.norm.ppf(acceptance / 2)
        assert size**2 * acceptance > -best.fun * 2 / 3
    return {
        "0.44": near(efficiency_1d(line.x)[1], 0.02),
        "0.234": 2 * stats.norm.cdf(-best.x / 2),
        "2.4": best.x,
        "quarter": given("an end of the rule of thumb, asserted above"),
        "sixth": given("an end of the rule of thumb, asserted above"),
        "half": given("an end of the rule of thumb, asserted above"),
    }


@claim("diagnostics-ess")
def _():
    rho = 0.7 ** np.arange(1, 200)
    exact = (1 + 0.7) / (1 - 0.7)  # of an autoregression: (the variance of a sum) / n
    return {"2": (exact - 1) / rho.sum()}


def worth(rho):
    """Return what a draw of a chain with autocorrelations rho^k is worth."""
    return 1 / (1 + 2 * np.sum(rho ** np.arange(1, 2000)))


@claim("diagnostics-pairs")
def _():
    x = np.random.default_rng(3).normal(size=300).cumsum()
    x -= x.mean()
    all_lags = np.correlate(x, x, "full")[x.size :] / (x @ x)
    return {"2": -1 / all_lags.sum()}


@claim("diagnostics-same-start")
def _():
    same = sum(len(set(starts)) == 1 for starts in itertools.product((0, 1), repeat=4))
    return {"1.00": given("a reading, chosen"), "eight": 2**4 / same}


@claim("diagnostics-burn-in")
def _():
    n = 1000
    return {"half": given("how much is dropped, chosen"), "2": n / (n - n / 2)}


def judged_right(num_samples):
    """Return how often the majority of samples is right, p uniform (a polynomial: exact)."""
    nodes, weights = np.polynomial.legendre.leggauss(num_samples + 2)
    p = (nodes + 1) / 2
    says_yes = stats.binom.sf((num_samples - 1) / 2, num_samples, p)
    return (weights / 2) @ (p * says_yes + (1 - p) * (1 - says_yes))


@claim("minds-worth")
def _():
    one, three, five = (judged_right(n) for n in (1, 3, 5))
    limit = 1 - 1 / 4  # V tends to the mean of max(p, 1 - p)
    assert integrate.quad(lambda p: max(p, 1 - p), 0, 1)[0] == pytest.approx(limit)
    slope = (1 / (limit - five) - 1 / (limit - one)) / 4  # 1 / (limit - V_N) = 4 (N + 2)
    return {
        r"\frac34": limit,
        "4": slope,
        "2": 1 / (limit - three) / slope - 3,
        "third": [one / 2, optimize.brentq(lambda s: one / (1 + s) - 0.5, 0, 1)],
        "quarter": limit / 3,
        r"\frac13": optimize.brentq(lambda s: one / (1 + s) - 0.5, 0, 1),
        r"\frac1{39}": optimize.brentq(lambda s: one / (1 + s) - three / (1 + 3 * s), 0, 1),
    }


@claim("minds-sum")
def _():
    flow = np.random.default_rng(1).random((5, 5))
    flow += flow.T
    kernel = flow / flow.sum(axis=1, keepdims=True)
    eigenvalues = np.sort(np.linalg.eigvals(kernel).real)[::-1]
    mean = np.mean([np.trace(np.linalg.matrix_power(kernel, t)) for t in range(7)])
    rest = eigenvalues[1:]
    assert mean == pytest.approx(1 + np.sum((1 - rest**7) / (1 - rest)) / 7) and mean > 1
    return {"2": given("the index of the first eigenvalue below one")}


@claim("annealing-ladder")
def _():
    def effort(gaps, barrier=50.0):  # chains times the expected time of a round trip (Syed 2022)
        share = barrier / gaps
        return gaps * (2 + 2 * gaps * share / (1 - share))

    best = optimize.minimize_scalar(effort, bounds=(51, 500), method="bounded").x
    return {"2": near(best / 50, 0.02)}


def spins(n, values=(-1, 1)):
    return np.array(list(itertools.product(values, repeat=n)))


@claim("ising-boltzmann-equation")
def _():
    rng = np.random.default_rng(2)
    weights = np.triu(rng.normal(size=(4, 4)), 1)
    states = spins(4, (0, 1))
    pairs = np.einsum("ki,ij,kj->k", states, weights, states)
    both = np.einsum("ki,ij,kj->k", states, weights + weights.T, states)
    at = pairs != 0
    return {"2": len(states) ** (1 / 4), "twice": list(both[at] / pairs[at])}


@claim("ising-heatbath")
def _():
    beta, coupling, field, nu = 0.4, 0.8, 0.3, 3
    energy = {s: -coupling * s * nu - field * s for s in (-1, 1)}
    log_odds = -beta * (energy[1] - energy[-1])
    return {"2": log_odds / (beta * (coupling * nu + field))}


@claim("ising-restoration")
def _():
    flipped = 0.1
    log_likelihood = {s: np.log(1 - flipped if s == 1 else flipped) for s in (-1, 1)}
    field = (log_likelihood[1] - log_likelihood[-1]) / 2  # e^{h s} up to a constant
    return {r"\frac12": field / np.log((1 - flipped) / flipped)}


# ---- what takes no more than a line ----

for _card, _numbers in {
    "challenge-deterministic": lambda: {"ten": given("many powers of ten: an order of magnitude")},
    "importance-resampling": lambda: {
        "half": inspect.signature(bl.particle_filter).parameters["ess_threshold"].default
    },
    "diagnostics-autoregression": lambda: {
        "0.9": given("the coefficient, chosen"),
        "nineteenth": worth(0.9),
        "nineteen": worth(-0.9),
        "tenth": [near(worth(0.9**2), 0.06), near(worth((-0.9) ** 2), 0.06)],
    },
    "diagnostics-rhat": lambda: {"1.01": trouble.RHAT_LIMIT},
    "minds-anchor": lambda: {"2": given("the index of the first eigenvalue below one")},
    "annealing-hajek": lambda: {
        "2": given("a shift, so that log(k + 2) is positive"),
        "1988": given("a year"),
    },
    "annealing-flags": lambda: {"1.00": given("a reading, chosen")},
    "ising-slowing": lambda: {"2.17": given("measured: 2.1665(12), Nightingale and Blöte 1996")},
    "ising-one-sign": lambda: {"0.91": given("a reading, chosen")},
}.items():
    claim(_card)(_numbers)
