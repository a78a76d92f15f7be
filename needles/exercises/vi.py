"""The exercises of the page on variational inference."""

import numpy as np

from ..grading import Choice, Routine, Value
from ..study import Exercise

_ELBO = -0.5 * np.log(2.0 * np.pi) - 2.5
_LOG_EVIDENCE = -0.5 * np.log(4.0 * np.pi) - 1.0


def _sweep(y, t, alpha, c, d, mean_beta):
    mean_theta = (alpha + y) / (mean_beta + t)
    return (c + alpha * y.size) / (d + mean_theta.sum())


def _modes(y, t, alpha, c, d, mean_beta):
    mode_theta = (alpha + y - 1.0) / (mean_beta + t)
    return (c + alpha * y.size - 1.0) / (d + mode_theta.sum())


def _one_unit(y, t, alpha, c, d, mean_beta):
    mean_theta = (alpha + y) / (mean_beta + t)
    return (c + alpha) / (d + mean_theta.sum())


def _no_exposure(y, t, alpha, c, d, mean_beta):
    mean_theta = (alpha + y) / (mean_beta + 1.0)
    return (c + alpha * y.size) / (d + mean_theta.sum())


def _no_prior(y, t, alpha, c, d, mean_beta):
    mean_theta = y / t
    return (c + alpha * y.size) / (d + mean_theta.sum())


EXERCISES = (
    Exercise(
        "vi-gap",
        expects=Value(np.sqrt(1.0 - np.exp(-2.0))),
        mistakes={
            "That is the square of the correlation.": 1.0 - np.exp(-2.0),
            "That is the variance that is left, 1 - rho^2.": np.exp(-2.0),
            "The formula has a half in front of the logarithm.": np.sqrt(1.0 - np.exp(-1.0)),
            "A correlation lies between -1 and 1.": lambda a: abs(a) >= 1.0,
        },
        recipe="Solve 1 - rho^2 = exp(-2) for a positive rho.",
        praise="With so much correlation mean field reports 14% of the variance.",
    ),
    Exercise(
        "vi-models",
        expects=Choice(
            ("A has the higher evidence", "B has the higher evidence", "neither"), "neither"
        ),
        mistakes={
            "The bounds are in that order. How far is "
            "each below its own evidence?": "A has the higher evidence",
            "It may have, if its gap is the larger "
            "one; but nothing here says so.": "B has the higher evidence",
        },
        recipe="Two lower bounds do not order what they bound.",
        praise="A bound compares approximations of one model, not models.",
    ),
    Exercise(
        "vi-byhand",
        expects=Value(np.array([_ELBO, _LOG_EVIDENCE - _ELBO])),
        mistakes={
            "The uncertainty of theta adds to the misfit: E[(y - theta)^2] is y^2 + 1.": np.array(
                [_ELBO + 0.5, _LOG_EVIDENCE - _ELBO - 0.5]
            ),
            "A divergence is not negative: log p(y) minus the bound.": np.array(
                [_ELBO, _ELBO - _LOG_EVIDENCE]
            ),
            "The divergence from the prior is zero; asked is that from the posterior.": np.array(
                [_ELBO, 0.0]
            ),
        },
        recipe="The ELBO is -log(2 pi)/2 - (4 + 1)/2; subtract it from the log evidence.",
        praise="The two add up to log p(y), whatever q is.",
    ),
    Exercise(
        "vi-forward",
        expects=Value(np.array([0.8, np.sqrt(4.25 - 0.64)])),
        mistakes={
            "That is the larger mode: what the reverse divergence picks.": np.array([2.0, 0.5]),
            "The second is the variance; take its square root.": np.array([0.8, 4.25 - 0.64]),
            "The distance of the modes adds to the spread.": np.array([0.8, 0.5]),
            "The weights are 0.3 and 0.7, not a half each.": np.array([0.0, np.sqrt(4.25)]),
        },
        recipe="Mean 0.3 (-2) + 0.7 (2); variance 4 + 0.25 minus the mean squared.",
        praise="The forward fit covers both modes, and has its peak where there is little.",
    ),
    Exercise(
        "vi-sweep",
        expects=Routine(
            _sweep,
            cases=(
                (np.array([5.0, 1.0, 5.0]), np.array([94.3, 15.7, 62.9]), 1.8, 0.1, 1.0, 1.0),
                (np.array([0.0, 3.0]), np.array([2.0, 0.5]), 0.7, 2.0, 3.0, 4.0),
                (
                    np.array([14.0, 3.0, 19.0, 1.0]),
                    np.array([126.0, 5.24, 31.4, 1.05]),
                    1.2,
                    1.0,
                    0.5,
                    0.3,
                ),
            ),
        ),
        mistakes={
            "Those are modes. The updates take means: shape over rate.": _modes,
            "Every unit contributes alpha to the shape of q(beta), not one of them.": _one_unit,
            "The rate of theta_j is E[beta] + t_j: the exposure differs by unit.": _no_exposure,
            "That plugs in y / t. The prior enters q(theta_j) as well.": _no_prior,
            "The mean of a Gamma is its shape divided by its rate.": lambda *x: 1.0 / _sweep(*x),
        },
        recipe="q(theta_j) is Gamma(alpha + y_j, E[beta] + t_j); "
        "q(beta) is Gamma(c + n alpha, d + sum of E[theta_j]).",
        praise="The Gibbs sampler's two lines, with means in place of draws.",
    ),
    Exercise(
        "vi-tail",
        expects=Value(0.3),
        mistakes={
            "That is the share of the variance that is missing.": 0.7,
            "That is the standard deviation s; asked is s^2.": np.sqrt(0.3),
            "A wider q has bounded weights: no Pareto tail at all.": lambda a: a >= 1.0,
        },
        recipe="The shape is 1 - s^2.",
        praise="Where q keeps less than 30% of a variance, k is above 0.7.",
    ),
)
