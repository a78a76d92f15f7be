"""Resampling: counts, honest errors, and schemes that would be wrong."""

import pickle

import numpy as np
import pytest
from bad_inputs import refused
from scipy import stats

import bayeslib as bl
from bayeslib import posteriors
from bayeslib.independent import resample as resampling

SCHEMES = ("systematic", "stratified", "residual", "multinomial")
WEIGHTS = np.array([0.0, 0.31, 0.07, 0.4, 0.0, 0.02, 0.2, 0.0])
Z_LIMIT = float(stats.norm.isf(1e-6 / 2 / WEIGHTS.size))
TARGET = posteriors.gamma_student()
every_scheme = pytest.mark.parametrize("scheme", SCHEMES)


def counts(scheme, num_samples, repeats, choose=resampling.choose, weights=WEIGHTS):
    rng = np.random.default_rng(1)
    rows = [choose(weights, num_samples, rng, scheme) for _ in range(repeats)]
    return np.array([np.bincount(row, minlength=weights.size) for row in rows])


def worst_z(found, num_samples):
    """Of the mean counts against num_samples * weights; zero where both are exact."""
    mean, error = found.mean(axis=0), found.std(axis=0, ddof=1) / np.sqrt(len(found))
    off = mean - num_samples * WEIGHTS
    return np.max(np.where(np.abs(off) < 1e-9, 0.0, np.abs(off) / np.maximum(error, 1e-12)))


@pytest.mark.trust("S11", of="resample")
@every_scheme
@pytest.mark.parametrize("num_samples", [1, 7, 100])
def test_mean_counts_are_the_weights(scheme, num_samples):
    found = counts(scheme, num_samples, 5_000)
    assert np.all(found.sum(axis=1) == num_samples)
    assert np.all(found[:, WEIGHTS == 0.0] == 0)
    assert worst_z(found, num_samples) < Z_LIMIT


@pytest.mark.trust("S11")
def test_counts_are_as_near_to_the_average_as_the_scheme_promises():
    rng = np.random.default_rng(2)
    for _ in range(300):
        weights = rng.dirichlet(np.full(9, 0.5))
        num_samples = int(rng.integers(1, 60))
        expected = num_samples * weights
        for scheme, most in (("systematic", 1), ("stratified", 2)):
            found = np.bincount(resampling.choose(weights, num_samples, rng, scheme), minlength=9)
            assert np.all(np.abs(found - expected) < most)
        found = np.bincount(resampling.choose(weights, num_samples, rng, "residual"), minlength=9)
        assert np.all(found >= np.floor(expected))


@every_scheme
def test_equal_weights_and_whole_numbers_are_kept(scheme):
    for size in (3, 7, 10, 49):
        found = np.bincount(
            resampling.choose(np.full(size, 1 / size), size, np.random.default_rng(3), scheme),
            minlength=size,
        )
        if scheme != "multinomial":
            assert np.all(found == 1), size


def test_schemes_differ_by_their_noise():
    spread = {s: counts(s, 20, 4_000).var(axis=0).sum() for s in SCHEMES}
    assert spread["multinomial"] == pytest.approx(20 * (WEIGHTS * (1 - WEIGHTS)).sum(), rel=0.1)
    assert spread["systematic"] < 0.2 * spread["multinomial"]
    assert max(spread["residual"], spread["stratified"]) < 0.5 * spread["multinomial"]


def test_the_last_draws_are_not_chosen_by_rounding():
    class Highest:
        def random(self, size=None):
            return np.full(size, 1 - 2.0**-53) if size else 1 - 2.0**-53

    weights = np.append(np.full(1000, 0.1), 0.0)
    for scheme in SCHEMES:
        assert resampling.choose(weights, 10, Highest(), scheme).max() == 999


@every_scheme
def test_the_result_is_a_draws_of_copies(scheme):
    draws = bl.importance_sample(TARGET, stats.gamma(3), num_samples=500, rng=1)
    again = bl.resample(draws, num_samples=300, rng=2, scheme=scheme)
    family = again.stats["family"][0]
    assert again.values.shape == (1, 300, 1) and again.log_weights is None
    np.testing.assert_array_equal(again.flat, draws.flat[family])
    np.testing.assert_array_equal(again.logdensity[0], draws.logdensity[0, family])
    assert np.all(np.diff(family) >= 0)
    assert again.log_evidence == draws.log_evidence and again.num_evals == draws.num_evals
    assert again.problems == () and again.method == "resample"
    assert "300 draws" in str(again.summary())
    assert pickle.loads(pickle.dumps(again)).settings["seed"] == 2
    twice = bl.resample(again, num_samples=50, rng=3, scheme=scheme)
    np.testing.assert_array_equal(twice.flat, draws.flat[twice.stats["family"][0]])


def spread_of_z(scheme, honest):
    """Standard deviation of z over 300 runs; the weights are worth a fifth of the draws."""
    target, proposal = posteriors.gaussian(0.0, 1.0), stats.norm(1.0, 1.2)
    z = []
    for seed in range(300):
        draws = bl.importance_sample(target, proposal, num_samples=400, rng=seed)
        again = bl.resample(draws, num_samples=2_000, rng=seed + 1_000, scheme=scheme)
        if not honest:
            again = bl.Draws(again.values, independent=True)
        z.append(again.expect().z(0.0)[0])
    return np.std(z)


@every_scheme
def test_the_error_of_copies_is_honest(scheme):
    assert spread_of_z(scheme, honest=True) == pytest.approx(1.0, abs=0.2)


def test_an_error_that_takes_copies_for_new_draws_is_rejected():
    assert spread_of_z("systematic", honest=False) > 2.0


@pytest.mark.filterwarnings("ignore::bayeslib.BayeslibWarning")
def test_a_bad_khat_stays_bad():
    normal = posteriors.gaussian(0.0, 1.0)
    draws = bl.importance_sample(normal, stats.norm(0.0, 0.4), num_samples=1000, rng=6)
    again = bl.resample(draws, num_samples=1000, rng=1)
    assert any("k-hat" in text for text in again.problems)


ONE = bl.Draws([[[1.0]]], log_weights=[[0.0]])
test_bad_arguments_are_named = refused(
    ({"scheme": "lottery"}, "must be one of \"systematic\".*'lottery'"),
    ({"num_samples": 0}, "num_samples must be at least 1"),
    ({"draws": np.zeros(3)}, bl.BayeslibTypeError, "draws must be a Draws, got ndarray"),
    ({"draws": bl.Draws(np.zeros((2, 5, 1)))}, "no weights.*draws.sample"),
    ({"draws": bl.Draws([[[1.0]]], log_weights=[[-np.inf]])}, bl.ZeroWeightsError, "are zero"),
    ({"rng": "one"}, bl.BayeslibTypeError, "rng"),
    by=lambda draws=ONE, **change: bl.resample(draws, **{"num_samples": 3, "rng": 1} | change),
)
