"""What the page that compares all methods claims of one seed, asserted over several: no luck."""

import numpy as np
from twins import page, quiet

import bayeslib as bl

pytestmark = quiet
# A run is of a few hundred effective draws at least, so that t is near normal: eight errors stand
# for alpha below 1e-6 over all runs and coordinates here.
RUN_LIMIT = 8.0


def test_a_silent_lie_would_be_seen():
    """A fit believed as if it had a sampler's error is wrong and, without its check, unflagged."""
    PROBLEMS, fitted, verdict = page("together", "PROBLEMS", "fitted", "verdict")
    p = PROBLEMS["running example"]
    q = fitted(p, 20_000, 1)
    believed = bl.Draws(q.sample(20_000, 1)[None], independent=True).expect()
    assert abs(believed.z(p.target.truth.mean)[0]) > RUN_LIMIT
    _, flags = verdict(p, q, 1)
    assert flags


def test_advi_settles_on_the_bias_of_its_family():
    """It does not climb with the budget, as a step that never shrinks lets it."""
    PROBLEMS, fitted = page("together", "PROBLEMS", "fitted")
    p = PROBLEMS["eight schools"]
    sd = np.sqrt(np.diag(p.truth.cov))

    def size(q):
        return np.sqrt(np.mean(np.square((q.expect().value - p.truth.mean) / sd)))

    for seed in (1, 2):
        assert size(fitted(p, 25_000, seed, "meanfield")) < 0.08
        assert size(bl.advi(p.target, num_steps=2500, num_check=100, rng=seed)) > 0.08


def test_weighted_draws_of_a_fit_pass_on_eight_schools():
    """The method that comes nearest to passing everywhere, where it is close, with fresh seeds."""
    play, error = page("together", "play", "error")
    for seed in (11, 12, 13, 14):
        row = play("ADVI + PSIS", "eight schools", 20_000, seed)
        assert not row.flags, row
        assert np.sqrt(np.square(error(row, "eight schools")).mean()) < 0.05
        assert row.fit_flags and "another mode" not in " ".join(row.fit_flags)
