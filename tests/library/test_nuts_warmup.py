"""What NUTS learns in its warm-up: step size and metric, and what that costs."""

import numpy as np
import pytest
from densities import COV, correlated, cut_off, gaussian2, gaussian20, sample_gaussian2
from stepping import Z_LIMIT, batch_z

from bayeslib import Target, ess, nuts, posteriors
from bayeslib.errors import TargetError


@pytest.mark.parametrize("size", [1e-3, 1e3])
def test_the_diagonal_metric_is_that_of_draws_and_gradients(size):
    """For a Gaussian: the roots of covariance's diagonal over the precision's."""
    precision = np.linalg.inv(COV) / size**2
    target = Target(correlated, dim=2, data=(precision,))
    starts = size * sample_gaussian2(4, np.random.default_rng(311))
    draws = nuts(target, starts, num_warmup=2000, num_samples=2000, rng=312)
    expected = size * np.sqrt(np.diag(COV) / np.diag(precision))
    ratio = draws.settings["inverse_mass_matrix"] / expected
    assert np.all((0.75 < ratio) & (ratio < 1.33)), ratio
    x = draws.values[:, :, 0] / size
    assert abs(batch_z(x * x, 1.0, right=True)) < Z_LIMIT
    assert 0.7 < draws.stats["acceptance_rate"].mean() < 0.93


def test_the_dense_metric_is_the_covariance_of_the_draws():
    draws = nuts(gaussian2(), num_warmup=4000, num_samples=10, rng=313, metric="dense")
    learned = draws.settings["inverse_mass_matrix"]
    assert learned.shape == (4, 2, 2)
    np.testing.assert_allclose(learned, np.broadcast_to(COV, (4, 2, 2)), atol=0.3)
    assert np.abs(learned[:, 0, 1]).min() > 0.5


@pytest.mark.parametrize("target_accept", [0.6, 0.8, 0.95])
def test_the_step_reaches_the_acceptance_asked_for(target_accept):
    draws = nuts(gaussian20(), target_accept=target_accept, rng=314)
    assert abs(draws.stats["acceptance_rate"].mean() - target_accept) < 0.06
    assert len(set(draws.settings["step_size"])) == 4


@pytest.mark.filterwarnings("ignore:.*diverged")  # five iterations find no step size
@pytest.mark.parametrize("num_warmup", [1, 2, 5, 20, 49, 50, 100, 149, 150])
def test_a_warm_up_may_be_short(num_warmup):
    for metric in ("diag", "dense"):
        draws = nuts(gaussian2(), num_warmup=num_warmup, num_samples=5, metric=metric, rng=2)
        assert np.isfinite(draws.values).all()


@pytest.mark.filterwarnings("ignore:.*diverged")
def test_the_adapted_step_is_stable_in_the_tails():
    """At a mean acceptance rate of 0.8 some transitions diverge in nearly every run."""
    runs = [nuts(posteriors.eight_schools(centered=False), rng=seed) for seed in range(12)]
    assert sum(run.stats["diverging"].sum() for run in runs) < 8
    assert sum(run.stats["diverging"].any() for run in runs) < 6
    assert min(ess(run).min() for run in runs) > 1000


def test_the_warm_up_is_cheaper_than_the_draws():
    draws = nuts(gaussian20(), rng=318)
    kept = draws.stats["n_steps"].sum()
    assert 0.4 < (draws.num_evals - kept) / kept < 0.85


def test_a_density_of_plus_infinity_is_not_a_step_to_take():
    """The search for a first step must not take +inf for a flat direction and grow."""

    with pytest.raises(TargetError, match=r"log density is \+inf at theta"):
        nuts(Target(cut_off, dim=1, data=(1.5, np.inf)), rng=1)
