"""Parallel tempering: its swaps, its ladder, its evidence, and what it says when it fails."""

import math

import numpy as np
import pytest
from bad_inputs import refused
from densities import raising
from sparing import over
from stepping import Z_LIMIT, batch_z
from steps import algorithm

import bayeslib as bl
from bayeslib import posteriors
from bayeslib.chains.algorithm import Run
from bayeslib.markov.ladder import as_ladder

STARTS = 40_000
BETAS = np.array([0.1, 0.35, 1.0])
LOST = posteriors.mixture([1 / 3, 2 / 3], [-10.0, 10.0], 1.0)
WIDE = posteriors.gaussian(0.0, 100.0)
NORMAL = posteriors.gaussian(0.0, 1.0)


@pytest.mark.trust("S8")
def test_conserves_the_product_of_tempered_densities():
    """Mean, square and |x| > 1 sd at every rung, from exact draws of N(0, 1/beta): 1e-6 in all."""
    rng, sd = np.random.default_rng(71), 1.0 / np.sqrt(BETAS)[:, None]
    options = {"reference": None, "betas": BETAS, "scale": sd, "moves_rungs": False}
    sampler = algorithm("parallel_tempering")
    run = Run(sampler, NORMAL, rng, np.zeros(1), None, options, (4, 0, 1))
    starts = rng.standard_normal((STARTS, 3, 1)) * sd
    ends, values = np.empty_like(starts), NORMAL.many(starts.reshape(-1, 1)).reshape(-1, 3)
    for n in range(STARTS):
        run.state.states[:], run.state.log_p[:] = starts[n], values[n]
        run.advance(0, 4)
        ends[n] = run.state.states
    x, y = (array[:, :, 0] / sd[:, 0] for array in (starts, ends))
    change = np.concatenate([y - x, y**2 - x**2, (abs(y) > 1.0) * 1.0 - (abs(x) > 1.0)], axis=1)
    z = change.mean(axis=0) / (change.std(axis=0) / np.sqrt(STARTS))
    assert np.abs(z).max() < Z_LIMIT, z


def test_neighbours_swap_as_often_as_they_should():
    """Of two Gaussians on the line at b < b' the acceptance is 4/pi arctan sqrt(b / b')."""
    scale = 1.0 / np.sqrt(BETAS)[:, None]
    how = {"inverse_temperatures": BETAS, "scale": scale, "num_samples": 40_000}
    rates = bl.parallel_tempering(NORMAL, None, rng=72, **how).settings["swap_acceptance"]
    exact = 4.0 / np.pi * np.arctan(np.sqrt(BETAS[:-1] / BETAS[1:]))
    np.testing.assert_allclose(rates, np.broadcast_to(exact, rates.shape), 0.03)


@over("seed", [1, 2, 3])
def test_finds_both_modes(seed):
    """alpha = 2e-8 a seed: |z| < 5.6 with more than 500 draws' worth."""
    draws = bl.parallel_tempering(LOST, None, num_samples=5000, rng=seed)
    truth = LOST.truth
    assert draws.problems == ()
    assert bl.ess(draws) > 500
    assert abs(draws.expect().z(truth.mean)) < Z_LIMIT
    assert abs(draws.expect(lambda x: (x[:, 0] > 0) * 1.0).z(2 / 3)) < Z_LIMIT
    assert abs(batch_z(draws.values[:, :, 0], truth.mean[0], right=True)) < Z_LIMIT


UNIFORM = posteriors.coin(0, 0)


@over("seed", [1, 2, 3])
def test_the_evidence_is_the_integral(seed):
    """alpha = 2e-8 for each; the evidence of one coin is not that of another."""
    coin, other = posteriors.coin(8, 2), posteriors.coin(7, 3)
    draws = bl.parallel_tempering(coin, None, reference=UNIFORM, num_samples=4000, rng=seed)
    assert 0.0 < draws.log_evidence.mcse < 0.05
    assert abs(draws.log_evidence.z(coin.truth.log_evidence)) < Z_LIMIT
    assert abs(draws.log_evidence.z(other.truth.log_evidence)) > Z_LIMIT
    assert draws.log_evidence.num_evals == draws.num_evals
    assert draws.settings["inverse_temperatures"][0, 0] == 0.0
    # The hottest rung is the reference itself, from which the target is never seen.
    far = bl.parallel_tempering(LOST, None, reference=WIDE, num_samples=4000, rng=seed)
    assert abs(far.log_evidence.z(0.0)) < Z_LIMIT and far.log_evidence.mcse < 0.05


def test_the_error_of_the_evidence_is_its_spread():
    """Over 60 seeds, mean z^2 is 1 within 6 standard errors of a chi-squared mean."""
    options = {"reference": UNIFORM, "num_samples": 500, "num_warmup": 300, "num_chains": 2}
    target = posteriors.coin(8, 2)
    z = np.array([
        bl.parallel_tempering(target, None, rng=seed, **options).log_evidence.z(
            target.truth.log_evidence
        )
        for seed in range(60)
    ])  # fmt: skip
    assert abs(np.mean(z**2) - 1.0) < 6.0 * np.sqrt(2.0 / 60)


def test_without_a_normalised_reference_there_is_no_evidence():
    quick = {"num_samples": 100, "num_warmup": 100, "rng": 1}
    unknown = bl.Target(UNIFORM.logdensity, dim=1, data=UNIFORM.data, support=(0.0, 1.0))
    coin = posteriors.coin(8, 2)
    assert bl.parallel_tempering(coin, None, **quick).log_evidence is None
    assert bl.parallel_tempering(coin, None, reference=unknown, **quick).log_evidence is None


def test_the_ladder_is_spread_until_pairs_swap_equally_often():
    draws = bl.parallel_tempering(
        LOST, None, inverse_temperatures=6, num_samples=4000, num_warmup=4000, rng=3
    )
    betas, rates = (draws.settings[name] for name in ("inverse_temperatures", "swap_acceptance"))
    assert betas.shape == (4, 6) and rates.shape == (4, 5)
    assert np.all(betas[:, 0] == 0.01) and np.all(betas[:, -1] == 1.0)
    assert np.all(np.diff(betas, axis=1) > 0.0)
    assert np.ptp(rates, axis=1).max() < 0.12
    uneven = bl.parallel_tempering(
        LOST, None, inverse_temperatures=np.linspace(0.01, 1.0, 6), num_samples=4000, rng=3
    )
    assert np.ptp(uneven.settings["swap_acceptance"], axis=1).min() > 0.3
    np.testing.assert_allclose(draws.settings["barrier"], np.sum(1.0 - rates, axis=1))


def test_the_ladder_is_frozen_when_sampling_begins():
    options = {"inverse_temperatures": [0.1, 0.3, 1.0], "scale": 3.0, "num_chains": 1, "rng": 4}
    short = bl.parallel_tempering(NORMAL, 1.0, num_warmup=0, num_samples=500, **options)
    warmed = bl.parallel_tempering(NORMAL, 1.0, num_warmup=100, num_samples=400, **options)
    np.testing.assert_array_equal(short.values[:, 100:], warmed.values)


def test_replicas_only_change_places():
    draws = bl.parallel_tempering(LOST, None, num_samples=3000, rng=5)
    replica, num_rungs = draws.stats["replica"], draws.settings["inverse_temperatures"].shape[1]
    assert np.all(np.sort(replica, axis=2) == np.arange(num_rungs))
    for chain in range(4):
        assert draws.settings["round_trips"][chain] == trips(replica[chain]) > 100
    # In an iteration a replica moves by one rung at most.
    place = np.argsort(replica, axis=2)
    assert np.abs(np.diff(place, axis=1)).max() == 1


def trips(replica):
    """Count the ways from rung 0 to the last and back, replica by replica."""
    place, last = np.argsort(replica, axis=1), replica.shape[1] - 1
    total = 0
    for path in place.T:
        ends = path[(path == 0) | (path == last)]
        ends = ends[np.flatnonzero(ends == 0)[0] :] if np.any(ends == 0) else ends[:0]
        turns = np.flatnonzero(np.diff(ends)) + 1
        total += turns.size // 2
    return total


@over("seed", [1, 2, 3])
def test_a_ladder_too_coarse_is_said_and_the_remedy_works(seed):
    starts = np.full((4, 1), -10.0) + np.arange(4.0)[:, None] / 10
    coarse = {"inverse_temperatures": [1e-6, 1.0], "scale": [[1000.0], [2.0]]}
    with pytest.warns(bl.BayeslibWarning, match="too coarse; pass inverse_temperatures=4"):
        draws = bl.parallel_tempering(LOST, starts, num_samples=1000, rng=seed, **coarse)
    assert np.max(draws.settings["swap_acceptance"]) < 0.05
    said = " ".join(draws.problems)
    assert "too coarse" in said
    assert bl.parallel_tempering(LOST, starts, num_samples=3000, rng=seed).problems == ()


def test_no_round_trip_is_said():
    betas = np.linspace(0.5, 1.0, 100)
    with pytest.warns(bl.BayeslibWarning, match="no replica made the way"):
        draws = bl.parallel_tempering(
            LOST, None, inverse_temperatures=betas, num_samples=50, num_warmup=60, rng=1
        )
    assert any("no replica made the way" in problem for problem in draws.problems)
    assert np.all(draws.settings["round_trips"] == 0)


def test_the_number_of_rungs_follows_the_dimension():
    sizes = [as_ladder(None, dim, False)[0].size for dim in (1, 2, 20, 200)]
    assert sizes == sorted(sizes) and sizes[0] >= 4 and sizes[-1] <= 200
    target = posteriors.gaussian(np.zeros(20), np.eye(20))
    draws = bl.parallel_tempering(target, None, num_samples=4000, num_warmup=2000, rng=1)
    rates = draws.settings["swap_acceptance"]
    assert 0.3 < rates.min() and rates.max() < 0.7
    # In many dimensions the barrier is sqrt(dim / 2 pi) log(1 / 0.01).
    expected = np.sqrt(20 / (2 * np.pi)) * np.log(100.0)
    np.testing.assert_allclose(draws.settings["barrier"], expected, rtol=0.12)


def test_a_density_whose_power_is_not_integrable_is_refused():
    target = bl.Target(lambda theta: -math.log1p(theta[0] ** 2), dim=1)
    with pytest.raises(bl.ImproperError, match="pass inverse_temperatures= that begin higher"):
        bl.parallel_tempering(target, None, num_samples=5000, num_warmup=5000, rng=1)
    draws = bl.parallel_tempering(target, None, reference=WIDE, num_samples=5000, rng=1)
    assert abs(draws.log_evidence.z(math.log(math.pi))) < Z_LIMIT


@pytest.mark.parametrize("where", ["target", "reference"])
def test_what_a_density_raises_reaches_the_caller(where):
    bad, start = bl.Target(raising, dim=1, data=(2.0,), gradient=None), [[0.0], [0.1], [0.2], [0.3]]
    target, reference = (bad, NORMAL) if where == "target" else (NORMAL, bad)
    with pytest.raises(ValueError, match="too far") as caught:
        bl.parallel_tempering(target, start, reference=reference, num_samples=2000, rng=1)
    assert any(where in note or "raised at" in note for note in caught.value.__notes__)


test_bad_arguments_are_named = refused(
    ({"inverse_temperatures": [0.5, 0.4, 1.0]}, "increase and end at 1"),
    ({"inverse_temperatures": [0.1, 0.5]}, "end at 1"),
    ({"inverse_temperatures": [1.0]}, "end at 1"),
    ({"inverse_temperatures": [0.0, 1.0]}, "pass reference="),
    ({"inverse_temperatures": [-0.1, 1.0]}, "begin above 0"),
    ({"inverse_temperatures": 1}, "at least 2"),
    ({"inverse_temperatures": 2.5}, "whole number"),
    ({"inverse_temperatures": "many"}, "inverse_temperatures"),
    ({"inverse_temperatures": [0.1, math.nan, 1.0]}, "increase"),
    ({"scale": 0.0}, "scale must be positive"),
    ({"scale": [1.0, 2.0]}, "shape"),
    ({"scale": np.ones((3, 1)), "inverse_temperatures": 4}, r"\(4, 1\)"),
    ({"reference": posteriors.banana(1.0)}, "dim=1"),
    ({"reference": "prior"}, "Target"),
    (
        {"initial_position": [[-1.0], [0.5], [0.2], [0.3]], "reference": UNIFORM},
        bl.StartError,
        "reference at initial_position",
    ),
    by=lambda **options: bl.parallel_tempering(LOST, rng=1, **options),
)


def test_no_warm_up_and_nothing_given_is_said():
    with pytest.warns(bl.BayeslibWarning, match="num_warmup=0 leaves no time"):
        bl.parallel_tempering(NORMAL, None, num_warmup=0, num_samples=200, rng=1)
