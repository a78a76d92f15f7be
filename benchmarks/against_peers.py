"""`nuts` against other libraries on five posteriors, in one interleaved run.

What is measured, how, and the form of the results: benchmarks/README.md.
"""

import datetime
import json
import subprocess
import tempfile
from pathlib import Path

from .contest import contestants, problems, rounds, rows, tables, truth, verdicts

QUICK_ROUNDS, COLD_ROUNDS = 2, 5
QUICK = ("gaussian_2", "schools")


def measure(quick=False, num_rounds=None, num_cold=None, posteriors=None):
    """Run the contest and print its tables.

    Parameters
    ----------
    quick : bool
        Two posteriors, two rounds, one cold process each, unless the others say otherwise.
    num_rounds, num_cold : int, optional
        Rounds of warm calls (else each posterior's own number), and of cold processes.
    posteriors : sequence of str, optional
        Names from `contest.problems`.

    Returns
    -------
    dict
        See benchmarks/README.md.
    """
    num_rounds = num_rounds or (QUICK_ROUNDS if quick else None)
    num_cold = num_cold or (1 if quick else COLD_ROUNDS)
    names = posteriors or (QUICK if quick else tuple(problems.PROBLEMS))
    chosen, found, failures = {}, [], []
    with tempfile.TemporaryDirectory(prefix="bench-", ignore_cleanup_errors=True) as folder:
        caches = Caches(Path(folder))
        for name in names:
            count = num_rounds or problems.PROBLEMS[name].num_rounds
            print(f"{name}: {count} rounds, then {num_cold} of cold processes", flush=True)
            stage = rounds.Stage(name, truth.mean(name), Path(folder), caches)
            here = _contest(stage, count, num_cold)
            tables.print_rows(here)
            when = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
            chosen[name] = vars(problems.PROBLEMS[name]) | {"num_rounds": count, "date": when}
            found += here
            failures += stage.failures
    judged = verdicts.verdicts_of(found)
    tables.print_verdicts(judged)
    for failure in failures:
        print("dropped out: {contestant} on {posterior}, {stage}: {reason}".format(**failure))
    return {
        "schema": 1,
        "settings": {
            "num_chains": problems.NUM_CHAINS,
            "num_warmup": problems.NUM_WARMUP,
            "num_samples": problems.NUM_SAMPLES,
            "target_accept": problems.TARGET_ACCEPT,
            "num_cores": problems.NUM_CORES,
            "num_cold": num_cold,
            "quick": quick,
        },
        "posteriors": chosen,
        "versions": versions(),
        "rows": found,
        "verdicts": judged,
        "failures": failures,
    }


def merge(stored, found):
    """Put the posteriors of one run in the place of the same in an earlier result.

    Everything else of the result is the new run's, such as the machine; verdicts are passed anew.
    """
    parts = {name: (found if name in found["posteriors"] else stored) for name in problems.PROBLEMS}
    parts = {name: part for name, part in parts.items() if name in part["posteriors"]}
    rows = [row for n, part in parts.items() for row in part["rows"] if row["posterior"] == n]
    return found | {
        "posteriors": {name: part["posteriors"][name] for name, part in parts.items()},
        "rows": rows,
        "verdicts": verdicts.verdicts_of(rows),
        "failures": [
            failure
            for name, part in parts.items()
            for failure in part["failures"]
            if failure["posterior"] == name
        ],
    }


def _contest(stage, num_rounds, num_cold):
    entries = [e for e in contestants.ENTRIES if e.variant(stage.posterior) is not None]
    runs, first = rounds.warm_rounds(stage, entries, num_rounds)
    entries = [entry for entry in entries if runs.get(entry)]
    colds, others = {}, {}
    if problems.PROBLEMS[stage.posterior].ranked:
        usual = [entry for entry in entries if entry.num_warmup == problems.NUM_WARMUP]
        colds, others = rounds.cold_rounds(stage, usual, num_cold, first)
    return rows.rows_of(stage.posterior, runs, colds, others, entries)


class Caches:
    """Where the processes of a run keep what they compile: below one folder that goes away.

    PyTensor's is kept between runs, like the engine's own cache that every row is allowed.
    """

    def __init__(self, folder):
        self._folder = folder

    def __call__(self, entry, fresh):
        if entry.is_ours:
            return {"NUMBA_CACHE_DIR": str(self._folder / (fresh or "numba"))}
        return {
            "XDG_CACHE_HOME": str(self._folder / "cache"),
            "PYTENSOR_FLAGS": f"base_compiledir={contestants.PEERS / 'pytensor'}",
        }


def versions():
    """Return {package: version} of the peers' environment; empty where there is none."""
    python = contestants.PEERS / "bin" / "python"
    if not python.exists():
        return {}
    code = (
        "import importlib.metadata as m, json, platform; "
        "print(json.dumps({'python': platform.python_version()} | {d.metadata['Name'].lower(): "
        "d.version for d in m.distributions()}))"
    )
    run = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True)
    wanted = (Path(__file__).parent / "peers.in").read_text(encoding="utf-8").split()
    found = json.loads(run.stdout)
    return {name: found.get(name) for name in ("python", *wanted)}
