"""Plain equals fast for the cells whose fast twin is not in the registry: fits, sums, single steps.

The pages assert it once; here it is over seeds, and another seed must be seen.
"""

import numpy as np
import pytest
from scipy import special, stats
from twins import page, plain_twin, quiet

import bayeslib as bl
from bayeslib import posteriors
from bayeslib.independent.resample import choose

pytestmark = quiet
RUNNING = posteriors.gamma_student()
LAID = posteriors.gaussian([1.0, 0.0], [[1.0, 0.6], [0.6, 2.0]])
FREE = (  # a target and where a fit starts
    (bl.unconstrained(RUNNING), [0.3]),
    (posteriors.banana(0.8, width=0.7), [2.0, -1.0]),
    (LAID, [4.0, 4.0]),
)
BENDS = (posteriors.banana(), posteriors.donut(), posteriors.funnel(4), posteriors.eight_schools())
BOUNDED = (
    (RUNNING, stats.lognorm(0.265, scale=np.exp(1.43))),
    (RUNNING, stats.gamma(9, scale=0.5)),
    (posteriors.coin(8, 2), stats.beta(7, 3)),
)
ALONE = {"num_warmup": 0, "num_chains": 1}


def advi(seed):
    target, start = FREE[seed % 3]
    how = {"num_steps": 80, "num_draws": 4, "rng": seed}
    path, (mean, log_sd) = plain_twin("advi", "advi")(target, np.array(start), **how)
    fast = bl.advi(target, start, keep_path=True, **how)
    yield path[:, 0], fast.settings["means"]
    yield np.exp(path[:, 1]), fast.settings["scales"]
    yield mean, fast.mean
    yield np.exp(2 * log_sd), np.diag(fast.cov)


def bbvi(seed):
    target, start = FREE[seed % 3]
    how = {"num_steps": 100, "num_draws": 4, "step_size": 0.02, "decay": (0.6, 0.75, 1)[seed % 3]}
    mean, sd, trace = page("hybrid", "bbvi")(target, start, **how, rng=seed)
    sgd = {"estimator": "loo", "optimiser": "sgd", "delay": 1, "num_check": 100}
    fast = bl.bbvi(target, start, **sgd, **how, rng=seed)
    yield mean, fast.mean
    yield sd**2, np.diag(fast.cov)
    yield trace, fast.elbo_trace


def laplace(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((60, 4))
    y = (rng.random(60) < special.expit(X @ rng.standard_normal(4))).astype(float)
    for target, start in (
        (posteriors.logistic_regression(X, y, prior_scale=2.0), rng.standard_normal(4)),
        (posteriors.gamma_student(2.0 * seed), [3.0]),
    ):
        mode, cov, log_evidence = page("laplace", "laplace")(target, start)
        fast = bl.laplace(target, start)
        yield mode, fast.mean
        yield cov, fast.cov
        yield log_evidence, fast.log_evidence.value


def elbo(seed):
    target, q = BOUNDED[seed % 3]
    fast = bl.elbo(target, q, num_samples=500, rng=seed)
    plain = plain_twin("vi", "elbo")(target, q, num_samples=500, rng=seed)
    yield plain, (fast.value, fast.mcse)


def pathfinder(seed):
    target = posteriors.banana((0.5, 1.0)[seed % 2])
    start = np.array(([2.5, -2.0], [-3.0, -1.0], [0.5, 6.0])[seed % 3])
    fast = bl.pathfinder(target, start, keep_path=True, rng=1)
    _, offers = page("pathfinder", "pathfinder")(target, start, rng=1)
    yield [q.mean for _, q in offers], fast.settings["means"]
    yield [q.cov for _, q in offers], fast.settings["covs"]


def anneal(seed):
    length, reverse, KM = page("annealing", "length", "reverse", "KM")
    cooling = np.geomspace(1000.0, 10.0, 1500)
    tour = {"propose": reverse, "args": (KM,), "schedule": cooling, "rng": seed}
    best, energies = plain_twin("annealing", "anneal")(length, np.arange(14.0), **tour)
    fast = bl.anneal(length, np.arange(14.0), num_chains=1, **tour)
    yield energies, fast.energies[0]
    yield best, fast.best_state


def counts(num, rng):
    theta = rng.gamma(2.0, size=num)
    return theta, rng.poisson(5 * theta).astype(float)


def train_amortised(seed):
    train, simulate = page("amortised", "train", "simulate")
    simulate = (simulate, counts)[seed % 2]
    layers, _, trace, _ = train(
        simulate, np.random.default_rng(seed), num=1000, hidden=8, num_steps=200, batch=64
    )
    fast = bl.train_amortised(
        simulate, num_simulations=1000, hidden=(8,), num_steps=200, batch_size=64,
        support=(0, None), rng=seed,
    )  # fmt: skip
    yield trace, fast.loss_trace
    yield from zip(layers, fast.layers, strict=True)


def enumerate_posterior(seed):
    rng = np.random.default_rng(seed)
    table = {h: float(v) for h, v in zip(range(40), rng.normal(-800.0, 30.0, 40), strict=True)}
    fast = bl.enumerate_posterior(table.get, list(table))
    probabilities, log_evidence = plain_twin("challenge", "enumerate_posterior")(
        table.get, list(table)
    )
    yield probabilities, fast.probabilities
    yield log_evidence, fast.log_evidence.value


def grid_posterior(seed):
    target = (RUNNING, posteriors.gamma_student(1.0), posteriors.coin(8, 2))[seed % 3]
    num_points = (2, 50, 333)[seed % 3]
    fast = bl.grid_posterior(target, (0.0, 1.0), num_points=num_points)
    plain = plain_twin("challenge", "grid_posterior")(target, (0.0, 1.0), num_points=num_points)
    yield from zip(plain, (fast.points[:, 0], fast.weights, fast.log_evidence.value), strict=True)


def particle_filter(seed):
    flow, model, plain = page("particles", "flow", "model", "particle_filter")
    how = model | {"num_particles": 400, "rng": seed}
    means, log_p = plain(flow, **how)
    fast = bl.particle_filter(flow, **how)
    yield means, fast.mean.value[:, 0]
    yield log_p, fast.log_evidence.value


def systematic(seed):
    weights = np.random.default_rng(seed).dirichlet(np.full(50, 0.3))
    plain, fast = np.random.default_rng(seed), np.random.default_rng(seed)
    yield (
        page("particles", "systematic")(weights, 200, plain),
        choose(weights, 200, fast, "systematic"),
    )


def leapfrog(seed):
    target, rng = BENDS[seed % 4], np.random.default_rng(seed)
    theta, r = 0.5 * rng.standard_normal((2, target.dim))
    how = {"step_size": 0.05, "num_steps": 12}
    how["inverse_mass_matrix"] = rng.uniform(0.5, 2.0, target.dim)
    fast = bl.leapfrog(target, theta, r, **how)
    positions, momenta = plain_twin("hmc", "leapfrog")(target, theta, r, **how)
    yield positions, fast.positions
    yield momenta, fast.momenta


def gradient_steps(seed):
    gradient, line_data = page("sghmc", "gradient", "line_data")
    line, start = line_data(300, np.random.default_rng(seed)), np.array([0.5, -1.0])
    target = posteriors.linear_regression(*line, noise_scale=1, prior_scale=100)
    how = {"batch_size": (20, 7)[seed % 2], "num_samples": 200, "rng": seed}
    for name, more in (
        ("sgld", {"step_size": 0.02}),
        ("sgld", {"step_size": 0.1 / np.arange(1, 201)}),
        ("sghmc", {"step_size": 0.02, "friction": 2.0, "noise_estimate": (0, 0.3)[seed % 2]}),
    ):
        plain = plain_twin("sghmc", name)(gradient, line, start, **how, **more)
        yield plain, getattr(bl, name)(target, start, **how, **more, **ALONE).flat


def effective_sizes(seed):
    rng, autoregression = np.random.default_rng(seed), page("diagnostics", "autoregression")
    for x in (
        rng.standard_normal((4, 200)),
        autoregression(0.99, 4, 1_000, rng),
        autoregression(-0.9, 4, 1_000, rng),  # antithetic
        autoregression(0.5, 3, 501, rng),
        autoregression(0.8, 1, 400, rng),
        rng.standard_normal((4, 300)) + 10.0 * np.arange(4)[:, None],
        rng.standard_normal((2, 8)),
        rng.integers(3, size=(4, 100)).astype(float),
    ):
        yield plain_twin("diagnostics", "ess")(x), bl.ess(x, kind="mean")
        if len(x) > 1:
            yield plain_twin("diagnostics", "rhat")(x), bl.rhat(x)


PAIRS = (
    advi, bbvi, laplace, elbo, pathfinder, anneal, train_amortised, enumerate_posterior,
    grid_posterior, particle_filter, systematic, leapfrog, gradient_steps, effective_sizes,
)  # fmt: skip


@pytest.mark.parametrize("seed", range(1, 5))
@pytest.mark.parametrize("pairs", PAIRS, ids=lambda f: f.__name__)
def test_plain_equals_fast(pairs, seed):
    found = list(pairs(seed))
    for plain, fast in found:
        np.testing.assert_allclose(plain, fast, rtol=1e-8, atol=1e-9)
    other = list(pairs(seed + 5))
    assert any(
        np.shape(plain) != np.shape(fast) or not np.allclose(plain, fast, rtol=1e-4)
        for (plain, _), (_, fast) in zip(found, other, strict=False)
    )
