"""Slice samplers that are not Neal's."""

import numpy as np
from numba import njit
from planting import Bug

from bayeslib import TargetError
from bayeslib.chains.loop import log_density
from bayeslib.compile.callback import INLINED
from bayeslib.markov.slice_sample import step_out


def update(
    *,
    level=lambda log_p, u: log_p + np.log(1.0 - u),
    left_of=lambda x, width, u: x - width * u,
    split=lambda most, u: int(u * (most + 1.0)),
    rest=lambda most, steps_left: most - steps_left,
    inside=lambda log_new, level: log_new >= level,
    goes_left=lambda new, x, left, right: new < x,
    kept=lambda log_new, log_p: log_new,
):
    """Return the library's update of a coordinate, with these parts."""
    level_of, left_of, split, rest, inside, goes_left, kept = (
        njit(**INLINED)(part) for part in (level, left_of, split, rest, inside, goes_left, kept)
    )

    def slice_update(target, rng, log_p, theta, i, width, most):
        x = theta[i]
        level = level_of(log_p, rng.random())
        left = left_of(x, width, rng.random())
        right = left + width
        steps_left = split(most, rng.random())
        left, out_left = step_out(target, theta, i, left, -width, level, steps_left)
        right, out_right = step_out(target, theta, i, right, width, level, rest(most, steps_left))
        for rejected in range(1000):
            theta[i] = left + rng.random() * (right - left)
            log_new = log_density(target, theta)
            if inside(log_new, level):
                return kept(log_new, log_p), out_left + out_right, rejected
            if goes_left(theta[i], x, left, right):
                left = theta[i]
            else:
                right = theta[i]
        theta[i] = x
        target.account.status = 3  # UNDEFINED
        return log_p, 0, 0

    return slice_update


_UPDATE = "bayeslib.markov.slice_sample.slice_update"
_CONSERVES = "test_invariance.test_conserves_the_target"
_FEW = {"name": "slice_sample few steps log_gamma_normal"}
_ENDS = "test_mcmc_slices.test_a_run_ends_well"

BUGS = {
    name: Bug(_UPDATE, update(**parts), _CONSERVES, _FEW)
    for name, parts in {
        "the first interval is not placed at random": {"left_of": lambda x, w, u: x - 0.1 * w},
        "the right has the whole limit": {"rest": lambda most, steps_left: most},
        "takes what lies outside the slice": {"inside": lambda new, level: new >= level - 0.5},
        "the level is too low": {"level": lambda log_p, u: log_p + 1.2 * np.log(1.0 - u)},
    }.items()
} | {
    "the limit is not split at random": Bug(
        _UPDATE,
        update(split=lambda most, u: most),
        "test_invariance.test_is_reversible",
        {"name": "slice_sample random order mixture"},
    ),
    # These lead to a slice without the state itself, which the sampler finds out.
    "shrinks towards the wrong side": Bug(
        _UPDATE,
        update(goes_left=lambda new, x, left, right: new < 0.5 * (left + right)),
        _ENDS,
        error=TargetError,
    ),
    "the log density is never refreshed": Bug(
        _UPDATE, update(kept=lambda log_new, log_p: log_p), _ENDS, error=TargetError
    ),
}
