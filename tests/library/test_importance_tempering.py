"""Annealed importance sampling, the SMC sampler and adaptive proposals against exact evidences."""

import numpy as np
import pytest
from bad_inputs import refused
from calling import quietly
from densities import cut_off
from scipy import stats

import bayeslib as bl
from bayeslib import posteriors

GAMMA = posteriors.gamma_student()
PRIOR = stats.gamma(3)
PAIR = posteriors.mixture([0.3, 0.7], [[-4.0, 0.0], [4.0, 1.0]], [np.eye(2), 0.5 * np.eye(2)])
WIDE = stats.multivariate_normal([0.0, 0.0], 36.0 * np.eye(2))
Z_LIMIT = 4.9
FIXED = {
    "annealed_importance_sample": {"inverse_temperatures": 4, "scale": 1.5},
    "smc": {"inverse_temperatures": 4, "scale": 1.5, "ess_threshold": 0.9, "num_steps": 2},
}


def unbiased_z(function, target, proposal, num_runs=400, **options):
    """z of the mean of Z-hat / Z against 1, and the runs' log evidences against the truth."""
    runs = [
        quietly(function, target, proposal, num_samples=60, rng=s, **options).log_evidence
        for s in range(num_runs)
    ]
    logs = np.array([run.value for run in runs]) - target.truth.log_evidence
    claimed = np.array([run.mcse for run in runs])
    ratio = np.exp(logs)
    z = (ratio.mean() - 1.0) / (ratio.std(ddof=1) / np.sqrt(num_runs))
    return z, logs, claimed


@pytest.mark.trust("M6", of="smc")
@pytest.mark.trust("M6", of="annealed_importance_sample")
@pytest.mark.parametrize("name", FIXED)
@pytest.mark.parametrize(("target", "proposal"), [(GAMMA, PRIOR), (PAIR, WIDE)])
def test_the_evidence_is_unbiased_over_400_runs(name, target, proposal):
    z, logs, claimed = unbiased_z(getattr(bl, name), target, proposal, **FIXED[name])
    assert abs(z) < Z_LIMIT
    assert np.sqrt(np.mean(claimed**2)) == pytest.approx(logs.std(), rel=0.3)


def test_moves_that_never_mix_leave_importance_sampling():
    options = {"num_samples": 300, "rng": 3}
    stuck = bl.annealed_importance_sample(GAMMA, PRIOR, scale=1e-12, **options)
    plain = bl.importance_sample(GAMMA, PRIOR, **options)
    np.testing.assert_allclose(stuck.log_weights, plain.log_weights, atol=1e-9)
    assert stuck.settings["acceptance"] > 0.999


def test_the_pilot_is_apart():
    """With the scales that a pilot found, passed in, the draws are the same."""
    found = bl.annealed_importance_sample(GAMMA, PRIOR, num_samples=100, rng=4)
    again = bl.annealed_importance_sample(
        GAMMA, PRIOR, num_samples=100, scale=found.settings["scale"], rng=4
    )
    np.testing.assert_array_equal(found.values, again.values)
    assert found.num_evals > again.num_evals == 100 * 21


def test_the_ladder_keeps_the_worth_that_was_asked_for():
    draws = bl.smc(PAIR, WIDE, num_samples=2_000, ess_threshold=0.7, rng=1)
    betas, ess = draws.settings["inverse_temperatures"], draws.settings["ess"]
    assert betas[0] == 0.0 and betas[-1] == 1.0 and np.all(np.diff(betas) > 0.0)
    np.testing.assert_allclose(ess[:-1], 1_400.0, rtol=1e-3)
    assert ess[-1] >= 1_400.0
    assert draws.settings["acceptance_rates"].shape == ess.shape
    assert draws.problems == () and draws.worth < 2_000
    equal = bl.resample(draws, num_samples=500, rng=2)
    assert abs(equal.expect().z(PAIR.truth.mean)).max() < Z_LIMIT


def test_both_modes_are_found_in_their_proportion():
    draws = bl.smc(PAIR, WIDE, num_samples=4_000, rng=3)
    left = draws.expect(lambda x: x[:, 0] < 0.0)
    assert abs(left.z(0.3)) < Z_LIMIT
    assert left.mcse > 0.95 * np.sqrt(0.3 * 0.7 / 4_000)


def test_errors_of_the_sampler_are_calibrated():
    z, e = [], []
    for seed in range(80):
        draws = bl.smc(PAIR, WIDE, num_samples=1_000, rng=seed)
        z.append(draws.expect().z(PAIR.truth.mean))
        e.append(draws.log_evidence.z(0.0))
    assert np.std(z) == pytest.approx(1.0, abs=0.2)
    assert np.std(e) == pytest.approx(1.0, abs=0.3)


def test_a_target_narrower_than_the_proposals_support():
    """Draws outside the support have weight zero, and moves into it are allowed."""
    wide = stats.norm(4.0, 5.0)
    for function in (bl.annealed_importance_sample, bl.smc):
        draws = function(GAMMA, wide, num_samples=4_000, rng=1)
        assert abs(draws.log_evidence.z(GAMMA.truth.log_evidence)) < Z_LIMIT
        assert abs(draws.expect().z(GAMMA.truth.mean)[0]) < Z_LIMIT


# Moves that go on until the particles have moved


FAR = posteriors.gaussian(np.full(20, 2.0), 0.05 * (0.5 + 0.5 * np.eye(20)))
AROUND = stats.norm(np.zeros(20), 2.0)


def test_particles_move_as_far_as_they_must():
    draws = bl.smc(FAR, AROUND, num_samples=1_000, rng=1)
    assert draws.problems == () and draws.settings["num_moves"][:-1].min() >= 32
    assert abs(draws.log_evidence.z(0.0)) < Z_LIMIT
    assert abs(draws.expect().z(FAR.truth.mean)).max() < Z_LIMIT + 1.0
    assert draws.num_evals == 1_000 * (1 + draws.settings["num_moves"].sum())


def test_too_few_moves_are_wrong_and_said():
    with pytest.warns(bl.BayeslibWarning, match="5 moves were too few: .*raise num_steps"):
        draws = bl.smc(FAR, AROUND, num_samples=1_000, num_steps=5, rng=1)
    assert abs(draws.log_evidence.value) > 0.5 or abs(draws.expect().z(FAR.truth.mean)).max() > 6.0


def test_steps_know_how_wide_the_modes_are():
    """Two modes, twenty of their widths apart in five dimensions."""
    far = posteriors.mixture(
        [0.25, 0.75], [np.full(5, -3.0), np.full(5, 3.0)], [0.09 * np.eye(5)] * 2
    )
    z = []
    for seed in range(4):
        draws = quietly(bl.smc, far, stats.norm(np.zeros(5), 5.0), num_samples=500, rng=seed)
        z += [draws.log_evidence.z(0.0), draws.expect().z(far.truth.mean)[0]]
    assert np.abs(z).max() < Z_LIMIT + 0.5


# Adaptive proposals


def test_a_mixture_learned_from_fewer_draws_than_dimensions():
    """Its covariances are singular to rounding; the weights then say how little it knows."""
    draws = quietly(
        bl.adaptive_importance_sample,
        FAR, AROUND, num_samples=500, num_adapt=10, num_rounds=30, rng=1,
    )  # fmt: skip
    assert np.isfinite(draws.values).all()


def test_it_learns_and_the_weights_stay_bounded():
    plain = bl.importance_sample(PAIR, WIDE, num_samples=4_000, rng=1)
    learned = bl.adaptive_importance_sample(PAIR, WIDE, num_samples=4_000, num_components=2, rng=1)
    assert learned.settings["ess"] > 10.0 * plain.settings["ess"]
    assert learned.settings["round_ess"].shape == (10,)
    bound = PAIR.many(learned.flat) - WIDE.logpdf(learned.flat) - np.log(0.1)
    assert np.all(learned.log_weights[0] <= bound + 1e-9)
    assert abs(learned.log_evidence.z(0.0)) < Z_LIMIT
    means = learned.settings["means"][np.argsort(learned.settings["means"][:, 0])]
    np.testing.assert_allclose(means, [[-4.0, 0.0], [4.0, 1.0]], atol=0.3)
    assert learned.num_evals == 14_000


def test_a_proposal_that_learned_little_is_named():
    """The neck of a funnel: ten of its errors are missing from the evidence, and k-hat is calm."""
    funnel, around = posteriors.funnel(10), bl.Gaussian(np.zeros(10), 16.0 * np.eye(10))
    rng = np.random.default_rng([820, 1])
    draws = quietly(bl.adaptive_importance_sample, funnel, around, num_samples=5_000, rng=rng)
    (said,) = draws.problems
    assert said.startswith("draws of the learned proposal are worth 3.6 % of their number")
    assert draws.log_evidence.z(funnel.truth.log_evidence) < -6.0 and draws.settings["khat"] < 0.7


@pytest.mark.trust("M6")
def test_a_learned_proposal_leaves_the_evidence_unbiased():
    options = {"num_rounds": 3, "num_adapt": 100}
    z, *_ = unbiased_z(bl.adaptive_importance_sample, GAMMA, PRIOR, 300, **options)
    assert abs(z) < Z_LIMIT


# Bad input


@pytest.mark.parametrize("function", [bl.annealed_importance_sample, bl.smc])
def test_trouble_of_the_target(function):
    target = bl.Target(cut_off, dim=1, data=(4.0, np.nan), gradient=None)
    with pytest.warns(bl.BayeslibWarning, match=r"nan at \d+ points"):
        draws = function(target, stats.norm(0.0, 3.0), num_samples=1_000, rng=1)
    assert np.all(draws.weights[draws.flat[:, 0] >= 4.0] == 0.0)
    target = bl.Target(cut_off, dim=1, data=(1.0, np.inf), gradient=None)
    with pytest.raises(bl.TargetError, match=r"\+inf at theta="):
        function(target, stats.norm(), num_samples=1_000, rng=1)
    with pytest.raises(bl.ZeroWeightsError, match="support: move or widen"):
        function(GAMMA, stats.norm(-50.0, 1.0), num_samples=100, rng=1)


def test_moves_that_are_never_accepted_are_said():
    with pytest.warns(bl.BayeslibWarning, match="left most particles where they were"):
        draws = bl.smc(PAIR, WIDE, num_samples=500, scale=1e4, num_steps=20, rng=1)
    assert draws.problems


LADDERS = [
    ({"inverse_temperatures": [0.0, 0.5]}, "must rise from 0 to 1"),
    ({"inverse_temperatures": [0.0, 0.5, 0.5, 1.0]}, r"must rise from 0 to 1.*0.5, 0.5"),
    ({"inverse_temperatures": 0}, "must rise from 0 to 1"),
    ({"inverse_temperatures": 2.5}, "must rise from 0 to 1"),
    ({"inverse_temperatures": "slow"}, bl.BayeslibTypeError, "inverse_temperatures"),
    ({"num_steps": 0}, "num_steps must be at least 1"),
    ({"scale": -1.0}, "scale must be positive"),
    ({"scale": [1.0, 2.0]}, "scale must"),
]
test_bad_arguments_are_named = refused(
    *(
        ((f, changes), *said)
        for f in (bl.annealed_importance_sample, bl.smc)
        for changes, *said in LADDERS
    ),
    ((bl.smc, {"num_samples": 1}), "num_samples must be at least 2"),
    ((bl.smc, {"ess_threshold": 1.0}), "between 0 and 1"),
    ((bl.smc, {"scheme": "x"}), "scheme must be one of"),
    (
        (bl.annealed_importance_sample, {"scale": np.ones((3, 1))}),
        r"scale must be a number or have shape \(1,\) or \(20, 1\)",
    ),
    ((bl.adaptive_importance_sample, {"df": 2.0}), "df must be above 2"),
    ((bl.adaptive_importance_sample, {"defensive": 1.0}), "defensive must be at least 0"),
    (
        (bl.adaptive_importance_sample, {"num_components": 5, "num_adapt": 4}),
        "num_adapt must be at least 5",
    ),
    by=lambda function, changes: function(GAMMA, PRIOR, **{"num_samples": 9, "rng": 1} | changes),
)
