"""Stochastic ascent: rounds that know when to end; test_hybrid.py has the steps."""

import numpy as np
import pytest

from bayeslib.variational.ascent import run_rounds


class Noisy:
    """An iterate about 3 that forgets its place at the rate of the step, with noise to match."""

    def __init__(self, start, noise=1.0, drift=0.0):
        self.x, self.noise, self.drift = start, noise, drift
        self.rng, self.restarts, self.interrupted = np.random.default_rng(1), [], False
        self.num_steps = 0

    def run(self, step_size, num_steps):
        self.num_steps += num_steps
        path = np.empty((num_steps, 1))
        for i in range(num_steps):
            pull = 3.0 - self.x + self.noise * self.rng.standard_normal()
            self.x += step_size * (pull if not self.drift else self.drift)
            path[i] = self.x
        return path, path.mean(axis=0)

    def distance(self, one, other):
        return float((one - other) @ (one - other))

    def restart(self, average):
        self.restarts.append(float(average[0]))
        self.x = float(average[0])


def rounds(noisy, **options):
    options = {"step_size": 0.2, "max_steps": 20_000, "tolerance": 1e-3} | options
    return run_rounds(noisy, **options)


def test_rounds_halve_their_steps_until_two_agree():
    noisy = Noisy(10.0)
    average, step_sizes, converged = rounds(noisy)
    assert converged and noisy.num_steps < 20_000
    np.testing.assert_allclose(step_sizes, 0.2 * 0.5 ** np.arange(len(step_sizes)))
    assert len(noisy.restarts) == len(step_sizes) - 1 > 0
    # an average of n correlated iterates: sd below 2 / sqrt(n / 2)
    assert average[0] == pytest.approx(3.0, abs=0.2)
    _, finer, _ = rounds(Noisy(10.0), tolerance=1e-6)
    assert len(finer) > len(step_sizes)


def test_a_trend_never_counts_as_settled():
    noisy = Noisy(0.0, noise=0.0, drift=1.0)
    _, step_sizes, converged = rounds(noisy, max_steps=2000)
    assert not converged
    assert noisy.num_steps == 2000 and len(step_sizes) == 1


def test_without_noise_it_ends_by_distance():
    average, _, converged = rounds(Noisy(10.0, noise=0.0))
    assert converged
    assert average[0] == pytest.approx(3.0, abs=0.02)
