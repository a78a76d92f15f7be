"""What the page `challenge` claims of one seed, asserted over many, with the page's own code."""

from itertools import product

import numpy as np
import pytest
from twins import page

import bayeslib as bl
from bayeslib import posteriors

TARGET = posteriors.gamma_student()


# Exponents


def test_the_clinic_is_the_library_s_for_every_answer():
    RATE, STRENGTH, LEAK, diagnose = page("challenge", "RATE", "STRENGTH", "LEAK", "diagnose")
    for finding in product([-1, 0, 1], repeat=3):
        asked = np.array(finding) >= 0
        model = posteriors.noisy_or(
            np.array(finding)[asked], RATE, STRENGTH.T[asked], leak=LEAK[asked]
        )
        fast = bl.enumerate_posterior(model.log_joint, model.hypotheses())
        plain_ones = diagnose(*finding)
        np.testing.assert_allclose(fast.probabilities, plain_ones.probabilities, atol=1e-13)
        assert fast.log_evidence.value == pytest.approx(plain_ones.log_evidence.value, abs=1e-12)


# Grids and the typical set


@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_grid_of_the_cube_has_the_error_of_the_formula(d):
    points_per_axis, log_cube = page("challenge", "points_per_axis", "log_cube")
    n = points_per_axis(d, 0.001)
    errors = []
    for points in (n - 1, n):
        grid = bl.grid_posterior(bl.Target(log_cube, dim=d), [(0, 1)] * d, num_points=points)
        errors.append(1 - np.exp(grid.log_evidence.value) / (1 - np.exp(-1)) ** d)
    assert errors[1] < 0.001 <= errors[0]
    assert errors[1] == pytest.approx(d / (24 * n**2), rel=0.02)


# A point instead of a posterior


def test_the_peak_depends_on_the_ruler():
    peak = page("challenge", "map_on_ruler")
    assert peak(1) == pytest.approx(4.592407233, abs=1e-4)
    assert peak(0) == pytest.approx(4.746806, abs=1e-4)
    assert peak(3) == 0.0 and 4.0 < peak(2) < peak(1) < peak(0) < peak(-1)


@pytest.mark.parametrize("place", [0.7, 2.0, 4.0, 8.0])
def test_there_is_a_ruler_for_every_peak(place):
    theta = np.linspace(0.05, 20, 40_001)
    density = np.exp(TARGET.many(theta) - TARGET.truth.log_evidence)
    slope = density * (1 + (theta - place) ** 2)
    phi = np.concatenate([[0.0], np.cumsum(0.5 * (slope[1:] + slope[:-1]) * np.diff(theta))])
    inside = np.searchsorted(theta, [place - 0.5, place + 0.5])
    between = np.diff(TARGET.truth.cdf(theta[inside]))[0]
    part = slice(inside[0], inside[1] + 1)
    assert np.trapezoid((density / slope)[part], phi[part]) == pytest.approx(between, rel=1e-4)
    assert theta[np.argmax(density / slope)] == pytest.approx(place, abs=1e-3)
