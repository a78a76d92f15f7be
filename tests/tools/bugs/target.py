"""Densities and gradients that are not those of the target."""

import numpy as np
from densities import EXACT, log_gamma_normal, log_gamma_normal_fused, sample_log_gamma_normal
from planting import Bug

from bayeslib.errors import GradientError
from bayeslib.results.coordinates import Transform
from bayeslib.results.gaussian import Gaussian
from bayeslib.target import Target, parameters

_logdensity, _log_jacobian, _one = Gaussian.logdensity, Transform.log_jacobian, parameters.place_one


def gradient_15_percent_off(theta, grad):
    value = log_gamma_normal_fused(theta, grad)
    grad[0] *= 0.85
    return value


def density_of_the_coordinates(self, x):
    return _logdensity(self, x) + _log_jacobian(self.transform, self.transform.unconstrain(x))


def slope_only_between_two_ends(self, x):
    one_end = np.isfinite(self.support).sum(axis=1) == 1
    return _log_jacobian(self, x) - np.asarray(x)[..., one_end].sum(axis=-1)


WRONG = Target(log_gamma_normal, dim=2, fused=gradient_15_percent_off)
_TRANSFORMS = "test_transforms.test_density_and_gradient"
BUGS = {
    "a gradient is 15 % wrong in one coordinate": Bug(
        "densities.EXACT",
        EXACT | {"log_gamma_normal": (WRONG, sample_log_gamma_normal)},
        "test_engine.test_every_exact_density_has_the_gradient_it_claims",
        error=GradientError,
    ),
    "unconstrained coordinates forget the Jacobian": Bug(
        "bayeslib.target.transforms.place_one",
        lambda x, low, high: (_one(x, low, high)[0], 0.0 * x),
        _TRANSFORMS,
        {"form": "auto"},
    ),
    "their gradient forgets that of the Jacobian": Bug(
        "bayeslib.target.transforms._chain_rule",
        lambda slope, x, low, high: slope * np.exp(x),
        _TRANSFORMS,
        {"form": "fused"},
        error=GradientError,
    ),
    "an approximation forgets the Jacobian": Bug(
        "bayeslib.results.gaussian.Gaussian.logdensity",
        density_of_the_coordinates,
        "test_vi.test_a_gaussian_with_ends_has_the_moments_of_its_draws",
    ),
    "the Jacobian of the parameters is forgotten": Bug(
        "bayeslib.results.coordinates.Transform.log_jacobian",
        slope_only_between_two_ends,
        "test_hybrid_paths.test_draws_of_several_paths_are_weighted_in_the_targets_coordinates",
    ),
}
