"""Independent and weighted draws that are not."""

import dataclasses

import numpy as np
from planting import Bug

from bayeslib.diagnostics.tails import fit_pareto
from bayeslib.independent.hull import _invert
from bayeslib.independent.rejection_sample import _Rounds
from bayeslib.results.draws import Draws
from bayeslib.results.estimate import as_estimate

_rounds = vars(_Rounds).copy()
_sample = Draws.sample


def accepts_ratio_to_a_power(self, values, log_u, log_q):
    _rounds["add"](self, values, log_u / 0.9, log_q)


def forgets_the_bound(self):
    draws = _rounds["draws"](self)
    value = draws.log_evidence.value - self.settings["log_bound"]
    return dataclasses.replace(
        draws, log_evidence=dataclasses.replace(draws.log_evidence, value=value)
    )


def leans_to_the_left(hull, u):
    return _invert(hull, u**1.1)


def constant_density(self, draws):
    return np.zeros(len(draws))


def unshrunk(x):
    shape, scale = fit_pareto(x)
    return (shape * (x.size + 10.0) - 5.0) / x.size, scale


def ignores_weights(self, *arguments, **options):
    return _sample(dataclasses.replace(self, log_weights=None), *arguments, **options)


def error_of_one_draw(value, error, size):
    return as_estimate(value, error * np.sqrt(size), size)


_HOME = "bayeslib.independent"
BUGS = {
    "rejection accepts ratio^0.9": Bug(
        f"{_HOME}.rejection_sample._Rounds.add",
        accepts_ratio_to_a_power,
        "test_rejection.test_draws_follow_the_posterior_and_the_leaky_ones_do_not",
    ),
    "the evidence forgets the bound": Bug(
        f"{_HOME}.rejection_sample._Rounds.draws",
        forgets_the_bound,
        "test_rejection.test_acceptance_and_evidence_are_those_of_the_theory",
    ),
    "adaptive rejection leans to the left": Bug(
        f"{_HOME}.hull._invert",
        leans_to_the_left,
        "test_rejection.test_adaptive_draws_follow_the_target",
        {"name": "gamma"},
    ),
    "weights forget the proposal": Bug(
        "bayeslib.target.proposals.Proposal.own_logdensity",
        constant_density,
        "test_importance.test_posterior_expectations_and_evidence",
    ),
    "k-hat is not shrunk": Bug(
        "bayeslib.diagnostics.tails.fit_pareto",
        unshrunk,
        "test_importance.test_psis_equals_arviz",
        {"stored": 0},
    ),
    "resampling ignores the weights": Bug(
        "bayeslib.results.draws.Draws.sample",
        ignores_weights,
        "test_results.test_resampling_follows_the_weights",
    ),
    "the error of a mean is a standard deviation's": Bug(
        "bayeslib.results.estimate.as_estimate",
        error_of_one_draw,
        "test_monte_carlo.test_an_expectation_in_closed_form",
    ),
}
