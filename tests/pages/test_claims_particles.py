"""What the page on particles claims of one seed, asserted over five: no luck."""

import numpy as np
from scipy import stats
from sparing import over
from twins import page, quiet

import bayeslib as bl
from bayeslib import posteriors
from bayeslib.diagnostics.trouble import khat_limit
from bayeslib.independent.resample import choose

pytestmark = quiet
every_seed = over("seed", range(1, 6))
TWO_MODES = posteriors.mixture([0.4, 0.6], [-6.0, 6.0], [1.0, 1.0])


@every_seed
def test_particles_cooling_finds_both_modes(seed):
    cooled = bl.smc(TWO_MODES, stats.norm(0, 10), num_samples=2_000, rng=seed)
    assert abs(cooled.expect().z(TWO_MODES.truth.mean)[0]) < 5
    assert abs(cooled.log_evidence.z(0.0)) < 5


@every_seed
def test_particles_resampling_is_no_information(seed):
    draws = bl.importance_sample(
        posteriors.gamma_student(), stats.gamma(3), num_samples=20_000, rng=seed
    )
    equal = bl.resample(draws, num_samples=20_000, rng=seed + 100)
    assert equal.expect().mcse[0] > draws.expect().mcse[0]
    assert equal.worth < draws.worth


@every_seed
def test_particles_systematic_resampling_has_no_guarantee(seed):
    rng, n = np.random.default_rng(seed), 50
    weights, f = np.full(2 * n, 1 / (2 * n)), np.arange(2 * n) % 2
    spread = {
        scheme: np.var([f[choose(weights, n, rng, scheme)].mean() for _ in range(500)])
        for scheme in ("systematic", "multinomial")
    }
    assert spread["systematic"] > 20 * spread["multinomial"]


@every_seed
def test_particles_weights_may_even_out_for_a_while(seed):
    flow, model = page("particles", "flow", "model")
    options = model | {"num_particles": 300, "rng": seed}
    alone = bl.particle_filter(flow, ess_threshold=0.0, **options)
    assert np.any(np.diff(alone.ess) > 0) and alone.ess[20] < alone.ess[0] / 3


@every_seed
def test_particles_without_resampling_the_filter_dies(seed):
    flow, model = page("particles", "flow", "model")
    options = model | {"num_particles": 300, "rng": seed}
    alone = bl.particle_filter(flow, ess_threshold=0.0, **options)
    kept = bl.particle_filter(flow, **options)
    reference = bl.particle_filter(flow, **(options | {"num_particles": 20_000})).mean.value
    off = [np.sqrt(np.mean((f.mean.value - reference) ** 2)) for f in (alone, kept)]
    assert alone.ess[-1] < 10 and kept.ess[-1] > 50
    assert off[1] < 0.4 * off[0]
    assert kept.ess[42] < 100, "the drought of 1913"


@every_seed
def test_particles_long_ladders_reach_the_schools(seed):
    schools = posteriors.eight_schools()
    widths = np.array([10.0, 2.0] + [2.0] * 8)
    broad = stats.multivariate_normal(np.zeros(10), np.diag(widths**2))
    options = {"num_samples": 2_000, "rng": seed}
    exact = schools.truth.log_evidence
    direct = bl.importance_sample(schools, broad, **options)
    ladder = bl.annealed_importance_sample(schools, broad, inverse_temperatures=200, **options)
    assert direct.settings["khat"] > 0.68 and direct.worth < 60
    assert ladder.settings["khat"] < khat_limit(2_000) and ladder.worth > 4 * direct.worth
    learned = bl.adaptive_importance_sample(schools, broad, **options)
    tempered = bl.smc(schools, broad, **options)
    for run in (ladder, learned, tempered):
        assert abs(run.log_evidence.z(exact)) < 5
    assert learned.settings["round_ess"][-1] > 3 * learned.settings["round_ess"][0]
    gain = {run.method: run.worth / run.num_evals for run in (direct, ladder, tempered)}
    assert learned.worth / learned.num_evals > 2 * max(gain.values())
    short = bl.annealed_importance_sample(schools, broad, inverse_temperatures=5, **options)
    assert ladder.worth / ladder.num_evals < 1.2 * short.worth / short.num_evals


@every_seed
def test_particles_a_learned_proposal_forgets_a_bad_start(seed):
    taught = bl.adaptive_importance_sample(
        posteriors.gamma_student(), stats.norm(0, 10), num_samples=2_000, num_rounds=6, rng=seed
    )
    first, last = taught.settings["round_ess"][[0, -1]]
    assert last > 4 * first and last > 800


@every_seed
def test_particles_a_right_mean_with_the_evidence_of_one_mode(seed):
    blind = bl.smc(TWO_MODES, stats.norm(6, 1.3), num_samples=2_000, rng=seed)
    wide = bl.smc(TWO_MODES, stats.norm(0, 10), num_samples=2_000, rng=seed)
    assert blind.problems == () and abs(blind.expect().z(TWO_MODES.truth.mean)[0]) < 5
    assert abs(blind.log_evidence.value - np.log(0.6)) < 0.05
    assert abs(wide.log_evidence.z(0.0)) < 5 < 20 < abs(blind.log_evidence.z(0.0))
