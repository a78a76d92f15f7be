"""The verdict in two stages: its false alarms, its power, and the command that uses it."""

import re
from pathlib import Path

import numpy as np
import pytest
from verdict import ALPHA, STAGE, fails, passes, smallest, two_sided

MAKEFILE = Path(__file__).parents[2] / "Makefile"


def counting(pvalue):
    """A check that notes how it was called, and what it drew."""
    calls = []

    def check(rng, size):
        calls.append((size, rng.random()))
        return pvalue(len(calls))

    return check, calls


def test_fixed_seeds_are_judged_once_at_one_in_a_million():
    check, calls = counting(lambda stage: [0.3, 1.1 * ALPHA / 2, 0.5, 0.7])
    assert passes(check, name="a", size=7, fresh="")
    check, calls = counting(lambda stage: [0.9 * ALPHA])
    assert not passes(check, name="a", size=7, fresh="")
    assert fails(check, name="a", size=7)
    assert [size for size, _ in calls] == [7, 7] and calls[0] == calls[1]


@pytest.mark.trust("N1")
def test_fresh_seeds_are_judged_twice_and_the_second_time_with_ten_times_the_size(capsys):
    first, calls = counting(lambda stage: [2.0 * STAGE])
    assert passes(first, name="a", size=7, fresh="20240101", scale=10)
    assert [size for size, _ in calls] == [70]
    saved, calls = counting(lambda stage: [0.5 * STAGE] if stage == 1 else [0.2])
    assert passes(saved, name="a", size=7, fresh="20240101", scale=10)
    assert [size for size, _ in calls] == [70, 700] and calls[0][1] != calls[1][1]
    lost, calls = counting(lambda stage: [0.5 * STAGE])
    assert not passes(lost, name="a", size=7, fresh="20240101", scale=10)
    assert len(calls) == 2
    other, later = counting(lambda stage: [1.0])
    passes(other, name="a", size=7, fresh="20240102", scale=10)
    assert later[0][1] != calls[0][1]
    assert re.search(r"a: seed \[20240101, \d+, 0\], size 70, p = 0.002", capsys.readouterr().out)


def test_two_stages_together_have_the_alpha_of_one():
    assert STAGE**2 == pytest.approx(ALPHA)
    rng = np.random.default_rng(1)
    rejected = [smallest(two_sided(rng.standard_normal(8))) < STAGE for _ in range(20_000)]
    assert sum(rejected) < 20 + 5 * np.sqrt(20)
    assert sum(rejected) > 20 - 4 * np.sqrt(20)


def test_nothing_to_judge_is_no_success():
    for pvalues in ([], [np.nan, 0.5]):
        with pytest.raises(AssertionError, match="nothing to judge"):
            smallest(pvalues)


@pytest.mark.trust("N1")
def test_the_command_takes_the_seeds_of_the_day():
    recipe = re.search(r"^test-fresh:.*\n((?:\t.*\n)+)", MAKEFILE.read_text(), re.M)[1]
    assert "date +%Y%m%d" in MAKEFILE.read_text()
    assert "FRESH_SEED=$(SEED)" in recipe and "FRESH_SCALE=$(SCALE)" in recipe
    assert "-m fresh" in recipe
