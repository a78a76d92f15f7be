"""Diagnostics: equal to ArviZ's where ArviZ is right, nan where nothing can be said."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from bad_inputs import refused
from twins import page

import bayeslib as bl
from bayeslib import BayeslibError, autocorrelation, bfmi, ess, hdi, mcse, rhat

DATA = Path(__file__).parents[1] / "data"
sys.path.insert(0, str(DATA))
from diagnostics_arrays import arrays, silent  # noqa: E402

REFERENCE = json.loads((DATA / "diagnostics.json").read_text())
ARRAYS = arrays()
STATISTICS = {
    "ess bulk": ess,
    "ess tail": lambda x: ess(x, kind="tail"),
    "ess mean": lambda x: ess(x, kind="mean"),
    "ess sd": lambda x: ess(x, kind="sd"),
    "ess quantile": lambda x: ess(x, kind="quantile", probability=0.3),
    "rhat": rhat,
    "mcse mean": mcse,
    "mcse sd": lambda x: mcse(x, kind="sd"),
    "mcse quantile": lambda x: mcse(x, kind="quantile", probability=0.3),
    "hdi low": lambda x: hdi(x)[0],
    "hdi high": lambda x: hdi(x)[1],
}
# Where ArviZ reports a number and there is nothing to report.
OURS_IS_NAN = {
    "constant": [name for name in STATISTICS if not name.startswith("hdi")],
    "one infinite": list(STATISTICS),
    "one nan": list(STATISTICS),
}


def ours(x):
    return {name: statistic(x) for name, statistic in STATISTICS.items()}


def arvizs(name):
    return dict(zip(STATISTICS, REFERENCE[name], strict=True))


def compare(x, name):
    got, expected = ours(x), arvizs(name)
    for statistic in STATISTICS:
        if statistic not in OURS_IS_NAN.get(name, ()):
            np.testing.assert_allclose(
                got[statistic], expected[statistic], rtol=1e-8, err_msg=statistic
            )


@pytest.mark.trust("S13")
@pytest.mark.parametrize("name", ARRAYS)
def test_equals_arviz(name):
    compare(ARRAYS[name], name)


@pytest.mark.row(44)
@pytest.mark.parametrize("name", OURS_IS_NAN)
def test_speaks_up_where_arviz_is_silent(name):
    got, expected = ours(ARRAYS[name]), arvizs(name)
    assert all(np.isnan(got[statistic]) for statistic in OURS_IS_NAN[name])
    if name != "one nan":  # of which ArviZ knows
        assert expected["ess bulk"] > 350.0 and expected["ess quantile"] > 350.0


@pytest.mark.row(44)
@pytest.mark.parametrize("name", silent())
def test_draws_of_which_nothing_good_can_be_said_say_so(name):
    words = {
        "constant": "never moved",
        "stuck from the 20th draw on": "stood still in theta for half",
        "constant but different": "R-hat",
        "one infinite": "nan or infinite",
        "one nan": "nan or infinite",
    }
    draws = bl.Draws(ARRAYS[name][..., None])
    assert any(words[name] in problem for problem in draws.problems)
    assert words[name] in str(draws.summary())


@pytest.mark.row(44)
def test_a_chain_that_moves_now_and_then_does_not_stand_still():
    x = np.repeat(np.random.default_rng(3).standard_normal((4, 100, 1)), 10, axis=1)
    assert not any("stood still" in problem for problem in bl.Draws(x).problems)


@pytest.mark.parametrize("x", [np.ones((4, 100)), np.full((4, 100), np.nan), np.zeros((2, 3))])
def test_nothing_to_say_is_nan(x):
    got = ours(x)
    assert all(np.isnan(got[name]) for name in OURS_IS_NAN["constant"])


def test_units_do_not_matter():
    x = np.random.default_rng(6).standard_normal((4, 100)) + np.arange(4.0)[:, None]
    for unit in (2.0**-1000, 2.0**1000):
        found = [mcse(unit * x, kind="sd") / unit, ess(unit * x), rhat(unit * x)]
        assert found == [mcse(x, kind="sd"), ess(x), rhat(x)]
        assert np.array_equal(autocorrelation(unit * x), autocorrelation(x))


def test_effective_sample_size_of_an_autoregression():
    rho, n = 0.9, 200_000
    x = page("diagnostics", "autoregression")(rho, 1, n, np.random.default_rng(20))
    assert ess(x, kind="mean") / n == pytest.approx((1 - rho) / (1 + rho), rel=0.1)
    np.testing.assert_allclose(autocorrelation(x, max_lag=5), rho ** np.arange(6), atol=0.03)


def test_one_value_a_dimension():
    x = np.random.default_rng(4).standard_normal((4, 100, 3))
    assert ess(x).shape == rhat(x).shape == mcse(x).shape == (3,) and hdi(x).shape == (2, 3)
    assert autocorrelation(x, max_lag=9).shape == (10, 3)
    np.testing.assert_allclose(ess(x)[1], ess(x[:, :, 1]))


def test_bfmi_of_independent_energies_is_two_and_of_a_walk_is_small():
    rng = np.random.default_rng(5)
    noise = rng.standard_normal((2, 20_000))
    assert bfmi(noise) == pytest.approx(2.0, abs=0.1)
    assert np.all(bfmi(np.cumsum(noise, axis=1)) < 0.01)


test_bad_input = refused(
    (lambda: ess(np.zeros((4, 10)), kind="median"), "kind must be one of"),
    (lambda: rhat(np.zeros(10)), r"one chain of draws x is x\[None\]"),
    (lambda: autocorrelation(np.zeros((1, 10)), max_lag=10), "max_lag must be at most 9"),
    (lambda: ess(np.array([["a", "b"]])), "real numbers"),
    (lambda: ess(np.zeros((4, 10)), kind="quantile"), "probability must be a number, got None"),
    (lambda: mcse(np.zeros((4, 10)), kind="quantile", probability=1.0), "between 0 and 1"),
    (lambda: mcse(np.zeros((4, 10)), kind="bulk"), "kind must be one of"),
    (lambda: ess(np.zeros((4, 10)), probability=0.5), 'needs kind="quantile"'),
    (lambda: hdi(np.zeros((4, 10)), probability=95), "between 0 and 1, got 95"),
)


def test_draws_that_come_before_chains_are_noticed():
    x = np.random.default_rng(5).standard_normal((1000, 4)).cumsum(axis=0)
    with pytest.warns(bl.BayeslibWarning, match="1000 chains of 4 draws.*swapaxes"):
        assert ess(x) > 1000.0 > 100.0 > ess(x.swapaxes(0, 1))
    with pytest.warns(bl.BayeslibWarning, match="1000 chains of 4 draws"):
        bfmi(x)
    draws = bl.Draws(x[:, :, None])  # these know what they are
    assert ess(draws) > 1000.0 and draws.expect().mcse > 0.0 and draws.problems


@pytest.mark.parametrize("call", [ess, mcse, rhat, hdi, autocorrelation])
def test_weights_are_not_ignored(call):
    draws = bl.Draws(np.random.default_rng(1).standard_normal((1, 50, 1)), log_weights=[[0.0] * 50])
    with pytest.raises(BayeslibError, match="have weights"):
        call(draws)
