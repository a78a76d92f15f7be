"""Trees that double where they must not, and draw from them what they must not."""

import numpy as np
from planting import Bug

from bayeslib.compile.callback import helper
from bayeslib.hamiltonian.nuts import FORCE, FULL, TURNED, P, grow, leap, nuts_step, set_out, weigh

from .hmc import never_frozen


def uniform_weights(half, gain):
    half.acceptance += np.exp(min(gain, 0.0))
    half.weight += 1.0
    return 1.0


def the_newest_of_all(half, gain):
    weigh(half, gain)
    return np.inf


def turned_or_not(target, rng, tree, here, num_steps, step_size, start):
    end = grow(target, rng, tree, here, num_steps, step_size, start)
    return FULL if end == TURNED else end


def preferred(target, rng, tree, here, num_steps, step_size, start):
    end = grow(target, rng, tree, here, num_steps, step_size, start)
    tree.half.weight *= 2.0
    return end


@helper
def rescaled(tree, factors):
    kinetic = 0.0
    for i in range(tree.total.size):
        tree.total[i] *= factors[i]
        tree.left[P, i] = tree.right[P, i] = tree.total[i]
        kinetic += 0.5 * tree.total[i] ** 2
    return kinetic


def too_small(rng, tree):
    set_out(rng, tree)
    return rescaled(tree, 0.9 * np.ones(tree.root.shape[1]))


def of_the_inverse(rng, tree):
    set_out(rng, tree)
    return rescaled(tree, tree.root[0] ** 2)


def without_the_last_kick(target, tree, here, step_size):
    log_p, _ = leap(target, tree, here, step_size)
    p, kinetic = here[P], 0.0
    for i in range(p.size):
        kick = 0.5 * step_size * here[FORCE, i]
        p[i] -= kick
        tree.total[i] -= kick
        kinetic += 0.5 * p[i] ** 2
    return log_p, kinetic


_HOME = "bayeslib.hamiltonian.nuts"


def _unconserved(place, wrong, row):
    return Bug(
        f"{_HOME}.{place}", wrong, "test_invariance.test_conserves_the_target", {"name": row}
    )


BUGS = {
    "uniform weights": _unconserved("weigh", uniform_weights, "nuts log_gamma_normal"),
    "proposes the end of the new half": _unconserved("weigh", the_newest_of_all, "nuts truncated"),
    "a half that turned counts": _unconserved("grow", turned_or_not, "nuts truncated"),
    "the new half is preferred too much": _unconserved("grow", preferred, "nuts log_gamma_normal"),
    "parts of a half may turn": _unconserved(
        "pair_turns", lambda tree, row, last: False, "nuts truncated"
    ),
    "the momentum is too small": _unconserved("set_out", too_small, "nuts funnel"),
    "momentum from N(0, M^-1)": _unconserved("set_out", of_the_inverse, "nuts diagonal"),
    "the last half kick is missing": _unconserved("leap", without_the_last_kick, "nuts mixture"),
    "its step size is never frozen": Bug(
        f"{_HOME}.nuts_step",
        never_frozen(nuts_step),
        "test_trust_invariance.test_adaptation_ends_with_the_warm_up",
        {"sampler": "nuts"},
    ),
}
