"""Exercises with the numbers of a seed: the same questions, other answers."""

import re

import numpy as np
import pytest

from bayeslib.errors import BayeslibError
from needles import ask, check, study
from needles.grading import Routine
from needles.variants import VARIANTS, Variant

SEEDS = range(12)
every_variant = pytest.mark.parametrize("name", VARIANTS)

# What a function that the page asks for is called with, where the variant asks for its value.
CALLS = {
    "challenge-quickscore": lambda r1, r2, s1, s2, leak: (
        np.array([r1, r2]),
        np.array([[s1], [s2]]),
        np.array([leak]),
    ),
    "mcmc-balance": lambda a, b, there, back: (
        np.array([a, b]),
        np.array([[1.0 - there, there], [back, 1.0 - back]]),
    ),
}


def on_the_page(name, variant):
    """Return what the page's own checker takes for right, with the page's numbers."""
    expects = study.find(name).expects
    if not isinstance(expects, Routine):
        return expects.example()
    found = np.asarray(expects.reference(*CALLS[name](**variant.page)))
    return found[[0, 1], [1, 0]] if name == "mcmc-balance" else found


def agrees(name, variant):
    kind = study.find(name).expects
    answers = variant.answer(**variant.page), on_the_page(name, variant)
    found, wanted = map(np.asarray, answers)
    if isinstance(kind, Routine):
        return np.allclose(found, wanted, rtol=1e-12)
    return found.shape == wanted.shape and kind.equals(found, wanted)


@every_variant
def test_with_the_numbers_of_the_page_the_answer_is_the_pages(name):
    assert agrees(name, VARIANTS[name])


def test_a_wrong_formula_is_found():
    wrong = Variant("", lambda shape, error: shape / error, {"shape": (3,), "error": (0.001,)})
    assert not agrees("monte_carlo-digits", wrong)


@every_variant
def test_a_seed_asks_with_its_own_numbers(name):
    varied = VARIANTS[name]
    questions = {ask(name, seed=seed).text for seed in SEEDS}
    assert len(questions) >= 4
    assert set(re.findall(r"<(\w+)>", varied.asks)) == set(varied.page)
    assert not any(re.search(r"<\w+>", question) for question in questions)
    assert ask(name, seed=3).text == ask(name, seed=3).text
    for seed in SEEDS:
        right = varied.expects(seed).example()
        assert np.all(np.isfinite(right)) and varied.numbers(seed) != varied.page
        assert check(name, right, seed=seed)
        assert not check(name, np.asarray(right) * 1.5 + 1.0, seed=seed)
        published = varied.answer(**varied.page)
        if not varied.expects(seed).equals(np.asarray(published), right):
            assert "page's answer" in check(name, published, seed=seed).message


def test_two_exercises_a_chapter_take_a_seed():
    chapters = {}
    for exercise in study.exercises():
        chapter = exercise.id.partition("-")[0].replace("hardness", "challenge")  # one before
        chapters.setdefault(chapter, []).append(exercise.id in VARIANTS)
    few = {chapter: sum(taken) for chapter, taken in chapters.items() if sum(taken) < 2}
    assert not few, few
    assert set(VARIANTS) <= {exercise.id for exercise in study.exercises()}


def test_an_exercise_without_numbers_says_which_have_some():
    with pytest.raises(BayeslibError, match="no seed changes 'mcmc-optimal'.*mcmc-repeat"):
        ask("mcmc-optimal", seed=1)
    with pytest.raises(BayeslibError, match="no seed changes"):
        check("mcmc-optimal", 1.0, seed=1)
    for seed in (None, "007", -1, 1.5):
        with pytest.raises(BayeslibError, match=rf"^seed must be .*got {seed!r}"):
            ask("hmc-length", seed=seed)


def test_without_a_seed_the_page_asks():
    assert check("monte_carlo-digits", 3e6) and not check("monte_carlo-digits", 3e6, seed=1)


def test_a_notebook_prints_the_question_as_markdown():
    assert ask("hmc-length", seed=1)._repr_markdown_().startswith("The target is $")
