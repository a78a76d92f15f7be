"""The particle filter against the exact answer of Kalman's, on the flow of the Nile."""

import pickle
from pathlib import Path
from signal import SIGINT, raise_signal

import numpy as np
import pytest
from bad_inputs import refused
from scipy import stats

import bayeslib as bl

NILE = np.loadtxt(Path(__file__).parents[2] / "chapters/data/nile.csv", delimiter=",", skiprows=4)[
    :, 1
]
FIRST, FIRST_SD = 1000.0, 300.0
LEVEL_SD, NOISE_SD = np.sqrt(1469.1), np.sqrt(15099.0)
Z_LIMIT = 4.9


def kalman(y):
    """Exact filtered means and variances of the level, and the log evidence's increments."""
    mean, variance, rows = FIRST, FIRST_SD**2, []
    for t, observed in enumerate(y):
        variance += LEVEL_SD**2 * (t > 0)
        gain = 0.0 if np.isnan(observed) else variance / (variance + NOISE_SD**2)
        scale = np.sqrt(variance + NOISE_SD**2)
        increment = stats.norm(mean, scale).logpdf(observed) if gain else 0.0
        mean += gain * (observed - mean) if gain else 0.0
        variance *= 1.0 - gain
        rows.append((mean, variance, increment))
    return np.array(rows).T


def initial(num_particles, rng):
    return FIRST + FIRST_SD * rng.standard_normal(num_particles)


def transition(level, step, rng):
    return level + LEVEL_SD * rng.standard_normal(level.shape)


def log_observation(flow, level, step):
    return -0.5 * ((flow - level) / NOISE_SD) ** 2 - np.log(NOISE_SD * np.sqrt(2 * np.pi))


MODEL = {"initial": initial, "transition": transition, "log_observation": log_observation}


def run(y=NILE, num_particles=2_000, rng=1, **changes):
    return bl.particle_filter(y, num_particles=num_particles, rng=rng, **(MODEL | changes))


def test_the_data_are_what_they_say():
    assert NILE.size == 100 and NILE.sum() == 91935 and NILE[0] == 1120 and NILE[-1] == 740
    assert NILE.min() == NILE[1913 - 1871] == 456


def test_means_and_variances_are_kalmans():
    mean, variance, _ = kalman(NILE)
    for seed in range(3):
        found = run(num_particles=4_000, rng=seed)
        assert np.abs(found.mean.z(mean[:, None])).max() < 5.6  # 1e-6 over a hundred
        last = found.at(-1).expect(lambda x: np.square(x[:, 0] - mean[-1]))
        assert abs(last.z(variance[-1])) < Z_LIMIT
        assert abs(found.at(99).expect().z(mean[-1])[0]) < Z_LIMIT


def evidence_ratios(num_runs=400, **changes):
    y = NILE[:40]
    exact = kalman(y)[2].sum()
    runs = [run(y, 200, seed, **changes) for seed in range(num_runs)]
    logs = np.array([r.log_evidence.value for r in runs]) - exact
    return logs, np.array([r.log_evidence.mcse for r in runs])


@pytest.mark.trust("M6")
@pytest.mark.parametrize("scheme", ["systematic", "multinomial"])
def test_the_evidence_is_unbiased_and_its_error_honest(scheme):
    logs, claimed = evidence_ratios(scheme=scheme)
    ratio = np.exp(logs)
    assert abs(ratio.mean() - 1.0) < Z_LIMIT * ratio.std(ddof=1) / 20.0
    assert logs.mean() == pytest.approx(-logs.var() / 2, abs=Z_LIMIT * logs.std() / 20.0)
    assert np.sqrt(np.mean(claimed**2)) == pytest.approx(logs.std(), rel=0.25)


def test_errors_of_the_means_are_calibrated():
    mean = kalman(NILE)[0][:, None]
    z = np.array([run(num_particles=1_000, rng=s).mean.z(mean)[:, 0] for s in range(60)])
    assert z.std() == pytest.approx(1.0, abs=0.15)


def test_without_resampling_the_weights_degenerate():
    kept = run(ess_threshold=0.5)
    with pytest.warns(bl.BayeslibWarning, match="particles are worth .*: use more"):
        alone = run(ess_threshold=0.0)
    assert not alone.resampled.any() and kept.resampled.sum() > 5
    assert alone.ess[-1] < 20 and kept.ess[-1] > 500
    assert not run(ess_threshold=1.0).resampled[0] and run(ess_threshold=1.0).resampled[1:].all()
    few = run(NILE[:3], ess_threshold=0.0, num_particles=20_000)
    assert abs(few.log_evidence.z(kalman(NILE[:3])[2].sum())) < Z_LIMIT


def test_missing_observations_are_only_moved_through():
    y = NILE.copy()
    y[20:40] = np.nan
    found, (mean, _, increments) = run(y, num_particles=8_000), kalman(y)
    assert np.all(found.increments[20:40] == 0.0)
    assert np.abs(found.mean.z(mean[:, None])).max() < 5.6
    assert abs(found.log_evidence.z(increments.sum())) < Z_LIMIT
    column = run(y[:, None], num_particles=8_000)
    assert column.log_evidence.value == pytest.approx(found.log_evidence.value, abs=1e-9)


def test_states_of_several_dimensions():
    """A level and an independent copy that is not observed."""
    found = run(
        NILE[:30],
        4_000,
        initial=lambda num, rng: FIRST + FIRST_SD * rng.standard_normal((num, 2)),
        log_observation=lambda y, x, t: log_observation(y, x[:, 0], t),
    )
    mean = kalman(NILE[:30])[0]
    assert found.particles.shape == (30, 4_000, 2) and found.mean.value.shape == (30, 2)
    assert np.abs(found.mean.z(np.column_stack([mean, np.full(30, FIRST)]))).max() < 5.6


def test_ancestors_tell_the_paths():
    found = run(num_particles=200)
    paths = found.paths()
    np.testing.assert_array_equal(paths[-1], found.particles[-1])
    line = 17
    for t in range(99, 0, -1):
        assert paths[t, 17, 0] == found.particles[t, line, 0]
        line = found.ancestors[t, line]
    distinct = [np.unique(row).size for row in paths[:, :, 0]]
    assert distinct[-1] == 200 and distinct[0] < 20
    assert np.all(found.ancestors[0] == np.arange(200))
    unmoved = ~found.resampled
    assert np.all(found.ancestors[unmoved] == np.arange(200))


def test_an_interrupt_keeps_the_steps_before_it():
    with pytest.warns(bl.BayeslibWarning, match=r"interrupted: Filtered\(num_steps=7"):
        part = run(transition=lambda x, t, r: raise_signal(SIGINT) if t == 7 else x + r.normal())
    whole = run(transition=lambda x, t, r: x + r.normal())
    np.testing.assert_array_equal(part.mean.value, whole.mean.value[:7])
    assert part.settings["interrupted"] and part.paths().shape == (7, 2000, 1)


def test_the_result_pickles():
    a = run(num_particles=100, rng=5)
    copy = pickle.loads(pickle.dumps(a))
    np.testing.assert_array_equal(copy.log_weights, a.log_weights)
    assert "num_particles=100" in repr(a) and "log_evidence=" in repr(a)
    np.testing.assert_allclose(np.exp(a.log_weights).sum(axis=1), 1.0)


def nan_at_five(y, level, step):
    return np.where(step == 5, np.nan, log_observation(y, level, step))


test_bad_arguments_are_named = refused(
    ({"num_particles": 1}, "num_particles must be at least 2"),
    ({"ess_threshold": 1.5}, "ess_threshold must be at most 1"),
    ({"scheme": "dice"}, "scheme must be one of"),
    ({"initial": 3.0}, bl.BayeslibTypeError, "initial must be callable, got 3.0"),
    ({"initial": lambda n, rng: np.zeros(n + 1)}, r"initial must return shape"),
    ({"initial": lambda n, rng: np.full(n, np.nan)}, "initial .* nan"),
    ({"transition": lambda x, t, rng: x[:3]}, r"transition at 1 must return"),
    ({"transition": lambda x, t, rng: x * np.inf}, "transition at 1 .* nan"),
    ({"log_observation": lambda y, x, t: 1.0}, r"one log density a particle"),
    ({"log_observation": lambda y, x, t: x.sort()}, ValueError, "read-only"),
    ({"log_observation": nan_at_five}, bl.TargetError, "nan at step 5 for the state"),
    ({"log_observation": lambda y, x, t: np.full(len(x), -np.inf)}, bl.ZeroWeightsError, "step 0"),
    ({"y": []}, "observations must have shape"),
    ({"y": ["a"]}, bl.BayeslibTypeError, "observations must hold real numbers"),
    ({"num_particles": 10**13}, MemoryError, "GiB"),
    by=lambda **changes: run(**{"num_particles": 100} | changes),
)


@pytest.mark.parametrize("step", [5, -6, 1.5, "last"])
def test_a_step_that_is_not_there(step):
    with pytest.raises(bl.BayeslibError, match="step must be"):
        run(NILE[:5]).at(step)
