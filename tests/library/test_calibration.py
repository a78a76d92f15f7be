"""The tests that calibrate samplers: exact on exact samplers, and plain about bad input."""

import signal

import numpy as np
import pytest
from bad_inputs import refused
from scipy import stats

import bayeslib as bl
from bayeslib.diagnostics.calibration.ranks import _chi_square, _z
from bayeslib.errors import BayeslibTypeError, BayeslibWarning

# theta ~ N(0, I), y ~ N(X theta, 1/4): the posterior is Gaussian.
X = np.column_stack([np.ones(5), np.linspace(-1.0, 1.0, 5)])
COV = np.linalg.inv(np.eye(2) + 4.0 * X.T @ X)
ROOT = np.linalg.cholesky(COV)


def prior(rng):
    return rng.standard_normal(2)


def simulate(theta, rng):
    return X @ theta + 0.5 * rng.standard_normal(5)


def likelihood(theta, y):
    return -2.0 * np.sum((y - X @ theta) ** 2)


def exact(y, rng, num_samples=99, factor=1.0, shift=0.0):
    z = rng.standard_normal((num_samples, 2))
    return 4.0 * COV @ X.T @ y + shift + factor * z @ ROOT.T


def sbc(fit=exact, **options):
    options = {"num_fits": 200, "rng": 1, "quantities": likelihood} | options
    return bl.simulation_based_calibration(prior, simulate, fit, **options)


def joint(transition, **options):
    options = {"num_steps": 20, "rng": 1, "quantities": likelihood} | options
    return bl.geweke_test(prior, simulate, transition, **options)


def one_draw(theta, y, rng):
    return exact(y, rng, 1)[0]


# Ranks


def test_ranks_of_an_exact_sampler_are_uniform():
    found = sbc(num_fits=600)
    assert found.ranks.shape == (600, 3) and found.ranks.dtype.kind == "i"
    assert found.ranks.min() == 0 and found.ranks.max() == 99
    assert found.pvalue > 1e-6 and found.problems == ()
    assert found.names == ("theta[0]", "theta[1]", "quantity")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"factor": 0.6}, "too narrow"),
        ({"factor": 1.7}, "too wide"),
        ({"shift": 0.25}, "too high"),
        ({"shift": -0.25}, "too low"),
    ],
)
def test_what_is_wrong_is_said(changes, words):
    found = sbc(lambda y, rng: exact(y, rng, **changes), num_fits=400)
    assert found.pvalue < 1e-6
    assert any(p.startswith("theta[0]") and words in p for p in found.problems)
    assert all(problem in str(found) for problem in found.problems)


def test_a_rank_is_the_number_of_draws_below_the_truth():
    """Against the definition, in the documented order of the stream."""
    found = sbc(num_fits=20, num_draws=19, rng=3)
    for generator, rank in zip(np.random.default_rng(3).spawn(20), found.ranks, strict=True):
        theta = generator.standard_normal(2)
        y = X @ theta + 0.5 * generator.standard_normal(5)
        draws = exact(y, generator)[np.linspace(0, 98, 19).round().astype(int)]
        assert list(rank[:2]) == list((draws < theta).sum(axis=0))
        assert rank[2] == sum(likelihood(draw, y) < likelihood(theta, y) for draw in draws)


def test_pvalues_of_uniform_ranks_are_uniform():
    """Each z and the chi-square over 2,000 replications, by DKW at 1e-6."""
    rng = np.random.default_rng(4)
    ranks = rng.integers(100, size=(500, 2000))
    bound = np.sqrt(np.log(2e6) / (2.0 * 2000))
    for z in _z(ranks, 99).T:
        assert stats.kstest(z, stats.norm.cdf).statistic < bound
    assert stats.kstest(_chi_square(ranks, 99), stats.uniform.cdf).statistic < bound
    crowded = _chi_square(np.minimum(ranks + 4, 99), 99)
    assert stats.kstest(crowded, stats.uniform.cdf).statistic > bound


def test_ties_are_ranked_at_random():
    found = bl.simulation_based_calibration(
        lambda rng: rng.integers(2),
        lambda theta, rng: None,
        lambda data, rng: rng.integers(2, size=99),
        num_fits=2000,
        rng=5,
    )
    assert found.pvalue > 1e-6
    assert len(np.unique(found.ranks)) > 80


def test_every_kind_of_fit_is_taken():
    def chains(y, rng):
        return bl.Draws(exact(y, rng, 1000).reshape(2, 500, 2))

    def weighted(y, rng):
        draws = 2.0 * rng.standard_normal((8000, 2))
        misfit = np.sum((y - draws @ X.T) ** 2, axis=1)
        log_posterior = -2.0 * misfit - 0.375 * np.sum(draws**2, axis=1)
        return bl.Draws(draws[None], log_weights=log_posterior[None])

    def gaussian(y, rng):
        return bl.Gaussian(4.0 * COV @ X.T @ y, COV)

    for fit in (chains, gaussian):
        assert sbc(fit).pvalue > 1e-6
    assert sbc(weighted, num_fits=50).pvalue > 1e-6
    assert sbc(lambda y, rng: bl.Gaussian(np.zeros(2), COV)).pvalue < 1e-6


def test_fits_worth_too_little_are_counted_and_said():
    def sticky(y, rng):
        return bl.Draws(np.repeat(exact(y, rng, 50), 20, axis=0)[None])

    with pytest.warns(BayeslibWarning, match="fewer than 99 independent draws"):
        found = sbc(sticky, num_fits=40)
    assert found.num_short == 40 and "run the fits longer" in found.problems[-1]

    def scarce(y, rng):
        return bl.Draws(exact(y, rng, 50)[None], log_weights=np.zeros((1, 50)))

    with pytest.warns(BayeslibWarning, match="fewer than 99 independent draws"):
        assert sbc(scarce, num_fits=20).num_short == 20


def test_an_interrupt_keeps_the_fits_done():
    done = []

    def fit(y, rng):
        if len(done) == 25:
            signal.raise_signal(signal.SIGINT)
        done.append(y)
        return exact(y, rng)

    found = sbc(fit)
    assert found.interrupted and found.ranks.shape == (25, 3)
    assert "first 25 fits" in found.problems[0]
    np.testing.assert_array_equal(found.ranks, sbc().ranks[:25])
    done[:] = [0] * 20
    with pytest.raises(KeyboardInterrupt):
        sbc(fit)


# The joint distribution


def test_an_exact_sampler_agrees():
    found = joint(one_draw, num_chains=200, names=["a", "b", "fit"])
    assert found.pvalue > 1e-6 and found.problems == ()
    assert found.forward.shape == (4000, 3) and found.chains.shape == (200, 20, 3)
    assert "joint test: 200 chains of 20 steps" in str(found) and "fit" in str(found)


@pytest.mark.parametrize(("factor", "words"), [(0.5, "too narrow"), (1.8, "too wide")])
def test_a_sampler_of_another_width_is_found(factor, words):
    found = joint(lambda theta, y, rng: exact(y, rng, 1, factor)[0])
    assert found.pvalue < 1e-6
    assert any(words in problem for problem in found.problems)


def test_a_sampler_that_drifts_is_found_and_its_direction_said():
    found = joint(lambda theta, y, rng: exact(y, rng, 1, shift=0.1)[0])
    assert any("too high" in problem for problem in found.problems)


def test_a_sampler_that_ignores_the_data_is_found_by_the_likelihood_alone():
    found = joint(lambda theta, y, rng: prior(rng))
    assert found.pvalues[:2].min() > 1e-6 and found.pvalues[2].min() < 1e-6


def test_t_has_students_distribution():
    """400 t of an exact sampler, with chains that depend on their past; DKW at 1e-6."""

    def lazy(theta, y, rng):
        return theta if rng.random() < 0.5 else exact(y, rng, 1)[0]

    t = np.concatenate(
        [
            joint(lazy, num_chains=20, num_steps=10, quantities=None, rng=s).t.ravel()
            for s in range(100)
        ]
    )
    bound = np.sqrt(np.log(2e6) / (2.0 * 100))  # four a run, which are not independent
    assert stats.kstest(t, stats.t(19).cdf).statistic < bound
    assert stats.kstest(2.0 * t, stats.t(19).cdf).statistic > bound / 2


def test_the_stream_is_used_in_the_documented_order():
    found = joint(one_draw, num_chains=10, num_steps=3, rng=6, quantities=None)
    first, second = np.random.default_rng(6).spawn(11)[:2]
    theta = first.standard_normal(2)
    np.testing.assert_array_equal(found.forward[0], theta)
    theta = second.standard_normal(2)
    for step in range(3):
        y = simulate(theta, second)
        theta = one_draw(theta, y, second)
        np.testing.assert_array_equal(found.chains[0, step], theta)


# Bad input


test_bad_arguments_are_named = refused(
    (lambda: sbc(3), BayeslibTypeError, "fit must be callable, got 3"),
    (lambda: sbc(quantities=1.0), BayeslibTypeError, "quantities must be callable"),
    (lambda: sbc(num_fits=19), "num_fits must be at least 20"),
    (lambda: sbc(num_draws=2), "num_draws must be at least 9"),
    (lambda: sbc(rng="x"), BayeslibTypeError, "cannot seed"),
    (lambda: sbc(names=["a"]), r"1 names for 3 quantities \(2 parameters"),
    (lambda: sbc(lambda y, rng: exact(y, rng, 50)), r"num_draws=99 or more .*\(50, "),
    (lambda: sbc(lambda y, rng: rng.random((99, 3))), "draws of 2 parameters"),
    (lambda: sbc(lambda y, rng: "no"), BayeslibTypeError, "fit must hold real numbers"),
    (lambda: sbc(lambda y, rng: np.full((99, 2), np.nan)), "must be finite"),
    (lambda: sbc(quantities=lambda t, y: -np.inf), "quantities returned"),
    (lambda: sbc(quantities=lambda t, y: np.eye(2)), "a vector of numbers"),
    (lambda: joint(None), BayeslibTypeError, "transition must be callable"),
    (lambda: joint(one_draw, num_chains=9), "num_chains must be at least 10"),
    (lambda: joint(one_draw, num_steps=0), "num_steps must be at least 1"),
    (lambda: joint(lambda t, y, rng: t[:1]), r"theta of shape \(2,\), got \(1,"),
    (lambda: joint(lambda t, y, rng: t * np.nan), "transition returned"),
    (
        lambda: bl.geweke_test(prior, "data", one_draw, rng=1),
        BayeslibTypeError,
        "simulate must be callable",
    ),
)


def test_an_error_in_a_fit_says_which():
    left = [True] * 27
    with pytest.raises(IndexError) as error:
        sbc(lambda y, rng: left.pop() and exact(y, rng))
    assert error.value.__notes__ == ["bayeslib: in fit 27 of simulation-based calibration"]
    np.testing.assert_array_equal(error.value.partial.ranks, sbc().ranks[:27])


def test_a_transition_may_change_its_argument():
    def careless(theta, y, rng):
        theta[:] = exact(y, rng, 1)[0]
        return theta

    np.testing.assert_array_equal(joint(careless).chains, joint(one_draw).chains)


def test_an_interrupt_keeps_the_chains_done():
    left = [15]

    def transition(theta, y, rng):
        if left[0] == 0:
            signal.raise_signal(signal.SIGINT)
        left[0] -= 1
        return exact(y, rng, 1)[0]

    short = {"num_steps": 1, "num_chains": 40}
    found = joint(transition, **short)
    whole = joint(one_draw, **short)
    assert found.interrupted and "first 15 chains" in found.problems[0]
    assert not whole.interrupted
    np.testing.assert_array_equal(found.chains, whole.chains[:15])
    np.testing.assert_array_equal(found.forward, whole.forward)
    left[0] = 9
    with pytest.raises(KeyboardInterrupt):
        joint(transition, **short)
