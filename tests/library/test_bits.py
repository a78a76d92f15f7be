"""The same seed gives the same bits: compiled here or loaded from disk, wherever arrays lie."""

import os
import subprocess
import sys

import numpy as np
import pytest

import bayeslib as bl
from bayeslib import posteriors

SCRIPT = """
import hashlib, sys
import numpy as np
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

rng = np.random.default_rng(1)
X, y = rng.standard_normal((40, 5)), rng.standard_normal(40)
targets = [bl.Target(f, dim=5, data=(X, y)) for f in (vectors, passes)]
targets.append(posteriors.eight_schools(centered=False))
run = {"num_samples": 200, "num_warmup": 200, "rng": int(sys.argv[1])}
for target in targets:
    for draws in (bl.hmc(target, num_steps=5, **run), bl.metropolis(target, None, **run)):
        print(hashlib.sha256(draws.values.tobytes()).hexdigest())
"""


def digests(folder, seed):
    environment = os.environ | {"NUMBA_CACHE_DIR": str(folder)}
    command = [sys.executable, "-W", "ignore", "-c", SCRIPT, str(seed)]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return run.stdout.split()


@pytest.mark.slow
@pytest.mark.trust("S14")
def test_a_first_process_and_the_next_draw_the_same(tmp_path):
    first = digests(tmp_path, 1)
    assert len(first) == 6
    assert digests(tmp_path, 1) == first
    assert not set(digests(tmp_path, 2)) & set(first)


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
        seen.add(draws.values.tobytes())
    assert len(seen) == 1
