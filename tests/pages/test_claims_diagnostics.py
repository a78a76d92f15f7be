"""What the page on diagnostics claims of one seed, over several; exact limits at 1e-6 or less."""

import numpy as np
import pytest
from scipy import stats
from sparing import every_seed
from twins import Z_LIMIT, page, quiet, source

import bayeslib as bl
from bayeslib import posteriors

pytestmark = quiet


def autoregression(rho, chains, length, seed):
    return page("diagnostics", "autoregression")(rho, chains, length, np.random.default_rng(seed))


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("np.minimum.accumulate(pairs[:cut])", "pairs[:cut]"),
        ("cov[0] * n / (n - 1)", "cov[0]"),
        ("chains[:, -half:]", "chains[:, :half]"),
    ],
)
def test_a_slip_in_the_plain_cell_is_seen(right, wrong):
    (cell,) = source("diagnostics", "plain-ess")
    assert cell.count(right) == 1
    names, x = {"np": np}, autoregression(0.8, 1, 400, 5)
    exec(cell.replace(right, wrong), names)
    assert names["ess"](x) != pytest.approx(bl.ess(x, kind="mean"), rel=1e-6)


# Six runs


@every_seed
def test_a_slow_run_is_told_by_its_worth(seed):
    x = page("diagnostics", "make")("slow", 1000 + seed)
    assert bl.ess(x) < 150 and bl.rhat(x) > 1.01
    assert abs(x.mean() - posteriors.gamma_student().truth.mean[0]) < Z_LIMIT * bl.mcse(x)


def silent(target, *starts, runs=200):
    """How many runs of the page's `bimodal`, of other seeds, have an R-hat below the threshold."""
    bimodal, target = page("diagnostics", "bimodal", target)
    return sum(bimodal(500 + seed, target, *starts)[0] < 1.01 for seed in range(runs))


def test_four_independent_dispersed_chains_are_silent_one_time_in_eight():
    """Both basins are equally large, so that the runs are tosses; 200 of them, limits at 1e-6."""
    law = stats.binom(200, 2 * 0.5**4)
    assert law.ppf(5e-7) <= silent("TWO_MODES", 0, 20.0) <= law.ppf(1 - 5e-7)


def test_narrow_starts_are_silent_only_at_the_length_between():
    """Too short, R-hat complains; long, a chain has crossed; between, it is silent and wrong."""
    walks, seeds = page("diagnostics", "walks"), range(200, 230)
    short, between, long = (
        sum(bl.rhat(walks(1, 4, length, seed)) < 1.01 for seed in seeds)
        for length in (100, 1_000, 20_000)
    )
    assert max(short, long) <= 3 < 6 <= between
    assert np.median([abs(walks(1, 4, 1_000, seed).mean()) for seed in seeds]) > 4


def test_the_librarys_starts_see_two_sides_of_zero_and_not_two_modes_on_one_side():
    """Mirrored, hence fewer silent runs than of independent starts, up to chance at 1e-6."""
    mirrored, one_side = silent("TWO_MODES"), silent("OFF_CENTRE")
    assert mirrored <= stats.binom(200, 2 * 0.5**4).ppf(1 - 1e-6)
    assert one_side >= 160


@every_seed
def test_problems_name_heavy_tails_and_find_nothing_in_a_stuck_run(seed):
    make = page("diagnostics", "make")

    def problems(kind):
        return " ".join(bl.Draws(make(kind, 1000 + seed)[:, :, None]).problems)

    assert "tails" in problems("tails") and "R-hat" in problems("tails")
    for kind in ("good", "slow", "width", "stuck"):
        assert "the tails of" not in problems(kind)
    assert problems("good") == ""
    assert "R-hat" in problems("slow") and "bulk ESS" in problems("slow")


def test_a_rank_plot_of_independent_chains_stays_in_its_band():
    band, excess, make = page("diagnostics", "BAND", "excess", "make")
    rng = np.random.default_rng(6)
    out = sum(abs(excess(rng.random((4, 1_000)))).max() > band for _ in range(300))
    assert out <= stats.binom(300, 0.02).ppf(1 - 1e-6)
    assert abs(excess(make("width", 4))).max() > band


# Two meanings


@every_seed
def test_flip_has_the_average_freeze_the_law_and_a_mixture_both(seed):
    """The share of heads of 1000 fair tosses is within 5.5 standard deviations of one half."""
    flip, freeze, fair, follow, heads = page(
        "diagnostics", "flip", "freeze", "fair", "follow", "heads"
    )
    rng = np.random.default_rng(seed)
    for steps in (1_000, 1_001):
        law, share = follow(flip, heads, steps, rng)
        assert law == (steps % 2 == 0) and abs(share - 0.5) < 1e-3
    law, share = follow(freeze, fair, 1_000, rng)
    assert law == 0.5 and min(share, 1 - share) == pytest.approx(0.0, abs=1e-9)
    law, share = follow((flip + freeze) / 2, heads, 1_000, rng)
    assert law == 0.5 and abs(share - 0.5) < Z_LIMIT * np.sqrt(0.25 / 1_000)


@every_seed
def test_the_law_arrives_long_before_the_average(seed):
    ensemble, COPIES = page("diagnostics", "ensemble", "COPIES")
    states = ensemble(14.0, np.random.default_rng(seed))
    target = posteriors.gamma_student().truth
    bound = np.sqrt(np.log(2e6) / (2 * COPIES))
    total = 0.0
    for t in range(101):
        theta = next(states)
        total = total + theta
        if t == 35:
            assert stats.kstest(theta, target.cdf).statistic > 2 * bound
    assert stats.kstest(theta, target.cdf).statistic < bound
    off = np.sqrt(np.mean((total / 101 - target.mean[0]) ** 2) / target.cov[0, 0])
    assert off > 1.5


def test_a_law_may_arrive_like_one_over_t():
    """Neither geometrically fast nor never; under tails that are geometric it is geometric."""
    creep, states = page("diagnostics", "creep"), np.arange(1.0, 3_001.0)
    heavy = creep(states**-3, [10, 100, 1_000, 10_000])
    assert np.allclose(np.array(heavy[:-1]) / heavy[1:], 10, rtol=0.15)
    heavier = creep(states**-2.5, [100, 1_000, 10_000])
    assert np.allclose(np.array(heavier[:-1]) / heavier[1:], 10**0.75, rtol=0.15)
    light = creep(0.5 ** states[:100], [10, 100, 200])
    assert light[1] / light[2] > 100 and light[2] < 1e-4


# What draws are worth


@every_seed
def test_the_square_of_an_antithetic_chain_is_not_antithetic(seed):
    x = autoregression(-0.9, 4, 5_000, [8, seed])
    assert bl.ess(x, kind="mean") == pytest.approx(x.size * np.log10(x.size), rel=1e-6)
    assert bl.ess(x**2, kind="mean") / x.size == pytest.approx((1 - 0.81) / (1 + 0.81), rel=0.35)


@every_seed
def test_all_autocorrelations_together_say_nothing(seed):
    x = autoregression(0.7, 1, 1_000, [9, seed])
    assert 1 + 2 * bl.autocorrelation(x)[1:].sum() == pytest.approx(0.0, abs=1e-9)


@every_seed
def test_the_error_bar_of_a_chain_is_honest(seed):
    autoregression = page("diagnostics", "autoregression")
    rng = np.random.default_rng([10, seed])
    z = [x.mean() / bl.mcse(x) for x in (autoregression(0.7, 4, 500, rng) for _ in range(300))]
    covered = np.mean(np.abs(z) < 2)
    assert stats.binom(300, 0.94).ppf(5e-7) <= 300 * covered <= 300
    naive = np.mean(np.abs(z) * np.sqrt(1.7 / 0.3) < 2)
    assert naive < 0.8, "counted as independent draws they promise too much"


@every_seed
def test_rhat_is_one_plus_the_inverse_worth_of_a_chain(seed):
    basic_rhat, autoregression = page("diagnostics", "basic_rhat", "autoregression")
    rng = np.random.default_rng([11, seed])
    n, rho = 500, 0.8
    square = [basic_rhat(autoregression(rho, 8, n, rng)) ** 2 for _ in range(300)]
    expected = 1 - 1 / n + (1 + rho) / (1 - rho) / n
    assert np.mean(square) - 1 == pytest.approx(expected - 1, rel=0.25)


# Habits


def test_thinning_never_helps_and_pays_for_a_dear_function():
    price = page("diagnostics", "price")
    k = np.arange(1, 200)
    for rho in (0.3, 0.9, 0.99):
        assert np.argmin(price(k, 0, rho)) == 0
        assert np.argmin(price(k, 50, rho)) > 0
    assert price(2, 0, -0.9) > 50 * price(1, 0, -0.9), "of an antithetic chain it is a disaster"


def test_dropping_half_costs_the_root_of_two():
    errors, drops = page("diagnostics", "errors", "DROPS")
    half = np.interp(500, drops, errors(0)[1])
    assert half / errors(0)[1].min() == pytest.approx(np.sqrt(2), rel=0.02)
    assert [int(np.argmin(errors(x0)[1])) for x0 in (0, 1)] == [0, 0]
    assert drops[np.argmin(errors(100)[1])] < 3 * 19


# Tests of code


@pytest.mark.parametrize("name", ["forgot", "sign", "scale", "insist", "tiny"])
def test_convergence_diagnostics_see_no_bug_and_fail_the_slow_one_that_is_right(name):
    agreement, SAMPLERS = page("diagnostics", "agreement", "SAMPLERS")
    rhat, size = agreement(SAMPLERS[name][0], np.random.default_rng(15))
    assert (rhat < 1.01) == (size > 400) == (name != "tiny")


@every_seed
def test_dropping_rejections_inflates_the_effective_sample_size(seed):
    agreement, SAMPLERS = page("diagnostics", "agreement", "SAMPLERS")
    sizes = {
        name: agreement(SAMPLERS[name][0], np.random.default_rng([16, seed]))[1]
        for name in ("right", "insist")
    }
    assert sizes["insist"] > 1.3 * sizes["right"]


@every_seed
def test_drawing_again_until_positive_is_no_symmetric_proposal(seed):
    step, model, log_likelihood = page("diagnostics", "step", "model", "log_likelihood")
    for way in ("reject", "reflect", "redraw"):
        joint = bl.geweke_test(
            *model, lambda theta, y, rng, way=way: step(theta[0], y, rng, way),
            quantities=log_likelihood, num_chains=200, rng=seed,
        )  # fmt: skip
        assert (joint.pvalue < 1e-6) == (way == "redraw")


def test_the_power_of_calibration():
    power = page("diagnostics", "power")
    assert power(1.0, 500) < 0.02
    assert power(0.8, 500) > 0.9
    assert 0.2 < power(0.9, 500) < 0.6
    assert power(0.9, 2_000) > 0.9
