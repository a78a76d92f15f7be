"""What the page on black-box inference claims of one seed, asserted over several: no luck."""

import numpy as np
import pytest
from scipy import integrate, special, stats
from sparing import over
from twins import page, quiet

import bayeslib as bl
from bayeslib import posteriors

pytestmark = quiet
every_seed = over("seed", range(11, 16))


def test_hybrid_the_runs_side_by_side_are_the_plain_ones():
    """The race's vectorised loop, with one run, takes the steps of the plain function."""
    climb, log_joint, bbvi = page("hybrid", "climb", "log_joint", "bbvi")
    free = bl.unconstrained(posteriors.gamma_student())
    kept = set(range(51, 101))
    path = climb(log_joint, np.zeros((2, 1)), 0.05, 0.75, num_steps=100, kept=kept, rng=4)
    run = {"num_steps": 100, "num_draws": 10, "step_size": 0.05, "decay": 0.75, "rng": 4}
    mean, sd, _ = bbvi(free, [0.0], **run)
    np.testing.assert_allclose(path[:, 0].mean(axis=0), mean, rtol=1e-10)
    np.testing.assert_allclose(np.exp(path[:, 1].mean(axis=0)), sd, rtol=1e-10)


def test_hybrid_the_gradient_of_the_bound_by_another_way():
    """Both integrals of the score gradient by adaptive quadrature, against differences."""
    log_joint, line_gradient = page("hybrid", "log_joint", "line_gradient")
    for mean, sd in ((0.6, 0.5), (1.4, 0.27), (1.8, 0.4)):
        q = stats.norm(mean, sd)

        def vote(eta, k, q=q, mean=mean, sd=sd):
            z = (eta - mean) / sd
            score = (z / sd, z**2 - 1.0)[k]
            return q.pdf(eta) * score * (float(log_joint(eta)) - q.logpdf(eta))

        ends = mean - 8 * sd, mean + 8 * sd
        exact = [integrate.quad(vote, *ends, args=(k,), limit=200)[0] for k in (0, 1)]
        np.testing.assert_allclose(line_gradient(mean, sd), exact, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("k", [0.3, 1.0, 1.109, 2.0, 4.0])
def test_hybrid_the_wiggle_by_quadrature(k):

    def mean(f):
        return integrate.quad(lambda x: f(x) * stats.norm.pdf(x), -9, 9, limit=400)[0]

    slope = mean(lambda x: k * np.cos(k * x))
    exact = (
        mean(lambda x: (x * np.sin(k * x)) ** 2) - slope**2,
        mean(lambda x: (k * np.cos(k * x)) ** 2) - slope**2,
    )
    np.testing.assert_allclose(page("hybrid", "wiggle_variances")(k), exact, rtol=1e-6)
    assert (exact[0] > exact[1]) == (k < 1.10898)


@every_seed
def test_hybrid_values_follow_a_staircase_and_slopes_do_not(seed):
    when, flat, stairs = page("hybrid", "when", "flat", "stairs")
    options = {"num_steps": 1_500, "rng": seed}
    by_values = bl.bbvi(when, estimator="loo", **options)
    by_slopes = bl.bbvi(flat, estimator="reparam", **options)
    chance = np.exp(stairs - special.logsumexp(stairs))
    mean = chance @ (np.arange(chance.size) + 0.5)
    assert abs(by_values.expect().value[0] - mean) < 0.5
    assert abs(by_slopes.expect().value[0] - mean) > 10
    # k-hat does not see it, for a wide q has small weights; the weighted spread does
    assert "spread is" in by_slopes.problems[0] and by_slopes.settings["khat"] < 0.5
    assert by_slopes.elbo.value < by_values.elbo.value - 10


def test_hybrid_a_staircase_has_no_automatic_gradient():
    log_when, stairs, years = page("hybrid", "log_when", "stairs", "years")
    target = bl.Target(log_when, dim=1, data=(stairs,), support=(0, years - 1))
    with pytest.raises(bl.errors.GradientError):
        bl.bbvi(target, estimator="reparam", num_steps=10, rng=1)


@pytest.mark.parametrize("seed", [21, 22, 23])
def test_hybrid_the_race(seed):
    """With a = 0.1: 1/t satisfies the conditions and is last, t^-0.5 violates them and leads."""
    climb, log_joint, line_elbo = page("hybrid", "climb", "log_joint", "line_elbo")
    decays = np.array([1, 0.75, 0.5, 0])[:, None]
    phi = climb(log_joint, np.zeros((2, 4, 9)), 0.1, decays, num_steps=2000, kept={2000}, rng=seed)[
        -1
    ]
    behind = -2.474257259 - line_elbo(phi[0], np.exp(phi[1]))
    harmonic, middle, root, constant = np.nanmedian(behind, axis=1)
    assert harmonic > 100 * root and constant > 10 * root
    assert harmonic > 10 * middle > 10 * root
    phi = climb(
        log_joint, np.zeros((2, 3, 9)), 0.3, decays[:3], num_steps=2000, kept={2000},
        rng=seed,
    )[-1]  # fmt: skip
    behind = -2.474257259 - line_elbo(phi[0], np.exp(phi[1]))
    harmonic, middle, root = np.nanmedian(behind, axis=1)
    assert middle < harmonic and middle < root  # three times the step, another winner


@pytest.mark.parametrize("seed", [21, 22, 23])
def test_hybrid_two_optima_are_reached_by_chance(seed):
    """Of 200 runs: binomial with probability about one half; neither basin is ever empty."""
    climb, log_two = page("hybrid", "climb", "log_two")
    start = np.stack([np.zeros(200), np.full(200, -2.0)])
    ends = climb(log_two, start, 0.3, 0.75, num_steps=1000, kept={1000}, rng=seed)[-1]
    better = np.mean(ends[0] > 0)
    assert 0.3 < better < 0.7
    at_one = (np.abs(np.abs(ends[0]) - 4) < 0.5) & (np.abs(ends[1]) < 0.3)
    assert np.mean(at_one) > 0.95
    # the twin: from far inside one basin all end there
    inside = climb(
        log_two, start + np.array([[3.0], [1.0]]), 0.3, 0.75, num_steps=1000,
        kept={1000}, rng=seed,
    )[-1]  # fmt: skip
    assert np.mean(inside[0] > 0) > 0.95


@pytest.mark.parametrize("seed", [21, 22, 23])
def test_hybrid_a_third_optimum_over_both_modes_holds_what_starts_there(seed):
    """Of 100 runs from it over half stay (p near 0.6); of those from a mode none comes."""
    mode_at, log_two, climb = page("hybrid", "mode_at", "log_two", "climb")
    assert [mode_at(mean) for mean in (4.1, -3.9, 0.6)] == ["better", "worse", "neither"]
    z = np.linspace(-8, 8, 321)
    share = stats.norm.pdf(z) * (z[1] - z[0])

    def bound(mean, sd):
        return share @ log_two(mean + sd * z) + 0.5 * np.log(2 * np.pi * np.e * sd**2)

    top = bound(0.641, 3.413)
    np.testing.assert_allclose(top, -1.8765, atol=1e-3)
    for step in ((0.05, 0), (-0.05, 0), (0, 0.05), (0, -0.05)):
        assert bound(0.641 + step[0], 3.413 * np.exp(step[1])) < top
    for start, low, high in (((0.641, np.log(3.413)), 0.3, 1), ((4.0, 0.0), 0, 0.02)):
        begin = np.repeat(np.array(start)[:, None], 100, axis=1)
        ends = climb(log_two, begin, 0.3, 0.75, num_steps=1000, kept={1000}, rng=seed)[-1]
        neither = np.mean([mode_at(mean) == "neither" for mean in ends[0]])
        assert low <= neither <= high


@every_seed
def test_hybrid_a_flat_trace_that_two_starts_give_away(seed):
    free = bl.unconstrained(posteriors.gamma_student())
    slow = {"optimiser": "sgd", "step_size": 0.03, "decay": 1.0, "delay": 1, "num_steps": 4000}
    left, right = (bl.bbvi(free, [m], rng=seed, **slow) for m in (0.6, 2.2))
    for q in (left, right):
        assert not any("rose" in problem for problem in q.problems)
        assert -2.474257 - page("hybrid", "line_elbo")(q.mean[0], q.cov[0, 0] ** 0.5) > 0.1
    assert right.mean[0] - left.mean[0] > 0.15
    fine = {"estimator": "loo", "rng": seed}  # the twin: converged fits agree
    pair = [bl.bbvi(free, [m], **fine).mean[0] for m in (0.6, 2.2)]
    assert abs(pair[0] - pair[1]) < 0.05


@pytest.mark.parametrize("seed", [31, 32])
def test_hybrid_means_are_ahead_for_a_while_and_sds_are_not(seed):
    schools = posteriors.eight_schools()
    sds = np.sqrt(np.diag(schools.truth.cov))
    fits, chains = [], []
    for s in range(12):
        q = bl.bbvi(schools, estimator="reparam", num_steps=300, num_check=100, rng=100 * seed + s)
        spent = q.num_evals - q.settings["num_weighed"] - q.settings.get("num_scouted", 0)
        fits.append((q.mean, np.sqrt(np.diag(q.cov)), spent))
        draws = bl.nuts(schools, num_samples=300, num_warmup=300, num_chains=1, rng=100 * seed + s)
        x = draws.values[0]
        chains.append((x.mean(axis=0), x.std(axis=0, ddof=1), draws.num_evals))

    def missed(runs):
        means, spreads, cost = (np.array(part) for part in zip(*runs, strict=True))
        errors = (means - schools.truth.mean) / sds, spreads / sds - 1
        each = (np.median(np.sqrt(np.mean(error**2, axis=1))) for error in errors)
        return *each, cost.mean()

    by_bound, by_chain = missed(fits), missed(chains)
    assert by_bound[2] < by_chain[2] and by_bound[0] < 0.8 * by_chain[0]
    assert 0.1 < by_bound[1] < 0.15 and by_chain[1] < by_bound[1]


@every_seed
def test_hybrid_a_sampled_entropy_cancels_at_the_optimum(seed):
    normal = posteriors.gaussian(0.0, 1.0)
    at_best = {"estimator": "loo", "num_draws": 10, "num_samples": 500, "rng": seed}
    sampled = bl.bbvi_gradients(normal, 0.0, 1.0, **at_best)
    exact = bl.bbvi_gradients(normal, 0.0, 1.0, entropy=False, **at_best)
    assert np.abs(sampled).max() < 1e-9 and exact.std(axis=0).min() > 0.1


@every_seed
def test_hybrid_the_mean_of_the_path_is_nearer_than_its_end(seed):
    line_elbo = page("hybrid", "line_elbo")
    free = bl.unconstrained(posteriors.gamma_student())
    options = {
        "estimator": "loo",
        "optimiser": "sgd",
        "step_size": 0.03,
        "decay": 0,
        "num_check": 100,
    }
    short = []
    for average in (False, True):
        runs = [
            bl.bbvi(
                free, [1.0], average=average, num_steps=2000, rng=100 * seed + s, **options
            )
            for s in range(10)
        ]  # fmt: skip
        gaps = [-2.474257259 - line_elbo(q.mean[0], q.cov[0, 0] ** 0.5) for q in runs]
        short.append(np.median(gaps))
    assert short[1] < 0.5 * short[0]
