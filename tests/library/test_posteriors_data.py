"""Posteriors on data, each against something else: regressions, counts and a diagnosis.

What is asked of every posterior is asked of these in test_posteriors.py.
"""

import itertools

import numpy as np
import pytest
from bad_inputs import refused
from scipy import special, stats

from bayeslib import enumerate_posterior, posteriors
from bayeslib.errors import BayeslibError, BayeslibTypeError
from bayeslib.posteriors.counts import DISASTERS, FAILURES, HOURS
from bayeslib.posteriors.regressions import DISTRESS, TEMPERATURES

RNG = np.random.default_rng(7)
X = np.column_stack([np.ones(40), RNG.normal(size=(40, 2))])
OUTCOMES = X @ [1.0, -2.0, 0.5] + RNG.normal(size=40)
LABELS = (OUTCOMES > 0.5).astype(float)

TARGETS = {
    "linear": posteriors.linear_regression(X, OUTCOMES, noise_scale=1.5, prior_scale=[1, 2, 3]),
    "logistic(1)": posteriors.logistic_regression(X[:, :1], LABELS, prior_scale=2.0),
    "logistic(2)": posteriors.logistic_regression(X[:, 1:], LABELS, prior_scale=[2.0, 0.5]),
    "challenger": posteriors.challenger(),
    "pumps": posteriors.pumps(),
    "coal_mining": posteriors.coal_mining(),
}


# Densities


def log_normal_prior(theta, scale):
    return stats.norm.logpdf(theta, 0.0, scale).sum(axis=1)


def log_bernoulli(logits, y):
    return stats.bernoulli.logpmf(y, special.expit(logits)).sum(axis=1)


def pumps_density(x):
    alpha, beta, rates = np.exp(x[:, :1]), np.exp(x[:, 1:2]), np.exp(x[:, 2:])
    return (
        stats.expon.logpdf(alpha[:, 0])
        + stats.gamma.logpdf(beta[:, 0], 0.1)
        + stats.gamma.logpdf(rates, alpha, scale=1.0 / beta).sum(axis=1)
        + stats.poisson.logpmf(FAILURES, rates * HOURS).sum(axis=1)
        + x.sum(axis=1)
    )


def coal_density(x):
    early, late = np.exp(x[:, :1]), np.exp(x[:, 1:])
    years = np.arange(DISASTERS.size)
    by_year = [
        stats.poisson.logpmf(DISASTERS, np.where(years < k, early, late)).sum(axis=1)
        for k in range(1, DISASTERS.size)
    ]
    log_likelihood = special.logsumexp(by_year, axis=0) - np.log(len(by_year))
    return log_likelihood + x.sum(axis=1) - early[:, 0] - late[:, 0]


SAME = {
    "linear": lambda x: (
        log_normal_prior(x, [1, 2, 3]) + stats.norm.logpdf(OUTCOMES, x @ X.T, 1.5).sum(axis=1)
    ),
    "logistic(1)": lambda x: log_normal_prior(x, 2.0) + log_bernoulli(x @ X[:, :1].T, LABELS),
    "logistic(2)": lambda x: (
        log_normal_prior(x, [2.0, 0.5]) + log_bernoulli(x @ X[:, 1:].T, LABELS)
    ),
    "challenger": lambda x: (
        log_normal_prior(x, 5.0)
        + log_bernoulli(x[:, :1] + x[:, 1:] * (TEMPERATURES - 70.0) / 10.0, DISTRESS)
    ),
    "pumps": pumps_density,
    "coal_mining": coal_density,
}


def test_coal_mining_far_out_is_impossible_not_undefined():
    for theta in ([800.0, 0.0], [0.0, 800.0], [-1e4, 900.0]):
        assert TARGETS["coal_mining"](theta) == -np.inf
        assert np.all(TARGETS["coal_mining"].gradient(theta) == 0.0)


# Truths


STEPS = np.column_stack([np.ones(6), np.arange(6) - 2.5])
SEPARATED = (np.arange(6) > 2.5).astype(float)


@pytest.mark.parametrize("prior_scale", [0.3, 6.0])
def test_separated_data_with_a_long_tail(prior_scale):
    """No maximum of the likelihood: the posterior leans on the prior, far from Gaussian."""
    truth = posteriors.logistic_regression(STEPS, SEPARATED, prior_scale=prior_scale).truth
    a = np.linspace(-14.0 * prior_scale, 14.0 * prior_scale, 1201)
    grid = np.stack(np.meshgrid(a, a, indexing="ij"), axis=-1).reshape(-1, 2)
    log_p = log_normal_prior(grid, prior_scale)
    for row, y in zip(STEPS, SEPARATED, strict=True):
        log_p += special.log_expit((grid @ row) * (2.0 * y - 1.0))
    weights = np.exp(log_p - log_p.max())
    step = a[1] - a[0]
    expected = np.log(weights.sum() * step**2) + log_p.max()
    assert truth.log_evidence == pytest.approx(expected, abs=1e-8)
    np.testing.assert_allclose(truth.mean, weights @ grid / weights.sum(), atol=1e-7 * prior_scale)


def test_a_truth_that_would_take_too_long_is_not_known():
    assert posteriors.logistic_regression(STEPS, SEPARATED, prior_scale=1e4).truth is None


def test_challenger_in_numbers_that_others_published():
    """Maximum likelihood: logit p = 15.0429 - 0.2322 t (Dalal et al. 1989)."""
    flat = posteriors.challenger(prior_scale=1e6)
    theta = np.array([15.0429 - 0.2322 * 70.0, -2.322])
    spread = np.sqrt(np.diag(flat.truth.cov))
    assert np.abs(flat.gradient(theta) * spread).max() < 1e-2
    assert (TEMPERATURES.size, DISTRESS.sum()) == (23, 7)
    truth = TARGETS["challenger"].truth
    at_31 = truth.sample(20_000, 3) @ [1.0, -3.9]
    assert special.expit(at_31).mean() > 0.95


def test_linear_regression_is_the_gaussian_of_the_textbook():
    truth = TARGETS["linear"].truth
    prior = np.diag([1.0, 4.0, 9.0])
    joint = X @ prior @ X.T + 1.5**2 * np.eye(len(X))
    evidence = stats.multivariate_normal(np.zeros(len(X)), joint).logpdf(OUTCOMES)
    gain = np.linalg.solve(joint, X @ prior).T
    assert truth.log_evidence == pytest.approx(evidence, rel=1e-11)
    np.testing.assert_allclose(truth.mean, gain @ OUTCOMES, rtol=1e-10)
    np.testing.assert_allclose(truth.cov, prior - gain @ X @ prior, rtol=1e-9, atol=1e-13)


def test_pumps_by_the_trapezium_rule():
    """Rates integrated out as negative binomials of scipy, then a plain grid."""
    log_alpha, log_beta = np.arange(-6.0, 3.5, 0.02), np.arange(-30.0, 5.0, 0.03)
    a, b = np.exp(log_alpha)[:, None], np.exp(log_beta)
    log_p = stats.expon.logpdf(a) + stats.gamma.logpdf(b, 0.1) + np.log(a) + np.log(b)
    for x, t in zip(FAILURES, HOURS, strict=True):
        log_p = log_p + stats.nbinom.logpmf(x, a, b / (b + t))
    weights = np.exp(log_p - log_p.max())
    truth = TARGETS["pumps"].truth
    expected = np.log(weights.sum() * 0.02 * 0.03) + log_p.max()
    assert truth.log_evidence == pytest.approx(expected, abs=1e-9)
    weights /= weights.sum()
    assert truth.mean[0] == pytest.approx(weights.sum(axis=1) @ log_alpha, abs=1e-9)
    assert truth.mean[1] == pytest.approx(weights.sum(axis=0) @ log_beta, abs=1e-9)
    rate = special.digamma(a + FAILURES[9]) - np.log(b + HOURS[9])
    assert truth.mean[11] == pytest.approx(np.sum(weights * rate), abs=1e-9)
    for p in (0.025, 0.5, 0.975):
        below = weights[log_alpha <= truth.quantiles[p][0]].sum()
        assert below == pytest.approx(p, abs=0.02)
        cdf = special.gammainc(a + FAILURES[9], (b + HOURS[9]) * np.exp(truth.quantiles[p][11]))
        assert np.sum(weights * cdf) == pytest.approx(p, abs=1e-9)


def test_coal_mining_against_the_record():
    assert (DISASTERS.size, DISASTERS.sum()) == (112, 191)
    truth = TARGETS["coal_mining"].truth
    early, late = np.exp(truth.mean)
    assert 2.5 < early < 3.5 and 0.7 < late < 1.2  # three a year until about 1890, then one


# Diagnosis

PRIOR = np.array([0.01, 0.1, 0.2, 0.05])
STRENGTHS = np.array([[0.9, 0.1, 0, 0.5], [0.2, 0.3, 0.4, 0], [0, 0.7, 0.3, 0.2], [0.1, 0, 0.6, 0]])
FINDINGS = np.array([1, 0, 1, 1])


def log_joint_by_hand(d, leak):
    total = 0.0
    for j, present in enumerate(d):
        total += np.log(PRIOR[j] if present else 1.0 - PRIOR[j])
    for f, finding in enumerate(FINDINGS):
        absent = 1.0 - leak[f]
        for j, present in enumerate(d):
            absent *= 1.0 - STRENGTHS[f, j] if present else 1.0
        total += np.log(1.0 - absent if finding else absent)
    return total


def test_noisy_or_by_hand():
    leak = np.array([0.01, 0.02, 0.03, 0.04])
    model = posteriors.noisy_or(FINDINGS, PRIOR, STRENGTHS, leak=leak)
    every = np.array(list(itertools.product([0, 1], repeat=4)))
    np.testing.assert_array_equal(model.hypotheses(), every)
    by_hand = np.array([log_joint_by_hand(d, leak) for d in every])
    np.testing.assert_allclose(model.many(every), by_hand, rtol=1e-13)
    assert model.log_joint(every[5]) == pytest.approx(by_hand[5])
    found = enumerate_posterior(model.log_joint, every)
    np.testing.assert_allclose(found.expect(lambda d: d).value, model.truth.mean, rtol=1e-12)
    assert found.log_evidence.value == pytest.approx(model.truth.log_evidence, rel=1e-13)
    np.testing.assert_allclose(np.diag(model.truth.cov), model.truth.mean * (1 - model.truth.mean))


def test_noisy_or_draws():
    truth = posteriors.noisy_or(FINDINGS, PRIOR, STRENGTHS, leak=0.01).truth
    x = truth.sample(20_000, 4)
    z = (x.mean(axis=0) - truth.mean) / np.sqrt(np.diag(truth.cov) / 20_000)
    assert np.abs(z).max() < 5.5  # four tests, alpha below 1e-6
    wrong = (x.mean(axis=0) - PRIOR) / np.sqrt(PRIOR * (1.0 - PRIOR) / 20_000)
    assert np.abs(wrong).max() > 5.5


# Bad input


def with_nan(array, *places):
    array = np.array(array, dtype=float)
    for place in places:
        array[place] = np.nan
    return array


def logistic(x, y, **options):
    return posteriors.logistic_regression(x, y, **{"prior_scale": 1.0} | options)


def diagnosis(findings=FINDINGS, prior=PRIOR, strengths=STRENGTHS, **options):
    return posteriors.noisy_or(findings, prior, strengths, **options)


@pytest.mark.row(51)
def test_missing_data_are_counted():
    words = r"X\[3, 1\] is nan \(2 entries are not, 2 of them nan\); leave out these rows"
    for make in (logistic, lambda x, y: posteriors.linear_regression(
        x, y, noise_scale=1.0, prior_scale=1.0)):  # fmt: skip
        with pytest.raises(BayeslibError, match=words):
            make(with_nan(X, (3, 1), (7, 0)), LABELS)
    with pytest.raises(BayeslibError, match=r"y must be finite, y\[2\] is nan; leave"):
        logistic(X, with_nan(LABELS, 2))
    with pytest.raises(BayeslibTypeError, match="X must hold real numbers"):
        logistic([["a", "b"]], [1.0])


test_bad_arguments_are_named = refused(
    (lambda: logistic(X, LABELS + 1.0), r"y must be 0 or 1, y\[\d+\] is 2 .*; write"),
    (lambda: logistic(X[:5], LABELS), r"got \(5, 3\) and \(40,\)"),
    (lambda: logistic(X[:, 0], LABELS), r"X must have shape \(n, dim\)"),
    (lambda: logistic(np.ones((0, 2)), []), "n at least 1"),
    (lambda: logistic(X, LABELS, prior_scale=0.0), "prior_scale must be positive"),
    (lambda: logistic(X, LABELS, prior_scale=[1.0, 2.0]), r"shape \(3,\)"),
    (
        lambda: posteriors.linear_regression(X, OUTCOMES, noise_scale=-1.0, prior_scale=1.0),
        "noise_scale must be positive, got -1.0",
    ),
    (lambda: posteriors.challenger(prior_scale=np.nan), "must be positive"),
    (lambda: diagnosis(findings=[1, 2, 0, 0]), r"findings\[1\] is 2"),
    (lambda: diagnosis(findings=with_nan(FINDINGS, 2)), r"findings\[2\] is nan"),
    (lambda: diagnosis(findings=[1, 0]), "strengths must have shape"),
    (lambda: diagnosis(prior=PRIOR + 1.0), r"prior must be from 0 to 1, prior\[0\]"),
    (lambda: diagnosis(strengths=STRENGTHS + 0.1), r"below 1, strengths\[0, 0\]"),
    (lambda: diagnosis(leak=1.0), "leak must be from 0 to below 1, leak is 1"),
    (lambda: diagnosis(leak=[0.1, 0.2]), "leak must be a number or"),
    (lambda: diagnosis(names=["a"] * 4), "names must be 4 different"),
    (lambda: diagnosis().many([[1, 0]]), r"diseases must have shape \(n, 4\)"),
    (lambda: diagnosis().log_joint([1, 0, 0.5, 0]), r"diseases\[0, 2\] is 0.5"),
    (
        lambda: posteriors.noisy_or([1], np.full(25, 0.1), np.ones((1, 25)) / 2).truth,
        r"2\*\*25 hypotheses; at most 20",
    ),
    (lambda: posteriors.noisy_or([1], [0.5], [[0.0]], leak=0.0).truth, "give a leak above 0"),
)
