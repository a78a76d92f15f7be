"""What every fit begins and ends with: unconstrained coordinates, the bound, k-hat."""

from dataclasses import replace

import numpy as np

from ..errors import BayeslibError, ZeroWeightsError, warn
from ..importance import psis
from ..results import Estimate
from ..target import as_target
from ..transforms import unconstrained
from ..trouble import khat_limit
from ..vi.lower_bound import bound_terms

FAMILIES = ("meanfield", "fullrank")


def one_of(value, allowed, name):
    """Return the index of `value` in `allowed`, or raise BayeslibError naming what is."""
    if not (isinstance(value, str) and value in allowed):
        listed = ", ".join(f'"{a}"' for a in allowed)
        raise BayeslibError(f"{name} must be one of {listed}, got {value!r}")
    return allowed.index(value)


def freed(target):
    """Return the target in unconstrained coordinates, and their Transform or None.

    Raises
    ------
    BayeslibTypeError
        When `target` is not a Target.
    """
    free = unconstrained(as_target(target))
    return (target, None) if free.transform.is_identity else (free, free.transform)


def check_approximation(free, approximation, num_check, rng):
    """Return the approximation with its final ``elbo``, ``khat`` and what they speak against.

    Parameters
    ----------
    free : Target
        In the coordinates in which the approximation is Gaussian.
    approximation : Gaussian
    num_check : int
        Draws: as many times dim standard normals of `rng`.
    rng : numpy.random.Generator

    Raises
    ------
    TargetError
        When the log density is +inf at a draw.
    """
    base = approximation if approximation.transform is None else approximation.base
    x = base.sample(num_check, rng)
    logdensity, outside = bound_terms(free, x, forgive_nan=True)
    log_ratio = logdensity - base.logdensity(x)
    num_evals = approximation.num_evals + num_check
    problems = list(approximation.problems)
    try:
        _, khat = psis(log_ratio)
    except ZeroWeightsError:
        khat = np.inf
    if outside:
        elbo = Estimate(-np.inf, np.nan, num_evals)
        problems.append(
            f"the log density is not finite at {outside} of {num_check} draws of the "
            "approximation, so that its evidence lower bound is -inf: say the target's support"
        )
    else:
        error = log_ratio.std(ddof=1) / np.sqrt(num_check)
        elbo = Estimate(float(log_ratio.mean()), float(error), num_evals)
    if khat > khat_limit(num_check):
        problems.append(
            f"k-hat is {khat:.2f}, above {khat_limit(num_check):.2f}: the approximation misses "
            "part of the posterior, and weights cannot mend it; take another family or a sampler"
        )
    return replace(
        approximation, elbo=elbo, num_evals=num_evals, problems=tuple(problems),
        settings=approximation.settings | {"khat": float(khat)},
    )  # fmt: skip


def warn_of(approximation):
    """Warn, once and on the caller of a public function, of what speaks against the result."""
    if approximation.problems:
        warn("; ".join(approximation.problems))
