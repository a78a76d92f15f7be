"""What the page on black-box inference computes, by another way."""

import numpy as np
import pytest
from scipy import integrate, stats
from twins import page

import bayeslib as bl
from bayeslib import posteriors


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


def test_hybrid_a_staircase_has_no_automatic_gradient():
    log_when, stairs, years = page("hybrid", "log_when", "stairs", "years")
    target = bl.Target(log_when, dim=1, data=(stairs,), support=(0, years - 1))
    with pytest.raises(bl.errors.GradientError):
        bl.bbvi(target, estimator="reparam", num_steps=10, rng=1)
