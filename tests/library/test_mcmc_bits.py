"""The same seed gives the same bits, in a first process and in the next."""

import os
import subprocess
import sys

import pytest

SCRIPT = """
import hashlib, sys
import numpy as np
from scipy import stats
import bayeslib as bl
from bayeslib import posteriors

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

target = posteriors.eight_schools(centered=False)
field = np.random.default_rng(1).standard_normal((12, 11))
weights = np.triu(np.random.default_rng(2).standard_normal((9, 9)), 1)
machine = bl.BoltzmannMachine(weights + weights.T, np.zeros(9))
run = {"num_samples": 200, "num_warmup": 200, "rng": int(sys.argv[1])}
move = {"propose": propose, "log_ratio": log_ratio, "args": (0.1,)}
for draws in (
    bl.metropolis(target, None, metric="dense", **run),
    bl.metropolis_hastings(target, **move, **run),
    bl.independence_metropolis(target, stats.norm(np.zeros(10), 2.0), **run),
    bl.slice_sample(target, **run),
    bl.gibbs([block, coordinate], np.eye(4, 3), data=(0.3,), **run),
    bl.ising_sample((12, 11), inverse_temperature=0.4, field=field, **run),
    bl.ising_sample((12, 11), inverse_temperature=0.4, method="wolff", **run),
    machine.sample(200, num_warmup=200, rng=run["rng"]),
):
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
    assert len(set(first)) == 8
    assert digests(tmp_path, 1) == first
    assert not set(digests(tmp_path, 2)) & set(first)
