"""The exercises of the page on amortised inference."""

import numpy as np

from ..grading import Choice, Routine, Value, near
from ..study import Exercise

_HALF_LOG_2_PI = 0.5 * np.log(2.0 * np.pi)


def _log_normal(x, mean, sd):
    return -0.5 * ((x - mean) / sd) ** 2 - np.log(sd) - _HALF_LOG_2_PI


def _log_weights(theta, y, m, s):
    joint = _log_normal(theta, 0.0, 1.0) + _log_normal(y, theta, 0.5)
    return joint - _log_normal(theta, m, s)


def _variance_for_sd(theta, y, m, s):
    joint = _log_normal(theta, 0.0, 1.0) + _log_normal(y, theta, 0.25)
    return joint - _log_normal(theta, m, s)


def _no_prior(theta, y, m, s):
    return _log_normal(y, theta, 0.5) - _log_normal(theta, m, s)


def _no_constants(theta, y, m, s):
    return _log_weights(theta, y, m, s) + _HALF_LOG_2_PI


def _slopes(x, m, s):
    return np.array([-np.sign(x - m) * np.exp(-s), 1.0 - abs(x - m) * np.exp(-s)])


def _uphill(x, m, s):
    return -_slopes(x, m, s)


def _of_the_gaussian(x, m, s):
    z = (x - m) * np.exp(-s)
    return np.array([-z * np.exp(-s), 1.0 - z**2])


def _no_normaliser(x, m, s):
    return np.array([-np.sign(x - m) * np.exp(-s), -abs(x - m) * np.exp(-s)])


def _coin(heads=8, tosses=10):
    """Mean and standard deviation of the log odds under Beta(heads + 1, tails + 1)."""
    from scipy import special

    a, b = heads + 1.0, tosses - heads + 1.0
    mean = special.digamma(a) - special.digamma(b)
    return np.array([mean, np.sqrt(special.polygamma(1, a) + special.polygamma(1, b))])


EXERCISES = (
    Exercise(
        "amortised-moments",
        expects=Value(np.array([2.0, 1.0])),
        mistakes={
            "That is the mode. A Gaussian trained on pairs matches the mean.": near(1.5, at=0),
            "The rate divides; it does not multiply.": np.array([8.0, 4.0]),
            "The variance is shape over rate squared, and you want its root.": np.array([2.0, 2.0]),
        },
        recipe="The mean and the standard deviation of the posterior itself.",
        praise="The forward divergence matches moments.",
    ),
    Exercise(
        "amortised-even",
        expects=Value(81.0),
        mistakes={
            "With 80 queries both take about 40 seconds; training first is still slower.": 80.0,
            "Queries are whole. Round it the right way.": near(40.0 / 0.499),
        },
        recipe="The smallest whole n with 40 + 0.001 n < 0.5 n.",
        praise="And with a second of NUTS a query it is 41.",
    ),
    Exercise(
        "amortised-select",
        expects=Choice(("by y", "by theta", "both", "neither"), "by theta"),
        mistakes={
            "Given y, the pairs that are kept are all pairs "
            "with this y: nothing has changed.": "by y",
            "One of them leaves the conditional distribution given y alone.": "both",
            "At y = 9 a theta of 3 is possible. Is it among the pairs that are kept?": "neither",
        },
        recipe="Look at theta given y among the pairs that are kept.",
        praise="Selecting by theta is a new prior; selecting by y is a new school.",
    ),
    Exercise(
        "amortised-laplace",
        expects=Routine(
            _slopes, cases=((1.2, 0.5, 0.3), (-2.0, 0.4, -0.7), (0.1, 0.3, 1.0)), rtol=1e-8
        ),
        mistakes={
            "The signs are those of log q; the loss is minus that.": _uphill,
            "Those are the slopes of the Gaussian.": _of_the_gaussian,
            "The loss contains s itself as well: its derivative is 1.": _no_normaliser,
        },
        recipe="-sign(x - m) exp(-s), and 1 - |x - m| exp(-s).",
        praise="A bounded pull: outliers among the parameters do not drag the location along.",
    ),
    Exercise(
        "amortised-coin",
        expects=Value(_coin),
        mistakes={
            "That is the log odds of 8 in 10; the posterior is Beta(9, 3).": near(
                np.log(4.0), at=0
            ),
            "That is the log odds of the posterior mean; the mean of the log odds was asked.": near(
                np.log(3.0), at=0
            ),
            "That is the variance.": near(lambda: _coin()[1] ** 2, at=1),
        },
        recipe="digamma(9) - digamma(3), and the root of polygamma(1, 9) + polygamma(1, 3).",
        praise="Eleven data, eleven posteriors, one network.",
    ),
    Exercise(
        "amortised-weigh",
        expects=Routine(
            _log_weights,
            cases=((0.3, 1.0, 0.8, 0.45), (-1.0, 0.2, 0.1, 0.6), (2.0, 5.0, 3.2, 0.6)),
            rtol=1e-8,
        ),
        mistakes={
            "A quarter is the variance of the noise, one half its sd.": _variance_for_sd,
            "The joint is prior times likelihood; the prior is missing.": _no_prior,
            "Joint over proposal, not the other way round.": lambda *x: -_log_weights(*x),
            "The logarithm was asked.": lambda *x: np.exp(_log_weights(*x)),
            "The constants do not all cancel: two densities over one.": _no_constants,
        },
        recipe="log p(theta) + log p(y | theta) - log q(theta).",
        praise="Its mean estimates p(y), whatever the network has learned.",
    ),
)
