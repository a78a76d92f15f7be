"""What was timed: ``benchmarks/results``, read for the page on speed and its report."""

import json
from pathlib import Path

import numpy as np

BENCHMARKS = (
    "against_peers", "against_peers_2", "against_c", "ising", "gradients", "start_up", "growth",
    "witness", "posteriordb",
)  # fmt: skip
VERDICTS = ("not met", "too noisy to say", "not measured", "met", "no promise")  # bad news first
SHORT = {
    "bayeslib, hand-written gradient": "bayeslib, hand",
    "bayeslib, automatic gradient": "bayeslib, auto",
    "bayeslib, naive loop, automatic": "bayeslib, naive",
    "bayeslib, whole arrays, automatic": "bayeslib, arrays",
    "Stan": "Stan (PyStan)",
    "gaussian_2": "Gaussian, 2",
    "funnel_10": "funnel, 10",
    "schools": "schools, 10",
    "logistic": "logistic, 25",
    "gaussian_100": "Gaussian, 100, dense",
    "arrays_25": "logistic in whole arrays, 25",
    "arrays_100": "logistic in whole arrays, 100",
    "arrays_300": "logistic in whole arrays, 300",
    "groups_200": "hierarchy of 200 groups, 202",
}
BY = {
    "hand": "gradient by hand",
    "auto": "automatic gradient",
    "naive": "automatic gradient of a naive loop",
    "arrays": "automatic gradient of whole arrays",
}


def load(folder):
    """Return {name: stored benchmark}, of what ``make bench`` has written to a folder."""
    paths = {name: Path(folder) / f"{name}.json" for name in BENCHMARKS}
    return {name: json.loads(path.read_text("utf-8")) for name, path in paths.items()}


def short(name):
    """Return the name of a contestant or of a posterior as tables have it."""
    return SHORT.get(name, name)


def middle(row, *keys):
    """Return the median under some keys of a row; nan where there is none."""
    for key in keys:
        row = row.get(key) if row else None
    return row["median"] if row else np.nan


def spoken(x):
    """Return a positive number in two digits, in three from a hundred upwards."""
    if not np.isfinite(x):
        return "–"
    return f"{float(f'{x:.3g}'):,.0f}" if x >= 99.5 else f"{x:#.2g}".rstrip(".")


def apart(x):
    """Return a number as `spoken`, with a third digit where two would say that it is 1."""
    return f"{x:#.3g}" if spoken(x) == "1.0" else spoken(x)


def between(values):
    """Return the least and the largest of some numbers."""
    values = [v for v in values if np.isfinite(v)]
    if not values:
        return "an unknown number of"
    return " to ".join(dict.fromkeys(map(spoken, (min(values), max(values)))))


def ranked(peers):
    """Return the posteriors on which the contest ranks, with their titles."""
    return {k: v["title"] for k, v in peers["posteriors"].items() if v.get("ranked")}


def ours(peers, posterior, gradient):
    """Return the library's own row for a posterior and a kind of gradient, or None."""
    key = (posterior, "bayeslib", gradient)
    rows = (r for r in peers["rows"] if (r["posterior"], r["library"], r["gradient"]) == key)
    return next(rows, None)


def compared(peers, claim, posterior, what="median"):
    """Return the median of a verdict, or the "low" or "high" end of its interval, or nan."""
    verdicts = (v for v in peers["verdicts"] if v["posterior"] == posterior)
    found = (v["measured"][what] for v in verdicts if v["claim"].startswith(claim))
    return next(found, np.nan)


def lead(peers, posterior, gradient):
    """Return how many times the fastest peer's effective draws a second."""
    return compared(peers, f"effective draws a second, {BY[gradient]}:", posterior)


def outcomes(verdicts):
    """Return how many of some verdicts there are of each word."""
    said = [v["verdict"] for v in verdicts]
    return ", ".join(f"{said.count(word)} {word}" for word in VERDICTS if word in said) or "none"


def judged(rows):
    """Return {method: silent answers to posteriordb, of these wrong, flagged ones, of these wrong}.

    Wrong are a mean six of its errors and half a posterior standard deviation off, or a width a
    fifth too small; a refusal is flagged, and not wrong.
    """
    counts = {}
    for row in rows:
        wrong = "sds" in row and (
            not (row["errors"] <= 6.0 or row["sds"] <= 0.5) or not row["spread"] >= 0.8
        )
        at = 2 * bool(row["problems"])
        here = counts.setdefault(row["method"], [0, 0, 0, 0])
        here[at], here[at + 1] = here[at] + 1, here[at + 1] + wrong
    return counts


def grown(rows, family):
    """Return the rows of a family that grows, by size; runs that did not converge are left out."""
    return sorted(
        (r for r in rows if r["family"] == family and r["converged"]), key=lambda r: r["size"]
    )


def shared(rows, family):
    """Return the rows of a family by size, where the library and at least one other finished."""
    sizes = {}
    for row in grown(rows, family):
        sizes.setdefault(row["size"], []).append(row)
    return [here for here in sizes.values() if len(here) > 1 and any(map(_is_ours, here))]


def _is_ours(row):
    return row["contestant"].startswith("bayeslib")


def times_less(rows, of):
    """Return how many times the library's own row is surpassed by the least of the others."""
    mine = next(of(row) for row in rows if _is_ours(row))
    return min(of(row) for row in rows if not _is_ours(row)) / mine


def bars(rows, mine, others):
    """Return `times_less` to a thousand draws, from one end of our bar to one end of theirs."""
    return times_less(rows, lambda row: row["to_1000"][mine if _is_ours(row) else others])


def lost_from(rows, family, *, ends=("low", "high")):
    """Return the first rows of a family, by size, with another quicker, bars apart; else None."""
    return next((here for here in shared(rows, family) if bars(here, *ends) < 1.0), None)
