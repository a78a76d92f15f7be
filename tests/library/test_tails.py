"""The tail of draws: its shape found, and heavy ones spoken of."""

import re

import numpy as np
import pytest
from calling import quietly
from densities import elliptic, raising

import bayeslib as bl
from bayeslib import Draws, Target, gibbs, interval, lower, metropolis, nuts, positive, slice_sample
from bayeslib.chains.far import tail_index
from bayeslib.diagnostics.tails import tail_shape
from bayeslib.errors import BayeslibWarning


@pytest.mark.parametrize(
    "x",
    [
        np.zeros(100),
        np.arange(100) % 2.0,
        np.repeat([0.0, 1.0], [99, 1]),
        np.arange(5.0),
        np.where(np.arange(1344) % 13, 0.0, 1.0),
        1e300 * np.random.default_rng(1).standard_normal(1000),
        1e-300 * np.random.default_rng(1).standard_normal(1000),
        np.random.default_rng(1).integers(0, 3, (4, 250)).astype(float),
    ],
    ids=["constant", "binary", "one", "few", "rare", "huge", "tiny", "integers"],
)
def test_odd_draws_are_no_trouble(x):
    shape = tail_shape(x)
    assert np.isnan(shape) or shape < 0.7


@pytest.mark.parametrize("n", [1, 2])
def test_a_single_draw_has_a_summary(n):
    target = Target(lambda t: -0.5 * np.sum(t**2), dim=2)
    draws = quietly(nuts, target, num_samples=n, num_chains=1, rng=1)
    assert draws.problems and "nuts" in str(draws.summary()) and draws._repr_html_()


def product(theta, freedom):
    return -0.5 * (freedom + 1.0) * np.sum(np.log1p(theta**2 / freedom))


def inverse_gamma(theta, shape):
    return -(shape + 1.0) * np.log(theta[0]) - 1.0 / theta[0] if theta[0] > 0.0 else -np.inf


@pytest.mark.parametrize("index", [0.7, 1.0, 2.0, 3.5])
@pytest.mark.parametrize(
    ("density", "dim"), [(elliptic, 1), (elliptic, 4), (product, 4), (inverse_gamma, 1)]
)
def test_the_index_of_known_tails(density, dim, index):
    target = Target(density, dim=dim, data=(index,))
    far = np.full((1, 500, dim), 2.0) + np.random.default_rng(1).normal(0.0, 0.1, (1, 500, dim))
    far[0, 0] = 40.0 + np.arange(dim)
    found, num_evals = tail_index(target, far)
    assert found == pytest.approx(index, abs=0.02)
    assert num_evals == 4 * dim


def nearly_gaussian(theta):
    return -0.5 * np.sum(theta**2) if np.max(np.abs(theta)) < 100.0 else -np.inf


@pytest.mark.parametrize(
    ("density", "data"),
    [(lambda theta: -np.sum(np.abs(theta)), ()), (nearly_gaussian, ()), (raising, (100.0,))],
)
def test_tails_that_are_no_power_have_no_index(density, data):
    target = Target(density, dim=2, data=data, gradient=None)
    far = np.random.default_rng(1).standard_normal((2, 500, 2))
    far[0, 0] = 40.0
    found, num_evals = tail_index(target, far)
    assert found > 100.0 and num_evals == 8
    assert tail_index(target, far[:, 1:]) == (np.inf, 0)
    assert tail_index(target, 0.0 * far) == (np.inf, 0)


@pytest.mark.parametrize(
    ("freedom", "words"), [(1.0, "means do not exist"), (2.0, "variances do not exist"), (10.0, "")]
)
def test_moments_that_do_not_exist_are_spoken_of(freedom, words):
    """In every run, and never where they exist."""
    target = Target(product, dim=1, data=(freedom,))
    said = 0
    for seed in range(10):
        draws = slice_sample(target, rng=seed)
        said += any("falls so slowly" in problem and words in problem for problem in draws.problems)
        index = draws.settings["tail_index"]
        assert index == pytest.approx(freedom, abs=0.05) or (index == np.inf and not words)
    assert said == (10 if words else 0)


def test_the_density_knows_better_than_the_draws():
    """Where it has said how its tail falls, a tail of draws that looks heavier is chance."""
    values = np.random.default_rng(4).standard_cauchy((4, 1000, 1))
    for index, told in [(np.inf, True), (3.0, False)]:
        problems = Draws(values, settings={"tail_index": index}).problems
        assert any("so heavy" in problem for problem in problems) == told
    parted = np.random.default_rng(5).normal([9, 9, 9, 10], [0.01, 0.01, 0.01, 0.5], (1000, 4))
    assert "so heavy" not in " ".join(Draws(parted.T[..., None]).problems)  # each chain alone


def test_a_tail_without_an_integral_is_spoken_of():
    wide = Draws(np.zeros((4, 1000, 1)), settings={"tail_index": 0.03})
    assert any("has no integral" in problem for problem in wide.problems)


def test_a_density_that_is_not_that_of_the_draws_is_not_asked():
    starts = np.arange(4.0)[:, None]
    draws = gibbs([lambda theta, rng: rng.standard_t(2.0)], starts, num_samples=2000, rng=1)
    assert np.abs(draws.values).max() > 6.0 * draws.values.std()
    assert "tail_index" not in draws.settings


@pytest.mark.parametrize("sampler", [slice_sample, metropolis, nuts])
@pytest.mark.parametrize(
    ("density", "constraint", "where"),
    [
        (lambda p: -np.log(p.tau) - p.tau, positive(), "tau ran to .*e-"),
        (lambda p: -np.log1p(p.tau), positive(), r"tau ran to .*e\+"),
        (lambda p: -np.log1p(-p.tau), interval(0.0, 1.0), "tau ran to 1:"),
        (lambda p: -np.log1p(p.tau**2), positive(), None),
        (lambda p: -1.2 * np.log(p.tau) - 1.0 / p.tau, positive(), None),
        (lambda p: -np.log1p((p.tau - 5.0) ** 2), lower(5.0), None),
        (lambda p: -0.7 * np.log1p(-p.tau), interval(0.0, 1.0), None),
        (lambda p: 0.0 * p.tau, interval(0.0, 1e-300), None),
    ],
)
def test_a_bounded_parameter_that_runs_for_ever_is_spoken_of(sampler, density, constraint, where):
    """Of a prior that is missing, that is, never of one with heavy tails."""
    target = Target(density, parameters={"tau": constraint})
    for seed in range(3):
        problems = " ".join(quietly(sampler, target, rng=seed).problems)
        assert re.search(where or "^(?!.*ran to)", problems)


@pytest.mark.parametrize(
    ("density", "constraint", "data"),
    [
        (lambda p, a: bl.logpdf.gamma(p.tau, a, a), positive(), 0.01),
        (lambda p, a: bl.logpdf.beta(p.tau, a, a), interval(0.0, 1.0), 0.05),
    ],
)
def test_a_proper_prior_that_crowds_a_bound_is_not_accused(density, constraint, data):
    target = Target(density, parameters={"tau": constraint}, data=(data,))
    for seed in range(2):
        said = quietly(slice_sample, target, rng=seed).settings.get("runaway", "so steep there")
        assert "so steep there" in said


def difference(p):
    return -0.5 * (p.b[0] + p.b[1]) ** 2 / 0.01**2


@pytest.mark.parametrize(
    ("density", "said"),
    [
        (lambda p: -0.5 * p.b[0] ** 2, r"is flat in the direction [+-]1 b\[1\] as far"),
        (difference, r"is flat in the direction ([+]1 b\[0\] -1|-1 b\[0\] [+]1) b\[1\] as far"),
        (lambda p: 0.5 * np.sum(p.b**2), "rises in the direction"),
        (lambda p: difference(p) - 0.5 * np.sum(p.b**2) / 1e6**2, None),
    ],
)
def test_a_direction_without_end_is_all_that_is_spoken_of(density, said):
    draws = quietly(nuts, Target(density, parameters={"b": 2}), num_samples=200, rng=1)
    assert draws.problems and all(said is None or re.search(said, p) for p in draws.problems)
    assert ("runaway" in draws.settings) == bool(said)


@pytest.mark.parametrize("sampler", [slice_sample, metropolis])
@pytest.mark.parametrize(
    ("slant", "width", "said"), [(1.0, np.inf, "1 b"), (2.0, np.inf, "0.5 b"), (1.0, 1e3, None)]
)
def test_without_gradients_a_slanted_direction_is_found_in_the_draws(sampler, slant, width, said):
    def density(p, slant, width):
        known = -0.5 * (slant * p.b[0] + p.b[1]) ** 2 - 0.5 * (p.c - 9.0) ** 2
        return known - 0.5 * np.sum((p.b / width) ** 2)

    target = Target(density, parameters={"b": 2, "c": ()}, data=(slant, width))
    found = [quietly(sampler, target, rng=seed).settings.get("endless") for seed in range(3)]
    assert all((said in (one or "")) if said else one is None for one in found)


def test_draws_far_out_that_agree_are_no_alarm():
    far = Target(lambda theta: -0.5 * (theta[0] / 1e11 - 50.0) ** 2, dim=1, gradient=None)
    starts = np.linspace(4.9e12, 5.1e12, 4)[:, None]
    assert not slice_sample(far, starts, rng=1).problems
    with pytest.warns(BayeslibWarning, match="reach beyond"):
        slice_sample(far, starts, num_samples=100, rng=1)  # too few to agree


@pytest.mark.parametrize("sampler", [slice_sample, metropolis])
@pytest.mark.parametrize(("power", "times"), [(-1.0, 3), (-0.9, 0)])
def test_a_walk_on_the_parameter_itself_runs_no_less(sampler, power, times):
    def density(theta, power):
        return power * np.log(theta[0]) - theta[0] if theta[0] > 0.0 else -np.inf

    target = Target(density, dim=1, support=(0.0, None), names="tau", data=(power,))
    runs = [quietly(sampler, target, rng=seed) for seed in range(3)]
    assert sum("tau ran to" in " ".join(run.problems) for run in runs) == times
