"""The same seed gives the same bits: compiled here or loaded from disk, wherever arrays lie."""

import hashlib

import numpy as np
import pytest
from calling import python

import bayeslib as bl
from bayeslib import posteriors


def helper(x):
    total = 0.0
    for i in range(x.size):
        total += x[i] * x[i]
    return total


def vectors(theta, X, y):
    residual = y - X @ theta
    return -0.5 * np.sum(residual**2) - helper(theta) / 2


def passes(theta, X, y):
    return bl.logistic_log_likelihood(theta, X, y) + bl.linear_log_likelihood(theta, X, y, 2.0)


def on_a_tape(theta, X, y, group):
    eta = X @ theta + theta[group]
    return np.sum(y * eta - np.log1p(np.exp(eta))) - helper(theta) / 2


def show(seed):
    """Print a digest of the draws of each run."""
    rng, run = np.random.default_rng(1), {"num_samples": 200, "num_warmup": 200, "rng": seed}
    X, y = rng.standard_normal((40, 50)), 1.0 * (rng.standard_normal(40) > 0.0)
    targets = [bl.Target(f, dim=5, data=(X[:, :5], y)) for f in (vectors, passes)]
    targets += [bl.Target(on_a_tape, dim=50, data=(X, y, rng.integers(0, 50, 40)))]
    for target in (*targets, posteriors.eight_schools(centered=False)):
        for draws in (bl.hmc(target, num_steps=5, **run), bl.metropolis(target, None, **run)):
            print(hashlib.sha256(draws.values.tobytes()).hexdigest())


def digests(folder, seed):
    code = "import sys, test_bits; test_bits.show(int(sys.argv[1]))"
    return python(code, seed, NUMBA_CACHE_DIR=folder, PYTHONWARNINGS="ignore").split()


@pytest.mark.slow
@pytest.mark.trust("S14")
def test_a_first_process_and_the_next_draw_the_same(tmp_path):
    first = digests(tmp_path, 1)
    assert len(set(first)) == 8
    assert digests(tmp_path, 1) == first
    assert not set(digests(tmp_path, 2)) & set(first)


@pytest.mark.slow
@pytest.mark.trust("S14")
def test_every_sampler_draws_the_same_in_a_first_process_and_the_next(tmp_path):
    """The short runs of test_stored_draws.py, of which no two are alike."""
    code = "import sys, test_stored_draws as t; t.store(sys.argv[1])"
    for name in ("first.npz", "next.npz"):
        python(code, tmp_path / name, NUMBA_CACHE_DIR=tmp_path / "cache")
    with np.load(tmp_path / "first.npz") as first, np.load(tmp_path / "next.npz") as following:
        assert len(first) > 70 and set(first) == set(following)
        for key in first:
            np.testing.assert_array_equal(first[key], following[key], err_msg=key)


@pytest.mark.filterwarnings("ignore:k-hat")
def test_where_arrays_lie_in_memory_leaves_no_trace():
    """Blocks of many sizes are kept and freed between runs, so that no run is laid out as another.

    The warm-up magnifies a difference in one last bit to one in the step size.
    """
    target, rng, kept = posteriors.eight_schools(centered=False), np.random.default_rng(1), []
    seen = set()
    for _ in range(20):
        kept += [np.empty(int(n)) for n in rng.integers(1, 40, 50)]
        del kept[:: int(rng.integers(2, 5))]
        draws = bl.hmc(target, num_steps=5, num_samples=50, num_warmup=150, rng=1)
        modes = [bl.laplace(target, num_check=100).settings["hessian"].tobytes() for _ in range(3)]
        seen.update([draws.values.tobytes(), *modes])
    assert len(seen) == 2
