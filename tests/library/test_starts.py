"""Where chains begin when nobody says."""

import numpy as np

from bayeslib import Target
from bayeslib.chains.starts import initial_positions


def test_starts_come_in_mirrored_pairs():
    """Else one run in eight has its four starts on one side of two modes, and nothing shows it."""
    target = Target(lambda theta: -0.5 * theta[0] ** 2, dim=1)
    generators = [np.random.default_rng(i) for i in range(5)]
    starts, num_evals = initial_positions(target, None, generators)
    np.testing.assert_array_equal(starts[[1, 3]], -starts[[0, 2]])
    assert num_evals == 5
    fresh = [np.random.default_rng(i) for i in range(5)]
    untouched = [a.random() == b.random() for a, b in zip(generators, fresh, strict=True)]
    assert untouched == [False, True, False, True, False]


def test_a_mirror_image_without_density_is_replaced():
    target = Target(lambda theta: -theta[0] if theta[0] > 0.0 else -np.inf, dim=1)
    generators = [np.random.default_rng(i) for i in range(4)]
    starts, _ = initial_positions(target, None, generators)
    assert np.all(starts > 0.0)
