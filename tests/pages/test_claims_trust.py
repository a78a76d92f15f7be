"""What the page on trust and speed makes of results, and says."""

import json
import os
import shutil

import pytest
import report
from prose import CHAPTERS, ROOT
from recording import entries, written
from registry import ALGORITHMS
from test_trust_ledger import ITEMS
from twins import page, source, statements

from benchmarks import report as speed_report
from needles import tested, timed

pytestmark = pytest.mark.filterwarnings("ignore::bayeslib.BayeslibWarning")
SAMPLED = ["draws", "tempered", "longer_run", "RUNS", "TWENTY", "IN_NEEDLE", "moved", "wide"]
STORED = ROOT / "benchmarks" / "results"
RECORD = ROOT / "tests" / "results" / "trust.json"
RUN = {
    "date": "2024-02-03T04:05+00:00", "seconds": 90.0, "marks": "not slow",
    "machine": {"processor": "abacus", "cores": 2, "system": "Linux"},
    "versions": {"python": "3.11.7", "numpy": "2.4.6"},
}  # fmt: skip


def run(**places):
    """Run the page over the results at `RECORD` and `RESULTS`; return its names and what it did."""
    places = {"RECORD": RECORD, "RESULTS": STORED, "PAGES": CHAPTERS} | places
    names, said, shown, tables = {}, {}, [], []

    def table(columns, rows, *, caption, align=""):
        rows = [list(row) for row in rows]
        assert all(len(row) == len(columns) for row in rows) and caption
        assert len(align) <= len(columns)
        tables.append((columns, rows))

    stubs = {
        "record": lambda **values: said.update(values),
        "show": lambda fig, *, alt: shown.append((fig, alt)),
        "table": table,
    }
    names |= dict(zip(SAMPLED, page("trust", *SAMPLED), strict=True))
    for statement in statements("trust"):
        if not (statement.binds | statement.changes) & set(SAMPLED):
            exec(statement.code, names)
        names |= stubs | {key: place for key, place in places.items() if key in names}
    assert all(alt.strip() and "nan" not in alt.split() for _, alt in shown)
    return names | {"said": said, "shown": shown, "tables": tables}


def entry(items=(), outcome="passed", slow=False, **found):
    return {
        "seconds": 1.5, "outcome": outcome, "items": list(items), "slow": slow, "found": found,
        "run": RUN, "count": 1,
    }  # fmt: skip


def z(what, limit=5.6, **kept):
    return {what: {name: [value, 8] for name, value in kept.items()} | {"limit": limit}}


def small_record():
    """A small record with one test of every kind that the page draws."""
    right = {"name": "nuts pumps", "size": 10, "z": [0.1, 2.5, 1.0]}
    held = [
        {"sampler": "nuts", "name": "a", "said": "trusted", "z": 2.0, "sds": 0.25, "count": 5,
         "squares": 5.0},
        {"sampler": "nuts", "name": "b", "said": "flagged", "z": 9.0, "short": True},
        {"sampler": "hmc", "name": "b", "said": "flagged", "z": None, "short": False},
        {"sampler": "hmc", "name": "a", "said": "refused"},
        {"sampler": "hmc", "name": "no integral", "said": "refused"},
    ]  # fmt: skip
    file = "tests/test_x.py"
    return {
        f"{file}::test_a[1]": entry(["S8"], measured=z("conservation", within=2.8), power=[
            {"bias": 0.04}]),
        f"{file}::test_a[2]": entry(["S8"], measured=z("conservation", beyond=11.2)),
        f"{file}::test_b": entry(["S2"], measured=z("return of a leapfrog path", 1e-10,
                                                    within=1e-15)),
        f"{file}::test_c": entry(["M2"], slow=True, right=[right]),
        f"{file}::test_d": entry(["M2"], slow=True, wrong=[{"name": "w", "z": 20.0, "count": 3}]),
        f"{file}::test_e_over_seeds": entry(["M8"], heldback=held, longer=held[:1], outside=[
            {"method": "smc", "seed": 0, "runs": 9, "wrong": 3, "silent": 1, "unflagged": 5}]),
        "tests/trust/test_trust_mutants.py::test_x[x]": entry(["S16"], bug=[{"test": "x.a"}]),
        "chapters/trust.ipynb::": entry(),
    }  # fmt: skip


@pytest.fixture
def trust(tmp_path):
    """Return ``trust(text)``: the page on trust over a record of that text."""

    def make(text):
        path = tmp_path / "trust.json"
        path.write_text(text, "utf-8")
        return run(RECORD=path)

    return make


def test_the_trust_page_says_what_is_recorded(trust):
    names = trust(written(small_record()))
    said = names["said"]
    assert (said["outcome"], said["pages_outcome"]) == ("all 7 passed", "passed")
    assert (said["num_right"], said["num_wrong"]) == (2, 2)
    assert said["over"].startswith("none") and said["under"].startswith("none")
    assert (said["bluntest"], said["newest_day"]) == (pytest.approx(4.0), "2024-02-03")
    assert (said["num_proper"], len(names["trusted"]), said["rms_trusted"]) == (2, 1, 1.0)
    assert names["of_held"] == [("nuts", [1, 0, 1, 1], 2), ("hmc", [0, 0, 1, 1], 2)]
    assert names["of_ours"] == [("smc", [5, 1, 4, 2], None)]
    assert (said["num_fell"], said["bugs_outcome"], len(names["shown"])) == (0, "caught", 2)


def rows_of(part, tests):
    """Return the rows of a part of the report, by their first cells."""
    columns, rows, align = part(tests)
    assert all(len(row) == len(columns) for row in rows) and len(align) == len(columns)
    return {row[0]: row[1:] for row in rows}


def test_the_report_has_what_the_page_has_no_room_for(tmp_path):
    path = tmp_path / "trust.json"
    path.write_text(written(small_record()), "utf-8")
    tests = tested.load(path)
    assert rows_of(report.held_back, tests) == {
        "nuts": [1, "1.00", 0, 1, 1, 0, 1, 0, 0, 1, 0], "hmc": [0, "–", 0, 1, 0, 1, 0, 2, 1, 0, 0],
    }  # fmt: skip
    assert rows_of(report.fits, tests)["all"] == [5, 1, 4, 2]
    assert rows_of(report.limits, tests)["S8 a few steps"] == [1, "0.5", 1, "2"]
    assert rows_of(report.power, tests) == {"4.0": ["4.0", "625"]}
    assert rows_of(report.bugs, tests) == {1: ["caught", 1]}
    assert rows_of(report.posteriors, tests)["pumps"][::2] == [3, "2.5"]
    assert rows_of(report.pvalues, tests)["M2 real data"][:2] == [3, "33.3%"]
    assert rows_of(report.plan, tests)["S2 paths return"][0] == "passed"
    assert report.runs(tests)[1][0][1:] == [8, "all 8 passed", "every change", "1.5"]
    assert rows_of(report.files, tests)["chapters/trust.ipynb"] == [1, "2"]
    assert all(part.__doc__ in report.report(path) for part in report.PARTS)


def test_the_trust_page_hides_no_failure(trust):
    """The twin: a right program beyond its limit, a wrong one below, a lie, a failed test."""
    worse = small_record()
    file = "tests/test_x.py"
    worse[f"{file}::test_c"]["found"]["right"][0]["z"] = [9.0]
    worse[f"{file}::test_d"]["found"]["wrong"][0]["z"] = 1.0
    worse[f"{file}::test_e_over_seeds"]["found"]["heldback"][0]["z"] = 50.0
    worse[f"{file}::test_a[1]"]["outcome"] = "failed"
    worse[f"{file}::test_a[1]"]["found"] = {"measured": z("conservation", within=7.0)}
    names = trust(written(worse))
    said = names["said"]
    assert said["over"] == "2 exceeded the limit"
    assert said["under"] == "1 went unseen"
    assert names["of_held"][0] == ("nuts", [1, 1, 1, 1], 2), "silent and wrong"
    assert said["outcome"] == "6 passed, 1 failed"


def test_almost_every_algorithm_has_a_plain_twin_and_none_is_long():
    cells = ["\n".join(source(a.page, f"plain-{a.name}")) for a in ALGORITHMS if a.page]
    lines = [sum(bool(line.strip()) for line in cell.splitlines()) for cell in cells]
    assert (min(lines), max(lines)) == (5, 40)
    # those of sgld and sghmc are compared in test_plain.py
    without = {a.name for a in ALGORITHMS if not a.page} - {"sgld", "sghmc"}
    assert without == {"adaptive_importance_sample", "multipathfinder"}


@pytest.mark.skipif(bool(os.environ.get("RECORD")), reason="the record is being written")
def test_the_stored_record_is_whole(trust):
    """What is in git is read without complaint; it is small, lacks no item, and nothing failed."""
    text = RECORD.read_text("utf-8")
    assert len(text) < 200_000
    names = trust(text)
    assert dict(entries(json.loads(text)))
    held, flagged = names["held"], names["flagged"]  # what the page says without a number
    assert tested.count_of_lies(held) == 0 and {v["sampler"] for v in names["refused"]} == {
        "parallel_tempering"}  # fmt: skip
    assert sum(v["short"] for v in names["covered"]) > 0.5 * len(flagged)
    assert len(names["longer"]) == len(flagged), "each was made again"
    assert {v["runs"] for v in names["again"]} == {20}, "more seeds of nuts"
    outcomes = {test.outcome for test in names["TESTS"]}
    assert outcomes <= {"passed", "skipped"}, "a failure is recorded: mend it, make record"
    assert {item for test in names["TESTS"] for item in test.items} == set(ITEMS)


def test_the_speed_page_says_what_is_stored_and_what_is_not_met(tmp_path):
    shutil.copytree(STORED, tmp_path, dirs_exist_ok=True)
    path = tmp_path / "against_peers.json"
    peers = json.loads(path.read_text())
    verdict, *others = peers["verdicts"]
    claim = "effective draws a second, automatic gradient: times nutpie's"
    measured = {"median": 3.0, "low": 2.7, "high": 3.3, "count": 5}
    verdict |= {"claim": claim, "posterior": "schools", "limit": 4.0, "measured": measured}
    for one, word in zip([verdict, *others], ["not met", *["met"] * len(others)], strict=True):
        one["verdict"] = word
    path.write_text(json.dumps(peers))
    names = run(RESULTS=tmp_path)
    assert timed.outcomes(peers["verdicts"]) == f"1 not met, {len(others)} met"
    *_, (_, rows) = names["tables"]
    assert rows[1][:2] == ["eight schools, 10", "3.0 (2.7–3.3)"]
    row = speed_report.verdicts(timed.load(tmp_path))[1][0]
    assert row == ["not met", "3.0 (2.7 to 3.3)", "4", "schools, 10", claim]


def test_the_stored_benchmarks_are_whole():
    names = run()
    peers, growth = names["PEERS"], names["GROWTH"]
    # what the prose, and the README of the benchmarks, say of them without a number or by hand
    judged = peers["verdicts"] + names["AGAIN"]["verdicts"]
    for v in (v for v in judged if v["verdict"] == "not met"):
        assert v["posterior"] in ("gaussian_2", "schools")
        assert f"{v['measured']['median']:.1f}" in (STORED.parent / "README.md").read_text()
    (fastest,) = {
        min(here, key=lambda row: timed.middle(row, "to_1000"))["contestant"]
        for here in timed.shared(growth, "groups")
        if here[0]["size"] >= timed.lost_from(growth, "groups")[0]["size"]
    }
    assert fastest == "nutpie", "once lost, it stays lost, to the one that the page names"
    assert not any(timed.lost_from(growth, family) for family in ("ar", "rows"))
    assert timed.lead(peers, "logistic", "naive") < 1.5, "hardly better than others"
    assert [peers["posteriors"][p]["num_rounds"] for p in names["RANKED"]] == [15, 15, 5, 5]
    c_ratios = [row["ratio"] for row in names["DATA"]["against_c"]["rows"]]
    assert 0.8 < min(c_ratios) and max(c_ratios) < 1.35, "about as long as in plain C"
    assert not any(r["converged"] for r in peers["rows"] if r["posterior"] not in names["RANKED"])
    assert all(timed.lead(peers, p, "hand") > 1.0 for p in names["RANKED"])
    for p in names["RANKED"]:
        here = [r for r in peers["rows"] if r["posterior"] == p]
        leanest = min(here, key=lambda r: timed.middle(r, "cold", "peak_mib"))
        assert leanest["contestant"] == "emcee", "needs the least memory"
    said = speed_report.report()
    assert all(v["claim"] in said for v in judged)
    assert all(part.__doc__ in said for part in speed_report.PARTS)
