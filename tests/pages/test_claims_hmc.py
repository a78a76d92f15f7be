"""What the page on Hamiltonian Monte Carlo claims of one seed, asserted over several: no luck."""

import numpy as np
import pytest
from scipy import integrate, stats
from sparing import over
from twins import Z_LIMIT, page, quiet

import bayeslib as bl
from bayeslib import posteriors

pytestmark = quiet
every_seed = over("seed", range(1, 6))
BANANA = posteriors.banana()
GOLDEN = posteriors.gamma_student().truth


def spread(x):
    """Variance at the end of independent chains of mean zero."""
    square = x[:, -1] ** 2
    return bl.Estimate(square.mean(), square.std(ddof=1) / np.sqrt(len(square)))


def virial(x):
    """The mean of theta dU/dtheta of a standard Gaussian, from four chains."""
    return bl.Estimate(np.mean(x[:4, 200:] ** 2), bl.mcse(x[:4, 200:] ** 2))


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


@every_seed
def test_hmc_volume_and_the_way_back(seed):
    leapfrog_run, euler_run = page("hmc", "leapfrog_run", "euler_run")
    z = 0.5 * np.random.default_rng(seed).standard_normal(4)
    flip = np.array([1.0, 1.0, -1.0, -1.0])

    def symplectic_run(z, steps=10, step_size=0.1):
        for _ in range(steps):
            r = z[2:] + step_size * BANANA.gradient(z[:2])
            z = np.concatenate([z[:2] + step_size * r, r])
        return z

    def measured(run):
        columns = [(run(z + h) - run(z - h)) / 2e-5 for h in 1e-5 * np.eye(4)]
        return np.linalg.det(np.array(columns)), abs(flip * run(flip * run(z)) - z).max()

    det, missed = measured(leapfrog_run)
    assert det == pytest.approx(1.0, abs=1e-5) and missed < 1e-10
    det, missed = measured(symplectic_run)
    assert det == pytest.approx(1.0, abs=1e-5) and missed > 1e-3
    with np.errstate(all="ignore"):  # Euler may leave for infinity
        det, missed = measured(euler_run)
    assert abs(det - 1.0) > 1e-3 and not missed < 1e-2


@every_seed
def test_hmc_without_a_push_the_chain_keeps_its_ring(seed):
    """Whatever the push; with pushes the same slides find the mean."""
    running = page("hmc", "running")
    rng = np.random.default_rng(seed)
    theta, r, energies = np.array([0.8]), rng.standard_normal(1), []
    for _ in range(200):
        path = bl.leapfrog(running, theta, r, step_size=0.1, num_steps=6)
        if rng.random() < np.exp(path.energy[0] - path.energy[-1]):
            theta, r = path.positions[-1], path.momenta[-1]
        else:
            r = -r
        energies.append(0.5 * r[0] ** 2 - running(theta))
    assert np.ptp(energies) < 0.6
    draws = bl.hmc(running, None, step_size=0.1, num_steps=6, num_samples=4_000, rng=seed)
    assert abs(draws.expect(lambda x: np.exp(x[:, 0])).z(GOLDEN.mean[0])) < Z_LIMIT
    assert np.ptp(draws.stats["energy"]) > 3.0


def test_hmc_the_valley_in_twenty_dimensions():
    """The figure's seed is no lucky one; and in two dimensions the gain is a small one."""
    stretch, walk, slides = page("hmc", "stretch", "walk", "slides")
    seeds = range(1, 41)
    walked = [stretch(walk(seed)[:101]) for seed in seeds]
    slid = [stretch(slides(seed)[1][:6]) for seed in seeds]
    assert np.median(slid) > 3.0 * np.median(walked)
    flat = posteriors.gaussian([0.0, 0.0], [[1.0, 0.98], [0.98, 1.0]])

    def worth(draws):
        sizes = [bl.ess(x, kind="mean").min() for x in (draws.values, draws.values**2)]
        return min(sizes) / draws.num_evals

    starts = np.outer([-1.5, -0.5, 0.5, 1.5], [1.0, 1.0])
    length = {"num_samples": 20_000, "num_warmup": 0, "rng": 1}
    walk = max(worth(bl.metropolis(flat, starts, scale=s, **length)) for s in (0.7, 1.0, 1.4))
    length["num_samples"] = 1_500
    slide = worth(bl.hmc(flat, starts, step_size=0.17, num_steps=13, **length))
    assert 2.0 < slide / walk < 6.0


@every_seed
def test_hmc_the_bug_hunt(seed):
    """Exact where push and kinetic energy agree, whatever the drift; wrong where they do not."""
    variant, SUSPECTS = page("hmc", "variant", "SUSPECTS")
    runs = {name: variant(*masses, num_chains=1_000, rng=seed) for name, masses in SUSPECTS.items()}
    for name in ("right", "drift_only", "inverted"):
        assert abs(spread(runs[name][0]).z(1.0)) < Z_LIMIT, name
    for name in ("as_printed", "hamilton", "narrow"):
        assert abs(spread(runs[name][0]).z(1.0)) > 8.0, name
    acceptance = {name: moved[-50:].mean() for name, (_, moved) in runs.items()}
    assert acceptance["as_printed"] < 0.02 < 0.5 < acceptance["drift_only"] < 0.8
    assert acceptance["hamilton"] > 0.9 and acceptance["narrow"] > 0.999
    assert bl.rhat(runs["hamilton"][0][:4, 200:]) < 1.05
    assert spread(runs["narrow"][0]).value == pytest.approx(1 / 16, rel=0.3)
    assert spread(runs["hamilton"][0]).value > 10.0
    assert abs(virial(runs["right"][0]).z(1.0)) < Z_LIMIT
    assert virial(runs["hamilton"][0]).z(1.0) > 8.0
    assert virial(runs["narrow"][0]).z(1.0) < -8.0


@every_seed
def test_hmc_resonance_and_jitter(seed):

    def value(num_steps, jitter):
        x = page("hmc", "chains_on_gaussian")(num_steps, jitter, seed=seed)
        return bl.ess(x**2, kind="mean") / x.size / num_steps * 1000

    home, jittered, best = value(25, 0.0), value(25, 0.25), value(6, 0.0)
    assert home < 0.02 * best and jittered > 10 * home
    t = 6 * 0.25
    theory = 1000 / 6 * np.sin(t) ** 2 / (1 + np.cos(t) ** 2)
    assert best == pytest.approx(theory, rel=0.1)


@every_seed
def test_hmc_more_effective_draws_than_draws(seed):
    ten = posteriors.gaussian(np.zeros(10), np.eye(10))
    draws = bl.hmc(ten, step_size=0.2, num_steps=16, num_samples=1_000, num_warmup=0, rng=seed)
    radius = (draws.values**2).sum(axis=-1)
    assert bl.ess(draws.values, kind="mean").min() > 8_000 and bl.ess(radius, kind="mean") < 100
    within = draws.values[:, :, 0].var(axis=1, ddof=1).mean()
    between = draws.values[:, :, 0].mean(axis=1).var(ddof=1)
    assert np.sqrt(1 - 1 / 1000 + between / within) < 1.005
    assert bl.rhat(draws).max() > 1.1
    assert abs(draws.expect(lambda x: x[:, 0]).z(0.0)) < Z_LIMIT
    cured = bl.hmc(ten, step_size=0.2, num_steps=8, num_samples=1_000, num_warmup=0, rng=seed)
    assert bl.rhat(cured).max() < 1.02
    assert bl.ess((cured.values**2).sum(axis=-1), kind="mean") > 1_000


@every_seed
def test_hmc_two_hills(seed):
    hills = posteriors.mixture([1 / 3, 2 / 3], [-10, 10], 1.0)
    near = np.array([[-11.0], [-10.5], [-9.5], [-9.0]])
    run = {"step_size": 0.3, "num_steps": 5, "num_samples": 1_000, "rng": seed}
    together = bl.hmc(hills, near, **run)
    apart = bl.hmc(hills, near * [[1], [1], [-1], [-1]], **run)
    assert bl.rhat(together)[0] < 1.02 and together.expect().z(10 / 3)[0] < -100
    assert bl.rhat(apart)[0] > 1.5 and any("R-hat" in problem for problem in apart.problems)


@every_seed
def test_hmc_a_frozen_chain(seed):
    frozen = bl.hmc(
        bl.Target(page("hmc", "quartic"), dim=1), [[0.0], [0.5], [1.0], [8.0]], step_size=0.6,
        num_steps=6, num_samples=500, num_warmup=0, rng=seed,
    )  # fmt: skip
    moved = frozen.stats["accepted"].mean(axis=1)
    assert moved[3] == 0.0 and moved[:3].min() > 0.8
    assert bl.rhat(frozen.values[:3]) < 1.05
    assert any("never moved" in problem for problem in frozen.problems)


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


@every_seed
@pytest.mark.parametrize("step_size", [0.5, 1.0, 1.5])
def test_hmc_without_acceptance(seed, step_size):
    """The leapfrog's own invariant is sampled, however long the slides."""
    exact = 1.0 / (1.0 - step_size**2 / 4.0)
    for num_steps in (1, 2, 5):
        found = page("hmc", "never_refused")(step_size, num_steps, 20_000, seed)
        assert abs(found.z(exact)) < Z_LIMIT
    assert found.z(1.0) > 4.0


@every_seed
def test_hmc_truth(seed):
    line = bl.hmc(page("hmc", "running"), num_steps=5, num_samples=4_000, rng=seed)
    bent = bl.hmc(BANANA, step_size=0.1, num_steps=20, num_samples=4_000, rng=seed)
    for draws, f, exact in (
        (line, lambda x: np.exp(x[:, 0]), GOLDEN.mean[0]),
        (line, lambda x: np.exp(2 * x[:, 0]), GOLDEN.cov[0, 0] + GOLDEN.mean[0] ** 2),
        (line, lambda x: x[:, 0] > np.log(6.0), 1.0 - float(GOLDEN.cdf(6.0))),
        (bent, lambda x: x[:, 0] ** 2, BANANA.truth.cov[0, 0]),
        (bent, lambda x: x[:, 1], BANANA.truth.mean[1]),
        (bent, lambda x: x[:, 1] ** 2, BANANA.truth.cov[1, 1]),
    ):
        assert abs(draws.expect(f).z(exact)) < Z_LIMIT
    assert not np.any(bent.stats["diverging"])


def without_jacobian(eta, y):
    theta = np.exp(eta[0])
    return 2.0 * eta[0] - theta - 1.5 * np.log(1.0 + 0.5 * (y - theta) ** 2)


def test_hmc_truth_needs_the_jacobian():
    target = bl.Target(without_jacobian, dim=1, data=(5.0,))
    draws = bl.hmc(target, num_steps=5, num_samples=4_000, rng=1)
    assert abs(draws.expect(lambda x: np.exp(x[:, 0])).z(GOLDEN.mean[0])) > 8.0


@pytest.mark.parametrize("seed", [1, 2])
def test_hmc_beats_a_walk_in_a_hundred_dimensions(seed):
    """In effective draws for the same number of evaluations: by the square of twenty or so."""
    hundred = posteriors.gaussian(np.zeros(100), np.diag(np.linspace(0.1, 1.0, 100) ** 2))
    slid = bl.hmc(hundred, num_steps=4, num_samples=400, num_warmup=400, rng=seed)
    walked = bl.metropolis(
        hundred, None, num_samples=slid.num_evals // 4 - 1_500, num_warmup=1_500, rng=seed
    )
    gain = bl.ess(slid.values, kind="mean").min() / bl.ess(walked.values, kind="mean").min()
    assert gain > 20.0
