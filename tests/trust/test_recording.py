"""The recorder: what workers find arrives once, a partial run leaves the rest as it was."""

import json
import os
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
import recording
from recording import (
    REST,
    entries,
    measured,
    merge,
    misfiled,
    note,
    plain,
    read,
    unheard,
    written,
    z_of,
)

SUITE = """
import pytest
from recording import measured, note

@pytest.mark.trust("S1", "M2")
@pytest.mark.parametrize("z", [1.0, 4.0, 70.0])
def test_a(z):
    measured("z", [z, -0.5 * z], 5.6, right=z < 5.6)
    note("who", name="a", numbers=[z, 1 / 3])

@pytest.mark.slow
def test_b():
    assert False

def test_c():
    pytest.skip("no reason")

WRONG = [-12.06, -5.59, -9.47]  # the second would pass for a right program's

def test_d():
    measured("z", WRONG, 5.6, right=False)

def test_e():
    for z in WRONG:
        measured("z", z, 5.6, right=False)

def test_f():
    measured("z", WRONG, 5.6, right=True)
"""
CONFTEST = """
import recording

def pytest_configure(config):
    config.addinivalue_line("markers", "trust(item)")
    config.addinivalue_line("markers", "slow")
    recording.register(config)
"""


@pytest.fixture
def record(tmp_path):
    """Return ``record(*arguments)``: run the little suite, return (stored record, its entries)."""
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_suite.py").write_text(SUITE)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")

    def run(*arguments, to="found/trust.json"):
        environment = os.environ | {"RECORD": to}
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
        subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True)
        path = tmp_path / "found" / "trust.json"
        return read(path) if path.exists() else None

    return run


def test_workers_send_what_they_find_and_a_partial_run_keeps_the_rest(record, tmp_path):
    assert record("-n", "0", to="") is None, "nothing is asked for, nothing is written"
    whole = record("-n", "2")
    names = ["a[1.0]", "a[4.0]", "a[70.0]", *"bcdef"]
    assert list(whole) == [f"test_suite.py::test_{name}" for name in names]
    a, b, c = (whole[f"test_suite.py::test_{name}"] for name in ("a[4.0]", "b", "c"))
    assert a["items"] == ["M2", "S1"] and not a["slow"] and b["slow"]
    assert [a["outcome"], b["outcome"], c["outcome"]] == ["passed", "failed", "skipped"]
    assert a["found"] == {
        "measured": {"z": {"within": [4.0, 2], "limit": 5.6}},
        "who": [{"name": "a", "numbers": [4.0, 0.333]}],
    }
    far = whole["test_suite.py::test_a[70.0]"]["found"]["measured"]["z"]
    assert far["beyond"] == [70.0, 2] and "within" not in far
    outcomes = [whole[f"test_suite.py::test_{name}"]["outcome"] for name in "def"]
    assert outcomes == ["passed", "failed", "failed"], "a wrong program filed by parts, or as right"
    assert whole["test_suite.py::test_d"]["found"]["measured"]["z"]["beyond"] == [12.1, 3]
    assert set(a["run"]["versions"]) == {"python", "numpy", "scipy", "numba", "bayeslib"}

    (tmp_path / "test_suite.py").write_text(SUITE.replace("[1.0, 4.0, 70.0]", "[1.0, 4.0]"))
    part = record("-n", "0", "-k", "b or 4.0", "-m", "not slow")
    assert list(part) == [name for name in whole if "70" not in name], "what is gone is dropped"
    again = part["test_suite.py::test_a[4.0]"]
    assert again["run"]["marks"] == "not slow" and a["run"]["marks"] == ""
    for name in ("a[1.0]", *"bcdef"):
        assert part[f"test_suite.py::test_{name}"] == whole[f"test_suite.py::test_{name}"]


RUN = {"date": "2024-01-01T00:00+00:00", "seconds": 1.0, "marks": ""}


def entry(**changes):
    nothing = {"items": [], "slow": False, "found": {}, "run": RUN, "count": 1}
    return nothing | {"seconds": 0.5, "outcome": "passed"} | changes


def test_a_record_reads_as_it_was_written_and_a_changed_one_does_not():
    tests = {
        "tests/test_x.py::test_a[one::two[3]]": entry(found={"who": [{"name": "x"}]}, items=["S1"]),
        "tests/test_x.py::test_a[other]": entry(outcome="failed", items=["S1"]),
        "tests/test_x.py::test_b": entry(
            run=RUN | {"date": "2024-02-02T00:00+00:00"}, slow=True, items=["S2"]
        ),
        f"tests/test_x.py::{REST}[{REST} slow]": entry(count=3),
        "chapters/x.ipynb::": entry(seconds=3.25, outcome="skipped"),
    }
    text = written(tests)
    assert dict(entries(json.loads(text))) == tests
    assert dict(entries(json.loads(text.replace("3.25", "3.5")))) != tests
    assert len(json.loads(text)["runs"]) == 2


def test_files_that_are_gone_go_and_files_that_did_not_run_stay(tmp_path):
    (tmp_path / "test_x.py").touch()
    (tmp_path / "test_y.py").touch()
    old = {f"test_{name}.py::test_a": entry() for name in "xyz"}
    new = {"test_x.py::test_b": {"seconds": 1.0, "outcome": "skipped"}}
    kept = merge(old, new, RUN, {"test_x.py::test_b"}, tmp_path, whole=True)
    assert list(kept) == ["test_y.py::test_a", "test_x.py::test_b"]
    named = merge(old, new, RUN, set(), tmp_path, whole=False)
    assert "test_x.py::test_a" in named, "one test asked for by name tells nothing of the others"


def test_of_tests_that_have_nothing_to_say_the_number_is_kept(tmp_path):
    """Counted anew by a run of all that have its marks; no other run changes it."""
    (tmp_path / "test_x.py").touch()
    names = [f"test_x.py::test_a[{i}]" for i in range(5)]
    all_passed = dict.fromkeys(names, "passed")

    def stored(old, outcomes, *, marks="", whole=True):
        new = {name: {"seconds": 0.5, "outcome": outcome} for name, outcome in outcomes.items()}
        run = RUN | {"marks": marks}
        text = written(merge(old, new, run, set(names), tmp_path, whole=whole))
        return dict(entries(json.loads(text)))

    def numbers(record):
        found = Counter()
        for entry in record.values():
            found[entry["outcome"]] += entry["count"]
        return dict(found)

    both = stored(stored({}, all_passed), {names[0]: "passed"}, marks="slow")
    assert numbers(both) == {"passed": 6} and not set(names) & set(both)
    failing = stored(both, all_passed | {names[2]: "failed"})
    assert numbers(failing) == {"failed": 1, "passed": 5} and names[2] in failing
    assert numbers(stored(failing, {names[2]: "passed"}, whole=False)) == {"passed": 5}
    assert stored(failing, all_passed) == both


def test_of_what_is_right_the_largest_counts_and_of_what_is_wrong_the_smallest(monkeypatch):
    monkeypatch.setattr(recording, "_found", found := {})
    for values in ([1.0, -3.0], [0.5]):
        measured("z", values, 5.0, right=True)
    for values in ([9.0, 4.0], [-50.0, 2.0], [np.nan]):
        measured("z", values, 5.0, right=False)
    kept = found["measured"]["z"]
    assert kept == {"within": [3.0, 3], "beyond": [9.0, 5], "limit": 5.0}
    assert not list(misfiled(found))
    with unheard():
        measured("z", 100.0, 5.0, right=True)
        note("z", a=1)
    assert found == {"measured": {"z": kept}}
    measured("z", np.nan, 5.0, right=True)
    measured("z", 4.9, 5.0, right=False)
    assert found["measured"]["z"]["within"] == [recording.FAR, 4]
    assert len(list(misfiled(found))) == 2
    monkeypatch.setattr(recording, "_found", None)
    measured("z", 100.0, 5.0, right=True)
    assert found["measured"]["z"]["within"][1] == 4


def test_numbers_are_plain_and_p_values_become_z():
    assert plain({"a": np.float64(1 / 3), "b": np.array([1, 2]), "c": np.bool_(True)}) == {
        "a": 0.333, "b": [1, 2], "c": True,
    }  # fmt: skip
    assert plain(np.inf) is None and plain("x") == "x"
    np.testing.assert_allclose(z_of([0.0455, 1e-6]), [2.0, 4.8916], rtol=1e-4)
    assert np.isfinite(z_of(0.0)) and z_of(0.0) > 36.0
