"""The log densities of `bl.logpdf`: against SciPy's, with their gradients, inside and outside."""

import inspect
import math

import numpy as np
import pytest
from densities import slope
from scipy import integrate, special, stats

import bayeslib as bl
from bayeslib.compile.autodiff import compilable, differentiate
from bayeslib.compile.autodiff.plain import differentiate_plain

L = bl.logpdf
X = np.array([-3.0, -0.4, 0.0, 1e-3, 0.3, 1.0, 2.7, 15.0])
K = np.array([-1.0, 0.0, 1.0, 2.0, 2.5, 3.0, 40.0])


def half(density):
    return lambda x: np.where(x >= 0.0, math.log(2.0) + density.logpdf(x), -np.inf)


# name: (points, parameters of ours from (a, s), SciPy's function)
PAIRS = {
    "normal": (X, lambda a, s: (a, s), lambda a, s: stats.norm(a, s).logpdf),
    "half_normal": (X, lambda a, s: (s,), lambda a, s: stats.halfnorm(scale=s).logpdf),
    "student_t": (X, lambda a, s: (s, a, 2.0), lambda a, s: stats.t(s, a, 2.0).logpdf),
    "half_student_t": (X, lambda a, s: (a, s), lambda a, s: half(stats.t(a, 0, s))),
    "cauchy": (X, lambda a, s: (a, s), lambda a, s: stats.cauchy(a, s).logpdf),
    "half_cauchy": (X, lambda a, s: (s,), lambda a, s: stats.halfcauchy(scale=s).logpdf),
    "laplace": (X, lambda a, s: (a, s), lambda a, s: stats.laplace(a, s).logpdf),
    "gamma": (X, lambda a, s: (a, s), lambda a, s: stats.gamma(a, scale=s).logpdf),
    "inverse_gamma": (X, lambda a, s: (a, s), lambda a, s: stats.invgamma(a, scale=s).logpdf),
    "beta": (X, lambda a, s: (a, s), lambda a, s: stats.beta(a, s).logpdf),
    "exponential": (X, lambda a, s: (s,), lambda a, s: stats.expon(scale=s).logpdf),
    "lognormal": (X, lambda a, s: (a, s), lambda a, s: stats.lognorm(a, scale=s).logpdf),
    "weibull": (X, lambda a, s: (a, s), lambda a, s: stats.weibull_min(a, scale=s).logpdf),
    "uniform": (X, lambda a, s: (a, s), lambda a, s: stats.uniform(a, s).logpdf),
    "poisson": (K, lambda a, s: (s,), lambda a, s: stats.poisson(s).logpmf),
    "negative_binomial": (
        K, lambda a, s: (s, a / (1 + a)), lambda a, s: stats.nbinom(s, a / (1 + a)).logpmf,
    ),
    "binomial_logit": (
        K, lambda a, s: (9, a - s), lambda a, s: stats.binom(9, special.expit(a - s)).logpmf,
    ),
    "bernoulli_logit": (
        K, lambda a, s: (a - s,), lambda a, s: stats.bernoulli(special.expit(a - s)).logpmf,
    ),
}  # fmt: skip
OF_VECTORS = {"categorical_logit", "dirichlet", "multivariate_normal_cholesky", "lkj_cholesky"}
S = np.array([[2.0, 0.3, -0.4], [0.3, 1.0, 0.2], [-0.4, 0.2, 0.7]])
P = np.array([0.2, 0.3, 0.5])


def test_every_density_is_tried():
    assert set(L.__all__) == set(PAIRS) | OF_VECTORS


@pytest.mark.parametrize("name", PAIRS)
def test_equal_to_scipy(name):
    points, own, scipys = PAIRS[name]
    for a in (0.3, 1.0, 4.2):
        for s in (0.2, 1.0, 7.0):
            found = getattr(L, name)(points, *own(a, s))
            np.testing.assert_allclose(found, scipys(a, s)(points), rtol=1e-12, atol=1e-13)
            assert getattr(L, name)(points[5], *own(a, s)) == found[5]


def test_vectors_are_equal_to_scipy():
    factor, mean = np.linalg.cholesky(S), np.array([0.1, -0.2, 0.3])
    found = L.multivariate_normal_cholesky(P, mean, factor)
    np.testing.assert_allclose(found, stats.multivariate_normal(mean, S).logpdf(P), rtol=1e-13)
    alpha = np.array([0.5, 1.0, 3.0])
    np.testing.assert_allclose(L.dirichlet(P, alpha), stats.dirichlet(alpha).logpdf(P), rtol=1e-13)
    outside = L.poisson(3, np.inf), L.gamma(np.inf, 1, 1), L.lkj_cholesky(np.diag(P), 2.0)
    assert {L.dirichlet(P + 0.1, alpha), *outside} == {-np.inf}
    assert np.isnan(L.negative_binomial(0, 2.0, 1.5)) and L.binomial_logit(3, 3, np.inf) == 0.0
    found = L.student_t(1, 1e15), L.student_t(1, np.inf), L.negative_binomial(1, 2**40, 1 - 2**-39)
    limits = stats.norm.logpdf(1), stats.norm.logpdf(1), stats.poisson(2).logpmf(1)
    np.testing.assert_allclose(found, limits, rtol=1e-11)
    with pytest.raises(ValueError, match="differ in length"):
        L.dirichlet(P, alpha[:2])
    with pytest.raises(ValueError, match="lower factor"):
        L.multivariate_normal_cholesky(P, mean, factor.T)
    found = [L.categorical_logit(k, np.log(P) + 2.0) for k in range(-1, 4)]
    np.testing.assert_allclose(found, [-np.inf, *np.log(P), -np.inf], rtol=1e-13)


@pytest.mark.parametrize("eta", [0.7, 1.0, 3.0])
def test_lkj_integrates_to_one(eta):
    def factor(r):
        return np.array([[1.0, 0.0], [r, math.sqrt(1 - r * r)]])

    total = integrate.quad(lambda r: math.exp(L.lkj_cholesky(factor(r), eta)), -1, 1)[0]
    np.testing.assert_allclose(total, 1.0, rtol=1e-7)
    # three variables: against the determinant and the Jacobian L[1, 1] of one matrix and another
    one, other = (np.linalg.cholesky(np.array([[1, a, b], [a, 1, c], [b, c, 1]]))
                  for a, b, c in [(0.1, 0.2, 0.3), (-0.5, 0.4, 0.1)])  # fmt: skip
    ratio = [2 * (eta - 1) * np.log(np.diag(f)).sum() + np.log(f[1, 1]) for f in (one, other)]
    found = L.lkj_cholesky(one, eta) - L.lkj_cholesky(other, eta)
    np.testing.assert_allclose(found, ratio[0] - ratio[1], rtol=1e-12)


def everything(theta, x, k, mean):
    """Every density once, with numbers and arrays, parameters and data in its arguments."""
    m, s, p = theta[0], theta[1], 1.0 / (1.0 + theta[1])
    lp = np.sum(bl.logpdf.normal(x, m, s)) + bl.logpdf.normal(m) + bl.logpdf.half_normal(s, 2.0)
    lp += np.sum(bl.logpdf.student_t(x, s, theta, 2.0)) + bl.logpdf.half_student_t(s, 3.0, scale=m)
    lp += np.sum(bl.logpdf.cauchy(x, theta, s)) + bl.logpdf.half_cauchy(s, m)
    lp += np.sum(bl.logpdf.laplace(x, m, s)) + np.sum(bl.logpdf.gamma(x, m, s))
    lp += np.sum(bl.logpdf.inverse_gamma(x, theta, s)) + bl.logpdf.beta(p, m, s)
    lp += np.sum(bl.logpdf.exponential(theta, x)) + np.sum(bl.logpdf.lognormal(x, m, s))
    lp += np.sum(bl.logpdf.weibull(x, m, s)) + bl.logpdf.uniform(m, 0.0, s + 3.0)
    lp += np.sum(bl.logpdf.poisson(k, theta)) + np.sum(bl.logpdf.negative_binomial(k, s, p))
    lp += np.sum(bl.logpdf.binomial_logit(k, 9, theta)) + bl.logpdf.bernoulli_logit(1, m)
    lp += bl.logpdf.categorical_logit(k[0], theta) + bl.logpdf.dirichlet(mean, theta)
    A = np.outer(theta, theta) + np.eye(3)
    factor = np.linalg.cholesky(A)
    lp += bl.logpdf.multivariate_normal_cholesky(x, mean, factor)
    return lp + bl.logpdf.lkj_cholesky(factor / np.sqrt(np.diag(A)).reshape(3, 1), s)


def test_all_inside_a_density():
    theta, data = np.array([0.8, 1.4, 0.6]), (np.array([0.4, 1.2, 2.0]), np.array([0, 3, 2]), P)
    grad, twin = np.empty(3), np.empty(3)
    expected = everything(theta, *data)
    assert compilable(everything)(theta, *data) == pytest.approx(expected, rel=1e-12)
    assert differentiate(everything, 3)(theta, grad, *data) == pytest.approx(expected, rel=1e-12)
    assert differentiate_plain(everything, 3)(theta, twin, *data) == pytest.approx(expected)
    np.testing.assert_allclose(grad, slope(everything, theta, *data), rtol=1e-10)
    np.testing.assert_allclose(twin, grad, rtol=1e-11)


def test_each_says_which_it_is():
    for name in L.__all__:
        assert "``" in inspect.getdoc(getattr(L, name)) or name in OF_VECTORS


def test_arrays_of_two_shapes_are_refused():
    def uneven(theta, y):
        return np.sum(bl.logpdf.normal(y, theta, 1.0))

    with pytest.raises(ValueError, match="one shape"):
        compilable(uneven)(np.ones(3), np.ones(2))
