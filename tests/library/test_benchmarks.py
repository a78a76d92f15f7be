"""The benchmarks' arithmetic, protocol and form; what they measure is not asserted here."""

import json
import sys

import numpy as np
import pytest

from benchmarks import __main__ as program
from benchmarks import against_peers
from benchmarks.contest import contestants, problems, rounds, rows, statistics, tables, verdicts
from benchmarks.contest.process import Worker, WorkerError
from benchmarks.contest.worker import descendants


def entry(name="x", library="x", gradient="auto", variant="v", **options):
    return contestants.Entry(name, library, gradient, dict.fromkeys(problems.PROBLEMS, variant),
                             **options)  # fmt: skip


def runs(rng, speed, *, num_rounds=5, problems_found=(), shift=0.0):
    """Runs whose draws are independent and standard normal, a round's machine up to 3 × slower."""
    made = []
    for number in range(num_rounds):
        values = rng.standard_normal((4, 250, 2)) + shift
        slow = 1.0 + 2.0 * (number % 2)
        made.append(
            {
                "round": number, "seed": number, "seconds": slow / speed, "cpu_seconds": 1.0,
                "num_gradients": 2000, "problems": list(problems_found),
                **statistics.describe(values, np.zeros(2), np.zeros(2)),
            }
        )  # fmt: skip
    return made


def cold(start_up, peak_mib=100.0):
    return {
        "import_seconds": 0.1, "build_seconds": 0.1, "start_up": start_up, "first_call": 1.0,
        "whole": start_up + 1.0, "peak_mib": peak_mib, "ess": 1000.0,
    }  # fmt: skip


def contest(rng, posterior="gaussian_2", ours=80.0, theirs=8.0, start_up=10.0):
    hand = entry("ours", "bayeslib", "hand")
    peer, free = entry("peer", "peer"), entry("free", "free", "none", compiles=False)
    entries = [hand, peer, free]
    warm = {hand: runs(rng, ours), peer: runs(rng, theirs), free: runs(rng, 1.0)}
    colds = {hand: [cold(1.0)] * 3, peer: [cold(start_up, 500.0)] * 3, free: [cold(3.0)] * 3}
    return rows.rows_of(posterior, warm, colds, {}, entries)


def test_spread_covers_the_median_nine_times_in_ten():
    rng = np.random.default_rng(1)
    for count in (9, 25):
        found = [statistics.spread(rng.standard_normal(count)) for _ in range(2000)]
        covered = np.mean([s["low"] <= 0.0 <= s["high"] for s in found])
        assert covered > 0.9 - 5.0 * np.sqrt(0.09 / 2000)
    assert statistics.spread([3.0, 1.0, None, np.nan, 2.0]) == {
        "median": 2.0, "low": 1.0, "high": 3.0, "count": 3,
    }  # fmt: skip
    assert statistics.spread([None, np.nan]) is None


def test_ratios_are_taken_within_rounds():
    ours = [{"round": i, "rate": 10.0 * slow} for i, slow in enumerate((1.0, 0.3, 2.0))]
    theirs = [{"round": i, "rate": slow} for i, slow in enumerate((1.0, 0.3, 2.0))]
    found = statistics.ratio(ours, theirs[:2], "rate")
    assert found["median"] == pytest.approx(10.0)
    assert found["high"] - found["low"] < 1e-12 and found["count"] == 2
    assert statistics.ratio(ours, [{"round": 7, "rate": 1.0}], "rate") is None


def test_agreement_sees_a_mean_that_is_off_by_a_standard_error_a_run():
    rng = np.random.default_rng(2)
    exact = statistics.agreement(runs(rng, 1.0, num_rounds=40))
    biased = statistics.agreement(runs(rng, 1.0, num_rounds=40, shift=0.03))
    assert exact["p"] > 1e-6 and 0.6 < exact["rms_z"] < 1.5
    assert biased["p"] < 1e-6
    stuck = runs(rng, 1.0, num_rounds=2)
    stuck[0]["mcse"] = np.full(2, np.nan)
    assert np.isnan(statistics.agreement(stuck)["p"])


def test_time_to_a_thousand_counts_the_warm_up_once():
    assert statistics.time_to(1000, 2.0, 5.0, 1.0, 1000.0) == pytest.approx(2.0 + 4.0 + 1.0)
    assert statistics.time_to(1000, 2.0, 5.0, 1.0, 2000.0) == pytest.approx(2.0 + 4.0 + 0.75)
    assert statistics.time_to(1000, 2.0, 0.9, 1.0, 1000.0) == pytest.approx(3.0)


def test_rows_have_every_column_and_survive_json(tmp_path, capsys):
    found = contest(np.random.default_rng(3))
    program.write(tmp_path, "peers", {"rows": found, "nothing": np.nan})
    stored = json.loads((tmp_path / "peers.json").read_text(encoding="utf-8"))
    assert stored["nothing"] is None
    row = stored["rows"][1]
    for key in ("ess_per_second", "gradients_per_second", "ess_per_1000_gradients", "seconds"):
        assert set(row[key]) == {"median", "low", "high", "count"}
    assert row["cold"]["to_1000"]["count"] == 3 and row["cold"]["peak_mib"]["median"] == 500.0
    assert len(row["runs"]) == 5 and row["agreement"]["p"] > 1e-6
    assert "flagged" in stored["rows"][0] and "flagged" not in row
    tables.print_rows(found)
    assert "peer" in capsys.readouterr().out


@pytest.mark.parametrize(("ours", "expected"), [(800.0, "met"), (24.0, "not met")])
def test_verdicts_on_speed(ours, expected):
    found = contest(np.random.default_rng(4), ours=ours)
    rate = next(v for v in verdicts.verdicts_of(found) if "draws a second" in v["claim"])
    assert rate["verdict"] == expected and rate["limit"] == 8.0
    assert rate["measured"]["median"] == pytest.approx(ours / 8.0, rel=0.3)


def test_posteriors_measured_again_take_the_place_of_the_stored():
    rng = np.random.default_rng(8)

    def result(day, **speeds):
        return {
            "date": day,
            "posteriors": {name: {"date": day} for name in speeds},
            "rows": [row for name, ours in speeds.items() for row in contest(rng, name, ours)],
            "verdicts": [],
            "failures": [{"posterior": name, "reason": day} for name in speeds],
        }

    found = against_peers.merge(
        result("old", gaussian_2=80.0, schools=80.0), result("new", schools=16.0)
    )
    assert found["date"] == "new"
    assert {n: p["date"] for n, p in found["posteriors"].items()} == {
        "gaussian_2": "old",
        "schools": "new",
    }
    assert [f["reason"] for f in found["failures"]] == ["old", "new"]
    assert [row["posterior"] for row in found["rows"]] == ["gaussian_2"] * 3 + ["schools"] * 3
    rates = [v for v in found["verdicts"] if "draws a second" in v["claim"]]
    said = {v["posterior"]: v["verdict"] for v in rates}
    assert said == {"gaussian_2": "met", "schools": "not met"}


def test_a_limit_inside_the_spread_is_too_noisy():
    measured = {"median": 9.0, "low": 7.0, "high": 12.0, "count": 5}
    assert verdicts._verdict("x", "schools", 8.0, measured)["verdict"] == "too noisy to say"
    assert verdicts._verdict("x", "schools", 8.0, None)["verdict"] == "not measured"
    assert verdicts._verdict("x", "schools", None, measured)["verdict"] == "no promise"


@pytest.mark.parametrize(("start_up", "expected"), [(10.0, "met"), (3.5, "not met")])
def test_verdicts_on_cold_processes(start_up, expected):
    found = verdicts.verdicts_of(contest(np.random.default_rng(5), start_up=start_up))
    words = {v["claim"]: v["verdict"] for v in found}
    assert next(w for c, w in words.items() if "with gradients" in c) == expected
    assert next(w for c, w in words.items() if "quickest of all (" in c) == "met"
    assert next(w for c, w in words.items() if "memory" in c) == "met"


def test_a_cold_start_is_held_against_the_shortcut_and_the_documented_way():
    hand, slow = entry("ours", "bayeslib", "hand"), entry("slow", "slow")
    short = entry("short", "slow", as_documented=False)
    rng = np.random.default_rng(8)
    warm = {hand: runs(rng, 80.0), slow: runs(rng, 8.0), short: runs(rng, 9.0)}
    colds = {hand: [cold(1.0)] * 3, slow: [cold(10.0)] * 3, short: [cold(3.0)] * 3}
    made = rows.rows_of("gaussian_2", warm, colds, {}, [hand, slow, short])
    found = {v["claim"]: v for v in verdicts.verdicts_of(made) if "cold" in v["claim"]}
    (documented,) = (v for c, v in found.items() if "starts it (slow)" in c)
    (promise,) = (v for c, v in found.items() if "with gradients (short)" in c)
    assert (documented["verdict"], promise["verdict"]) == ("met", "not met")
    assert promise["limit"] == documented["limit"] == verdicts.COLD_SMALL
    assert sum("quickest of all (short)" in claim for claim in found) == 1


def test_the_funnel_must_be_flagged():
    rng = np.random.default_rng(6)
    hand, peer = entry("ours", "bayeslib", "hand"), entry("peer", "peer")
    for found, expected in ((("diverged",), "met"), ((), "not met")):
        warm = {hand: runs(rng, 1.0, problems_found=found), peer: runs(rng, 1.0)}
        made = rows.rows_of("funnel_10", warm, {}, {}, [hand, peer])
        assert [v["verdict"] for v in verdicts.verdicts_of(made)] == [expected]


def test_models_and_seeds_are_new_every_time():
    # 30 of 2**31 and more: a coincidence has probability 1e-6
    assert len({rounds.new_unit() for _ in range(30)}) == 30
    assert len({rounds.new_seed() for _ in range(30)}) == 30
    assert all(0.0 < rounds.new_unit() - 1.0 < 1e-5 for _ in range(100))


def worker(folder, library, posterior="gaussian_2", variant="hand", timeout=120.0):
    arguments = [library, posterior, variant, "1.0", "1"]
    return Worker(sys.executable, arguments, folder, {}, timeout)


def test_a_worker_samples_on_request_and_ends(tmp_path):
    path = tmp_path / "draws.npy"
    with worker(tmp_path, "bayeslib") as running:
        assert set(running.answer()) == {"import_seconds", "build_seconds"}
        run = running.ask(seed=3, draws=str(path))
        assert np.load(path).shape == (4, 1000, 2)
        assert run["seconds"] > 0.0 and run["num_gradients"] > 8000 and run["problems"] == []
        pid = running._process.pid
    assert pid not in descendants(1)


def test_a_peer_that_is_not_there_is_a_failure_with_a_name(tmp_path):
    with worker(tmp_path, "nobody") as running:
        with pytest.raises(WorkerError, match="ModuleNotFoundError.*with_nobody"):
            running.answer()


def test_a_silent_worker_is_not_waited_for(tmp_path):
    with worker(tmp_path, "bayeslib", timeout=0.0) as running:
        with pytest.raises(WorkerError, match="no answer within 0 s"):
            running.answer()


def test_a_contestant_that_drops_out_leaves_the_others(tmp_path):
    stage = rounds.Stage("gaussian_2", (np.zeros(2), np.zeros(2)), tmp_path, lambda *_: {})
    missing = contestants.Entry("missing", "nobody", "hand", {"gaussian_2": "v"})
    ours = contestants.Entry("ours", "bayeslib", "hand", {"gaussian_2": "hand"})
    warm, _ = rounds.warm_rounds(stage, [missing, ours], 1)
    assert [f["contestant"] for f in stage.failures] == ["missing"]
    assert len(warm[ours]) >= 1 and set(warm[ours][0]) >= {"ess", "rhat", "seconds", "round"}


@pytest.mark.parametrize("posterior", problems.PROBLEMS)
def test_every_contestant_has_a_module(posterior):
    for each in contestants.ENTRIES:
        path = against_peers.Path(contestants.__file__).with_name(f"with_{each.library}.py")
        assert path.exists()
        assert each.variant(posterior) is not None or each.variants.keys() < set(problems.PROBLEMS)
