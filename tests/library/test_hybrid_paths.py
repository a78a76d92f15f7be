"""Pathfinder: its inverse Hessians, what it finds on known targets, and when it fails."""

import numpy as np
import pytest
from bad_inputs import refused
from densities import cut_off, exponential, raising
from recording import measured
from registry import log_gamma
from scipy import stats
from sparing import over

import bayeslib as bl
from bayeslib import posteriors
from bayeslib.errors import BayeslibError, BayeslibWarning, StartError
from bayeslib.variational import pathfinder

Z_LIMIT = float(stats.norm.isf(1e-6 / 16 / 2))


def pairs_of_a_quadratic(dim, num, seed):
    """Steps and changes of the gradient under a random precision, and the precision."""
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((dim, dim))
    precision = root @ root.T / dim + np.eye(dim)
    steps = rng.standard_normal((num, dim))
    return steps, steps @ precision, precision


def dense_updates(diagonal, steps, changes):
    """The BFGS recursion on full matrices."""
    inverse = np.diag(diagonal)
    for step, change in zip(steps, changes, strict=True):
        rho = 1.0 / (step @ change)
        left = np.eye(step.size) - rho * np.outer(step, change)
        inverse = left @ inverse @ left.T + rho * np.outer(step, step)
    return inverse


@pytest.mark.parametrize("dim", [1, 2, 5, 30])
def test_draws_and_densities_are_those_of_mean_and_covariance(dim):
    steps, changes, precision = pairs_of_a_quadratic(dim, 4, seed=dim)
    positions = np.cumsum(np.vstack([np.ones((1, dim)), steps]), axis=0)
    gradients = -positions @ precision
    (_, *_, (last, found)) = pathfinder.gaussians(positions, gradients, history=4)
    assert last == 4
    normals = np.random.default_rng(1).standard_normal((20, dim))
    x, log_q = found.place(normals)
    reference = bl.Gaussian(found.mean, found.cov)
    np.testing.assert_allclose(log_q, reference.logdensity(x), rtol=1e-8, atol=1e-8)
    factor = found.place(np.eye(dim))[0] - found.mean
    np.testing.assert_allclose(factor.T @ factor, found.cov, rtol=1e-8, atol=1e-8)
    diagonal = np.ones(dim)
    for step, change in zip(steps, changes, strict=True):
        diagonal = pathfinder.next_diagonal(diagonal, step, change)
    expected = dense_updates(diagonal, steps, changes)
    np.testing.assert_allclose(found.cov, expected, rtol=1e-6, atol=1e-8)
    newton = positions[-1] + expected @ gradients[-1]
    np.testing.assert_allclose(found.mean, newton, rtol=1e-6, atol=1e-8)


def test_a_step_without_curvature_is_not_learned_from():
    """The second step goes where the gradient rises: its Gaussian is made of the first alone."""
    positions = np.array([[3.0, 0.0], [2.0, 0.1], [1.0, 0.3], [0.5, 0.2]])
    gradients = np.array([[-3.0, 0.1], [-2.0, 0.0], [-2.5, 0.0], [-1.0, -0.1]])
    found = dict(pathfinder.gaussians(positions, gradients, history=6))
    assert set(found) == {1, 2, 3}
    np.testing.assert_allclose(found[1].cov, found[2].cov, rtol=1e-12)
    assert np.abs(found[2].cov - found[3].cov).max() > 1e-3
    assert all(np.linalg.eigvalsh(g.cov)[0] > 0.0 for g in found.values())
    first_up = dict(pathfinder.gaussians(positions[1:], gradients[1:], history=6))
    assert set(first_up) == {2}


def correlated(dim, seed=0):
    root = np.random.default_rng(seed).standard_normal((dim, dim))
    precision = root @ root.T / dim + np.eye(dim)
    return posteriors.gaussian(np.linspace(-1.0, 1.0, dim), np.linalg.inv(precision))


@pytest.mark.trust("M7", of="pathfinder")
@pytest.mark.filterwarnings("ignore::bayeslib.BayeslibWarning")
@pytest.mark.parametrize(("dim", "gap"), [(1, 1e-9), (2, 0.1), (10, 0.6), (50, 4.0)])
def test_gaussian_targets(dim, gap):
    """The mode to four digits; the covariance as good as the path has seen directions.

    The bound is below the evidence, 0, by KL(q || p). At the first Gaussian that a path offers it
    is hundreds of nats; exact on the line, where one step shows the whole curvature.
    """
    target = correlated(dim)
    q = bl.pathfinder(target, num_elbo_draws=100, rng=1)
    sd = np.sqrt(np.diag(target.truth.cov))
    assert np.all(np.abs(q.mean - target.truth.mean) < 0.02 * sd)
    exact = bl.Gaussian(target.truth.mean, target.truth.cov)
    assert -1e-9 < q.kl(exact) < gap
    assert abs(q.elbo.value + q.kl(exact)) < Z_LIMIT * q.elbo.mcse + 1e-9
    if dim == 1:
        np.testing.assert_allclose(q.cov, target.truth.cov, rtol=1e-9)
    wider = bl.Gaussian(q.mean, 3.0 * q.cov)
    assert dim == 1 or wider.kl(exact) > q.kl(exact)


SCHOOLS = posteriors.eight_schools(centered=False)


@pytest.mark.trust("M7", of="pathfinder")
@pytest.mark.filterwarnings("ignore::bayeslib.BayeslibWarning")
def test_eight_schools():
    """Within two posterior standard deviations of every mean, and a bound that is one."""
    truth = SCHOOLS.truth
    sd = np.sqrt(np.diag(truth.cov))
    for seed in range(4):
        q = bl.pathfinder(SCHOOLS, rng=seed)
        assert np.all(np.abs(q.mean - truth.mean) < 2.0 * sd)
        assert q.elbo.value < truth.log_evidence + Z_LIMIT * q.elbo.mcse
        assert q.elbo.value > truth.log_evidence - 12.0
        chosen = q.elbo_trace[q.settings["chosen"] - 1]
        assert chosen == q.elbo_trace.max() == q.settings["elbos"].max()
    start = bl.Gaussian(np.full(10, 1.0), np.eye(10))
    assert bl.elbo(SCHOOLS, start, rng=1).value < q.elbo.value  # the twin: where paths begin


@pytest.mark.trust("M6", of="multipathfinder")
def test_several_paths_find_two_modes_and_the_evidence():
    """A mixture of two Gaussians far apart: one path sees one of them, weights count both."""
    covs = [[[1.0, 0.6], [0.6, 1.0]], [[0.5, 0.0], [0.0, 2.0]]]
    target = posteriors.mixture([0.5, 0.5], [[-6.0, 0.0], [6.0, 0.0]], covs)
    starts = [[-5.0, 1.0], [5.0, -1.0], [-7.0, 0.5], [7.0, 0.5]]
    draws = bl.multipathfinder(target, starts, num_samples=20_000, rng=1)
    assert draws.settings["khat"] < 0.7 and draws.settings["elbos"].shape == (4,)
    assert abs(draws.log_evidence.z(target.truth.log_evidence)) < Z_LIMIT
    assert abs(draws.expect(lambda x: x[..., 0] > 0.0).z(0.5)) < Z_LIMIT
    with pytest.warns(BayeslibWarning, match="another mode, about theta=.6.0, "):
        one = bl.multipathfinder(target, starts[:1], num_samples=2000, rng=1)
    assert abs(one.log_evidence.z(target.truth.log_evidence)) > Z_LIMIT  # the twin: half is missed
    assert draws.num_evals == draws.log_evidence.num_evals > 20_000


GAMMA_STUDENT = posteriors.gamma_student()
NUM_SEEDS = 60
EACH = 1e-6 / 18  # three targets, two moments, a sum of squares on either side and an average
SUM_LIMIT = float(stats.norm.isf(EACH / 2))


def stated_errors(target, num_samples=5000):
    """z of the mean and of the variance in each run, (runs, 2), and whether nothing flags it."""
    (mean,), ((variance,),) = target.truth.mean, target.truth.cov
    found, fine = [], []
    for seed in range(NUM_SEEDS):
        draws = bl.multipathfinder(target, num_samples=num_samples, rng=seed)
        spread = draws.expect(lambda x: (x[:, 0] - mean) ** 2)
        found.append((draws.expect().z([mean])[0], spread.z(variance)))
        fine.append(not draws.problems)
    return np.array(found), np.array(fine)


def honest(z):
    """Whether squares add up to a chi-square variate, and the average is a normal's, for each."""
    sums, averages = np.square(z).sum(axis=0), np.sqrt(len(z)) * z.mean(axis=0)
    low, high = stats.chi2.ppf(EACH, len(z)), stats.chi2.isf(EACH, len(z))
    return np.all((low < sums) & (sums < high) & (np.abs(averages) < SUM_LIMIT))


SKEWED = {"log_gamma": log_gamma(), "gamma_student": GAMMA_STUDENT, "coin": posteriors.coin(8, 2)}


@pytest.mark.trust("M6", of="multipathfinder")
@over("name", SKEWED)
def test_stated_errors_are_those_that_are_made(name):
    """Where nothing is flagged z has mean square 1 and mean 0; false alarms 1e-6 in all.

    The twin is a planted bug: paths that are weighted by Gaussian tails alone.
    """
    z, fine = stated_errors(SKEWED[name])
    assert fine.mean() >= 0.9
    z = z[fine]
    measured("average z", np.sqrt(len(z)) * z.mean(axis=0), SUM_LIMIT, right=True)
    assert honest(z)


def test_the_wide_share_bounds_the_weights_of_an_exact_fit():
    """No weight is above 1 / 0.8, so that draws are worth at least four fifths of their number."""
    draws = bl.multipathfinder(posteriors.gaussian([1.0], [[4.0]]), num_samples=4000, rng=1)
    assert draws.log_weights.max() < -np.log(0.8) + 1e-9
    assert 0.8 * 4000 < draws.worth < 4000


@pytest.mark.filterwarnings("ignore::bayeslib.BayeslibWarning")
def test_speaks_the_targets_coordinates():
    q = bl.pathfinder(GAMMA_STUDENT, [[1.0], [6.0]], rng=1, keep_path=True)
    assert np.all(q.sample(1000, 1) > 0.0) and q.method == "pathfinder"
    np.testing.assert_allclose(q.settings["path"][0], [[1.0], [6.0]][_best(q)], rtol=1e-12)
    assert np.all(q.settings["path"] > 0.0)
    num = len(q.elbo_trace)
    assert q.settings["means"].shape == (num, 1) and q.settings["covs"].shape == (num, 1, 1)
    np.testing.assert_array_equal(q.settings["means"][q.settings["chosen"] - 1], q.mean)


@pytest.mark.filterwarnings("ignore::bayeslib.BayeslibWarning")
def test_draws_of_several_paths_are_weighted_in_the_targets_coordinates():
    draws = bl.multipathfinder(GAMMA_STUDENT, num_samples=5000, rng=1)
    assert np.all(draws.values > 0.0) and draws.names == GAMMA_STUDENT.names
    np.testing.assert_allclose(
        draws.logdensity[0], GAMMA_STUDENT.many(draws.flat), rtol=1e-9, atol=1e-9
    )


def _best(q):
    return int(np.argmax(q.settings["elbos"]))


@pytest.mark.filterwarnings("ignore::bayeslib.BayeslibWarning")
def test_costs_are_counted():
    options = {"num_check": 100, "num_elbo_draws": 10}
    one = bl.pathfinder(SCHOOLS, rng=3, **options)
    points = one.settings["lengths"].sum()
    assert one.num_evals > 10 * points * 0.8 + 100
    assert bl.pathfinder(SCHOOLS, rng=3, num_paths=1, **options).num_evals < one.num_evals


@pytest.mark.trust("S15", "M8")
def test_paths_that_fail_are_said():
    target = posteriors.gaussian([0.0, 0.0], np.eye(2))
    with pytest.raises(BayeslibError, match="none of 1 paths .* bound: begin elsewhere"):
        bl.pathfinder(target, [0.0, 0.0], rng=1)
    for fit in (bl.multipathfinder, bl.pathfinder):
        with pytest.warns(BayeslibWarning, match=r"1 of 2 paths failed \(0\)"):
            q = fit(target, [[0.0, 0.0], [1.0, 1.0]], rng=1)
        assert q.settings["elbos"][0] == -np.inf < q.settings["elbos"][1] and q.problems
    with pytest.raises(ValueError, match="too far\n.*raised at theta="):
        bl.pathfinder(bl.Target(raising, dim=1, data=(-1.0,)), -5.0, rng=1)


@pytest.mark.trust("M8")
def test_a_posterior_that_is_no_gaussian_is_said():
    with pytest.warns(BayeslibWarning, match="k-hat is") as caught:
        q = bl.pathfinder(posteriors.donut(), rng=1)
    assert len(caught) == 1 and q.settings["khat"] > 0.7 and q.problems


test_bad_arguments_are_named = refused(
    ({"target": correlated(2), "num_paths": 0}, "num_paths must be at least 1"),
    ({"initial_position": [0.0]}, "initial_position must have shape"),
    ({"initial_position": [[0.5] * 10], "num_paths": 3}, "1 rows, but num_paths=3"),
    ({"initial_position": [0.5] * 10, "num_paths": 3}, "give one start each"),
    ({"target": bl.Target(exponential, dim=1), "initial_position": -1.0}, StartError, "support"),
    ({"target": bl.Target(cut_off, dim=1, data=(0.5, np.nan))}, r"as the .* is nan at theta=\["),
    ({"history": 0}, "history must be at least 1"),
    ({"max_iterations": 0}, "max_iterations must be at least 1"),
    ({"num_elbo_draws": 0}, "num_elbo_draws must be at least 1"),
    ({"num_check": 1}, "num_check must be at least 100"),
    ({"target": bl.Target(lambda t: -0.5 * np.sum(t**2), dim=1001)}, "1000 dimensions, got 1001"),
    by=lambda **changes: bl.pathfinder(**{"target": SCHOOLS, "rng": 1} | changes),
)
