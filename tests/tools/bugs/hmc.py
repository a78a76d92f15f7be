"""Hamiltonian dynamics that are not, and acceptances of them."""

import numpy as np
from planting import Bug

from bayeslib.compile.callback import helper
from bayeslib.hamiltonian.hmc import accepts, hmc_step
from bayeslib.hamiltonian.leapfrog import kick_and_drift
from bayeslib.hamiltonian.warmup import average_step


def accepts_always(rng, log_ratio, note):
    accepts(rng, log_ratio, note)
    note.accepted = True
    return True


def accepts_too_often(rng, log_ratio, note):
    note.acceptance_rate = min(1.1 * np.exp(min(log_ratio, 0.0)), 1.0)
    note.accepted = rng.random() < note.acceptance_rate
    return note.accepted


def momentum_of_the_inverse(rng, root, momentum):
    for i in range(momentum.size):
        momentum[i] = rng.standard_normal() * root[0, i]


def stretching(position, *how):
    moved, momentum = kick_and_drift(position, *how)
    return position + (1.0 + 0.1 * position) * (moved - position), momentum


def drifting(position, *how):
    moved, momentum = kick_and_drift(position, *how)
    return moved + 0.02, momentum


def never_frozen(step):
    step = helper(step)

    def wrong(target, rng, log_p, x, note):
        log_p = step(target, rng, log_p, x, note)
        average_step(x.step, note.acceptance_rate)
        return log_p

    return wrong


_ACCEPTS, _STEP = (f"bayeslib.hamiltonian.hmc.{name}" for name in ("accepts", "hmc_step"))
_DYNAMICS, _PATH = "bayeslib.hamiltonian.dynamics", "bayeslib.hamiltonian.leapfrog"
_CONSERVES = "test_invariance.test_conserves_the_target"
_GAMMA = {"name": "hmc log_gamma_normal"}

BUGS = {
    "no accept step": Bug(_ACCEPTS, accepts_always, _CONSERVES, _GAMMA),
    "accepts too often": Bug(_ACCEPTS, accepts_too_often, _CONSERVES, {"name": "hmc mixture"}),
    "the last half kick is missing": Bug(
        f"{_DYNAMICS}.kick",
        lambda momentum, gradient, step_size: None,
        "test_hmc.test_matches_the_plain_algorithm_draw_by_draw",
        {"metric": "identity", "jitter": 0.0},
    ),
    "momentum from N(0, M^-1)": Bug(
        f"{_DYNAMICS}.draw_momentum", momentum_of_the_inverse, _CONSERVES, {"name": "hmc diagonal"}
    ),
    "the kinetic energy is ignored": Bug(
        f"{_DYNAMICS}.kinetic_energy", lambda momentum, metric: 0.0, _CONSERVES, _GAMMA
    ),
    "the step depends on the state": Bug(
        f"{_PATH}.kick_and_drift",
        stretching,
        "test_hmc.test_leapfrog_preserves_volume",
        {"metric": "identity"},
    ),
    "the position drifts": Bug(
        f"{_PATH}.kick_and_drift",
        drifting,
        "test_hmc.test_leapfrog_is_reversible",
        {"metric": "diagonal", "num_steps": 1},
    ),
    "the step size is never frozen": Bug(
        _STEP,
        never_frozen(hmc_step),
        "test_trust_invariance.test_adaptation_ends_with_the_warm_up",
        {"sampler": "hmc"},
    ),
}
