"""Independent and weighted draws that are not."""

import dataclasses

import numpy as np
from planting import Bug

from bayeslib.diagnostics.tails import fit_pareto
from bayeslib.independent.cloud import Cloud
from bayeslib.independent.hull import _invert
from bayeslib.independent.rejection_sample import _Rounds
from bayeslib.independent.resample import _spread, choose, normalised
from bayeslib.results.draws import Draws

_rounds = vars(_Rounds).copy()
_sample, _move = Draws.sample, Cloud.move


def accepts_ratio_to_a_power(self, proposal, values, uniforms):
    _rounds["add"](self, proposal, values, uniforms ** (1.0 / 0.9))


def forgets_the_bound(self):
    draws = _rounds["draws"](self)
    value = draws.log_evidence.value - self.settings["log_bound"]
    return dataclasses.replace(
        draws, log_evidence=dataclasses.replace(draws.log_evidence, value=value)
    )


def leans_to_the_left(hull, u):
    return _invert(hull, u**1.1)


def unshrunk(x):
    shape, scale = fit_pareto(x)
    return (shape * (x.size + 10.0) - 5.0) / x.size, scale


def ignores_weights(self, *arguments, **options):
    return _sample(dataclasses.replace(self, log_weights=None), *arguments, **options)


def error_of_one_draw(self):
    vars(self).update(mcse=self.mcse * np.sqrt(self.num_evals))


def middles(weights, num_samples, rng, scheme):
    return _spread(weights, (np.arange(num_samples) + 0.5) / num_samples)


def first_halves(weights, num_samples, rng, scheme):
    return _spread(weights, (np.arange(num_samples) + 0.5 * rng.random(num_samples)) / num_samples)


def rest_of_everything(weights, num_samples, rng, scheme):
    copies = np.floor(num_samples * weights / weights.sum()).astype(int)
    left = _spread(weights, rng.random(num_samples - copies.sum()))
    return np.concatenate([np.repeat(np.arange(weights.size), copies), left])


def mean_for_sum(weights, log_unit):
    shares, log_sum = normalised(weights, log_unit)
    return shares, log_sum - np.log(weights.size)


def at_the_last_temperature(self, beta, factor, rng):
    return _move(self, 1.0, factor, rng)


_HOME = "bayeslib.independent"
_CHOOSE = f"{_HOME}.resample.choose"


def _biased(scheme, wrong):
    arguments = {"scheme": scheme, "num_samples": 7}
    return Bug(
        _CHOOSE, wrong, "test_importance_resampling.test_mean_counts_are_the_weights", arguments
    )


def _on_a_ladder(method, wrong, name):
    return Bug(
        f"{_HOME}.cloud.Cloud.{method}",
        wrong,
        "test_importance_tempering.test_the_evidence_is_unbiased_over_400_runs",
        {"name": name, "target": 1, "proposal": 1},
    )


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
        lambda self, draws: np.zeros(len(draws)),
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
        "bayeslib.results.estimate.Estimate.__post_init__",
        error_of_one_draw,
        "test_monte_carlo.test_an_expectation_in_closed_form",
    ),
    "systematic resampling has no offset": _biased("systematic", middles),
    "stratified resampling looks at first halves": _biased("stratified", first_halves),
    "residual resampling forgets what was copied": _biased("residual", rest_of_everything),
    "multinomial resampling takes the roots of the weights": _biased(
        "multinomial", lambda weights, *how: choose(np.sqrt(weights), *how)
    ),
    "a filter takes no copies": Bug(
        _CHOOSE,
        lambda weights, num_samples, rng, scheme: np.arange(num_samples),
        "test_importance_filter.test_means_and_variances_are_kalmans",
    ),
    "the evidence of a filter takes means for sums": Bug(
        f"{_HOME}.resample.normalised",
        mean_for_sum,
        "test_importance_filter.test_the_evidence_is_unbiased_and_its_error_honest",
        {"scheme": "systematic"},
    ),
    "weights of a ladder forget the proposal": _on_a_ladder(
        "log_ratio", lambda self: self.log_p, "annealed_importance_sample"
    ),
    "a ladder moves at the last temperature": _on_a_ladder(
        "move", at_the_last_temperature, "annealed_importance_sample"
    ),
    "a ladder takes no copies": _on_a_ladder("keep", lambda self, chosen: None, "smc"),
}
