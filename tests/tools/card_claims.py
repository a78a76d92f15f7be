"""What backs the numbers on the cards: the computations."""

import inspect
import itertools

import numpy as np
import pytest
from card_numbers import claim, given, near
from scipy import optimize, stats

import bayeslib as bl
from bayeslib.diagnostics import trouble
from bayeslib.hamiltonian.dynamics import DIVERGENT


def default(function, name):
    return inspect.signature(function).parameters[name].default


claim("importance-resampling")(lambda: {"half": default(bl.particle_filter, "ess_threshold")})
claim("diagnostics-rhat")(lambda: {"1.01": trouble.RHAT_LIMIT})
claim("nuts-divergence")(lambda: {"1000": DIVERGENT})


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


@claim("monte_carlo-zero")
def _():
    exact = [1 - 0.05 ** (1 / n) for n in (100, 1000)]  # probability that still gives 5 %
    return {
        "3": [near(100 * exact[0], 0.02), near(1000 * exact[1], 0.01)],
        "95": near(100 * (1 - np.exp(-3)), 0.001),
        "0.05": [np.exp(-3), (1 - 3 / 1000) ** 1000],
    }


@claim("challenge-two-problems")
def _():
    places = 1000
    looks = np.minimum(np.arange(1, places + 1), places - 1)  # the last place needs no look
    return {"2": near(places / looks.mean(), 0.002)}


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
    assert in_1d(1 / 6) < 0.5 < 0.7 < min(map(in_1d, (1 / 4, 1 / 3, 1 / 2)))
    for acceptance, share in ((1 / 6, 0.9), (1 / 2, 2 / 3)):  # of the best in many dimensions
        size = -2 * stats.norm.ppf(acceptance / 2)
        assert size**2 * acceptance > -best.fun * share
    return {
        "0.44": near(efficiency_1d(line.x)[1], 0.02),
        "0.234": 2 * stats.norm.cdf(-best.x / 2),
        "2.4": best.x,
        "quarter": given("an end of the rule of thumb, asserted above"),
        "sixth": given("an end of the rule of thumb, asserted above"),
        "half": given("an end of the rule of thumb, asserted above"),
    }


def worth(rho):
    """Return what a draw of a chain with autocorrelations rho^k is worth."""
    return 1 / (1 + 2 * np.sum(rho ** np.arange(1, 2000)))


@claim("diagnostics-autoregression")
def _():
    return {
        "0.9": given("the coefficient, chosen"),
        "nineteenth": worth(0.9),
        "nineteen": worth(-0.9),
        "tenth": [near(worth(0.9**2), 0.06), near(worth((-0.9) ** 2), 0.06)],
    }


@claim("minds-worth")
def _():
    one, three = (3 / 4 - 1 / (4 * (n + 2)) for n in (1, 3))
    return dict.fromkeys((r"\frac34", "4", "2"), given("asserted on the page")) | {
        "third": [one / 2, 2 * one - 1],  # a guess is right in one of two
        "quarter": (3 / 4) / 3,
        r"\frac13": 2 * one - 1,
        r"\frac1{39}": (three - one) / (3 * one - three),
    }


@claim("annealing-ladder")
def _():
    def effort(gaps, barrier=50.0):  # chains times the expected time of a round trip (Syed 2022)
        share = barrier / gaps
        return gaps * (2 + 2 * gaps * share / (1 - share))

    best = optimize.minimize_scalar(effort, bounds=(51, 500), method="bounded").x
    return {"2": near(best / 50, 0.02)}


@claim("hmc-length")
def _():
    after = {turn: np.cos(turn * np.pi) for turn in (0.5, 1, 2)}  # correlation with the start
    assert after[0.5] == pytest.approx(0) and after[1] == -1 and after[2] == 1
    return {"2": [1 / 0.5, 2.0]}


@claim("hmc-acceptance")
def _():
    computed = {
        "0.651": given("asserted on the page"),
        "2": given("asserted in test_claims_hmc.py"),
    }
    return computed | {"0.8": default(bl.nuts, "target_accept")}


def energy_error(step, time=1.0):
    """Return the mean energy error of a path in equilibrium, an oscillator of frequency one."""
    kick, drift = np.array([[1, 0], [-step / 2, 1]]), np.array([[1, step], [0, 1]])
    path = np.linalg.matrix_power(kick @ drift @ kick, round(time / step))
    return np.trace(path.T @ path) / 2 - 1


@claim("nuts-dimension")
def _():
    order = np.log2(energy_error(0.1) / energy_error(0.05))  # d coordinates: d times the error
    return {"d^{1/4}": near(1 / order, 0.01), "d^{5/4}": near(1 + 1 / order, 0.01)}


@claim("nuts-doubling")
def _():
    return {"2": np.exp(np.log(len(list(itertools.product("+-", repeat=5)))) / 5)}


@claim("laplace-occam")
def _():
    return {"2": 1 / (np.pi * (1.7 * stats.norm.pdf(0, scale=1.7)) ** 2)}
