"""Laplace's approximation: closed forms, modes found and not found, and errors that say why."""

import numpy as np
import pytest
from bad_inputs import refused
from densities import exponential
from scipy import special, stats

import bayeslib as bl
from bayeslib import BayeslibWarning, posteriors
from bayeslib.errors import GradientError, ImproperError, StartError

STUDENT = posteriors.gamma_student()
# What the verdict says has tests of its own, in test_verdict.py.
pytestmark = pytest.mark.filterwarnings("ignore::bayeslib.BayeslibWarning")


@pytest.mark.trust("M7", of="laplace")
def test_gamma_student_in_two_coordinates():
    """Mode, width and evidence by root finding in 30 digits."""
    own = bl.laplace(STUDENT)
    ratio = np.exp(own.log_evidence.value - STUDENT.truth.log_evidence)
    assert own.mean[0] == pytest.approx(4.592407, abs=1e-6)
    assert np.sqrt(own.cov[0, 0]) == pytest.approx(0.888284, abs=1e-6)
    assert np.exp(own.log_evidence.value) == pytest.approx(0.0745947, abs=1e-7)
    assert ratio == pytest.approx(0.798, abs=5e-4)
    free = bl.laplace(STUDENT, coordinates="unconstrained")
    ratio = np.exp(free.log_evidence.value - STUDENT.truth.log_evidence)
    assert free.settings["mode"][0] == pytest.approx(4.746806, abs=1e-6)
    assert np.exp(free.mean[0]) == pytest.approx(free.settings["mode"][0], rel=1e-12)
    assert ratio == pytest.approx(0.7228, abs=1e-4)
    assert np.isnan(own.log_evidence.mcse) and np.isnan(free.log_evidence.mcse)
    assert own.transform is None and free.transform.support == ((0.0, np.inf),)


@pytest.mark.parametrize("dim", [1, 3, 30])
def test_a_gaussian_is_its_own_approximation(dim):
    rng = np.random.default_rng(dim)
    root = rng.standard_normal((dim, dim)) * np.geomspace(1e-2, 1e3, dim)[:, None]
    mean, cov = 100.0 * rng.standard_normal(dim), root @ root.T + np.diag(np.diag(root @ root.T))
    found = bl.laplace(posteriors.gaussian(mean, cov))
    np.testing.assert_allclose(found.mean, mean, atol=1e-7 * np.sqrt(np.diag(cov)).max())
    spread = np.sqrt(np.diag(cov))
    np.testing.assert_allclose(
        found.cov / np.outer(spread, spread), cov / np.outer(spread, spread), atol=1e-7
    )
    assert found.log_evidence.value == pytest.approx(0.0, abs=1e-6)
    assert found.problems == () and len(found.settings["modes"]) == 1


@pytest.mark.trust("M7", of="laplace")
@pytest.mark.parametrize(("a", "b"), [(9.0, 3.0), (2.5, 40.0)])
def test_a_coin_has_its_closed_form(a, b):
    """Beta(a, b): mode (a - 1) / (a + b - 2), and on the logit a / (a + b)."""
    target = posteriors.coin(0, 0, prior=(a, b))
    own = bl.laplace(target)
    mode = (a - 1.0) / (a + b - 2.0)
    precision = (a - 1.0) / mode**2 + (b - 1.0) / (1.0 - mode) ** 2
    assert own.mean[0] == pytest.approx(mode, rel=1e-9)
    assert own.cov[0, 0] == pytest.approx(1.0 / precision, rel=1e-8)
    logit = bl.laplace(target, coordinates="unconstrained")
    share = a / (a + b)
    assert logit.mean[0] == pytest.approx(special.logit(share), rel=1e-9)
    assert logit.cov[0, 0] == pytest.approx((a + b) / (a * b), rel=1e-8)
    height = stats.beta(a, b).logpdf(share) + np.log(share * (1.0 - share))
    exact = height + 0.5 * np.log(2.0 * np.pi * logit.cov[0, 0])
    assert logit.log_evidence.value == pytest.approx(exact, rel=1e-9)


# Modes


def test_the_highest_of_several_modes_is_taken_and_said():
    target = posteriors.mixture([0.3, 0.7], [-2.0, 3.0], [1.0, 0.25])
    with pytest.warns(BayeslibWarning, match="2 modes were found"):
        found = bl.laplace(target)
    np.testing.assert_allclose(found.settings["modes"][:, 0], [3.0, -2.0], atol=1e-4)
    assert np.all(np.diff(found.settings["mode_logdensities"]) < 0.0)
    assert found.problems and found.summary().problems == found.problems
    # each start leads to the mode next to it
    left = bl.laplace(target, [-2.2])
    assert left.mean[0] == pytest.approx(-2.0, abs=1e-4) and len(left.settings["modes"]) == 1
    assert left.log_evidence.value == pytest.approx(np.log(0.3), abs=1e-3)
    with pytest.warns(BayeslibWarning, match="2 modes"):
        both = bl.laplace(target, [[-2.2], [3.1]])
    assert both.mean[0] == found.mean[0] and both.settings["num_starts"] == 2


def test_equal_points_are_one_climb():
    target = posteriors.gaussian([1.0, 2.0], [[1.0, 0.5], [0.5, 2.0]])
    with pytest.warns(BayeslibWarning, match="all 3 points of initial_position") as seen:
        found = bl.laplace(target, [[0.0, 0.0]] * 3)
    assert len(seen) == 1 and found.settings["num_starts"] == 1 and found.problems == ()


def test_it_leaves_a_saddle():
    """The middle between two equal modes, where the gradient is zero."""
    target = posteriors.mixture([0.5, 0.5], [[-2.0, 0.0], [2.0, 0.0]], [np.eye(2), np.eye(2)])
    found = bl.laplace(target, [0.0, 0.0])
    assert abs(found.mean[0]) == pytest.approx(2.0, abs=0.01)


def test_distant_and_small_posteriors_are_found():
    for centre, width in ((3e5, 1e-3), (3e-9, 1e-10), (-40.0, 200.0)):
        target = posteriors.gaussian([centre], [[width**2]])
        found = bl.laplace(target)
        assert found.mean[0] == pytest.approx(centre, abs=1e-6 * width)
        assert found.cov[0, 0] == pytest.approx(width**2, rel=1e-5)


def test_units_far_apart_do_not_matter():
    spread = np.array([1e-4, 1e4])
    cov = np.array([[1.0, 0.99], [0.99, 1.0]]) * np.outer(spread, spread)
    found = bl.laplace(posteriors.gaussian([0.0, 0.0], cov), spread)
    np.testing.assert_allclose(found.cov / cov, 1.0, rtol=1e-6)
    np.testing.assert_allclose(found.mean / spread, 0.0, atol=1e-6)


LINE = {"dim": 1}
PLANE = {"dim": 2}


test_no_mode_is_an_error_that_says_why = refused(
    (lambda: bl.Target(exponential, dim=1, support=(0, None)), "edge of it"),
    (lambda: bl.Target(lambda t: 0.0 * t[0] - t[1] ** 2, **PLANE), r"is flat .* \+1 theta\[0\]"),
    (lambda: bl.Target(lambda p: p.u[0], parameters={"u": bl.unit_vector(2)}), "have no mode"),
    (lambda: bl.Target(lambda t: -((t[0] - t[1]) ** 2), **PLANE), "is flat"),
    (lambda: bl.Target(lambda t: t[0] - t[1] ** 2, **PLANE), ImproperError, "still rises"),
    (lambda: bl.Target(lambda t: t[0] ** 2, **LINE), ImproperError, "still rises"),
    (lambda: bl.Target(lambda t: -abs(t[0]), **LINE), "has a kink"),
    (lambda: bl.Target(lambda t: -(t[0] ** 4), **LINE), "flat"),
    (posteriors.donut, "flat"),
    (lambda: posteriors.eight_schools(centered=True), ImproperError, "no maximum"),
    (lambda: bl.Target(lambda t: np.inf if t[0] > 1.0 else t[0], **LINE), ImproperError, "inf"),
    (lambda: bl.Target(lambda t: -(t[0] ** 2), gradient=None, **LINE), GradientError, "gradient"),
    (lambda: bl.Target(lambda t: -t[0] if t[0] > 50.0 else -np.inf, **LINE), StartError, "none of"),
    by=lambda make: bl.laplace(make()),
)


test_bad_input_is_named = refused(
    (((STUDENT,), {"coordinates": "log"}), 'must be one of "own", "unconstrained"'),
    (((STUDENT,), {"max_steps": 0}), "max_steps must be at least 1"),
    (((STUDENT,), {"num_check": 99}), "num_check must be at least 100"),
    (((STUDENT, [1.0, 2.0]), {}), r"must have shape \(1,\)"),
    (((STUDENT, [[1.0, 2.0]]), {}), r"must have shape \(1,\)"),
    (((STUDENT, [np.nan]), {}), "must be finite"),
    (((STUDENT, [[1.0], [np.inf]]), {}), "must be finite"),
    (((STUDENT, [-1.0]), {}), "outside the support"),
    (((STUDENT, [-1.0]), {"coordinates": "unconstrained"}), "strictly inside the support"),
    (((STUDENT, [100.0]), {"max_steps": 1}), r"still rises .*max_steps=1"),
    by=lambda arguments, options: bl.laplace(*arguments, **options),
)


def test_the_edge_is_none_in_other_coordinates():
    found = bl.laplace(
        bl.Target(exponential, dim=1, support=(0, None)), coordinates="unconstrained"
    )
    assert found.settings["mode"][0] == pytest.approx(1.0)
    # exp(x - exp(x)) is exp(-1) at the mode, with unit curvature
    assert found.log_evidence.value == pytest.approx(-1.0 + 0.5 * np.log(2.0 * np.pi))


def test_some_climbs_may_fail_and_it_is_said():
    target = bl.Target(lambda t: -(t[0] ** 2) if t[0] < 1.0 else t[0] - 2.0, dim=1)
    with pytest.warns(BayeslibWarning, match="climbs found no mode"):
        found = bl.laplace(target)
    assert found.mean[0] == pytest.approx(0.0, abs=1e-8)
    assert found.settings["num_failed"] > 0
