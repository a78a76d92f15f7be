"""What the page on variational inference claims of one seed, asserted over several: no luck."""

import itertools

import numpy as np
from scipy import special, stats
from sparing import over
from twins import Z_LIMIT, page, quiet

import bayeslib as bl

pytestmark = quiet
every_seed = over("seed", range(11, 16))
MEAN, SD = 1.427870, 0.265447


def test_vi_the_optimum_is_one_and_best_at_neither_term():
    line_elbo, two_terms = page("vi", "line_elbo", "two_terms")
    best = line_elbo(MEAN, SD)
    for mean, sd in itertools.product(
        MEAN + np.array([-0.01, 0, 0.01]), SD * np.array([0.97, 1.03])
    ):
        assert line_elbo(mean, sd) < best
    fit, complexity = two_terms(MEAN, SD)
    np.testing.assert_allclose(fit - complexity, best, rtol=1e-8)
    spike = two_terms(np.log(5.0), 1e-4)
    prior = two_terms(np.log(3.0) - 1 / 6, np.sqrt(1 / 3))
    assert spike[0] > fit and spike[1] > complexity > prior[1]
    for mean, sd in ((0.92, 0.577), (0.94, 0.577), (0.932, 0.55), (0.932, 0.6)):
        assert two_terms(mean, sd)[1] > prior[1]


@every_seed
def test_vi_coordinate_ascent_never_lowers_the_bound(seed):
    cavi, exact_normal_gamma = page("vi", "cavi", "exact_normal_gamma")
    rng = np.random.default_rng(seed)
    for _ in range(10):
        y = rng.normal(5.0, rng.uniform(0.1, 2.0), rng.integers(2, 30))
        prior = {"m0": rng.normal(5, 1), "k0": rng.gamma(1), "a0": rng.gamma(2), "b0": rng.gamma(2)}
        start = {"a": rng.gamma(2) + 0.1, "b": rng.gamma(2) + 0.1, "sweeps": 100}
        path, bounds = cavi(y, **prior, **start)
        assert np.diff(bounds).min() > -1e-9 * max(1.0, abs(bounds).max())
        m, k, a, b, log_evidence = exact_normal_gamma(y, **prior)
        assert bounds[-1] < log_evidence
        # the fixed point, solved by hand
        got_m, lam, got_a, got_b = path[-1]
        np.testing.assert_allclose([got_m, got_a / got_b], [m, a / b], rtol=1e-6)
        np.testing.assert_allclose(1 / lam, b / (k * a), rtol=1e-6)
        np.testing.assert_allclose(got_a, a + 0.5, rtol=1e-12)
        # the exact posterior's own evidence: log joint minus log posterior, at any point
        mu, tau = m + 0.3, 0.7 * a / b
        joint = (
            stats.norm(mu, tau**-0.5).logpdf(y).sum()
            + stats.norm(prior["m0"], (prior["k0"] * tau) ** -0.5).logpdf(mu)
            + stats.gamma(prior["a0"], scale=1 / prior["b0"]).logpdf(tau)
        )
        posterior = stats.norm(m, (k * tau) ** -0.5).logpdf(mu) + stats.gamma(
            a, scale=1 / b
        ).logpdf(tau)
        np.testing.assert_allclose(joint - posterior, log_evidence, rtol=1e-8)


@every_seed
def test_vi_the_bound_of_the_mixture_by_its_definition(seed):
    """E_q of log joint minus log q, exactly over the labels, drawn over the centres."""
    GALAXIES, mixture_elbo = page("vi", "GALAXIES", "mixture_elbo")
    rng = np.random.default_rng(seed)
    y, r = GALAXIES[::9], rng.dirichlet(np.ones(3), 10)
    m, v = np.array([10.0, 20.0, 30.0]), np.array([0.5, 0.1, 2.0])
    mu = m + np.sqrt(v) * rng.standard_normal((20_000, 3))
    log_w = stats.norm(20, 10).logpdf(mu).sum(1) - stats.norm(m, np.sqrt(v)).logpdf(mu).sum(1)
    log_like = stats.norm(mu[:, None, :], 1.0).logpdf(y[:, None])
    log_w += np.sum(r * (log_like - np.log(3)), axis=(1, 2)) - np.sum(special.xlogy(r, r))
    error, bound = log_w.std() / np.sqrt(log_w.size), mixture_elbo(y, m, v, r)
    assert abs(log_w.mean() - bound) < Z_LIMIT * error
    assert abs(log_w.mean() - bound - np.sum(r * v)) > Z_LIMIT * error  # v forgotten in the misfit


@every_seed
def test_vi_what_a_factorised_fit_must_get_wrong(seed):
    """The ordering of volumes, the divergence in closed form and the tail of the weights."""
    rng = np.random.default_rng(seed)
    for dim in (2, 3, 6):
        root = rng.standard_normal((dim, dim + 1))
        sigma = root @ root.T
        precision = np.linalg.inv(sigma)
        own = 1 / np.diag(precision)
        assert np.all(own < np.diag(sigma))
        assert own.prod() < np.linalg.det(sigma) < np.diag(sigma).prod()
        q, exact = bl.Gaussian(np.zeros(dim), np.diag(own)), bl.Gaussian(np.zeros(dim), sigma)
        gap = 0.5 * (np.log(np.diag(precision)).sum() - np.linalg.slogdet(precision)[1])
        draws = q.sample(20_000, seed)
        log_w = exact.logdensity(draws) - q.logdensity(draws)
        assert abs(log_w.mean() + gap) < Z_LIMIT * log_w.std() / np.sqrt(log_w.size)
        scaled = precision * np.sqrt(np.outer(own, own))
        smallest = np.linalg.eigvalsh(scaled)[0]
        for r, finite in ((0.99 / (1 - smallest), True), (1.01 / (1 - smallest), False)):
            lowest = np.linalg.eigvalsh(r * precision + (1 - r) * np.diag(1 / own))[0]
            assert (lowest > 0) == finite
    rho = rng.uniform(-0.95, 0.95)
    scaled = np.linalg.inv([[1, rho], [rho, 1]]) * (1 - rho**2)
    np.testing.assert_allclose(1 - np.linalg.eigvalsh(scaled)[0], abs(rho), rtol=1e-9)


def test_vi_three_local_optima_while_the_modes_are_far_and_not_too_far():
    """From three starts: one at a distance of four, three at eight, two at twelve."""

    def optima(separation):
        _, found, _ = page("vi", "fits")(separation)
        return {(round(mean, 1), round(sd, 1)): value for value, mean, sd in found}

    assert list(optima(4.0)) == [(0.3, 2.0)]
    assert list(optima(12.0)) == [(6.0, 1.0), (-6.0, 1.0)]
    far = optima(8.0)
    assert list(far) == [(4.0, 1.0), (-4.0, 1.0), (0.6, 3.4)]
    np.testing.assert_allclose(list(far.values()), [0.5108, 0.9162, 1.8765], atol=1e-3)
