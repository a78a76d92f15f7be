"""One library on one posterior in one process: reads requests, a line of JSON each, and answers.

``python -m benchmarks.contest.worker LIBRARY POSTERIOR VARIANT UNIT SEED``. UNIT is a number next
to 1 that the model's code contains, so that no cache can have seen the model; SEED is that of the
first request, which pystan wants to know when it builds. Requests: ``{"seed": …, "draws": path}``
samples and stores the draws; ``{"calibrate": seed}`` asks for all gradients over those after the
warm-up, where a library reports only the latter unless it is slowed down.
"""

import importlib
import json
import os
import sys
import time
import traceback
from pathlib import Path

from .problems import NUM_CORES


def main(library, posterior, variant, unit, seed):
    """Serve requests until stdin ends; standard output is for answers, not for the libraries'."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:NUM_CORES])
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def answer(**fields):
        answers.write(json.dumps(fields) + "\n")
        answers.flush()

    try:
        began = time.monotonic()
        module = importlib.import_module(f".with_{library}", __package__)
        imported = time.monotonic()
        contestant = module.Contestant(posterior, variant, float(unit), int(seed))
        built = time.monotonic()
        answer(import_seconds=imported - began, build_seconds=built - imported)
        for line in sys.stdin:
            request = json.loads(line)
            if "calibrate" in request:
                answer(ratio=contestant.calibrate(request["calibrate"]))
            else:
                answer(**_sample(contestant, **request))
    except Exception as error:
        answer(error=f"{type(error).__name__}: {error}", traceback=traceback.format_exc())


def _sample(contestant, seed, draws):
    import numpy as np

    if hasattr(contestant, "prepare"):
        contestant.prepare(seed)
    before = _cpu_seconds()
    began = time.monotonic()
    result = contestant.call(seed)
    ended = time.monotonic()
    after, peak = _cpu_seconds(), _peak_mib()
    values, more = contestant.read(result)
    np.save(draws, values)
    return {
        "seconds": ended - began,
        "ended": ended,
        "cpu_seconds": after - before,
        "peak_mib": peak,
        **more,
    }


def _cpu_seconds():
    """Processor time of this process, of children that ended and of descendants that live."""
    children = os.times()
    total = time.process_time() + children.children_user + children.children_system
    ticks = os.sysconf("SC_CLK_TCK")
    for pid in descendants(os.getpid()):
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        total += sum(map(int, fields[11:15])) / ticks
    return total


def _peak_mib():
    """The largest this process has been, in MiB; nan where the system does not say."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return float("nan")
    return int(status.split("VmHWM:")[1].split()[0]) / 1024.0


def descendants(pid):
    """List the processes below `pid`; empty where there is no /proc."""
    children = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = path.read_text().rsplit(")", 1)[1].split()[1]
        except OSError:
            continue
        children.setdefault(int(parent), []).append(int(path.parent.name))
    found, waiting = [], [pid]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return found


if __name__ == "__main__":
    main(*sys.argv[1:])
