"""The No-U-Turn Sampler: a plain twin, adaptation, recovery, and what it says of its draws."""

import numpy as np
import pytest
from calling import quietly
from densities import COV, EXACT, METRICS, correlated, gaussian2, gaussian20
from linear_chains import as_matrix
from stepping import Z_LIMIT, batch_z

from bayeslib import Target, ess, hmc, nuts, posteriors, rhat
from bayeslib.errors import BayeslibError, BayeslibWarning, GradientError


class PlainNuts:
    """The same algorithm by recursion, in the original momenta, without any running sums."""

    def __init__(self, target, step_size, metric, max_depth, rng):
        self.target, self.step_size, self.metric = target, step_size, metric
        self.max_depth, self.rng = max_depth, rng
        self.root = np.linalg.cholesky(metric)

    def energy(self, q, p):
        return 0.5 * p @ self.metric @ p - self.target(q)

    def turned(self, momenta):
        velocity = self.metric @ np.sum(momenta, axis=0)
        return momenta[0] @ velocity <= 0 or momenta[-1] @ velocity <= 0

    def turned_anywhere(self, left, right):
        tries = left + right, left + right[:1], left[-1:] + right
        return any(self.turned(momenta) for momenta in tries)

    def subtree(self, depth, end, sign, half):
        """Extend `end` by 2**depth states; return their momenta, or None to stop."""
        if depth > 0:
            left = self.subtree(depth - 1, end, sign, half)
            right = left and self.subtree(depth - 1, end, sign, half)
            return left + right if right and not self.turned_anywhere(left, right) else None
        source, step = end[0], sign * self.step_size
        p = end[1] + 0.5 * step * self.target.gradient(end[0])
        q = end[0] + step * self.metric @ p
        end[:] = q, p + 0.5 * step * self.target.gradient(q)
        energy = self.energy(*end)
        half["errors"].append(energy - self.initial)
        if not energy - self.initial <= 1000.0:
            half["diverged"] = source
            return None
        half["weight"] = np.logaddexp(half["weight"], self.initial - energy)
        kept = len(half["errors"]) > 1
        if not (kept and np.log(self.rng.random()) >= self.initial - energy - half["weight"]):
            half["proposal"] = q, energy
        return [end[1]]

    def transition(self, q):
        p = np.linalg.solve(self.root.T, self.rng.standard_normal(q.size))
        energy = self.initial = self.energy(q, p)
        ends, momenta, weight, errors = {1: [q, p], -1: [q, p]}, [p], 0.0, []
        depth, diverged, full = 0, None, False
        while not full:
            sign = 1 if self.rng.random() < 0.5 else -1
            half = {"errors": [], "weight": -np.inf, "diverged": None}
            new = self.subtree(depth, ends[sign], sign, half)
            errors, diverged = errors + half["errors"], half["diverged"]
            if new is None:
                break
            depth += 1
            if np.log(self.rng.random()) < half["weight"] - weight:
                q, energy = half["proposal"]
            weight = np.logaddexp(weight, half["weight"])
            old = momenta if sign == 1 else momenta[::-1]
            momenta = (old + new)[::sign]
            if self.turned_anywhere(old, new):
                break
            full = depth == self.max_depth
        with np.errstate(over="ignore"):
            rate = np.minimum(1.0, np.exp(-np.nan_to_num(errors, nan=np.inf))).mean()
        return q, (rate, energy, depth, len(errors), full), diverged


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("name", ["gaussian2", "funnel"])
def test_matches_the_plain_algorithm_draw_by_draw(name, metric):
    target = gaussian2() if name == "gaussian2" else EXACT["funnel"][0]
    start = np.array([0.5, -1.0])
    step_size, max_depth = (0.35, 3) if name == "gaussian2" else (0.9, 5)
    draws = quietly(
        nuts, target, start, step_size=step_size, num_samples=300, num_warmup=20, num_chains=1,
        rng=8, inverse_mass_matrix=METRICS[metric], max_tree_depth=max_depth,
    )  # fmt: skip
    matrix = as_matrix(METRICS[metric], 2)
    plain = PlainNuts(target, step_size, matrix, max_depth, np.random.default_rng(8))
    values, stats, sources, flags, q = [], [], [], [], start
    for _ in range(320):
        q, numbers, source = plain.transition(q)
        values.append(q)
        stats.append(numbers)
        flags.append(source is not None)
        if source is not None and len(values) > 20:
            sources.append(source)
    close = {"rtol": 1e-10, "atol": 1e-12}
    np.testing.assert_allclose(draws.values[0], values[20:], **close)
    names = ("acceptance_rate", "energy", "tree_depth", "n_steps", "reached_max_treedepth")
    for stat, column in zip(names, np.array(stats)[20:].T, strict=True):
        np.testing.assert_allclose(draws.stats[stat][0], column, rtol=1e-8, err_msg=stat)
    np.testing.assert_array_equal(draws.stats["diverging"][0], flags[20:])
    np.testing.assert_allclose(draws.settings["divergences"], np.reshape(sources, (-1, 2)), **close)
    assert len(set(draws.stats["tree_depth"][0])) > 2
    assert draws.stats["reached_max_treedepth"].any() == (name == "gaussian2")
    assert draws.stats["diverging"].any() == (name == "funnel")


RECOVERED = {
    "gaussian2": (lambda: posteriors.gaussian([1.0, -2.0], COV), {}),
    "gaussian20": (gaussian20, {}),
    "gaussian20-dense": (gaussian20, {"metric": "dense"}),
    "schools": (posteriors.eight_schools, {"target_accept": 0.95}),
    "banana": (posteriors.banana, {"target_accept": 0.95}),
}


@pytest.mark.filterwarnings("ignore:.*diverged")
@pytest.mark.parametrize("name", RECOVERED)
def test_recovers_the_truth(name):
    make, options = RECOVERED[name]
    target = make()
    draws = nuts(target, num_samples=10_000, rng=310, **options)
    assert ess(draws).min() > 1000
    away, variances = draws.values - target.truth.mean, np.diag(target.truth.cov)
    assert np.abs(batch_z(away, 0.0, right=True)).max() < Z_LIMIT
    assert np.abs(batch_z(away**2, variances, right=True)).max() < Z_LIMIT
    assert abs(batch_z(away[:, :, 0] ** 2, 1.2 * variances[0], right=False)) > Z_LIMIT
    assert rhat(draws).max() < 1.01


def test_what_is_given_is_kept():
    options = {"num_samples": 20, "num_warmup": 300, "rng": 1}
    kept = nuts(gaussian2(), inverse_mass_matrix=[2.0, 3.0], metric="dense", **options)
    np.testing.assert_array_equal(kept.settings["inverse_mass_matrix"], [[2.0, 3.0]] * 4)
    assert len(set(kept.settings["step_size"])) == 4
    fixed = nuts(gaussian2(), step_size=0.3, **options)
    np.testing.assert_array_equal(fixed.settings["inverse_mass_matrix"], np.ones((4, 2)))
    np.testing.assert_array_equal(fixed.stats["step_size"], np.full((4, 20), 0.3))
    unit = nuts(gaussian2(), metric="unit", **options)
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


def test_a_value_without_a_gradient_is_refused():
    with pytest.raises(GradientError, match="no gradient"):
        nuts(Target(correlated, dim=2, data=(np.eye(2),), gradient=None), rng=1)
