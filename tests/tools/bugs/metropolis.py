"""Random walks that are not Metropolis's."""

import numpy as np
from planting import Bug

from bayeslib.chains.loop import copy, log_density
from bayeslib.compile.callback import helper
from bayeslib.markov.metropolis import accept_or_stay, metropolis_step, propose

step = helper(metropolis_step)


def no_accept_step(target, rng, log_p, walk, note):
    accept_or_stay(target, rng, -np.inf, walk, note)
    return log_density(target, walk.position)


def log_density_not_refreshed(target, rng, log_p, walk, note):
    accept_or_stay(target, rng, log_p, walk, note)
    return log_p


def ratio_to_a_power(target, rng, log_p, walk, note):
    log_new = log_density(target, walk.proposal)
    note.acceptance_rate = np.exp(min(0.9 * (log_new - log_p), 0.0))
    return moved(rng, log_p, log_new, walk, note)


def floored(target, rng, log_p, walk, note):
    log_new = log_density(target, walk.proposal)
    note.acceptance_rate = np.exp(max(min(log_new - log_p, 0.0), -4.0))
    return moved(rng, log_p, log_new, walk, note)


@helper
def moved(rng, log_p, log_new, walk, note):
    note.accepted = rng.random() < note.acceptance_rate
    if not note.accepted:
        return log_p
    copy(walk.proposal, walk.position)
    return log_new


def until_accepted(target, rng, log_p, walk, note):
    note.accepted = False
    while not note.accepted:
        log_p = step(target, rng, log_p, walk, note)
    return log_p


def drifting(rng, walk):
    propose(rng, walk)
    for i in range(walk.position.size):
        walk.proposal[i] += 0.2


def scale_of_the_state(rng, walk):
    propose(rng, walk)
    for i in range(walk.position.size):
        step = walk.proposal[i] - walk.position[i]
        walk.proposal[i] = walk.position[i] + np.exp(0.3 * walk.position[i]) * step


def never_frozen(target, rng, log_p, walk, note):
    log_p = step(target, rng, log_p, walk, note)
    for i in range(walk.scale.size):
        walk.scale[i] *= np.exp(0.01 * (note.acceptance_rate - 0.4))
    return log_p


_ACCEPT, _PROPOSE = (f"bayeslib.markov.metropolis.{name}" for name in ("accept_or_stay", "propose"))
_STEP = "bayeslib.markov.metropolis.metropolis_step"
_CONSERVES = "test_invariance.test_conserves_the_target", {"name": "metropolis log_gamma_normal"}
_REVERSIBLE = "test_invariance.test_is_reversible", {"name": "metropolis mixture"}

BUGS = {
    "no accept step": Bug(_ACCEPT, no_accept_step, *_CONSERVES),
    "the log density is never refreshed": Bug(_ACCEPT, log_density_not_refreshed, *_CONSERVES),
    "accepts ratio^0.9": Bug(_ACCEPT, ratio_to_a_power, *_CONSERVES),
    "acceptance is floored at e^-4": Bug(_ACCEPT, floored, *_CONSERVES),
    "a rejected state is not repeated": Bug(_STEP, until_accepted, *_CONSERVES),
    "the proposal drifts": Bug(_PROPOSE, drifting, *_REVERSIBLE),
    "scale depends on the state, uncorrected": Bug(_PROPOSE, scale_of_the_state, *_REVERSIBLE),
    "the scale is never frozen": Bug(
        _STEP,
        never_frozen,
        "test_trust_invariance.test_adaptation_ends_with_the_warm_up",
        {"sampler": "metropolis"},
    ),
}
