"""The integrator's invariants, then the sampler: a plain twin, and what is given."""

import numpy as np
import pytest
from densities import EXACT, METRICS, gaussian2, minus_theta, standard
from linear_chains import as_matrix
from recording import measured
from stepping import check_moments

from bayeslib import Target, hmc, leapfrog, nuts


def quartic(theta):
    return -0.25 * theta[0] ** 4 - 0.5 * (theta[1] - theta[0]) ** 2 - 0.1 * theta[0]


@pytest.mark.trust("S2")
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("num_steps", [1, 7, 40])
def test_leapfrog_is_reversible(metric, num_steps):
    target, metric = Target(quartic, dim=2), METRICS[metric]
    options = {"step_size": 0.1, "num_steps": num_steps, "inverse_mass_matrix": metric}
    there = leapfrog(target, [0.7, -0.4], [0.3, 1.1], **options)
    back = leapfrog(target, there.positions[-1], -there.momenta[-1], **options)
    miss = back.positions[::-1] - there.positions
    measured("return of a leapfrog path", miss, 1e-10, right=True)
    np.testing.assert_allclose(back.positions[::-1], there.positions, atol=1e-10)
    np.testing.assert_allclose(-back.momenta[::-1], there.momenta, atol=1e-10)
    assert np.abs(there.positions[-1] - there.positions[0]).max() > 1e-2


@pytest.mark.trust("S3")
@pytest.mark.parametrize("metric", METRICS)
def test_leapfrog_preserves_volume(metric):
    target, metric, h = Target(quartic, dim=2), METRICS[metric], 1e-5

    def flow(state):
        path = leapfrog(
            target, state[:2], state[2:], step_size=0.2, num_steps=10, inverse_mass_matrix=metric
        )
        return np.concatenate([path.positions[-1], path.momenta[-1]])

    state = np.array([0.7, -0.4, 0.3, 1.1])
    columns = [(flow(state + h * e) - flow(state - h * e)) / (2 * h) for e in np.eye(4)]
    change = np.linalg.det(np.column_stack(columns)) - 1.0
    measured("volume under leapfrog", change, 1e-6, right=True)
    assert abs(change) < 1e-6
    assert np.abs(np.column_stack(columns) - np.eye(4)).max() > 0.1


@pytest.mark.trust("S4")
@pytest.mark.parametrize("metric", METRICS)
def test_leapfrog_energy_error_is_of_second_order(metric):
    target, rng = Target(quartic, dim=2), np.random.default_rng(201)
    squares = np.zeros(2)
    for _ in range(50):
        position, momentum = rng.standard_normal((2, 2))
        for i, (step_size, num_steps) in enumerate([(0.05, 20), (0.025, 40)]):
            path = leapfrog(
                target, position, momentum, step_size=step_size, num_steps=num_steps,
                inverse_mass_matrix=METRICS[metric],
            )  # fmt: skip
            squares[i] += (path.energy[-1] - path.energy[0]) ** 2
    ratio = np.sqrt(squares[0] / squares[1])
    measured("order of leapfrog", ratio - 4.0, 0.3, right=True)
    assert 3.7 < ratio < 4.3


@pytest.mark.trust("S5")
def test_leapfrog_conserves_the_shadow_energy():
    """For N(0, 1), p^2 + (1 - step^2 / 4) q^2 is exactly conserved, and the map is linear."""
    target, step = Target(standard, dim=1, gradient=minus_theta), 1.9
    path = leapfrog(target, 0.6, 1.2, step_size=step, num_steps=10_000)
    q, p = path.positions[:, 0], path.momenta[:, 0]
    shadow = p**2 + (1 - step**2 / 4) * q**2
    measured("shadow energy of leapfrog", np.ptp(shadow), 1e-10, right=True)
    assert np.ptp(shadow) < 1e-10
    matrix = np.array([[1 - step**2 / 2, step], [-step * (1 - step**2 / 4), 1 - step**2 / 2]])
    expected = np.linalg.matrix_power(matrix, 25) @ [0.6, 1.2]
    np.testing.assert_allclose([q[25], p[25]], expected, atol=1e-12)
    assert np.ptp(path.energy) > 1.0


def test_leapfrog_records_its_trajectory_and_its_end_at_the_border():
    target = EXACT["truncated"][0]
    path = leapfrog(target, 0.1, -1.0, step_size=0.25, num_steps=10)
    assert path.positions.shape == (11, 1) and path.energy.shape == (11,)
    inside = path.positions[:, 0] > -0.5
    assert np.isneginf(path.logdensity[inside.sum()])
    assert np.isnan(path.positions[inside.sum() + 1 :]).all()
    assert path.num_evals == inside.sum() + 1


@pytest.mark.parametrize("jitter", [0.0, 0.5])
@pytest.mark.parametrize("metric", METRICS)
def test_matches_the_plain_algorithm_draw_by_draw(metric, jitter):
    """The plain one follows paths of `leapfrog`, which have tests of their own."""
    target, matrix = gaussian2(), as_matrix(METRICS[metric], 2)
    options = {"num_steps": 5, "inverse_mass_matrix": METRICS[metric]}
    draws = hmc(
        target, [0.5, -1.0], step_size=0.4, jitter=jitter, num_samples=300, num_warmup=0,
        num_chains=1, rng=8, **options,
    )  # fmt: skip
    rng, theta, expected = np.random.default_rng(8), np.array([0.5, -1.0]), []
    for step_size in draws.stats["step_size"][0]:
        varied = jitter * (2.0 * rng.random() - 1.0) if jitter else 0.0
        assert step_size == 0.4 * (1.0 + varied)
        momentum = np.linalg.solve(np.linalg.cholesky(matrix).T, rng.standard_normal(2))
        path = leapfrog(target, theta, momentum, step_size=step_size, **options)
        before, after = path.energy[[0, -1]]
        accepted = np.log(rng.random()) < before - after
        theta = path.positions[-1] if accepted else theta
        expected.append((*theta, after - before, after if accepted else before))
    expected = np.array(expected)
    np.testing.assert_allclose(draws.values[0], expected[:, :2], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(draws.stats["energy_error"][0], expected[:, 2], atol=1e-9)
    np.testing.assert_allclose(draws.stats["energy"][0], expected[:, 3], rtol=1e-9)
    assert (np.ptp(draws.stats["step_size"]) > 0.3) == (draws.settings["jitter"] == 0.5)


def test_jitter_breaks_the_period_of_a_gaussian():
    """Ten steps of 2 pi / 10 return to the start but for the step's error; varied ones do not."""
    target = Target(standard, dim=1, gradient=minus_theta)
    options = {"num_steps": 10, "num_samples": 5_000, "num_warmup": 0, "num_chains": 1, "rng": 209}
    # the period of the leapfrog's own dynamics: cos(phase) = 1 - step^2 / 2
    step_size = np.sqrt(2.0 - 2.0 * np.cos(2.0 * np.pi / 10))
    still = hmc(target, 0.5, step_size=step_size, **options)
    np.testing.assert_allclose(still.values, 0.5, atol=1e-6)
    moving = hmc(target, 0.5, step_size=step_size, jitter=0.3, **options).values
    check_moments(moving, 0.0, np.eye(1))


@pytest.mark.parametrize(("sampler", "how"), [(hmc, {"num_steps": 3}), (nuts, {})])
def test_a_given_mass_matrix_is_kept_and_a_given_step_size_adapts_nothing(sampler, how):
    options = how | {"num_samples": 20, "num_warmup": 300, "rng": 1}
    kept = sampler(gaussian2(), inverse_mass_matrix=[2.0, 3.0], **options)
    np.testing.assert_array_equal(kept.settings["inverse_mass_matrix"], [[2.0, 3.0]] * 4)
    assert len(set(kept.settings["step_size"])) == 4
    fixed = sampler(gaussian2(), step_size=0.3, **options)
    np.testing.assert_array_equal(fixed.settings["inverse_mass_matrix"], np.ones((4, 2)))
    np.testing.assert_array_equal(fixed.stats["step_size"], np.full((4, 20), 0.3))


def test_a_gentle_run_neither_diverges_nor_warns():
    draws = hmc(gaussian2(), num_steps=5, rng=4)
    assert not draws.stats["diverging"].any()
    expected = {
        "acceptance_rate", "accepted", "diverging", "energy", "energy_error", "n_steps",
        "step_size",
    }  # fmt: skip
    assert set(draws.stats) == expected
