"""What backs the numbers on the cards: Hamiltonian flow, optimisation, and both."""

import inspect
import itertools

import numpy as np
import pytest
from card_numbers import claim, given, near
from scipy import optimize, stats

import bayeslib as bl
from bayeslib.hamiltonian.dynamics import DIVERGENT

# ---- Hamiltonian flow ----


@claim("hmc-equations")
def _():
    mass, r, h = np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([0.3, -1.1]), 1e-6
    square = lambda r: r @ np.linalg.solve(mass, r)  # noqa: E731
    slope = np.array([(square(r + h * e) - square(r - h * e)) / (2 * h) for e in np.eye(2)])
    return {r"\tfrac12": list(np.linalg.solve(mass, r) / slope)}


def leapfrog(step, omega=1.0):
    """Return the matrix of a leapfrog step on an oscillator."""
    kick = np.array([[1, 0], [-step * omega**2 / 2, 1]])
    return kick @ np.array([[1, step], [0, 1]]) @ kick


def energy_error(step, time=1.0):
    """Return the mean energy error of a path in equilibrium, an oscillator of frequency one."""
    path = np.linalg.matrix_power(leapfrog(step), round(time / step))
    return np.trace(path.T @ path) / 2 - 1


@claim("hmc-leapfrog")
def _():
    def excess(step):  # over the largest trace of a stable step
        return abs(np.trace(leapfrog(step))) - 2

    state, worst = np.array([1.0, 0.5]), {}
    for step in (0.02, 0.01):
        matrix, z, worst[step] = leapfrog(step), state, 0.0
        for _ in range(round(6 / step)):
            z = matrix @ z
            worst[step] = max(worst[step], abs(z @ z - 1.25))
    return {
        "2": [near(optimize.brentq(lambda s: excess(s) - 1e-6, 0.5, 3), 1e-5)],
        r"\varepsilon^2": near(np.log2(worst[0.02] / worst[0.01]), 1e-2),
        "half": given("of a step, twice: what makes the step its own mirror image"),
    }


@claim("hmc-shear")
def _():
    assert np.linalg.det(leapfrog(0.7)) == pytest.approx(1)
    return {"half": given("of the coordinates: positions or momenta")}


@claim("hmc-length")
def _():
    after = {turn: np.cos(turn * np.pi) for turn in (0.5, 1, 2)}  # correlation with the start
    assert after[0.5] == pytest.approx(0) and after[1] == -1 and after[2] == 1
    return {"2": [1 / 0.5, 2.0]}


@claim("hmc-acceptance")
def _():
    best = optimize.minimize_scalar(
        lambda s: -np.sqrt(s) * 2 * stats.norm.cdf(-s / 2), bounds=(0.1, 5), method="bounded"
    ).x
    error = stats.norm(best**2 / 2, best)
    mean = error.expect(lambda e: np.minimum(1, np.exp(-e)), lb=-12, ub=14)
    default = inspect.signature(bl.nuts).parameters["target_accept"].default
    return {
        "0.651": [2 * stats.norm.cdf(-best / 2), mean],
        "0.8": default,
        "2": near(mean / stats.norm.cdf(-best / 2), 1e-3),
    }


@claim("nuts-dimension")
def _():
    order = np.log2(energy_error(0.1) / energy_error(0.05))  # d coordinates: d times the error
    return {"d^{1/4}": near(1 / order, 0.01), "d^{5/4}": near(1 + 1 / order, 0.01)}


def inflated(friction, noise, step):
    """Return the variance of SGHMC on a standard Gaussian, by its covariance's fixed point."""
    drift = np.array([[1, step], [0, 1]]) @ np.array([[1, 0], [-step, 1 - step * friction]])
    push = np.array([[1, step], [0, 1]]) @ np.array([0, 1.0])
    size = 2 * step * friction + step**2 * noise
    flat = np.linalg.solve(np.eye(4) - np.kron(drift, drift), (size * np.outer(push, push)).ravel())
    return flat[0]


@claim("sghmc-naive")
def _():
    step, noise, steps = 1e-3, 50.0, 30_000
    path, covariance = leapfrog(step), np.eye(2)
    block, spread = np.eye(2), np.zeros((2, 2))
    for _ in range(1000):
        spread = path @ (spread + step**2 * noise * np.diag([0, 1])) @ path.T
        block = path @ block
    for _ in range(steps // 1000):
        covariance = block @ covariance @ block.T + spread
    growth = (covariance[0, 0] - 1) / (step**2 * noise * steps)
    return {r"\frac12": near(growth, 0.03)}


@claim("sghmc-friction")
def _():
    drag = np.array([[1.0, 0.3], [0.3, 2.0]])
    turn = np.array([[0.0, -1.7], [1.7, 0.0]])
    flow = (drag + turn) + (drag + turn).T  # what the drift takes from an identity covariance
    return {"2": list((flow / drag).ravel())}


@claim("sghmc-b")
def _():
    step, noise, friction = 0.01, 30.0, 2.0
    there = step**2 * noise
    due = step * 2 * friction  # what makes the next claim's variance one without noise
    assert inflated(friction, 0.0, 1e-4) == pytest.approx(1, abs=1e-3)
    share = inflated(friction, noise, 1e-4) - 1
    assert share == pytest.approx(1e-4 * noise / 2 / friction, rel=1e-2)
    return {r"\frac12": there / (2 * step) / (step * noise), "2": due / (step * friction)}


@claim("sghmc-sgld")
def _():
    step, noise = 0.1, 7.0

    def variance(noise):
        return (step + step**2 * noise / 4) / (1 - (1 - step / 2) ** 2)

    bare = variance(0.0)
    return {
        r"\frac12": given("the definition of the step"),
        "4": [step / (1 - 1 / bare), step * noise / (variance(noise) / bare - 1)],
    }


# ---- optimisation ----


@claim("laplace-evidence")
def _():
    covariance = np.array([[2.0, 0.6], [0.6, 1.0]])
    at_mode = {k: -stats.multivariate_normal(cov=k * covariance).logpdf([0, 0]) for k in (1, 9)}
    log_det = {k: np.log(np.linalg.det(k * covariance)) for k in (1, 9)}
    half = (at_mode[9] - at_mode[1]) / (log_det[9] - log_det[1])
    return {r"\tfrac12": half, "2": np.exp(at_mode[1] - half * log_det[1]) / np.pi}


@claim("laplace-bic")
def _():
    information, n = np.array([[2.0, 0.3], [0.3, 1.0]]), np.array([100, 10_000])
    terms = [np.log(np.linalg.det(np.linalg.inv(k * information))) / 2 for k in n]
    assert np.diff(terms)[0] == pytest.approx(-2 / 2 * np.log(100))
    return {
        r"\frac12": given("of Laplace's evidence; laplace-evidence computes it"),
        "2": given("the definition of BIC"),
    }


@claim("laplace-bic-error")
def _():
    # n normal observations of variance v, prior Normal(0, t): both sides in closed form
    n, v, t, centre = 10**8, 3.0, 2.0, 0.4
    exact = stats.norm.logpdf(centre, scale=np.sqrt(t + v / n)) + np.log(2 * np.pi * v / n) / 2
    error = -np.log(n) / 2 - exact
    prior = stats.norm.logpdf(centre, scale=np.sqrt(t))
    half_log_det = -(error + prior + np.log(2 * np.pi) / 2)
    return {
        r"\frac12": near(half_log_det / -np.log(1 / v), 1e-5),
        "2": near(np.exp(-2 * (error + prior + np.log(v) / 2)) / np.pi, 1e-5),
    }


@claim("vi-gaussian")
def _():
    rho = 0.8
    sigma = np.array([[1, rho], [rho, 1]])
    fitted = np.diag(1 / np.diag(np.linalg.inv(sigma)))
    assert fitted[0, 0] == pytest.approx(1 - rho**2)
    inside = np.trace(np.linalg.inv(sigma) @ fitted) - 2
    divergence = (inside + np.log(np.linalg.det(sigma) / np.linalg.det(fitted))) / 2
    return {r"\frac12": divergence / -np.log(1 - rho**2)}


@claim("advi-landing")
def _():
    # target Normal(0, 1), q = Normal(0, s^2), both gradients of the mean at z, in units of q
    spread = optimize.brentq(lambda s: (1 - s**2) ** 2 - s**4, 0.1, 0.99)
    return {"half": near(spread**2, 1e-6)}


# ---- both ----


@claim("hybrid-dimension")
def _():
    x = np.arange(1, 2000.0)  # d: exact moments of h = x_1 and f = sum x_i^2 under Normal(0, I)
    bare = 15 + 6 * (x - 1) + (x - 1) * (x + 1)
    best = bare - (x + 2) ** 2  # the baseline E[f h^2] / E[h^2] is d + 2
    growth = np.log2(bare[1599] / bare[799])
    assert np.log2(best[1599] / best[799]) == pytest.approx(1, abs=0.01)
    return {"d^2": near(growth, 0.01)}


@claim("amortised-slopes")
def _():
    x, m, s, h = 0.3, -0.4, 0.2, 1e-6
    density = lambda m, s: -stats.norm.logpdf(x, m, np.exp(s))  # noqa: E731
    z = (x - m) * np.exp(-s)
    by_m = (density(m + h, s) - density(m - h, s)) / (2 * h)
    by_s = (density(m, s + h) - density(m, s - h)) / (2 * h)
    assert by_m == pytest.approx(-z * np.exp(-s)) and by_s == pytest.approx(1 - z**2)
    return {"2": given("s is the logarithm of a standard deviation")}


# ---- what takes no more than a line ----

for _card, _numbers in {
    "nuts-doubling": lambda: {
        "2": np.exp(np.log(len(list(itertools.product("+-", repeat=5)))) / 5)
    },
    "nuts-dropped": lambda: {"half": given("the part that a doubling adds")},
    "nuts-pick": lambda: {"half": given("the part that a doubling adds")},
    "nuts-slice": lambda: {"2014": given("a year")},
    "nuts-divergence": lambda: {"1000": DIVERGENT},
    "nuts-bfmi": lambda: {"0.1": given("a reading, chosen")},
    "nuts-clean": lambda: {
        "1.003": given("a reading, chosen"),
        "hundred": given("a reading, chosen"),
    },
    "sghmc-lie": lambda: {"1.00": given("a reading, chosen"), "halve": given("an instruction")},
    "laplace-occam": lambda: {"2": 1 / (np.pi * (1.7 * stats.norm.pdf(0, scale=1.7)) ** 2)},
    "advi-stopping": lambda: {"per cent": given("of the rule that the card rejects")},
    "amortised-calibration": lambda: {"half": given("the strength of the reaction, chosen")},
    "together-steps": lambda: {"ten": given("the number of steps, chosen")},
}.items():
    claim(_card)(_numbers)
