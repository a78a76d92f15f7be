"""One row for each contestant on each posterior, from its runs and cold processes."""

import numpy as np

from . import statistics
from .problems import NUM_WARMUP
from .statistics import spread

THOUSAND = 1000
CONVERGED = 1.05  # R-hat above which an effective sample size means nothing


def rows_of(posterior, runs, colds, others, entries):
    """Return the rows of a posterior, in the order of `entries`.

    Parameters
    ----------
    posterior : str
    runs : dict
        Entry: warm runs, see `rounds.warm_rounds`.
    colds, others : dict
        Entry: cold processes, see `rounds.cold_rounds`.
    entries : sequence of Entry

    Returns
    -------
    list of dict
        Described in benchmarks/README.md.
    """
    rows = []
    for entry in entries:
        if runs.get(entry):
            warm = [_derived(run) for run in runs[entry]]
            row = _row(posterior, entry, warm, colds.get(entry, ()), others.get(entry, ()))
            rows.append(row)
    return rows


def _derived(run):
    run = dict(run)
    gradients = run["num_gradients"]
    run["ess_per_second"] = run["ess"] / run["seconds"]
    run["ess_per_cpu_second"] = run["ess"] / max(run["cpu_seconds"], 1e-9)
    run["gradients_per_second"] = gradients and gradients / run["seconds"]
    run["ess_per_1000_gradients"] = gradients and 1000.0 * run["ess"] / gradients
    return run


_KEYS = (
    "seconds", "cpu_seconds", "num_gradients", "ess", "rhat", "ess_per_second",
    "ess_per_cpu_second", "gradients_per_second", "ess_per_1000_gradients",
)  # fmt: skip


def _row(posterior, entry, runs, colds, others):
    row = {
        "posterior": posterior,
        "contestant": entry.name,
        "library": entry.library,
        "gradient": entry.gradient,
        "compiles": entry.compiles,
        "as_documented": entry.as_documented,
        "num_warmup": entry.num_warmup,
        "variant": entry.variant(posterior),
        "cold_variant": entry.variant(posterior, cold=True),
    }
    row |= {key: spread([run[key] for run in runs]) for key in _KEYS}
    row["converged"] = row["rhat"] is not None and row["rhat"]["median"] <= CONVERGED
    row["agreement"] = statistics.agreement(runs)
    if entry.is_ours:
        row["flagged"] = sum(bool(run["problems"]) for run in runs)
        row["problems"] = sorted({problem for run in runs for problem in run["problems"]})[:3]
    row["cold"] = _cold(row, colds)
    row["cold_other"] = _cold(row, others)
    row["runs"] = [{key: run[key] for key in ("round", "seed", *_KEYS)} for run in runs]
    return row


_COLD_KEYS = (
    "import_seconds", "build_seconds", "start_up", "first_call", "whole", "peak_mib",
)  # fmt: skip


def _cold(row, colds):
    """Summarise cold processes; the length of a warm call and its ESS are the rounds' medians."""
    if not colds:
        return None
    warm, ess = row["seconds"]["median"], row["ess"]["median"]
    summary = {key: spread([cold[key] for cold in colds]) for key in _COLD_KEYS}
    summary["to_1000"] = spread(
        [
            statistics.time_to(THOUSAND, cold["start_up"], cold["first_call"], warm, ess)
            for cold in colds
        ]
    )
    return summary


def is_peer(row):
    """Whether a row is of another library, with the warm-up that everybody has."""
    return row["library"] != "bayeslib" and row.get("num_warmup", NUM_WARMUP) == NUM_WARMUP


def median(row, *keys):
    """Look up a row's median; nan where there is none."""
    for key in keys:
        row = None if row is None else row.get(key)
    return np.nan if row is None else row["median"]
