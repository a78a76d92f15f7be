"""The tail of draws: its shape found, and heavy ones spoken of."""

import numpy as np
import pytest
from scipy import stats

from bayeslib import Target, nuts
from bayeslib.tails import tail_shape


@pytest.mark.parametrize(
    ("law", "shape"),
    [(stats.cauchy(), 1.0), (stats.t(2), 0.5), (stats.norm(), -0.05), (stats.uniform(), -1.0)],
    ids=["cauchy", "t2", "normal", "uniform"],
)
def test_the_shape_of_known_tails(law, shape):
    """Within 0.15 of the limit in the median of 21 samples; one fit errs by about 0.1."""
    found = [tail_shape(law.rvs(10_000, random_state=np.random.default_rng(i))) for i in range(21)]
    assert np.median(found) == pytest.approx(shape, abs=0.15)


def test_either_side_counts():
    x = np.random.default_rng(1).pareto(1.0, 4000)
    assert tail_shape(x) == tail_shape(-x) > 0.7


@pytest.mark.parametrize(
    "x",
    [
        np.zeros(100),
        np.arange(100) % 2.0,
        np.repeat([0.0, 1.0], [99, 1]),
        np.arange(5.0),
        1e300 * np.random.default_rng(1).standard_normal(1000),
        1e-300 * np.random.default_rng(1).standard_normal(1000),
        np.random.default_rng(1).integers(0, 3, (4, 250)).astype(float),
    ],
    ids=["constant", "binary", "one", "few", "huge", "tiny", "integers"],
)
def test_odd_draws_are_no_trouble(x):
    shape = tail_shape(x)
    assert np.isnan(shape) or shape < 0.7


def student(theta, freedom):
    return -0.5 * (freedom + 1.0) * np.log1p(theta[0] ** 2 / freedom)


def test_a_mean_that_does_not_exist_is_spoken_of():
    """With one degree of freedom in most runs; with ten in none."""
    run = {"num_samples": 2000, "num_warmup": 1000}
    said = {1.0: 0, 10.0: 0}
    for freedom in said:
        target = Target(student, dim=1, data=(freedom,))
        for seed in range(20):
            problems = nuts(target, rng=seed, **run).summary().problems
            said[freedom] += any("heavy" in problem for problem in problems)
    assert said[1.0] >= 12
    assert said[10.0] == 0
