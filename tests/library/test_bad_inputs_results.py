"""Bad densities, proposals, weights and settings: what the result must say, or the error keep."""

import concurrent.futures as futures
import math
import re
import warnings

import numpy as np
import pytest
from bad_inputs import run, value_only
from densities import gaussian2
from registry import ALGORITHMS
from scipy import stats

import bayeslib as bl
from bayeslib import Draws, Gaussian, Target
from bayeslib.compile.arithmetic import FAST
from bayeslib.errors import (
    BayeslibError,
    BayeslibTypeError,
    BayeslibWarning,
    EnvelopeError,
    RejectionError,
    StartError,
    TargetError,
    ZeroWeightsError,
)
from bayeslib.exact.enumerate_posterior import Enumeration

pytestmark = pytest.mark.trust("S15")

LINE = Target(lambda theta: -0.5 * theta[0] ** 2, dim=1)

# What the density does


def raises_beyond_two(theta):
    if theta[0] > 2.0:
        raise ValueError("theta[0] is too large")
    return -0.5 * theta[0] ** 2


FIXED = {"metropolis": {"scale": 0.5}, "hmc": {"step_size": 0.3}, "nuts": {"step_size": 0.3}}


@pytest.mark.row(8)
@pytest.mark.parametrize("sampler", ["metropolis", "hmc", "nuts"])
def test_what_a_density_raises_comes_back_with_its_place_and_the_draws(sampler):
    target = Target(raises_beyond_two, dim=1, gradient=lambda theta: -theta)
    with pytest.raises(ValueError, match="too large") as caught:
        run(target, 0.1, sampler, num_samples=50_000, num_warmup=0, **FIXED[sampler])
    (note,) = caught.value.__notes__
    assert "theta=[" in note and "chain 0, iteration" in note
    assert np.all(caught.value.partial.values < 2.0) and caught.value.partial.num_samples > 1
    with pytest.raises(ValueError, match="too large") as caught:
        run(target, 3.0, sampler)
    assert "theta=[3.0]" in caught.value.__notes__[0]


@pytest.mark.row(10)
def test_an_index_out_of_bounds_is_found_at_the_start():
    target = value_only(lambda theta: -0.5 * theta[0] ** 2 + 0.0 * theta[5])
    with pytest.raises(IndexError) as caught:
        run(target)
    (note,) = caught.value.__notes__
    assert "theta=[0.1, 0.2]" in note and "does not notice an index out of bounds" in note


WEIGHT = np.array([1.0])


def reads_a_global(theta):
    return -0.5 * WEIGHT[0] * theta[0] ** 2


@pytest.mark.row(54)
def test_a_changed_global_array_is_seen_by_the_next_run():
    target = value_only(reads_a_global, dim=1)
    before = run(target, 0.5, num_samples=2000, num_warmup=500)
    WEIGHT[0] = 100.0
    try:
        after = run(target, 0.5, num_samples=2000, num_warmup=500)
        assert after.logdensity[0, -1] == -50.0 * after.values[0, -1, 0] ** 2
    finally:
        WEIGHT[0] = 1.0
    assert 5.0 < before.values.std() / after.values.std() < 20.0


@pytest.mark.row(58)
def test_no_fast_mathematics_that_breaks_the_guards():
    """With ninf or nnan the compiler may assume that these branches are never taken."""
    assert not {"fast", "nnan", "ninf", "afn"} & set(FAST)

    def guarded(theta):
        x = math.log(theta[0]) if theta[0] > 0.0 else math.nan
        if math.isnan(x):
            return -math.inf
        y = -math.inf if theta[0] > 2.0 else 0.0
        return 1.0 if y > -math.inf else 2.0

    target = value_only(guarded, dim=1)
    assert [target(x) for x in (-1.0, 1.0, 3.0)] == [-math.inf, 1.0, 2.0]
    half = value_only(lambda t: -t[0] if t[0] > 0.0 else math.nan, dim=1)
    with pytest.warns(BayeslibWarning, match="nan at"):
        draws = run(half, 1.0, num_samples=500)
    assert np.all(draws.values > 0.0) and np.isfinite(draws.values).all()


@pytest.mark.row(31)
@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda a: a.name)
def test_numpys_global_seed_does_nothing(algorithm):
    case = next(iter(algorithm.cases))
    values = []
    for seed in (1, 2):
        np.random.seed(seed)  # noqa: NPY002
        values.append(algorithm.run(case, 5, num_samples=50).values)
    np.testing.assert_array_equal(*values)


@pytest.mark.row(55)
@pytest.mark.parametrize("sampler", ["metropolis", "hmc", "nuts"])
def test_the_number_of_threads_does_nothing(sampler):
    options = {"num_chains": 3, "start": None, "sampler": sampler}
    alone = run(**options)
    for workers in (1, 2, 3):
        with futures.ThreadPoolExecutor(workers) as pool:
            np.testing.assert_array_equal(run(executor=pool, **options).values, alone.values)


@pytest.mark.row(52)
@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda a: a.name)
def test_more_draws_than_memory_are_refused_before_the_density_is_touched(algorithm, monkeypatch):
    case = next(iter(algorithm.cases))
    monkeypatch.setattr(Target, "many", lambda *_: pytest.fail("evaluated"))
    monkeypatch.setattr(Target, "bind", lambda *_: pytest.fail("bound"))
    with pytest.raises(MemoryError, match=r"needs [\d,.]+ GiB, [\d,.]+ GiB are free; ask for"):
        algorithm.run(case, 1, num_samples=10**13)


# What the run says


def centred_funnel():
    return bl.posteriors.funnel(10)


@pytest.mark.row(42)
def test_divergences_are_said_once_by_chain_and_their_places_kept():
    with pytest.warns(BayeslibWarning, match="diverged") as caught:
        draws = bl.nuts(
            centred_funnel(), num_samples=1000, num_warmup=300, target_accept=0.6, rng=1
        )
    said = [str(w.message) for w in caught if "diverged" in str(w.message)]
    counts = draws.stats["diverging"].sum(axis=1)
    assert len(said) == 1 and f"by chain: {', '.join(map(str, counts))}" in said[0]
    assert draws.settings["divergences"].shape == (counts.sum(), 10)
    assert np.isfinite(draws.settings["divergences"]).all()
    assert any("diverged" in problem and "reparameterise" in problem for problem in draws.problems)


def chains(num_chains=4, num_samples=500, seed=1):
    return np.random.default_rng(seed).standard_normal((num_chains, num_samples, 1))


@pytest.mark.row(43)
@pytest.mark.parametrize(
    ("draws", "words"),
    [
        (Draws(chains() + 0.3 * np.arange(4)[:, None, None]), "R-hat is 1.0"),
        (Draws(chains(1)), "one chain cannot show that it disagrees"),
        (Draws(chains(num_samples=60)), "bulk ESS is .* below 400"),
        (Draws(np.repeat(chains(num_samples=50), 20, axis=1)), "bulk ESS is .* below 400"),
        (Draws(np.cumsum(chains(), axis=1)), "R-hat is"),
    ],
)
def test_poor_chains_are_named_in_the_summary(draws, words):
    with_problem = "\n".join(line for line in str(draws.summary()).splitlines() if line[0] == "!")
    assert re.search(words, with_problem)
    assert "problems" in draws.summary()._repr_html_()


@pytest.mark.row(43)
def test_good_chains_have_no_problems():
    assert Draws(chains()).problems == ()


# Proposals and weights


@pytest.mark.row(45)
def test_an_envelope_that_is_too_low_is_an_error_that_says_where_and_how_much():
    wide = stats.norm(0.0, 2.0)
    needed = np.log(2.0 * np.sqrt(2.0 * np.pi))  # log p - log q at the mode
    with pytest.raises(EnvelopeError, match="rises above the envelope.*Use log_bound >=") as caught:
        bl.rejection_sample(LINE, wide, log_bound=needed - 0.1, num_samples=1000, rng=1)
    error = caught.value
    assert abs(error.position[0]) < 1.0 and 0.0 < error.log_ratio <= 0.1
    assert needed - 0.1 < error.needed_log_bound <= needed
    bl.rejection_sample(LINE, wide, log_bound=needed, num_samples=1000, rng=1)


@pytest.mark.row(46)
def test_rejection_that_never_accepts_ends_with_what_it_has():
    nowhere = Target(lambda theta: -math.inf if theta[0] < 9.0 else 0.0, dim=1)
    with pytest.raises(RejectionError, match=r"0 of 10 draws after .* at most") as caught:
        bl.rejection_sample(
            nowhere, stats.norm(0, 1), log_bound=50.0, num_samples=10, rng=1, max_proposals=1000
        )
    assert caught.value.partial.num_samples == 0
    rare = Target(lambda theta: 0.0 if 2.0 < theta[0] < 3.0 else -math.inf, dim=1)
    with pytest.raises(RejectionError, match="draws after") as caught:
        bl.rejection_sample(
            rare, stats.norm(0, 1), log_bound=9.0, num_samples=1000, rng=1, max_proposals=20_000
        )
    assert np.all(caught.value.partial.values > 2.0) and caught.value.partial.num_samples > 0


class Denies:
    """Draws points at which its own density is zero."""

    def sample(self, num_samples, rng):
        return rng.standard_normal((num_samples, 1))

    def logdensity(self, x):
        return np.where(x[:, 0] > 0.0, -0.5 * x[:, 0] ** 2, -np.inf)


@pytest.mark.row(47)
def test_a_proposal_that_denies_its_own_draws_is_named_with_the_place():
    with pytest.raises(BayeslibError, match=r"proposal Denies is -inf at theta=\[-"):
        bl.importance_sample(LINE, Denies(), num_samples=50, rng=1)
    with pytest.raises(BayeslibError, match=r"theta=\[-"):
        bl.rejection_sample(LINE, Denies(), log_bound=5.0, num_samples=50, rng=1)


@pytest.mark.row(48)
def test_no_weight_at_all_is_an_error_not_nan():
    nowhere = Target(lambda theta: -math.inf if theta[0] < 9.0 else 0.0, dim=1)
    with pytest.raises(ZeroWeightsError, match="none of 50 draws .* lies in the target's support"):
        bl.importance_sample(nowhere, stats.norm(0, 1), num_samples=50, rng=1)
    with pytest.raises(ZeroWeightsError, match="all 30 weights are zero"):
        bl.psis(np.full(30, -np.inf))
    weightless = Draws(chains(1, 30), log_weights=np.full((1, 30), -np.inf))
    asks = [
        weightless.expect,
        weightless.summary,
        lambda: weightless.sample(3, 1),
        lambda: bl.resample(weightless, num_samples=3, rng=1),
    ]
    for ask in asks:
        with pytest.raises(ZeroWeightsError, match="weights are zero"):
            ask()


@pytest.mark.row(49)
def test_one_weight_that_dominates_and_weights_without_a_variance_are_said():
    with pytest.warns(BayeslibWarning, match="k-hat|worth"):
        narrow = bl.importance_sample(
            Target(lambda theta: -math.log1p(theta[0] ** 2), dim=1),
            stats.norm(0, 0.3), num_samples=2000, rng=1,
        )  # fmt: skip
    assert narrow.settings["khat"] > 0.7 and "k-hat" in str(narrow.summary())
    with pytest.warns(BayeslibWarning, match="worth"):
        far = bl.importance_sample(LINE, stats.norm(9.0, 1.0), num_samples=200, rng=1)
    assert far.settings["ess"] < 10.0 and any("worth" in problem for problem in far.problems)


@pytest.mark.row(49)
def test_equal_weights_are_no_reason_to_warn():
    """k-hat is -inf: nothing sticks out."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        draws = bl.importance_sample(LINE, stats.norm(0, 1), num_samples=500, rng=1)
    assert draws.settings["ess"] == pytest.approx(500.0) and draws.problems == ()
    assert bl.psis(np.zeros(500))[1] == -np.inf


@pytest.mark.row(50)
@pytest.mark.parametrize(
    ("probabilities", "words"),
    [
        ([0.5, 0.6], "do not sum to 1"),
        ([1.5, -0.5], "not non-negative"),
        ([0.5, math.nan], "contain NaN"),
    ],
)
def test_probabilities_that_are_none_are_refused_when_drawn_from(probabilities, words):
    posterior = Enumeration(np.arange(2), np.array(probabilities), bl.Estimate(0.0, 0.0), 2)
    with pytest.raises(ValueError, match=words):
        posterior.sample(3, 1)


@pytest.mark.row(50)
@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ([0.5, 0.6], "sum to 1"),
        ([1.5, -0.5], "negative"),
        ([0.5, math.nan], r"weights\[1\] is nan"),
    ],
)
def test_weights_of_a_mixture_are_probabilities(weights, words):
    with pytest.raises(BayeslibError, match=words):
        bl.posteriors.mixture(weights, [0.0, 1.0], 1.0)
    with pytest.raises(BayeslibError, match=r"log_joint is nan for the hypothesis b"):
        bl.enumerate_posterior([0.0, math.nan], ["a", "b"])


# Data, constants, names


class Table:
    """What a data frame shows to numpy."""

    def __init__(self, *columns):
        self.columns = columns

    def __array__(self, dtype=None, copy=None):
        return np.array(self.columns, dtype=dtype).T


@pytest.mark.row(51)
def test_a_table_of_numbers_is_data_and_one_with_text_is_not():
    def logdensity(theta, y):
        return -np.sum((y[:, 1] - theta[0]) ** 2)

    table = Table([1.0, 2.0], [3.0, 5.0])
    assert value_only(logdensity, dim=1, data=(table,))(4.0) == -2.0
    for other in (Table([1.0, None], [3.0, 5.0]), Table(["a", "b"], ["c", "d"])):
        with pytest.raises(BayeslibTypeError, match=r"data\[0\] must hold numbers, got dtype"):
            value_only(logdensity, dim=1, data=(other,))
    with pytest.raises(StartError, match=r"data\[0\] holds 1 nan"):
        run(value_only(logdensity, dim=1, data=(Table([1.0, 2.0], [3.0, math.nan]),)), 0.0)


@pytest.mark.row(59)
def test_the_evidence_is_the_integral_of_what_was_given():
    """A constant left out is left out of the evidence too, exactly, and the manual says so."""
    constant = 7.25
    more = Target(lambda theta, c: c - 0.5 * theta[0] ** 2, dim=1, data=(constant,))
    calls = [
        lambda target, log_c: bl.importance_sample(target, stats.t(5), num_samples=500, rng=1),
        lambda target, log_c: bl.rejection_sample(
            target, stats.norm(0, 1), log_bound=0.92 + log_c, num_samples=500, rng=1
        ),
        lambda target, log_c: bl.grid_posterior(target, (-9, 9), num_points=500),
        lambda target, log_c: bl.quadrature(target, (-9, 9)),
    ]
    for call in calls:
        plain, shifted = call(LINE, 0.0), call(more, constant)
        difference = shifted.log_evidence.value - plain.log_evidence.value
        assert difference == pytest.approx(constant, abs=1e-9)
    assert "integral" in Draws.__doc__
    assert bl.nuts(LINE, num_samples=5, num_warmup=50, num_chains=1, rng=1).log_evidence is None


@pytest.mark.row(34)
@pytest.mark.parametrize(
    ("cov", "words"),
    [
        ([[1.0, 2.0], [2.0, 1.0]], "positive definite; its smallest eigenvalue is -1"),
        ([[1.0, 0.5], [0.4, 1.0]], "symmetric"),
        ([[0.0, 0.0], [0.0, 1.0]], "positive definite"),
    ],
)
def test_a_covariance_that_is_none(cov, words):
    for make in (Gaussian, bl.posteriors.gaussian):
        with pytest.raises(BayeslibError, match=f"cov must be {words}"):
            make([0.0, 0.0], cov)


@pytest.mark.row(60)
@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda a: a.name)
def test_a_keyword_misspelt_is_named(algorithm):
    with pytest.raises(TypeError, match="num_sample'"):
        algorithm.run(next(iter(algorithm.cases)), 1, num_sample=5)


@pytest.mark.row(4)
def test_an_infinite_density_of_a_weighted_draw():
    spike = Target(lambda theta: math.inf if theta[0] > 1.0 else -0.5 * theta[0] ** 2, dim=1)
    with pytest.raises(TargetError, match=r"\+inf at theta"):
        bl.importance_sample(spike, stats.norm(0, 1), num_samples=200, rng=1)
    assert math.isfinite(gaussian2()([0.0, 0.0]))
