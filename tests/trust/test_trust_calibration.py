"""Samplers with their models: joint distribution tests and simulation-based calibration.

`make test-slow` runs one case of each, `make record` all of them, for the page on trust.
"""

import numpy as np
import pytest
from models import MODELS
from registry import ALGORITHMS, uneven, uneven_ratio
from sparing import over
from verdict import fails, passes

import bayeslib as bl

pytestmark = [
    pytest.mark.slow,
    # one data set in a thousand makes a step diverge, or overflow while the step size is sought
    pytest.mark.filterwarnings("ignore:.*diverged"),
    pytest.mark.filterwarnings("ignore:the log density was nan"),
    # twenty proposals from the prior may all be rejected where the data say much
    pytest.mark.filterwarnings("ignore:chain . stayed in one state"),
]


def one_of(name, values):
    return over(name, values, few=1, rest=pytest.mark.study)


STEPS = {
    "metropolis": {"scale": 0.4, "num_samples": 10},
    "metropolis_hastings": {
        "propose": uneven, "log_ratio": uneven_ratio, "args": (0.3,), "num_samples": 10,
    },
    "independence_metropolis": {"num_samples": 20},
    "slice_sample": {"width": 1.0, "num_samples": 2},
    "hmc": {"num_steps": 5, "step_size": 0.25, "num_samples": 2},
    "nuts": {"step_size": 0.3, "num_samples": 2},
}  # fmt: skip


def step_of(sampler):
    """Return step(target, theta, rng): the last state of a short run from theta."""
    options = STEPS[sampler] | {"num_warmup": 0, "num_chains": 1}

    def step(target, theta, rng):
        own = {"initial_position": theta, "rng": rng}
        if sampler == "independence_metropolis":
            own["proposal"] = bl.Gaussian(np.zeros(theta.size), np.eye(theta.size))
        return getattr(bl, sampler)(target, **own, **options).values[0, -1]

    return step


metropolis_step = step_of("metropolis")


def joint(model, step, power=1.0, simulate=None):
    """A check by Geweke's test: size chains of 30 steps, each starting where it is to stay."""

    def check(rng, size):
        found = bl.geweke_test(
            model.prior,
            simulate or model.simulate,
            lambda theta, data, rng: step(model.target(data, power), theta, rng),
            quantities=model.log_likelihood,
            num_chains=size,
            num_steps=30,
            rng=rng,
        )
        return found.pvalues

    return check


@pytest.mark.fresh
@pytest.mark.trust("M4")
@one_of("sampler", STEPS)
@one_of("name", MODELS)
def test_sampler_and_model_agree_jointly(name, sampler):
    check = joint(MODELS[name], step_of(sampler))
    size = 50 if sampler == "independence_metropolis" else 100  # its weights take time
    assert passes(check, name=f"geweke {name} {sampler}", size=size)


def test_every_sampler_of_chains_is_tested_jointly():
    exempt = {
        "gibbs",  # its conditionals are the caller's; a pair is tested in test_claims_gibbs.py
        "parallel_tempering",  # one state is no start in equilibrium for the rungs above it
        "sgld",  # biased by design: it is judged by the law of its steps, not by the posterior
        "sghmc",  # the same
    }
    assert {a.name for a in ALGORITHMS if a.chains} <= set(STEPS) | exempt


@pytest.mark.trust("M4")
@one_of("name", MODELS)
def test_a_sampler_that_pulls_inwards_is_found_jointly(name):
    def pulled(target, theta, rng):
        return 0.9 * metropolis_step(target, theta, rng)

    assert fails(joint(MODELS[name], pulled), name=f"pulled {name}", size=100)


@pytest.mark.trust("M4")
@one_of("name", ["normal", "groups"])
def test_a_likelihood_counted_with_another_weight_is_found_jointly(name):
    check = joint(MODELS[name], metropolis_step, power=0.4)
    assert fails(check, name=f"tempered {name}", size=100)


@pytest.mark.study
@pytest.mark.trust("M4")
def test_a_simulator_with_another_noise_is_found_jointly():
    """The model's own side may be the wrong one: half as much noise again as the density says."""
    model = MODELS["groups"]

    def noisy(theta, rng):
        means = model.simulate(theta, rng)
        return means + rng.standard_normal(means.shape) * np.sqrt(1.25)

    assert fails(joint(model, metropolis_step, simulate=noisy), name="noisy groups", size=100)


FITS = {
    "metropolis": {"num_samples": 10_000, "num_warmup": 1000},
    "hmc": {"num_steps": 5, "num_samples": 5000, "num_warmup": 500},
    "nuts": {"num_samples": 2000, "num_warmup": 300, "target_accept": 0.9},
}


def calibrated(model, sampler, power=1.0):
    """A check by the ranks of `size` fits among 99 draws, of parameters and log likelihood."""

    def check(rng, size):
        found = bl.simulation_based_calibration(
            model.prior,
            model.simulate,
            lambda data, rng: getattr(bl, sampler)(
                model.target(data, power), num_chains=1, rng=rng, **FITS[sampler]
            ),
            quantities=model.log_likelihood,
            num_fits=size,
            rng=rng,
        )
        assert found.ranks.shape == (size, model.dim + 1) and found.num_draws == 99
        assert found.num_short <= 0.05 * size, "the fits have too few effective draws to rank by"
        return found.pvalues

    return check


@pytest.mark.fresh
@pytest.mark.trust("M5")
@one_of(
    ("name", "sampler"),
    [(name, "nuts") for name in MODELS] + [("normal", "hmc"), ("counts", "metropolis")],
)
def test_fits_are_calibrated(name, sampler):
    assert passes(calibrated(MODELS[name], sampler), name=f"sbc {name} {sampler}", size=500)


@pytest.mark.trust("M5")
@one_of("name", MODELS)
@one_of("power", [0.6, 1.6])
def test_a_likelihood_counted_with_another_weight_is_not_calibrated(name, power):
    check = calibrated(MODELS[name], "nuts", power)
    assert fails(check, name=f"sbc {name} to the power {power}", size=500)


@pytest.mark.trust("M5")
def test_a_sampler_that_ignores_the_data_shows_in_the_likelihood_alone():
    model = MODELS["normal"]
    found = bl.simulation_based_calibration(
        model.prior,
        model.simulate,
        lambda data, rng: np.array([model.prior(rng) for _ in range(99)]),
        quantities=model.log_likelihood,
        rng=501,
    )
    assert found.pvalues[:2].min() > 1e-6
    assert found.pvalues[2] < 1e-6
    assert len(found.problems) == 1 and found.problems[0].startswith("quantity is not calibrated")
