"""What the page on Laplace's method claims of one setting, asserted over several: no luck."""

import numpy as np
import pytest
from scipy import stats
from sparing import every_seed
from twins import page, quiet

import bayeslib as bl
from bayeslib import posteriors

pytestmark = quiet
RUNNING = posteriors.gamma_student(5.0)


def share(target, start, **options):
    """Laplace's evidence over the exact one."""
    q = bl.laplace(target, start, **options)
    return np.exp(q.log_evidence.value - target.truth.log_evidence)


def test_laplace_plain_finds_no_maximum_where_there_is_none():
    saddle = bl.Target(lambda x: x[0] ** 2 - x[1] ** 2, dim=2)
    with pytest.raises(ValueError, match="no maximum"):
        page("laplace", "laplace")(saddle, [0.0, 0.0])


def test_laplace_the_published_flights():
    degrees, distress, shuttle = page("laplace", "degrees", "distress", "shuttle")
    from bayeslib.posteriors.regressions import DISTRESS, TEMPERATURES

    assert np.array_equal(degrees, TEMPERATURES) and degrees.size == 23
    assert np.array_equal(distress, DISTRESS) and DISTRESS.sum() == 7
    own, library = shuttle.truth.log_evidence, posteriors.challenger().truth.log_evidence
    np.testing.assert_allclose(own, library, rtol=1e-12)


def test_laplace_the_golden_numbers_of_the_running_example():
    in_power, x = page("laplace", "in_power", "fine")
    for power, ratio, top in ((1, 0.798, 4.592407), (0, 0.7228, 4.746806), (0.5, 0.7575, 4.6734)):
        _, mode, found, _ = in_power(power)
        assert abs(found - ratio) < 1e-4 and abs(mode - top) < 1e-4
    truth = RUNNING.truth
    for power in (-1, -0.5, 0, 0.5, 1, 1.5, 2):
        density, *_ = in_power(power)
        mean = density @ x / density.sum()
        sd = np.sqrt(density @ (x - mean) ** 2 / density.sum())
        assert mean > truth.mean[0] + 0.1 and sd < np.sqrt(truth.cov[0, 0]) - 0.1


@pytest.mark.parametrize("power", [-0.5, 0.25, 2.0])
def test_laplace_every_ruler_has_the_same_exact_evidence(power):
    """The density on the page, Jacobian included, integrates to the evidence of theta."""
    log_density = page("laplace", "log_density_of_power")
    theta = np.linspace(1e-3, 60.0, 400_001)
    phi = (theta**power - 1.0) / power
    values = np.exp([log_density(np.array([p]), power, 5.0) for p in phi[::20]])
    area = np.trapezoid(values, phi[::20])
    assert abs(area / np.exp(RUNNING.truth.log_evidence) - 1.0) < 1e-3
    without = values / theta[::20] ** (1.0 - power)
    assert abs(np.trapezoid(without, phi[::20]) / np.exp(RUNNING.truth.log_evidence) - 1.0) > 0.1


def test_laplace_newton_needs_its_guard():
    path = page("laplace", "newton_path")
    assert abs(path("on", steps=12)[-1] - 4.59240723321832) < 1e-10
    lost = path("off", steps=12)
    assert not 0.3 < lost[-1] < 40.0 and lost[1] > lost[0]
    assert abs(path("off", steps=8, start=5.0)[-1] - 4.59240723321832) < 1e-6


def test_laplace_a_broad_prior_makes_bic_worse():
    bic_factor, exact_factor, laplace_factor = page(
        "laplace", "bic_factor", "exact_factor", "laplace_factor"
    )
    off = [abs(np.log(bic_factor / exact_factor(s))) for s in (20, 100, 1000)]
    assert off[0] < off[1] < off[2] and off[2] > 4.0
    for s in (0.3, 2, 100):
        near = np.log(laplace_factor(s) / exact_factor(s))
        assert abs(near) < 0.1
    assert abs(np.log(exact_factor(1000) / exact_factor(100)) + np.log(10)) < 0.02


@every_seed
def test_laplace_what_khat_catches_and_what_it_cannot(seed):
    def fixed(target, start):
        q = bl.laplace(target, start)
        return bl.importance_sample(target, q, num_samples=4000, rng=seed)

    schools = posteriors.eight_schools()
    draws = fixed(schools, np.zeros(10))
    assert draws.settings["khat"] > 0.7
    assert share(schools, np.zeros(10)) < 0.01
    two = posteriors.gamma_student(12.0)
    assert fixed(two, [12.0]).settings["khat"] > 0.7 and 0.2 < share(two, [12.0]) < 0.3
    pair = posteriors.mixture([0.30, 0.05, 0.65], [-10, -10, 10], [1, 1.3, 1])
    lie = fixed(pair, [-9.0])
    assert lie.settings["khat"] < 0.6 and lie.settings["ess"] > 3990.0
    assert lie.log_evidence.z(0.0) < -100.0
    apart = bl.laplace(pair, [[-9.0], [9.0]])
    assert len(apart.settings["modes"]) == 2 and apart.problems
    assert not bl.laplace(pair, [-9.0]).problems


def test_laplace_corrected_by_a_student_t():
    """Evidence and means of the shuttle, against the exact ones; two-sided alpha 6e-7 each."""
    target = page("laplace", "shuttle")
    bell = bl.laplace(target, [0.0, 0.0])
    heavy, bars = stats.multivariate_t(bell.mean, bell.cov, df=5), []
    for seed in range(1, 6):
        draws = bl.importance_sample(target, heavy, num_samples=10_000, rng=seed)
        assert draws.settings["khat"] < 0.0
        assert abs(draws.log_evidence.z(target.truth.log_evidence)) < 5.0
        assert np.all(np.abs(draws.expect().z(target.truth.mean)) < 5.0)
        assert np.all(np.abs(draws.expect().z(bell.mean)) > 5.0)
        assert abs(draws.log_evidence.z(bell.log_evidence.value)) > 5.0
        bars.append(draws.expect().mcse[1])
    assert max(bars) < 1.2 * min(bars)
