"""The exercises of the page on Monte Carlo."""

from functools import cache

import numpy as np

from ..grading import Routine, Statistical, Value, near
from ..study import Exercise


def _student_coverage():
    from scipy.stats import t

    return t(9).cdf(2.0) - t(9).cdf(-2.0)


@cache
def _prior_predictive_tail():
    """P(y* > 8) for theta from Gamma(3, 1) and Student noise with two degrees of freedom."""
    from scipy import integrate, stats

    noise = stats.t(2)
    return integrate.quad(
        lambda theta: 0.5 * theta**2 * np.exp(-theta) * noise.sf(8.0 - theta),
        0.0, 80.0, points=(8.0,), epsabs=1e-12, limit=200,
    )[0]  # fmt: skip


def _quantile(u, weights):
    cumulated = np.cumsum(np.asarray(weights, dtype=float))
    return np.searchsorted(cumulated / cumulated[-1], u, side="left")


def _next_one(u, weights):
    cumulated = np.cumsum(np.asarray(weights, dtype=float))
    return np.searchsorted(cumulated / cumulated[-1], u, side="left") + 1


def _not_normalised(u, weights):
    return np.searchsorted(np.cumsum(weights), u, side="left")


def _from_the_right(u, weights):
    cumulated = np.cumsum(np.asarray(weights, dtype=float))
    return np.searchsorted(cumulated / cumulated[-1], u, side="right")


def _divided_first(u, weights):
    return np.searchsorted(np.cumsum(np.asarray(weights) / np.sum(weights)), u, side="left")


EXERCISES = (
    Exercise(
        "monte_carlo-digits",
        expects=Value(3.0e6),
        mistakes={
            "The error is sigma over the square root of N: the ratio has to be squared.": near(
                np.sqrt(3.0) / 0.001, rtol=1e-2
            ),
            "Three is the variance of this prior, not its standard deviation.": near(
                9.0e6, rtol=1e-2
            ),
            "Square the error as well.": near(3.0e3, rtol=1e-2),
            "That would do for a variance of one; this prior's is three.": 1.0e6,
        },
        recipe="Solve sigma / sqrt(N) = 0.001.",
        praise="Three million, and the next digit costs three hundred million.",
    ),
    Exercise(
        "monte_carlo-coverage",
        expects=Value(_student_coverage),
        mistakes={
            "That is so when sigma is known; here it is estimated from ten draws.": lambda a: (
                np.isclose(a, 0.952, atol=4e-3)
            ),
            "Nearly: ten draws leave nine degrees of freedom, not ten.": lambda a: np.isclose(
                a, 0.9266, atol=6e-4
            ),
            "That is the probability to miss it.": near(lambda: 1.0 - _student_coverage()),
            "That is one side only; the interval has two ends.": lambda a: np.isclose(
                a, 0.9617, atol=6e-4
            ),
            "Give a probability, between zero and one.": lambda a: a > 1.0,
        },
        recipe="A Student distribution with N - 1 degrees of freedom.",
        praise="A little less than promised; with a hundred draws nobody would notice.",
    ),
    Exercise(
        "monte_carlo-crossover",
        expects=Value(12.0, atol=0.0),
        mistakes={
            "That is for Simpson's rule, with error m to the power -4.": 8.0,
            "Monte Carlo's power is one half: 6/d = 1/2.": 3.0,
            "There the rate is 1/N, twice the power of Monte Carlo's.": 6.0,
        },
        recipe="Set N^(-6/d) equal to N^(-1/2).",
        praise="Better rules move the crossover; none removes it.",
    ),
    Exercise(
        "monte_carlo-quantile",
        expects=Routine(
            _quantile,
            cases=(
                (np.array([0.0, 0.1, 0.49, 0.51, 0.99]), np.array([1.0, 2.0, 3.0])),
                (np.array([0.25, 0.75, 0.999999]), np.array([0.5, 0.0, 0.0, 1.5])),
                (np.linspace(0.05, 0.95, 7), np.array([0.1, 0.2, 0.3, 0.4])),
                (np.array([0.25, 0.5, 0.75]), np.ones(4)),
                (np.array([1.0 - 2.0**-53]), np.full(13, 0.1)),
            ),
        ),
        mistakes={
            "One too far: the first index is zero.": _next_one,
            "The weights need not sum to one: divide by their sum.": _not_normalised,
            "F(k) >= u asks for the left side: u = F(k) belongs to k.": _from_the_right,
            "For u just below one you fall off the end: divide by the last sum.": _divided_first,
        },
        recipe="Cumulate, divide by the total, search from the left.",
        praise="This is how every discrete variable in this book is drawn.",
    ),
    Exercise(
        "monte_carlo-tail",
        expects=Statistical(_prior_predictive_tail, max_mcse=5e-4, max_evals=60_000),
        mistakes={
            "That is after the observation; the draws of "
            "theta must come from the prior.": lambda a: (
                abs(a[0] - 0.042387) < min(5.0 * a[1], abs(a[0] - _prior_predictive_tail()))
            ),
            "That is the probability of the other side, below eight.": lambda a: (
                abs(a[0] + _prior_predictive_tail() - 1.0) < 5.0 * a[1]
            ),
        },
        recipe="Given theta, the chance that the noise lifts it over eight is known exactly.",
        praise="What can be integrated need not be drawn: half the error from the same draws.",
    ),
    Exercise(
        "monte_carlo-remember",
        expects=Value(lambda: np.sqrt(19.0)),
        mistakes={
            "That is the factor of the variance; the error is its square root.": 19.0,
            "Both neighbours count, those before and those "
            "after: 1 + 2 (0.9 + 0.81 + ...).": lambda a: (
                np.isclose(a, np.sqrt(10.0), rtol=5e-3) or np.isclose(a, 10.0, rtol=5e-3)
            ),
            "The other way round: the true error is larger.": near(1.0 / np.sqrt(19.0)),
            "Not only the next neighbour counts: 1 + 2 (0.9 + 0.81 + ...).": lambda a: (
                np.isclose(a, np.sqrt(2.8), rtol=5e-3) or np.isclose(a, 2.8, rtol=5e-3)
            ),
        },
        recipe="The factor of the variance is (1 + rho) / (1 - rho).",
        praise="Nineteen such draws are worth one independent one: the effective sample size.",
    ),
)
