"""What the pages claim of one seed, asserted over many: no claim may be luck."""

import numpy as np
import pytest
from scipy import integrate, stats
from sparing import every_seed
from twins import page

import bayeslib as bl
from bayeslib import posteriors

TARGET = posteriors.gamma_student()
PRIOR = stats.gamma(3)
LOG_C = -np.log(np.sqrt(8.0))
GRID = np.linspace(1e-4, 80, 160_001)
DENSITY = np.exp(TARGET.many(GRID))


def unguarded(log_bound, seed):
    options = {"log_bound": log_bound, "num_proposals": 60_000, "rng": seed}
    kept = page("rejection", "unguarded")(TARGET, PRIOR, **options)
    return kept, bl.Draws(kept[None, :, None], independent=True).expect()


@every_seed
@pytest.mark.parametrize("divisor", [4, 8])
def test_rejection_a_leaking_envelope_follows_the_smaller_of_the_two(seed, divisor):
    """Its naive error bar excludes the truth and covers the mean of min(target, c q)."""
    kept, mean = unguarded(-np.log(divisor), seed)
    smaller = np.minimum(DENSITY, PRIOR.pdf(GRID) / divisor)
    mass = integrate.trapezoid(smaller, GRID)
    assert abs(mean.z(integrate.trapezoid(smaller * GRID, GRID) / mass)[0]) < 5.5
    assert abs(mean.z(TARGET.truth.mean)[0]) > 5.5
    rate = kept.size / 60_000
    assert abs(rate - mass * divisor) < 5.5 * np.sqrt(rate * (1 - rate) / 60_000)
    assert rate > np.exp(TARGET.truth.log_evidence - LOG_C), "it keeps more than the honest one"


@every_seed
def test_rejection_an_honest_envelope_does_not(seed):
    assert abs(unguarded(LOG_C, seed)[1].z(TARGET.truth.mean)[0]) < 5.5


def test_rejection_a_gaussian_proposal_mostly_passes_the_guard_and_has_no_bound():
    """The page gives the chance of a violation in one run; 60 runs must agree with it (1e-6)."""
    gaussian = stats.norm(4.2, 1.5)
    middle = np.linspace(0.01, 10, 100_001)
    log_bound = (TARGET.many(middle) - gaussian.logpdf(middle)).max() + 1e-6
    outside = GRID[(GRID > 10) & (TARGET.many(GRID) - gaussian.logpdf(GRID) > log_bound)]
    acceptance = np.exp(TARGET.truth.log_evidence - log_bound)
    chance = 1 - (1 - gaussian.sf(outside[0])) ** (2_000 / acceptance)
    caught = 0
    for seed in range(60):
        try:
            bl.rejection_sample(TARGET, gaussian, log_bound=log_bound, num_samples=2_000, rng=seed)
        except bl.EnvelopeError:
            caught += 1
    # whole rounds are checked, so a run sees up to one round of proposals more than it uses
    most = 1 - (1 - gaussian.sf(outside[0])) ** (2_000 / acceptance + 2_000)
    assert stats.binom(60, chance).ppf(5e-7) <= caught <= stats.binom(60, most).ppf(1 - 5e-7)
    assert caught < 30
    ratio = TARGET.many(np.array([20.0, 40.0])) - gaussian.logpdf([20.0, 40.0])
    assert ratio[1] > ratio[0] + 100, "the ratio grows without bound"


@every_seed
def test_rejection_weights_beat_verdicts_from_the_same_proposals(seed):
    kept = bl.rejection_sample(TARGET, PRIOR, log_bound=LOG_C, num_samples=20_000, rng=seed)
    weighted = bl.importance_sample(
        TARGET, PRIOR, num_samples=kept.settings["num_proposed"], rng=seed
    )
    assert weighted.expect().mcse[0] < 0.7 * kept.expect().mcse[0]


@every_seed
def test_rejection_haldane_is_unbiased_and_the_naive_rate_is_not(seed):
    rate = np.exp(TARGET.truth.log_evidence - LOG_C)
    tries = np.random.default_rng(seed).geometric(rate, size=(200_000, 2)).sum(axis=1)
    for runs, biased in ((2 / tries, True), (1 / (tries - 1), False)):
        z = (runs.mean() - rate) / (runs.std() / np.sqrt(runs.size))
        assert (z > 5.5) == biased
