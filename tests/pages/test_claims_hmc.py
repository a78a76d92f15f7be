"""What the page on Hamiltonian Monte Carlo claims of one seed, asserted over several: no luck."""

import numpy as np
import pytest
from scipy import integrate, stats
from sparing import every_seed
from twins import Z_LIMIT, page, quiet

from bayeslib import posteriors

pytestmark = quiet
GOLDEN = posteriors.gamma_student().truth


def test_hmc_the_target_in_logarithms():
    """Its integral is the evidence, and its slope is the gradient that the page writes out."""
    running, slopes = page("hmc", "running", "slopes")
    mass, _ = integrate.quad(lambda x: np.exp(running([x])), -12.0, 4.0, epsabs=1e-13)
    assert mass == pytest.approx(np.exp(GOLDEN.log_evidence), rel=1e-8)
    for x in (-0.5, 0.7, 1.5, 2.2):
        assert slopes(x) == pytest.approx(-running.gradient([x])[0], rel=1e-9)


@pytest.mark.parametrize("omega", [0.5, 1.0, 3.0])
def test_hmc_the_oscillator_and_its_limit(omega):
    """The invariant is exact; the error of H is its eighth; beyond the limit all is lost."""
    orbit, leap, euler = page("hmc", "orbit", "leap", "euler")
    start = {"q": 0.3, "p": 0.8, "slope": lambda q: omega**2 * q}
    for step_size in np.array([0.1, 1.0, 1.99]) / omega:
        q, p = orbit(leap, step_size, 400 * step_size, **start)
        near = 1.0 - (step_size * omega) ** 2 / 4.0
        shadow = 0.5 * p**2 + 0.5 * omega**2 * near * q**2
        np.testing.assert_allclose(shadow, shadow[0], rtol=1e-8)
        energy = 0.5 * (p**2 + omega**2 * q**2)
        np.testing.assert_allclose(energy, shadow + step_size**2 * omega**4 * q**2 / 8.0)
    q, p = orbit(leap, 2.02 / omega, 808 / omega, **start)
    assert abs(q).max() > 1e6
    q, p = orbit(euler, 0.1, 40.0, slope=lambda q: q)
    energy = q**2 + p**2
    assert np.all(np.diff(energy) > 0)


def test_hmc_a_cliff():
    acceptance, exponentials, in_logs = page("hmc", "acceptance", "exponentials", "in_logs")
    assert acceptance(exponentials, 1.0, 20) < 0.01
    assert acceptance(in_logs, 0.0, 20) > 0.9


@every_seed
def test_hmc_the_energy_error_in_equilibrium(seed):
    """E[exp(-dH)] = 1, acceptance 2 P(dH < 0), and near normality its mean is half its variance."""
    acceptance, rise = page("hmc", "acceptance_at")(4, dim=100, num=20_000, seed=seed)
    weights = np.exp(-rise)
    assert abs(weights.mean() - 1) < Z_LIMIT * weights.std() / np.sqrt(rise.size)
    share = np.mean(rise < 0)
    assert abs(acceptance - 2 * share) < Z_LIMIT * np.sqrt(5 * share * (1 - share) / rise.size)
    assert rise.mean() == pytest.approx(rise.var() / 2, rel=0.1) and rise.mean() > 0
    assert acceptance == pytest.approx(2 * stats.norm.cdf(-rise.std() / 2), abs=0.02)
