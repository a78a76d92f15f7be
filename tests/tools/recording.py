"""What the tests found, kept for the book's pages: nothing happens unless RECORD names a file.

``make record`` sets it. Tests and their helpers call `measured` and `note`, which write to the test
that is running; pytest's workers send that with their reports, and the one process that has all
reports merges them into the file, test by test: what a run did not run stays as it was. Of tests
that found nothing and passed, a number is kept in place of their names, for each choice of tests.
"""

import contextlib
import json
import os
import platform
import time
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest
from scipy import special

from needles.tested import machine, tests_of

SCHEMA = 1
REST = "…"  # stands for the tests of a function or of a file that are not named
PACKAGES = ("numpy", "scipy", "numba", "bayeslib")
KEPT = ("seconds", "outcome", "count", "run", "items", "slow", "found")  # of a test
FAR = 1e300  # in place of nan and infinity, which JSON has not
_found = None  # what the running test has found; None where nobody asks


def measured(what, values, limit, *, right):
    """Keep the largest of |values| beside its limit: a call for each program that is judged.

    Only who calls knows what the program is: a wrong one may well have some values below the limit.
    Kept are, as "within", the largest of right programs, and as "beyond" the smallest of wrong
    ones: each is named by where it should lie, and `misfiled` finds those that lie elsewhere.
    """
    if _found is None:
        return
    largest = float(np.nan_to_num(np.max(np.abs(values)), nan=FAR, posinf=FAR))
    side, worse = ("within", max) if right else ("beyond", min)
    kept = _found.setdefault("measured", {}).setdefault(what, {})
    worst, count = kept.get(side, [largest, 0])
    kept[side] = [worse(worst, largest), count + np.size(values)]
    kept["limit"] = float(limit)


def misfiled(found):
    """Say what lies on the other side of its limit: of a test that passes, nothing may."""
    for what, kept in found.get("measured", {}).items():
        (within, _), (beyond, _) = kept.get("within", [0.0, 0]), kept.get("beyond", [FAR, 0])
        if not within < kept["limit"]:
            yield f"{what}: {within:.3g} of a right program is not below {kept['limit']:.3g}"
        if not beyond > kept["limit"]:
            yield f"{what}: {beyond:.3g} of a wrong program is not above {kept['limit']:.3g}"


def note(what, **values):
    """Keep some values under a name; a second note of that name stands beside the first."""
    if _found is not None:
        _found.setdefault(what, []).append(values)


@contextlib.contextmanager
def unheard():
    """Keep nothing meanwhile, of a test over a planted bug that it does not know; yield it all."""
    global _found
    kept, _found = _found, {}
    try:
        yield _found
    finally:
        _found = kept


def z_of(pvalues):
    """The |z| that have these two-sided p-values."""
    return -special.ndtri(0.5 * np.maximum(np.asarray(pvalues, dtype=float), 1e-300))


def plain(value):
    """Return a value as JSON has it, numbers to three digits."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, (np.ndarray, np.generic)):
        return plain(value.tolist())
    if isinstance(value, float):
        return float(f"{value:.3g}") if np.isfinite(value) else None
    return value


class Recorder:
    """The plugin: in a worker it listens, in the process with all reports it also writes."""

    def __init__(self, config, path):
        self.path, self.root = Path(path).absolute(), config.rootpath
        self.is_worker = hasattr(config, "workerinput")
        self.collected, self.reports, self.began = set(), {}, time.time()
        if not self.is_worker:
            read(self.path)  # damage is told before anything runs, not after

    def pytest_itemcollected(self, item):
        self.collected.add(item.nodeid)
        items = sorted({name for mark in item.iter_markers("trust") for name in mark.args})
        slow = item.get_closest_marker("slow") is not None
        item.user_properties.append(("record", {"items": items, "slow": slow}))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item):
        global _found
        found = _found = {}
        try:
            result = yield
            assert not [*misfiled(found)], "; ".join(misfiled(found))
            return result
        finally:
            item.user_properties.append(("record", {"found": plain(found)}))
            _found = None

    def pytest_runtest_logreport(self, report):
        if self.is_worker:
            return
        entry = self.reports.setdefault(report.nodeid, {"seconds": 0.0, "outcome": "passed"})
        entry["seconds"] += report.duration
        if report.outcome != "passed" and entry["outcome"] != "failed":
            entry["outcome"] = report.outcome
        for name, values in report.user_properties:
            if name == "record":
                entry |= values

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node, error):
        self.collected |= set(getattr(node, "workeroutput", {}).get("collected", ()))

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session):
        if self.is_worker:
            session.config.workeroutput["collected"] = sorted(self.collected)
        elif self.reports:
            run = {
                "date": datetime.fromtimestamp(self.began, UTC).isoformat(timespec="minutes"),
                "seconds": round(time.time() - self.began, 1),
                "marks": session.config.option.markexpr,
                "machine": machine(),
                "versions": {"python": platform.python_version()}
                | {name: version(name) for name in PACKAGES},
            }
            named = any("::" in argument for argument in session.config.args)
            known = set() if named else self.collected
            whole = not (named or session.config.option.keyword)
            tests = merge(read(self.path), self.reports, run, known, self.root, whole=whole)
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_text(written(tests, stamp_in(self.path)), "utf-8")


def register(config):
    """Record this session if RECORD names a file."""
    path = os.environ.get("RECORD")
    if path:
        config.pluginmanager.register(Recorder(config, path), "recorder")


def split(nodeid):
    """Return file, function and parameters of a test's name."""
    file, _, rest = nodeid.partition("::")
    function, _, parameters = rest.partition("[")
    return file, function, parameters.removesuffix("]")


def read(path):
    """Return what a file holds as {test: entry}, each entry with the run that it comes from."""
    return dict(entries(json.loads(path.read_text("utf-8")))) if path.exists() else {}


def stamp_in(path):
    """Return the stamp of a record, see `stamp`: it stays until another is put in its place."""
    return json.loads(path.read_text("utf-8")).get("stamp", {}) if path.exists() else {}


def entries(stored):
    """Yield (test, entry) of a record; the form is that of `written`."""
    for file, functions in stored["files"].items():
        for function, group in functions.items():
            for test in tests_of(file, function, group, stored["runs"]):
                name = f"{file}::{function}" + f"[{test.parameters}]" * bool(test.parameters)
                yield name, {key: getattr(test, key) for key in KEPT}


def merge(old, new, run, known, root, *, whole):
    """Return all entries: the new ones, and the old ones of tests that still are there.

    A test is gone when its file is, or when its file was collected (`known`) without it. Tests that
    are not named are counted anew where all that have the marks of the run did run (`whole`).
    """
    files, entries = {split(test)[0] for test in known}, {}
    for test, entry in old.items():
        file, _, parameters = split(test)
        same = whole and entry["run"]["marks"] == run["marks"]
        there = not same if parameters.startswith(REST) else test in known
        if (there or file not in files) and test not in new and (root / file).exists():
            entries[test] = entry
    nothing = {"items": [], "slow": False, "found": {}, "count": 1}
    for test, entry in new.items():
        entry = nothing | entry | {"run": run}
        file, function, parameters = split(test)
        unnamed = entry["outcome"] == "passed" and not entry["found"]
        if unnamed and (parameters or not entry["items"]):
            if not whole:
                continue
            test = f"{file}::{function if entry['items'] else REST}[{REST} {run['marks']}]"
            so_far = entries.get(test, {"seconds": 0.0, "count": 0, "slow": False})
            entry = entry | {
                "seconds": round(so_far["seconds"] + entry["seconds"], 2),
                "count": so_far["count"] + 1,
                "slow": so_far["slow"] or entry["slow"],
            }
        entries[test] = entry
    return entries


def written(tests, stamp=None):
    """Return the record as text: a line for each function, runs that nothing comes from dropped."""
    runs, files = [], {}
    for test, entry in sorted(tests.items()):
        if entry["run"] not in runs:
            runs.append(entry["run"])
        file, function, parameters = split(test)
        files.setdefault(file, {}).setdefault(function, {})[parameters] = entry
    lines = []
    for file, functions in files.items():
        body = (f"  {dump(name)}:{dump(line(group, runs))}" for name, group in functions.items())
        lines.append(f" {dump(file)}:{{\n" + ",\n".join(body) + "}")
    head = f'{{"schema":{SCHEMA},\n"stamp":{dump(stamp or {})},\n"runs":[\n '
    return head + ",\n ".join(map(dump, runs)) + '],\n"files":{\n' + ",\n".join(lines) + "}}\n"


def line(group, runs):
    """One function of a test file; a plain number stands for a test that passed in its run."""
    run = max(runs.index(entry["run"]) for entry in group.values())
    tests = {}
    for parameters, entry in group.items():
        told = [round(entry["seconds"], 2), runs.index(entry["run"]), entry["outcome"]]
        if entry["count"] > 1:
            tests[parameters] = [*told, entry["count"]]
        else:
            tests[parameters] = told[0] if told[1:] == [run, "passed"] else told
    more = {
        "items": sorted({item for entry in group.values() for item in entry["items"]}),
        "slow": any(entry["slow"] for entry in group.values()),
        "found": {name: entry["found"] for name, entry in group.items() if entry["found"]},
    }
    return {"run": run, "tests": tests} | {key: value for key, value in more.items() if value}


def dump(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
