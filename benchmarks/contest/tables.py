"""The rows and verdicts as text."""

import math

from .problems import PROBLEMS
from .rows import is_peer, median

COLUMNS = ("ESS/s", "low", "high", "/ best", "grad/s", "ESS/kgrad", "to 1000", "other*", "MiB")


def print_rows(rows):
    """Print a table for each posterior."""
    for posterior, problem in PROBLEMS.items():
        here = [row for row in rows if row["posterior"] == posterior]
        if not here:
            continue
        print(f"\n{problem.title} ({problem.dim} parameters)"
              + ("" if problem.ranked else ": not ranked, nothing mixes"))  # fmt: skip
        print(" " * 32 + "".join(f"{title:>10}" for title in (*COLUMNS, "R-hat", "rms z")))
        peers = [median(r, "ess_per_second") for r in here if is_peer(r) and r["converged"]]
        best = max(peers, default=math.nan) if problem.ranked else math.nan
        for row in here:
            _print_row(row, best)


def _print_row(row, best):
    rate = row["ess_per_second"]
    numbers = [
        rate["median"],
        rate["low"],
        rate["high"],
        rate["median"] / best,
        median(row, "gradients_per_second"),
        median(row, "ess_per_1000_gradients"),
        median(row, "cold", "to_1000"),
        median(row, "cold_other", "to_1000"),
        median(row, "cold", "peak_mib"),
    ]
    mark = " " if row["converged"] else "!"
    print(
        f"{row['contestant'] + ' ' + mark:32}" + "".join(map(_number, numbers))
        + f"{median(row, 'rhat'):10.3f}{row['agreement']['rms_z']:10.2f}"
    )  # fmt: skip


def _number(x):
    if not math.isfinite(x):
        return f"{'–':>10}"
    if x >= 1e5:
        return f"{x / 1e6:>9.2f}M"
    if x >= 1e3:
        return f"{x:>10,.0f}"
    return f"{x:>10.3g}"


def print_verdicts(verdicts):
    """Print how to read the tables, then what is promised and what was found."""
    print(
        "\nESS: bulk, the least of all parameters; low and high cover the median 9 times in 10.\n"
        "to 1000: seconds from a cold process to 1000 effective draws, a model never seen.\n"
        "* Stan with the model already compiled; bayeslib with nothing cached.\n"
        "! R-hat above 1.05: not compared."
    )
    print()
    for v in verdicts:
        limit = "" if v["limit"] is None else f"  (at least {v['limit']:g})"
        measured = v["measured"]
        figures = "" if measured is None else (
            f"{measured['median']:.3g} [{measured['low']:.3g}, {measured['high']:.3g}]"
        )  # fmt: skip
        print(f"{v['verdict']:18}{v['posterior']:14}{v['claim']}: {figures}{limit}")
