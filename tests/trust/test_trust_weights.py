"""What weights are worth, at both ends: all alike, and one that carries everything."""

import numpy as np
import pytest

from bayeslib import Draws

pytestmark = pytest.mark.trust("S12")


def weighted(log_weights):
    rng = np.random.default_rng(450)
    return Draws(rng.standard_normal((1, len(log_weights), 1)), log_weights=log_weights[None])


@pytest.mark.parametrize("shift", [0.0, 1e4, -1e4])
def test_equal_weights_are_worth_their_number_and_a_single_one_is_worth_one(shift):
    equal, single = np.zeros(500) + shift, np.full(500, -np.inf)
    single[7] = shift
    for log_weights, worth in ((equal, 500.0), (single, 1.0)):
        draws = weighted(log_weights)
        assert 1.0 / np.square(draws.weights).sum() == pytest.approx(worth, rel=1e-12)
        assert draws.weights.sum() == pytest.approx(1.0, rel=1e-12)
    assert weighted(equal).problems == ()
    assert any("500 weighted draws are worth 1.0" in p for p in weighted(single).problems)
    np.testing.assert_array_equal(weighted(single).expect().value, weighted(single).values[0, 7])
