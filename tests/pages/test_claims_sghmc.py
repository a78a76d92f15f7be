"""What the page on stochastic gradients claims of one seed, asserted over several: no luck."""

import itertools

import numpy as np
import pytest
from sparing import over
from twins import Z_LIMIT, page, quiet

import bayeslib as bl

pytestmark = quiet
every_seed = over("seed", range(1, 4))


def test_sghmc_noise_is_n_over_b_in_posterior_units():
    SIGMA, DIM, target, n = page("sghmc", "SIGMA", "DIM", "big", "n")
    Z, y = target.data[:2]
    rows = -Z * (y - Z @ target.truth.mean)[:, None] / SIGMA**2
    V = n**2 / 250 * np.cov(rows.T)
    root = np.linalg.cholesky(target.truth.cov)
    np.testing.assert_allclose(np.diag(root.T @ V @ root), n / 250, rtol=0.03)
    np.testing.assert_allclose(target.truth.cov, np.eye(DIM), atol=0.02)


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


@pytest.mark.slow
@every_seed
def test_sghmc_a_hundred_thousand_rows(seed):
    """Widths against the formulas, with a tenth's room for the model's own V; and what shows it."""
    target, n, width = page("sghmc", "big", "n", "width_ratio")
    start = target.truth.sample(4, np.random.default_rng(seed))
    rows = {"batch_size": 250, "num_steps": 100, "num_samples": 300, "num_warmup": 20}
    rows |= {"rng": seed, "progress": False}
    friction = {"step_size": 0.008, "friction": 2.0}
    ignored = bl.sghmc(target, start, **friction, **rows)
    known = bl.sghmc(target, start, noise_estimate=0.004 * n / 250, **friction, **rows)
    assert abs(width(ignored).z(1.8)) < Z_LIMIT
    assert abs(width(known).z(1.0)) < Z_LIMIT
    assert np.mean(ignored.settings["temperature"]) > 1.4 > np.mean(known.settings["temperature"])
    assert any("temperature" in problem for problem in ignored.problems)
    fixed = {"centre": target.truth.mean, "step_size": 0.2, "num_steps": 10, "num_samples": 250}
    cured = bl.sghmc(target, start, friction=2.0, **(rows | fixed))
    assert abs(width(cured).value - 1.0) < 0.12
    price = [d.settings["passes"].sum() / np.mean(bl.ess(d)) for d in (ignored, cured)]
    assert price[0] > 5 * price[1]


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
