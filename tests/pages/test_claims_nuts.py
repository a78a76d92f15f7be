"""What the page on the No-U-Turn sampler claims of one seed, asserted over several: no luck."""

from itertools import combinations

import numpy as np
import pytest
from sparing import over
from twins import Z_LIMIT, page, quiet

import bayeslib as bl
from bayeslib import posteriors
from bayeslib.hamiltonian.nuts_warmup import DENSE, DIAGONAL, metric_windows
from needles.exercises.nuts import _always, _multinomial, _pick

pytestmark = quiet
every_seed = over("seed", range(1, 5))
BANANA = posteriors.banana()
CENTRED = posteriors.eight_schools(centered=True)


@pytest.mark.parametrize("step_size", [0.25, 0.45])
def test_nuts_the_picture_tells_the_library_s_paths(step_size):
    """The states, the pick, the number of steps and how a path ended, of fifty transitions."""
    fates = set()
    for seed in range(50):
        scenes, where = page("nuts", "story")(BANANA, [1.5, 1.3], step_size, seed)
        one = bl.nuts(
            BANANA, [1.5, 1.3], step_size=step_size, num_samples=1, num_warmup=0, num_chains=1,
            rng=seed,
        )  # fmt: skip
        np.testing.assert_allclose(where[scenes[-1][3]], one.values[0, 0], rtol=1e-9)
        assert sum(scene[1] for scene in scenes) == one.stats["n_steps"][0, 0]
        assert (scenes[-1][2] == "diverges") == one.stats["diverging"][0, 0]
        kept = sum(scene[2] in ("goes on", "whole turns") for scene in scenes)
        assert kept == one.stats["tree_depth"][0, 0]
        fates.add(scenes[-1][2])
    assert fates == {"whole turns", "part turns", "diverges"}


@every_seed
def test_nuts_the_pick(seed):
    mine = page("nuts", "pick_probabilities")
    weights = np.random.default_rng(seed).exponential(size=16)
    for rule, right in ((mine, True), (_pick, True), (_multinomial, True), (_always, False)):
        flow = weights[:, None] * np.array([rule(weights, i) for i in range(16)])
        assert np.allclose(flow, flow.T) == right
    # The preference for the new half moves farther than a draw from the whole.
    stay = np.mean([[rule(weights, i)[i] for i in range(16)] for rule in (mine, _multinomial)], 1)
    assert stay[0] < stay[1]


def test_nuts_the_windows_of_the_picture_are_the_library_s():
    window_ends = page("nuts", "window_ends")
    for num_warmup in (150, 200, 500, 1000, 2000):
        dense, diagonal = (window_ends(m, num_warmup) for m in ("dense", "diagonal"))
        assert [*dense, num_warmup] == metric_windows(num_warmup, DENSE).tolist()
        assert [*diagonal, num_warmup] == [0, *metric_windows(num_warmup, DIAGONAL)]


def leapfrog_path(d, step, size, rng):
    q, r = rng.standard_normal((2, d))
    momenta = [r]
    for _ in range(size - 1):
        r = r - step / 2 * q
        q = q + step * r
        r = r - step / 2 * q
        momenta.append(r)
    return momenta


def test_nuts_the_checks_across_the_seam():
    """Two halves of just under half an orbit: only the seam sees that the path comes back."""
    turns = page("nuts", "turns")
    rng, step = np.random.default_rng(3), 0.432
    missed = caught = 0
    for _ in range(200):
        momenta = leapfrog_path(200, step, 16, rng)
        halves = momenta[:8], momenta[8:]
        if any(turns(half) for half in halves):
            continue
        total = np.sum(momenta, axis=0)
        missed += min(total @ momenta[0], total @ momenta[-1]) > 0
        caught += bool(turns(momenta))
    assert missed > 20 and caught >= missed


@every_seed
def test_nuts_dual_averaging_ends_near_the_library(seed):
    watch = page("nuts", "watch")
    schools = posteriors.eight_schools()
    ends = [
        watch(schools, np.zeros(10), delta=delta, step_size=0.5, num_iterations=150, rng=seed)
        for delta in (0.5, 0.95)
    ]
    learned = bl.nuts(schools, metric="unit", rng=seed, target_accept=0.95).settings["step_size"]
    assert ends[0][-1, 1] > 1.5 * ends[1][-1, 1]
    assert 0.6 < ends[1][-1, 1] / np.median(learned) < 1.8
    for (_, _, rates), delta in zip((e.T for e in ends), (0.5, 0.95), strict=True):
        assert abs(rates[50:].mean() - delta) < 0.12


@every_seed
def test_nuts_a_dense_metric_costs_the_same_whatever_the_correlation(seed):
    costs = {}
    for metric, rho in ((m, r) for m in ("diag", "dense") for r in (0.5, 0.99)):
        ridge = posteriors.gaussian(np.zeros(2), [[1.0, rho], [rho, 1.0]])
        run = bl.nuts(ridge, metric=metric, rng=seed)
        costs[metric, rho] = run.stats["n_steps"].sum() / bl.ess(run).min()
    assert costs["diag", 0.99] > 5 * costs["diag", 0.5]
    assert 0.4 < costs["dense", 0.99] / costs["dense", 0.5] < 2.5


@every_seed
def test_nuts_the_running_posterior(seed):
    target = posteriors.gamma_student()
    raw = bl.nuts(target, rng=seed)
    assert raw.stats["diverging"].any()
    assert any("log density of -inf" in problem for problem in raw.problems)
    free = bl.unconstrained(target)
    draws = free.constrain(bl.nuts(free, rng=seed, num_samples=4000))
    assert not draws.stats["diverging"].any()
    assert abs(draws.expect().z(target.truth.mean)[0]) < Z_LIMIT


@every_seed
def test_nuts_the_funnel_and_its_cure(seed):
    funnel = posteriors.funnel(10)
    wide = posteriors.gaussian(np.zeros(10), np.diag([9.0] + [1.0] * 9))
    below = 0.0227501319
    for rate in (0.6, 0.99):
        run = bl.nuts(funnel, target_accept=rate, rng=seed)
        assert bl.bfmi(run).min() < 0.3
        assert bl.ess(run)[0] < 400
        assert rate > 0.6 or np.mean(run.flat[:, 0] < -6.0) < 0.5 * below
    cured = bl.nuts(wide, rng=seed, num_samples=4000)
    assert bl.bfmi(cured).min() > 0.7 and not cured.stats["diverging"].any()
    assert abs(cured.expect(lambda x: x[:, 0]).z(0.0)) < Z_LIMIT
    assert abs(cured.expect(lambda x: x[:, 0] < -6.0).z(below)) < Z_LIMIT
    assert abs(cured.expect(lambda x: x[:, 0] < -6.0).z(1.5 * below)) > Z_LIMIT


def test_nuts_schools_that_look_clean_are_no_better():
    """Twelve runs: all are off, what compares draws with draws lets some pass, and these too."""
    low, truth = CENTRED.truth.quantiles[0.05][1], CENTRED.truth.mean[1]
    off = []
    for seed in range(20, 32):
        run = bl.nuts(CENTRED, num_samples=4000, rng=seed)
        assert run.stats["diverging"].any() and bl.bfmi(run).min() < 0.3
        assert any("diverged" in problem for problem in run.problems)
        off.append(float(run.expect(lambda x: x[:, 1]).z(truth)))
        worst = min(bl.ess(run).min(), bl.ess(run, kind="tail").min())
        if bl.rhat(run).max() < 1.01 and worst > 400:
            assert off[-1] > 2.5
            assert np.mean(run.flat[:, 1] < low) < 0.03
    assert np.median(off) > 2.5


@every_seed
def test_nuts_the_other_form_of_the_schools_is_right(seed):
    schools = posteriors.eight_schools()
    run = bl.nuts(schools, num_samples=4000, rng=seed)
    assert bl.bfmi(run).min() > 0.7 and run.stats["diverging"].sum() < 20
    assert np.abs(run.expect().z(schools.truth.mean)).max() < Z_LIMIT
    low = run.expect(lambda x: x[:, 1] < schools.truth.quantiles[0.05][1])
    assert abs(low.z(0.05)) < Z_LIMIT and abs(low.z(0.09)) > Z_LIMIT


@every_seed
def test_nuts_which_form_is_better_depends_on_the_data(seed):
    y, sigma = page("nuts", "y", "sigma")
    for factor, better in ((1.0, "noncentred_schools"), (0.05, "centred_schools")):
        costs = {}
        for name in ("centred_schools", "noncentred_schools"):
            run = bl.nuts(bl.Target(page("nuts", name), dim=10, data=(y, factor * sigma)), rng=seed)
            costs[name] = run.stats["n_steps"].sum() / bl.ess(run).min()
        assert costs[better] < 0.3 * max(costs.values())


@every_seed
def test_nuts_cost_against_dimension(seed):
    cost, prices = page("nuts", "cost"), {}
    for d in (4, 64):
        target = posteriors.gaussian(np.zeros(d), np.eye(d))
        start, run = np.outer([1.0, -1.0], np.ones(d)), {"num_chains": 2, "rng": seed}
        free = bl.nuts(target, start, metric="unit", **run)
        walk = bl.metropolis(target, start, scale=2.38 / np.sqrt(d), num_samples=20_000, **run)
        steps = int(np.ceil(np.pi / 2 / free.settings["step_size"].mean()))
        told = bl.hmc(target, start, num_steps=steps, step_size=np.pi / 2 / steps, **run)
        prices[d] = (
            cost(walk, 40_000), cost(free, free.stats["n_steps"].sum()),
            cost(told, told.stats["n_steps"].sum()),
        )  # fmt: skip
    slopes = np.log(np.divide(prices[64], prices[4])) / np.log(16.0)
    assert 0.75 < slopes[0] < 1.2
    assert slopes[1] < 0.6 and slopes[2] < 0.5
    assert prices[64][0] > 4 * prices[64][1] > 4 * prices[64][2]


@every_seed
def test_nuts_a_room_without_a_door(seed):
    shapes = np.array([np.eye(5), 0.05**2 * np.eye(5)])
    ball = posteriors.mixture([0.7, 0.3], np.zeros((2, 5)), shapes)
    unaware = bl.nuts(ball, rng=seed)
    assert not any("diverged" in p or "E-BFMI" in p for p in unaware.problems)
    assert bl.rhat(unaware).max() < 1.02
    assert abs(unaware.expect(lambda x: x[:, 0] ** 2).z(ball.truth.cov[0, 0])) > 4
    assert ball(np.zeros(5)) - unaware.logdensity.max() > 8
    plain = posteriors.gaussian(np.zeros(5), np.eye(5))
    assert plain(np.zeros(5)) - bl.nuts(plain, rng=seed).logdensity.max() < 1


@every_seed
def test_nuts_a_tree_cut_short(seed):
    ridge = posteriors.gaussian(np.zeros(2), [[1.0, 0.9999], [0.9999, 1.0]])
    cut, deep = bl.nuts(ridge, max_tree_depth=5, rng=seed), bl.nuts(ridge, rng=seed)
    assert cut.stats["reached_max_treedepth"].mean() > 0.4
    assert any("max_tree_depth" in problem for problem in cut.problems)
    assert deep.stats["reached_max_treedepth"].mean() < 0.01
    dense = bl.nuts(ridge, metric="dense", rng=seed)
    worth = [bl.ess(run).min() / run.num_evals for run in (cut, deep, dense)]
    assert all(a < b for a, b in combinations(worth, 2))


def test_nuts_smaller_steps_are_a_test():
    """They cure the banana, whose energies are healthy; of the funnel nothing is healthy."""
    lost = {0.8: 0, 0.97: 0}
    for rate in lost:
        for seed in range(12):
            run = bl.nuts(BANANA, rng=seed, target_accept=rate)
            lost[rate] += run.stats["diverging"].sum()
            assert bl.bfmi(run).min() > 0.5
    assert lost[0.8] > 5 * max(lost[0.97], 3)
    careful = bl.nuts(posteriors.funnel(10), rng=1, target_accept=0.97)
    assert bl.bfmi(careful).min() < 0.3


@every_seed
def test_nuts_where_the_funnel_breaks_the_step(seed):
    """The shorter the step, the fewer chains diverge, and the deeper in the neck."""
    where = []
    for rate in (0.6, 0.8, 0.95):
        run = bl.nuts(posteriors.funnel(10), target_accept=rate, num_chains=40, rng=seed)
        counts = run.stats["diverging"].sum(axis=1)
        assert len(run.settings["divergences"]) == counts.sum()
        parts = np.split(run.settings["divergences"][:, 0], np.cumsum(counts)[:-1])
        where.append([np.median(part) for part in parts if part.size])
    assert 15 < len(where[0]) and len(where[0]) > 1.5 * len(where[1]) and len(where[1]) > 1
    assert np.median(where[0]) > np.median(where[1]) + 0.5
    assert not where[2] or np.median(where[2]) < np.median(where[1])


def test_nuts_what_a_target_takes():
    """A function that numba cannot compile is refused; a gradient of one's own is used."""

    class Elsewhere:
        def log_prob(self, x):
            return -0.5 * float(np.sum(x**2))

    model = Elsewhere()
    with pytest.raises(bl.BayeslibError, match="numba can compile"):
        bl.nuts(bl.Target(lambda theta: model.log_prob(theta), dim=2), rng=1)
