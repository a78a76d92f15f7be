"""The seed contract of every sampler of chains: threads and other chains leave no trace."""

import concurrent.futures as futures
import os
import subprocess
import sys

import numpy as np
import pytest
from registry import ALGORITHMS

pytestmark = pytest.mark.trust("S14")

CHAINS = {a.name: a for a in ALGORITHMS if a.chains}
SHORT = {"num_samples": 60, "num_warmup": 60, "num_chains": 4}

SCRIPT = """
import hashlib, sys, warnings
from concurrent.futures import ThreadPoolExecutor
from registry import ALGORITHMS

warnings.simplefilter("ignore")
options = {"num_samples": 60, "num_warmup": 60, "num_chains": 4}
for algorithm in ALGORITHMS:
    if algorithm.chains:
        with ThreadPoolExecutor(int(sys.argv[1])) as pool:
            draws = algorithm.run(next(iter(algorithm.cases)), 7, executor=pool, **options)
        print(algorithm.name, hashlib.sha256(draws.values.tobytes()).hexdigest())
"""


class LastFirst(futures.Executor):
    """Runs its jobs when it has them all, the last one first."""

    def __init__(self, number):
        self.number, self.jobs = number, []

    def submit(self, function, /, *arguments, **options):
        future = futures.Future()
        self.jobs.append((future, function, arguments, options))
        if len(self.jobs) == self.number:
            for waiting, job, given, named in reversed(self.jobs):
                waiting.set_result(job(*given, **named))
        return future


def short_run(name, **changes):
    algorithm = CHAINS[name]
    case = next(iter(algorithm.cases))
    options = SHORT | changes
    target, (start, *rest), extra = algorithm.cases[case]
    if np.shape(start)[:1] == (SHORT["num_chains"],):
        start = start[: options["num_chains"]]
    return algorithm.function(target, start, *rest, **extra | {"rng": 7} | options)


@pytest.mark.filterwarnings("ignore::bayeslib.BayeslibWarning")  # so few draws
@pytest.mark.parametrize("name", CHAINS)
def test_draws_are_the_same_for_any_number_of_threads_and_chains(name):
    draws = short_run(name)
    for workers in (1, 2):
        with futures.ThreadPoolExecutor(workers) as pool:
            np.testing.assert_array_equal(short_run(name, executor=pool).values, draws.values)
    backwards = short_run(name, executor=LastFirst(SHORT["num_chains"]))
    np.testing.assert_array_equal(backwards.values, draws.values)
    for num_chains in (2, 3):
        fewer = short_run(name, num_chains=num_chains)
        np.testing.assert_array_equal(fewer.values, draws.values[:num_chains])
    assert len({chain.tobytes() for chain in draws.values}) == 4
    assert not np.array_equal(short_run(name, rng=8).values, draws.values)


def digests(num_threads):
    environment = os.environ | {
        "NUMBA_NUM_THREADS": str(num_threads),
        "OMP_NUM_THREADS": str(num_threads),
    }
    command = [sys.executable, "-c", SCRIPT, str(num_threads)]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return dict(line.split() for line in run.stdout.splitlines())


def test_other_processes_with_one_and_two_threads_draw_the_same_bits():
    one, two = digests(1), digests(2)
    assert set(one) == set(CHAINS)
    assert one == two
    assert len(set(one.values())) == len(one)
