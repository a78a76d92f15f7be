"""Runs that are shared among threads and processes, or lose a worker."""

import concurrent.futures as futures
import multiprocessing
import os
import pickle
import signal
import threading
from pathlib import Path

import numpy as np
import pytest
from calling import needs_signals, python
from densities import SAMPLERS, SHORT, gaussian2, slow

import bayeslib as bl
from bayeslib import Target, metropolis, nuts
from bayeslib.memory import available_memory

ROOT = Path(__file__).parents[2]


@pytest.mark.trust("M9")
def test_two_threads_at_once_do_not_disturb_each_other():
    alone = {name: run(**SHORT).values for name, run in SAMPLERS.items()}
    together = threading.Barrier(len(SAMPLERS) * 2)

    def run(name):
        together.wait()
        return [SAMPLERS[name](**SHORT).values for _ in range(5)]

    with futures.ThreadPoolExecutor(len(SAMPLERS) * 2) as pool:
        jobs = {(name, i): pool.submit(run, name) for name in SAMPLERS for i in range(2)}
        for (name, _), job in jobs.items():
            for values in job.result():
                np.testing.assert_array_equal(values, alone[name])


@pytest.mark.row(57)
@pytest.mark.trust("M9")
def test_results_targets_and_generators_travel():
    draws = nuts(gaussian2(), **SHORT)
    copy, target = pickle.loads(pickle.dumps((draws, gaussian2())))
    assert copy.settings["seed"] == 11 and str(copy.summary()) == str(draws.summary())
    np.testing.assert_array_equal(nuts(target, **SHORT).values, draws.values)
    gaussian = pickle.loads(pickle.dumps(bl.Gaussian([1.0], [[2.0]])))
    assert gaussian.logdensity(1.0) == bl.Gaussian([1.0], [[2.0]]).logdensity(1.0)
    scale = 2.0
    closure = Target(lambda theta: -scale * theta[0] ** 2, dim=1)
    assert pickle.loads(pickle.dumps(closure))(1.5) == closure(1.5) == -4.5


FORKED = """
import concurrent.futures as futures
import multiprocessing
import numpy as np
from densities import gaussian2
from bayeslib import nuts

here = nuts(gaussian2(), num_samples=50, num_warmup=50, rng=1)
with futures.ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("fork")) as pool:
    there = nuts(gaussian2(), num_samples=50, num_warmup=50, rng=1, executor=pool)
np.testing.assert_array_equal(here.values, there.values)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.row(56)
@pytest.mark.trust("M9")
def test_a_fork_after_a_run_is_safe():
    python(FORKED, PYTHONWARNINGS="error")


@pytest.mark.row(55, 56)
def test_nothing_is_compiled_for_parallel_loops():
    """Sums over threads depend on their number, and their runtime does not survive a fork."""
    sources = list((ROOT / "bayeslib").rglob("*.py"))
    assert len(sources) > 40
    for path in sources:
        text = path.read_text()
        assert "prange" not in text and "parallel=True" not in text, path


class Dying(futures.Executor):
    """Runs two chains to their end, takes two more, and loses the process of one of them."""

    def __init__(self, pool):
        self.pool, self.jobs, self.others = pool, [], set(multiprocessing.active_children())

    def submit(self, function, *arguments):
        if len(self.jobs) == 2:
            futures.wait(self.jobs)
        self.jobs.append(self.pool.submit(function, *arguments))
        if len(self.jobs) == 4:
            worker = (set(multiprocessing.active_children()) - self.others).pop()
            os.kill(worker.pid, signal.SIGKILL)
        return self.jobs[-1]


@needs_signals
def test_a_pool_that_loses_a_process_keeps_the_chains_that_came_back():
    target = Target(slow, dim=1, data=(20_000,), gradient=None)
    options = {"num_samples": 4000, "num_warmup": 0, "scale": 2.0, "rng": 1}
    pool = futures.ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn"))
    with pool, pytest.raises(futures.BrokenExecutor) as caught:
        metropolis(target, None, executor=Dying(pool), **options)
    error = caught.value
    assert "of 4 chains these were lost: 2, 3; `partial`" in error.__notes__[0]
    first = metropolis(target, None, **{**options, "num_samples": 100}).values[:2]
    assert error.partial.values.shape == (2, 4000, 1)
    np.testing.assert_array_equal(error.partial.values[:, :100], first)


class Cancelling(futures.Executor):
    """Runs the first chains here and cancels the rest, as a cluster that is closed does."""

    def __init__(self, num_run):
        self.num_run = num_run

    def submit(self, function, *arguments):
        job = futures.Future()
        if self.num_run > 0:
            job.set_result(function(*arguments))
        else:
            job.cancel()
            job.set_running_or_notify_cancel()
        self.num_run -= 1
        return job


@pytest.mark.parametrize("num_run", [0, 3])
def test_a_cancelled_chain_is_not_passed_over(num_run):
    with pytest.raises(futures.CancelledError) as caught:
        metropolis(gaussian2(), None, executor=Cancelling(num_run), **SHORT)
    if num_run:
        assert "of 4 chains these were lost: 3;" in caught.value.__notes__[0]
        whole = metropolis(gaussian2(), None, **SHORT)
        np.testing.assert_array_equal(caught.value.partial.values, whole.values[:3])


@pytest.mark.row(52)
@pytest.mark.parametrize(
    ("kilobytes", "limits", "expected"),
    [
        (4, {}, 4096),
        (1000, {".max": 9000, ".current": 5000, ".stat": "anon 1\ninactive_file 3000"}, 7000),
        (1, {".max": "max", ".current": 5000}, 1024),
        (1000, {"/memory.limit_in_bytes": 100, "/memory.usage_in_bytes": 500}, 0),
    ],
    ids=["machine", "container", "no limit", "first version"],
)
def test_memory_counts_caches_as_free_and_heeds_a_containers_limit(
    tmp_path, kilobytes, limits, expected
):
    files = {f"sys/fs/cgroup/memory{name}": text for name, text in limits.items()}
    files["proc/meminfo"] = f"MemTotal: 9 kB\nMemFree: 1 kB\nMemAvailable: {kilobytes} kB"
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"{text}\n")
    assert available_memory(tmp_path) == expected


@pytest.mark.row(52)
def test_memory_is_known_on_this_machine(tmp_path):
    assert 2**20 < available_memory() < 2**60
    assert available_memory(tmp_path) is None or available_memory(tmp_path) > 2**20
