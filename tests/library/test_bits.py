"""The same seed gives the same bits: compiled here or loaded from disk, wherever arrays lie."""

import numpy as np
import pytest
from calling import python

import bayeslib as bl
from bayeslib import posteriors

START = """
import hashlib, sys
import numpy as np
from scipy import stats
import bayeslib as bl
from bayeslib import posteriors

run = {"num_samples": 200, "num_warmup": 200, "rng": int(sys.argv[1])}
target = posteriors.eight_schools(centered=False)
"""
FUNCTIONS = """
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

rng = np.random.default_rng(1)
X, y = rng.standard_normal((40, 50)), rng.standard_normal(40)
targets = [bl.Target(f, dim=5, data=(X[:, :5], y)) for f in (vectors, passes)]
targets += [bl.Target(on_a_tape, dim=50, data=(X, 1.0 * (y > 0.0), rng.integers(0, 50, 40)))]
made = []
for t in (*targets, target):
    made += [bl.hmc(t, num_steps=5, **run), bl.metropolis(t, None, **run)]
"""
SAMPLERS = """
def propose(theta, rng, scale):
    return theta + scale * (1.0 + np.sum(np.tanh(theta) ** 2)) * rng.standard_normal(theta.size)

def log_ratio(proposed, current, scale):
    there, back = 1.0 + np.sum(np.tanh(current) ** 2), 1.0 + np.sum(np.tanh(proposed) ** 2)
    square = np.sum((proposed - current) ** 2) / scale**2
    return current.size * np.log(there / back) - 0.5 * square * (back**-2 - there**-2)

def coordinate(theta, rng, scale):
    return 0.5 * np.sum(np.tanh(theta)) / theta.size + scale * rng.standard_normal()

def block(theta, rng, scale):
    return theta[:2] * 0.5 + scale * rng.gamma(2.0, 1.0)

field = np.random.default_rng(1).standard_normal((12, 11))
weights = np.triu(np.random.default_rng(2).standard_normal((9, 9)), 1)
machine = bl.BoltzmannMachine(weights + weights.T, np.zeros(9))
move = {"propose": propose, "log_ratio": log_ratio, "args": (0.1,)}
made = [
    bl.metropolis(target, None, metric="dense", **run),
    bl.metropolis_hastings(target, **move, **run),
    bl.independence_metropolis(target, stats.norm(np.zeros(10), 2.0), **run),
    bl.slice_sample(target, **run),
    bl.gibbs([block, coordinate], np.eye(4, 3), data=(0.3,), **run),
    bl.ising_sample((12, 11), inverse_temperature=0.4, field=field, **run),
    bl.ising_sample((12, 11), inverse_temperature=0.4, method="wolff", **run),
    machine.sample(200, num_warmup=200, rng=run["rng"]),
]
"""
END = """
for draws in made:
    print(hashlib.sha256(draws.values.tobytes()).hexdigest())
"""
SCRIPTS = {"functions": (FUNCTIONS, 8), "samplers": (SAMPLERS, 8)}


def digests(folder, script, seed):
    code = START + script + END
    return python(code, seed, NUMBA_CACHE_DIR=folder, PYTHONWARNINGS="ignore").split()


@pytest.mark.slow
@pytest.mark.trust("S14")
@pytest.mark.parametrize("name", SCRIPTS)
def test_a_first_process_and_the_next_draw_the_same(name, tmp_path):
    script, number = SCRIPTS[name]
    first = digests(tmp_path, script, 1)
    assert len(set(first)) == number
    assert digests(tmp_path, script, 1) == first
    assert not set(digests(tmp_path, script, 2)) & set(first)


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
