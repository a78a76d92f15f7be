"""The exercises of the page on importance sampling."""

from functools import cache

import numpy as np

from ..grading import Choice, Value, near
from ..study import Exercise
from ..variants import worth

_WORTH = worth(-1040.0, 2.0, 10.0)


def _posterior():
    from bayeslib.posteriors import gamma_student

    return gamma_student()


@cache
def _aimed_gain():
    """Ratio of the variances of weight times indicator, prior over shifted exponential."""
    from scipy import integrate, stats

    target = _posterior()

    def variance(q):
        def moment(power):
            def integrand(x):
                return (np.exp(target([x])) / q.pdf(x)) ** power * q.pdf(x)

            return integrate.quad(integrand, 6.0, 60.0, limit=200, epsabs=1e-14)[0]

        return moment(2) - moment(1) ** 2

    return variance(stats.gamma(3)) / variance(stats.expon(6.0, 1.0))


@cache
def _square_bias(power=2):
    """Leading term of the bias, times the number of draws, of the mean of theta squared."""
    from scipy import integrate, stats

    target, prior = _posterior(), stats.gamma(3)
    log_evidence = target.truth.log_evidence

    def under_posterior(f):
        def integrand(x):
            return f(x) * np.exp(target([x]) - log_evidence)

        return sum(integrate.quad(integrand, a, b)[0] for a, b in ((1e-9, 5), (5, 20), (20, 80)))

    mean = under_posterior(lambda x: x**2)
    return -under_posterior(
        lambda x: (np.exp(target([x]) - log_evidence) / prior.pdf(x)) ** (power - 1) * (x**2 - mean)
    )


EXERCISES = (
    Exercise(
        "importance-underflow",
        expects=Value(_WORTH),
        mistakes={
            "That is the sum of the squared weights; the answer is its reciprocal.": near(
                1.0 / _WORTH
            ),
            "That would be five equal weights.": 5.0,
            "That would be one draw with all the weight; others have a share.": near(1.0),
            "Five draws are worth between one and five.": lambda a: a > 5.0 or a < 1.0,
        },
        recipe="Subtract the largest log weight before you take exponentials.",
        praise="Adding a constant to all log weights changes nothing.",
    ),
    Exercise(
        "importance-borderline",
        expects=Value(lambda: np.array([2.0, 1.0 / 0.3])),
        mistakes={
            "The right two numbers in the wrong order: "
            "first the rate of infinite variance.": lambda a: np.allclose(
                a[::-1], [2.0, 1.0 / 0.3], rtol=1e-2
            ),
            "The first number looks like a mean of the proposal; the rate is its reciprocal.": near(
                0.5, at=0, rtol=1e-2
            ),
            "Above one the weights are unbounded, but their variance is still finite.": near(
                1.0, at=0, rtol=1e-2
            ),
            "The second number is 1 + k; solve (a - 1) / a = k for a.": near(1.7, at=1, rtol=1e-2),
        },
        recipe="The shape is k = (a - 1) / a; the variance is finite while k is below one half.",
        praise="At the border k is one half: the two answers are one idea.",
    ),
    Exercise(
        "importance-aim",
        expects=Value(_aimed_gain, atol=1.0),
        mistakes={
            "That is the ratio of the standard errors; the variances' is its square.": near(
                lambda: np.sqrt(_aimed_gain()), rtol=1e-2
            ),
            "That is the reciprocal: the aimed proposal over the prior.": near(
                lambda: 1.0 / _aimed_gain(), rtol=1e-2
            ),
            "Aiming should make the variance smaller.": lambda a: a < 1.0,
        },
        recipe="Subtract the squared integral from each second moment, then divide.",
        praise="So many draws of the prior does one aimed draw replace.",
    ),
    Exercise(
        "importance-bias",
        expects=Value(lambda: _square_bias() / 100.0, digits=2),
        mistakes={
            "Divide by the number of draws.": near(_square_bias, rtol=1e-2),
            "It has a sign: large weights sit above the mean here.": lambda a: a > 0.0,
        },
        recipe="-E_q[v^2 (f - mu)] / N, with mu the posterior mean of theta squared.",
        praise="With a hundred draws the error is many times this bias.",
    ),
    Exercise(
        "importance-told",
        expects=Choice(
            (
                "a higher ESS",
                "more draws of the same proposal",
                "a wider proposal",
                "smoothing the weights",
            ),
            "a wider proposal",
        ),
        mistakes={
            "It can be high because a mode was missed: "
            "the weights that are left agree.": "a higher ESS",
            "Where the proposal has next to no mass, ten "
            "times as many draws see no more.": "more draws of the same proposal",
            "It tames the largest weights there are; the "
            "missing ones are not among them.": "smoothing the weights",
        },
        recipe="What all diagnostics share is the draws they are computed from.",
        praise="Two proposals must agree on the evidence.",
    ),
)
