"""What the page on the Ising model claims of one seed, over many.

Every bound stands five standard deviations or more from what is expected, so that a test fails by
chance less than once in a million runs.
"""

import itertools

import numpy as np
import pytest
from sparing import over
from twins import Z_LIMIT, page

import bayeslib as bl

SEEDS = (1, 2, 3)
every_seed = over("seed", SEEDS)
PHOTO, noise_field, surplus, energy = page("ising", "photo", "noise_field", "surplus", "energy_of")
RATE = 0.2


def flip(picture, seed):
    return page("ising", "flip")(picture, RATE, np.random.default_rng(seed))


def restore(seen, coupling, seed, believed=RATE):
    return bl.ising_sample(
        seen.shape, inverse_temperature=1, coupling=coupling, periodic=False, initial=seen,
        field=noise_field(seen, believed),
        num_samples=600, num_warmup=100, num_chains=1, rng=seed,
    ).settings["mean_spins"][0]  # fmt: skip


@every_seed
def test_one_sign_with_a_tiny_error(seed):
    starts = np.where(np.random.default_rng(seed).random((4, 32, 32)) < 0.7, 1, -1)
    options = {"inverse_temperature": 0.5, "num_samples": 3_000, "num_warmup": 500, "rng": seed}
    lie = bl.ising_sample((32, 32), initial=starts, **options)
    assert lie.expect(lambda s: s[:, 1]).z(0.0) > 100
    assert bl.rhat(lie)[1] < 1.02 and bl.ess(lie)[1] > 400
    signs = np.array([1, 1, -1, -1])[:, None, None]
    assert bl.rhat(bl.ising_sample((32, 32), initial=signs * starts, **options))[1] > 1.5
    healed = bl.ising_sample((32, 32), method="wolff", **options)
    assert abs(healed.expect(lambda s: s[:, 1]).z(0.0)) < Z_LIMIT


def test_the_first_figure_shows_a_frozen_stripe():
    options = {"num_samples": 1, "num_warmup": 500, "num_chains": 1, "rng": 4}
    spins = bl.ising_sample((64, 64), inverse_temperature=1.0, **options).settings["lattices"][0]
    rows, columns = spins.mean(axis=1), spins.mean(axis=0)
    assert rows.max() > 0.9 and rows.min() < -0.9 and np.abs(columns).max() < 0.5


@every_seed
def test_a_third_of_quenches_end_in_stripes(seed):
    quench = bl.ising_sample(
        (16, 16), inverse_temperature=2.0, num_samples=20, num_warmup=1_500, num_chains=100,
        rng=seed,
    )  # fmt: skip
    settled = np.abs(quench["magnetisation"]).mean(axis=1)
    striped = settled < 0.9
    assert 0.1 < striped.mean() < 0.6
    assert settled[~striped].mean() > 0.999


@every_seed
def test_critical_slowing_down_and_its_cure(seed):
    heat_bath, clusters = page("ising", "heat_bath_time", "cluster_time")
    power = np.log(heat_bath(12, seed)[0] / heat_bath(4, seed)[0]) / np.log(3)
    assert 1.6 < power < 2.7
    assert clusters(32, seed) < 4 * clusters(8, seed), "sixteen times and more for the heat bath"


@every_seed
def test_the_photograph_is_restored_and_probabilities_are_the_models(seed):
    seen = flip(PHOTO, seed)
    modest, fair, boastful = (restore(seen, j, seed) for j in (0.443, 0.5, 1.0))
    for mean in (modest, fair):
        assert (np.sign(mean) != PHOTO).mean() < 0.4 * (seen != PHOTO).mean()
    assert surplus(modest, PHOTO) > 0.01
    assert surplus(boastful, PHOTO) < -0.04
    drawn = bl.ising_sample(
        PHOTO.shape, inverse_temperature=1, coupling=0.443, periodic=False, method="wolff",
        initial="up", num_samples=1, num_warmup=1_000, num_chains=1, rng=seed,
    ).settings["lattices"][0]  # fmt: skip
    assert abs(surplus(restore(flip(drawn, seed + 50), 0.443, seed), drawn)) < 0.02


@every_seed
def test_a_wrong_noise_rate_costs_pixels(seed):
    seen = flip(PHOTO, seed)
    wrong = [
        (np.sign(restore(seen, 0.5, seed, believed)) != PHOTO).mean()
        for believed in (0.01, RATE, 0.45)
    ]
    assert wrong[0] > 2 * wrong[1] and wrong[2] > 1.5 * wrong[1]


@every_seed
def test_the_minimum_cut_is_the_lowest_of_all_small_pictures(seed):
    field = np.round(np.random.default_rng(seed).normal(0, 0.7, (3, 4)), 3)
    cut = page("ising", "graph_cut")(0.4, field)
    pictures = (np.reshape(s, (3, 4)) for s in itertools.product((-1, 1), repeat=12))
    assert energy(cut, 0.4, field) == pytest.approx(min(energy(s, 0.4, field) for s in pictures))


@every_seed
def test_one_best_picture_is_not_the_best_pixels(seed):
    seen = flip(PHOTO, seed)
    field = noise_field(seen, RATE)
    cut, icm = page("ising", "graph_cut")(0.5, field), page("ising", "icm")(seen, 0.5, field)
    pixels = np.sign(restore(seen, 0.5, seed))
    assert energy(cut, 0.5, field) < min(energy(icm, 0.5, field), energy(pixels, 0.5, field))
    assert (pixels != PHOTO).mean() < min((cut != PHOTO).mean(), (icm != PHOTO).mean())
    white = np.ones(PHOTO.shape)
    assert np.array_equal(page("ising", "icm")(white, 0.5, field), white)
