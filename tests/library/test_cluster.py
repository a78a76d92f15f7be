"""The same call on a cluster of worker processes, of which one dies: needs Dask's scheduler.

``requirements-slow.txt`` has it. Every worker killed here is one that the test has started.
"""

import os
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec

import numpy as np
import pytest
from densities import SAMPLERS, SHORT, gaussian2, slow

from bayeslib import BayeslibTypeError, Target, metropolis, nuts

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals"),
]


@pytest.fixture(scope="module")
def cluster(need):
    need(find_spec("distributed"), "Dask is not installed: pip install -r requirements-slow.txt")
    from dask.distributed import LocalCluster

    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    from dask.distributed import Client

    with Client(cluster) as client:
        client.wait_for_workers(2, timeout=120)
        yield client


@pytest.mark.parametrize("options", [{}, {"pure": False}])
def test_draws_are_those_of_one_process(client, options):
    executor = client.get_executor(**options)
    for run in SAMPLERS.values():
        here, there = run(**SHORT), run(executor=executor, **SHORT)
        np.testing.assert_array_equal(here.values, there.values)
        assert here.num_evals == there.num_evals and there.problems == here.problems
    processes = set(client.run(os.getpid).values())
    assert len(processes) == 2 and os.getpid() not in processes


def test_a_client_is_told_to_be_an_executor(client):
    with pytest.raises(BayeslibTypeError, match=r"executor must be.*pass its get_executor\(\)"):
        nuts(gaussian2(), executor=client, **SHORT)


def at_work(dask_worker):
    return os.getpid() if dask_worker.state.executing else None


def kill_one(client):
    """Kill a worker once two of them run a chain, and return its process."""
    until = time.monotonic() + 120.0
    while time.monotonic() < until:
        busy = [process for process in client.run(at_work).values() if process]
        if len(busy) >= 2:
            time.sleep(0.3)
            os.kill(busy[0], signal.SIGKILL)
            return busy[0]
        time.sleep(0.05)
    raise AssertionError("no worker ran a chain")


TARGET = Target(slow, dim=1, data=(20_000,), gradient=None)
LONG = {"num_samples": 3000, "num_warmup": 0, "scale": 2.0, "rng": 1}


def test_a_worker_that_dies_costs_time_and_no_draw(client):
    """Dask runs the lost chain again elsewhere; it is decided by its job alone."""
    with ThreadPoolExecutor(1) as background:
        killing = background.submit(kill_one, client)
        draws = metropolis(TARGET, None, executor=client.get_executor(pure=False), **LONG)
        killed = killing.result()
    assert draws.values.shape == (4, 3000, 1)
    np.testing.assert_array_equal(draws.values, metropolis(TARGET, None, **LONG).values)
    client.wait_for_workers(2, timeout=120)
    assert killed not in client.run(os.getpid).values()
