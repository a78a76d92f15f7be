"""Metropolis-Hastings: its correction, its generator, and proposals that are not as they should."""

import math

import numpy as np
import pytest
from bad_inputs import refused
from densities import gaussian2
from stepping import Z_LIMIT, batch_z

import bayeslib as bl


def gamma(theta):
    """Gamma(3, 1)."""
    return 2.0 * math.log(theta[0]) - theta[0] if theta[0] > 0.0 else -math.inf


def stretch(theta, rng):
    return theta * np.exp(rng.standard_normal(1))


def stretch_ratio(proposed, current):
    return math.log(proposed[0]) - math.log(current[0])


GAMMA = bl.Target(gamma, dim=1, gradient=None, support=(0.0, None))
POSITIVE = np.array([[1.0], [2.0], [3.0], [5.0]])
QUICK = {"num_samples": 50, "num_warmup": 10, "rng": 1}
LONG = {"start": POSITIVE[:1], "num_chains": 1, "num_samples": 2000, "num_warmup": 0}


@pytest.mark.parametrize(("log_ratio", "shape"), [(stretch_ratio, 3.0), (None, 2.0)])
def test_a_lognormal_walk_without_its_correction_draws_from_another_gamma(log_ratio, shape):
    """Gamma(3, 1) becomes Gamma(2, 1): mean and variance are the shape."""
    draws = bl.metropolis_hastings(
        GAMMA, POSITIVE, propose=stretch, log_ratio=log_ratio, num_samples=50_000, rng=114
    )
    x = draws.values[:, :, 0]
    assert abs(batch_z(x, shape, right=True)) < Z_LIMIT
    assert abs(batch_z((x - shape) ** 2, shape, right=True)) < Z_LIMIT
    assert abs(batch_z(x, 5.0 - shape, right=False)) > Z_LIMIT


def test_a_symmetric_gaussian_step_is_the_random_walk():
    def step(theta, rng):
        return theta + 0.7 * rng.standard_normal(2)

    start = np.array([0.5, -1.0])
    options = {"num_samples": 200, "num_chains": 1, "rng": 8}
    walk = bl.metropolis(gaussian2(), start, scale=0.7, **options)
    draws = bl.metropolis_hastings(gaussian2(), start, propose=step, log_ratio=None, **options)
    np.testing.assert_array_equal(draws.values, walk.values)


def test_what_does_not_compile_draws_the_same_in_plain_python():
    def stretch_by_name(theta, rng):
        return getattr(theta, "__mul__")(math.exp(rng.standard_normal()))  # noqa: B009

    options = {"log_ratio": stretch_ratio, "num_samples": 300, "rng": 9}
    fast = bl.metropolis_hastings(GAMMA, POSITIVE, propose=stretch, **options)
    with pytest.warns(
        bl.BayeslibWarning, match="plain Python, which is slow: 'stretch_by_name' does"
    ):
        slow = bl.metropolis_hastings(GAMMA, POSITIVE, propose=stretch_by_name, **options)
    assert fast.settings["compiled"] and not slow.settings["compiled"]
    np.testing.assert_allclose(slow.values, fast.values, rtol=1e-12)


def test_a_number_will_do_in_one_dimension():
    def number(theta, rng):
        return theta[0] * math.exp(rng.standard_normal())

    options = {"log_ratio": stretch_ratio, "num_samples": 100, "rng": 9}
    draws = bl.metropolis_hastings(GAMMA, POSITIVE, propose=number, **options)
    assert draws.settings["compiled"]
    other = bl.metropolis_hastings(GAMMA, POSITIVE, propose=stretch, **options)
    np.testing.assert_allclose(draws.values, other.values, rtol=1e-12)


def test_of_proposals_where_the_density_is_zero_the_correction_is_not_asked():
    def step(theta, rng):
        return theta + 2.0 * rng.standard_normal(1)

    def ratio(proposed, current):  # undefined below zero, where a step may well lead
        return math.log(proposed[0]) - math.log(current[0]) - math.log(proposed[0] / current[0])

    draws = bl.metropolis_hastings(
        GAMMA, POSITIVE, propose=step, log_ratio=ratio, num_samples=20_000, rng=10
    )
    assert abs(batch_z(draws.values[:, :, 0], 3.0, right=True)) < Z_LIMIT


# What is refused


def run(propose=stretch, log_ratio=stretch_ratio, start=POSITIVE, **options):
    options = {"propose": propose, "log_ratio": log_ratio} | QUICK | options
    return bl.metropolis_hastings(GAMMA, start, **options)


OWN = np.random.default_rng(1)


def overwrites(theta, rng):
    theta[0] *= math.exp(rng.standard_normal())
    return theta


test_functions_that_cannot_be_taken = refused(
    ({"propose": lambda theta: theta}, bl.BayeslibTypeError, r"propose must take \(theta, rng\)"),
    (
        {"propose": lambda theta, rng, a: theta, "args": (1.0,)},
        bl.BayeslibTypeError,
        r"log_ratio must take \(proposed, current, args\[0\]\)",
    ),
    ({"propose": None}, bl.BayeslibTypeError, "propose must be a function"),
    ({"args": 1.0}, bl.BayeslibTypeError, r"args must be a tuple .* write args=\(array,\)"),
    (
        {"propose": lambda theta, rng: rng.standard_normal(2)},
        bl.BayeslibTypeError,
        r"array of 1 numbers, got shape \(2,\)",
    ),
    (
        {"log_ratio": lambda proposed, current: np.log(proposed / current)},
        "must return a number, got",
    ),
    (
        {"propose": lambda theta, rng: theta + OWN.standard_normal(1), "log_ratio": None},
        "must draw from the rng it is given",
    ),
    (
        {"log_ratio": lambda there, here: -0.5 * (math.log(there[0] / here[0]) ** 2)},
        "must change its sign only",
    ),
    ({"propose": overwrites}, ValueError, "read-only"),
    by=run,
)


def test_a_correction_is_asked_for():
    with pytest.raises(TypeError, match="log_ratio"):
        bl.metropolis_hastings(GAMMA, POSITIVE, propose=stretch, rng=1)


def far_is_nan(proposed, current):
    nan = math.nan if proposed[0] > 4.0 else 0.0
    return math.log(proposed[0]) - math.log(current[0]) + nan


def test_a_ratio_that_is_nan_ends_the_run_and_keeps_the_draws():
    with pytest.raises(bl.BayeslibError, match="log_ratio is nan for proposed=") as caught:
        run(log_ratio=far_is_nan, **LONG)
    assert caught.value.partial.num_samples < 2000
    assert "chain 0, iteration" in caught.value.__notes__[-1]


def far_raises(theta, rng):
    if theta[0] > 4.0:
        raise OverflowError("too far")
    return theta * np.exp(rng.standard_normal(1))


def far_raises_in_python(theta, rng):
    getattr(theta, "size")  # noqa: B009
    return far_raises(theta, rng)


@pytest.mark.filterwarnings("ignore:your functions run as plain")
@pytest.mark.parametrize("propose", [far_raises, far_raises_in_python])
def test_a_proposal_that_raises_is_shown_with_its_place(propose):
    with pytest.raises(OverflowError, match="too far") as caught:
        run(propose, **LONG)
    assert any("raised by propose (far_raises" in note for note in caught.value.__notes__)
    assert 0 < caught.value.partial.num_samples < 2000
