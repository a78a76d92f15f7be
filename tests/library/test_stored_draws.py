"""Short runs of every sampler of chains, and what they drew when these tests were new.

``python tests/library/test_stored_draws.py`` draws them again: only where draws are to change.
"""

import sys
from pathlib import Path

import numpy as np
import pytest
from bad_inputs import jump
from calling import python, quietly
from registry import stretch, stretch_ratio
from scipy import stats

import bayeslib as bl
from bayeslib import posteriors

STORED = Path(__file__).parents[1] / "data" / "stored_draws.npz"
# What compilers and processors do to a sum shows in the last digits, and grows with every iteration
# of a warm-up that learns: those are short.
RTOL = 1e-7
LEARNED = ["metropolis diag", "metropolis dense", "metropolis short", "hmc learned", "nuts learned"]
WIDER = dict.fromkeys(LEARNED, 1e-6)

PLANE = posteriors.gaussian([1.0, -2.0], [[1.0, 0.8], [0.8, 2.0]])
COUPLED = posteriors.gaussian([1.0, -2.0], np.linalg.inv([[1.0, -0.4], [-0.4, 1.0]]))
RATE = posteriors.gamma_student()
SCHOOLS = posteriors.eight_schools(centered=False)
RNG = np.random.default_rng(1)
X, Y, FIELD = (RNG.standard_normal(shape) for shape in ((6, 2), 6, (5, 4)))
ROWS = posteriors.linear_regression(X, Y, noise_scale=1.5, prior_scale=1.0)
MACHINE = bl.BoltzmannMachine(np.full((4, 4), 0.3) - 0.3 * np.eye(4), np.linspace(-0.5, 0.5, 4))
STARTS, RATES = np.array([[0.0, 0.0], [2.0, -4.0]]), np.array([[2.0], [4.0]])
DENSE = np.array([[1.0, 0.5], [0.5, 2.0]])


def interpreted(theta, rng):
    return theta + np.asarray([*map(float, rng.standard_normal(len(theta)))])


def first(theta, rng, slope):
    return 1.0 + slope * (theta[1] + 2.0) + rng.standard_normal()


def second(theta, rng, slope):
    return -2.0 + slope * (theta[0] - 1.0) + rng.standard_normal()


def both(theta, rng, slope):
    return theta[1:] + slope * rng.standard_normal(2)


def no_warmup(function, *arguments, **options):
    return lambda **run: function(*arguments, **run | {"num_warmup": 0} | options)


def warmed(function, *arguments, **options):
    return lambda **run: function(*arguments, **run | options)


CONDITIONALS, STRETCH = [first, second], {"propose": stretch, "log_ratio": stretch_ratio}
RUNS = {
    "metropolis scale": no_warmup(bl.metropolis, PLANE, STARTS, scale=[0.8, 1.1]),
    "metropolis cov": no_warmup(bl.metropolis, PLANE, STARTS, cov=DENSE),
    "metropolis diag": warmed(bl.metropolis, SCHOOLS, None),
    "metropolis dense": warmed(bl.metropolis, PLANE, STARTS, metric="dense"),
    "metropolis short": warmed(bl.metropolis, RATE, RATES, num_warmup=30),
    "metropolis_hastings": no_warmup(bl.metropolis_hastings, RATE, RATES, args=(0.8,), **STRETCH),
    "metropolis_hastings symmetric": warmed(
        bl.metropolis_hastings, PLANE, STARTS, propose=jump, log_ratio=None, num_warmup=5
    ),
    "metropolis_hastings interpreted": no_warmup(
        bl.metropolis_hastings, PLANE, STARTS, propose=interpreted, log_ratio=None
    ),
    "independence_metropolis": warmed(bl.independence_metropolis, RATE, stats.gamma(3)),
    "independence_metropolis start": no_warmup(
        bl.independence_metropolis,
        PLANE,
        stats.multivariate_normal([1.0, -2.0], 4.0 * np.eye(2)),
        initial_position=STARTS,
    ),
    "slice_sample": warmed(bl.slice_sample, SCHOOLS, None),
    "slice_sample width": no_warmup(bl.slice_sample, RATE, RATES, width=2.0, max_steps_out=3),
    "slice_sample random": warmed(bl.slice_sample, PLANE, STARTS, order="random"),
    "gibbs": warmed(bl.gibbs, CONDITIONALS, STARTS, data=(0.4,)),
    "gibbs random": no_warmup(bl.gibbs, CONDITIONALS, STARTS, data=(0.4,), scan="random"),
    "gibbs symmetric": warmed(
        bl.gibbs, CONDITIONALS, STARTS, data=(0.4,), scan="symmetric", target=COUPLED
    ),
    "gibbs blocks": no_warmup(
        bl.gibbs, [both, first], np.eye(2, 3), data=(0.4,), blocks=[[0, 2], [1]]
    ),
    "parallel_tempering": no_warmup(
        bl.parallel_tempering, RATE, RATES, inverse_temperatures=[0.05, 0.3, 1.0], scale=1.5
    ),
    "parallel_tempering learned": warmed(bl.parallel_tempering, PLANE, STARTS, num_warmup=300),
    "hmc": no_warmup(bl.hmc, PLANE, STARTS, num_steps=5, step_size=0.4),
    "hmc learned": warmed(bl.hmc, SCHOOLS, None, num_steps=5),
    "hmc dense": warmed(
        bl.hmc, PLANE, STARTS, num_steps=3, inverse_mass_matrix=DENSE, jitter=0.2, num_warmup=30
    ),
    "nuts": no_warmup(bl.nuts, PLANE, STARTS, step_size=0.4),
    "nuts learned": warmed(bl.nuts, SCHOOLS, None),
    "nuts dense": warmed(bl.nuts, PLANE, STARTS, metric="dense"),
    "nuts shallow": no_warmup(bl.nuts, SCHOOLS, None, step_size=0.1, max_tree_depth=3),
    "sgld": warmed(bl.sgld, ROWS, STARTS, batch_size=2, step_size=0.4),
    "sgld exact": no_warmup(
        bl.sgld, PLANE, STARTS, batch_size=None, step_size=0.8, gradient_noise=1.0
    ),
    "sgld metric": no_warmup(
        bl.sgld, ROWS, STARTS, batch_size=2, step_size=0.2, replace=True, num_steps=3,
        inverse_mass_matrix=DENSE, centre=[0.1, 0.2],
    ),
    "sghmc": warmed(bl.sghmc, ROWS, STARTS, batch_size=2, step_size=0.4, friction=1.5),
    "sghmc exact": no_warmup(
        bl.sghmc, PLANE, STARTS, batch_size=None, step_size=0.4, friction=1.0, gradient_noise=1.0,
        num_steps=3, refresh=4,
    ),
    "ising_sample": warmed(bl.ising_sample, (5, 4), inverse_temperature=0.4, field=FIELD),
    "ising_sample systematic": no_warmup(
        bl.ising_sample, (5, 4), inverse_temperature=0.4, method="systematic", periodic=False
    ),
    "ising_sample wolff": warmed(bl.ising_sample, (5, 4), inverse_temperature=0.3, method="wolff"),
    "boltzmann": lambda num_samples, **run: MACHINE.sample(num_samples, **run),
    "anneal": lambda num_samples, num_warmup, **run: bl.anneal(
        lambda theta: theta[0] ** 2 + 0.5 * theta[1] ** 2, STARTS, propose=jump,
        initial_temperature=3.0, final_temperature=0.1, num_iterations=60, **run,
    ),
}  # fmt: skip


def drawn(name):
    """Return what a short run drew: its states and their log densities, energies or none."""
    draws = quietly(RUNS[name], num_samples=12, num_warmup=60, num_chains=2, rng=7)
    if name == "anneal":
        return {"values": draws.final_states, "energies": draws.energies}
    values = {"values": draws.values, "num_evals": draws.num_evals}
    return values if draws.logdensity is None else values | {"logdensity": draws.logdensity}


@pytest.mark.trust("S14")
@pytest.mark.parametrize("name", RUNS)
def test_draws_are_what_they_were(name):
    rtol = WIDER.get(name, RTOL)
    with np.load(STORED) as stored:
        for part, values in drawn(name).items():
            expected = stored[f"{name}: {part}"]
            np.testing.assert_allclose(values, expected, rtol=rtol, atol=rtol, err_msg=part)


def test_other_draws_would_be_noticed():
    """Those of another seed; every run that is stored is made again, and no two are alike."""
    with np.load(STORED) as stored:
        assert {key.partition(":")[0] for key in stored} == set(RUNS)
        values = [stored[key].tobytes() for key in stored if key.endswith(": values")]
        assert len(set(values)) == len(values)
        other = RUNS["metropolis scale"](num_samples=12, num_chains=2, rng=8)
        with pytest.raises(AssertionError):
            np.testing.assert_allclose(other.values, stored["metropolis scale: values"], RTOL)


def store(path):
    parts = {f"{name}: {part}": value for name in RUNS for part, value in drawn(name).items()}
    np.savez_compressed(path, **parts)


def test_without_a_compiler_the_draws_are_the_same(tmp_path):
    path = tmp_path / "plain.npz"
    python("import sys, test_stored_draws as t; t.store(sys.argv[1])", path, NUMBA_DISABLE_JIT=1)
    with np.load(path) as plain, np.load(STORED) as stored:
        assert set(plain) == set(stored)
        for key in stored:
            rtol = 1e-2 if key.partition(":")[0] in LEARNED else RTOL
            np.testing.assert_allclose(plain[key], stored[key], rtol, rtol, err_msg=key)


if __name__ == "__main__":
    store(sys.argv[1] if sys.argv[1:] else STORED)
