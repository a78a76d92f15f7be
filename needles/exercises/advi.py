"""The exercises of the page on automatic variational inference."""

import numpy as np

from ..grading import Choice, Routine, Value
from ..study import Exercise


def _log_jacobian(x, low, high):
    return np.log(high - low) - np.logaddexp(0.0, -x) - np.logaddexp(0.0, x)


def _no_width(x, low, high):
    return -np.logaddexp(0.0, -x) - np.logaddexp(0.0, x)


def _one_side(x, low, high):
    return np.log(high - low) - np.logaddexp(0.0, -x)


def _no_logarithm(x, low, high):
    return np.exp(_log_jacobian(x, low, high))


def _rounded(x, low, high):
    with np.errstate(over="ignore"):
        p = 1.0 / (1.0 + np.exp(-x))
    return np.log((high - low) * p * (1.0 - p) + 1e-300)


def _step(mean, log_sd, z, slopes, size):
    sd = np.exp(log_sd)
    u = sd * slopes + z
    a, b = u.mean(axis=0), (u * z).mean(axis=0)
    moved = mean + sd * np.clip(size * a, -1.0, 1.0)
    return np.array([moved, log_sd + np.clip(size * b, -0.2, 0.2)])


def _no_entropy(mean, log_sd, z, slopes, size):
    return _step(mean, log_sd, z, slopes - z / np.exp(log_sd), size)


def _uncut(mean, log_sd, z, slopes, size):
    sd = np.exp(log_sd)
    u = sd * slopes + z
    return np.array([mean + sd * size * u.mean(axis=0), log_sd + size * (u * z).mean(axis=0)])


def _not_in_units(mean, log_sd, z, slopes, size):
    u = np.exp(log_sd) * slopes + z
    a, b = u.mean(axis=0), (u * z).mean(axis=0)
    moved = mean + np.clip(size * a, -1.0, 1.0)
    return np.array([moved, log_sd + np.clip(size * b, -0.2, 0.2)])


def _returns_sd(mean, log_sd, z, slopes, size):
    moved, log_sd = _step(mean, log_sd, z, slopes, size)
    return np.array([moved, np.exp(log_sd)])


def _cases():
    rng = np.random.default_rng(1)
    for dim, scale, size in ((1, 0.5, 0.1), (2, 1.0, 0.05), (3, 8.0, 0.3)):
        z = rng.standard_normal((6, dim))
        slopes = scale * rng.standard_normal((6, dim)) - 1.5
        yield rng.standard_normal(dim), 0.7 * rng.standard_normal(dim), z, slopes, size


EXERCISES = (
    Exercise(
        "advi-coin",
        expects=Value(np.array([8.0, 2.0])),
        mistakes={
            "That is the posterior, as if nothing had been forgotten.": np.array([9.0, 3.0]),
            "Divide by theta (1 - theta); that multiplies by it.": np.array([10.0, 4.0]),
            "Each exponent falls by one, and the parameters with them.": np.array([7.0, 1.0]),
        },
        recipe="The density theta^8 (1 - theta)^2 is divided by theta (1 - theta).",
        praise="The prior has become Beta(0, 0), which is not even a distribution.",
    ),
    Exercise(
        "advi-lean",
        expects=Choice(("lies too high", "lies too low", "is too wide"), "lies too high"),
        mistakes={
            "Then the truth would be found above it: p near one.": "lies too low",
            "Then both ends would hold less than 5% each.": "is too wide",
        },
        recipe="A small p says that most of q lies above the truth.",
        praise="Most of q lies above the truth, too often.",
    ),
    Exercise(
        "advi-interval",
        expects=Routine(
            _log_jacobian,
            cases=(
                (0.3, 0.0, 1.0),
                (-2.0, -1.0, 4.0),
                (40.0, 0.0, 2.0),
                (-40.0, 0.0, 2.0),
                (800.0, -3.0, 3.0),
                (-800.0, -3.0, 3.0),
            ),
        ),
        mistakes={
            "The width of the interval is missing: d theta = (b - a) d sigma.": _no_width,
            "sigma' = sigma (1 - sigma): both factors count.": _one_side,
            "That is the Jacobian; asked is its logarithm.": _no_logarithm,
            "Right for small x. At x = 40, 1 - sigma(x) is rounded "
            "to zero: use sigma(-x), in logarithms.": _rounded,
        },
        recipe="log(b - a) + log sigma(x) + log sigma(-x), with np.logaddexp.",
        praise="It stays accurate out to where theta itself is rounded to its end.",
    ),
    Exercise(
        "advi-step",
        expects=Routine(_step, cases=tuple(_cases())),
        mistakes={
            "u = sd * slopes + z. Without z nothing holds the approximation open.": _no_entropy,
            "The steps are not cut: to [-1, 1] and [-0.2, 0.2], after the size.": _uncut,
            "The mean moves by sd times the step: it is in units of q.": _not_in_units,
            "The second row is the logarithm of the standard deviations.": _returns_sd,
        },
        recipe="u = sd * slopes + z; a and b are the averages of u and of u * z over the rows.",
        praise="In a loop, with fresh z, that is the whole algorithm.",
    ),
    Exercise(
        "advi-quiet",
        expects=Value(np.array([0.375, 1.375])),
        mistakes={
            "The other way round: q is narrow here.": np.array([1.375, 0.375]),
            "The variance of z^2 is two, not one.": np.array([0.3125, 0.8125]),
            "The term with the mean, (s m)^2, is missing.": np.array([0.125, 1.125]),
        },
        recipe="(s m)^2 + 2 s^4, and (s m)^2 + 2 (1 - s^2)^2.",
        praise="A narrow q is where sticking the landing is the noisier one.",
    ),
    Exercise(
        "advi-funnel",
        expects=Value((1.0 / 9.0 + 4.5) ** -0.5),
        mistakes={
            "That is the variance; asked is the standard deviation.": 1.0 / (1.0 / 9.0 + 4.5),
            "That is the funnel's own. The best Gaussian is far narrower.": 3.0,
            "Each coordinate adds a half to the precision of v.": (1.0 / 9.0 + 9.0) ** -0.5,
        },
        recipe="The precision of v is 1/9 + k/2.",
        praise="A sixth of the true spread, and less with every further coordinate.",
    ),
)
