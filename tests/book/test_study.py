"""The exercise checker: each kind of answer, blank, unreadable, mistaken, wrong and right."""

import re

import numpy as np
import pytest
from scipy import stats

from bayeslib.errors import BayeslibError, BayeslibTypeError
from bayeslib.results import Draws, Estimate
from needles import study
from needles.grading import Choice, Routine, Sample, Statistical, Value
from needles.study import Exercise, check

AREA = Exercise(
    "circle-1",
    expects=Value(lambda: np.pi / 4),
    mistakes={
        "That is the circle; how much of the square is it?": np.pi,
        "A part cannot exceed the whole.": lambda a: a > 1,
    },
    recipe="Compare areas.",
    praise="So it is.",
)
COUNT = Exercise("circle-7", expects=Value(251.0))
POINT = Exercise("circle-2", expects=Value([1.0, 2.0, 3.0]))
ESTIMATE = Exercise(
    "circle-3", expects=Statistical(1.0, max_mcse=0.1), mistakes={"That is the diameter.": 2.0}
)
NORMAL = Exercise(
    "circle-4",
    expects=Sample(
        {"mean": (lambda x: x[:, 0], 0.0), "variance": (lambda x: x[:, 0] ** 2, lambda: 1.0)},
        cdf=stats.norm.cdf,
    ),
    mistakes={"These are draws of N(1, 1).": 1.0},
)
SQUARE = Exercise(
    "circle-5",
    expects=Routine(lambda x: x**2, cases=((3.0,), (np.array([1.0, -2.0]),))),
    mistakes={"You doubled.": lambda x: 2 * x},
)
METHOD = Exercise(
    "circle-6",
    expects=Choice(("Rejection", "Importance"), "Importance"),
    mistakes={"Think of the coin toss.": "Rejection"},
)
ALL = [AREA, POINT, ESTIMATE, NORMAL, SQUARE, METHOD]


@pytest.fixture(autouse=True)
def untried(monkeypatch):
    monkeypatch.setattr(study, "_TRIED", {})


def normal(loc=0.0, scale=1.0, size=4000):
    return loc + scale * np.random.default_rng(20).normal(size=size)


@pytest.mark.parametrize("exercise", ALL, ids=lambda e: e.id)
@pytest.mark.parametrize("blank", [None, ..., "", " ... ", [..., ...]])
def test_blank_answers_are_met_kindly(exercise, blank):
    verdict = check(exercise, blank)
    assert verdict.outcome == "blank" and not verdict and "dots" in verdict.message


@pytest.mark.parametrize(
    "exercise, answer",
    [
        (AREA, 0.7854),
        (AREA, [0.7854]),
        (AREA, np.array(np.pi / 4)),
        (POINT, (1, 2, 3)),
        (ESTIMATE, Estimate(1.3, 0.1)),
        (NORMAL, normal()),
        (NORMAL, normal()[:, None]),
        (NORMAL, Draws(values=normal().reshape(4, 1000, 1))),
        (SQUARE, lambda x: x * x),
        (METHOD, " importance"),
    ],
)
def test_right_answers_pass(exercise, answer):
    verdict = check(exercise, answer)
    assert verdict.passed and verdict.outcome == "right"
    assert verdict.message == exercise.praise


def untouched(x):
    """A function as a page leaves it."""
    ...


@pytest.mark.parametrize("blank", [untouched, lambda x: ..., lambda x: None])
def test_a_function_that_does_nothing_is_blank(blank):
    assert check(SQUARE, blank).outcome == "blank"
    assert check(SQUARE, lambda x: 0 * x).outcome == "wrong"


def doubled(x):
    return x + x


def fails(x):
    raise ZeroDivisionError("by nothing")


def forgets(x):
    x**2


def flattens(x):
    return np.sum(x)


class Odd:
    def __array__(self, *_, **__):
        raise RuntimeError("no")


SAID = {
    "mistake": [
        (AREA, 3.1416, "That is the circle"),
        (AREA, 7.0, "cannot exceed the whole"),
        (ESTIMATE, Estimate(2.1, 0.05), "diameter"),
        (NORMAL, normal(loc=1.0), r"N\(1, 1\)"),
        (SQUARE, doubled, "You doubled"),
        (METHOD, "rejection", "coin toss"),
    ],
    "unreadable": [
        (AREA, "0.78", "asks for numbers, and you gave '0.78'. Write the number alone: 0.78"),
        (AREA, True, "true or false"),
        ("hmc-mass", (True, False, True, False, False), "1 in place of True"),
        ("challenge-scale", (3.6, ...), "^Still blank: entry 2."),
        (AREA, doubled, "the function 'doubled'; call it"),
        (AREA, [0.78, 0.78], "One number is asked for, and you gave two"),
        (AREA, (0, 785), "and you gave two. The decimal sign is a point"),
        (AREA, float("nan"), "holds nan"),
        (AREA, 1j, "real numbers"),
        (AREA, {"a": 1}, "a dict"),
        (AREA, Estimate(0.78, 0.01), "exact number"),
        (AREA, Odd(), "could not be judged .RuntimeError: no"),
        (POINT, [1.0, 2.0], "Three numbers are asked for, and you gave two"),
        (POINT, [[1.0, 2.0, 3.0]], r"should be \(3,\), and is \(1, 3\)"),
        (POINT, [[1], [2, 3]], "a list"),
        (ESTIMATE, 1.0, "asks for an Estimate .*, and you gave 1.0"),
        (ESTIMATE, Estimate(1.0, 0.0), "must be positive"),
        (ESTIMATE, Estimate(1.0, float("nan")), "holds nan"),
        (NORMAL, normal(size=20), "20 draws are too few"),
        (NORMAL, np.zeros((2, 2, 200)), "give .n,., .n, dim. or a Draws"),
        (SQUARE, 9.0, "asks for a function, and 9.0 is none"),
        (SQUARE, fails, r"fails\(3\) raised ZeroDivisionError: by nothing"),
        (SQUARE, forgets, r"forgets\(3\) returned None. Is a return missing"),
        (SQUARE, flattens, r"flattens\(.*\): Two numbers are asked for, and you gave one"),
        (METHOD, "magic", "not among the choices: 'Rejection', 'Importance'"),
        (METHOD, 3, "3 is none"),
    ],
    "wrong": [
        (AREA, 0.79, "Close. Was something rounded on the way. Three significant"),
        (AREA, -np.pi / 4, "the sign is not"),
        (AREA, np.log(np.pi / 4) * 1.0, "logarithm of the right answer"),
        (AREA, 0.3, "The answer is another number. There is a hint under the exercise."),
        (POINT, [1.0, 2.0, 4.0], "^Right: entries 1, 2. Another number: entry 3."),
        ("hmc-mass", (1, 1, 1, 1, 1), "^Not all of the 5 entries are right. There is"),
        ("minds-race", (50 / 17, 16 / 17), "^Both right, in the wrong order"),
        (POINT, [1.0, 2.02, 4.0], "^Right: entry 1. Close: entry 2. Another number: entry 3."),
        ("challenge-scale", (3.6, 0.9), "^Close in entries 1, 2 of 2. Was something rounded"),
        (COUNT, 250.0, "Close. Off by one, perhaps in counting."),
        (ESTIMATE, Estimate(1.0, 0.3), "wider than the 0.1 asked for: about 9.0 times as many"),
        (ESTIMATE, Estimate(1.2, 0.01), "Close, but 20 of its own.*claims too much"),
        (ESTIMATE, Estimate(5.0, 0.01), "400 of its own standard errors"),
        (NORMAL, normal(scale=1.3), "The variance of your draws is .* above the target's"),
        (NORMAL, np.full(500, 0.25), "All your draws give the same mean: 0.25"),
        (NORMAL, np.sqrt(3) * (2 * stats.norm.cdf(normal()) - 1), "do not follow the target"),
        (SQUARE, lambda x: np.abs(x) * 3, r"For \(\[ ?1"),
    ],
}


@pytest.mark.parametrize(
    "outcome, exercise, answer, message",
    [(outcome, *row) for outcome, rows in SAID.items() for row in rows],
)
def test_what_is_not_right_is_told_apart(outcome, exercise, answer, message):
    verdict = check(exercise, answer)
    assert verdict.outcome == outcome and not verdict.passed
    assert re.search(message, verdict.message, re.DOTALL)


def test_the_way_there_is_told_on_request_and_with_the_third_wrong_answer():
    said = [check(AREA, answer).message for answer in (0.1, 0.2, 0.2, 0.1, 0.3, 0.4)]
    assert all(message.endswith("There is a hint under the exercise.") for message in said[:4])
    assert all(message.endswith("Compare areas.") for message in said[4:])
    asked = check(AREA, "?")
    assert (asked.outcome, asked.message) == ("recipe", "Compare areas.") and not asked
    assert repr(asked) == "The way there. Compare areas."
    assert check(POINT, "?").outcome == "blank"  # it has none


@pytest.mark.parametrize(
    ("kind", "right", "wrong"),
    [
        (Value(4.0229), [4.02, 4.0229, 4.025], [4.01, 4.03]),
        (Value(3782.0), [3780, 3782], [3800, 3770]),
        (Value(9.996), [10.0, 9.996], [10.1]),
        (Value(0.0123, digits=2), [0.012, 0.0123], [0.013, 0.0117]),
        (Value([65.0, 1.3463e18]), [(65, 1.35e18)], [(66, 1.35e18), (65, 1.3e18)]),
        (Value([-2.0, 0.0]), [(-2, 0)], [(2, 0), (-2, 0.01)]),
        (Value(-6.2046, atol=0.02), [-6.2, -6.22], [-6.23]),
        (Value(6.25, atol=0.0), [6.25], [6.3, 6.2501]),
    ],
)
def test_an_answer_is_right_as_soon_as_it_is_right_to_the_digits_asked_for(kind, right, wrong):
    exercise = Exercise("circle-7", expects=kind)
    assert all(check(exercise, answer) for answer in right)
    assert not any(check(exercise, answer) for answer in wrong)


def test_a_blank_says_what_accuracy_is_asked_for():
    assert check(AREA, ...).message.endswith("run the cell. Three significant digits will do.")
    assert "error of at most 0.1" in check(ESTIMATE, ...).message
    assert check(METHOD, ...).message.endswith("run the cell.")
    exact, near = (Value(12.0, atol=atol).precision for atol in (0.0, 0.02))
    assert (exact, near) == ("An exact answer is asked for.", "To within 0.02.")


def test_the_tolerance_lets_chance_pass_and_little_else():
    # |z| > 5 has probability 5.7e-7; an estimate six standard errors off must fail.
    assert check(ESTIMATE, Estimate(1.0 + 4.9 * 0.02, 0.02))
    assert not check(ESTIMATE, Estimate(1.0 + 6.0 * 0.02, 0.02))


def test_an_answer_cannot_spoil_the_cases():
    def squares_in_place(x):
        x *= x
        return x

    assert check(SQUARE, squares_in_place)
    assert check(SQUARE, lambda x: x * x)


def test_a_verdict_reads_in_text_and_html():
    right, wrong, blank = (check(AREA, a) for a in (np.pi / 4, "<b>", ...))
    assert repr(right) == "Right. So it is."
    assert repr(wrong).startswith("Not yet. This asks for numbers")
    assert 'class="verdict right"' in right._repr_html_()
    assert "&lt;b&gt;" in wrong._repr_html_() and "<b>" not in wrong._repr_html_()
    assert 'class="verdict"' in blank._repr_html_() and "Nothing to check yet." in repr(blank)


def test_exercises_are_found_by_name(monkeypatch):
    monkeypatch.setattr(study, "exercises", lambda: ALL)
    assert check("circle-1", np.pi / 4)
    with pytest.raises(BayeslibError, match="'circle-11' .did you mean 'circle-1'.*circle-1, ci"):
        check("circle-11", 1.0)
    with pytest.raises(BayeslibError, match="there are: circle-…$"):
        check("square-1", 1.0)
    with pytest.raises(BayeslibTypeError, match="must be a name"):
        check(1, 1.0)
