"""What there is in the arena: targets with their exact truths, algorithms, settings."""

from functools import cache

import numpy as np

from bayeslib import posteriors

MASSES = (0.99, 0.95, 0.8, 0.5)  # held by the contours, from the outermost inwards
_DRAWS = 50_000  # exact ones, whose log densities say where the contours lie

# What a slider can be set to, and what it is called on the page.
SETTINGS = {
    "scale": {
        "label": "scale of the proposal",
        "values": (0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 7.0, 10.0),
    },
    "width": {
        "label": "width of the first interval",
        "values": (0.1, 0.2, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0),
    },
    "step_size": {
        "label": "step size ε",
        "values": (0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0, 1.5),
    },
    "num_steps": {
        "label": "leapfrog steps",
        "values": (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100),
    },
}

# Called as the library's functions are; each with the settings that it begins with.
ALGORITHMS = {
    "metropolis": {"label": "random-walk Metropolis", "settings": {"scale": 1.0}},
    "independence_metropolis": {"label": "independence Metropolis", "settings": {"scale": 3.0}},
    "gibbs": {"label": "Gibbs sampling", "settings": {"width": 2.0}},
    "slice_sample": {"label": "slice sampling", "settings": {"width": 2.0}},
    "hmc": {"label": "Hamiltonian Monte Carlo", "settings": {"step_size": 0.2, "num_steps": 10}},
    "nuts": {"label": "No-U-Turn Sampler (NUTS)", "settings": {"step_size": 0.2}},
}

_CORRELATED = {"weights": [1.0], "means": [[0.0, 0.0]], "covs": [[[1.0, 0.95], [0.95, 1.0]]]}
_BIMODAL = {
    "weights": [1 / 3, 2 / 3],
    "means": [[-2.0, -1.0], [2.0, 1.0]],
    "covs": [[[0.5, 0.0], [0.0, 0.5]], [[0.5, 0.0], [0.0, 0.5]]],
}
_BANANA = {"curvature": 1.0, "width": 0.5}
_DONUT = {"radius": 3.0, "width": 0.5}

# name: (label, what it is, parameters, corner and side of the square window, start)
_TARGETS = {
    "gaussian": (
        "correlated Gaussian",
        "two coordinates of variance 1 and correlation 0.95",
        _CORRELATED,
        (-4.0, -4.0, 8.0),
        (-3.0, 2.0),
    ),
    "banana": (
        "banana",
        "θ₁ is standard normal, θ₂ has mean θ₁² − 1 and standard deviation 0.5",
        _BANANA,
        (-6.0, -3.0, 12.0),
        (-2.5, 0.0),
    ),
    "donut": (
        "donut",
        "a ring of radius 3, half a unit wide",
        _DONUT,
        (-5.0, -5.0, 10.0),
        (0.0, 0.5),
    ),
    "mixture": (
        "bimodal mixture",
        "a third of the mass at (−2, −1), two thirds at (2, 1), variances 0.5",
        _BIMODAL,
        (-5.0, -5.0, 10.0),
        (-3.0, -3.0),
    ),
    "funnel": (
        "funnel",
        "θ₁ is normal with standard deviation 3, θ₂ with standard deviation exp(θ₁ / 2)",
        {},
        (-9.0, -9.0, 18.0),
        (3.0, 6.0),
    ),
}


@cache
def targets():
    """Return {name: Target}, the library's own posteriors with the arena's parameters."""
    return {
        "gaussian": posteriors.gaussian(_CORRELATED["means"][0], _CORRELATED["covs"][0]),
        "banana": posteriors.banana(**_BANANA),
        "donut": posteriors.donut(**_DONUT),
        "mixture": posteriors.mixture(**_BIMODAL),
        "funnel": posteriors.funnel(2),
    }


@cache
def describe(name):
    """Return what the script is told about a target, ready for JSON."""
    label, words, parameters, (left, bottom, side), start = _TARGETS[name]
    target = targets()[name]
    if name == "donut":
        parameters = parameters | {"logEvidence": target.truth.log_evidence}
    draws = target.truth.sample(_DRAWS, np.random.default_rng(1))
    log_densities = target.many_with_gradient(draws)
    return {
        "name": name,
        "label": label,
        "words": words,
        "parameters": parameters,
        "window": {"x": (left, left + side), "y": (bottom, bottom + side)},
        "start": start,
        "mean": float(target.truth.mean[0]),
        "levels": np.quantile(log_densities, 1.0 - np.array(MASSES)).round(6).tolist(),
        "checks": [_check(target, left + side * u, bottom + side * v) for u, v in _lattice()],
    }


def _lattice():
    """Twelve points of the unit square that no symmetry of a target maps to another."""
    return [(round(0.05 + 0.31 * k % 0.9, 3), round(0.04 + 0.077 * k, 3)) for k in range(12)]


def _check(target, x, y):
    """Return a point with the library's log density and gradient there."""
    grad = np.empty(2)
    theta = np.round([x, y], 6)
    log_density = target.bind(gradient=True)(theta, grad)
    return [float(v) for v in (*theta, log_density, *grad)]
