"""Batches and noises of the wrong size, and friction of the wrong sign."""

from planting import Bug

from bayeslib.hamiltonian.noisy import add_normals, draw_batch, estimate
from bayeslib.hamiltonian.sghmc import rub


def batch_alone(target, rng, theta, gradient):
    log_p = estimate(target, rng, theta, gradient)
    for i in range(theta.size):
        gradient[i] = target.prior[i] + (gradient[i] - target.prior[i]) / target.scale
    return log_p


def squared(rng, root, scale, z, into):
    add_normals(rng, root, scale * scale, z, into)


def half_the_noise(target, rng, x):
    known = x.known_noise
    for i in range(known.size):
        known[i] += 0.5 * (x.friction[i] - known[i])
    rub(target, rng, x)
    for i in range(known.size):
        known[i] -= x.friction[i] - known[i]


def driven(target, rng, x):
    rub(target, rng, x)
    for i in range(x.momentum.size):
        x.momentum[i] += 2.0 * x.step_size * x.friction[i] * x.velocity[i]


_NOISY, _RUB = "bayeslib.hamiltonian.noisy", "bayeslib.hamiltonian.sghmc.rub"
_SGHMC = "test_stochastic.test_sghmc_settles_in_the_law_of_its_steps", {"name": "noise"}
BUGS = {
    "a batch counts as if it were all rows": Bug(
        f"{_NOISY}.estimate",
        batch_alone,
        "test_stochastic.test_the_gradient_is_unbiased_and_its_covariance_is_the_formula",
        {"replace": False},
    ),
    "a batch is drawn with replacement": Bug(
        f"{_NOISY}.draw_batch",
        lambda rng, order, batch, replace: draw_batch(rng, order, batch, True),
        "test_stochastic.test_batches_settle_in_the_law_of_all_batches",
        {"sampler": 0, "replace": False},
    ),
    "Langevin noise of size eps": Bug(
        f"{_NOISY}.add_normals",
        squared,
        "test_stochastic.test_sgld_settles_in_the_law_of_its_steps",
        {"name": "exact"},
    ),
    "friction noise without its 2": Bug(_RUB, half_the_noise, *_SGHMC),
    "friction drives": Bug(_RUB, driven, *_SGHMC),
    "the noise's estimate forgets that few rows are left": Bug(
        "bayeslib.hamiltonian.batches.spread_of",
        lambda number, batch_size, replace: number**2 / batch_size,
        "test_stochastic.test_sghmc_equals_its_twin",
        {"name": "batch", "known": "batch"},
    ),
}
