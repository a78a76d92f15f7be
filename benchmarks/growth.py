"""Seconds to a thousand effective draws as models grow, beside four libraries that compile.

Three families (`contest.problems`): a correlated Gaussian and a hierarchy of groups against the
dimension, a logistic regression against the rows (ours by its helper). All have their gradients
derived. A size is one stage of the contest: a process each, warm calls in turn, a seed each.
The regression is also written with whole arrays, and nutpie runs with its own warm-up as well.
"""

import dataclasses
import tempfile
from pathlib import Path

import numpy as np

from .against_peers import Caches, versions
from .contest import contestants, problems, rounds
from .contest.rows import CONVERGED, THOUSAND
from .contest.statistics import spread, time_to

DIMENSIONS = 3, 10, 30, 100, 300, 1000
SIZES = {"ar": DIMENSIONS, "groups": DIMENSIONS, "rows": (1000, 10_000, 100_000, 1_000_000)}
VARIANTS = {
    "bayeslib, automatic gradient": "auto", "bayeslib, whole arrays, automatic": "arrays",
    "BlackJAX": "pmap", "NumPyro, one jit": "pmap", "nutpie": "numba",
    "nutpie, its own warm-up": "own", "Stan": "stan",
}  # fmt: skip
ROUNDS = 5
SLOW = 10.0  # seconds a call, after which a contestant is not asked for the next size


def measure(num_rounds=ROUNDS):
    """Print a line a size and contestant, and return the rows, with what did not answer."""
    rows, failures = [], []
    with tempfile.TemporaryDirectory(prefix="growth-", ignore_cleanup_errors=True) as folder:
        caches = Caches(Path(folder))
        _compile(caches, Path(folder))
        for family, sizes in SIZES.items():
            entries = _entries([f"{family}_{size}" for size in sizes])
            for size in sizes:
                name = f"{family}_{size}"
                nothing = np.zeros(problems.dim(name))
                stage = rounds.Stage(name, (nothing, nothing), Path(folder), caches)
                runs, first = rounds.warm_rounds(stage, entries, num_rounds, unit=1.0)
                here = [_row(name, size, e, runs[e], first[e]) for e in entries if runs.get(e)]
                for row in here:
                    print("{contestant:34}{family:8}{size:9}".format(**row), _said(row), flush=True)
                rows += here
                failures += stage.failures
                slow = {r["contestant"] for r in here if r["seconds"]["median"] > SLOW}
                entries = [e for e in entries if runs.get(e) and e.name not in slow]
    return {"slow": SLOW, "rows": rows, "failures": failures, "versions": versions()}


def _compile(caches, folder):
    """Let the library compile its kernels, which count nowhere here, as in the contest."""
    name = f"ar_{DIMENSIONS[0]}"
    stage = rounds.Stage(name, (np.zeros(DIMENSIONS[0]), np.zeros(DIMENSIONS[0])), folder, caches)
    rounds.cold_run(stage, next(entry for entry in _entries([name]) if entry.is_ours))


def _entries(names):
    return [
        dataclasses.replace(e, variants=dict.fromkeys(names, VARIANTS[e.name]), cold_variants={})
        for e in contestants.ENTRIES
        if e.name in VARIANTS and (VARIANTS[e.name] != "arrays" or names[0].startswith("rows"))
    ]


def _row(name, size, entry, runs, first):
    share = entry.num_warmup / (entry.num_warmup + problems.NUM_SAMPLES)
    waited = [time_to(THOUSAND, 0.0, r["seconds"], r["seconds"], r["ess"], share) for r in runs]
    rhat = spread([run["rhat"] for run in runs])
    return {
        "family": problems.family(name), "size": size, "dim": problems.dim(name),
        "contestant": entry.name, "num_warmup": entry.num_warmup,
        "seconds": spread([run["seconds"] for run in runs]),
        "ess": spread([run["ess"] for run in runs]), "to_1000": spread(waited),
        "converged": rhat is not None and rhat["median"] <= CONVERGED,
        "peak_mib": first["peak_mib"],
    }  # fmt: skip


def _said(row):
    waited = row["to_1000"]
    return "{median:9.3g} s [{low:.3g}, {high:.3g}]".format(**waited) + (
        f"{row['peak_mib']:9.0f} MiB" + ("" if row["converged"] else "  did not converge")
    )
