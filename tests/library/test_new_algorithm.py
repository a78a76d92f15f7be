"""All that a sampler takes which the library has not, Barker's proposal, and that it is right.

A random walk whose steps lean towards where the gradient points (Livingstone and Zanella, 2022,
The Barker proposal). It stands here and not in the library because no page needs it.
"""

from typing import NamedTuple

import numpy as np
import pytest
from densities import EXACT
from stepping import Z_LIMIT, paired_z, swap_z
from steps import steps

import bayeslib as bl
from bayeslib.chains.algorithm import Algorithm, as_plan
from bayeslib.chains.loop import Chain, acceptance, copy, laid_out, log_density_and_gradient, record
from bayeslib.compile.callback import helper
from bayeslib.compile.kinds import VECTOR
from bayeslib.hamiltonian.warmup import Step, as_step, average_step


class Lean(NamedTuple):
    """Where a chain is, where it might go, and the gradients at both."""

    position: VECTOR
    gradient: VECTOR
    proposal: VECTOR
    slope: VECTOR
    step: Step


Note = record(acceptance_rate="f8", accepted="?")


def barker_step(target, rng, log_p, x, note):
    """Step mostly uphill in each coordinate; accept as Metropolis and Hastings do."""
    lean(rng, x)
    log_new = log_density_and_gradient(target, x.proposal, x.slope)
    return go_or_stay(rng, log_p, log_new, leaning(x), x, note)


def unbalanced_step(target, rng, log_p, x, note):
    """The same, but which way it leans there and back is forgotten."""
    lean(rng, x)
    log_new = log_density_and_gradient(target, x.proposal, x.slope)
    return go_or_stay(rng, log_p, log_new, 0.0, x, note)


@helper
def lean(rng, x):
    """Step by z or -z, by z with probability 1 / (1 + exp(-z * gradient))."""
    for i in range(x.position.size):
        z = x.step.value * rng.standard_normal()
        if not rng.random() * (1.0 + np.exp(-z * x.gradient[i])) < 1.0:
            z = -z
        x.proposal[i] = x.position[i] + z


@helper
def leaning(x):
    """Return log q(theta | theta') - log q(theta' | theta)."""
    total = 0.0
    for i in range(x.position.size):
        z = x.proposal[i] - x.position[i]
        total += np.log1p(np.exp(-z * x.gradient[i])) - np.log1p(np.exp(z * x.slope[i]))
    return total


@helper
def go_or_stay(rng, log_p, log_new, correction, x, note):
    note.acceptance_rate = acceptance(log_new - log_p + correction) if log_new > -np.inf else 0.0
    note.accepted = rng.random() < note.acceptance_rate
    if not note.accepted:
        return log_p
    copy(x.proposal, x.position)
    copy(x.slope, x.gradient)
    return log_new


def learn_step(t, windows, target, rng, log_p, x, note):
    """Learn how far steps go; freeze it at the end of the warm-up."""
    average_step(x.step, note.acceptance_rate)
    if t + 1 == windows[windows.size - 1]:
        x.step.value = np.exp(x.step.average)


def initial(run, start, step):
    dim = (start.size,)
    return laid_out(
        Lean, position=start, gradient=dim, proposal=dim, slope=dim,
        step=step | {"centre": np.log(10.0)},
    )  # fmt: skip


BARKER = Algorithm(
    "barker", Chain(barker_step, Lean, Note, learn=learn_step), initial,
    lambda run: {"step_size": run.state.step.value}, gradient=True,
)  # fmt: skip
UNBALANCED = Algorithm("unbalanced", Chain(unbalanced_step, Lean, Note), initial, gradient=True)


def barker(target, *, rng, num_samples=1000, num_warmup=1000, num_chains=4):
    plan = as_plan(num_samples, num_warmup, num_chains, rng, None, None)
    return BARKER.sample(target, None, {"step": as_step(None, 0.4, num_warmup)}, plan, {})


@pytest.mark.parametrize(("algorithm", "right"), [(BARKER, True), (UNBALANCED, False)])
def test_it_leaves_the_target_alone(algorithm, right):
    """Eight moments after ten steps, and pairs of one, at |z| < 5.6: a false alarm in 1e6."""
    target, exact = EXACT["log_gamma_normal"]
    rng = np.random.default_rng(31)
    starts, options = exact(50_000, rng), {"step": as_step(0.8, 0.4, 0)}
    ends, notes = steps(algorithm, target, starts, options, num_steps=10, rng=rng)
    found = np.abs(paired_z(starts, ends, right=right)[0]).max()
    ends, _ = steps(algorithm, target, starts[:20_000], options, num_steps=1, rng=rng)
    swapped = np.abs(swap_z(starts[:20_000], ends, right=right)).max()
    assert 0.2 < notes["acceptance_rate"].mean() < 0.9
    assert (found < Z_LIMIT and swapped < Z_LIMIT) == right


def test_what_every_sampler_has_is_there():
    target = bl.posteriors.eight_schools(centered=False)
    draws = barker(target, num_samples=4000, rng=5)
    estimate = draws.expect()
    assert np.all(abs(estimate.value - target.truth.mean) < 5.6 * estimate.mcse + 0.02)
    assert 0.3 < draws.settings["acceptance"] < 0.5 and np.all(bl.rhat(draws) < 1.05)
    again = barker(target, num_samples=4000, rng=5)
    np.testing.assert_array_equal(again.values, draws.values)
    nowhere = bl.Target(lambda theta: np.log(theta[0]) - theta[0], dim=1)
    with pytest.warns(bl.BayeslibWarning, match="nan at"):
        assert barker(nowhere, rng=1).values.min() > 0.0
