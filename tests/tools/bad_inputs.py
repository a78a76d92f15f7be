"""What the tests of bad input share.

The table of what is bad is tests/data/bad_inputs.yml. A test names the rows it carries by
``pytest.mark.row(1, 2)``; test_bad_inputs_rows.py asks for every row.
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
