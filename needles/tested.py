"""What the tests found: ``tests/results/trust.json``, read for the page on trust and its report."""

import json
import os
import platform
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import special

ALPHA = 1e-6  # how often a test of a right program may fail
HELD_LIMIT = 5.5  # stated errors by which a run on a held-back posterior may be off
IMPROPER = "no integral"  # the held-back posterior that is no density
# Kinds of tests by what a test calls its statistic, or by the item of the plan that it carries.
EXACT = {
    "return of a leapfrog path": "S2 paths return",
    "volume under leapfrog": "S3 volume",
    "order of leapfrog": "S4 second order",
    "shadow energy of leapfrog": "S5 shadow energy",
    "invariance of a matrix": "S6 transition matrix",
}
BY_CHANCE = {
    "conservation": "S8 a few steps",
    "reversibility": "S9 there and back",
    "acceptance": "S10 known acceptance",
    "means of batches": "batch means",
    "truth": "M1 stated errors",
}
OF_ITEM = {
    "M1": "M1 whole runs",
    "M2": "M2 real data",
    "M3": "M3 hidden draw",
    "M4": "M4 joint test",
    "M5": "M5 calibration",
    "M6": "M6 evidence",
}


class Test(NamedTuple):
    """One test of the record, with whatever it found."""

    file: str
    function: str
    parameters: str
    seconds: float
    outcome: str
    run: dict
    items: list
    slow: bool
    found: dict
    count: int


def machine():
    """What this runs on: processor, cores, system."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        lines = []
    models = (line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    name = next(models, platform.processor() or platform.machine())
    return {"processor": name, "cores": os.cpu_count(), "system": platform.system()}


def tests_of(file, function, group, runs):
    """Yield the tests that a record has of a function."""
    for parameters, value in group["tests"].items():
        value = value if isinstance(value, list) else [value, group["run"], "passed"]
        seconds, run, outcome, *count = value
        yield Test(
            file, function, parameters, float(seconds), outcome, runs[run],
            group.get("items", []), group.get("slow", False),
            group.get("found", {}).get(parameters, {}), count[0] if count else 1,
        )  # fmt: skip


def load(path):
    """Return the tests of a record, as ``make record`` writes it."""
    stored = json.loads(Path(path).read_text("utf-8"))
    return [
        test
        for file, functions in stored["files"].items()
        for function, group in functions.items()
        for test in tests_of(file, function, group, stored["runs"])
    ]


def day(run):
    """Return the day of a run."""
    return run["date"][:10]


def number(tests):
    """Return how many tests there are; one entry may stand for several."""
    return sum(test.count for test in tests)


def verdict(tests, **words):
    """Return what came of some tests, in words, or in other words for an outcome."""
    outcomes = Counter()
    for test in tests:
        outcomes[words.get(test.outcome, test.outcome)] += test.count
    if not tests:
        return "not recorded"
    passed = words.get("passed", "passed")
    if set(outcomes) == {passed}:
        return passed if outcomes[passed] == 1 else f"all {outcomes[passed]:,} {passed}"
    return ", ".join(f"{count:,} {outcome}" for outcome, count in outcomes.most_common())


def none_or(count, words):
    """Return a count before some words, "none" for 0."""
    return f"{count or 'none'} {words}"


# Statistics beside their limits


class Dot(NamedTuple):
    """A statistic over its limit; `right` is what the program was."""

    kind: str
    ratio: float
    right: bool


def z_limit(count):
    """Return what the largest of `count` |z| exceeds once in a million times."""
    return -special.ndtri(0.5 * ALPHA / max(count, 1))


def kind_of(test):
    """Return the item of chance that a test carries, or None."""
    return next((item for item in test.items if item in OF_ITEM), None)


def is_planted(test):
    """Return whether a test plants a bug."""
    return test.file.endswith("test_trust_mutants.py")


def dots_of(test):
    """Yield the statistics of a test; of planted bugs those that chance has a part in."""
    for what, kept in test.found.get("measured", {}).items():
        kind = BY_CHANCE.get(what) or (None if is_planted(test) else EXACT.get(what))
        if kind and "within" in kept:
            yield Dot(kind, kept["within"][0] / kept["limit"], True)
        if kind and kept.get("beyond", [None])[0] is not None:
            yield Dot(kind, kept["beyond"][0] / kept["limit"], False)
    kind = OF_ITEM.get(kind_of(test))
    for found in test.found.get("right", []) if kind else []:
        z = [x for x in found["z"] if x is not None]
        if z:
            yield Dot(kind, max(z) / z_limit(len(z)), True)
    for found in test.found.get("wrong", []) if kind else []:
        if found["z"] is not None:
            yield Dot(kind, found["z"] / z_limit(found["count"]), False)


def dots(tests):
    """Return the statistics of all tests."""
    return [dot for test in tests for dot in dots_of(test)]


def powers(tests):
    """Return the biases, in standard deviations, that a few steps would have shown."""
    found = [v for t in tests if "S8" in t.items for v in t.found.get("power", [])]
    return [v["bias"] for v in found if v["bias"] is not None]


def p_of(z):
    """Return the two-sided p-values of some |z|."""
    return 2 * special.ndtr(-np.asarray(z))


def pvalues(tests):
    """Return p-values of right programs by item: uniform, if all is well."""
    found = {item: [] for item in OF_ITEM}
    for test in tests:
        for value in test.found.get("right", []) if kind_of(test) else []:
            z = [x for x in value["z"] if x is not None]
            found[kind_of(test)] += [*p_of(z)]
    return {item: np.sort(p) for item, p in found.items()}


def errors_of(tests):
    """Return |error| / standard error of every statistic on real data, by posterior."""
    found = {}
    for test in tests:
        for value in test.found.get("right", []) if "M2" in test.items else []:
            name = value["name"].removeprefix("nuts ")
            found[name] = np.array([z for z in value["z"] if z is not None])
    return found


def fresh(folder):
    """Return {name of a check: its |z|, a row a seed} of checks repeated with fresh seeds."""
    found = {}
    for path in sorted(Path(folder).glob("*.json")):
        for test in load(path):
            for value in test.found.get("fresh", []):
                if value["seed"][-1] == 0:  # not the larger second stage
                    z = np.array(value["z"], dtype=float)
                    found.setdefault(value["name"], []).append(z)
    return found


# Posteriors that were held back


def no_error(run):
    """Return whether no finite error can be had of a run that returned draws."""
    return run["said"] != "refused" and run["z"] is None


def far_off(run):
    """Return whether a run's draws are off by more than the limit."""
    return run["said"] != "refused" and run["z"] is not None and run["z"] > HELD_LIMIT


def held_back(tests):
    """Return the runs on posteriors that were held back."""
    return [run for test in tests for run in test.found.get("heldback", [])]


def longer(tests):
    """Return the flagged runs among them, made again with four times the draws."""
    return [run for test in tests for run in test.found.get("longer", [])]


def again(tests):
    """Return what came of `nuts` with more seeds on each posterior that was held back."""
    return [found for test in tests for found in test.found.get("seeds", [])]


def runs_that(said, runs, sampler=None):
    """Return the runs that were "trusted", "flagged" or "refused", of one sampler or of all."""
    return [r for r in runs if r["said"] == said and sampler in (None, r["sampler"])]


def count_of_lies(runs):
    """Return how many runs that said nothing against themselves were wrong."""
    return sum(far_off(run) or no_error(run) for run in runs_that("trusted", runs))


# Fits and weighted methods


def fits(tests):
    """Return counts of answers on many posteriors, an entry a method and seed, each run once."""
    return [
        run
        for test in tests
        for run in test.found.get("outside", [])
        if test.function.endswith("_over_seeds")
        and run["method"] != "resample"  # its draws are those of "importance"
        and (run["method"] != "laplace" or run["seed"] == 0)  # which draws nothing
    ]


def fit_table(runs):
    """Return {method: silent answers, of these wrong, flagged ones, of these wrong}, and of all."""
    rows = {}
    for run in runs:
        quiet, lies = run["unflagged"], run["silent"]
        counts = np.array([quiet, lies, run["runs"] - quiet, run["wrong"] - lies])
        for name in (run["method"], "all"):
            rows[name] = rows.get(name, 0) + counts
    if rows:
        rows["all"] = rows.pop("all")  # last
    return {name: [*map(int, counts)] for name, counts in rows.items()}
