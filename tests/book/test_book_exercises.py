"""Exercises in the built book: listed, ticked by keyboard, counted, filtered, saved, loaded."""

import json

import pytest
from browsing import PHONE, violations
from exercise_form import LEVELS, read_book
from prose import ROOT

from needles.study import find

pytestmark = pytest.mark.usefixtures("book")
INDEX = "chapters/exercises.html"
ALL = [exercise for _, _, exercises in read_book(ROOT) for exercise in exercises]
PRICE = "Done: The price of a thousand"
TOTAL = len(ALL)


def total(page):
    return page.locator(".exercise-total").inner_text()


def shown(page):
    return page.locator(".exercise-list > li:visible").count()


@pytest.fixture
def index(visit):
    return visit().open(INDEX)


@pytest.fixture
def field(visit):
    """An exercise on a phone, and what is said below its field."""
    page = visit(viewport=PHONE, has_touch=True).open("chapters/mcmc.html")
    return page.locator("form.answer[data-name=mcmc-repeat]")


def give(field, answer):
    """Type an answer and return what is said to it."""
    field.get_by_label("Your answer").fill(answer)
    field.get_by_label("Your answer").press("Enter")
    return field.locator(".answer-said").inner_text()


def test_wrong_at_first_helped_and_right_at_last(field):
    page, name = field.page, "mcmc-repeat"
    hint = page.locator(f"#ex-{name} details.tip")
    way = field.get_by_role("button", name="Show the way")
    recipe, praise = find(name).recipe, find(name).praise
    assert give(field, "") == "Nothing to check yet. An exact answer is asked for."
    assert not way.is_visible() and hint.get_attribute("open") is None
    assert "That counts moves only." in give(field, "7")
    assert hint.get_attribute("open") is None and way.is_visible()
    field.evaluate("(field) => field.scrollIntoView({ block: 'center' })")
    place = field.bounding_box()["y"]
    said = give(field, "3")
    assert abs(field.bounding_box()["y"] - place) < 1
    assert said.endswith("There is a hint under the exercise.") and recipe not in said
    assert hint.get_attribute("open") is not None
    assert recipe not in give(field, "2") and recipe in give(field, "1")
    assert "asks for numbers" in give(field, "six")
    way.tap()
    assert field.locator(".answer-said").inner_text() == f"The way there. {recipe}"
    page.goto(page.url.replace("mcmc", "exercises"))
    item = page.locator(f"li:has(a[href$='#ex-{name}'])")
    assert "tried" in item.inner_text() and total(page) == f"0 of {TOTAL} done"
    page.go_back()
    assert field.get_by_label("Your answer").input_value() == "six"
    assert give(field, "25/4") == f"Right. {praise}" and not way.is_visible()
    assert page.locator(f"#ex-{name} .exercise-done").get_attribute("aria-pressed") == "true"
    page.reload()
    assert field.locator(".answer-said").inner_text() == f"Right. {praise}"
    page.goto(page.url.replace("mcmc", "exercises"))
    assert total(page) == f"1 of {TOTAL} done" and "tried" not in item.inner_text()


def test_a_word_is_chosen(visit):
    page = visit(viewport=PHONE).open("chapters/nuts.html")
    field, exercise = page.locator("form.answer[data-name=nuts-break]"), find("nuts-break")
    said, check = field.locator(".answer-said"), field.get_by_role("button", name="Check")
    check.click()
    assert said.inner_text() == "Nothing to check yet."
    message, wrong = next(iter(exercise.mistakes.items()))
    field.get_by_label(wrong).check()
    check.click()
    assert said.inner_text() == f"Not yet. {message}"
    field.get_by_label(exercise.expects.right).check()
    check.click()
    page.reload()
    assert said.inner_text() == f"Right. {exercise.praise}"
    assert field.get_by_label(exercise.expects.right).is_checked()


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_a_field_can_be_used_by_everybody(visit, mode):
    visitor = visit(viewport={"width": 320, "height": 700}, color_scheme=mode)
    page = visitor.open("chapters/mcmc.html")
    field = page.locator("form.answer[data-name=mcmc-repeat]")
    give(field, "7")
    box = field.bounding_box()
    assert box["x"] >= 0 and box["x"] + box["width"] <= 320
    assert not violations(page, "form.answer[data-name=mcmc-repeat]")


def test_a_field_is_not_there_without_scripts(visit):
    page = visit(java_script_enabled=False).open("chapters/mcmc.html")
    assert page.locator("form.answer:visible").count() == 0


def test_a_tick_by_keyboard_is_counted_and_kept_on_both_pages(index):
    assert total(index) == f"0 of {TOTAL} done"
    index.get_by_role("checkbox", name=PRICE).press("Space")
    assert total(index) == f"1 of {TOTAL} done"
    count = index.locator("#exercises-rejection .exercise-count")
    assert count.inner_text() == "1 of 7 done"
    index.reload()
    assert index.get_by_role("checkbox", name=PRICE).is_checked()
    index.get_by_role("link", name="The price of a thousand").press("Enter")
    index.wait_for_url("**/rejection.html#ex-rejection-price")
    button = index.locator("#ex-rejection-price .exercise-done")
    assert button.get_attribute("aria-pressed") == "true"
    assert index.locator(".exercise-done[aria-pressed=true]").count() == 1
    button.press("Enter")
    assert button.get_attribute("aria-pressed") == "false"
    index.locator("#ex-rejection-leak .exercise-done").press("Space")
    index.go_back()
    index.reload()
    assert not index.get_by_role("checkbox", name=PRICE).is_checked()
    assert index.get_by_role("checkbox", name="Done: Predict the leak").is_checked()
    assert total(index) == f"1 of {TOTAL} done"


def test_what_is_shown_follows_level_and_state(index):
    assert shown(index) == TOTAL
    for level in LEVELS:
        index.get_by_label("Level").press("ArrowDown")
        assert shown(index) == sum(exercise.level == level for exercise in ALL)
    index.get_by_label("Level").select_option("")
    tick = index.get_by_role("checkbox", name=PRICE)
    tick.press("Space")
    index.get_by_label("Show").select_option("done")
    assert shown(index) == 1 and index.locator("section:visible > .exercise-list").count() == 1
    assert index.locator(".exercise-message").inner_text() == f"1 of {TOTAL} shown."
    tick.press("Space")
    assert tick.is_visible() and tick.evaluate("(box) => box === document.activeElement")
    index.get_by_label("Show").select_option("open")
    assert shown(index) == TOTAL


def test_progress_is_written_to_a_file_and_read_back(index, tmp_path):
    index.get_by_role("checkbox", name=PRICE).press("Space")
    with index.expect_download() as waiting:
        index.get_by_role("button", name="Save progress to a file").press("Enter")
    path = tmp_path / "progress.json"
    waiting.value.save_as(path)
    kept = json.loads(path.read_text("utf-8"))["areas"]["exercises"]
    assert kept["rejection-price"]["value"] is True
    index.once("dialog", lambda question: question.dismiss())
    index.get_by_role("button", name="Forget my answers").press("Enter")
    assert total(index) == f"1 of {TOTAL} done"
    index.once("dialog", lambda question: question.accept())
    index.get_by_role("button", name="Forget my answers").press("Enter")
    assert total(index) == f"0 of {TOTAL} done"
    index.get_by_label("Restore from a file").set_input_files(path)
    index.get_by_text("Entries taken from the file: 1.").wait_for()
    assert index.get_by_role("checkbox", name=PRICE).is_checked()
    path.write_text("nothing", "utf-8")
    index.get_by_label("Restore from a file").set_input_files(path)
    index.get_by_text("This is not a file of progress.").wait_for()
    assert total(index) == f"1 of {TOTAL} done"


def test_without_scripts_it_is_a_list_of_links(visit):
    page = visit(java_script_enabled=False).open(INDEX)
    assert page.locator(".exercise-list a:visible").count() == TOTAL
    assert not page.locator(".exercise-tools").is_visible()
    assert page.locator(".exercise-list input").count() == 0


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_ticked_and_filtered_it_is_still_accessible(visit, mode):
    page = visit(viewport=PHONE, color_scheme=mode).open(INDEX)
    page.get_by_role("checkbox", name=PRICE).press("Space")
    page.get_by_label("Show").select_option("done")
    assert not violations(page)
    page.get_by_role("link", name="The price of a thousand").click()
    page.locator("#ex-rejection-price .exercise-done[aria-pressed=true]").wait_for()
    assert not violations(page, "#ex-rejection-price")


def test_the_notebooks_are_there_to_be_taken(index):
    link = index.get_by_role("link", name="the notebooks as one zip")
    with index.expect_download() as waiting:
        link.click()
    assert waiting.value.suggested_filename == "all-the-needles-notebooks.zip"
