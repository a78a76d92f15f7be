"""The evidence lower bound and the Gaussian that climbs it, against closed forms."""

import numpy as np
import pytest
from bad_inputs import Denying, refused
from calling import quietly
from densities import raising, truncated
from scipy import special, stats
from verdict import two_sided

import bayeslib as bl
from bayeslib import BayeslibWarning, Gaussian, posteriors
from bayeslib.errors import GradientError, StartError, TargetError
from bayeslib.variational.advi_ascent import Fit
from bayeslib.variational.gaussian_family import unpack

STUDENT = posteriors.gamma_student()
FREE = bl.unconstrained(STUDENT)
RHO = 0.9
CORRELATED = posteriors.gaussian([1.0, -2.0], [[1.0, RHO], [RHO, 1.0]])
GAP = -0.5 * np.log(1.0 - RHO**2)  # 0.830366
# The best Gaussian on log theta, by Gauss-Hermite quadrature: its mean, sd and bound.
BEST = (1.427870, 0.265447, -2.474257)
LIMIT = 4.9  # standard errors: 1e-6, two-sided


# The bound


@pytest.mark.trust("M7", of="elbo")
@pytest.mark.parametrize("entropy", ["sampled", "exact"])
def test_the_bound_has_its_closed_form(entropy):
    """KL between two Gaussians, of different means and covariances."""
    q = Gaussian([0.5, -1.0], [[2.0, 0.3], [0.3, 0.5]])
    exact = -q.kl(Gaussian(CORRELATED.truth.mean, CORRELATED.truth.cov))
    found = bl.elbo(CORRELATED, q, num_samples=100_000, rng=1, entropy=entropy)
    assert abs(found.z(exact)) < LIMIT
    assert found.num_evals == 100_000
    # a bound with the sign of the entropy turned, and one without it
    for wrong in (found.value - 2.0 * q.entropy, found.value - q.entropy):
        assert abs(wrong - exact) > 20.0 * found.mcse


def test_kl_is_that_of_sampling_and_zero_of_itself():
    p, q = Gaussian([0.5, -1.0], [[2.0, 0.3], [0.3, 0.5]]), Gaussian([0.0, 0.0], np.eye(2))
    x = p.sample(100_000, 1)
    terms = p.logdensity(x) - q.logdensity(x)
    assert abs(terms.mean() - p.kl(q)) < LIMIT * terms.std() / np.sqrt(terms.size)
    assert p.kl(p) == pytest.approx(0.0, abs=1e-14)
    assert p.kl(q) != pytest.approx(q.kl(p), rel=0.1)
    assert p.entropy == pytest.approx(stats.multivariate_normal(p.mean, p.cov).entropy())


def test_the_bound_of_the_posterior_itself_is_its_evidence():
    found = bl.elbo(CORRELATED, Gaussian([1.0, -2.0], CORRELATED.truth.cov), rng=1)
    assert found.value == pytest.approx(0.0, abs=1e-12)
    assert found.mcse < 1e-12
    coin = posteriors.coin(8, 2)
    beta = bl.elbo(coin, stats.beta(9, 3), rng=1)
    assert beta.value == pytest.approx(coin.truth.log_evidence, rel=1e-12)


@pytest.mark.trust("M7", of="elbo")
@pytest.mark.parametrize(
    "q", [stats.gamma(5), stats.lognorm(0.3, scale=4.2), stats.gamma(20, scale=0.25)],
    ids=["gamma", "lognormal", "narrow"],
)  # fmt: skip
def test_the_bound_never_passes_the_evidence(q):
    found = bl.elbo(STUDENT, q, num_samples=20_000, rng=2)
    gap = STUDENT.truth.log_evidence - found.value
    assert gap > LIMIT * found.mcse  # these are not the posterior
    # a normalising constant forgotten would take it above
    assert found.value + 0.5 * np.log(2.0 * np.pi) > STUDENT.truth.log_evidence


def test_the_bound_is_the_same_in_any_coordinates():
    q = Gaussian([1.4], [[0.07]], transform=FREE.transform)
    base = bl.elbo(FREE, q.base, num_samples=500, rng=3)
    own = bl.elbo(STUDENT, q, num_samples=500, rng=3)
    exact = bl.elbo(STUDENT, q, num_samples=500, rng=3, entropy="exact")
    assert own.value == pytest.approx(base.value, rel=1e-12)
    free_exact = bl.elbo(FREE, q.base, num_samples=500, rng=3, entropy="exact")
    assert exact.value == pytest.approx(free_exact.value, rel=1e-12)


def test_draws_outside_make_the_bound_minus_infinity():
    with pytest.warns(BayeslibWarning, match="lie outside the target's support"):
        found = bl.elbo(STUDENT, stats.norm(1.0, 2.0), rng=1)
    assert found.value == -np.inf


# The gradient


def frozen_bound(target, mean, scale, z, sticking):
    """The bound with common random numbers as a function of local steps a (dim,), b (dim, dim)."""

    def bound(a, b):
        there = scale @ (np.eye(mean.size) + b)
        x = mean + scale @ a + z @ there.T
        if not sticking:
            return target.many(x).mean() + np.log(np.diag(there)).sum()
        # along the draws only: the density of the approximation stays where it was
        return (target.many(x) - Gaussian(mean, scale @ scale.T).logdensity(x)).mean()

    return bound


@pytest.mark.trust("S1", of="advi")
@pytest.mark.parametrize("sticking", [True, False])
@pytest.mark.parametrize("dense", [True, False])
def test_steps_follow_the_slope_of_the_bound(dense, sticking):
    """Against central differences with common random numbers, to 1e-6."""
    target = bl.unconstrained(posteriors.banana(1.2, width=0.5))
    mean, scale, size = np.array([0.4, -0.3]), 0.3, 1e-7
    rng = np.random.default_rng(5)
    fit = Fit(target, mean, rng, scale=scale, dense=dense, num_draws=7, sticking=sticking)
    for _ in range(30):  # to a scale that is not a multiple of the identity
        fit.run(0.01, 1)
    mean, scale = unpack(fit.climb.parameters, 2)
    z = np.random.default_rng(5).standard_normal((31, 7, 2))[30]
    fit.run(size, 1)
    moved, after = unpack(fit.climb.parameters, 2)
    shift = np.linalg.solve(scale, moved - mean) / size
    slope = (np.linalg.solve(scale, after) - np.eye(2)) / size
    bound = frozen_bound(target, mean, scale, z, sticking)
    zero, step = np.zeros((2, 2)), 1e-5
    for i in range(2):
        a = step * np.eye(2)[i]
        expected = (bound(a, zero) - bound(-a, zero)) / (2.0 * step)
        assert shift[i] == pytest.approx(expected, rel=1e-5, abs=1e-6)
        for j in range(0 if dense else i, i + 1):
            b = zero.copy()
            b[i, j] = step
            expected = (bound(0 * a, b) - bound(0 * a, -b)) / (2.0 * step)
            assert slope[i, j] == pytest.approx(expected, rel=1e-5, abs=2e-6)


# The optimum


@pytest.mark.trust("M7", of="advi")
@pytest.mark.parametrize("estimator", ["stl", "entropy"])
def test_gamma_student_on_the_logarithm(estimator):
    found = quietly(bl.advi, STUDENT, estimator=estimator, tolerance=1e-5, max_steps=60_000, rng=1)
    assert found.mean[0] == pytest.approx(BEST[0], abs=0.003)
    assert np.sqrt(found.cov[0, 0]) == pytest.approx(BEST[1], abs=0.003)
    assert abs(found.elbo.z(BEST[2])) < LIMIT
    # with the rest of the bound's definition wrong the optimum is another: no Jacobian
    bare = bl.Target(
        lambda x, y: -1.5 * np.log1p(0.5 * (y - np.exp(x[0])) ** 2) + 2.0 * x[0] - np.exp(x[0]),
        dim=1, data=(5.0,),
    )  # fmt: skip
    wrong = quietly(bl.advi, bare, tolerance=1e-4, rng=1)
    assert abs(wrong.mean[0] - BEST[0]) > 0.03


def test_the_best_gaussian_is_what_quadrature_says():
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    weights = weights / weights.sum()

    def bound(mean, sd):
        values = weights @ FREE.many((mean + sd * nodes)[:, None])
        return values + np.log(sd) + 0.5 * (1.0 + np.log(2.0 * np.pi))

    assert bound(*BEST[:2]) == pytest.approx(BEST[2], abs=2e-6)
    for mean, sd in ((0.002, 0.0), (-0.002, 0.0), (0.0, 0.002), (0.0, -0.002)):
        assert bound(BEST[0] + mean, BEST[1] + sd) < bound(*BEST[:2])


@pytest.mark.trust("M7", of="advi")
def test_mean_field_has_the_inverse_precisions_and_the_gap():
    found = quietly(bl.advi, CORRELATED, tolerance=1e-4, rng=1)
    np.testing.assert_allclose(np.diag(found.cov), 1.0 - RHO**2, rtol=0.03)
    assert found.cov[0, 1] == 0.0
    np.testing.assert_allclose(found.mean, [1.0, -2.0], atol=0.02)
    exact = Gaussian(found.mean, found.cov).kl(Gaussian([1.0, -2.0], CORRELATED.truth.cov))
    assert exact == pytest.approx(GAP, abs=1e-3)
    assert abs(found.elbo.z(-GAP)) < LIMIT
    assert np.diag(found.cov).max() < 0.5 * np.diag(CORRELATED.truth.cov).min()


@pytest.mark.trust("M7", of="advi")
@pytest.mark.parametrize("family", ["meanfield", "fullrank"])
def test_a_funnel_has_its_closed_form(family):
    """v ~ N(0, 9), x_i ~ N(0, exp(v)): the best Gaussian, of either family, has

    variance 1 / (1/9 + k/2) of v and exp(-var(v) / 2) of each of k other coordinates.
    """
    k = 2
    found = quietly(bl.advi, posteriors.funnel(k + 1), family=family, tolerance=1e-4, rng=2)
    narrow = 1.0 / (1.0 / 9.0 + k / 2.0)
    bound = 0.5 * (np.log(narrow) + 1.0) - np.log(3.0) - narrow / 18.0 - k * narrow / 4.0
    np.testing.assert_allclose(found.mean, 0.0, atol=0.05)
    expected = [narrow, *k * [np.exp(-0.5 * narrow)]]
    np.testing.assert_allclose(np.diag(found.cov), expected, rtol=0.05)
    assert abs(found.elbo.z(bound)) < LIMIT
    assert narrow < 0.2 * posteriors.funnel(k + 1).truth.cov[0, 0]


@pytest.mark.trust("M7", of="advi")
@pytest.mark.parametrize("dim", [1, 2, 10])
def test_full_rank_is_exact_on_a_gaussian(dim):
    rng = np.random.default_rng(dim)
    root = rng.standard_normal((dim, dim)) * np.geomspace(1.0, 1e3, dim)[:, None]
    mean, cov = 10.0 * rng.standard_normal(dim), root @ root.T + 0.1 * np.eye(dim)
    target = posteriors.gaussian(mean, cov)
    found = bl.advi(target, family="fullrank", tolerance=1e-4, rng=1)
    assert found.problems == ()
    assert found.transform is None
    distance = found.kl(Gaussian(mean, cov))
    assert distance == pytest.approx(0.0, abs=1e-9)
    assert found.elbo.value == pytest.approx(0.0, abs=1e-6)
    assert found.settings["khat"] < 0.7


def test_units_do_not_matter():
    """The same posterior in other units: the same fit, to rounding."""
    scales = np.array([1e-6, 1e5])
    fits = []
    for s in (np.ones(2), scales):
        cov = CORRELATED.truth.cov * np.outer(s, s)
        target = posteriors.gaussian(CORRELATED.truth.mean * s, cov)
        fit = quietly(bl.advi, target, CORRELATED.truth.mean * s, family="fullrank", rng=1)
        fits.append(fit.cov / np.outer(s, s))
    np.testing.assert_allclose(fits[0], fits[1], rtol=1e-6)


# The result


def test_the_result_speaks_of_the_parameters(tmp_path):
    found = quietly(bl.advi, STUDENT, rng=1)
    assert found.names == ("theta",) and found.transform == FREE.transform
    s2 = found.cov[0, 0]
    assert found.expect().value == pytest.approx(np.exp(found.mean[0] + 0.5 * s2))
    assert found.summary()["theta", "50%"] == pytest.approx(np.exp(found.mean[0]))
    assert found.summary().problems == found.problems == ()
    x = found.sample(5, 1)
    log_normal = stats.lognorm(np.sqrt(s2), scale=np.exp(found.mean[0]))
    np.testing.assert_allclose(found.logdensity(x), log_normal.logpdf(x[:, 0]), rtol=1e-11)
    assert found.logdensity(-1.0) == -np.inf
    loaded = bl.load(found.save(tmp_path / "fit"))
    np.testing.assert_array_equal(loaded.sample(5, 1), x)
    assert loaded.transform == found.transform and loaded.problems == found.problems
    assert "k-hat" in str(found.summary()) and "ELBO" in str(found.summary())
    weighted = quietly(bl.importance_sample, STUDENT, found, num_samples=1000, rng=1)
    assert weighted.log_evidence.value > found.elbo.value - LIMIT * found.elbo.mcse


@pytest.mark.parametrize(("mean", "sd"), [(2.0, 10.0), (3.0, 30.0), (-5.0, 300.0)])
def test_means_between_two_ends_are_exact_however_wide_the_logit(mean, sd):
    rises = (np.array([-40.0, -4.0, 0.0, 4.0, 40.0]) - mean) / sd
    truth = stats.norm.expect(lambda z: special.expit(mean + sd * z), lb=-12, ub=12, points=rises)
    q = Gaussian([mean], [[sd**2]], transform=(0.0, 1.0))
    assert q.expect().value[0] == pytest.approx(truth, rel=1e-9)


def test_a_gaussian_with_ends_has_the_moments_of_its_draws():
    q = Gaussian([0.3, 1.0, -0.5, 2.0], 0.3 * np.eye(4) + 0.2,
                 transform=((0.0, None), (-1.0, 2.0), (None, 5.0), None))  # fmt: skip
    draws = bl.Draws(q.sample(200_000, 1)[None], independent=True)
    assert two_sided(draws.expect().z(q.expect().value)).min() > 1e-6
    table = q.summary()
    for i, name in enumerate(q.names):
        sd = draws.flat[:, i].std()
        assert table[name, "sd"] == pytest.approx(sd, rel=0.02)
        for p in (5, 50, 95):
            share = np.mean(draws.flat[:, i] < table[name, f"{p}%"])
            assert share == pytest.approx(p / 100.0, abs=4.9 * 0.5 / np.sqrt(200_000))
    assert q.base.transform is None and q.base.names[0] == "log(theta[0])"
    # its density has mass one on the box
    box = stats.uniform([0.0, -1.0, -9.0, -2.0], [12.0, 3.0, 14.0, 8.0])
    x = box.rvs((200_000, 4), random_state=1)
    mass = np.exp(q.logdensity(x)) * 12.0 * 3.0 * 14.0 * 8.0
    assert abs(mass.mean() - 1.0) < 4.9 * mass.std() / np.sqrt(mass.size) + 0.01


def test_paths_and_counts():
    options = {"num_steps": 101, "num_check": 100, "num_draws": 3, "keep_path": True}
    found = quietly(bl.advi, CORRELATED, [0.0, 0.0], rng=4, **options)
    assert found.elbo_trace.shape == (101,) and found.settings["num_steps"] == 101
    assert found.settings["initial_scale"] == 1.0 and not found.settings["converged"]
    means, scales = found.settings["means"], found.settings["scales"]
    assert means.shape == scales.shape == (101, 2)
    np.testing.assert_allclose(found.mean, means[50:].mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(
        np.sqrt(np.diag(found.cov)), np.exp(np.log(scales[50:]).mean(axis=0)), rtol=1e-12
    )
    judged = found.settings["num_weighed"] + found.settings["num_scouted"]
    starts = found.num_evals - 101 * 3 - judged
    assert 0 < starts < 60


def test_restarts_keep_the_highest_bound():
    target = posteriors.mixture([0.2, 0.8], [-6.0, 6.0], [1.0, 1.0])
    found = quietly(bl.advi, target, [[-6.0], [6.0]], num_restarts=2, rng=1)
    elbos = found.settings["elbos"]
    assert found.mean[0] == pytest.approx(6.0, abs=0.1)
    assert found.elbo.value == elbos[1] > elbos[0] + 1.0
    np.testing.assert_allclose(elbos, np.log([0.2, 0.8]), atol=0.05)


def test_what_did_not_settle_says_so():
    with pytest.warns(BayeslibWarning, match="had not settled after 60 steps"):
        found = bl.advi(posteriors.gaussian([300.0], [[1.0]]), [0.0], max_steps=60, rng=1)
    assert not found.settings["converged"]
    assert any("had not settled" in problem for problem in found.problems)


def test_an_end_that_was_not_declared_is_seen():
    with pytest.warns(BayeslibWarning, match="give the Target its support="):
        found = bl.advi(bl.Target(truncated, dim=1), [0.5], max_steps=2000, rng=1)
    assert found.elbo.value == -np.inf
    assert found.settings["num_outside"] > 0
    declared = quietly(bl.advi, bl.Target(truncated, dim=1, support=(-0.5, None)), [0.5], rng=1)
    assert np.isfinite(declared.elbo.value)


@pytest.mark.parametrize("family", ["meanfield", "fullrank"])
def test_a_fit_that_leaves_the_support_says_so(family):
    strip = bl.Target(lambda t: 9.0 * t[0] if abs(t[0]) < 1.0 else -np.inf, dim=1)
    with pytest.raises(TargetError, match="left the support.*initial_scale=0.1"):
        bl.advi(strip, [0.0], family=family, rng=1)


# Bad input


NAN = bl.Target(lambda t: np.nan * t[0], dim=1)
BLIND = bl.Target(truncated, dim=1, gradient=None)
test_bad_input_is_named = refused(
    (lambda: bl.advi(CORRELATED, family="full", rng=1), "family must be one of"),
    (lambda: bl.advi(CORRELATED, estimator="score", rng=1), "estimator must be one"),
    (lambda: bl.advi(CORRELATED, num_draws=0, rng=1), "num_draws must be at least 1"),
    (lambda: bl.advi(CORRELATED, step_size=0.0, rng=1), "step_size must be positive"),
    (lambda: bl.advi(CORRELATED, step_size=2.0, rng=1), "step_size must be at most"),
    (lambda: bl.advi(CORRELATED, num_steps=1, rng=1), "num_steps must be at least 2"),
    (lambda: bl.advi(CORRELATED, max_steps=0.5, rng=1), "whole number"),
    (lambda: bl.advi(CORRELATED, tolerance=-1.0, rng=1), "tolerance must be positive"),
    (lambda: bl.advi(CORRELATED, initial_scale=0, rng=1), "initial_scale must be posit"),
    (lambda: bl.advi(CORRELATED, num_check=99, rng=1), "num_check must be at least 100"),
    (lambda: bl.advi(CORRELATED, [0.0], rng=1), r"must have shape \(2,\)"),
    (lambda: bl.advi(STUDENT, [-1.0], rng=1), "strictly inside the support"),
    (lambda: bl.advi(CORRELATED, [0.0, 0.0], num_restarts=3, rng=1), "begin at one initial_pos"),
    (lambda: bl.elbo(STUDENT, 3.0, rng=1), "needs sample"),
    (lambda: bl.elbo(STUDENT, Gaussian([0, 0], np.eye(2)), rng=1), "has dim=2"),
    (lambda: bl.elbo(STUDENT, stats.norm(), num_samples=1, rng=1), "at least 2"),
    (lambda: bl.elbo(STUDENT, stats.norm(), entropy="none", rng=1), "sampled"),
    (lambda: bl.elbo(STUDENT, stats.gamma(3), entropy="exact", rng=1), "of a Gaussian only"),
    (lambda: Gaussian([0.0], [[1.0]]).kl(3.0), "must be a Gaussian"),
    (
        lambda: Gaussian([0.0], [[1.0]]).kl(Gaussian([0.0], [[1.0]], transform=((0, None),))),
        "compare draws",
    ),
    (lambda: Gaussian([0.0], [[1.0]], transform=((0, 1), (0, 1))), "be 1 pairs"),
    (lambda: Gaussian([0.0], [[1.0]], names=("a", "b")), "names must be 1 different"),
    (lambda: bl.advi(BLIND, rng=1), GradientError, "no gradient"),
    (lambda: bl.advi(bl.Target(truncated, dim=1), [-3.0], rng=1), StartError, "initial_position"),
    (lambda: bl.elbo(NAN, stats.norm(), rng=1), TargetError, "is nan"),
    (lambda: bl.elbo(STUDENT, Denying(-np.inf), rng=1), "disagree"),
    (lambda: bl.advi(bl.Target(raising, dim=1, data=(0.6,)), [0.5], rng=1), ValueError, "too far"),
)
