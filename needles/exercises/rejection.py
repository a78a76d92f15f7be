"""The exercises of the page on rejection sampling."""

from functools import cache

import numpy as np

from ..grading import Choice, Sample, Value, near
from ..study import Exercise

_C = 1.0 / np.sqrt(8.0)  # the largest likelihood of the running example


def _evidence():
    from bayeslib.posteriors import gamma_student

    return np.exp(gamma_student().truth.log_evidence)


def _leaking_mean():
    """Mean of min(target, prior / 5), whose kinks lie where the likelihood is 1/5."""
    from scipy import integrate, stats

    from bayeslib.posteriors import gamma_student

    target, prior = gamma_student(), stats.gamma(3)

    def moment(power):
        def integrand(x):
            return x**power * min(np.exp(target([x])), prior.pdf(x) / 5.0)

        half_width = np.sqrt(2.0 * ((5.0 * _C) ** (2.0 / 3.0) - 1.0))
        edges = [1e-12, 5.0 - half_width, 5.0 + half_width, 20.0, 80.0]
        pieces = zip(edges, edges[1:], strict=False)
        return sum(integrate.quad(integrand, a, b, epsabs=1e-12)[0] for a, b in pieces)

    return moment(1) / moment(0)


@cache
def _best_exponential():
    """Scale of the exponential proposal that keeps most, and the share it keeps."""
    from scipy.optimize import minimize_scalar

    def smallest_log_c(scale):
        # above the prior's mode the log ratio has one peak, near the observation
        def negative(x):
            log_p = 2.0 * np.log(x) - x - 1.5 * np.log1p(0.5 * (5.0 - x) ** 2) - 2.5 * np.log(2.0)
            return -(log_p + x / scale + np.log(scale))

        return -minimize_scalar(negative, bounds=(3.0, 7.0), method="bounded").fun

    best = minimize_scalar(smallest_log_c, bounds=(2.0, 10.0), method="bounded")
    return np.array([best.x, _evidence() / np.exp(best.fun)])


def _half_normal_cdf(x):
    from scipy import special

    return special.erf(np.asarray(x) / np.sqrt(2.0))


EXERCISES = (
    Exercise(
        "rejection-price",
        expects=Value(lambda: 1000.0 * _C / _evidence()),
        mistakes={
            "That is the price of one.": near(lambda: _C / _evidence(), rtol=1e-2),
            "That is how many of 1,000 proposals are kept; the question is the reverse.": near(
                lambda: 1000.0 * _evidence() / _C, rtol=1e-2
            ),
            "You multiplied by 1/c, which is C of the lecture. Acceptance is Z / c.": near(
                lambda: 1000.0 / (_C * _evidence()), rtol=1e-2
            ),
            "You left out c. Acceptance is Z / c.": near(lambda: 1000.0 / _evidence(), rtol=1e-2),
            "Fewer proposals than draws? Each draw needs at least one.": lambda a: a < 1000.0,
        },
        recipe="The number of proposals per kept draw is geometric with success probability Z / c.",
        praise="Nearly four darts for each that stays.",
    ),
    Exercise(
        "rejection-envelope",
        expects=Value(_best_exponential),
        mistakes={
            "The right two numbers in the wrong order: "
            "first the scale, then the acceptance.": lambda a: np.allclose(
                a[::-1], _best_exponential(), rtol=1e-2
            ),
            "That is the scale chosen by eye; a better one is asked for.": near(
                4.2, at=0, rtol=1e-3
            ),
            "The first number is the rate; the scale is its reciprocal.": near(
                lambda: 1.0 / _best_exponential()[0], at=0, rtol=1e-2
            ),
            "The second number is the smallest c; the acceptance is Z / c.": near(
                lambda: _evidence() / _best_exponential()[1], at=1, rtol=1e-2
            ),
            "The second number is 1 / c; the acceptance is Z / c.": near(
                lambda: _best_exponential()[1] / _evidence(), at=1, rtol=1e-2
            ),
        },
        recipe="For each scale maximise the log ratio over theta; then maximise Z / c over scales.",
        praise="Better than by eye, but not by much: the family is wrong, not its scale.",
    ),
    Exercise(
        "rejection-evidence",
        expects=Value(lambda: _C * np.array([0.25, 0.05]), atol=5e-4, with_error=True),
        mistakes={
            "N/T is biased upwards, because the run stopped on a success.": near(
                _C * 20.0 / 77.0, at=0
            ),
            "That is the acceptance probability; the "
            "evidence is c times it, and so its error.": near(0.25, at=0, rtol=1e-2),
            "The second number is the error of the acceptance; the evidence's is c times it.": near(
                0.05, at=1, rtol=2e-2
            ),
            "The second number is a variance; the standard error is its square root.": lambda a: (
                0.0 <= a[1] < 0.0015  # c times it, or c squared
            ),
        },
        recipe="Estimate the acceptance by (N-1)/(T-1) and multiply value and error by c.",
        praise="From nothing but two counts, within its error of the exact evidence.",
    ),
    Exercise(
        "rejection-leak",
        expects=Value(_leaking_mean),
        mistakes={
            "That is the exact posterior mean: what an honest envelope would give.": near(
                4.16697426804
            ),
            "That is the mean of the prior.": near(3.0),
            "That is for c = 1/4, as in the table; here c is 1/5.": near(4.094, rtol=2e-3),
        },
        recipe="Draws follow min(target, c q): integrate theta times it; divide by its integral.",
        praise="You know the wrong answer exactly: the leak is a theorem, not an accident.",
    ),
    Exercise(
        "rejection-suspicious",
        expects=Choice(("first", "second"), "first"),
        mistakes={"Exact draws are often as far off as these: see the p-value.": "second"},
        recipe="A tiny p-value says that exact draws would hardly ever be so far off.",
        praise="No weights, no chains, no trace to look at: the draws alone do not tell.",
    ),
    Exercise(
        "rejection-half-normal",
        expects=Sample(
            {
                "mean": (lambda x: x[:, 0], np.sqrt(2.0 / np.pi)),
                "mean square": (lambda x: x[:, 0] ** 2, 1.0),
            },
            num_samples=1000,
            cdf=_half_normal_cdf,
        ),
        mistakes={
            "Some draws are negative; the absolute value of a normal is not.": lambda draws: np.any(
                draws.flat < 0.0
            ),
            "These look like the exponential proposals "
            "themselves: is anything rejected?": lambda draws: (
                abs(float(draws.expect(lambda x: x[:, 0]).z(1.0))) < 5.0
            ),
        },
        recipe="Accept x with probability exp(-(x - 1)^2 / 2).",
        praise="Half a normal; a random sign makes it whole.",
    ),
    Exercise(
        "rejection-dimension",
        expects=Value(lambda: np.floor(np.log(1e6) / np.log(1.1)), atol=0.0),
        mistakes={
            "Nearly: dimensions are whole, and one more would cost over a million.": lambda a: (
                np.isclose(a, np.log(1e6) / np.log(1.1), atol=0.9) and a % 1.0 != 0.0
            ),
            "One too many: 1.1 to the power 145 is over a million.": 145.0,
            "The factors multiply, not add.": near(1e6 / 1.1, rtol=1e-2),
        },
        recipe="Solve 1.1^d = 10^6 and round down.",
        praise="And that is for a small mismatch.",
    ),
)
