"""Approximations that are not the best of their family, or say so wrongly."""

import dataclasses

import numpy as np
from planting import Bug

from bayeslib.target.proposals import Proposal
from bayeslib.variational.advi_ascent import move
from bayeslib.variational.bbvi_ascent import LOO, estimate
from bayeslib.variational.elbo import mean_of
from bayeslib.variational.gaussian_family import LOG_2_PI, place, score
from bayeslib.variational.multipathfinder import _Mixture
from bayeslib.variational.pathfinder import _gaussian
from bayeslib.variational.verdict import checked

_logdensity, _of_the_mixture = Proposal.logdensity, _Mixture.logdensity


def without_2_pi(self):
    return self.value - 0.5 * np.linalg.slogdet(self.hessian)[1]


def with_the_determinant(self):
    half = 0.5 * np.linalg.slogdet(self.hessian)[1]
    return self.value + 0.5 * self.position.size * LOG_2_PI + half


def without_entropy(climb, dense):
    for i in range(climb.x.size):
        climb.slope[i, i] -= 0.0 if climb.how.sticking else 1.0
    move(climb, dense)


def pulled_by_the_factor(parameters, factor, slope, u):
    for i in range(slope.size):
        u[i] = 0.0
        for j in range(i + 1):
            u[i] += factor[i, j] * slope[j]


def own_mean(target, rng, climb):
    bound, n = estimate(target, rng, climb), climb.values.size
    for k in range(climb.gradient.size):
        climb.gradient[k] *= (n - 1.0) / n if climb.how.estimator == LOO else 1.0
    return bound


def score_without_normaliser(factor, z, slope, gradient):
    score(factor, z, slope, gradient)
    for i in range(z.size):
        gradient[z.size + i] += 1.0


def negative_log_q(parameters, factor, log_det, z, x):
    return -place(parameters, factor, log_det, z, x)


def downhill(position, gradient, diagonal, steps, changes):
    return _gaussian(position, -gradient, diagonal, steps, changes)


def straight_through(layers, activations, slope):
    gradients = []
    for i in range(len(layers) - 2, -1, -2):
        gradients = [activations[i // 2].T @ slope, slope.sum(axis=0), *gradients]
        slope = slope @ layers[i].T
    return gradients


def one_way(free, approximation, *arguments, **options):
    return checked(free, dataclasses.replace(approximation, transform=None), *arguments, **options)


_HOME = "bayeslib.variational"
_BOUND = "test_vi.test_the_bound_has_its_closed_form"
_SLOPE = "test_vi.test_steps_follow_the_slope_of_the_bound"
_LAPLACE = "test_vi_laplace.test_gamma_student_in_two_coordinates"
_BEST = "test_hybrid.test_finds_the_best_gaussian_of_the_running_example"
BUGS = {
    "the bound subtracts the entropy": Bug(
        "bayeslib.target.proposals.Proposal.logdensity",
        lambda self, x: -_logdensity(self, x),
        _BOUND,
        {"entropy": "sampled"},
    ),
    "the bound forgets the entropy": Bug(
        "bayeslib.results.gaussian.Gaussian.entropy", lambda self: 0.0, _BOUND, {"entropy": "exact"}
    ),
    "Laplace takes the precision for the covariance": Bug(
        f"{_HOME}.laplace._inverse", lambda hessian: hessian, _LAPLACE
    ),
    "Laplace forgets the power of 2 pi": Bug(
        f"{_HOME}.newton.Mode.log_mass", without_2_pi, _LAPLACE
    ),
    "Laplace adds the log determinant": Bug(
        f"{_HOME}.newton.Mode.log_mass", with_the_determinant, _LAPLACE
    ),
    "the ascent has no entropy": Bug(
        f"{_HOME}.advi_ascent.move", without_entropy, _SLOPE, {"dense": True, "sticking": False}
    ),
    "the slope is not pulled back by the transpose": Bug(
        f"{_HOME}.gaussian_family.pull_back",
        pulled_by_the_factor,
        _SLOPE,
        {"dense": True, "sticking": True},
    ),
    "a draw is compared with a mean that it is part of": Bug(
        f"{_HOME}.bbvi_ascent.estimate",
        own_mean,
        "test_hybrid.test_every_estimator_is_unbiased",
        {"estimator": "loo", "dense": False},
    ),
    "the score of a scale forgets its normaliser": Bug(
        f"{_HOME}.gaussian_family.score", score_without_normaliser, _BEST, {"estimator": "score"}
    ),
    "the bound has the entropy's sign wrong": Bug(
        f"{_HOME}.gaussian_family.place",
        negative_log_q,
        _BEST,
        {"estimator": "loo"},
        error=Exception,
    ),
    "the final bound forgets q": Bug(
        f"{_HOME}.verdict.Weighed.elbo",
        lambda self: mean_of(self.logdensity),
        "test_hybrid_paths.test_eight_schools",
    ),
    "a step is learned from whatever its curvature": Bug(
        f"{_HOME}.pathfinder._CURVATURE",
        -1e300,
        "test_hybrid_paths.test_a_step_without_curvature_is_not_learned_from",
        error=Exception,
    ),
    "the path's Gaussian steps downhill": Bug(
        f"{_HOME}.pathfinder._gaussian",
        downhill,
        "test_hybrid_paths.test_draws_and_densities_are_those_of_mean_and_covariance",
        {"dim": 5},
    ),
    "the mixture of paths is not normalised": Bug(
        f"{_HOME}.multipathfinder._Mixture.logdensity",
        lambda self, x: _of_the_mixture(self, x) + np.log(len(self._parts)),
        "test_hybrid_paths.test_several_paths_find_two_modes_and_the_evidence",
    ),
    "paths are weighted by Gaussian tails alone": Bug(
        f"{_HOME}.multipathfinder.SHARE",
        0.0,
        "test_hybrid_paths.test_stated_errors_are_those_that_are_made",
        {"name": "log_gamma"},
    ),
    "the network forgets the slope of tanh": Bug(
        f"{_HOME}.training.backward",
        straight_through,
        "test_hybrid_amortised.test_the_gradient_is_the_derivative_of_the_loss",
        {"free": None, "dense": True},
    ),
    "a fit forgets the way back to the parameters": Bug(
        f"{_HOME}.verdict.checked", one_way, "test_hybrid.test_speaks_the_targets_coordinates"
    ),
}
