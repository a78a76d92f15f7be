"""What the page on particles claims of one seed, asserted over five: no luck."""

import numpy as np
from scipy import stats
from sparing import every_seed
from twins import page, quiet

import bayeslib as bl
from bayeslib import posteriors
from bayeslib.independent.resample import choose

pytestmark = quiet


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
def test_particles_without_resampling_weights_even_out_for_a_while_and_the_filter_dies(seed):
    flow, model = page("particles", "flow", "model")
    options = model | {"num_particles": 300, "rng": seed}
    alone = bl.particle_filter(flow, ess_threshold=0.0, **options)
    kept = bl.particle_filter(flow, **options)
    reference = bl.particle_filter(flow, **(options | {"num_particles": 20_000})).mean.value
    off = [np.sqrt(np.mean((f.mean.value - reference) ** 2)) for f in (alone, kept)]
    assert np.any(np.diff(alone.ess) > 0) and alone.ess[20] < alone.ess[0] / 3
    assert alone.ess[-1] < 10 and kept.ess[-1] > 50
    assert off[1] < 0.4 * off[0]
    assert kept.ess[42] < 100, "the drought of 1913"


@every_seed
def test_particles_a_learned_proposal_forgets_a_bad_start(seed):
    taught = bl.adaptive_importance_sample(
        posteriors.gamma_student(), stats.norm(0, 10), num_samples=2_000, num_rounds=6, rng=seed
    )
    first, last = taught.settings["round_ess"][[0, -1]]
    assert last > 4 * first and last > 800
