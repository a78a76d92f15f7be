"""What the page on Markov chains claims of one seed, over several; what is exact, exactly.

Statistical limits: |z| < 5.5 fails a right program once in some ten million comparisons.
"""

import re

import numpy as np
import pytest
from prose import CHAPTERS, cells
from sparing import every_seed
from twins import page

import bayeslib as bl
from bayeslib import posteriors

per_thousand = page("mcmc", "per_thousand")


def test_mcmc_the_coin_and_its_kernel():
    kernel, posterior, distance = page("mcmc", "kernel", "posterior", "tv")
    np.testing.assert_allclose(posterior, np.array([125, 81, 9]) / 215)
    values = np.sort(np.abs(np.linalg.eigvals(kernel)))[::-1]
    np.testing.assert_allclose(values[:2], [1.0, 0.14], atol=1e-12)
    law = np.array([np.linalg.matrix_power(kernel, t)[2] for t in range(1, 12)])
    ratio = distance(law[1:], posterior) / distance(law[:-1], posterior)
    np.testing.assert_allclose(ratio[4:], 0.14, atol=0.01)
    assert distance(law[9], posterior) < 1e-8


@every_seed
def test_mcmc_no_rule_of_acceptance_beats_the_minimum(seed):
    walk_kernel, variance = page("mcmc", "walk_kernel", "asymptotic_variance")
    rng = np.random.default_rng(seed)
    for _ in range(50):
        joint, f = rng.gamma(0.5, size=4) + 1e-3, rng.normal(size=4)
        law = joint / joint.sum()
        best = walk_kernel(joint)
        barker = walk_kernel(joint, lambda r: r / (1 + r))
        assert variance(best, law, f) <= variance(barker, law, f) * (1 + 1e-9)
        flow = law[:, None] * best
        np.testing.assert_allclose(flow, flow.T, atol=1e-15)


def test_mcmc_the_circulating_chain_beats_metropolis_which_beats_barker():
    kernel, posterior, walk_kernel, joint, variance = page(
        "mcmc", "kernel", "posterior", "walk_kernel", "joint", "asymptotic_variance"
    )
    flow = posterior[:, None] * kernel
    whirl = 0.8 * flow[0, 2] * np.array([[0, 1, -1], [-1, 0, 1], [1, -1, 0]])
    circulating = (flow + whirl) / posterior[:, None]
    assert circulating.min() >= 0
    np.testing.assert_allclose(posterior @ circulating, posterior, rtol=1e-12)
    barker = walk_kernel(joint, lambda r: r / (1 + r))
    worth = {}
    for name, chain in (("circulating", circulating), ("metropolis", kernel), ("barker", barker)):
        states = np.eye(3)
        spread = posterior * (1 - posterior)
        worth[name] = [variance(chain, posterior, f) for f in states] / spread
    assert np.all(worth["circulating"] < worth["metropolis"])
    np.testing.assert_allclose((worth["barker"] / worth["metropolis"])[:2], 2, atol=0.1)
    assert worth["metropolis"][2] < 1 < worth["barker"][2] and kernel[2, 2] == 0


def test_mcmc_the_error_of_an_average_falls_like_the_root_of_the_steps():
    kernel, posterior, many_walks = page("mcmc", "kernel", "posterior", "many_walks")
    path = many_walks(kernel, 1_600, 4_000, np.random.default_rng(2))
    error = {
        n: np.sqrt((((path[:n] == 0).mean(axis=0) - posterior[0]) ** 2).mean())
        for n in (100, 400, 1_600)
    }
    # A root mean square over 4000 walks has a relative error of about 1.1 per cent.
    np.testing.assert_allclose([error[100] / error[400], error[400] / error[1_600]], 2, atol=0.18)


@every_seed
def test_mcmc_on_a_narrow_ridge_bold_steps_pay_best(seed):
    ridge = posteriors.gaussian([0.0, 0.0], [[1.0, 0.95], [0.95, 1.0]])
    begin = np.array([[-1.0, -1.0], [-0.3, -0.3], [0.3, 0.3], [1.0, 1.0]])
    run = {
        s: bl.metropolis(ridge, begin, scale=s, num_samples=10_000, rng=seed)
        for s in (0.1, 1.5, 5.0)
    }
    share = {s: r.settings["acceptance"] for s, r in run.items()}
    assert share[0.1] > 0.8 and 0.1 < share[1.5] < 0.2 and share[5.0] < 0.04
    assert per_thousand(run[1.5]) > 1.5 * per_thousand(run[5.0]) > 3 * per_thousand(run[0.1])


def test_mcmc_five_hundred_draws_of_two_modes_are_sure_and_wrong():
    means = [[-2.0, -1.0], [2.0, 1.0]]
    pair = posteriors.mixture([1 / 3, 2 / 3], means, [0.5 * np.eye(2)] * 2)
    options = {"scale": 0.3, "num_warmup": 0, "num_chains": 1}
    begin = np.array([[-3.0, -3.0]])
    wrong, crossed, grew = 0, 0, 0
    for seed in range(100, 140):
        run = bl.metropolis(pair, begin, num_samples=4_000, rng=seed, **options)
        early, late = (bl.Draws(run.values[:, :n]) for n in (500, 4_000))
        wrong += abs(early.expect().z(pair.truth.mean)[0]) > 4
        if (early.values[..., 0] < 1).all() and (late.values[..., 0] > 1).any():
            crossed += 1
            grew += late.expect().mcse[0] > early.expect().mcse[0]
    assert wrong > 28
    assert crossed > 20 and grew > 0.9 * crossed, "the error grows with the first crossing"


@every_seed
def test_mcmc_on_the_donut_a_leap_beats_the_slices_and_they_beat_creeping(seed):
    donut = posteriors.donut(radius=3.0, width=0.5)
    options = {"num_samples": 5_000, "rng": seed}
    leap = bl.metropolis(donut, None, scale=2.0, **options)
    creep = bl.metropolis(donut, None, scale=0.2, **options)
    slices = bl.slice_sample(donut, None, width=2.0, **options)
    worth = [1e3 * float(bl.ess(run)[0]) / run.num_evals for run in (leap, slices, creep)]
    assert worth[0] > 2 * worth[1] > 2.5 * worth[2]


def test_mcmc_five_hundred_draws_of_a_creeping_walk_overrate_themselves():
    """An error above three MCSEs: of the small walk's runs nearly half, of the leaping one's 2 %.

    Of a hundred runs, fewer than 22 of the one or more than 12 of the other: below 1e-6 each.
    """
    donut = posteriors.donut(radius=3.0, width=0.5)
    told, off = {}, {}
    for scale in (0.2, 2.0):
        options = {"scale": scale, "num_samples": 500, "num_warmup": 0, "num_chains": 1}
        runs = [bl.metropolis(donut, [[0.0, 0.5]], rng=seed, **options) for seed in range(100)]
        told[scale] = np.median([1e3 * bl.ess(run, kind="mean")[0] / run.num_evals for run in runs])
        off[scale] = sum(abs(run.expect().z(donut.truth.mean)[0]) > 3 for run in runs)
    assert off[0.2] >= 22 and off[2.0] <= 12
    start = donut.truth.sample(4, np.random.default_rng(5))
    run = bl.metropolis(donut, start, scale=0.2, num_samples=100_000, num_warmup=0, rng=5)
    earned = 1e3 * float(bl.ess(run, kind="mean")[0]) / run.num_evals
    assert told[0.2] > 2.5 > 1.8 > earned


def test_mcmc_where_the_average_is_faster_than_the_root():
    """Always the other one of two: the average is off by 1 / (2 N), for odd N."""
    swap = page("mcmc", "walk_kernel")(np.ones(2))
    np.testing.assert_array_equal(swap, [[0, 1], [1, 0]])
    for n in (11, 101, 1_001):
        shares = [np.linalg.matrix_power(swap, t)[0, 0] for t in range(n)]
        assert np.mean(shares) - 0.5 == pytest.approx(1 / (2 * n))


def test_mcmc_a_proposal_that_cannot_come_back_never_moves():
    from needles.exercises.mcmc import _kernel

    joint = np.array([1.0, 5.0, 2.0])
    right_only = np.array([[0.0, 0.5, 0.5], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0]])
    np.testing.assert_array_equal(_kernel(joint, right_only), np.eye(3))
    both_ways = 0.9 * right_only + 0.1 * right_only.T
    assert np.all(np.diag(_kernel(joint, both_ways / both_ways.sum(axis=1, keepdims=True))) < 1)


def test_mcmc_each_way_to_write_a_chain_down_has_its_own_average():
    """The exercise's chain: only the right program gives the right answer, each slip is named."""
    from needles.exercises.mcmc import EXERCISES

    (exercise,) = (e for e in EXERCISES if e.id == "mcmc-repeat")
    sources = (cell.source for cell in cells(CHAPTERS / "mcmc.ipynb"))
    (asked,) = (source for source in sources if ":label: ex-mcmc-repeat" in source)
    start = float(re.search(r"starts at \$(\d+)\$", asked)[1])
    proposed = [(float(x), a == "accepted") for x, a in re.findall(r"\$(\d+)\$ \((\w+)\)", asked)]
    here, draws, moves = start, [], []
    for place, accepted in proposed:
        here = place if accepted else here
        draws.append(here)
        moves += [place] if accepted else []
    slips = [moves, [start, *moves], [place for place, _ in proposed], [start, *draws]]
    averages = [np.mean(slip) for slip in slips]
    assert len({np.mean(draws), *averages}) == 5
    assert exercise.expects.truth == np.mean(draws)
    assert set(exercise.mistakes.values()) == set(averages)
