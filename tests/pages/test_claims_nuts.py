"""What the page on the No-U-Turn sampler claims of one seed, asserted over several: no luck."""

import numpy as np
import pytest
from sparing import over
from twins import page, quiet

import bayeslib as bl
from bayeslib import posteriors
from bayeslib.hamiltonian.warmup import DENSE, DIAGONAL, metric_windows
from needles.exercises.nuts import _always, _multinomial, _pick

pytestmark = quiet
every_seed = over("seed", range(1, 5))
BANANA = posteriors.banana()


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
