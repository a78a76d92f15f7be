"""Full conditionals tested against a target: what `gibbs` refuses, and what it lets through."""

from functools import partial

import numpy as np
import pytest
from test_gibbs import DATA, STARTS, draw_mean, draw_precision, normal_target

import bayeslib as bl
from bayeslib import posteriors
from bayeslib.markov.gibbs import arrange, as_conditionals
from bayeslib.markov.slice_ranks import check_conditionals


def checks(functions, data, target, starts, seeds):
    """Check conditionals against a target from these starts, with each seed."""
    conditionals = as_conditionals(functions, data)
    arrange(conditionals, None, starts[0], np.random.default_rng(1))
    for seed in seeds:
        rng = np.random.default_rng(seed)
        yield partial(check_conditionals, conditionals, target, starts, rng)


def rate_for_scale(theta, rng, y, sd, shape, rate):
    total = rate + 0.5 * np.sum((y - theta[0]) ** 2)
    return rng.gamma(shape + 0.5 * y.size, total)


def variance_for_sd(theta, rng, y, sd, shape, rate):
    precision = 1.0 / sd**2 + y.size * theta[1]
    return theta[1] * np.sum(y) / precision + rng.standard_normal() / precision


def no_half(theta, rng, y, sd, shape, rate):
    total = rate + 0.5 * np.sum((y - theta[0]) ** 2)
    return rng.gamma(shape + y.size, 1.0 / total)


def negative(theta, rng, y, sd, shape, rate):
    return -draw_precision(theta, rng, y, sd, shape, rate)


@pytest.mark.parametrize(
    ("conditionals", "words"),
    [
        ((draw_mean, rate_for_scale), r"conditionals\[1\] \(rate_for_scale\).*1 / rate"),
        ((variance_for_sd, draw_precision), r"conditionals\[0\].*too close together"),
        ((draw_mean, no_half), r"conditionals\[1\].*too large"),
        ((draw_precision, draw_mean), "conditionals"),
        ((draw_mean, negative), r"conditionals\[1\].*-inf"),
    ],
)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_wrong_conditional_is_named_when_there_is_a_target(conditionals, words, seed):
    with pytest.raises(bl.BayeslibError, match=words):
        bl.gibbs(conditionals, STARTS, data=DATA, target=normal_target(), rng=seed)


def scaled_x(theta, rng, rho, factor):
    return rho * theta[1] + factor * np.sqrt(1.0 - rho * rho) * rng.standard_normal()


def scaled_y(theta, rng, rho, factor):
    return rho * theta[0] + np.sqrt(1.0 - rho * rho) * rng.standard_normal()


@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_a_scale_wrong_by_a_factor_of_two_is_found(factor):
    target = posteriors.gaussian([0.0, 0.0], [[1.0, 0.6], [0.6, 1.0]])
    for check in checks((scaled_x, scaled_y), (0.6, factor), target, STARTS, range(20)):
        with pytest.raises(bl.BayeslibError, match="scaled_x"):
            check()


def jacobi(theta, rng, rho):
    s = np.sqrt(1.0 - rho * rho)
    return np.array([
        rho * theta[1] + s * rng.standard_normal(), rho * theta[0] + s * rng.standard_normal()
    ])  # fmt: skip


def jointly(theta, rng, rho):
    x = rng.standard_normal()
    return np.array([x, rho * x + np.sqrt(1.0 - rho * rho) * rng.standard_normal()])


def test_a_block_drawn_from_old_values_is_named():
    target = posteriors.gaussian([0.0, 0.0], [[1.0, 0.9], [0.9, 1.0]])
    options = {"data": (0.9,), "target": target, "rng": 1}
    with pytest.raises(bl.BayeslibError, match=r"conditionals\[0\] \(jacobi\)"):
        bl.gibbs([jacobi], STARTS, **options)
    assert bl.gibbs([jointly], STARTS, **options).settings["checked"]


def spins(theta, field):
    value = 0.8 * theta[0] * theta[1] + field * theta[0]
    return value if abs(theta[0]) == 1.0 and abs(theta[1]) == 1.0 else 5.0


def spin_0(theta, rng, field):
    return 1.0 if rng.random() < 1.0 / (1.0 + np.exp(-1.6 * theta[1] - 2.0 * field)) else -1.0


def spin_1(theta, rng, field):
    return 1.0 if rng.random() < 1.0 / (1.0 + np.exp(-1.6 * theta[0])) else -1.0


def upside_down(theta, rng, field):
    return 1.0 if rng.random() < 1.0 / (1.0 + np.exp(1.6 * theta[0])) else -1.0


def test_whole_numbers_are_compared_with_their_probabilities():
    """The density between spins means nothing, and is not asked for."""
    target = bl.Target(spins, dim=2, data=(0.3,), gradient=None)
    starts = np.array([[1.0, 1.0], [-1.0, 1.0], [1.0, -1.0], [-1.0, -1.0]])
    options = {"data": (0.3,), "target": target, "num_samples": 500}
    for seed in range(5):
        bl.gibbs([spin_0, spin_1], starts, rng=seed, **options)
    with pytest.raises(bl.BayeslibError, match="upside_down"):
        bl.gibbs([spin_0, upside_down], starts, rng=1, **options)


def hard(theta):
    """A Cauchy variable, a gamma one of shape 0.1, and a uniform one."""
    if not (theta[1] > 0.0 and 0.0 < theta[2] < 1.0):
        return -np.inf
    return -np.log1p(theta[0] ** 2) - 0.9 * np.log(theta[1]) - theta[1]


HARD = (
    lambda theta, rng: np.tan(np.pi * (rng.random() - 0.5)),
    lambda theta, rng: max(rng.gamma(0.1, 1.0), 1e-300),
    lambda theta, rng: rng.random(),
)


def test_a_right_conditional_passes_on_hard_targets():
    """120 tests at 1e-9: no false alarm is to be seen; heavy tails and poles do not matter."""
    target = bl.Target(hard, dim=3, gradient=None)
    starts = np.array([[0.0, 1.0, 0.5], [1.0, 2.0, 0.2]])
    for check in checks(HARD, (), target, starts, range(40)):
        check()
