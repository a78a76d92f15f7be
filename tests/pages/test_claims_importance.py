"""What the page on importance sampling claims of one seed, asserted over five: no luck."""

import numpy as np
from sparing import every_seed
from twins import quiet

import bayeslib as bl

pytestmark = quiet


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
