"""What the page on Monte Carlo claims of one seed, over many."""

import numpy as np
from scipy import stats
from sparing import over
from twins import Z_LIMIT

import bayeslib as bl
from bayeslib import posteriors
from needles import check

every_seed = over("seed", range(1, 6))
PRIOR = stats.gamma(3)


def intervals(values):
    """Mean and standard error of each row."""
    return values.mean(axis=1), values.std(axis=1, ddof=1) / np.sqrt(values.shape[1])


def covered(values, exact):
    mean, error = intervals(values)
    return np.mean(np.abs(mean - exact) <= 2 * error)


def share_z(share, chance, n):
    return abs(share - chance) / np.sqrt(chance * (1 - chance) / n)


@every_seed
def test_a_rare_event_is_reported_as_zero_plus_minus_zero(seed):
    """Three hundred draws: most laboratories see nothing, and coverage is what is left."""
    theta = np.random.default_rng(seed).gamma(3, size=(2_000, 300))
    values = (theta > 12) * 1.0
    mean, error = intervals(values)
    silent = np.mean(error == 0)
    assert share_z(silent, PRIOR.cdf(12) ** 300, 2_000) < Z_LIMIT
    assert np.all(mean[error == 0] == 0)
    assert covered(values, PRIOR.sf(12)) < 0.3
    assert covered(theta, 3.0) > 0.9, "the mean of theta, from the same draws, is covered"
    assert np.mean(mean < PRIOR.sf(12)) > 0.7, "unbiased, and mostly too low"


@every_seed
def test_infinite_variance_makes_the_error_bar_a_fiction(seed):
    rng = np.random.default_rng(seed)
    theta = rng.gamma(3, size=(300, 10_000))
    calm, wild = np.exp(0.2 * theta), np.exp(0.8 * theta)
    assert covered(calm, 0.8**-3) > 0.87
    assert covered(wild, 0.2**-3) < 0.6
    assert np.mean(wild.mean(axis=1) < 0.2**-3) > 0.7


@every_seed
def test_averages_of_cauchy_draws_are_cauchy(seed):
    means = np.random.default_rng(seed).standard_cauchy((2_000, 1_000)).mean(axis=1)
    assert stats.kstest(means, stats.cauchy.cdf).pvalue > 1e-6
    assert stats.kstest(means * 10, stats.cauchy.cdf).pvalue < 1e-6, "no error shrinks"


@every_seed
def test_the_average_flood_does_no_damage(seed):
    theta = posteriors.gamma_student().truth.sample(40_000, np.random.default_rng(seed))[:, 0]
    damage = np.maximum(theta - 6, 0) ** 2
    assert np.maximum(theta.mean() - 6, 0) == 0
    assert damage.mean() / (damage.std() / np.sqrt(damage.size)) > 10


@every_seed
def test_every_way_to_reduce_variance_does_and_stays_right(seed):
    rng = np.random.default_rng(seed)
    u, noise = rng.random(50_000), stats.t(2)
    theta = PRIOR.ppf(u)
    f = noise.pdf(5 - theta)
    pair = (f + noise.pdf(5 - PRIOR.ppf(1 - u))) / 2
    g = np.column_stack([theta, theta**2])
    b = np.linalg.solve(np.cov(g.T), [np.cov(f, c)[0, 1] for c in g.T])
    controlled = f - (g - [3, 12]) @ b
    exact = np.exp(posteriors.gamma_student().truth.log_evidence)
    for values in (f, pair, controlled):
        estimate = bl.Estimate(values.mean(), values.std() / np.sqrt(values.size))
        assert abs(estimate.z(exact)) < Z_LIMIT
    assert f.var() > 1.8 * 2 * pair.var()
    assert f.var() > 2 * controlled.var()


@every_seed
def test_common_draws_and_integrated_noise_pay(seed):
    rng = np.random.default_rng(seed)
    noise, theta = stats.t(2), PRIOR.rvs(50_000, random_state=rng)
    other = PRIOR.rvs(50_000, random_state=rng)
    common = noise.pdf(5.5 - theta) - noise.pdf(5 - theta)
    separate = noise.pdf(5.5 - other) - noise.pdf(5 - theta)
    evidence = [np.exp(posteriors.gamma_student(y).truth.log_evidence) for y in (5.0, 5.5)]
    for values in (common, separate):
        estimate = bl.Estimate(values.mean(), values.std() / np.sqrt(values.size))
        assert abs(estimate.z(evidence[1] - evidence[0])) < Z_LIMIT
    assert separate.var() > 9 * common.var()
    drawn = theta + noise.rvs(theta.size, random_state=rng) > 8
    assert drawn.var() > 3 * noise.sf(8 - theta).var()


@every_seed
def test_unbiased_and_consistent_are_two_promises(seed):
    theta = np.random.default_rng(seed).gamma(3, size=(2_000, 1_000))
    error = np.sqrt(3 / 2_000)
    assert abs(theta[:, 0].mean() - 3) < Z_LIMIT * error, "the first draw is unbiased"
    assert theta[:, 0].std() > 1.5, "and never settles"
    shrunk = theta[:, :3].sum(axis=1) / 8
    assert abs(shrunk.mean() - 9 / 8) < Z_LIMIT * shrunk.std() / np.sqrt(2_000)
    assert abs(theta.sum(axis=1) / 1_005 - 3).mean() < 0.1, "biased, and settles on the truth"
    assert abs(np.median(theta, axis=1) - PRIOR.median()).mean() < 0.1, "settles elsewhere"
    assert PRIOR.median() < 2.7


@every_seed
def test_sobol_points_beat_random_ones(seed):
    def squared(d, k):
        points = [
            stats.qmc.Sobol(d, rng=np.random.default_rng([seed, i])).random_base2(k)
            for i in range(16)
        ]
        return np.mean(
            [(np.prod(np.pi / 2 * np.sin(np.pi * x), 1).mean() - 1) ** 2 for x in points]
        )

    for d, gain in ((2, 100), (4, 20), (8, 1.5)):
        assert np.sqrt(((np.pi**2 / 8) ** d - 1) / 2**12 / squared(d, 12)) > gain
    assert np.sqrt(squared(2, 8) / squared(2, 12)) > 16, "faster than one over N"


def test_the_mean_square_of_scrambles_falls_as_the_theory_says_and_few_scrambles_flatter_it():
    """Error of the page's product of sines in two dimensions, over 512 scrambles."""
    sizes = 2 ** np.arange(8, 14)
    errors = []
    for seed in range(512):
        x = stats.qmc.Sobol(2, rng=np.random.default_rng([77, seed])).random_base2(13)
        errors.append(np.cumsum(np.prod(np.pi / 2 * np.sin(np.pi * x), 1))[sizes - 1] / sizes - 1)
    errors = np.array(errors)

    def power(summary):
        return np.polyfit(np.log(sizes), np.log(summary), 1)[0]

    groups = errors.reshape(16, 32, -1)
    without = [
        power(np.sqrt(np.mean(np.delete(groups, i, axis=0) ** 2, axis=(0, 1)))) for i in range(16)
    ]
    whole, error = power(np.sqrt(np.mean(errors**2, axis=0))), np.sqrt(15) * np.std(without)
    assert abs(whole + 1.5) < Z_LIMIT * error < 0.5
    assert power(np.median(np.abs(errors), axis=0)) < -2.0, "the typical scramble does better"
    last = np.sort(errors[:, -1] ** 2)
    assert last[-5:].sum() > 0.5 * last.sum(), "five scrambles of 512 carry the mean square"


@every_seed
def test_the_largest_of_exponential_terms_has_a_share_of_log_n_over_n(seed):
    n = 10_000
    terms = np.random.default_rng(seed).exponential(size=(400, n))
    shares = terms.max(axis=1) / terms.sum(axis=1)
    error = shares.std(ddof=1) / 20
    assert abs(shares.mean() - np.sum(1 / np.arange(1, n + 1)) / n) < Z_LIMIT * error
    assert shares.mean() - 1 / n > 20 * error, "not one over N"


def test_where_monte_carlo_overtakes_simpsons_rule():
    from scipy import integrate

    def grid_error(m, d):
        x = np.linspace(0, 1, m)
        return abs(integrate.simpson(np.pi / 2 * np.sin(np.pi * x), x=x) ** d - 1)

    def draws_error(number, d):
        return np.sqrt(((np.pi**2 / 8) ** d - 1) / number)

    assert grid_error(9, 6) < draws_error(9.0**6, 6)
    assert grid_error(7, 7) > draws_error(7.0**7, 7)


def test_a_u_just_below_one_is_shown_as_such():
    def from_the_start(u, weights):
        total = np.cumsum(np.asarray(weights) / np.sum(weights))
        return np.array([next((k for k, t in enumerate(total) if t >= x), 0) for x in u])

    assert "For ([0.99999" in check("monte_carlo-quantile", from_the_start).message
