"""Every table behind the page on trust: ``python tests/tools/report.py [trust.json]``."""

import re
import sys
from collections import Counter
from pathlib import Path

import numpy as np

from needles import tested
from needles.prose import tables

RECORD = Path(__file__).parents[1] / "results" / "trust.json"
# Of each item of the plan: its name, what it looks at, what it cannot see.
PLAN = (Path(__file__).parents[1] / "README.md").read_text("utf-8")
ROW = re.compile(r"^\| ([SMN]\d+) (.+?) \| (.+?) \| (.+?) \|$", re.MULTILINE)
LEDGER = {item: tuple(words) for item, *words in ROW.findall(PLAN)}
MARKS = {
    "": "chosen ones", "slow": "slow", "not slow": "every change", "study": "of the study",
    "not study": "but the study's", "trust": "in the plan", "not trust": "outside the plan",
}  # fmt: skip


def in_words(marks):
    """Return which tests a run chose, from how it was told to choose."""
    return ", ".join(MARKS.get(mark, mark) for mark in marks.split(" and "))


def runs(tests):
    """The runs that the record comes from."""
    of_run = {}
    for test in tests:
        of_run.setdefault(test.run["date"], []).append(test)
    rows = [
        [
            date.replace("T", " ").replace("+00:00", " UTC"), tested.number(theirs),
            tested.verdict(theirs), in_words(theirs[0].run["marks"]),
            f"{theirs[0].run['seconds'] / 60:.1f}",
        ]
        for date, theirs in sorted(of_run.items())
    ]  # fmt: skip
    return ["run", "tests", "outcome", "which tests", "minutes"], rows, "lrllr"


def when(tests):
    """Return which part of the suite has some tests."""
    slow = {test.slow for test in tests}
    return "both" if len(slow) > 1 else "slow" if True in slow else "always"


def plan(tests):
    """The plan of tests; seconds by the clock, two tests at a time."""
    rows = []
    for item, (name, looks_at, blind_to) in LEDGER.items():
        mine = [test for test in tests if item in test.items]
        last = max((tested.day(test.run) for test in mine), default="never")
        seconds = f"{sum(test.seconds for test in mine):.0f}"
        rows.append([f"{item} {name}", tested.verdict(mine), looks_at, blind_to,
                     when(mine) if mine else "", seconds, last])  # fmt: skip
    columns = ["item", "tests", "looks at", "blind to", "when", "seconds", "last run"]
    return columns, rows, "lllllrl"


def limits(tests):
    """Statistics over the limits of their tests, of right programs and of wrong ones."""
    rows, dots = [], tested.dots(tests)
    for kind in [*tested.EXACT.values(), *tested.BY_CHANCE.values(), *tested.OF_ITEM.values()]:
        right, wrong = ([d.ratio for d in dots if (d.kind, d.right) == (kind, side)]
                        for side in (True, False))  # fmt: skip
        rows.append([kind, len(right), f"{max(right):.2g}" if right else "–",
                     len(wrong), f"{min(wrong):.3g}" if wrong else "–"])  # fmt: skip
    columns = ["kind", "as it is", "largest / limit", "made wrong", "smallest / limit"]
    return columns, rows, "lrrrr"


def bugs(tests):
    """Planted bugs, and the tests that guard against them."""
    planted = [t for t in tests if tested.is_planted(t) and t.parameters]
    guards = {v["test"] for t in tests for v in t.found.get("bug", [])}
    outcome = tested.verdict(planted, passed="caught", failed="missed")
    return ["bugs", "outcome", "different tests"], [[len(planted), outcome, len(guards)]], "rlr"


def power(tests):
    """Biases that a few steps (S8) would have shown, in per cent of a standard deviation."""
    found = tested.powers(tests) or [np.nan]
    worth = float(np.median(found)) ** -2
    row = [f"{100 * np.median(found):.1f}", f"{100 * max(found):.1f}", f"{worth:.0f}"]
    return ["median test", "least sensitive", "as many independent draws"], [row], "rrr"


def pvalues(tests):
    """p-values of right programs: uniform, if all is well (those of M5 are upper bounds)."""
    found = tested.pvalues(tests)
    found["all"] = np.sort(np.concatenate([*found.values(), []]))
    rows = [
        [tested.OF_ITEM.get(item, item), p.size, f"{np.mean(p < 0.05):.1%}",
         f"{np.mean(p < 0.01):.1%}", f"{p[0]:.1g}"]
        for item, p in found.items() if p.size
    ]  # fmt: skip
    return ["item", "p-values", "below 0.05", "below 0.01", "smallest"], rows, "lrrrr"


def posteriors(tests):
    """Errors of NUTS on the book's data (M2), in standard errors from batches of draws."""
    rows = [
        [name.replace("_", " "), z.size, f"{np.sqrt(np.mean(z**2)):.2f}", f"{z.max():.1f}",
         f"{tested.z_limit(z.size):.1f}"]
        for name, z in tested.errors_of(tests).items() if z.size
    ]  # fmt: skip
    return ["posterior", "numbers", "root mean square", "largest", "limit"], rows, "lrrrr"


def held_back(tests):
    """Runs on posteriors that were held back (M8): what was said, and what was so."""
    held, rows = tested.held_back(tests), []
    for name in dict.fromkeys(run["sampler"] for run in held):
        mine = [run for run in held if run["sampler"] == name]
        said = ("trusted", "flagged", "refused")
        silent, flagged, refused = (tested.runs_that(word, mine) for word in said)
        squares = [sum(run[what] or 0.0 for run in silent) for what in ("squares", "count")]
        rows.append([
            name, len(silent), f"{np.sqrt(np.divide(*squares)):.2f}" if silent else "–",
            tested.count_of_lies(mine),
            len(flagged), sum(map(tested.far_off, flagged)), sum(map(tested.no_error, flagged)),
            sum(run["short"] for run in flagged), len(refused),
            sum(run["name"] == tested.IMPROPER for run in refused),
            *(count(tested.runs_that("trusted", tested.longer(tests), name))
              for count in (len, tested.count_of_lies)),
        ])  # fmt: skip
    columns = ["sampler", "said nothing", "rms error", "wrong", "flagged", "far off",
               "no finite error", "few draws", "refused", "rightly", "longer", "wrong"]  # fmt: skip
    return columns, rows, "lrrrrrrrrrrr"


def fits(tests):
    """`nuts`, fits and weighted methods on many posteriors (M8), with several seeds."""
    rows = [[name, *counts] for name, counts in tested.fit_table(tested.fits(tests)).items()]
    return ["method", "said nothing", "wrong", "flagged", "wrong"], rows, "lrrrr"


def seeds(tests):
    """`nuts` on posteriors held back (M8), with twenty more seeds; errors in stated ones."""
    rows = [[*found.values()] for found in tested.again(tests)]
    return ["posterior", "runs", "said nothing", "wrong", "largest error"], rows, "lrrrr"


def fresh(_):
    """Checks of M2 and M3 with fresh seeds (tests/results/fresh)."""
    found = tested.fresh(RECORD.with_name("fresh")).items()
    rows = [[name, len(z), np.size(z), f"{np.mean(tested.p_of(z) < 0.05):.1%}",
             f"{np.sqrt(np.mean(np.square(z))):.2f}"] for name, z in found]  # fmt: skip
    return ["check", "seeds", "p-values", "below 0.05", "root mean square"], rows, "lrrrr"


def files(tests):
    """The files of tests that take longest, and the pages, in seconds by the clock."""
    seconds, counts = Counter(), Counter()
    for test in tests:
        seconds[test.file] += test.seconds
        counts[test.file] += test.count
    library = [name for name, _ in seconds.most_common() if name.startswith("tests/")][:12]
    pages = sorted(name for name in seconds if name.startswith("chapters/"))
    rows = [[name, counts[name], f"{seconds[name]:.0f}"] for name in library + pages]
    return ["file", "tests", "seconds"], rows, "lrr"


PARTS = (runs, plan, limits, power, bugs, pvalues, posteriors, held_back, fits, seeds, fresh,
         files)  # fmt: skip


def report(path=RECORD):
    """Return the report as text."""
    return "\n\n".join(tables(PARTS, tested.load(path)))


if __name__ == "__main__":
    print(report(*sys.argv[1:]))
