"""Samplers that take proposals of the user's own, and do not do them justice."""

import numpy as np
from planting import Bug

from bayeslib.chains.loop import ask, log_density
from bayeslib.compile.callback import helper
from bayeslib.markov.independence_metropolis import independence_step
from bayeslib.markov.metropolis_hastings import correction, metropolis_hastings_step

hastings, independence = helper(metropolis_hastings_step), helper(independence_step)


def always(log_ratio):
    return 1.0


def to_a_power(log_ratio):
    return np.exp(0.9 * min(log_ratio, 0.0))


def floored(log_ratio):
    return np.exp(max(min(log_ratio, 0.0), -4.0))


def not_repeated(target, rng, log_p, m, note):
    note.accepted = False
    while not note.accepted:
        log_p = hastings(target, rng, log_p, m, note)
    return log_p


def not_refreshed(target, rng, log_p, m, note):
    hastings(target, rng, log_p, m, note)
    return log_p


def left_out(target, log_new, m):
    return 0.0


def wrong_sign(target, log_new, m):
    return -correction(target, log_new, m)


def way_back(target, log_new, m):
    return ask(target, m.log_ratio, m.position, m.proposal, m.log_ratio_handle)


def without_q(target, rng, log_p, x, note):
    x.log_q[target.account.t] = 0.0
    x.now.log_weight = log_density(target, x.position)
    return independence(target, rng, log_p, x, note)


def old_weight(target, rng, log_p, x, note):
    weight = x.now.log_weight
    log_p = independence(target, rng, log_p, x, note)
    x.now.log_weight = weight
    return log_p


_HASTINGS, _INDEPENDENCE = (
    f"bayeslib.markov.{name}" for name in ("metropolis_hastings", "independence_metropolis")
)
_STEP = f"{_HASTINGS}.metropolis_hastings_step"
_CONSERVES = "test_invariance.test_conserves_the_target"
_WANDERS = _CONSERVES, {"name": "metropolis_hastings log_gamma_normal"}
_INDEPENDENTLY = _CONSERVES, {"name": "independence_metropolis mixture"}
_WIDELY = _CONSERVES, {"name": "independence_metropolis wide mixture"}

BUGS = {
    "rejected state not repeated": Bug(_STEP, not_repeated, *_WANDERS),
    "the log density is never refreshed": Bug(_STEP, not_refreshed, *_WANDERS),
    "accepts ratio^0.9": Bug(f"{_HASTINGS}.acceptance", to_a_power, *_WANDERS),
    "acceptance is floored at e^-4": Bug(f"{_HASTINGS}.acceptance", floored, *_WANDERS),
    "the correction is left out": Bug(f"{_HASTINGS}.correction", left_out, *_WANDERS),
    "the correction has the wrong sign": Bug(f"{_HASTINGS}.correction", wrong_sign, *_WANDERS),
    "the correction asks for the way back": Bug(f"{_HASTINGS}.correction", way_back, *_WANDERS),
    "independence: no accept step": Bug(f"{_INDEPENDENCE}.acceptance", always, *_INDEPENDENTLY),
    "independence: accepts ratio^0.9": Bug(
        f"{_INDEPENDENCE}.acceptance", to_a_power, *_INDEPENDENTLY
    ),
    "independence: acceptance is floored at e^-4": Bug(
        f"{_INDEPENDENCE}.acceptance", floored, *_WIDELY
    ),
    "independence: the proposal's density is left out": Bug(
        f"{_INDEPENDENCE}.independence_step", without_q, *_INDEPENDENTLY
    ),
    "independence: the weight is never refreshed": Bug(
        f"{_INDEPENDENCE}.independence_step", old_weight, *_INDEPENDENTLY
    ),
}
