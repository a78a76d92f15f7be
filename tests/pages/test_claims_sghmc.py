"""What the page on stochastic gradients claims of one seed, asserted over several: no luck."""

import itertools

import numpy as np
import pytest
from sparing import over
from twins import Z_LIMIT, page, quiet

import bayeslib as bl
from bayeslib import posteriors

pytestmark = quiet
every_seed = over("seed", range(1, 4))


def width(draws, target):
    """Mean squared distance from the exact mean, over the exact variance, as an Estimate."""
    mean, variance = target.truth.mean, np.diag(target.truth.cov)
    return draws.expect(lambda theta: np.mean((theta - mean) ** 2 / variance, axis=1))


def test_sghmc_noise_is_n_over_b_in_posterior_units():
    SIGMA, DIM, target, n = page("sghmc", "SIGMA", "DIM", "big", "n")
    Z, y = target.data[:2]
    rows = -Z * (y - Z @ target.truth.mean)[:, None] / SIGMA**2
    V = n**2 / 250 * np.cov(rows.T)
    root = np.linalg.cholesky(target.truth.cov)
    np.testing.assert_allclose(np.diag(root.T @ V @ root), n / 250, rtol=0.03)
    np.testing.assert_allclose(target.truth.cov, np.eye(DIM), atol=0.02)


@every_seed
def test_sghmc_naive_runs_away(seed):
    """Four hundred chains; the variance's relative error is 1/14, and the law 51 against 1."""
    normal = bl.Target(page("sghmc", "log_normal"), dim=1)
    start = np.random.default_rng(seed).standard_normal((400, 1))
    naive = bl.sghmc(
        normal, start, batch_size=None, gradient_noise=4.0, step_size=0.05, friction=0.0,
        num_samples=2, num_warmup=0, num_steps=5_000, num_chains=400, rng=seed, progress=False,
    )  # fmt: skip
    assert 30 < naive.values[:, -1].var() < 75
    assert any("friction" in problem for problem in naive.problems)


@pytest.mark.parametrize("eps", [0.01, 0.2, 0.7])
@pytest.mark.parametrize("C", [0.3, 1.0, 2.0])
def test_sghmc_stationary_formula(eps, C):
    move, stationary = page("sghmc", "move", "stationary")
    for V, B_hat in ((4.0, 0.0), (1.0, 0.2), (0.0, 0.0)):
        A = move(eps, C)
        noise = np.diag([0.0, 2 * eps * (C - B_hat) + eps**2 * V])
        P = np.linalg.solve(np.eye(4) - np.kron(A, A), noise.ravel())
        formula = stationary(eps, C, V, B_hat)
        np.testing.assert_allclose(P[0], formula, rtol=1e-9)
        assert abs(P[0] / stationary(eps, C, V + 1.0, B_hat) - 1) > 1e-4


def test_sghmc_stationary_formula_holds_where_it_is_stable():
    for eps, C in itertools.product((0.1, 0.5, 1.0, 1.5, 1.9), (0.01, 0.5, 1.0, 1.5)):
        radius = np.abs(np.linalg.eigvals(page("sghmc", "move")(eps, C))).max()
        assert (radius < 1) == (eps * C + eps**2 / 2 < 2)


@every_seed
def test_sghmc_measured_variances(seed):
    log_normal, stationary = page("sghmc", "log_normal", "stationary")
    normal = bl.Target(log_normal, dim=1)
    run = {"batch_size": None, "num_steps": 20, "num_samples": 8_000, "rng": seed}
    run |= {"progress": False}
    for eps, C, V, B_hat in ((0.05, 1.0, 4.0, 0.0), (0.5, 1.0, 2.0, 0.5), (0.05, 0.2, 4.0, 0.0)):
        draws = bl.sghmc(
            normal, None, gradient_noise=V, step_size=eps, friction=C, noise_estimate=B_hat, **run
        )
        second = draws.expect(lambda theta: theta[:, 0] ** 2)
        assert abs(second.z(stationary(eps, C, V, B_hat))) < Z_LIMIT
        assert abs(second.z(1.0)) > Z_LIMIT
    draws = bl.sgld(normal, None, gradient_noise=4.0, step_size=0.2, **run)
    second = draws.expect(lambda theta: theta[:, 0] ** 2)
    assert abs(second.z(1.2 / 0.95)) < Z_LIMIT < abs(second.z(1.0))


@every_seed
def test_sghmc_falling_steps(seed):
    """The weighted draws of a run have the expectation that the page computes."""
    expected, falling, log_normal = page("sghmc", "expected", "falling", "log_normal")
    exact = [expected(falling(n)) for n in (1000, 10_000)]
    assert exact[0] > exact[1] > 1.1
    normal = bl.Target(log_normal, dim=1)
    start = np.random.default_rng(seed).standard_normal((4, 1))
    draws = bl.sgld(
        normal, start, batch_size=None, gradient_noise=4.0, step_size=falling(10_000),
        num_samples=10_000, num_warmup=0, rng=seed, progress=False,
    )  # fmt: skip
    second = draws.expect(lambda theta: theta[:, 0] ** 2)
    assert abs(second.z(exact[1])) < Z_LIMIT
    assert abs(second.z(2 * exact[1] - 1)) > 3


@every_seed
def test_sghmc_running_example(seed):
    running = page("sghmc", "running")
    truth = posteriors.gamma_student().truth.mean[0]
    need = {"batch_size": None, "gradient_noise": 4.0, "num_samples": 10_000, "rng": seed}
    need |= {"progress": False}

    def z(draws):
        return draws.expect(lambda eta: np.exp(eta[:, 0])).z(truth)

    for estimate, step, off in ((0.04, 0.02, False), (None, 0.1, True)):
        draws = bl.sghmc(
            running, None, step_size=step, friction=2.0, noise_estimate=estimate,
            num_steps=int(1 / step), **need,
        )  # fmt: skip
        assert (abs(z(draws)) > Z_LIMIT) == off
    assert z(bl.sgld(running, None, step_size=0.1, num_steps=10, **need)) < -Z_LIMIT


@pytest.mark.slow
@every_seed
def test_sghmc_a_hundred_thousand_rows(seed):
    """Widths against the formulas, with a tenth's room for the model's own V; and what shows it."""
    target, n = page("sghmc", "big", "n")
    start = target.truth.sample(4, np.random.default_rng(seed))
    rows = {"batch_size": 250, "num_steps": 100, "num_samples": 300, "num_warmup": 20}
    rows |= {"rng": seed, "progress": False}
    friction = {"step_size": 0.008, "friction": 2.0}
    ignored = bl.sghmc(target, start, **friction, **rows)
    known = bl.sghmc(target, start, noise_estimate=0.004 * n / 250, **friction, **rows)
    assert abs(width(ignored, target).z(1.8)) < Z_LIMIT
    assert abs(width(known, target).z(1.0)) < Z_LIMIT
    assert np.mean(ignored.settings["temperature"]) > 1.4 > np.mean(known.settings["temperature"])
    assert any("temperature" in problem for problem in ignored.problems)
    fixed = {"centre": target.truth.mean, "step_size": 0.2, "num_steps": 10, "num_samples": 250}
    cured = bl.sghmc(target, start, friction=2.0, **(rows | fixed))
    assert abs(width(cured, target).value - 1.0) < 0.12
    price = [d.settings["passes"].sum() / np.mean(bl.ess(d)) for d in (ignored, cured)]
    assert price[0] > 5 * price[1]


@every_seed
def test_sghmc_too_wide_and_convinced(seed):
    """On the subset of the page: R-hat sees nothing; halving the step and the virial do."""
    sigma, x, y, features, n = page("sghmc", "SIGMA", "x", "y", "features", "n")
    few = slice(0, 2_000)
    subset = posteriors.linear_regression(
        features(x[few]) * np.sqrt(n / 2_000), y[few],
        noise_scale=sigma, prior_scale=np.sqrt(2_000) / sigma,
    )  # fmt: skip
    start = subset.truth.sample(4, np.random.default_rng(seed))
    run = {"batch_size": 5, "num_samples": 1_000, "num_warmup": 50, "rng": seed, "progress": False}
    long = bl.sgld(subset, start, step_size=0.02, num_steps=100, **run)
    half = bl.sgld(subset, start, step_size=0.01, num_steps=200, **run)
    assert bl.rhat(long).max() < 1.03
    wide, less = width(long, subset), width(half, subset)
    assert abs(wide.value - 3.0) < 0.4 and abs(less.value - 2.0) < 0.3
    assert less.value < 0.8 * wide.value
    assert abs(2 * less.value - wide.value - 1.0) < 0.5
    assert long.settings["virial"].mean() > 2.0


@every_seed
def test_sghmc_error_times_cost_is_one(seed):
    """SGLD and SGHMC with V = n / b, b rows a step: 1 / delta passes for a draw's worth.

    Friction of two and more, where nothing swings: `bl.ess` stops at the first negative lag.
    """
    normal = bl.Target(page("sghmc", "log_normal"), dim=1)
    n_over_b, share = 50.0, 0.2
    run = {"batch_size": None, "gradient_noise": n_over_b, "num_samples": 20_000, "rng": seed}
    run |= {"progress": False, "num_steps": 10}
    eps = 4 * share / n_over_b
    price = []
    for draws in (
        bl.sgld(normal, None, step_size=eps, **run),
        bl.sghmc(normal, None, step_size=share * 4 / n_over_b, friction=2.0, **run),
        bl.sghmc(normal, None, step_size=share * 6 / n_over_b, friction=3.0, **run),
    ):
        steps = draws.values.shape[0] * draws.values.shape[1] * 10
        price.append(steps / n_over_b / bl.ess(draws)[0])
    np.testing.assert_allclose(price, 1 / share, rtol=0.2)


@every_seed
def test_sghmc_when_the_noise_of_a_batch_is_normal(seed):
    """Its excess kurtosis is that of a row over the batch; one row that has it all spoils it."""
    shape, rng = page("sghmc", "noise_shape"), np.random.default_rng(seed)
    g = rng.uniform(-1.0, 1.0, 2_000) * rng.standard_normal(2_000)
    row = np.mean((g - g.mean()) ** 4) / g.var() ** 2 - 3.0
    for b in (2, 5, 50):
        kurtosis, beyond = shape(g, b, rng, count=20_000)
        assert kurtosis == pytest.approx(row / b, abs=0.4)
    assert beyond == pytest.approx(0.0027, abs=6 * np.sqrt(0.0027 / 20_000))
    g[0] = 60.0
    kurtosis, _ = shape(g, 50, rng, count=20_000)
    assert kurtosis > 5.0
