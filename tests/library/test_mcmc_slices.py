"""Slice sampling: its plain algorithm, and that it always ends."""

import math

import numpy as np
import pytest
from bad_inputs import refused
from densities import EXACT, gaussian2
from stepping import Z_LIMIT, batch_z
from twins import plain_twin

from bayeslib import BayeslibWarning, Target, TargetError, slice_sample


def test_a_run_ends_well():
    """That the slice holds the state is what every update finds."""
    target, sample = EXACT["log_gamma_normal"]
    starts = sample(4, np.random.default_rng(132))
    draws = slice_sample(target, starts, width=0.6, num_samples=20_000, num_warmup=0, rng=132)
    assert draws.num_samples == 20_000


@pytest.mark.parametrize("order", ["systematic", "random"])
@pytest.mark.parametrize("max_steps_out", [0, 8, 50])
def test_matches_the_page_in_other_coordinates(max_steps_out, order):
    """Widths of one where theta is width * u; every evaluation of both is counted."""
    target, start, width = gaussian2(), np.array([0.5, -1.0]), np.array([0.8, 1.1])
    options = {"max_steps_out": max_steps_out, "order": order, "num_samples": 150, "rng": 7}
    draws = slice_sample(target, start, width=width, num_warmup=0, num_chains=1, **options)
    asked = []

    def density(u):
        asked.append(u)
        return target(width * u)

    expected = plain_twin("mcmc", "slice_sample")(density, start / width, width=1.0, **options)
    np.testing.assert_allclose(draws.values[0], width * expected, rtol=1e-9)
    assert draws.num_evals == 1 + draws.stats["num_evals"].sum() == len(asked)


def test_it_ends_where_the_slice_has_no_end():
    flat = Target(lambda theta: 0.0 * theta[0], dim=1, gradient=None)
    with pytest.warns(BayeslibWarning, match="100 % of the draws reached max_steps_out=7"):
        draws = slice_sample(
            flat, np.arange(4.0), width=1.0, max_steps_out=7, num_samples=50, num_warmup=0, rng=1
        )
    assert draws.stats["reached_max_steps_out"].all()
    assert (draws.stats["num_evals"] == 10).all()  # nine ends asked, and the first proposal
    assert slice_sample(gaussian2(), width=1e200, num_samples=9, num_warmup=9, rng=1).dim == 2


def test_it_ends_where_the_density_is_not_what_it_was(monkeypatch):
    """No interval holds a point above a level that is too high: a point is what is left of it."""
    target = gaussian2()
    monkeypatch.setattr(target, "bind", lambda gradient, bind=target.bind: Higher(bind(gradient)))
    with pytest.raises(TargetError, match="differs from what it was there before"):
        slice_sample(target, [0.5, 0.5], num_chains=1, num_samples=10, num_warmup=0, width=1, rng=1)


class Higher:
    """A density that is higher the first time it is asked, through its callback in Python."""

    def __init__(self, bound):
        self._bound = bound

    def __getattr__(self, name):
        return getattr(self._bound, name)

    def __call__(self, theta, grad):
        return self._bound(theta, grad) + 1000.0


@pytest.mark.filterwarnings("ignore:the log density was nan")
def test_nan_is_outside_the_slice():
    target = Target(lambda theta: -theta[0] + 0.0 * math.sqrt(theta[0]), dim=1, gradient=None)
    draws = slice_sample(target, np.arange(1.0, 5.0), num_samples=20_000, rng=2)
    assert draws.settings["num_nan"] > 0
    x = draws.values[:, :, 0]
    assert x.min() > 0.0
    assert abs(batch_z(x, 1.0, right=True)) < Z_LIMIT
    assert abs(batch_z(x, 1.05, right=False)) > Z_LIMIT


test_bad_options_are_refused = refused(
    ({"width": 0.0}, "width must be positive"),
    ({"width": [1.0, 2.0, 3.0]}, "width must be a number or have shape"),
    ({"max_steps_out": -1}, "max_steps_out must be at least 0"),
    ({"order": "backwards"}, 'order must be one of "systematic"'),
    by=lambda **options: slice_sample(gaussian2(), rng=1, **options),
)


def test_no_warm_up_no_width():
    with pytest.warns(BayeslibWarning, match="no time to adapt the width"):
        slice_sample(gaussian2(), num_samples=20, num_warmup=0, rng=1)
