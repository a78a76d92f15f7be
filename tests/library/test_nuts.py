"""The No-U-Turn Sampler: a plain twin, its trees, what it learns, and what it says of its draws."""

import numpy as np
import pytest
from calling import quietly
from densities import COV, EXACT, METRICS, cut_off, gaussian2, gaussian20
from linear_chains import as_matrix
from stepping import Z_LIMIT, batch_z
from twins import plain_twin

from bayeslib import Target, ess, hmc, leapfrog, nuts, posteriors
from bayeslib.errors import BayeslibError, BayeslibWarning, TargetError


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(("name", "step_size"), [("gaussian2", 0.35), ("funnel", 0.9)])
def test_matches_the_page_in_other_coordinates(name, step_size, metric):
    """With the metric root @ root.T it is that of the page where theta is root @ u."""
    target = gaussian2() if name == "gaussian2" else EXACT["funnel"][0]
    start, root = np.array([0.5, -1.0]), np.linalg.cholesky(as_matrix(METRICS[metric], 2))
    draws = quietly(
        nuts, target, start, step_size=step_size, num_samples=300, num_warmup=20, num_chains=1,
        rng=8, inverse_mass_matrix=METRICS[metric],
    )  # fmt: skip

    class Turned:
        def __call__(self, u):
            return target(root @ u)

        def gradient(self, u):
            return root.T @ target.gradient(root @ u)

    path = plain_twin("nuts", "nuts")(
        Turned(), np.linalg.solve(root, start), step_size=step_size, num_samples=320, rng=8
    )
    np.testing.assert_allclose(draws.values[0], path[20:] @ root.T, rtol=1e-9, atol=1e-11)
    assert len(set(draws.stats["tree_depth"][0])) > 2
    assert draws.stats["diverging"].any() == (name == "funnel")


def test_rates_and_energies_are_those_of_the_steps():
    """Of trees of one step, with paths of `leapfrog`."""
    target, how = gaussian2(), {"step_size": 0.8, "inverse_mass_matrix": METRICS["dense"]}
    run = {"max_tree_depth": 1, "num_samples": 100, "num_warmup": 0, "num_chains": 1}
    draws = nuts(target, [0.5, -1.0], rng=8, **how, **run)
    rng, theta, expected = np.random.default_rng(8), np.array([0.5, -1.0]), []
    root = np.linalg.cholesky(METRICS["dense"])
    for _ in range(100):
        momentum = np.linalg.solve(root.T, rng.standard_normal(2))
        way = 1.0 if rng.random() < 0.5 else -1.0
        path = leapfrog(target, theta, way * momentum, num_steps=1, **how)
        rate = np.exp(path.energy[0] - path.energy[1])
        moved = int(rng.random() < rate)
        theta = path.positions[moved]
        expected.append((*theta, min(rate, 1.0), path.energy[moved]))
    found = (draws.values[0], draws.stats["acceptance_rate"][0], draws.stats["energy"][0])
    np.testing.assert_allclose(np.column_stack(found), expected, rtol=1e-9)


def test_a_unit_metric_is_kept_and_a_step_is_learned_for_it():
    unit = nuts(gaussian2(), metric="unit", num_samples=20, num_warmup=300, rng=1)
    np.testing.assert_array_equal(unit.settings["inverse_mass_matrix"], np.ones((4, 2)))
    assert len(set(unit.settings["step_size"])) == 4


@pytest.mark.parametrize("max_tree_depth", [1, 3, 6])
def test_the_tree_is_no_deeper_than_allowed(max_tree_depth):
    draws = nuts(
        gaussian2(), step_size=0.02, max_tree_depth=max_tree_depth, num_samples=100, num_warmup=0,
        rng=3,
    )  # fmt: skip
    depth, steps = draws.stats["tree_depth"], draws.stats["n_steps"]
    full = draws.stats["reached_max_treedepth"]
    assert depth.max() == max_tree_depth and steps.max() == 2**max_tree_depth - 1
    assert np.all(steps[full] == 2**max_tree_depth - 1)
    assert full.mean() > 0.7
    assert any("max_tree_depth" in problem for problem in draws.problems)
    deep = nuts(gaussian2(), step_size=0.02, num_samples=100, num_warmup=0, rng=3)
    assert not deep.stats["reached_max_treedepth"].any()
    assert not any("max_tree_depth" in problem for problem in deep.problems)


def test_every_evaluation_is_counted_in_warm_up_too():
    """With a given step the warm-up is an ordinary run: its steps count, and nothing else does."""
    options = {"step_size": 0.3, "num_chains": 1, "rng": 4}
    plain = nuts(gaussian2(), [0.1, 0.2], num_warmup=0, num_samples=500, **options)
    split = nuts(gaussian2(), [0.1, 0.2], num_warmup=300, num_samples=200, **options)
    np.testing.assert_array_equal(split.values[0], plain.values[0, 300:])
    assert split.num_evals == plain.num_evals
    fixed = hmc(gaussian2(), [0.1, 0.2], num_steps=1, num_warmup=0, num_samples=7, **options)
    at_the_start = fixed.num_evals - 7
    assert plain.num_evals == at_the_start + plain.stats["n_steps"].sum()


@pytest.mark.row(42)
@pytest.mark.trust("M8")
@pytest.mark.parametrize(
    ("target", "options"),
    [
        (posteriors.eight_schools(centered=True), {}),
        (posteriors.funnel(10), {"target_accept": 0.6, "num_samples": 3000}),
    ],
    ids=["centred schools", "funnel"],
)
def test_divergences_are_flagged_kept_and_named(target, options):
    with pytest.warns(BayeslibWarning, match="transitions diverged") as caught:
        draws = nuts(target, rng=315, **options)
    (said,) = [str(w.message) for w in caught if "diverged" in str(w.message)]
    where, counts = draws.settings["divergences"], draws.stats["diverging"].sum(axis=1)
    assert f"by chain: {', '.join(map(str, counts))}" in said
    assert len(where) == counts.sum() > 0
    assert np.isfinite(target.many(where)).all()
    assert any("diverged" in problem and "reparameterise" in problem for problem in draws.problems)
    assert np.all(draws.stats["n_steps"][draws.stats["diverging"]] > 0)
    # They mark where the funnel is too narrow for the step.
    scale = 1 if "log_tau" in target.names else 0
    assert np.median(where[:, scale]) < np.median(draws.flat[:, scale])


@pytest.mark.row(41)
def test_a_border_counts_as_a_divergence():
    with pytest.warns(BayeslibWarning, match="transitions diverged"):
        draws = nuts(EXACT["truncated"][0], 0.5 * np.ones(1), rng=316, num_chains=1)
    assert (draws.values > -0.5).all()
    assert (draws.settings["divergences"] > -0.5).all()
    assert draws.stats["diverging"].mean() > 0.1


def test_many_divergences_are_kept_up_to_a_thousand_a_chain():
    options = {"step_size": 3.0, "num_warmup": 0, "rng": 317, "num_chains": 2}
    with pytest.warns(BayeslibWarning, match="transitions diverged"):
        draws = nuts(EXACT["truncated"][0], np.array([[0.1], [0.2]]), num_samples=5000, **options)
    assert draws.stats["diverging"].sum(axis=1).min() > 1000
    assert draws.settings["divergences"].shape == (2000, 1)


def test_a_gentle_run_neither_diverges_nor_warns():
    draws = nuts(gaussian2(), rng=5)
    assert draws.problems == ()
    assert set(draws.stats) == {
        "acceptance_rate", "diverging", "energy", "n_steps", "reached_max_treedepth", "step_size",
        "tree_depth",
    }  # fmt: skip
    # H is the sum of two independent chi-square halves: dim / 2 + dim / 2.
    assert abs(batch_z(draws.stats["energy"], 2.0, right=True)) < Z_LIMIT


@pytest.mark.parametrize("metric", ["x", None, [1.0, 2.0]])
def test_a_metric_of_no_kind_is_refused(metric):
    with pytest.raises(BayeslibError, match='metric must be one of "unit", "diag", "dense"'):
        nuts(gaussian2(), rng=1, metric=metric)


# What is learned in the warm-up: step size and metric, and what that costs


def test_the_dense_metric_is_the_covariance_of_the_draws():
    draws = nuts(gaussian2(), num_warmup=4000, num_samples=10, rng=313, metric="dense")
    learned = draws.settings["inverse_mass_matrix"]
    assert learned.shape == (4, 2, 2)
    np.testing.assert_allclose(learned, np.broadcast_to(COV, (4, 2, 2)), atol=0.3)
    assert np.abs(learned[:, 0, 1]).min() > 0.5


@pytest.mark.parametrize("target_accept", [0.6, 0.8, 0.95])
def test_the_step_reaches_the_acceptance_asked_for(target_accept):
    draws = nuts(gaussian20(), target_accept=target_accept, rng=314)
    assert abs(draws.stats["acceptance_rate"].mean() - target_accept) < 0.06
    assert len(set(draws.settings["step_size"])) == 4


@pytest.mark.filterwarnings("ignore:.*diverged")  # five iterations find no step size
@pytest.mark.parametrize("num_warmup", [1, 2, 5, 20, 49, 50, 100, 149, 150])
def test_a_warm_up_may_be_short(num_warmup):
    for metric in ("diag", "dense"):
        draws = nuts(gaussian2(), num_warmup=num_warmup, num_samples=5, metric=metric, rng=2)
        assert np.isfinite(draws.values).all()


@pytest.mark.filterwarnings("ignore:.*diverged")
def test_the_adapted_step_is_stable_in_the_tails():
    """At a mean acceptance rate of 0.8 some transitions diverge in nearly every run."""
    runs = [nuts(posteriors.eight_schools(centered=False), rng=seed) for seed in range(12)]
    assert sum(run.stats["diverging"].sum() for run in runs) < 8
    assert sum(run.stats["diverging"].any() for run in runs) < 6
    assert min(ess(run).min() for run in runs) > 1000


def test_the_warm_up_is_cheaper_than_the_draws():
    draws = nuts(gaussian20(), rng=318)
    kept = draws.stats["n_steps"].sum()
    assert 0.4 < (draws.num_evals - kept) / kept < 0.85


def test_a_density_of_plus_infinity_is_not_a_step_to_take():
    """The search for a first step must not take +inf for a flat direction and grow."""

    with pytest.raises(TargetError, match=r"log density is \+inf at theta"):
        nuts(Target(cut_off, dim=1, data=(1.5, np.inf)), rng=1)
