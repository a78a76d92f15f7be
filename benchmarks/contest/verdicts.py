"""What the library promises of its speed, held against the rows: met, not met, or too noisy."""

import numpy as np

from .problems import PROBLEMS
from .rows import is_peer, median
from .statistics import ratio, spread

# Posterior: least bulk-ESS a second, the fastest converged peer's being 1.
ESS_RATE = {
    "hand": {"gaussian_2": 8.0, "schools": 6.0, "logistic": 5.0, "gaussian_100": 2.5},
    "auto": {"gaussian_2": 8.0, "schools": 6.0, "logistic": 6.0, "gaussian_100": 3.0},
    "naive": {"logistic": 1.0},
    "arrays": {"logistic": 1.0},
}
COLD_SMALL, COLD = 4.0, 1.0
MEMORY = 2.0
SMALL = 10
GRADIENT = {
    "hand": "gradient by hand",
    "auto": "automatic gradient",
    "naive": "automatic gradient of a naive loop",
    "arrays": "automatic gradient of whole arrays",
}


def verdicts_of(rows):
    """Return a list of dict: claim, posterior, limit, spread of what was measured, verdict."""
    found = []
    for posterior, problem in PROBLEMS.items():
        here = [row for row in rows if row["posterior"] == posterior]
        ours = {g: _ours(here, g) for g in ("hand", "auto")}
        peers = [row for row in here if is_peer(row)]
        if ours["hand"] is None or not peers:
            continue
        if not problem.ranked:
            found.append(_funnel(posterior, [row for row in ours.values() if row]))
            continue
        for gradient, row in ours.items():
            if row is not None:
                found += _rates(posterior, gradient, row, peers)
                found += _cold(posterior, problem, gradient, row, peers)
        for row in here:
            if row["library"] == "bayeslib" and row["variant"] in ("naive", "arrays"):
                found += _rates(posterior, row["variant"], row, peers)
            if row["variant"] == "own" and ours["auto"] is not None:
                found += _rates(posterior, "auto", ours["auto"], [row], {})
        nutpie = next((row for row in peers if row["library"] == "nutpie"), None)
        if nutpie is not None:
            measured = ratio(ours["hand"]["runs"], nutpie["runs"], "ess_per_1000_gradients")
            found.append(
                _verdict("effective draws per gradient: times nutpie's", posterior, 1.0, measured)
            )
        found += _memory(posterior, ours["hand"], peers)
        found += [_agreement(posterior, row) for row in ours.values() if row]
    return found


def _ours(rows, gradient):
    rows = [r for r in rows if r["library"] == "bayeslib" and r["gradient"] == gradient]
    return rows[0] if rows else None


def _rates(posterior, gradient, row, peers, limits=ESS_RATE):
    peers = [peer for peer in peers if peer["converged"]]
    if not peers:
        return
    fastest = max(peers, key=lambda peer: median(peer, "ess_per_second"))
    claim = f"effective draws a second, {GRADIENT[gradient]}: times {fastest['contestant']}'s"
    measured = ratio(row["runs"], fastest["runs"], "ess_per_second")
    yield _verdict(claim, posterior, limits.get(gradient, {}).get(posterior), measured)


def _cold(posterior, problem, gradient, row, peers):
    peers = [peer for peer in peers if peer["cold"] is not None]
    if row["cold"] is None or not peers:
        return
    ours = row["cold"]["to_1000"]
    groups = {"the quickest of all": (peers, COLD)}
    if problem.dim <= SMALL:
        with_gradients = [peer for peer in peers if peer["gradient"] != "none"]
        documented = [peer for peer in with_gradients if peer["as_documented"]]
        groups["the quickest with gradients"] = (with_gradients, COLD_SMALL)
        groups["the quickest as its documentation starts it"] = (documented, COLD_SMALL)
    for group, (members, limit) in groups.items():
        if not members:
            continue
        best = min(members, key=lambda peer: median(peer, "cold", "to_1000"))
        theirs = best["cold"]["to_1000"]
        measured = {
            "median": theirs["median"] / ours["median"],
            "low": theirs["low"] / ours["high"],
            "high": theirs["high"] / ours["low"],
            "count": min(ours["count"], theirs["count"]),
        }
        claim = (
            f"cold start, {GRADIENT[gradient]}: times sooner than {group} ({best['contestant']})"
        )
        yield _verdict(claim, posterior, limit, measured)


def _memory(posterior, row, peers):
    peers = [peer for peer in peers if peer["compiles"] and peer["cold"] is not None]
    if row["cold"] is None or not peers:
        return
    leanest = min(peers, key=lambda peer: median(peer, "cold", "peak_mib"))
    number = median(leanest, "cold", "peak_mib") / median(row, "cold", "peak_mib")
    claim = f"peak memory: times less than the leanest that compiles ({leanest['contestant']})"
    yield _verdict(claim, posterior, MEMORY, spread([number]))


def _funnel(posterior, rows):
    flagged = sum(row["flagged"] for row in rows)
    total = sum(len(row["runs"]) for row in rows)
    measured = {"median": flagged / total, "low": flagged / total, "high": flagged / total,
                "count": total}  # fmt: skip
    return _verdict("share of runs that say they are not to be trusted", posterior, 1.0, measured)


def _agreement(posterior, row):
    p = row["agreement"]["p"]
    measured = {"median": p, "low": p, "high": p, "count": len(row["runs"])}
    claim = f"means agree with the truth, {GRADIENT[row['gradient']]}: p of the largest error"
    return _verdict(claim, posterior, 1e-4, measured)


def _verdict(claim, posterior, limit, measured):
    if measured is None or not np.isfinite(measured["median"]):
        word = "not measured"
    elif limit is None:
        word = "no promise"
    elif measured["low"] >= limit:
        word = "met"
    elif measured["high"] < limit:
        word = "not met"
    else:
        word = "too noisy to say"
    return {"claim": claim, "posterior": posterior, "limit": limit, "measured": measured,
            "verdict": word}  # fmt: skip
