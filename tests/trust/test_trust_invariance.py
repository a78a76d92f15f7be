"""What every Markov chain must keep: an adaptation that ends, an acceptance known beforehand."""

from functools import partial

import numpy as np
import pytest
from densities import SAMPLERS, gaussian2, minus_theta, standard
from recording import measured
from scipy import special, stats
from sparing import over
from steps import algorithm, flow, steps

from bayeslib import Target, slice_sample
from bayeslib.chains.functions import Portable

METRIC = ["step_size", "inverse_mass_matrix"]
ADAPTED = {"metropolis": ["scale"], "hmc": METRIC, "nuts": METRIC, "slice_sample": ["width"]}
SLICES = {"slice_sample": partial(slice_sample, gaussian2())}


@pytest.mark.trust("S8")
@pytest.mark.parametrize("sampler", ADAPTED)
def test_adaptation_ends_with_the_warm_up(sampler):
    """What was learned is, to the last bit, the same however many draws follow."""
    run, learned = (SAMPLERS | SLICES)[sampler], ADAPTED[sampler]
    runs = [run(num_samples=n, num_warmup=200, num_chains=2, rng=401) for n in (1, 150, 700)]
    for name in learned:
        for other in runs[1:]:
            np.testing.assert_array_equal(other.settings[name], runs[0].settings[name])
    np.testing.assert_array_equal(runs[1].values, runs[2].values[:, :150])
    for name in {"step_size"} & set(runs[2].stats):
        steps = runs[2].stats[name]
        np.testing.assert_array_equal(steps, np.broadcast_to(steps[:, :1], steps.shape))
    shorter = run(num_samples=1, num_warmup=199, num_chains=2, rng=401)
    assert not np.array_equal(shorter.settings[learned[0]], runs[0].settings[learned[0]])


def leapfrog_matrix(step_size, num_steps):
    """The map of (q, p) on N(0, 1), which is linear."""
    one = [
        [1.0 - step_size**2 / 2.0, step_size],
        [-step_size * (1.0 - step_size**2 / 4.0), 1.0 - step_size**2 / 2.0],
    ]
    return np.linalg.matrix_power(np.array(one), num_steps)


def exact_acceptance(step_size, num_steps):
    """E min(1, exp(-error)) on N(0, 1), in closed form but for one integral over the angle.

    The error is (q, p) A (q, p)' / 2 with A = M'M - I; in polar coordinates its integral over the
    radius is 1 / (1 + a) where a = max(A along the angle, 0).
    """
    matrix = leapfrog_matrix(step_size, num_steps)
    change = matrix.T @ matrix - np.eye(2)
    angle = (np.arange(20_000) + 0.5) * 2.0 * np.pi / 20_000
    along = np.column_stack([np.cos(angle), np.sin(angle)])
    rise = np.maximum(np.einsum("ni,ij,nj->n", along, change, along), 0.0)
    return float(np.mean(1.0 / (1.0 + rise)))


def of_a_walk(scale):
    return 2.0 / np.pi * np.arctan(2.0 / scale)


def of_independence(scale):
    """N(0, scale^2) proposed to N(0, 1): E min(1, w' / w)."""
    return 4.0 / np.pi * np.arctan(1.0 / scale)


# Options of a step on N(0, 1), its exact acceptance, that of a program a little off, the error that
# would be seen with probability 0.999, and the chains that it takes.
KNOWN = {
    ("metropolis", scale): (
        {"root": np.array([[scale]]), "adapted": False}, of_a_walk(scale), of_a_walk(0.9 * scale),
        0.016, 50_000,
    )
    for scale in (0.5, 2.4, 10.0)
} | {
    ("independence_metropolis", scale): (
        {"portable": Portable(stats.norm(0.0, scale))}, of_independence(scale),
        0.95 * of_independence(scale), 0.03, starts,
    )
    for scale, starts in ((1.2, 10_000), (2.0, 20_000), (5.0, 50_000))
} | {
    ("hmc", step_size): (
        flow("mixture", step_size, num_steps=n).options, exact_acceptance(step_size, n),
        exact_acceptance(0.9 * step_size, n), 0.015, 50_000,
    )
    for step_size, n in [(1.2, 1), (1.7, 3), (1.9, 2)]
}  # fmt: skip
FIRST = {("metropolis", 2.4), ("independence_metropolis", 1.2), ("hmc", 1.7)}


@pytest.mark.trust("S10")
@over(("sampler", "size"), sorted(KNOWN, key=lambda known: known not in FIRST), few=len(FIRST))
def test_acceptance_on_a_normal_is_known(sampler, size):
    """z at alpha 1e-6."""
    options, exact, wrong, seen, num_chains = KNOWN[sampler, size]
    rng = np.random.default_rng(402)
    starts = rng.standard_normal((num_chains, 1))
    target = Target(standard, dim=1, gradient=minus_theta)
    afresh = sampler == "independence_metropolis"
    how = {"num_steps": 1, "rng": rng, "afresh": afresh}
    rates = steps(algorithm(sampler), target, starts, options, **how)[1]["acceptance_rate"]
    error = rates.std(ddof=1) / np.sqrt(len(rates))
    limit = -special.ndtri(5e-7)
    assert 0.1 < exact < 0.97 and (limit + 3.1) * error < seen
    for truth, right in ((exact, True), (wrong, False)):
        z = (rates.mean() - truth) / error
        measured("acceptance", z, limit, right=right)
        assert (abs(z) < limit) == right
