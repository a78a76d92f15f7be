"""Random walks that are not Metropolis's."""

import numpy as np
from planting import Bug

from bayeslib.compile.callback import helper
from bayeslib.markov.metropolis import metropolis_step, propose

step = helper(metropolis_step)

# In the place of the probability with which a proposal is accepted, and of a step.
ACCEPTANCES = {
    "no accept step": lambda log_ratio: 1.0,
    "accepts ratio^0.9": lambda log_ratio: np.exp(0.9 * min(log_ratio, 0.0)),
    "acceptance is floored at e^-4": lambda log_ratio: np.exp(max(min(log_ratio, 0.0), -4.0)),
}


def not_refreshed(step):
    step = helper(step)

    def wrong(target, rng, log_p, state, note):
        step(target, rng, log_p, state, note)
        return log_p

    return wrong


def until_accepted(step):
    step = helper(step)

    def wrong(target, rng, log_p, state, note):
        note.accepted = False
        while not note.accepted:
            log_p = step(target, rng, log_p, state, note)
        return log_p

    return wrong


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


_HOME = "bayeslib.markov.metropolis"
_STEP, _PROPOSE = f"{_HOME}.metropolis_step", f"{_HOME}.propose"
_CONSERVES = "test_invariance.test_conserves_the_target", {"name": "metropolis log_gamma_normal"}
_REVERSIBLE = "test_invariance.test_is_reversible", {"name": "metropolis mixture"}

BUGS = {
    n: Bug("bayeslib.chains.loop.acceptance", f, *_CONSERVES) for n, f in ACCEPTANCES.items()
} | {
    "the log density is never refreshed": Bug(_STEP, not_refreshed(metropolis_step), *_CONSERVES),
    "a rejected state is not repeated": Bug(_STEP, until_accepted(metropolis_step), *_CONSERVES),
    "the proposal drifts": Bug(_PROPOSE, drifting, *_REVERSIBLE),
    "scale depends on the state, uncorrected": Bug(_PROPOSE, scale_of_the_state, *_REVERSIBLE),
    "the scale is never frozen": Bug(
        _STEP,
        never_frozen,
        "test_trust_invariance.test_adaptation_ends_with_the_warm_up",
        {"sampler": "metropolis"},
    ),
}
