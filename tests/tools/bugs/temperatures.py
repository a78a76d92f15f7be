"""Samplers whose temperatures are not what they say, and scans that go one way only."""

from planting import Bug

from bayeslib.compile.callback import helper
from bayeslib.markov import gibbs
from bayeslib.markov.anneal import anneal_step, uphill
from bayeslib.markov.parallel_tempering import exchange, move_rung

from .metropolis import not_refreshed

annealed, right_initial = helper(anneal_step), gibbs.initial


def densities_stay(x, k, uniform):
    here, there = x.log_p[k], x.log_p[k + 1]
    exchange(x, k, uniform)
    x.log_p[k], x.log_p[k + 1] = here, there


def cold(target, rng, x, k, note):
    beta, x.betas[k] = x.betas[k], 1.0
    move_rung(target, rng, x, k, note)
    x.betas[k] = beta


def twice_as_hot(target, rng, energy, c, note):
    c.temperatures[target.account.t] *= 2.0
    return annealed(target, rng, energy, c, note)


def a_little_is_free(target, energy, c):
    rise, new = uphill(target, energy, c)
    return (0.0 if 0.0 < rise <= 0.2 else rise), new


def only_there(run, start, conditionals, known, scan):
    scan = "systematic" if scan == "symmetric" else scan
    return right_initial(run, start, conditionals, known, scan)


_TEMPERING, _ANNEAL = "bayeslib.markov.parallel_tempering", "bayeslib.markov.anneal"
_PRODUCT = "test_parallel_tempering.test_conserves_the_product_of_tempered_densities"
_WEIGHTS = "test_annealing.test_at_a_fixed_temperature_the_states_have_boltzmanns_weights"

BUGS = {
    "swaps whatever the densities": Bug(
        f"{_TEMPERING}.exchange", lambda x, k, uniform: exchange(x, k, -1.0), _PRODUCT
    ),
    "the states swap, their densities do not": Bug(
        f"{_TEMPERING}.exchange", densities_stay, _PRODUCT
    ),
    "the walk ignores the temperature": Bug(f"{_TEMPERING}.move_rung", cold, _PRODUCT),
    "accepts at twice the temperature": Bug(f"{_ANNEAL}.anneal_step", twice_as_hot, _WEIGHTS),
    "a little uphill is free": Bug(f"{_ANNEAL}.uphill", a_little_is_free, _WEIGHTS),
    "forgets the energy of the state": Bug(
        f"{_ANNEAL}.anneal_step", not_refreshed(anneal_step), _WEIGHTS
    ),
    "a scan there and back that only goes there": Bug(
        "bayeslib.markov.gibbs.initial",
        only_there,
        "test_gibbs.test_is_reversible",
        {"scan": "symmetric"},
    ),
    "a conditional's spread is not looked at": Bug(
        "bayeslib.markov.slice_ranks._folded",
        lambda ranks: ranks,
        "test_gibbs_check.test_a_scale_wrong_by_a_factor_of_two_is_found",
        {"factor": 0.5},
    ),
}
