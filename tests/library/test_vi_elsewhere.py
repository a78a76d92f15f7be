"""Modes that a fit has not seen: climbs from elsewhere find them, and accuse no single mode."""

import numpy as np
import pytest
from calling import quietly

import bayeslib as bl
from bayeslib import posteriors

WORD = "another mode"


def two_modes(theta, place, width):
    left = np.sum((theta + place) ** 2)
    right = np.sum(((theta - place) / width) ** 2)
    return np.logaddexp(-0.5 * left, -0.5 * right - theta.size * np.log(width))


def said(fit, target, **options):
    result = quietly(fit, target, rng=1, **options)
    return sum(WORD in problem or "ended elsewhere" in problem for problem in result.problems)


FITS = {
    "advi": bl.advi,
    "bbvi": lambda target, rng: bl.bbvi(target, num_steps=2000, rng=rng),
    "pathfinder": lambda target, rng: bl.pathfinder(target, [0.7] * target.dim, rng=rng),
    "multipathfinder": lambda target, rng: bl.multipathfinder(target, [0.7] * target.dim, rng=rng),
}


@pytest.mark.parametrize(("dim", "width"), [(1, 1.0), (4, 0.4)])
@pytest.mark.parametrize("name", FITS)
def test_a_second_mode_is_spoken_of(name, dim, width):
    """Nothing is drawn for it, so that it is found in every run or in none."""
    place = 8.0 / np.sqrt(dim)
    assert said(FITS[name], bl.Target(two_modes, dim=dim, data=(place, width))) == 1


def test_a_density_without_a_gradient_is_climbed_by_its_values():
    target = bl.Target(two_modes, dim=2, data=(5.0, 1.0), gradient=None)
    assert said(bl.bbvi, target, num_steps=2000) == 1
    assert said(bl.bbvi, bl.Target(two_modes, dim=2, data=(0.0, 0.4), gradient=None)) == 0


SINGLE = {
    "gaussian": lambda: posteriors.gaussian([3.0, -40.0], [1.0, 25.0]),
    "O-rings": posteriors.challenger,
    "coal": posteriors.coal_mining,
    "coin": lambda: posteriors.coin(8, 2),
    "gamma": posteriors.gamma_student,
    "banana": posteriors.banana,
    "funnel": lambda: posteriors.funnel(5),
    "close": lambda: posteriors.mixture([0.5, 0.5], [-1.5, 1.5], [1.0, 1.0]),
    "light": lambda: posteriors.mixture([0.999, 0.001], [0.0, 9.0], [1.0, 1.0]),
}


@pytest.mark.parametrize("name", SINGLE)
def test_no_single_mode_is_accused(name):
    """Nor two that a Gaussian covers, nor one with a thousandth of the mass."""
    target = SINGLE[name]()
    for fit in (bl.advi, bl.multipathfinder):
        assert said(fit, target) == 0


def test_scouts_are_counted_and_leave_the_fit_as_it_is(monkeypatch):
    target = posteriors.challenger()
    found = bl.advi(target, rng=1)
    spent = found.settings["num_scouted"]
    assert 0 < spent < 0.02 * found.num_evals
    monkeypatch.setattr("bayeslib.variational.verdict.scout", lambda *arguments: (None, 0))
    without = bl.advi(target, rng=1)
    np.testing.assert_array_equal(without.mean, found.mean)
    np.testing.assert_array_equal(without.cov, found.cov)
    assert found.num_evals == without.num_evals + spent and found.elbo.value == without.elbo.value
