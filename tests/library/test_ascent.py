"""Stochastic ascent: the steps against their definitions, and rounds that know when to end."""

import numpy as np
import pytest

from bayeslib.variational.ascent import adagrad, adam, robbins_monro, run_rounds

GRADIENTS = np.random.default_rng(3).standard_normal((40, 2)) * [1.0, 100.0]


def test_adam_takes_its_authors_steps():
    """Algorithm 1 of Kingma and Ba (2015), uphill."""
    x, first, second = np.zeros(2), np.zeros(2), np.zeros(2)
    y, m, v = np.zeros(2), np.zeros(2), np.zeros(2)
    for t, gradient in enumerate(GRADIENTS, 1):
        adam(x, gradient, first, second, t, 0.05)
        m = 0.9 * m + 0.1 * gradient
        v = 0.999 * v + 0.001 * gradient**2
        y = y + 0.05 * (m / (1.0 - 0.9**t)) / (np.sqrt(v / (1.0 - 0.999**t)) + 1e-8)
        np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-13)
    assert np.abs(x).max() > 0.05
    # the first step has the length of the step size, whatever the units
    x, first, second = np.zeros(2), np.zeros(2), np.zeros(2)
    adam(x, np.array([3.0, -3e6]), first, second, 1, 0.05)
    np.testing.assert_allclose(x, [0.05, -0.05], rtol=1e-7)


def test_adagrad_divides_by_the_root_of_all_squares():
    x, squares = np.zeros(2), np.zeros(2)
    y = np.zeros(2)
    for t, gradient in enumerate(GRADIENTS):
        adagrad(x, gradient, squares, 0.05)
        y = y + 0.05 * gradient / (np.sqrt(np.square(GRADIENTS[: t + 1]).sum(axis=0)) + 1e-8)
        np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("decay", [0.51, 0.7, 1.0])
def test_steps_shrink_as_they_must(decay):
    steps = [robbins_monro(t, 0.5, decay) for t in (0, 1, 99)]
    np.testing.assert_allclose(steps, 0.5 * np.array([1.0, 2.0, 100.0]) ** -decay, rtol=1e-12)


# The rounds of an ascent


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
