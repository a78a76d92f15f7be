"""What the page on importance sampling claims of one seed, asserted over five: no luck."""

import numpy as np
from scipy import stats
from sparing import over
from twins import quiet

import bayeslib as bl
from bayeslib import posteriors

pytestmark = quiet
every_seed = over("seed", range(1, 6))
TWO_MODES = posteriors.mixture([0.4, 0.6], [-6.0, 6.0], [1.0, 1.0])


def narrow_runs(variance, seed, draws=1_000):
    scale = np.sqrt(variance)
    x = scale * np.random.default_rng(seed).standard_normal((40, draws))
    log_v = np.log(scale) - 0.5 * x**2 * (1 - 1 / variance)
    v = np.exp(log_v)
    khat = np.median([bl.psis(row)[1] for row in log_v])
    return v.mean(axis=1), v.std(axis=1) / np.sqrt(draws), khat


@every_seed
def test_importance_a_light_tail_looks_calm_and_khat_sees_it(seed):
    value, error, khat = narrow_runs(0.1, seed)
    assert np.median(error) < 0.5 * np.median(np.abs(value - 1))
    assert np.sum(np.abs(value - 1) > 2 * error) >= 15 and np.sum(value < 1) >= 32
    assert khat > 0.7
    khats = [narrow_runs(v, seed, 10_000)[2] for v in (0.1, 0.2, 0.3, 0.4, 0.8)]
    assert np.all(np.diff(khats) < 0) and khats[1] > 0.68 > khats[2]


@every_seed
def test_importance_a_heavy_tail_does_not(seed):
    value, error, khat = narrow_runs(1.2, seed)
    assert np.sum(np.abs(value - 1) > 2 * error) <= 10 and khat < 0.3


@every_seed
def test_importance_nine_hundred_of_a_thousand_and_wrong(seed):
    blind = bl.importance_sample(TWO_MODES, stats.norm(6, 1.3), num_samples=1_000, rng=seed)
    assert blind.settings["ess"] > 850 and blind.settings["khat"] < 0.3
    assert blind.problems == ()
    assert abs(blind.expect().z(TWO_MODES.truth.mean)[0]) > 20
    wide = bl.importance_sample(TWO_MODES, stats.t(3, 0, 5), num_samples=1_000, rng=seed)
    assert abs(wide.log_evidence.z(0.0)) < 5
    apart = abs(wide.log_evidence.value - blind.log_evidence.value)
    assert apart > 3.5 * np.hypot(wide.log_evidence.mcse, blind.log_evidence.mcse)


@every_seed
def test_importance_smoothing_trades_variance_for_bias(seed):
    x = np.random.default_rng(seed).normal(0, np.sqrt(0.4), (400, 1_000))
    log_v = -0.5 * x**2 * (1 - 1 / 0.4)
    raw = np.exp(log_v - log_v.max(axis=1, keepdims=True))
    raw = (raw * x**2).sum(axis=1) / raw.sum(axis=1) - 1
    smooth = np.array([np.exp(bl.psis(lv)[0]) @ t**2 for lv, t in zip(log_v, x, strict=True)]) - 1
    assert np.mean(smooth**2) < 0.85 * np.mean(raw**2)
    assert smooth.mean() < raw.mean()
