"""The exercises of the page on Gibbs sampling."""

import numpy as np

from ..grading import Routine, Value, near
from ..study import Exercise
from ..variants import centred


def _precision(y, mu, a, b):
    return a + len(y) / 2.0, b + np.sum((np.asarray(y) - mu) ** 2) / 2.0


def _whole_shape(y, mu, a, b):
    return a + len(y), b + np.sum((np.asarray(y) - mu) ** 2) / 2.0


def _whole_sum(y, mu, a, b):
    return a + len(y) / 2.0, b + np.sum((np.asarray(y) - mu) ** 2)


def _scale(y, mu, a, b):
    shape, rate = _precision(y, mu, a, b)
    return shape, 1.0 / rate


def _no_prior(y, mu, a, b):
    return _precision(y, mu, 0.0, 0.0)


def _price():
    return (1.0 + 0.99**2) / (1.0 - 0.99**2)


def _rate(precision):
    precision = np.asarray(precision)
    step = -np.linalg.solve(np.tril(precision), np.triu(precision, 1))
    return np.abs(np.linalg.eigvals(step)).max()


def _jacobi(precision):
    precision = np.asarray(precision)
    off = precision - np.diag(np.diag(precision))
    return np.abs(np.linalg.eigvals(off / np.diag(precision)[:, None])).max()


def _without_diagonal(precision):
    precision = np.asarray(precision)
    lower = np.tril(precision, -1) + np.eye(len(precision))
    return np.abs(np.linalg.eigvals(np.linalg.solve(lower, np.triu(precision, 1)))).max()


EXERCISES = (
    Exercise(
        "gibbs-precision",
        expects=Routine(
            _precision,
            cases=(
                (np.array([1.0, 2.0, 4.0]), 2.0, 1.5, 0.5),
                (np.array([-1.0, 0.5]), 0.0, 0.1, 2.0),
                (np.linspace(0.0, 3.0, 7), 1.0, 3.0, 1.0),
            ),
        ),
        mistakes={
            "Each datum brings the square root of tau: half a unit of shape.": _whole_shape,
            "The exponent of a Gaussian has a one half.": _whole_sum,
            "That is the scale; the rate multiplies tau in the exponent.": _scale,
            "That is the likelihood alone; the prior has a shape and a rate too.": _no_prior,
        },
        recipe="Multiply the prior's tau^(a - 1) exp(-b tau) by what each datum contributes.",
        praise="Half a unit of shape and half a squared residual for each datum.",
    ),
    Exercise(
        "gibbs-price",
        expects=Value(_price, atol=1.5),
        mistakes={
            "A sweep is two updates: the autocorrelation is rho squared, not rho.": near(
                199.0, rtol=0.01
            ),
            "That is how many independent draws one sweep is worth.": near(
                lambda: 1.0 / _price(), rtol=0.02
            ),
            "Nearly: 1 / (1 - rho^2) lacks the numerator 1 + rho^2.": near(50.25, rtol=0.01),
        },
        recipe="(1 + r) / (1 - r), where r is the autocorrelation after one sweep.",
        praise="A hundred sweeps for one draw, from a ridge that a rotation would remove.",
    ),
    Exercise(
        "gibbs-centre",
        expects=Value(centred(10)),
        mistakes={
            "That is the correlation; a sweep multiplies by its square.": lambda a: np.isclose(
                abs(a[0]), np.sqrt(centred(10)[0]), rtol=5e-3
            ),
            "With centred times the sum of t, and so the correlation, is zero.": lambda a: (
                a[1] != 0.0
            ),
        },
        recipe="Mean squared over mean of the squares.",
        praise="One subtraction, and every sweep is an independent draw.",
    ),
    Exercise(
        "gibbs-parallel",
        expects=Value(2.0, digits=2),
        mistakes={
            "That is right for Gibbs; here x and y of one time have no common past.": near(
                3.8, rtol=0.01
            ),
            "That is the variance of x - y under the posterior.": near(0.2, rtol=0.02),
            "That is the variance of each; add the two.": near(1.0, rtol=0.01),
        },
        recipe="Two chains, each a correct Gibbs sampler, that never meet.",
        praise="Marginals perfect, dependence gone: no histogram of x or y can show it.",
    ),
    Exercise(
        "gibbs-parity",
        expects=Value(lambda: np.array([4.0, 1.0 / 3.0])),
        mistakes={
            "Two bits determine the third: which single-bit update can move at all?": lambda a: (
                a[0] in (1.0, 2.0)
            ),
            "That is the chance to stay; an eigenvalue weighs the moves as well.": lambda a: (
                a[0] == 4.0 and np.isclose(a[1], 0.5, rtol=5e-3)
            ),
            "That is the largest, which every kernel has.": lambda a: (
                a[0] == 4.0 and np.isclose(a[1], 1.0, rtol=5e-3)
            ),
        },
        recipe="Four classes of one triple; then 1/2 on the diagonal and 1/6 elsewhere.",
        praise="A block of two turns a sampler that never moves into one that mixes fast.",
    ),
    Exercise(
        "gibbs-seidel",
        expects=Routine(
            _rate,
            cases=(
                (np.array([[1.0, -0.9], [-0.9, 1.0]]),),
                (np.array([[2.0, 0.5, 0.1], [0.5, 1.0, -0.3], [0.1, -0.3, 3.0]]),),
                (np.linalg.inv(0.2 * np.eye(5) + 0.8),),
            ),
            rtol=1e-8,
        ),
        mistakes={
            "That updates all parts from the old values at once (Jacobi).": _jacobi,
            "The diagonal of Q belongs to the matrix that is inverted.": _without_diagonal,
        },
        recipe="Solve with np.tril(Q) and multiply by np.triu(Q, 1).",
        praise="Every theorem on this old iteration is one about Gibbs sampling.",
    ),
)
