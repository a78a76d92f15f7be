"""What holds for every sampling algorithm, over the table in registry.py."""

import inspect
import pickle
import warnings
from functools import cache

import numpy as np
import pytest
from recording import measured
from registry import ALGORITHMS, scaled
from scipy import stats
from twins import plain_twin

import bayeslib as bl

CASES = [pytest.param(a, c, id=f"{a.name}-{c}") for a in ALGORITHMS for c in a.cases]
EVERY = [pytest.param(a, id=a.name) for a in ALGORITHMS]
# Bonferroni within a test: each asks for less than 16 numbers, so 1e-6 a test.
Z_LIMIT = float(stats.norm.isf(1e-6 / 16 / 2))


def legacy_state():
    return np.random.get_state()[1].copy()  # noqa: NPY002 (to see that nothing touches it)


def first_case(algorithm):
    return next(iter(algorithm.cases))


@cache
def draws_of(algorithm_name, case, seed=1):
    (algorithm,) = [a for a in ALGORITHMS if a.name == algorithm_name]
    return algorithm.run(case, seed)


WITH_TWIN = [
    pytest.param(a, c, s, id=f"{a.name}-{c}-{s}")
    for a in ALGORITHMS
    if a.page
    for c in a.cases
    for s in (1, 2, 3)
]


@pytest.mark.parametrize(("algorithm", "case", "seed"), WITH_TWIN)
def test_plain_equals_fast(algorithm, case, seed):
    plain = algorithm.run_compared(case, seed, plain_twin(algorithm.page, algorithm.name))
    fast = algorithm.run_compared(case, seed)
    if fast.log_weights is not None:
        plain, log_weights = plain
        np.testing.assert_allclose(log_weights, fast.log_weights[0], rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(np.reshape(plain, fast.flat.shape), fast.flat, rtol=1e-10)
    other = algorithm.run_compared(case, seed + 100)
    with pytest.raises(AssertionError):
        np.testing.assert_allclose(other.flat, fast.flat, rtol=1e-10)


def moments(draws, truth, *, right):
    """z of each mean and each second moment about the true mean, (2 dim,)."""
    mean = draws.expect().z(truth.mean)
    spread = draws.expect(lambda theta: (theta - truth.mean) ** 2).z(np.diag(truth.cov))
    z = np.concatenate([mean, spread])
    measured("truth", z, Z_LIMIT, right=right)
    return z


@pytest.mark.trust("M1")
@pytest.mark.parametrize(("algorithm", "case"), CASES)
def test_recovers_the_truth(algorithm, case):
    draws, truth = draws_of(algorithm.name, case), algorithm.cases[case][0].truth
    if not draws.independent and draws.log_weights is None:
        assert np.min(bl.ess(draws)) > 200, "too few effective draws to judge"
    assert np.max(np.abs(moments(draws, truth, right=True))) < Z_LIMIT
    if draws.log_evidence is not None:
        assert abs(draws.log_evidence.z(truth.log_evidence)) < Z_LIMIT


@pytest.mark.parametrize(("algorithm", "case"), CASES)
def test_a_wrong_sampler_is_rejected(algorithm, case):
    """The twin: drawing from the density to the power 1.2 must not pass for the truth."""
    target, arguments, options = algorithm.cases[case]
    options = {"num_samples": algorithm.num_samples} | options
    wrong = algorithm.function(scaled(target, 1.2), *arguments, rng=1, **options)
    assert np.max(np.abs(moments(wrong, target.truth, right=False))) > Z_LIMIT


@pytest.mark.trust("S14")
@pytest.mark.parametrize("algorithm", EVERY)
def test_the_seed_decides_everything(algorithm):
    case = first_case(algorithm)
    before = legacy_state()
    first = algorithm.run(case, 5, num_samples=50)
    np.testing.assert_array_equal(legacy_state(), before)
    for seed in (5, np.random.default_rng(5), np.random.SeedSequence(5)):
        np.testing.assert_array_equal(
            algorithm.run(case, seed, num_samples=50).values, first.values
        )
    assert not np.array_equal(algorithm.run(case, 6, num_samples=50).values, first.values)


@pytest.mark.filterwarnings("ignore::bayeslib.BayeslibWarning")  # fresh entropy may be unlucky
@pytest.mark.parametrize("algorithm", EVERY)
def test_an_unseeded_run_can_be_repeated(algorithm):
    case = first_case(algorithm)
    fresh = algorithm.run(case, None, num_samples=50)
    again = algorithm.run(case, fresh.settings["seed"], num_samples=50)
    np.testing.assert_array_equal(fresh.values, again.values)
    assert not np.array_equal(algorithm.run(case, None, num_samples=50).values, fresh.values)


@pytest.mark.parametrize(("algorithm", "case"), CASES)
def test_results_keep_their_contract(algorithm, case):
    target = algorithm.cases[case][0]
    draws = draws_of(algorithm.name, case)
    assert isinstance(draws, bl.Draws)
    chains = 4 if algorithm.chains else 1
    assert draws.values.shape == (chains, algorithm.num_samples, target.dim)
    assert draws.values.dtype == np.float64
    assert draws.method == algorithm.name
    assert draws.names == target.names
    assert draws.num_evals > 0
    assert draws.settings["seed"] == 1
    for name, stat in draws.stats.items():
        assert stat.shape[:2] == draws.values.shape[:2], name
    if draws.logdensity is not None:
        np.testing.assert_allclose(draws.logdensity.ravel(), target.many(draws.flat), rtol=1e-9)
    copy = pickle.loads(pickle.dumps(draws))
    np.testing.assert_array_equal(copy.values, draws.values)
    assert str(draws.summary()).startswith(algorithm.name)


@pytest.mark.parametrize("algorithm", EVERY)
def test_arguments_are_not_changed(algorithm):
    target, arguments, options = algorithm.cases[first_case(algorithm)]
    before = pickle.dumps((target.data, arguments, options))
    algorithm.run(first_case(algorithm), 3, num_samples=200)
    assert pickle.dumps((target.data, arguments, options)) == before


@pytest.mark.trust("S15")
@pytest.mark.parametrize("algorithm", EVERY)
@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"num_samples": 0}, bl.BayeslibError, "num_samples must be at least"),
        ({"num_samples": -3}, bl.BayeslibError, "num_samples"),
        ({"num_samples": 10.5}, bl.BayeslibError, "whole number"),
        ({"num_samples": True}, bl.BayeslibTypeError, "num_samples"),
        ({"num_samples": "100"}, bl.BayeslibTypeError, "num_samples"),
        ({"num_sample": 100}, TypeError, "num_sample"),
    ],
)
def test_bad_counts_are_refused(algorithm, change, error, words):
    with pytest.raises(error, match=words):
        algorithm.run(first_case(algorithm), 1, **change)


@pytest.mark.parametrize("algorithm", EVERY)
@pytest.mark.parametrize("rng", [True, "one", 1.5, -1, np.random.RandomState(1)])
def test_bad_seeds_are_refused(algorithm, rng):
    with pytest.raises(bl.BayeslibError, match="rng"):
        algorithm.run(first_case(algorithm), rng)


@pytest.mark.parametrize("algorithm", EVERY)
def test_an_integral_float_counts(algorithm):
    draws = algorithm.run(first_case(algorithm), 1, num_samples=200.0)
    assert draws.num_samples == 200


def test_a_huge_request_is_refused_before_it_is_made():
    algorithm = ALGORITHMS[3]
    with pytest.raises(MemoryError, match="GiB"):
        algorithm.run(first_case(algorithm), 1, num_samples=10**13)


def test_the_signatures_follow_one_rule():
    for algorithm in ALGORITHMS:
        parameters = list(inspect.signature(algorithm.function).parameters.values())
        assert parameters[0].name == "target"
        kinds = [p.kind for p in parameters]
        assert inspect.Parameter.VAR_KEYWORD not in kinds
        assert all(k is inspect.Parameter.KEYWORD_ONLY for k in kinds[2:])
        (rng,) = [p for p in parameters if p.name == "rng"]
        assert rng.default is inspect.Parameter.empty


# They return no draws: a Gaussian, an Estimate, gradients. See test_vi*.py and test_hybrid*.py.
FITTED = {"advi", "bbvi", "bbvi_gradients", "elbo", "pathfinder"}


def test_every_sampler_is_in_the_table():
    known = {a.name for a in ALGORITHMS} | FITTED
    for name in bl.__all__:
        thing = getattr(bl, name)
        if inspect.isfunction(thing) and {"target", "rng"} <= set(
            inspect.signature(thing).parameters
        ):
            assert name in known, f"{name} is not in tests/tools/registry.py"


def test_no_warning_is_left_behind():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for algorithm in ALGORITHMS:
            algorithm.run(first_case(algorithm), 1, num_samples=500)
