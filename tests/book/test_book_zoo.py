"""Guess the bug in the built book: by keyboard alone, announced, kept, and without a script."""

import json

import pytest
from browsing import PHONE

PAGES = ["bug_zoo", "bug_zoo_draws"]
every_zoo = pytest.mark.parametrize("name", PAGES)


def choose(form, right):
    """Go to a suspect by arrow keys and answer by Enter; return what is said."""
    names = form.locator("input").first
    names.focus()
    page = form.page
    page.keyboard.press("Space")
    suspects = json.loads(form.get_attribute("data-key"))
    for _ in range(suspects.index(right)):
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    return form.locator("[role=status]").inner_text()


@pytest.fixture
def zoo(visit):
    """Return ``zoo(name)``: a page with each form's answers in its order, read without a script."""

    def start(name):
        plain = visit(java_script_enabled=False).open(f"chapters/{name}.html")
        marks = plain.eval_on_selector_all(
            ".guess",
            "all => all.map((guess) => [...guess.querySelectorAll('li > details')]"
            ".map((suspect) => 'right' in suspect.dataset))",
        )
        assert marks and all(sum(mark) == 1 for mark in marks)
        page = visit(viewport=PHONE).open(f"chapters/{name}.html")
        forms = page.locator(".guess form").all()
        for form, mark in zip(forms, marks, strict=True):
            form.evaluate("(form, mark) => { form.dataset.key = JSON.stringify(mark) }", mark)
        return page, forms

    return start


def found(page):
    return int(page.locator(".guess-score").text_content().split()[3])


@every_zoo
def test_every_guess_is_answered_by_keyboard(zoo, name):
    page, forms = zoo(name)
    assert found(page) == 0
    for number, form in enumerate(forms, start=1):
        fold = form.locator("xpath=../following-sibling::details[contains(@class, 'specimen')]")
        assert not fold.first.evaluate("fold => fold.open")
        assert choose(form, False).startswith("No.")
        assert found(page) == number - 1 and not fold.first.evaluate("fold => fold.open")
        assert choose(form, True).startswith("Yes.")
        assert found(page) == number and fold.first.evaluate("fold => fold.open")
        assert page.evaluate("document.activeElement.type") == "radio"
    page.reload()
    assert found(page) == len(forms) == page.locator(".guess.is-found").count()


def test_an_answer_without_a_choice_is_asked_for(zoo):
    page, (form, *_) = zoo("bug_zoo")
    form.get_by_role("button").click()
    assert form.locator("[role=status]").inner_text() == "Choose a suspect first."
    assert found(page) == 0


def test_tries_are_counted_until_it_is_found(zoo):
    page, (form, *_) = zoo("bug_zoo")
    for right in (False, True, False):
        choose(form, right)
    (kept,) = page.evaluate("Object.values(window.progress.all('zoo'))")
    assert kept == {"right": True, "tries": 2}


@every_zoo
def test_without_a_script_each_suspect_unfolds(visit, name):
    page = visit(java_script_enabled=False).open(f"chapters/{name}.html")
    suspect = page.locator(".guess details").first
    suspect.locator("summary").click()
    assert suspect.locator(".guess-reply").is_visible()
    assert not page.locator(".guess-score").is_visible()
