"""What the page that compares all methods claims of one seed, asserted over several: no luck."""

import numpy as np
import pytest
from twins import page, quiet

import bayeslib as bl

pytestmark = quiet
# A run is of a few hundred effective draws at least, so that t is near normal: eight errors stand
# for alpha below 1e-6 over all runs and coordinates here.
RUN_LIMIT = 8.0


def test_five_moves_of_smc_are_too_few_and_said():
    p = page("together", "PROBLEMS")["regression"]

    def run(**options):
        draws = bl.smc(p.target, p.prior, num_samples=333, rng=1, **options)
        return draws, np.abs(draws.expect().z(p.truth.mean)).max()

    with pytest.warns(bl.BayeslibWarning, match="5 moves were too few"):
        few, z = run(num_steps=5)
    assert few.problems and z > 5
    many, z = run()
    assert z < 5


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


def test_the_prior_beats_a_chain_on_eight_schools():
    play, error = page("together", "play", "error")
    for seed in (11, 12, 13):
        rows = {
            name: play(name, "eight schools", 25_000, seed)
            for name in ("Monte Carlo from the prior", "Metropolis")
        }
        size = {n: np.square(error(r, "eight schools")).mean() for n, r in rows.items()}
        assert size["Monte Carlo from the prior"] < size["Metropolis"]


def test_weighted_draws_of_a_fit_pass_on_eight_schools():
    """One method passes everywhere: here, where the limit of k-hat is near, with fresh seeds."""
    play, error = page("together", "play", "error")
    for seed in (11, 12, 13, 14):
        row = play("ADVI + PSIS", "eight schools", 20_000, seed)
        assert not row.flags, row
        assert np.sqrt(np.square(error(row, "eight schools")).mean()) < 0.05
        assert row.fit_flags and "another mode" not in " ".join(row.fit_flags)


def test_smaller_steps_of_nuts_do_not_diverge_on_eight_schools():
    play, where = page("together", "play"), ("eight schools", 100_000)
    smaller = [play("NUTS, target 0.95", *where, seed).flags for seed in range(21, 26)]
    default = [play("NUTS", *where, seed).flags for seed in range(21, 26)]
    assert not any(smaller) and "diverged" in str(default)
