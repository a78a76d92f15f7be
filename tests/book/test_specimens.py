"""The bug zoo of chains: each specimen is caught by the checks named for it, and by no others."""

import re
from typing import NamedTuple

import ledgers
import numpy as np
import pytest
import yaml
from bookext.cells import read
from prose import CHAPTERS, ROOT, cells, markdown
from twins import run

from bayeslib.errors import BayeslibError, BayeslibTypeError
from needles.specimens import Findings, plant

SEEDS = (21, 22)
TABLE = yaml.safe_load((ROOT / "tests" / "data" / "zoo_chains.yml").read_text("utf-8"))

# Names of specimens, that of a section being sec-bug-zoo-<name>.
SPECIMENS = set(re.findall(r"\{guess\} ([\w-]+)", markdown(CHAPTERS / "bug_zoo.ipynb")))
LABELS = {name.removeprefix("sec-bug-zoo-") for name in read(CHAPTERS / "bug_zoo.ipynb").sections}


@pytest.fixture(scope="module")
def page():
    """Return what the page's cells tagged specimen-… make of an expression."""
    names = {"__name__": "bug_zoo"}
    for cell in cells(CHAPTERS / "bug_zoo.ipynb"):
        if any(tag.startswith("specimen-") for tag in cell.tags):
            run(cell.source, names)
    return lambda expression: eval(expression, names)


class Case(NamedTuple):
    """A chain on a bench: checks that must catch it, checks that must let it pass."""

    name: str
    chain: str
    caught: tuple = ()
    passes: tuple = ()
    bench: str = "log_gamma"

    def checks(self):
        """Yield (check, whether it must catch)."""
        for checks, expected in ((self.caught, True), (self.passes, False)):
            for check in checks:
                yield {"R̂": "R̂, ESS"}.get(check, check), expected


CASES, CURED = ([Case(**row) for row in TABLE[name]] for name in ("cases", "cured"))
EXACT = TABLE["exact"]


def judge(page, case, seed):
    """Return {check: set of verdicts, one each time} for the checks that a case speaks of."""
    is_tree = case.name.startswith("tree")
    sizes = {"normal": (6_000, 0), "posterior": (4_000, 0)}.get(case.bench, (2_000, 60_000))
    num_samples, num_exact = (1_000, 15_000) if is_tree else sizes
    chain, bench = page(case.chain), page(case.bench)
    wanted = {check for check, _ in case.checks()}
    found = {}
    if wanted - {"ten steps", "swap"}:
        few = bench._replace(moments=None)
        examined = page("examine")(chain, few, seed, num_samples, num_exact)
        found |= {check: set(verdicts) for check, verdicts in examined.items()}
    for number, check in enumerate(("ten steps", "swap")):
        if check in wanted:
            rng = np.random.default_rng([seed, number])
            function = page(check.replace(" ", "_"))
            found[check] = {not function(chain, bench, rng, num_exact) < page("LIMIT")}
    return found


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_specimen_is_caught_by_its_checks_and_passes_the_blind_ones(page, case):
    with np.errstate(all="ignore"):
        for seed in SEEDS:
            found = judge(page, case, seed)
            for check, caught in case.checks():
                assert found[check] == {caught}, f"{check}, seed {seed}"


@pytest.mark.parametrize("case", CURED, ids=lambda case: case.name)
def test_a_cured_program_passes_every_check(page, case):
    """At most 27 statistics beyond 5.6 errors by chance: 6e-7 a program and seed."""
    finite = page(case.bench).law
    every = ("R̂", "±0.1", "z", *(() if finite else ("virial", "ten steps", "swap")))
    for seed in SEEDS:
        found = judge(page, case._replace(passes=every), seed)
        assert len(found) >= 3 and set().union(*found.values()) == {False}, (seed, found)


@pytest.mark.parametrize("name", EXACT)
def test_what_needs_no_chance_tells_wrong_from_right(page, name):
    wrong, right = EXACT[name]
    assert page(wrong) and not page(right)


def test_no_specimen_is_without_a_check_that_catches_it():
    caught = {case.name.split(":")[0] for case in CASES if case.caught}
    caught |= {name.split(":")[0] for name in EXACT} | {"formulas"}
    errors = {entry.get("specimen", "") for entry in ledgers.entries(CHAPTERS, "errata")}
    told = {place.partition("#sec-bug-zoo-")[2] for place in errors if "zoo#" in place}
    assert len(told) > 5 and len(SPECIMENS) > 15
    assert told | SPECIMENS <= caught and SPECIMENS <= LABELS
    assert {case.name.split(":")[0] for case in CASES} <= LABELS


def test_the_law_of_the_steps_is_the_theorems(page):
    from_steps = page("LAW")
    for name, C, eps, noise, known in (("SGHMC", 1.0, 0.1, 4.0, 0.2),):
        half = 1.0 - eps * C / 2.0
        theorem = (1.0 + (eps * noise / 2.0 - known) / C) * half / (half - eps**2 / 4.0)
        assert abs(from_steps[name] - theorem) < 1e-12
    assert abs(from_steps["SGLD"] - (1.0 + 0.2 / 4.0) / (1.0 - 0.2 / 4.0)) < 1e-12


def test_a_checker_that_does_not_fold_is_blind(page):
    for seed in SEEDS:
        u = page("ranks")(page("spread"), np.random.default_rng(seed))
        assert page("mean_rank")(u) < page("LIMIT") < page("folded_rank")(u)


def test_a_power_of_the_ratio_is_exact_for_the_power_of_the_target(page):
    x = np.linspace(-9, 4, 2_601)
    heights = np.exp(0.9 * page("log_p")(x))
    u = np.random.default_rng(3).random(60_000)
    exact = np.interp(u, heights.cumsum() / heights.sum(), x)
    bench = page("log_gamma")._replace(draw=lambda n, rng: exact[:n])
    assert page("ten_steps")(page("power"), bench, np.random.default_rng(4), 60_000) < page("LIMIT")


def test_printed_formulas_are_false_and_mended_ones_true(page):
    for name, (printed, mended, truth) in page("FORMULAS").items():
        if truth is None:  # a probability
            assert printed < -0.1 and mended >= 0.0, name
        else:
            assert abs(mended - truth) < 1e-8 < 0.1 < abs(printed - truth), name


def test_energies_are_conserved_only_together(page):
    swings = page("swings")
    assert swings["their sum"] < 0.05 < 0.5 < min(swings["U"], swings["K"])


def plain(x, half=2):
    if x:
        x = x + 1
    return x / half


def test_a_line_is_planted_and_planted_again():
    wrong = plant(plain, "x = x + 1", "x = x + 2\nx = 2 * x")
    assert plain(1) == 1 and wrong(1) == 3 and wrong(0) == 0
    assert plant(wrong, "half=2", "half=3")(1) == 2
    with pytest.raises(BayeslibError, match="stands 0 times in plain"):
        plant(plain, "x - 1", "x")
    with pytest.raises(BayeslibError, match="not once"):
        plant(plain, "x", "y")


def test_findings_say_what_was_caught():
    zoo = Findings("R-hat", "z")
    row = zoo.judge("lion", {"z": np.True_})
    zoo.judge("bear <b>", {"R-hat": False, "z": False})
    assert row.checks == ("z",) and str(row).split() == ["z", "lion", "caught"]
    assert zoo["lion", "R-hat"] is None and zoo.blind("z") == ["bear <b>"]
    assert str(zoo).splitlines()[1].split() == ["lion", "–", "caught"]
    html = zoo._repr_html_()
    assert "bear &lt;b&gt;" in html and '<td class="passes">passes</td>' in html
    assert zoo.part("bear <b>").checks == ("R-hat", "z")
    zoo.judge("seal", {"R-hat": [True, np.False_, True], "z": [False, False]})
    assert zoo["seal", "R-hat"] == "2 of 3" and zoo.blind("z") == ["bear <b>", "seal"]
    assert '<td class="sometimes">2 of 3</td>' in zoo._repr_html_()
    with pytest.raises(BayeslibTypeError, match="or a list"):
        zoo.judge("lion", {"z": []})
    with pytest.raises(BayeslibError, match="no column for"):
        zoo.judge("lion", {"zz": True})
    with pytest.raises(BayeslibTypeError, match="must be True or False"):
        zoo.judge("lion", {"z": 3.2})
