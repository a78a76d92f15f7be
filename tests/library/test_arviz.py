"""Draws handed to ArviZ, in whatever version is installed: requirements-slow.txt has one."""

import sys
import warnings
from importlib.util import find_spec

import numpy as np
import pytest

import bayeslib as bl
from bayeslib import BayeslibError, Draws


@pytest.fixture
def arviz(need):
    need(find_spec("arviz"), "ArviZ is not installed: pip install -r requirements-slow.txt")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # it announces its next version, once a day
        import arviz

    return arviz


def draws_of(names, **more):
    rng = np.random.default_rng(1)
    return Draws(rng.standard_normal((4, 50, len(names))), names=names, **more)


def groups_of(converted):
    """The groups as data sets, of a DataTree or of InferenceData."""
    names = getattr(converted, "groups", ())
    names = names() if callable(names) else names
    return {n.strip("/"): converted[n.strip("/")] for n in names if n.strip("/")}


def test_without_arviz_the_remedy_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "arviz", None)
    with pytest.raises(ImportError, match="pip install arviz"):
        draws_of(("a",)).to_arviz()


def test_what_arviz_would_misread_is_refused():
    with pytest.raises(BayeslibError, match=r"these have weights: draw by them first.*resample"):
        draws_of(("a",), log_weights=np.zeros((4, 50))).to_arviz()
    with pytest.raises(BayeslibError, match="there are no draws"):
        Draws(np.zeros((2, 0, 1))).to_arviz()
    with pytest.raises(BayeslibError, match="each row of the data, .*leave out the sum"):
        draws_of(("a",)).to_arviz(log_likelihood=lambda p: -0.5 * p.a**2)


@pytest.mark.slow
def test_a_run_becomes_what_arviz_takes(tmp_path, arviz):
    target = bl.posteriors.eight_schools(centered=False)
    draws = bl.nuts(target, num_samples=300, num_warmup=300, target_accept=0.95, rng=1)
    converted = draws.to_arviz()
    groups = groups_of(converted)
    assert set(groups) == {"posterior", "sample_stats"}
    posterior, stats = groups["posterior"], groups["sample_stats"]
    assert dict(posterior.sizes) == {"chain": 4, "draw": 300, "eta_dim_0": 8}
    np.testing.assert_array_equal(posterior["log_tau"], draws["log_tau"])
    np.testing.assert_array_equal(posterior["eta"][..., 3], draws["eta[3]"])
    np.testing.assert_array_equal(stats["lp"], draws.logdensity)
    known = {"acceptance_rate", "energy", "step_size", "tree_depth", "n_steps", "diverging"}
    assert known | {"reached_max_treedepth", "lp"} == set(stats.data_vars)
    for name, stat in draws.stats.items():
        np.testing.assert_array_equal(stats[name], stat)
    assert posterior.attrs["inference_library"] == "bayeslib"
    assert posterior.attrs["seed"] == "1" and posterior.attrs["method"] == "nuts"
    table = arviz.summary(converted, round_to="none")
    assert list(table.index)[:2] == ["mu", "log_tau"] and len(table) == 10
    ours = [bl.ess(draws)[0], bl.rhat(draws)[0]]  # ArviZ 1.0 looks at other tails
    np.testing.assert_allclose(
        table.loc["mu", ["ess_bulk", "r_hat"]].astype(float), ours, rtol=1e-8
    )
    if find_spec("h5netcdf"):  # which ArviZ brings along before 1.0 only
        converted.to_netcdf(tmp_path / "run.nc")
        assert (tmp_path / "run.nc").stat().st_size > draws.values.nbytes


@pytest.mark.slow
@pytest.mark.parametrize(
    ("names", "variables"),
    [
        (("theta",), {"theta": 2}),
        (("theta[0]", "theta[1]"), {"theta": 3}),
        (("beta[age]", "tau", "beta[sex]"), {"beta": 3, "tau": 2}),
        (("a", "a[0]"), {"a": 2, "a[0]": 2}),
    ],
)
def test_names_become_variables(names, variables, arviz):
    draws = draws_of(names)
    groups = groups_of(draws.to_arviz())
    posterior = groups["posterior"]
    assert set(groups) == {"posterior"}
    assert {name: posterior[name].ndim for name in posterior.data_vars} == variables
    if "tau" in names:
        np.testing.assert_array_equal(posterior["beta"].sel(beta_dim_0="sex"), draws["beta[sex]"])


@pytest.mark.slow
def test_weighted_draws_come_through_their_remedy(arviz):
    draws = draws_of(("a", "b"), log_weights=np.random.default_rng(2).standard_normal((4, 50)))
    converted = bl.resample(draws, num_samples=100, rng=1).to_arviz()
    assert groups_of(converted)["posterior"]["b"].shape == (1, 100)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The inplace keyword")  # of pandas, in ArviZ's compare
def test_leave_one_out_comparison_and_predictive_checks_work(arviz):
    """The model that made the data wins; leaving one out is exact for a normal mean."""
    y = np.random.default_rng(3).normal(1.0, 1.0, size=30)
    draws = bl.nuts(
        bl.Target(lambda p, y: -0.5 * np.sum((y - p.mu) ** 2), parameters={"mu": ()}, data=(y,)),
        rng=1,
    )

    def pointwise(p):
        return -0.5 * (y - p.mu) ** 2 - 0.5 * np.log(2.0 * np.pi)

    def elsewhere(p):
        return -0.5 * (y - p.mu - 1.0) ** 2 - 0.5 * np.log(2.0 * np.pi)

    ahead = draws.predict(lambda p, rng: rng.normal(p.mu, 1.0, size=y.size), rng=2)
    converted = draws.to_arviz(
        log_likelihood=pointwise, posterior_predictive=ahead, observed_data=y,
    )  # fmt: skip
    others, n = (y.sum() - y) / (y.size - 1), y.size
    variance = 1.0 + 1.0 / (n - 1)
    exact = np.sum(-0.5 * (y - others) ** 2 / variance - 0.5 * np.log(2.0 * np.pi * variance))
    assert abs(arviz.loo(converted).elpd_loo - exact) < 0.05
    table = arviz.compare({"right": converted, "wrong": draws.to_arviz(log_likelihood=elsewhere)})
    assert list(table.index) == ["right", "wrong"]
    np.testing.assert_array_equal(converted.posterior_predictive["y"], ahead)


@pytest.mark.slow
def test_axes_have_the_names_and_labels_that_are_given(arviz):
    draws = draws_of([f"a[{i},{j}]" for i in range(2) for j in range(3)] + ["mu"])
    how = {"dims": {"a": ["sex", "school"]}, "coords": {"sex": ["f", "m"], "school": list("ABC")}}
    posterior = groups_of(draws.to_arviz(**how))["posterior"]
    np.testing.assert_array_equal(posterior["a"].sel(sex="m", school="B"), draws["a[1,1]"])
    with pytest.raises(BayeslibError, match="dims names 'alpha', but there are a, mu"):
        draws.to_arviz(dims={"alpha": ["sex", "school"]})
    assert dict(groups_of(draws.to_arviz())["posterior"].sizes) == {
        "chain": 4, "draw": 50, "a_dim_0": 2, "a_dim_1": 3,
    }  # fmt: skip
