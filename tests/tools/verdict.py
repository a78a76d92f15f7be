"""Statistical verdicts: one threshold with fixed seeds, two stages with the seeds of the day.

Under ``make test-fresh`` the environment variable FRESH_SEED holds the day and FRESH_SCALE a
factor for all sizes. A check is then judged at 1e-3 and, when it fails, once more with another seed
and ten times the size: 1e-6 altogether, at hardly more than the cost of the first.
"""

import os
import zlib

import numpy as np
from recording import note, z_of
from scipy import special

ALPHA = 1e-6
STAGE = 1e-3
FRESH_SEED = os.environ.get("FRESH_SEED")
FRESH_SCALE = int(os.environ.get("FRESH_SCALE", "1"))


def two_sided(z):
    """p-values of standard normal z."""
    return 2.0 * special.ndtr(-np.abs(np.asarray(z, dtype=float)))


def smallest(pvalues):
    """The test's own p-value: the smallest of several times their number (Bonferroni)."""
    pvalues = np.ravel(pvalues)
    assert pvalues.size > 0 and not np.isnan(pvalues).any(), f"nothing to judge: {pvalues}"
    return float(min(1.0, pvalues.min() * pvalues.size))


def passes(check, *, name, size, fresh=None, scale=None):
    """Whether what `check` measures is compatible with a correct program.

    Parameters
    ----------
    check : callable
        check(rng, size) -> p-values.
    name : str
        Decides the seed; printed with it.
    size : int
        Of the check, with fixed seeds.
    fresh, scale : optional
        FRESH_SEED and FRESH_SCALE, unless given.
    """
    fresh = FRESH_SEED if fresh is None else fresh
    scale = FRESH_SCALE if scale is None else scale
    own = zlib.crc32(name.encode())
    if not fresh:
        found = check(np.random.default_rng(own), size)
        note("right", name=name, size=size, z=z_of(np.ravel(found)))
        return smallest(found) > ALPHA
    for stage, larger in enumerate((1, 10)):
        seed = [int(fresh), own, stage]
        pvalues = np.ravel(check(np.random.default_rng(seed), size * scale * larger))
        note("fresh", name=name, seed=seed, z=z_of(pvalues))
        found = smallest(pvalues)
        print(f"{name}: seed {seed}, size {size * scale * larger}, p = {found:.2g}")
        if found > STAGE:
            return True
    return False


def fails(check, *, name, size):
    """Whether `check` finds a bug in a program that has one, with fixed seeds."""
    found = check(np.random.default_rng(zlib.crc32(name.encode())), size)
    note("wrong", name=name, size=size, z=z_of(np.ravel(found).min()), count=np.size(found))
    return smallest(found) < ALPHA
