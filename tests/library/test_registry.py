"""What holds for every sampling algorithm, over the table in registry.py."""

import inspect
import pickle
from functools import cache

import numpy as np
import pytest
from recording import measured
from registry import ALGORITHMS, scaled
from scipy import stats
from sparing import over
from twins import plain_twin

import bayeslib as bl
from bayeslib import waiting


def first_case(algorithm):
    return next(iter(algorithm.cases))


CASES = [pytest.param(a, c, id=f"{a.name}-{c}") for a in ALGORITHMS for c in a.cases]
EVERY = [pytest.param(a, id=a.name) for a in ALGORITHMS]
# A case of each first: a density to another power is compiled for every one.
WRONG = [(a, first_case(a)) for a in ALGORITHMS]
WRONG += [(a, c) for a in ALGORITHMS for c in a.cases if c != first_case(a)]
# Bonferroni within a test: each asks for less than 16 numbers, so 1e-6 a test.
Z_LIMIT = float(stats.norm.isf(1e-6 / 16 / 2))
COUNTS = ("num_samples", "num_chains", "num_warmup")


def legacy_state():
    return np.random.get_state()[1].copy()  # noqa: NPY002 (to see that nothing touches it)


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


@over(("algorithm", "case"), WRONG, few=len(EVERY))
def test_a_wrong_sampler_is_rejected(algorithm, case):
    """The twin: drawing from the density to the power 1.2 must not pass for the truth."""
    target, arguments, options = algorithm.cases[case]
    options = {"num_samples": algorithm.num_samples} | options
    wrong = algorithm.function(scaled(target, 1.2), *arguments, rng=1, **options)
    assert np.max(np.abs(moments(wrong, target.truth, right=False))) > Z_LIMIT


@pytest.mark.row(29, 30, 31)
@pytest.mark.trust("S14")
@pytest.mark.parametrize("algorithm", EVERY)
def test_the_seed_decides_everything(algorithm):
    """And a generator moves on, so that it makes another run the second time."""
    case, found, rng = first_case(algorithm), [], np.random.default_rng(5)
    for n, seed in enumerate((5, rng, np.random.SeedSequence(5), 2**200, rng)):
        np.random.seed(n)  # noqa: NPY002  (numpy's own generator is not asked, nor touched)
        before = legacy_state()
        found.append(algorithm.run(case, seed, num_samples=50).values)
        np.testing.assert_array_equal(legacy_state(), before)
    np.testing.assert_array_equal(found[1], found[0])
    np.testing.assert_array_equal(found[2], found[0])
    assert not any(np.array_equal(other, found[0]) for other in found[3:])


@pytest.mark.trust("S14")
@pytest.mark.filterwarnings("ignore::bayeslib.BayeslibWarning")  # so few draws
@pytest.mark.parametrize("algorithm", [a for a in EVERY if a.values[0].chains])
def test_the_size_of_blocks_leaves_no_trace(algorithm, monkeypatch):
    case, short = first_case(algorithm), {"num_samples": 100, "num_warmup": 150}
    draws = algorithm.run(case, 11, **short)
    for seconds in (1e-9, np.inf):  # of one step; of 1, 20, 400, ...
        monkeypatch.setattr(waiting, "BLOCK_SECONDS", seconds)
        np.testing.assert_array_equal(draws.values, algorithm.run(case, 11, **short).values)


@pytest.mark.row(27)
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


@pytest.mark.row(24, 25)
@pytest.mark.trust("S15")
@pytest.mark.parametrize("algorithm", EVERY)
@pytest.mark.parametrize(
    ("value", "error", "words"),
    [
        (0, bl.BayeslibError, "must be at least"),
        (-3, bl.BayeslibError, "must be at least"),
        (10.5, bl.BayeslibError, "must be a whole number"),
        (True, bl.BayeslibTypeError, "must be an integer"),
        ("100", bl.BayeslibTypeError, "must be an integer"),
    ],
)
def test_bad_counts_are_refused(algorithm, value, error, words):
    for name in COUNTS if algorithm.chains else COUNTS[:1]:
        if (name, value) != ("num_warmup", 0):
            with pytest.raises(error, match=f"{name} {words}"):
                algorithm.run(first_case(algorithm), 1, **{name: value})


@pytest.mark.parametrize("algorithm", [a for a in EVERY if a.id != "gibbs"])
def test_a_function_in_place_of_a_target_is_told_the_way(algorithm):
    _, arguments, options = algorithm.cases[first_case(algorithm)]
    with pytest.raises(bl.BayeslibTypeError, match=r"write Target\(logdensity, dim=...\)"):
        algorithm.function(lambda theta: 0.0, *arguments, num_samples=5, rng=1, **options)


@pytest.mark.row(60)
@pytest.mark.parametrize("algorithm", EVERY)
def test_a_keyword_misspelt_is_named(algorithm):
    with pytest.raises(TypeError, match="num_sample'"):
        algorithm.run(first_case(algorithm), 1, num_sample=5)


@pytest.mark.row(28, 30)
@pytest.mark.parametrize("algorithm", EVERY)
@pytest.mark.parametrize("rng", [True, "one", 1.5, -1, np.random.RandomState(1)])
def test_bad_seeds_are_refused(algorithm, rng):
    with pytest.raises(bl.BayeslibError, match="rng"):
        algorithm.run(first_case(algorithm), rng)


@pytest.mark.row(25)
@pytest.mark.parametrize("algorithm", EVERY)
def test_an_integral_float_counts(algorithm):
    draws = algorithm.run(first_case(algorithm), 1, num_samples=200.0)
    assert draws.num_samples == 200


@pytest.mark.row(52)
@pytest.mark.parametrize("algorithm", EVERY)
def test_more_draws_than_memory_are_refused_before_the_density_is_touched(algorithm, monkeypatch):
    monkeypatch.setattr(bl.Target, "many", lambda *_: pytest.fail("evaluated"))
    monkeypatch.setattr(bl.Target, "bind", lambda *_: pytest.fail("bound"))
    with pytest.raises(MemoryError, match=r"needs [\d,.]+ GiB, [\d,.]+ GiB are free; ask for"):
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
