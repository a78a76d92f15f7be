"""Bad starts, counts, seeds and tuning; what must happen on the way."""

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from bad_inputs import SAMPLERS, refused, run
from densities import gaussian2

import bayeslib as bl
from bayeslib import Target, leapfrog, metropolis
from bayeslib.chains.starts import scatter

pytestmark = pytest.mark.trust("S15")

# Starts: rows 15 to 23


@pytest.mark.row(15, 16, 18, 19)
@pytest.mark.parametrize(
    "start",
    [
        [0.0, 1.0],
        (0, 1),
        np.array([0, 1]),
        np.array([0.0, 1.0], dtype=np.float32),
        np.array([0.0, 9.0, 1.0, 9.0])[::2],
        np.array([[0.0, 1.0]]),
    ],
    ids=["list", "tuple", "int", "float32", "strided", "a row"],
)
@pytest.mark.parametrize("sampler", ["metropolis", "hmc", "nuts"])
def test_starts_of_any_real_type_give_the_same_draws(start, sampler):
    expected = run(start=np.array([0.0, 1.0]), sampler=sampler)
    np.testing.assert_array_equal(run(start=start, sampler=sampler).values, expected.values)


BAD_STARTS = [
    (0.5, bl.BayeslibError, r"initial_position must have shape \(2,\)"),
    ([[0.0, 1.0]] * 3, bl.BayeslibError, r"\(1, 2\) for one start a chain, got \(3, 2\)"),
    (["a", "b"], TypeError, "initial_position must hold real numbers"),
    ([1j, 0], TypeError, "initial_position must hold real numbers"),
    ([None, 0], TypeError, "initial_position must hold real numbers"),
    ([[0.0], [0.0, 1.0]], TypeError, "initial_position .*give its rows one length"),
    ([0.0, math.nan], bl.BayeslibError, r"initial_position\[1\] is nan"),
    ([math.inf, 0.0], bl.BayeslibError, r"initial_position\[0\] is inf"),
    ([], bl.BayeslibError, "initial_position must"),
]
test_bad_starts = pytest.mark.row(17, 18, 20, 21, 22)(
    refused(
        *(
            ((s, start), *said)
            for s in ("metropolis", "hmc", "nuts")
            for start, *said in BAD_STARTS
        ),
        by=lambda sampler, start: run(start=start, sampler=sampler),
    )
)


@pytest.mark.row(23)
def test_one_start_for_several_chains_is_allowed_and_said():
    with pytest.warns(bl.BayeslibWarning, match="all 3 chains start at the same point"):
        draws = run(num_chains=3)
    assert not np.array_equal(draws.values[0], draws.values[1])


def test_starts_are_drawn_inside_the_support():
    support = ((0.0, 1.0), (2.0, math.inf), (-math.inf, -3.0), (-math.inf, math.inf))
    for uniforms in np.random.default_rng(1).random((100, 4)):
        start = scatter(uniforms, support)
        assert all(low < x < high for x, (low, high) in zip(start, support, strict=True))
    narrow = Target(lambda theta: 0.0 if 50 < theta[0] < 51 else -math.inf, dim=1, gradient=None)
    words = "no start with a finite log density in 100 attempts; -inf at theta=.*check the data"
    with pytest.raises(bl.StartError, match=words):
        run(narrow, None)
    with pytest.raises(bl.StartError, match="attempts; nan at theta="):
        run(Target(lambda theta: np.log(-1.0 - theta[0] ** 2), dim=1), None)


# Counts and seeds: rows 26 and 27; the others are those of every sampler, in test_registry.py


@pytest.mark.row(26)
def test_no_warmup_with_adaptation_on():
    with pytest.warns(bl.BayeslibWarning, match="num_warmup=0 leaves no time to adapt"):
        run(num_warmup=0)
    for sampler in ("hmc", "nuts"):
        with pytest.raises(bl.BayeslibError, match="num_warmup=0 leaves no time to find a step"):
            run(num_warmup=0, sampler=sampler)


# Tuning: rows 32 to 39


STEP_SIZES, RATES = [math.nan, 0.0, -0.1, math.inf, "small", True], [0.0, 1.0, -0.5, 2.0, math.nan]
TUNING = {
    ("metropolis", "scale"): [0.0, -1.0, math.nan, math.inf, [1.0], [1.0, 0.0], [[1.0, 2.0]]],
    ("hmc", "step_size"): STEP_SIZES,
    ("nuts", "step_size"): STEP_SIZES,
    ("hmc", "num_steps"): [0, -3, 1.5, True, 10**9],
    ("nuts", "max_tree_depth"): [0, -1, 21, 100, 2.5, True, "deep"],
    ("hmc", "target_accept"): [*RATES, "high"],
    ("nuts", "target_accept"): [*RATES, "high"],
    ("hmc", "jitter"): [-0.1, 1.0, math.nan, "some", True],
}


@pytest.mark.row(32, 33, 36, 37, 38, 39)
@pytest.mark.parametrize(("sampler", "option"), TUNING)
def test_bad_tuning(sampler, option):
    for value in TUNING[sampler, option]:
        with pytest.raises(bl.BayeslibError, match=f"{option} must"):
            run(sampler=sampler, **{option: value})


@pytest.mark.row(34, 35)
@pytest.mark.parametrize(
    ("metric", "words"),
    [
        ([1.0, -1.0], "positive"),
        ([1.0], "shape"),
        ([[1.0, 2.0], [2.0, 1.0]], "positive definite; its smallest eigenvalue is -1"),
        ([[1.0, 0.5], [0.4, 1.0]], "symmetric"),
        (np.eye(3), "shape"),
        ([[1.0, math.nan], [math.nan, 1.0]], "finite"),
    ],
)
def test_bad_mass_matrices(metric, words):
    for call in (
        lambda: run(sampler="hmc", inverse_mass_matrix=metric),
        lambda: run(sampler="nuts", inverse_mass_matrix=metric),
        lambda: leapfrog(
            gaussian2(), [0, 0], [0, 0], step_size=1, num_steps=1, inverse_mass_matrix=metric
        ),
    ):
        with pytest.raises(bl.BayeslibError, match=f"inverse_mass_matrix.*{words}"):
            call()


# The run: rows 40, 52, 60


@pytest.mark.row(40)
def test_improper_posterior():
    flat = Target(lambda theta: 0.0 * theta[0], dim=1)
    for sampler in ("hmc", "nuts"):
        with pytest.raises(bl.ImproperError, match="seems improper"):
            run(flat, 0.0, sampler, num_warmup=100)
    with pytest.warns(bl.BayeslibWarning, match="improper"):
        run(flat, 0.0, num_warmup=1000, num_samples=1000)


test_a_warmup_without_end_is_refused_before_it_runs = pytest.mark.row(52)(
    refused(
        *((name, "num_warmup must be at most 1,000,000,000, got 1,00") for name in SAMPLERS),
        by=lambda sampler: run(sampler=sampler, num_warmup=10**12),
    )
)


test_other_things_than_expected = pytest.mark.row(60)(
    refused(
        ({"executor": 4}, bl.BayeslibTypeError, "executor must be"),
        ({"executor": ThreadPoolExecutor}, bl.BayeslibTypeError, "executor must be"),
        ({"progress": "yes"}, bl.BayeslibTypeError, "progress must be"),
        by=run,
    )
)


@pytest.mark.row(18)
@pytest.mark.parametrize("start", [[0.5, 1.5], np.array([0.5, 1.5]), [[0.5], [1.5]]])
def test_one_number_a_chain_is_a_start_of_one_dimension(start):
    target = Target(lambda theta: -0.5 * theta[0] ** 2, dim=1)
    run = {"num_samples": 1, "num_warmup": 0, "num_chains": 2, "scale": 1e-9, "rng": 1}
    draws = metropolis(target, start, **run)
    np.testing.assert_allclose(draws.values[:, 0, 0], [0.5, 1.5], atol=1e-6)
    with pytest.raises(bl.BayeslibError, match=r"\(1,\), or \(3, 1\) for one start a chain"):
        metropolis(target, start, **run | {"num_chains": 3})


@pytest.mark.row(27)
def test_a_seed_is_recorded_only_if_it_repeats_the_run():
    used, parent = np.random.default_rng(1), np.random.default_rng(1)
    used.random()
    others = [used, parent.spawn(1)[0], parent, np.random.Generator(np.random.MT19937(1))]
    for rng in others:
        assert run(rng=rng).settings["seed"] is None
    for rng in (1, np.random.default_rng(1), np.random.SeedSequence(1), None):
        draws = run(rng=rng)
        np.testing.assert_array_equal(run(rng=draws.settings["seed"]).values, draws.values)
