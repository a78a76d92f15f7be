"""Simple Monte Carlo and the inverse of a distribution function."""

import numpy as np
import pytest
from bad_inputs import refused
from scipy import stats
from twins import plain_twin

import bayeslib as bl
from bayeslib import posteriors
from bayeslib.errors import BayeslibTypeError

TARGET = posteriors.gamma_student()


def test_an_expectation_in_closed_form():
    estimate = bl.monte_carlo(np.exp, stats.norm(), num_samples=100_000, rng=1)
    assert isinstance(estimate.value, float) and estimate.num_evals == 100_000
    assert abs(estimate.z(np.exp(0.5))) < 4.9
    # Var exp(X) = (e - 1) e
    assert estimate.mcse == pytest.approx(np.sqrt((np.e - 1.0) * np.e / 1e5), rel=0.1)


def test_many_functions_at_once_and_every_kind_of_sampler():
    def moments(theta):
        return np.column_stack([theta[:, 0], theta[:, 0] ** 2])

    exact = np.array([TARGET.truth.mean[0], TARGET.truth.cov[0, 0] + TARGET.truth.mean[0] ** 2])
    from_truth = bl.monte_carlo(moments, TARGET.truth.sample, num_samples=20_000, rng=2)
    assert np.abs(from_truth.z(exact)).max() < 5.0
    approximation = bl.Gaussian(np.array([1.0]), np.array([[4.0]]))
    found = bl.monte_carlo(moments, approximation, num_samples=20_000, rng=2)
    assert np.abs(found.z(np.array([1.0, 5.0]))).max() < 5.0


def test_error_covers_as_often_as_it_says():
    """400 runs: the share within 2 standard errors is 0.954 up to 0.051 at alpha 1e-6."""
    z = np.array(
        [bl.monte_carlo(np.square, stats.norm(), num_samples=500, rng=s).z(1.0) for s in range(400)]
    )
    assert np.mean(np.abs(z) < 2.0) == pytest.approx(0.954, abs=0.051)
    assert np.mean(np.abs(z / 2.0) < 2.0) > 0.954 + 0.04  # an error twice too large would show


@pytest.mark.trust("S11")
def test_inverse_distribution_function_draws_exactly():
    """DKW at alpha 1e-6, and the inverse of a shifted one must fail."""
    bound = np.sqrt(np.log(2e6) / (2.0 * 50_000))
    draws = bl.inverse_cdf_sample(stats.expon.ppf, num_samples=50_000, rng=4)
    assert stats.kstest(draws, stats.expon.cdf).statistic < bound
    assert stats.kstest(draws + 0.02, stats.expon.cdf).statistic > bound
    uniforms = np.random.default_rng(4).random(50_000)
    np.testing.assert_array_equal(draws, stats.expon.ppf(uniforms))


@pytest.mark.trust("S11")
def test_inverse_of_a_discrete_distribution_function():
    p = np.array([0.2, 0.5, 0.3])
    draws = bl.inverse_cdf_sample(
        lambda u: np.searchsorted(np.cumsum(p), u, side="right"), num_samples=30_000, rng=5
    )
    assert draws.dtype.kind == "i"
    share = np.bincount(draws, minlength=3) / 30_000
    assert np.abs(share - p).max() < 5.1 * np.sqrt(0.25 / 30_000)


test_bad_arguments_are_named = refused(
    ((3, stats.norm(), {}), BayeslibTypeError, "f must be callable"),
    ((np.exp, 3, {}), BayeslibTypeError, "sample must be"),
    ((np.exp, stats.norm, {}), BayeslibTypeError, "not frozen"),
    ((np.exp, stats.norm(), {"num_samples": 1}), "at least 2"),
    ((lambda x: None, stats.norm(), {}), BayeslibTypeError, "f must return numbers"),
    ((lambda x: x * np.nan, stats.norm(), {}), "f is nan at draw 0"),
    ((lambda x: np.where(x > 0, np.inf, x), stats.norm(), {}), "f is inf at"),
    ((np.exp, lambda n, rng: rng.random(n - 1), {}), "when asked for 100"),
    ((np.exp, stats.norm(), {"rng": "x"}), BayeslibTypeError, "cannot seed"),
    by=lambda f, sample, options: bl.monte_carlo(
        f, sample, **{"num_samples": 100, "rng": 1} | options
    ),
)


test_bad_quantile_functions_are_named = refused(
    (None, BayeslibTypeError, "ppf must be callable"),
    (lambda u: np.array([u, u]).T, "ppf must return one number for each"),
    (lambda u: np.where(u > 0.5, np.nan, u), r"ppf\(0\.\d+\) is nan"),
    (lambda u: -u, "quantile function increases"),
    by=lambda ppf: bl.inverse_cdf_sample(ppf, num_samples=100, rng=1),
)


def test_a_sampler_with_other_arguments_is_told_its_own():
    with pytest.raises(AttributeError) as error:
        bl.monte_carlo(np.exp, lambda rng, n: rng.random(n), num_samples=5, rng=1)
    assert "sample(num_samples, rng)" in error.value.__notes__[0]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_page_has_plain_twins(seed):
    prior, options = stats.gamma(3), {"num_samples": 500, "rng": seed}
    plain = plain_twin("monte_carlo", "monte_carlo")(np.sqrt, prior, **options)
    fast = bl.monte_carlo(np.sqrt, prior, **options)
    np.testing.assert_allclose(plain, (fast.value, fast.mcse), rtol=1e-10)
    plain = plain_twin("monte_carlo", "inverse_cdf_sample")(prior.ppf, **options)
    np.testing.assert_array_equal(plain, bl.inverse_cdf_sample(prior.ppf, **options))
    other = bl.monte_carlo(np.sqrt, prior, num_samples=500, rng=seed + 9)
    assert other.value != fast.value
