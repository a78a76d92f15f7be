"""What the page on Monte Carlo claims of one seed, over many."""

import numpy as np
from scipy import stats
from sparing import every_seed
from twins import Z_LIMIT

import bayeslib as bl
from bayeslib import posteriors
from needles import check

PRIOR = stats.gamma(3)


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


def test_a_u_just_below_one_is_shown_as_such():
    def from_the_start(u, weights):
        total = np.cumsum(np.asarray(weights) / np.sum(weights))
        return np.array([next((k for k, t in enumerate(total) if t >= x), 0) for x in u])

    assert "For ([0.99999" in check("monte_carlo-quantile", from_the_start).message
