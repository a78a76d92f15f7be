"""What must happen to each bad input, by the rows of the table in the trust plan."""

import math
import pickle

import numpy as np
import pytest
from densities import gaussian2

from bayeslib import (
    Gaussian,
    Target,
    adaptive_rejection_sample,
    grid_posterior,
    hmc,
    importance_sample,
    leapfrog,
    metropolis,
    nuts,
    quadrature,
    rejection_sample,
)
from bayeslib.engine.starts import scatter
from bayeslib.errors import (
    BayeslibError,
    BayeslibTypeError,
    BayeslibWarning,
    GradientError,
    ImproperError,
    StartError,
    TargetError,
)

QUICK = {"num_samples": 20, "num_warmup": 20, "num_chains": 1, "rng": 1}


def run(target=None, start=(0.1, 0.2), sampler="metropolis", **options):
    target = gaussian2() if target is None else target
    if sampler == "hmc":
        return hmc(target, start, num_steps=options.pop("num_steps", 3), **{**QUICK, **options})
    if sampler == "nuts":
        return nuts(target, start, **{**QUICK, **options})
    return metropolis(target, start, **{**QUICK, **options})


def value_only(function, dim=2, **options):
    return Target(function, dim=dim, gradient=None, **options)


# The log density at the start and on the way: rows 1 to 10


@pytest.mark.parametrize("sampler", ["metropolis", "hmc", "nuts"])
@pytest.mark.parametrize(
    ("value", "words"),
    [(math.nan, "is nan"), (-math.inf, "outside the support"), (math.inf, r"is \+inf")],
    ids=["row 1", "row 3", "row 4"],
)
def test_start_is_not_finite(sampler, value, words):
    target = Target(lambda theta, v: v + 0.0 * theta[0], dim=2, data=(value,))
    with pytest.raises(StartError, match=words) as caught:
        run(target, sampler=sampler)
    assert "[0.1, 0.2]" in str(caught.value)


def nan_beyond_one(theta):
    return -0.5 * theta[0] ** 2 if theta[0] < 1.0 else math.nan


def inf_beyond_two(theta):
    return -0.5 * theta[0] ** 2 if theta[0] < 2.0 else math.inf


def minus_theta(theta):
    return -theta


@pytest.mark.parametrize("sampler", ["metropolis", "hmc", "nuts"])
def test_nan_on_the_way_is_rejected_counted_and_said_once(sampler):
    """Row 2."""
    target = Target(nan_beyond_one, dim=1, gradient=minus_theta)
    with pytest.warns(BayeslibWarning) as caught:
        draws = run(target, 0.5, sampler, num_samples=500)
    said = [str(w.message) for w in caught if "nan" in str(w.message)]
    assert len(said) == 1 and f"{draws.settings['num_nan']} proposals" in said[0]
    assert draws.settings["num_nan"] > 10 and np.all(draws.values < 1.0)


@pytest.mark.parametrize("sampler", ["metropolis", "hmc", "nuts"])
def test_plus_infinity_on_the_way_ends_the_run(sampler):
    """Row 4."""
    target = Target(inf_beyond_two, dim=1, gradient=minus_theta)
    with pytest.raises(TargetError, match=r"\+inf at theta=.*iteration") as caught:
        run(target, 0.5, sampler, num_samples=5000, num_warmup=0, **_fixed(sampler))
    assert np.all(caught.value.partial.values < 2.0)


def _fixed(sampler):
    return {"scale": 0.5} if sampler == "metropolis" else {"step_size": 0.3}


def returns_array(theta):
    return -0.5 * theta**2


def returns_nothing_on_one_branch(theta):
    if theta[0] > 0:
        return -0.5 * theta[0] ** 2


def returns_bool(theta):
    return theta[0] > 0


def returns_int(theta):
    return 0 if abs(theta[0]) < 1.0 else -5


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (returns_array, "got an array"),
        (returns_nothing_on_one_branch, "None on one branch"),
        (returns_bool, "got a bool"),
    ],
    ids=["row 5", "row 6", "row 7"],
)
def test_density_of_the_wrong_type(function, words):
    with pytest.raises(TypeError, match=f"{function.__name__}.*must return a float.*{words}"):
        run(value_only(function))


def test_an_integer_density_is_accepted():
    """Row 7."""
    assert run(value_only(returns_int)).logdensity.dtype == float


def test_zero_division_and_domain_errors_follow_numpy():
    """Row 9: log(0) is -inf, 1/0 inf, exp(1000) inf, without an exception."""

    def edge(theta):
        return math.log(theta[0]) if theta[0] >= 0.0 else -1.0 / (theta[0] - theta[0])

    target = value_only(edge, dim=1)
    assert target(0.0) == -math.inf and target(-1.0) == -math.inf
    assert value_only(lambda theta: -math.exp(theta[0]), dim=1)(1000.0) == -math.inf


# Functions: rows 11 to 14


def test_what_does_not_compile_is_named():
    """Row 11."""

    def opens_a_file(theta):
        with open("data.csv") as file:
            return float(file.read())

    with pytest.raises(BayeslibTypeError, match="'opens_a_file' does not compile.*subset"):
        run(value_only(opens_a_file))

    def overwrites(theta):
        theta[0] = 1.0
        return 0.0

    with pytest.raises(BayeslibTypeError, match="read-only: write to a copy"):
        run(value_only(overwrites))
    for not_a_function in (3.0, "logp", np.sin, None):
        with pytest.raises(BayeslibTypeError, match="logdensity must be a function"):
            Target(not_a_function, dim=1)


def test_wrong_arity():
    """Row 12."""
    with pytest.raises(BayeslibTypeError, match=r"must take \(theta\), but .* takes \(x, y\)"):
        Target(lambda x, y: 0.0, dim=1)
    with pytest.raises(BayeslibTypeError, match=r"must take \(theta, data\[0\]\)"):
        Target(lambda x: 0.0, dim=1, data=(1.0,))
    with pytest.raises(BayeslibTypeError, match="gradient must take"):
        Target(lambda x: 0.0, dim=1, gradient=lambda: 0.0)
    with pytest.raises(BayeslibTypeError, match=r"fused must take \(theta, grad\)"):
        Target(lambda x: 0.0, dim=1, fused=lambda theta: 0.0)


@pytest.mark.parametrize("factor", [-1.0, 0.85])
def test_wrong_gradient(factor):
    """Row 13."""
    target = Target(
        gaussian2().logdensity, dim=2, data=(*gaussian2().data,),
        gradient=lambda theta, precision: np.array([1.0, factor]) * -(precision @ theta),
    )  # fmt: skip
    with pytest.raises(GradientError, match=r"in component 1 \(theta\[1\]\).*finite differences"):
        run(target, sampler="hmc")


@pytest.mark.parametrize(
    ("gradient", "words"),
    [
        (lambda theta: np.ones(1), r"must return shape \(2,\), got \(1,\)"),
        (lambda theta: np.ones(3), r"must return shape \(2,\), got \(3,\)"),
        (lambda theta: np.ones((2, 2)), "one-dimensional array"),
        (lambda theta: 1.0, "one-dimensional array"),
    ],
)
def test_gradient_of_the_wrong_shape(gradient, words):
    """Row 14."""
    target = Target(lambda theta: -0.5 * theta @ theta, dim=2, gradient=gradient)
    with pytest.raises(GradientError, match=words):
        run(target, sampler="hmc")


def test_gradient_is_missing_or_not_finite_at_the_start():
    with pytest.raises(GradientError, match="no gradient"):
        run(value_only(lambda theta: -0.5 * theta @ theta), sampler="hmc")
    target = Target(
        lambda theta: -0.5 * theta @ theta, dim=2, gradient=lambda t: np.array([-t[0], np.nan])
    )
    with pytest.raises(GradientError, match="nan in component 1"):
        run(target, sampler="hmc")


# Starts: rows 15 to 23


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
    ids=["row 15 list", "row 15 tuple", "row 16 int", "row 19 float32", "row 19 strided", "row 18"],
)
@pytest.mark.parametrize("sampler", ["metropolis", "hmc", "nuts"])
def test_starts_of_any_real_type_give_the_same_draws(start, sampler):
    expected = run(start=np.array([0.0, 1.0]), sampler=sampler)
    np.testing.assert_array_equal(run(start=start, sampler=sampler).values, expected.values)


def test_the_callers_arrays_are_left_alone():
    start, scale = np.array([0, 1]), np.array([0.5, 0.5])
    start.flags.writeable = False
    before = pickle.dumps((start, scale))
    run(start=start, scale=scale)
    run(start=start, sampler="hmc", inverse_mass_matrix=scale)
    assert pickle.dumps((start, scale)) == before


@pytest.mark.parametrize("sampler", ["metropolis", "hmc", "nuts"])
@pytest.mark.parametrize(
    ("start", "error", "words"),
    [
        (0.5, BayeslibError, r"initial_position must have shape \(2,\)"),  # row 17
        ([[0.0, 1.0]] * 3, BayeslibError, r"\(1, 2\) for one start a chain, got \(3, 2\)"),  # 18
        (["a", "b"], TypeError, "initial_position must hold real numbers"),  # row 20
        ([1j, 0], TypeError, "initial_position must hold real numbers"),
        ([None, 0], TypeError, "initial_position must hold real numbers"),
        ([[0.0], [0.0, 1.0]], TypeError, "initial_position is not an array"),
        ([0.0, math.nan], BayeslibError, r"initial_position\[1\] is nan"),  # row 21
        ([math.inf, 0.0], BayeslibError, r"initial_position\[0\] is inf"),
        ([], BayeslibError, "initial_position must"),  # row 22
    ],
)
def test_bad_starts(sampler, start, error, words):
    with pytest.raises(error, match=words):
        run(start=start, sampler=sampler)


def test_one_start_for_several_chains_is_allowed_and_said():
    """Row 23."""
    with pytest.warns(BayeslibWarning, match="all 3 chains start at the same point"):
        draws = run(num_chains=3)
    assert not np.array_equal(draws.values[0], draws.values[1])


def test_starts_are_drawn_inside_the_support():
    support = ((0.0, 1.0), (2.0, math.inf), (-math.inf, -3.0), (-math.inf, math.inf))
    for uniforms in np.random.default_rng(1).random((100, 4)):
        start = scatter(uniforms, support)
        assert all(low < x < high for x, (low, high) in zip(start, support, strict=True))
    narrow = Target(lambda theta: 0.0 if 50 < theta[0] < 51 else -math.inf, dim=1, gradient=None)
    with pytest.raises(StartError, match="no start with a finite log density in 100 attempts"):
        run(narrow, None)


# Counts and seeds: rows 24 to 30


@pytest.mark.parametrize("sampler", ["metropolis", "hmc", "nuts"])
@pytest.mark.parametrize("name", ["num_samples", "num_chains", "num_warmup"])
@pytest.mark.parametrize(
    ("value", "error"),
    [(-1, BayeslibError), (2.5, BayeslibError), (True, TypeError), ("100", TypeError)],
)
def test_bad_counts(sampler, name, value, error):
    """Rows 24 and 25."""
    with pytest.raises(error, match=name):
        run(sampler=sampler, **{name: value})


def test_zero_and_integral_counts():
    for name in ("num_samples", "num_chains"):
        with pytest.raises(BayeslibError, match=f"{name} must be at least 1, got 0"):
            run(**{name: 0})
    assert run(num_samples=1e1).values.shape == (1, 10, 2)


def test_no_warmup_with_adaptation_on():
    """Row 26."""
    with pytest.warns(BayeslibWarning, match="num_warmup=0 leaves no time to adapt"):
        run(num_warmup=0)
    with pytest.raises(BayeslibError, match="num_warmup=0 leaves no time to find a step size"):
        run(num_warmup=0, sampler="hmc")


@pytest.mark.parametrize("sampler", ["metropolis", "hmc", "nuts"])
def test_seeds(sampler):
    first = run(sampler=sampler, rng=None)
    again = run(sampler=sampler, rng=first.settings["seed"])  # row 27
    np.testing.assert_array_equal(first.values, again.values)
    for bad in ("1", 1.5, True, np.random.RandomState(1)):  # noqa: NPY002  (rows 28 and 30)
        with pytest.raises(TypeError, match="rng"):
            run(sampler=sampler, rng=bad)
    with pytest.raises(BayeslibError, match="rng=-1"):
        run(sampler=sampler, rng=-1)
    assert run(sampler=sampler, rng=2**200).num_samples == 20  # row 29
    with pytest.raises(TypeError, match="rng"):
        metropolis(gaussian2(), [0, 0], num_chains=1)


# Tuning: rows 32 to 39


@pytest.mark.parametrize(
    "scale", [0.0, -1.0, math.nan, math.inf, [1.0], [1.0, 0.0], [1.0, 2.0, 3.0], [[1.0, 2.0]]]
)
def test_bad_scales(scale):
    """Rows 32 and 33."""
    with pytest.raises(BayeslibError, match="scale must"):
        run(scale=scale)


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
    """Rows 34 and 35."""
    for call in (
        lambda: run(sampler="hmc", inverse_mass_matrix=metric),
        lambda: leapfrog(
            gaussian2(), [0, 0], [0, 0], step_size=1, num_steps=1, inverse_mass_matrix=metric
        ),
    ):
        with pytest.raises(BayeslibError, match=f"inverse_mass_matrix.*{words}"):
            call()


@pytest.mark.parametrize("step_size", [math.nan, 0.0, -0.1, math.inf, "small", True])
def test_bad_step_sizes(step_size):
    """Rows 36, 37 and 38."""
    with pytest.raises(BayeslibError, match="step_size must"):
        run(sampler="hmc", step_size=step_size)
    with pytest.raises(BayeslibError, match="step_size must"):
        leapfrog(gaussian2(), [0, 0], [0, 0], step_size=step_size, num_steps=1)


@pytest.mark.parametrize("num_steps", [0, -3, 1.5, True, 10**9])
def test_bad_numbers_of_steps(num_steps):
    """Row 39."""
    with pytest.raises(BayeslibError, match="num_steps must"):
        run(sampler="hmc", num_steps=num_steps)


@pytest.mark.parametrize("target_accept", [0.0, 1.0, -0.5, 2.0, math.nan, "high"])
def test_bad_target_accept(target_accept):
    with pytest.raises(BayeslibError, match="target_accept"):
        run(sampler="hmc", target_accept=target_accept)


# The run: rows 40, 41, 52, 60


def test_improper_posterior():
    """Row 40."""
    flat = Target(lambda theta: 0.0 * theta[0], dim=1)
    with pytest.raises(ImproperError, match="seems improper"):
        run(flat, 0.0, "hmc", num_warmup=100)
    with pytest.warns(BayeslibWarning, match="improper"):
        run(flat, 0.0, num_warmup=1000, num_samples=1000)


def test_a_border_without_a_gradient_shows_as_divergences():
    """Row 41."""
    box = Target(lambda theta: 0.0 * theta[0] if abs(theta[0]) < 1.0 else -math.inf, dim=1)
    with pytest.warns(BayeslibWarning, match="diverged"):
        draws = run(box, 0.0, "hmc", step_size=0.3, num_samples=2000, num_warmup=0)
    assert np.all(np.abs(draws.values) < 1.0) and draws.stats["diverging"].mean() < 0.6


@pytest.mark.parametrize("sampler", ["metropolis", "hmc", "nuts"])
def test_a_huge_request_is_refused_before_it_runs(sampler):
    """Row 52."""
    with pytest.raises(MemoryError, match=r"draws .* needs .* GiB"):
        run(sampler=sampler, num_samples=10**12)


def test_other_things_than_expected():
    """Row 60 and kin."""
    with pytest.raises(TypeError, match="n_sample"):
        run(n_sample=5)
    with pytest.raises(BayeslibTypeError, match="executor must be"):
        run(executor=4)
    with pytest.raises(BayeslibTypeError, match="progress must be"):
        run(progress="yes")
    for sampler in (metropolis, hmc):
        options = {"num_steps": 3} if sampler is hmc else {}
        with pytest.raises(BayeslibTypeError, match="target must be a Target, got"):
            sampler(lambda theta: 0.0, [0.0], rng=1, **options)
    with pytest.raises(BayeslibTypeError, match="target must be a Target, got"):
        leapfrog(lambda theta: 0.0, [0.0], [0.0], step_size=1, num_steps=1)


# Targets


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"dim": 0}, BayeslibError, "dim must be at least 1"),
        ({"dim": 1.5}, BayeslibError, "dim must be a whole number"),
        ({"dim": "1"}, TypeError, "dim must be an integer"),
        ({"dim": 1, "names": ("a", "b")}, BayeslibError, "names must be 1 different strings"),
        ({"dim": 2, "names": ("a", "a")}, BayeslibError, "names must be 2 different strings"),
        ({"dim": 1, "names": (1,)}, TypeError, "names must be strings"),
        ({"dim": 1, "gradient": "numeric"}, TypeError, 'gradient must be "auto", None'),
        ({"dim": 1, "truth": 3.0}, TypeError, "truth must be a Truth"),
        ({"dim": 1, "data": np.ones(3)}, TypeError, r"write data=\(array,\)"),
    ],
)
def test_bad_targets(options, error, words):
    with pytest.raises(error, match=words):
        Target(lambda theta: 0.0, **options)


@pytest.mark.parametrize(
    "item", ["text", ["a"], None, {"a": 1}, np.array([None]), [[1.0], [1.0, 2.0]]]
)
def test_data_that_are_not_numbers(item):
    """Row 51."""
    with pytest.raises(BayeslibTypeError, match=r"data\[0\]"):
        Target(lambda theta, y: 0.0, dim=1, data=(item,))


@pytest.mark.parametrize("theta", [[1.0], [[1.0, 2.0]], 1.0, ["a", "b"], [1.0, math.nan]])
def test_a_target_refuses_other_points(theta):
    for call in (gaussian2(), gaussian2().gradient, gaussian2().check_gradient):
        with pytest.raises(BayeslibError, match="theta"):
            call(theta)
    with pytest.raises(BayeslibError, match="thetas must"):
        gaussian2().many(np.ones((2, 3)))


@pytest.mark.parametrize("start", [[0.5, 1.5], np.array([0.5, 1.5]), [[0.5], [1.5]]])
def test_one_number_a_chain_is_a_start_of_one_dimension(start):
    """Row 18."""
    target = Target(lambda theta: -0.5 * theta[0] ** 2, dim=1)
    run = {"num_samples": 1, "num_warmup": 0, "num_chains": 2, "scale": 1e-9, "rng": 1}
    draws = metropolis(target, start, **run)
    np.testing.assert_allclose(draws.values[:, 0, 0], [0.5, 1.5], atol=1e-6)
    with pytest.raises(BayeslibError, match=r"\(1,\), or \(3, 1\) for one start a chain"):
        metropolis(target, start, **run | {"num_chains": 3})


def test_nan_in_the_data_is_counted():
    """Row 51."""
    y = np.array([1.0, np.nan, np.nan])
    target = Target(lambda theta, y: -np.sum((y - theta[0]) ** 2), dim=1, data=(y,))
    with pytest.raises(StartError, match=r"data\[0\] holds 2 nan"):
        metropolis(target, 0.0, num_chains=1, rng=1)


@pytest.mark.parametrize(
    "call",
    [
        lambda f: grid_posterior(f, (0, 1), num_points=5),
        lambda f: quadrature(f, (0, 1)),
        lambda f: rejection_sample(f, Gaussian(0, 1), log_bound=1.0, num_samples=5, rng=1),
        lambda f: adaptive_rejection_sample(f, points=[0, 1], num_samples=5, rng=1),
        lambda f: importance_sample(f, Gaussian(0, 1), num_samples=5, rng=1),
        lambda f: metropolis(f, 0.0, rng=1),
        lambda f: hmc(f, 0.0, step_size=0.1, num_steps=1, rng=1),
    ],
)
def test_a_function_in_place_of_a_target_is_told_the_way(call):
    with pytest.raises(TypeError, match=r"write Target\(logdensity, dim=...\)"):
        call(lambda theta: -0.5 * theta[0] ** 2)


def test_a_seed_is_recorded_only_if_it_repeats_the_run():
    """Row 27."""
    used, parent = np.random.default_rng(1), np.random.default_rng(1)
    used.random()
    others = [used, parent.spawn(1)[0], parent, np.random.Generator(np.random.MT19937(1))]
    for rng in others:
        assert run(rng=rng).settings["seed"] is None
    for rng in (1, np.random.default_rng(1), np.random.SeedSequence(1), None):
        draws = run(rng=rng)
        np.testing.assert_array_equal(run(rng=draws.settings["seed"]).values, draws.values)
