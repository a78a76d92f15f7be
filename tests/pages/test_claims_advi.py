"""What the page on automatic variational inference claims of one seed, held over several."""

from functools import cache

import numpy as np
import pytest
from scipy import stats
from sparing import over
from twins import Z_LIMIT, page, quiet

import bayeslib as bl
from bayeslib import posteriors

pytestmark = quiet
every_seed = over("seed", range(21, 26))
MEAN, SD = 1.427870, 0.265447
TARGET = posteriors.gamma_student()
FREE = bl.unconstrained(TARGET)
SCHOOLS = posteriors.eight_schools()
SHUTTLE = posteriors.challenger()


@cache
def fit(name, family, seed):
    target = {
        "schools": SCHOOLS, "shuttle": SHUTTLE,
        "centred": posteriors.eight_schools(centered=True),
    }[name]  # fmt: skip
    return target, bl.advi(target, family=family, rng=seed)


@every_seed
@pytest.mark.parametrize("sd", [0.2, 0.7071067811865476, 1.0, 1.4])
def test_advi_the_noise_of_both_estimators(sd, seed):
    """On N(0, 1): variances s^4 and (1 - s^2)^2 in a, both unbiased; equal at s^2 = 1/2."""
    normal, size, mean = posteriors.gaussian(0.0, 1.0), 4_000, 0.8
    v, u = page("advi", "one_draw")(normal, mean, sd, size, seed)
    for row, variance in ((v, sd**4), (u, (1 - sd**2) ** 2)):
        error = np.sqrt(variance / size)
        assert abs(row.mean() + sd * mean) < Z_LIMIT * error + 1e-12
        # the sample variance of Gaussians has a relative error of sqrt(2 / n)
        assert abs(row.var() - variance) < Z_LIMIT * variance * np.sqrt(2 / size) + 1e-12
    if sd < 0.7:
        assert u.var() > 2 * v.var()
    if sd == 1.0:
        assert u.var() < 1e-24 < 0.5 < v.var()


@every_seed
def test_advi_the_landing_is_noisy_where_the_family_is_wrong(seed):
    one_draw = page("advi", "one_draw")
    v, u = one_draw(FREE, MEAN, SD, 4_000, seed)
    assert 0.2 < u.var() < 0.6 * v.var()
    v, u = one_draw(FREE, 1.43, 0.05, 4_000, seed)
    assert u.var() > 100 * v.var()


def test_advi_stans_rule_looks_at_a_window():
    """Mean or (upper) median of the last ten changes; the first change is counted as one."""
    stops = page("advi", "stan_stops")
    assert stops([-5.0, -5.0]) is None  # one small change is not enough
    assert stops([-5.0, -5.0, -5.0]) == 2  # of 1, 0, 0 the median
    bounds = -5.0 * 1.02 ** np.arange(40)  # always two per cent
    assert stops(bounds) is None and stops(bounds, tolerance=0.03) == 2
    large = np.where(np.arange(40) % 2, -5.0, -4.0)
    settled = np.concatenate([large, np.full(20, -4.9)])
    assert stops(settled) == 46  # six of the last ten are nothing
    assert stops(settled, window=2) == 42
    assert stops(bounds + 1e3) == 2  # and the zero of the scale decides


@every_seed
def test_advi_a_constant_step_leaves_a_cloud_that_shrinks(seed):
    spread, offset = [], []
    for size in (0.2, 0.05):
        run = bl.advi(TARGET, [4.0], num_steps=20_000, step_size=size, keep_path=True, rng=seed)
        spread.append(run.settings["means"][10_000:].std())
        offset.append(abs(run.mean[0] - MEAN))
    assert 1.5 < spread[0] / spread[1] < 2.7  # the root of four
    assert max(offset) < 0.3 * spread[0]


def khats(target, proposal):
    runs = [
        bl.importance_sample(target, proposal, num_samples=2_000, rng=seed) for seed in range(12)
    ]
    return np.array([draws.settings["khat"] for draws in runs])


@every_seed
def test_advi_khat_is_calm_over_a_tail_that_is_wrong(seed):
    target, q = fit("schools", "fullrank", seed)
    assert np.median(khats(target, q)) < 0.65
    below = stats.norm(q.mean[1], np.sqrt(q.cov[1, 1])).cdf(np.log(0.1))
    exact = SCHOOLS.truth.sample(4_000, seed)[:, 1]
    assert np.mean(exact < np.log(0.1)) > 0.01 > 100 * below
    assert np.median(khats(*fit("centred", "meanfield", seed))) > 0.75


@every_seed
def test_advi_a_fit_that_is_nearly_right_must_be_widened_to_be_weighted(seed):
    target, q = fit("shuttle", "fullrank", seed)
    wide, sd = bl.Gaussian(q.mean, 1.5**2 * q.cov), np.sqrt(np.diag(target.truth.cov))
    assert np.median(khats(target, q)) > 0.8
    assert np.median(khats(*fit("shuttle", "meanfield", seed))) < 0.65
    assert khats(target, wide).max() < 0.5

    # one run of the widened errs by about 0.007 and 0.004 standard deviations
    draws = bl.importance_sample(target, wide, num_samples=20_000, rng=seed)
    off = abs(draws.expect().value - target.truth.mean) / sd
    square = draws.expect(lambda x: (x - target.truth.mean) ** 2).value
    assert off.max() < 0.045
    assert abs(np.sqrt(square) / sd - 1).max() < 0.05
    assert abs(np.sqrt(np.diag(q.cov)) / sd - 1).max() > 0.07


def test_advi_weights_of_too_narrow_a_fit_are_now_and_then_far_off():
    """A run whose largest weight ruins what the fit had right, among forty; widened, none."""
    target, q = fit("shuttle", "fullrank", 21)
    wide, sd = bl.Gaussian(q.mean, 1.5**2 * q.cov), np.sqrt(np.diag(target.truth.cov))

    def worst(proposal):
        runs = [
            bl.importance_sample(target, proposal, num_samples=5_000, rng=run) for run in range(40)
        ]
        return max(abs(d.expect().value - target.truth.mean).max() / sd.min() for d in runs)

    assert worst(q) > 0.15 > worst(wide)
