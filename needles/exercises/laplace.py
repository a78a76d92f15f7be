"""The exercises of the page on Laplace's method."""

from functools import cache

import numpy as np

from ..grading import Routine, Value, near
from ..study import Exercise


def _stirling(n=10):
    return n**n * np.exp(-n) * np.sqrt(2.0 * np.pi * n)


def _poisson_error(rate=2.0):
    """Limit of -BIC/2 minus the log evidence, under an Exponential(1) prior."""
    return rate - 0.5 * np.log(2.0 * np.pi * rate)


def _laplace_evidence(X, y, prior_scale):
    """Laplace's log evidence of a logistic regression, by Newton's method."""
    from scipy import special

    theta = np.zeros(X.shape[1])
    for _ in range(50):
        p = special.expit(X @ theta)
        hessian = (X.T * (p * (1.0 - p))) @ X + np.diag(prior_scale**-2)
        theta = theta + np.linalg.solve(hessian, X.T @ (y - p) - theta / prior_scale**2)
    joint = y @ (X @ theta) - np.logaddexp(0.0, X @ theta).sum()
    joint -= np.log(prior_scale).sum() + 0.5 * np.sum((theta / prior_scale) ** 2)
    return joint - 0.5 * np.linalg.slogdet(hessian)[1]


def _log_factor(width):
    from bayeslib.posteriors.regressions import DISTRESS, TEMPERATURES

    X = np.column_stack([np.ones(TEMPERATURES.size), (TEMPERATURES - 70.0) / 10.0])
    with_slope = _laplace_evidence(X, DISTRESS, np.array([5.0, width]))
    return with_slope - _laplace_evidence(X[:, :1], DISTRESS, np.array([5.0]))


@cache
def _too_wide():
    from scipy.optimize import brentq

    return brentq(_log_factor, 2.0, 1000.0, rtol=1e-10)


def _neck(s, k):
    v = -0.5 * k * s**2
    return np.array([v, -0.5 * (v / s) ** 2])


def _exact_evidence(s, k):
    return np.array([-0.5 * k * s**2, 0.0])


def _evidence_itself(s, k):
    v, log_evidence = _neck(s, k)
    return np.array([v, np.exp(log_evidence)])


def _scale_for_variance(s, k):
    v = -0.5 * k * s
    return np.array([v, -0.5 * v**2 / s])


def _twice_as_deep(s, k):
    v = -float(k) * s**2
    return np.array([v, -0.5 * (v / s) ** 2])


def _next_term(second, third, fourth):
    return fourth / (8.0 * second**2) + 5.0 * third**2 / (24.0 * abs(second) ** 3)


def _no_absolute(second, third, fourth):
    return fourth / (8.0 * second**2) + 5.0 * third**2 / (24.0 * second**3)


def _unsquared(second, third, fourth):
    return fourth / (8.0 * second**2) + 5.0 * third / (24.0 * abs(second) ** 3)


def _no_fourth(second, third, fourth):
    return 5.0 * third**2 / (24.0 * abs(second) ** 3)


EXERCISES = (
    Exercise(
        "laplace-stirling",
        expects=Value(_stirling, digits=4),
        mistakes={
            "That is 10! itself.": near(3628800.0),
            "That is the height of the peak. Multiply it by a width.": near(
                10.0**10 * np.exp(-10.0)
            ),
            "The width is the square root of 2 pi n: the pi is missing.": near(
                10.0**10 * np.exp(-10.0) * np.sqrt(20.0), rtol=1e-2
            ),
            "That is the logarithm.": near(lambda: np.log(_stirling())),
        },
        recipe="Height n^n e^-n, times sqrt(2 pi n).",
        praise="Stirling's formula, one per cent off at ten.",
    ),
    Exercise(
        "laplace-bic",
        expects=Value(_poisson_error),
        mistakes={
            "Approximate minus exact.": near(lambda: -_poisson_error(), rtol=1e-2),
            "It does not vanish, however many counts.": lambda a: np.isclose(a, 0.0, atol=1e-3),
            "J is the information of one count, 1 / rate, not the rate.": near(
                2.0 - 0.5 * np.log(np.pi), rtol=1e-2
            ),
            "The prior's density at two belongs into it: log p(2) = -2.": near(
                -0.5 * np.log(4.0 * np.pi), rtol=1e-2
            ),
        },
        recipe="-(log p(2) + log(2 pi) / 2 - log(J) / 2) with J = 1/2.",
        praise="It is there after ten counts and after ten million.",
    ),
    Exercise(
        "laplace-width",
        expects=Value(_too_wide, digits=2),
        mistakes={
            "That is where the exact factor crosses one; the bell's was asked.": near(
                74.78, rtol=1e-2
            ),
            "Narrow priors favour nothing either; look above 2.": lambda a: a < 2.0,
            "That is the logarithm of the width.": near(lambda: np.log(_too_wide()), rtol=1e-2),
        },
        recipe="brentq(lambda s: np.log(laplace_factor(s)), 2, 1000).",
        praise="A slope of seventy would multiply the odds by e^70 every ten degrees.",
    ),
    Exercise(
        "laplace-neck",
        expects=Routine(_neck, cases=((3.0, 1), (3.0, 9), (1.0, 4), (0.5, 2))),
        mistakes={
            "That is the exact evidence; the bell's was asked.": _exact_evidence,
            "The second is the logarithm of the evidence.": _evidence_itself,
            "s is a standard deviation: its square is the variance.": _scale_for_variance,
            "Each coordinate contributes -v / 2, not -v.": _twice_as_deep,
        },
        recipe="v = -k s^2 / 2; then everything cancels but -v^2 / (2 s^2).",
        praise="The bell has the right width, and sits where nobody lives.",
    ),
    Exercise(
        "laplace-term",
        expects=Routine(
            _next_term, cases=((-1.3, 0.7, -2.0), (-0.5, -1.5, 0.3), (-20.0, 3.0, -40.0))
        ),
        mistakes={
            "The second derivative is negative; its absolute value is cubed.": _no_absolute,
            "The third derivative enters squared: its sign cannot matter.": _unsquared,
            "The fourth derivative contributes as well.": _no_fourth,
        },
        recipe="fourth / (8 second^2) + 5 third^2 / (24 |second|^3).",
        praise="Compare it with one before you trust a bell.",
    ),
)
