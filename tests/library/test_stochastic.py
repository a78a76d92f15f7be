"""Noisy gradients: every draw against a twin, and the law of the draws against the exact one."""

import numpy as np
import pytest
from densities import correlated, standard
from linear_chains import batches, hamilton, langevin, law, regression_batches
from stepping import batch_z, moments_z

from bayeslib import Target, posteriors, sghmc, sgld
from bayeslib.compile.autodiff.plain import differentiate_plain

# Fewer than 16 numbers a test, two sides, alpha = 1e-6: norm.isf(1e-6 / 32) is 5.4.
Z_LIMIT = 5.6
RNG = np.random.default_rng(600)
X = RNG.standard_normal((6, 2)) + [0.5, 0.0]
Y = X @ [1.0, -0.5] + RNG.standard_normal(6)
REGRESSION = posteriors.linear_regression(X, Y, noise_scale=1.5, prior_scale=1.0)
PRECISION = np.array([[1.0, 0.4], [0.4, 0.5]])
DENSE = np.array([[1.0, 0.3], [0.3, 0.5]])
PLANE = Target(correlated, dim=2, data=(PRECISION,))


def logistic(theta, X, y):
    """A regression without any help of the library's."""
    total = -0.5 * (theta[0] ** 2 + theta[1] ** 2)
    for i in range(y.size):
        z = X[i, 0] * theta[0] + X[i, 1] * theta[1]
        total += y[i] * z - np.log1p(np.exp(z))
    return total


class Twin:
    """The gradients that the samplers estimate, drawn in the order that they document."""

    def __init__(self, target, options, rng):
        self.target, self.rng = target, rng
        self.b, self.replace = options.get("batch_size"), options.get("replace", False)
        self.centre, self.noise = options.get("centre"), options.get("gradient_noise")
        self.n = len(target.data[0])
        self.order = np.arange(self.n)
        self.fused = target._fused or differentiate_plain(target.logdensity, 2)

    def on(self, rows, theta):
        data = self.target._arguments
        data = (a[rows] if np.ndim(a) and len(a) == self.n else a for a in data)
        gradient = np.empty(2)
        self.fused(theta, gradient, *data)
        return gradient

    def batch(self):
        if self.replace:
            return np.array([int(self.rng.random() * self.n) for _ in range(self.b)])
        for j in range(self.b):
            k = j + int(self.rng.random() * (self.n - j))
            self.order[[j, k]] = self.order[[k, j]]
        return self.order[: self.b].copy()

    def rows_gradients(self, rows, theta):
        none = np.arange(0)
        parts = np.array([self.on(rows[j : j + 1], theta) for j in range(self.b)])
        return parts - self.on(none, theta)

    def __call__(self, theta):
        self.variance = np.zeros(2)
        if self.b is None:
            gradient = self.target.gradient(theta)
        else:
            rows, none, scale = self.batch(), np.arange(0), self.n / self.b
            parts, known = self.rows_gradients(rows, theta), self.on(none, theta)
            if self.centre is not None:
                every = np.arange(self.n)
                known = known + self.on(every, self.centre) - self.on(none, self.centre)
                parts = parts - self.rows_gradients(rows, self.centre)
            gradient = known + scale * parts.sum(axis=0)
            if self.b > 1:
                rest = 1.0 if self.replace else 1.0 - self.b / self.n
                self.variance = self.n**2 / self.b * rest * parts.var(axis=0, ddof=1)
        if self.noise is not None:
            z = self.rng.standard_normal(2)
            if np.ndim(self.noise) == 2:
                return gradient + np.linalg.cholesky(self.noise) @ z
            return gradient + np.sqrt(self.noise) * z
        return gradient


def metric_of(options):
    metric = np.asarray(options.get("inverse_mass_matrix", np.ones(2)), dtype=float)
    return metric if metric.ndim == 2 else np.diag(metric)


def plain_sgld(target, theta, *, step_size, num_samples, num_steps=1, rng, **options):
    rng = np.random.default_rng(rng)
    estimate, metric, draws = Twin(target, options, rng), metric_of(options), []
    root = np.linalg.cholesky(metric)
    for eps in np.broadcast_to(step_size, num_samples):
        for _ in range(num_steps):
            drift = 0.5 * eps * metric @ estimate(theta)
            theta = theta + drift + np.sqrt(eps) * root @ rng.standard_normal(2)
        draws.append(theta)
    return np.array(draws)


def plain_sghmc(
    target, theta, *, step_size, friction, noise_estimate=0.0, refresh=None, num_samples,
    num_steps=1, rng, **options,
):  # fmt: skip
    rng = np.random.default_rng(rng)
    estimate, metric, draws = Twin(target, options, rng), metric_of(options), []
    root, friction = np.linalg.cholesky(metric), np.broadcast_to(friction, 2)
    for step in range(num_samples * num_steps):
        if step == 0 or (refresh and step % refresh == 0):
            momentum = np.linalg.solve(root.T, rng.standard_normal(2))
        velocity = metric @ momentum
        theta = theta + step_size * velocity
        gradient = estimate(theta)
        known = noise_estimate
        if isinstance(known, str):
            known = 0.5 * step_size * estimate.variance
        noise = np.sqrt(2.0 * (friction - known) * step_size) * rng.standard_normal(2)
        momentum = momentum + step_size * (gradient - friction * velocity) + noise
        if (step + 1) % num_steps == 0:
            draws.append(theta)
    return np.array(draws)


OPTIONS = {
    "exact": {"batch_size": None},
    "noise": {"batch_size": None, "gradient_noise": [0.5, 2.0], "num_steps": 3},
    "dense noise": {"batch_size": None, "gradient_noise": DENSE, "inverse_mass_matrix": DENSE},
    "batch": {"batch_size": 2},
    "one row": {"batch_size": 1, "num_steps": 2},
    "all rows": {"batch_size": 6, "inverse_mass_matrix": [0.5, 2.0]},
    "replaced": {"batch_size": 4, "replace": True, "inverse_mass_matrix": DENSE},
    "centre": {"batch_size": 2, "centre": np.array([0.3, -0.2])},
    "all at once": {
        "batch_size": 3, "centre": np.array([0.3, -0.2]), "gradient_noise": 0.3, "num_steps": 2,
        "inverse_mass_matrix": DENSE,
    },
}  # fmt: skip
LOGISTIC = Target(logistic, dim=2, data=(X, (Y > 0.0).astype(float)))
ONE = {"num_samples": 40, "rng": 5}
RUN = {"num_warmup": 0, "num_chains": 1}


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("target", [REGRESSION, LOGISTIC], ids=["linear", "logistic"])
def test_sgld_equals_its_twin(name, target):
    options = {"step_size": 0.2} | OPTIONS[name] | ONE
    fast = sgld(target, [0.5, -1.0], **options, **RUN)
    plain = plain_sgld(target, np.array([0.5, -1.0]), **options)
    np.testing.assert_allclose(fast.values[0], plain, rtol=1e-10)
    assert (fast.logdensity is None) == (options["batch_size"] is not None)
    if fast.logdensity is not None:
        np.testing.assert_allclose(fast.logdensity[0], target.many(fast.flat), rtol=1e-9)
    assert np.ptp(plain) > 1.0


KNOWN = {
    "none": {},
    "numbers": {"noise_estimate": [0.1, 0.4], "friction": [1.0, 0.5]},
    "batch": {"noise_estimate": "batch", "friction": 3.0},
    "refreshed": {"refresh": 7, "friction": 0.0},
}


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("known", KNOWN)
def test_sghmc_equals_its_twin(name, known):
    if known == "batch" and OPTIONS[name]["batch_size"] in (None, 1):
        pytest.skip("a batch of two rows or more is needed")
    options = {"step_size": 0.15, "friction": 1.5} | OPTIONS[name] | KNOWN[known] | ONE
    fast = sghmc(REGRESSION, [0.5, -1.0], **options, **RUN)
    plain = plain_sghmc(REGRESSION, np.array([0.5, -1.0]), **options)
    np.testing.assert_allclose(fast.values[0], plain, rtol=1e-9, atol=1e-11)
    assert not np.any(fast.settings["num_negative"])
    assert np.ptp(plain) > 1.0


def test_decreasing_steps_are_followed_and_weigh_the_draws():
    steps = 0.4 * (1.0 + np.arange(40)) ** -0.6
    options = {"batch_size": 2, "step_size": steps} | ONE
    fast = sgld(REGRESSION, [0.5, -1.0], **options, **RUN)
    plain = plain_sgld(REGRESSION, np.array([0.5, -1.0]), **options)
    np.testing.assert_allclose(fast.values[0], plain, rtol=1e-10)
    np.testing.assert_array_equal(fast.log_weights, np.log(steps)[None])
    later = sgld(
        REGRESSION, [0.5, -1.0], batch_size=2, step_size=steps, num_warmup=30, num_samples=10,
        num_chains=1, rng=5,
    )  # fmt: skip
    np.testing.assert_array_equal(later.values[0], fast.values[0, 30:])
    np.testing.assert_array_equal(later.log_weights, np.log(steps[30:])[None])


def test_errors_of_weighted_draws_count_blocks_and_not_draws():
    """With equal weights they must be those of the chain; as independent draws they would not."""
    options = {"batch_size": None, "num_samples": 20_000, "rng": 6, "num_chains": 4}
    start = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
    chain = sgld(PLANE, start, step_size=0.2, **options)
    weighted = sgld(PLANE, start, step_size=np.full(21_000, 0.2), **options)
    np.testing.assert_array_equal(chain.values, weighted.values)
    ratio = weighted.expect().mcse / chain.expect().mcse
    assert np.all((0.6 < ratio) & (ratio < 1.5))
    naive = chain.flat.std(axis=0) / np.sqrt(len(chain.flat))
    assert np.all(naive / chain.expect().mcse < 0.4)


LAWS = {
    "exact": {"step_size": 0.5},
    "noise": {"step_size": 0.5, "gradient_noise": 4.0},
    "dense": {"step_size": 1.0, "gradient_noise": 2.0 * DENSE, "inverse_mass_matrix": DENSE},
    "diagonal": {"step_size": 0.3, "gradient_noise": [1.0, 5.0], "inverse_mass_matrix": [2.0, 1.0]},
}


def matched(options):
    """The same options, as the functions of linear_chains name them."""
    known = {k: v for k, v in options.items() if k != "inverse_mass_matrix"}
    return known | {"metric": options.get("inverse_mass_matrix")}


def long_run(sampler, target, cov, options, seed):
    starts = np.random.default_rng(seed).multivariate_normal(np.zeros(2), cov, size=4)
    return sampler(
        target, starts, batch_size=None, num_samples=50_000, num_warmup=200, rng=seed, **options
    )


@pytest.mark.trust("S8")
@pytest.mark.parametrize("name", LAWS)
def test_sgld_settles_in_the_law_of_its_steps(name):
    options, exact = LAWS[name], np.linalg.inv(PRECISION)
    mean, cov = law(*langevin(PRECISION[None], np.zeros((1, 2)), **matched(options)))
    draws = long_run(sgld, PLANE, cov, options, 601)
    assert np.abs(moments_z(draws.values, mean, cov, right=True)).max() < Z_LIMIT
    assert np.abs(moments_z(draws.values, mean, exact, right=False)).max() > Z_LIMIT, (
        "the bias is not seen"
    )


FRICTIONS = {
    "exact": {"friction": 2.0},
    "noise": {"friction": 1.0, "gradient_noise": 4.0},
    "noise known": {"friction": 1.5, "gradient_noise": 4.0, "noise_estimate": 0.6},
    "dense": {
        "friction": [1.0, 3.0], "gradient_noise": 2.0 * DENSE, "inverse_mass_matrix": DENSE,
    },
    "diagonal": {
        "step_size": 0.4, "friction": [1.0, 0.8], "gradient_noise": [1.0, 5.0],
        "noise_estimate": [0.1, 0.7],
        "inverse_mass_matrix": [2.0, 1.0],
    },
}  # fmt: skip


@pytest.mark.trust("S8")
@pytest.mark.parametrize("name", FRICTIONS)
def test_sghmc_settles_in_the_law_of_its_steps(name):
    options, exact = {"step_size": 0.6} | FRICTIONS[name], np.linalg.inv(PRECISION)
    mean, cov = law(*hamilton(PRECISION[None], np.zeros((1, 2)), **matched(options)))
    draws = long_run(sghmc, PLANE, cov[:2, :2], options, 602)
    assert np.abs(moments_z(draws.values, mean[:2], cov[:2, :2], right=True)).max() < Z_LIMIT
    assert np.abs(moments_z(draws.values, mean[:2], exact, right=False)).max() > Z_LIMIT, (
        "the bias is not seen"
    )
    # the kinetic energy beside the draws, and the temperature over all steps, of the same law
    heat = np.diag(cov[2:, 2:] @ metric_of(options))
    assert abs(batch_z(draws.stats["kinetic_energy"], 0.5 * heat.sum(), right=True)) < Z_LIMIT
    np.testing.assert_allclose(draws.settings["temperature"].mean(axis=0), heat, rtol=0.05)


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("sampler", [sgld, sghmc], ids=["sgld", "sghmc"])
def test_batches_settle_in_the_law_of_all_batches(sampler, replace):
    """Of six rows, by summing over every batch of two; the other way to draw them must not fit."""
    options = {"step_size": 0.3}
    if sampler is sghmc:
        options["friction"] = 2.0
    steps, laws = langevin if sampler is sgld else hamilton, {}
    for way in (False, True):
        chosen = batches(6, 2, replace=way)
        found = law(*steps(*regression_batches(X, Y, 1.5, 1.0, chosen), **options))
        laws[way] = found[0][:2], found[1][:2, :2]
    starts = np.random.default_rng(603).multivariate_normal(*laws[replace], size=4)
    draws = sampler(
        REGRESSION, starts, batch_size=2, replace=replace, num_samples=100_000, num_warmup=200,
        rng=604, **options,
    )  # fmt: skip
    assert np.abs(moments_z(draws.values, *laws[replace], right=True)).max() < Z_LIMIT
    assert np.abs(moments_z(draws.values, *laws[not replace], right=False)).max() > Z_LIMIT


@pytest.mark.parametrize("replace", [False, True])
def test_the_gradient_is_unbiased_and_its_covariance_is_the_formula(replace):
    """Exactly, over all batches: each is met in a run, and its gradient read off the step."""
    eps, theta = 0.5, np.array([0.4, 0.1])
    found, rng, target = {}, np.random.default_rng(9), REGRESSION
    for seed in range(300 if replace else 120):
        rng = np.random.default_rng(seed)
        twin = Twin(target, {"batch_size": 2, "replace": replace}, rng)
        rows = tuple(twin.batch()) if replace else tuple(sorted(twin.batch()))
        z = rng.standard_normal(2)
        end = sgld(
            target, theta, batch_size=2, replace=replace, step_size=eps, num_samples=1, rng=seed,
            **RUN,
        ).values[0, 0]  # fmt: skip
        found[rows] = 2.0 / eps * (end - theta - np.sqrt(eps) * z)
    gradients = np.array(list(found.values()))
    assert len(gradients) == (36 if replace else 15)
    np.testing.assert_allclose(gradients.mean(axis=0), target.gradient(theta), rtol=1e-9)
    twin = Twin(target, {"batch_size": 6}, rng)
    rows = twin.rows_gradients(np.arange(6), theta)
    one = np.cov(rows.T, ddof=0 if replace else 1)
    wanted = 36 / 2 * one * (1.0 if replace else 1.0 - 2 / 6)
    np.testing.assert_allclose(np.cov(gradients.T, ddof=0), wanted, rtol=1e-9)
    assert np.abs(np.cov(gradients.T, ddof=0) - 36 / 2 * np.cov(rows.T)).max() > 0.1


@pytest.mark.parametrize("sampler", [sgld, sghmc], ids=["sgld", "sghmc"])
def test_the_virial_is_the_ratio_of_variances(sampler):
    more = {"friction": 1.0} if sampler is sghmc else {}
    draws = sampler(
        Target(standard, dim=1), [[1.0], [-1.0], [0.0], [0.5]], batch_size=None,
        gradient_noise=20.0 if sampler is sgld else 4.0, step_size=0.2, num_samples=50_000, rng=11,
        **more,
    )  # fmt: skip
    variance = draws.flat.var()
    assert variance > 1.3
    assert abs(draws.settings["virial"].mean() / variance - 1.0) < 0.05


def test_draws_that_are_too_wide_are_spoken_of():
    """By noise or by long steps, a fifth or more; the twin's virial is 1 / (1 - 0.05 / 4), and to
    be accused it would have to be eight errors off, of 0.03 with 2000 draws' worth or more.
    """
    run = {"batch_size": None, "num_samples": 2000, "num_steps": 20}
    starts, target = [[1.0], [-1.0], [0.0], [0.5]], Target(standard, dim=1)
    for seed in range(5):
        fine = sgld(target, starts, step_size=0.05, rng=seed, **run)
        assert "virial" not in str(fine.problems)
        for options in ({"step_size": 0.05, "gradient_noise": 40.0}, {"step_size": 1.6}):
            wide = sgld(target, starts, rng=seed, **options, **run)
            assert wide.flat.std() > 1.15 and any("too wide" in p for p in wide.problems)


def test_the_account_of_passes_is_kept():
    options = {"batch_size": 2, "step_size": 0.1, "num_samples": 30, "num_steps": 2}
    run = sgld(REGRESSION, [[0.0, 0.0], [1.0, 1.0]], num_warmup=10, num_chains=2, rng=1, **options)
    np.testing.assert_array_equal(run.settings["num_gradients"], [80, 80])
    np.testing.assert_allclose(run.settings["passes"], 80 * 2 / 6)
    more = sgld(
        REGRESSION, [[0.0, 0.0], [1.0, 1.0]], num_warmup=10, num_chains=2, rng=1, centre=[0.0, 0.0],
        **options,
    )  # fmt: skip
    np.testing.assert_allclose(more.settings["passes"], 2 * 80 * 2 / 6)
    assert more.num_evals == run.num_evals - 2 * 27 + 2 * 54 + 1
    assert run.settings["num_rows"] == 6 and run.settings["batch_size"] == 2


def test_a_gentle_run_neither_warns_nor_complains():
    starts = np.random.default_rng(13).multivariate_normal(np.zeros(2), DENSE, size=4)
    draws = sghmc(
        REGRESSION, starts, batch_size=3, step_size=0.05, friction=3.0, num_steps=20,
        num_samples=2000, rng=14,
    )  # fmt: skip
    assert draws.problems == ()
