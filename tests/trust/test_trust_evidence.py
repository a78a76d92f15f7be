"""Evidences against exact ones: estimators that must be right on average over many runs."""

import numpy as np
import pytest
from calling import quietly
from registry import log_gamma
from scipy import stats
from verdict import fails, passes, two_sided

import bayeslib as bl
from bayeslib import posteriors

WEIGHTS, MEANS = [0.3, 0.7], [[-2.0, 0.0], [2.0, 1.0]]
COVS = [np.eye(2), np.array([[1.0, 0.5], [0.5, 2.0]])]
PLANE = posteriors.gaussian([1.0, -2.0], [[1.0, 0.8], [0.8, 2.0]])
# Eight evidences known exactly, each with a proposal whose tails are the heavier.
EXACT = {
    "gamma_student": (posteriors.gamma_student(), stats.gamma(3)),
    "coin": (posteriors.coin(8, 2), stats.uniform()),
    "normal": (posteriors.gaussian(3.0, 4.0), stats.t(5, 3.0, 2.5)),
    "plane": (PLANE, stats.multivariate_t([1.0, -2.0], 2.0 * np.eye(2), df=5)),
    "line mixture": (posteriors.mixture(WEIGHTS, [-2.0, 3.0], [1.0, 0.25]), stats.t(5, 1.5, 3.0)),
    "plane mixture": (
        posteriors.mixture(WEIGHTS, MEANS, COVS),
        stats.multivariate_t([0.8, 0.7], 4.0 * np.eye(2), df=5),
    ),
    "donut": (posteriors.donut(), stats.multivariate_t([0.0, 0.0], 6.0 * np.eye(2), df=5)),
    "log gamma": (log_gamma(), stats.t(5, 0.2, 0.9)),
}
BOUNDS = {"gamma_student": -1.5 * np.log(2.0), "coin": float(EXACT["coin"][0]([0.8]))}


def run_importance(name, rng):
    target, proposal = EXACT[name]
    # some of 400 small runs are unlucky
    return quietly(bl.importance_sample, target, proposal, num_samples=400, rng=rng)


def run_rejection(name, rng):
    target, proposal = EXACT[name]
    return bl.rejection_sample(target, proposal, log_bound=BOUNDS[name], num_samples=50, rng=rng)


ESTIMATORS = {
    **{f"importance {name}": (run_importance, name) for name in EXACT},
    **{f"rejection {name}": (run_rejection, name) for name in BOUNDS},
}


def unbiased(run, name, shift=0.0):
    """A check that the mean of Z-hat / Z over `size` runs is 1; `shift` is a bug in log Z-hat."""
    exact = EXACT[name][0].truth.log_evidence

    def check(rng, size):
        ratio = np.exp(
            [run(name, child).log_evidence.value + shift - exact for child in rng.spawn(size)]
        )
        return two_sided((ratio.mean() - 1.0) / (ratio.std(ddof=1) / np.sqrt(size)))

    return check


@pytest.mark.slow
@pytest.mark.fresh
@pytest.mark.trust("M6")
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_evidence_is_right_on_average(estimator):
    run, name = ESTIMATORS[estimator]
    assert passes(unbiased(run, name), name=f"evidence {estimator}", size=400)


@pytest.mark.slow
@pytest.mark.trust("M6")
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_an_evidence_wrong_by_a_tenth_is_found(estimator):
    run, name = ESTIMATORS[estimator]
    assert fails(unbiased(run, name, shift=np.log(1.1)), name=f"evidence {estimator}", size=400)
