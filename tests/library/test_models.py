"""Models of the usual kinds, as a user would write them: `nuts` with defaults finds the posterior.

Each is held to the same posterior written again with SciPy and integrated by importance sampling.
The means and variances of at most six coordinates are within 5.6 standard errors, two-sided 2e-8
each, so that a test of a right program fails in fewer than one of a million runs.
"""

import numpy as np
from own_models import MODELS, weighted
from sparing import over
from twins import Z_LIMIT, quiet

import bayeslib as bl

# Of every change: a few that between them ask for shapes, constraints, sums over states and data.
FEW = ["linear", "centred", "mixture", "hidden_markov", "ordinal", "missing"]


def scores(model, x, truth):
    """Return z of means and variances, draws (chain, draw, dim) against weighted points."""
    points, weights, _ = truth
    mean = weights @ points
    found = []
    for power in (1, 2):
        values = (points - mean) ** power
        expected = weights @ values
        error = np.sqrt(weights**2 @ (values - expected) ** 2)
        estimate = bl.Draws((x - mean) ** power).expect()
        found.append((estimate.value - expected) / np.hypot(estimate.mcse, error))
    return np.abs(np.concatenate(found))


@quiet
@over("name", [*FEW, *(name for name in MODELS if name not in FEW)], few=len(FEW))
def test_a_model_as_a_user_writes_it(name):
    model = MODELS[name]
    truth = weighted(model, np.random.default_rng(1))
    assert truth[2] < 0.5
    draws = bl.nuts(model.target, rng=2, **model.options)
    assert not [p for p in draws.problems if "diverged" not in p]
    x = model.coordinates(draws)
    assert scores(model, x, truth).max() < Z_LIMIT
    moved = x + 0.3 * x.std(axis=(0, 1))  # the twin: means off by less than a third of an sd
    assert (scores(model, moved, truth)[: model.dim] > Z_LIMIT).all()
