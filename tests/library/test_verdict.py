"""The verdict on Gaussian fits: what is accused is off, what is off is accused, in true words."""

import numpy as np
import pytest
from calling import quietly
from outside_models import OUTSIDE
from scipy import stats
from sparing import over

import bayeslib as bl
from bayeslib import Gaussian, posteriors
from bayeslib.variational import verdict
from bayeslib.variational.verdict import checked

BOOK = {
    "challenger": posteriors.challenger,
    "coal mining": posteriors.coal_mining,
    "eight schools": posteriors.eight_schools,
    "gamma and student": posteriors.gamma_student,
    "coin, 110 throws": lambda: posteriors.coin(80, 30),
    "correlated": lambda: posteriors.gaussian([1.0, -2.0], [[1.0, 0.9], [0.9, 1.0]]),
    "pumps": posteriors.pumps,
    "coin, 10 throws": lambda: posteriors.coin(8, 2),
    "less correlated": lambda: posteriors.gaussian([1.0, -2.0], [[1.0, 0.5], [0.5, 1.0]]),
    "schools, centred": lambda: posteriors.eight_schools(centered=True),
    "banana": lambda: posteriors.banana(1.2, width=0.5),
    "funnel": lambda: posteriors.funnel(3),
    "two modes": lambda: posteriors.mixture([0.3, 0.7], [-2.0, 3.0], [1.0, 0.25]),
}
FITS = {
    "laplace": lambda target, seed: bl.laplace(target),
    "mean-field advi": lambda target, seed: bl.advi(target, rng=seed),
    "full-rank advi": lambda target, seed: bl.advi(target, family="fullrank", rng=seed),
    "bbvi": lambda target, seed: bl.bbvi(target, rng=seed),
    "pathfinder": lambda target, seed: bl.pathfinder(target, rng=seed),
}


def facts(fit, truth):
    """Spreads over the truth's, and the largest miss of a mean in the truth's spreads."""
    table, sd = fit.summary(), np.sqrt(np.diag(truth.cov))
    spread = np.array([table[name, "sd"] for name in fit.names]) / sd
    return spread, np.max(np.abs(fit.expect().value - truth.mean) / sd)


def is_off(fit, truth):
    spread, miss = facts(fit, truth)
    return spread.min() < 0.8 or spread.max() > 1.3 or miss > 0.5


def is_near(fit, truth):
    spread, miss = facts(fit, truth)
    return spread.min() > 0.9 and spread.max() < 1.15 and miss < 0.3


def fits(name, seed):
    target = BOOK[name]()
    for method, fit in FITS.items():
        if method != "laplace" or (seed == 0 and name != "schools, centred"):  # it has no mode
            yield method, target, quietly(fit, target, seed)


CASES = [(name, seed) for seed in range(20) for name in BOOK]


@pytest.mark.trust("M8")
@over(("name", "seed"), CASES, few=4, rest=[pytest.mark.slow, pytest.mark.study])
def test_what_is_off_is_accused_and_nothing_that_is_near(name, seed):
    """Each fit of a posterior of the book; what lies between may be told or not."""
    for method, target, fit in fits(name, seed):
        said = (method, fit.problems, *facts(fit, target.truth))
        assert fit.problems or not is_off(fit, target.truth), said
        assert not (fit.problems and is_near(fit, target.truth)), said


def test_k_hat_of_two_thousand_draws_would_do_both():
    """The twin: it accuses fits that are near, and lets others pass whose spreads are 0.7."""
    accused = missed = 0
    for name, family in (("coal mining", "fullrank"), ("eight schools", "meanfield")):
        target = BOOK[name]()
        for seed in range(4):
            fit = quietly(bl.advi, target, family=family, rng=seed)
            free = bl.unconstrained(target)
            weighed = verdict.weigh(free, fit.base, 2000, np.random.default_rng(seed))
            objects = verdict._khat(weighed.logdensity - weighed.log_q) > 0.7
            accused += objects and is_near(fit, target.truth)
            missed += is_off(fit, target.truth) and not objects
            assert bool(fit.problems) == is_off(fit, target.truth)
    assert accused >= 3 and missed >= 2


OUTSIDERS = {
    "random effects logit": ("laplace",),
    "probit": ("laplace", "full-rank advi"),
    "own: weibull": ("laplace", "full-rank advi"),
    "own: missing": ("laplace", "mean-field advi"),
    "own: change_point": ("full-rank advi",),
    "zero inflated": ("full-rank advi",),
    "own: ordinal": ("mean-field advi",),
    "own: gaussian_process": ("mean-field advi",),
}


@pytest.mark.trust("M8")
@over("name", OUTSIDERS, few=2)
def test_models_from_outside(name):
    """Laplace is more than a posterior spread off here and there; full-rank fits are near."""
    target = OUTSIDE[name]
    for method in OUTSIDERS[name]:
        for seed in range(1 if method == "laplace" else 3):
            fit = quietly(FITS[method], target, seed)
            assert bool(fit.problems) == is_off(fit, target.truth), (method, fit.problems)


# Its parts

NARROW = Gaussian([0.0, 0.0], np.diag([0.5, 1.0]))
SQUARE = posteriors.gaussian([0.0, 0.0], np.eye(2))


def of(target, gaussian, num_check=2000, seed=1, **settings):
    q = Gaussian(gaussian.mean, gaussian.cov, names=("a", "b")[: gaussian.dim], settings=settings)
    return quietly(checked, target, q, num_check, np.random.default_rng(seed))


def test_its_words_name_the_parameter_the_ratio_and_the_remedy():
    (said,) = of(SQUARE, NARROW, family="meanfield").problems
    assert said.startswith("a's spread is 0.7") and "importance_sample from it may correct" in said
    assert 'try family="fullrank"' in said and "parameters are off" not in said
    (said,) = of(SQUARE, Gaussian([0.8, -1.5], np.eye(2))).problems
    assert said.startswith("b's mean is 1.5") and "2 of 2 parameters are off" in said
    assert "fullrank" not in said and "spread" not in said
    (said,) = of(SQUARE, Gaussian([0.0, 0.0], 4.0 * np.eye(2))).problems
    assert "spread is 2.0" in said
    (said,) = of(SQUARE, Gaussian([40.0, 0.0], np.eye(2))).problems
    assert "k-hat is" in said and "misses much of the posterior" in said


@pytest.mark.parametrize("ratio", [0.9, 1.0, 1.1])
def test_a_spread_that_is_near_is_not_accused(ratio):
    for seed in range(10):
        assert of(SQUARE, Gaussian([0.2, 0.0], ratio**2 * np.eye(2)), seed=seed).problems == ()


def test_the_wide_draws_have_their_density():
    """Against SciPy's multivariate Student-t, and they reach what the Gaussian's do not."""
    q = Gaussian([1.0, -2.0], [[2.0, 0.5], [0.5, 1.0]])
    draws = verdict.weigh(SQUARE, q, 4000, np.random.default_rng(1), wide=True)
    exact = stats.multivariate_t(q.mean, 4.0 * q.cov, df=3)
    np.testing.assert_allclose(
        verdict._log_student(draws.log_q, q), exact.logpdf(draws.values), rtol=1e-9, atol=1e-9
    )
    depth = -2.0 * (draws.log_q - q.logdensity(q.mean))  # a quarter of it over 2 is F(2, 3)
    assert stats.kstest(depth / 8.0, stats.f(2, 3).cdf).pvalue > 1e-6
    assert stats.kstest(depth / 2.0, stats.f(2, 3).cdf).pvalue < 1e-6


def faint(theta):
    return np.logaddexp(
        np.log(0.97) - 0.5 * theta[0] ** 2, np.log(0.03 / 6.0) - theta[0] ** 2 / 72.0
    )


def test_a_wide_part_that_the_fit_hardly_meets_is_seen():
    """3 % of N(0, 36) double the variance; the weights of 2000 draws of N(0, 1) hardly differ."""
    truth = Gaussian([0.0], [[1.0]])
    target = bl.Target(faint, dim=1)
    sd = np.sqrt(0.97 + 0.03 * 36.0)
    for seed in range(5):
        (said,) = of(target, truth, seed=seed).problems
        ratio = float(said.split("spread is ")[1][:4])
        assert abs(ratio * sd - 1.0) < 0.06
        weighed = verdict.weigh(target, truth, 2000, np.random.default_rng(seed))
        weights = np.exp(weighed.logdensity - weighed.log_q)
        assert weights.sum() ** 2 / np.sum(weights**2) > 0.8 * 2000


def test_more_draws_are_taken_only_in_doubt():
    exact = of(SQUARE, Gaussian([0.0, 0.0], np.eye(2)))
    assert exact.settings["khat"] == -np.inf and exact.settings["num_weighed"] == 2500
    assert exact.num_evals == exact.elbo.num_evals >= 2500
    doubtful = of(SQUARE, Gaussian([0.0, 0.0], 0.68 * np.eye(2)))
    assert doubtful.settings["num_weighed"] in (20_000, 100_000)
    many = posteriors.gaussian(np.zeros(80), np.eye(80))
    q = Gaussian(np.zeros(80), 0.68 * np.eye(80))
    found = quietly(checked, many, q, 2000, np.random.default_rng(1))
    assert found.settings["num_weighed"] <= 50_000


def test_laplace_is_judged_alike_in_every_run():
    one, other = (quietly(bl.laplace, BOOK["pumps"]()) for _ in range(2))
    assert one.problems == other.problems != () and one.settings["khat"] == other.settings["khat"]
    assert one.num_evals == other.num_evals == one.log_evidence.num_evals
    assert "k-hat" in str(one.summary()) and one.elbo is None
    exact = bl.laplace(BOOK["correlated"]())
    assert exact.problems == () and exact.settings["khat"] < 0.5
