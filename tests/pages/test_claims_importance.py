"""What the page on importance sampling claims of one seed, asserted over five: no luck."""

import numpy as np
from sparing import every_seed
from twins import page, quiet

pytestmark = quiet
forty_runs = page("importance", "forty_runs")


@every_seed
def test_importance_a_light_tail_looks_calm_and_khat_sees_it(seed):
    value, error, khat = forty_runs(0.1, 1_000, seed)
    assert np.median(error) < 0.5 * np.median(np.abs(value - 1))
    assert np.sum(np.abs(value - 1) > 2 * error) >= 15 and np.sum(value < 1) >= 32
    assert khat > 0.7
    khats = [forty_runs(v, 10_000, seed)[2] for v in (0.1, 0.2, 0.3, 0.4, 0.8)]
    assert np.all(np.diff(khats) < 0) and khats[1] > 0.68 > khats[2]


@every_seed
def test_importance_a_heavy_tail_does_not(seed):
    value, error, khat = forty_runs(1.2, 1_000, seed)
    assert np.sum(np.abs(value - 1) > 2 * error) <= 10 and khat < 0.3
