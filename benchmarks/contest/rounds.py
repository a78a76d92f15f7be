"""Run the contest on one posterior: warm calls in rounds, then cold processes in rounds."""

import random
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from . import statistics
from .problems import NUM_CORES
from .process import Worker, WorkerError

CALLS_SECONDS, MOST_CALLS = 0.25, 5  # of one contestant in a round, so that short calls repeat
SECONDS = 30.0  # of warm calls of one contestant, and of its cold processes; then it sits out
TIMEOUT = 300.0


class Stage:
    """A posterior, and where its processes leave their files.

    Parameters
    ----------
    posterior : str
    truth : (array, array)
        Mean and its standard error.
    folder : path
        For draws and logs; deleted by the caller.
    environment : function
        environment(entry, fresh) -> dict of variables; `fresh` is a name for caches of its own.
    """

    def __init__(self, posterior, truth, folder, environment):
        self.posterior, self.truth = posterior, truth
        self.folder, self.environment = folder, environment
        self.failures = []

    def start(self, entry, *, cold=False, unit=None, fresh=None):
        """Start a process of `entry`; ask it for its first call without waiting."""
        variant = entry.variant(self.posterior, cold)
        unit = new_unit() if unit is None else unit
        seed = new_seed()
        arguments = [entry.library, self.posterior, variant, repr(unit), str(seed)]
        worker = Worker(
            entry.python, arguments, self.folder, self.environment(entry, fresh), TIMEOUT
        )
        worker.unit, worker.first_seed = unit, seed
        return worker

    def call(self, worker, seed):
        """Let a worker sample once; return what is known about the run."""
        path = self.folder / f"draws-{seed}.npy"
        answer = worker.ask(seed=seed, draws=str(path))
        answer |= statistics.describe(np.load(path), *self.truth)
        path.unlink()
        answer["seed"] = seed
        return answer

    def fail(self, entry, stage, error):
        """Note that a contestant dropped out."""
        self.failures.append(
            {
                "posterior": self.posterior,
                "contestant": entry.name,
                "stage": stage,
                "reason": str(error),
            }
        )
        print(f"    {entry.name}: {stage}: {error}", flush=True)


def new_unit():
    """A number within 1e-6 of 1 that no model has contained before."""
    return 1.0 + random.SystemRandom().randrange(1, 2**32) * 2.0**-52


def new_seed():
    """A seed that no run has had before."""
    return random.SystemRandom().randrange(1, 2**31 - 1)


def cold_run(stage, entry, **options):
    """Time a process from its start to the end of its first call.

    Returns
    -------
    dict
        ``start_up`` and ``first_call`` in seconds, ``import_seconds``, ``build_seconds``, ``ess``
        and ``peak_mib`` of the process with its descendants.
    """
    with stage.start(entry, cold=True, **options) as worker:
        return _first_call(stage, worker)


def _first_call(stage, worker):
    worker.watch()
    phases = worker.answer()
    run = stage.call(worker, worker.first_seed)
    worker.stop_watching()
    peak = max(worker.peak_mib, run["peak_mib"])
    return {
        "unit": worker.unit,
        "start_up": run["ended"] - run["seconds"] - worker.began,
        "first_call": run["seconds"],
        "whole": run["ended"] - worker.began,
        "peak_mib": peak,
        "ess": run["ess"],
        **phases,
    }


def warm_rounds(stage, entries, num_rounds, unit=None):
    """Start every contestant's process, then let them sample in turn.

    Models contain `unit`, or one that no model has had before.

    Returns
    -------
    dict
        Entry: list of runs, each with ``round``.
    dict
        Entry: its first process, as `cold_run` describes one.
    """
    workers, first, ratios = {}, {}, {}

    def start(entry):
        try:
            workers[entry] = stage.start(entry, unit=unit)
            first[entry] = _first_call(stage, workers[entry])
            if entry.library in ("stan", "pymc"):
                ratios[entry] = workers[entry].ask(calibrate=new_seed())["ratio"]
        except (WorkerError, OSError) as error:
            stage.fail(entry, "start", error)
            if entry in workers:
                workers.pop(entry).close()

    try:
        with ThreadPoolExecutor(NUM_CORES) as pool:  # nobody is timed yet
            list(pool.map(start, [entry for entry in entries if not entry.first_is_cold]))
        for entry in entries:
            if entry.first_is_cold:
                start(entry)
        runs = {entry: [] for entry in entries if entry in workers}
        order = random.Random(1)
        for i in range(num_rounds):
            print(f"  round {i + 1}", flush=True)
            for entry in order.sample([e for e in entries if e in workers], len(workers)):
                if sum(run["seconds"] for run in runs[entry]) > SECONDS:
                    continue
                try:
                    _one_round(stage, workers[entry], i, runs[entry], ratios.get(entry, 1.0))
                except WorkerError as error:
                    stage.fail(entry, f"round {i + 1}", error)
                    workers.pop(entry).close()
    finally:
        for worker in workers.values():
            worker.close()
    return runs, first


def _one_round(stage, worker, number, runs, ratio):
    began, calls = time.monotonic(), 0
    while calls < 1 or (time.monotonic() - began < CALLS_SECONDS and calls < MOST_CALLS):
        run = stage.call(worker, new_seed())
        if run["num_gradients"] is not None:
            run["num_gradients"] = round(run["num_gradients"] * ratio)
        runs.append({"round": number, **run})
        calls += 1


def cold_rounds(stage, entries, num_rounds, first):
    """Time cold processes of every contestant in turn, models never seen before.

    Returns
    -------
    dict
        Entry: list of `cold_run`.
    dict
        Entry: list of `cold_run` where caches differ: Stan with the model already compiled,
        bayeslib with nothing cached.
    """
    colds = {entry: [first[entry]] if entry.first_is_cold else [] for entry in entries}
    others = {entry: [] for entry in entries}
    order, left = random.Random(2), list(entries)
    for i in range(num_rounds):
        print(f"  cold processes, round {i + 1}", flush=True)
        for entry in order.sample(left, len(left)):
            try:
                if sum(cold["whole"] for cold in colds[entry]) < SECONDS:
                    colds[entry].append(cold_run(stage, entry))
                if entry.library == "stan":
                    others[entry].append(cold_run(stage, entry, unit=first[entry]["unit"]))
                if entry.is_ours and i == 0:
                    others[entry].append(cold_run(stage, entry, fresh=f"nothing-{new_seed()}"))
            except WorkerError as error:
                stage.fail(entry, "cold process", error)
                left.remove(entry)
    return colds, others
