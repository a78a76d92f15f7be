"""The table of bad inputs: what each row is, and what its tests share.

A test names the rows it carries by ``pytest.mark.row(1, 2)``; test_bad_inputs_rows.py asks for
every row of `ROWS`.
"""

from functools import partial

import numpy as np
import pytest
from densities import gaussian2

from bayeslib import (
    BayeslibError,
    Target,
    hmc,
    metropolis,
    metropolis_hastings,
    nuts,
    parallel_tempering,
    slice_sample,
)

ROWS = {
    1: "log density nan at the start",
    2: "log density nan on the way",
    3: "log density -inf at the start",
    4: "log density +inf",
    5: "log density returns an array",
    6: "log density returns None on one branch",
    7: "log density returns an int or a bool",
    8: "log density raises",
    9: "log(0), log(-1), exp(1000), 1/0 in compiled code",
    10: "index out of bounds in compiled code",
    11: "a function that does not compile",
    12: "wrong number of arguments",
    13: "gradient of wrong sign or scale",
    14: "gradient of wrong length",
    15: "start as a list or tuple",
    16: "start of integers",
    17: "start without a dimension",
    18: "start of two dimensions",
    19: "start of float32, strided, read-only",
    20: "start of text, objects, complex numbers",
    21: "start nan or infinite",
    22: "empty start",
    23: "all chains from one point",
    24: "no draws asked for",
    25: "a negative, fractional, true or textual number of draws",
    26: "no warm-up with adaptation on",
    27: "seed None",
    28: "seed of text, a float, negative",
    29: "seed beyond 64 bits",
    30: "seed True, a Generator, a RandomState",
    31: "numpy's global seed",
    32: "proposal scale 0",
    33: "proposal scale negative, nan, of wrong length",
    34: "covariance not symmetric or not positive",
    35: "mass matrix negative or of wrong size",
    36: "step size nan",
    37: "step size 0",
    38: "step size negative",
    39: "no steps, or too deep a tree",
    40: "improper posterior",
    41: "discontinuous density under gradients",
    42: "divergences",
    43: "bad R-hat or ESS, one chain, few draws",
    44: "constant or stuck chain, infinite draws",
    45: "rejection: the envelope is too low",
    46: "rejection: nothing is accepted",
    47: "proposal density 0 where it draws",
    48: "all weights zero",
    49: "one weight dominates, or their variance is infinite",
    50: "probabilities that do not sum to 1, are negative or nan",
    51: "data with nan, text, or a table",
    52: "more draws than memory",
    53: "Ctrl-C",
    54: "a global array changed after compilation",
    55: "the number of threads",
    56: "fork after a run",
    57: "pickling",
    58: "fast mathematics and the guards against nan",
    59: "unnormalised densities where the evidence is asked for",
    60: "a keyword misspelt",
}


QUICK = {"num_samples": 20, "num_warmup": 20, "num_chains": 1, "rng": 1}


def jump(theta, rng):
    return theta + rng.standard_normal(theta.size)


SAMPLERS = {
    "metropolis": metropolis,
    "metropolis_hastings": partial(metropolis_hastings, propose=jump, log_ratio=None),
    "hmc": partial(hmc, num_steps=3),
    "nuts": nuts,
    "slice_sample": slice_sample,
    "parallel_tempering": parallel_tempering,
}
FIXED = {
    "metropolis": {"scale": 0.5}, "hmc": {"step_size": 0.3}, "nuts": {"step_size": 0.3},
    "slice_sample": {"width": 0.5},
}  # fmt: skip


def run(target=None, start=(0.1, 0.2), sampler="metropolis", **options):
    target = gaussian2() if target is None else target
    return SAMPLERS[sampler](target, start, **QUICK | options)


def value_only(function, dim=2, **options):
    return Target(function, dim=dim, gradient=None, **options)


class Denying:
    """A proposal of standard normals, which beyond an end it says it never draws."""

    def __init__(self, end):
        self.end = end

    def sample(self, num_samples, rng):
        return rng.standard_normal((num_samples, 1))

    def logdensity(self, x):
        return np.where(x[:, 0] > self.end, -np.inf, 0.0)


def refused(*rows, by=None):
    """Return a test that runs over rows (what, words), or (what, error, words).

    `what` is called and must be refused in these words. With `by` it is what that is called with:
    a dict of options, a tuple of arguments, or one argument.
    """

    @pytest.mark.parametrize("row", rows, ids=[row[-1] for row in rows])
    def test(row):
        what, *error, words = row
        with pytest.raises(*(error or [BayeslibError]), match=words):
            if by is None:
                what()
            elif isinstance(what, dict):
                by(**what)
            else:
                by(*(what if isinstance(what, tuple) else [what]))

    return test
