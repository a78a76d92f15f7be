"""The bug zoo of draws, weights and bounds: each specimen is caught by what is said to catch it,
passes what is said to be blind, and the cured lines pass everything, over several seeds."""

import re
from pathlib import Path

import numpy as np
import pytest
import yaml
from prose import CHAPTERS, cells, markdown
from twins import run

PAGE = CHAPTERS / "bug_zoo_draws.ipynb"
SEEDS = (2, 3)  # the page itself judges with 1
TABLE = Path(__file__).parents[1] / "data" / "zoo_draws.yml"
VERDICTS = {row["specimen"]: row for row in yaml.safe_load(TABLE.read_text("utf-8"))}


def tagged():
    """Yield (tag, source) of the cells of the page that are tagged for this test."""
    for number, cell in enumerate(cells(PAGE)):
        for tag in cell.tags:
            if tag in ("zoo", "formulas") or tag.startswith(("specimen-", "fix-")):
                yield number, tag, cell.source


@pytest.fixture(scope="module")
def page():
    """Everything but the cures, which run the checks."""
    place, done = {}, set()
    with np.errstate(divide="ignore"):
        for number, tag, source in tagged():
            if (tag == "zoo" or tag.startswith("specimen-")) and number not in done:
                done.add(number)
                run(source, place)
        yield place


@pytest.fixture
def cure(page):
    """Return ``cure(name)``: the page's own verdicts, the wrong function and the right one."""
    cures = {tag: source for _, tag, source in tagged()}

    def of(name):
        run(cures[f"fix-{name}"], page)
        row = list(page["zoo"].rows.values())[-1]
        verdicts = {check: found for check, found in row.items() if found is not None}
        return verdicts, *page["SPECIMENS"][name]

    return of


def test_the_page_has_these_specimens():
    tags = {tag for _, tag, _ in tagged()}
    assert {tag[9:] for tag in tags if tag.startswith("specimen-")} == set(VERDICTS)
    assert {tag[4:] for tag in tags if tag.startswith("fix-")} == set(VERDICTS)


def test_the_rooms_hold_as_many_bugs_as_the_visitor_is_told():
    text = markdown(PAGE)
    told = re.search(r"\*\*A room is a sitting\.\*\*.*", text)[0]
    rooms = re.split(r"^\((sec-[a-z-]+)\)=\n## ", text, flags=re.M)
    bugs = {
        label: room.count("```{guess}")
        for label, room in zip(rooms[1::2], rooms[2::2], strict=True)
    }
    count = {"one": 1, "two": 2, "five": 5}
    named = re.findall(r"<(sec-[a-z-]+)>` \((\w+)", told)
    assert {label: count[word] for label, word in named} == {k: n for k, n in bugs.items() if n}


@pytest.mark.parametrize("name", VERDICTS)
def test_a_specimen_is_caught_by_what_is_said_and_passes_the_rest(page, cure, name):
    told = VERDICTS[name]
    expected = dict.fromkeys(told["caught"], True) | dict.fromkeys(told["passes"], False)
    on_page, wrong, right = cure(name)
    assert on_page == expected
    for seed in SEEDS:
        assert page["caught"](name, wrong, seed) == expected, seed
        assert not any(page["caught"](name, right, seed).values()), seed


def test_a_cure_that_does_not_cure_is_refused(page, cure):
    _, wrong, _ = cure("lost-entropy")
    with pytest.raises(AssertionError):
        page["autopsy"]("lost-entropy", wrong, wrong)


@pytest.mark.parametrize("seed", range(5))
def test_the_checks_judge_what_they_claim_to(page, seed):
    rng = np.random.default_rng(seed)
    z = rng.standard_normal((400, 500))
    runs = [(row.mean(), row.std() / np.sqrt(500)) for row in z]
    assert not page["biased"](z[0], 0.0) and page["biased"](z[0], 0.5)
    assert not page["misjudged"](runs)
    assert page["misjudged"]([(mean, 2 * error) for mean, error in runs])
    assert page["misjudged"]([(mean, error / 2) for mean, error in runs])
    u = rng.random(1_500)
    assert not page["uneven"](u)
    assert page["uneven"](u**1.4) and page["uneven"](0.1 + 0.8 * u)
    assert not page["worn"](0.1 * z[0]) and page["worn"](3 * z[0])
    draws = rng.standard_normal((4, 1_000))
    assert not page["unsettled"](draws)
    assert page["unsettled"](draws + 0.5 * np.arange(4)[:, None])
    assert page["unsettled"](np.repeat(draws[:, ::20], 20, axis=1))
    point = rng.standard_normal(3)
    assert not page["off_slope"](lambda x: np.sin(x).sum(), np.cos, point)
    assert page["off_slope"](lambda x: np.sin(x).sum(), lambda x: 1.001 * np.cos(x), point)


@pytest.mark.parametrize("seed", range(5))
def test_what_the_page_shows_of_one_seed_is_no_luck(page, seed):
    rng = np.random.default_rng(100 + seed)
    runs = np.array([page["ratio"](*page["sampler"](rng)) for _ in range(30)])
    assert np.sum(runs[:, 0] + 2 * runs[:, 1] < 1) >= 15
    drift = page["drifting"](rng)
    assert page["rhat"](drift) < 1.01 < 1.1 < page["rhat"](np.concatenate(np.split(drift, 2, 1)))
    assert not 0 < page["ess"](page["correlated"](rng, 2_000)) < 1e6
    tails = [page["above"](page["tail_weights"](rng, 100)) for _ in range(400)]
    raw = np.array([page["khat"](tail) for tail in tails])
    shrunk = np.array([(t.size * k + 5) / (t.size + 10) for t, k in zip(tails, raw, strict=True)])
    assert np.sum(raw > 0.7) > np.sum(shrunk > 0.7) > 0
    many = [page["some_gradient"](page["gradient"], 0.0, rng) for _ in range(5_000)]
    assert abs(np.mean(many) - 1.6) < 6 * np.std(many) / np.sqrt(5_000)
    found = [page["particle_mean"](page["resampled"], rng) for _ in range(20)]
    assert abs(np.mean(found) - 1) < 0.1  # of the prior with two measurements
    assert page["secant"](page["variance"], page["on_student"], 3.0, 4.0) < 0
    bounds = [page["fit"](rng)[0], page["fit"](rng, (3.0,))[0]]
    np.testing.assert_allclose(bounds, np.log([0.3, 0.7]), atol=0.1)


def test_each_formula_is_wrong_as_printed_and_right_as_corrected(page):
    (cell,) = [source for _, tag, source in tagged() if tag == "formulas"]
    run(cell, page)
    assert len(page["FORMULAS"]) > 10
    for name, (printed, corrected, found) in page["FORMULAS"].items():
        assert abs(found - corrected) < 0.06 * max(abs(corrected), 1.0), name
        assert abs(printed - corrected) > 1.5 * abs(found - corrected) + 0.002, name
