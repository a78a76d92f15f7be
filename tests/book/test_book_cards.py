"""The study box in the built book: by keyboard alone, from day to day, saved and brought back."""

import json
import re
import zipfile
from datetime import date, datetime, time, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
import yaml
from browsing import DESKTOP, PHONE, violations
from prose import CHAPTERS

PAGE = "chapters/cards.html"
DECK = yaml.safe_load((CHAPTERS / "cards.yml").read_text("utf-8"))
TODAY = date(2026, 3, 28)  # the day before the clocks go forward
ZONE = ZoneInfo("Europe/Berlin")
NEW_A_DAY = 20
STORE = Path(__file__).with_name("store.js").read_text("utf-8")

pytestmark = [
    pytest.mark.usefixtures("book"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


class Desk:
    """The study box on a page, at a day of the reader's."""

    def __init__(self, visitor):
        self.page = visitor.page
        self.card = self.page.locator(".study-card")
        self.set_clock(TODAY)
        visitor.open(PAGE)

    def set_clock(self, day, at=time(22, 30)):
        self.page.clock.set_system_time(datetime.combine(day, at, ZONE))

    def go_to(self, *when):
        self.set_clock(*when)
        self.page.reload()

    @property
    def due(self):
        """How many cards are due."""
        return self.counts[0]

    @property
    def counts(self):
        """Due, new today, learnt, all."""
        return [int(n) for n in re.findall(r"\d+", self.page.locator(".study-counts").inner_text())]

    @property
    def kept(self):
        """What the store says of the cards, by id."""
        text = self.page.evaluate("localStorage.getItem('all-the-needles')")
        entries = json.loads(text)["areas"].get("cards", {}) if text else {}
        values = {name: entry["value"] for name, entry in entries.items()}
        return {name: (value["box"], value["due"]) for name, value in values.items()}

    @property
    def front(self):
        return self.page.locator(".study-front").inner_text()

    @property
    def turned(self):
        return self.page.locator(".study-back").is_visible()

    def answer(self, key):
        self.card.press("Space")
        self.card.press(key)


@pytest.fixture
def desk(visit):
    return Desk(visit(timezone_id=ZONE.key))


def day(number):
    return str(TODAY + timedelta(days=number))


def order(desk):
    """The ids of the cards in the order of the page."""
    return desk.page.eval_on_selector_all("details.card", "all => all.map(c => c.id.slice(5))")


def test_a_card_is_studied_by_keyboard_alone(desk):
    page, (first, second, *_) = desk.page, order(desk)
    page.locator(".study-more > summary").focus()
    page.keyboard.press("Tab")
    assert desk.card.evaluate("card => card === document.activeElement")
    front = desk.front
    page.keyboard.press("2")  # no answer before the card is turned
    assert desk.front == front and not desk.turned and desk.kept == {}
    page.keyboard.press("Space")
    assert desk.turned and desk.front == front
    page.keyboard.press("Enter")
    assert not desk.turned
    page.keyboard.press("Enter")
    page.keyboard.press("2")
    assert desk.kept == {first: (1, day(1))}
    assert desk.front != front and not desk.turned
    assert desk.card.evaluate("card => card === document.activeElement")
    page.keyboard.press("Space")
    page.keyboard.press("ArrowLeft")
    assert desk.kept[second] == (0, day(0))
    page.keyboard.press("Space")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Space")
    for _ in range(3):  # past the link to the section and "Turn back", to "Again"
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert [box for box, _ in desk.kept.values()] == [1, 0, 1, 0]
    assert desk.card.evaluate("card => card === document.activeElement")


def test_keys_do_nothing_outside_the_box(desk):
    desk.card.press("Space")
    desk.page.locator("article h1").click()
    for key in ("1", "2", "ArrowLeft", "ArrowRight"):
        desk.page.keyboard.press(key)
        desk.page.locator(".study-which").press(key)
    assert desk.kept == {}


def test_a_card_that_is_known_comes_back_after_twice_as_long(desk):
    first = order(desk)[0]
    at, boxes = 0, []
    for wait in (0, 1, 2, 4, 8, 16, 32, 64, 64):
        at += wait
        if wait:
            desk.go_to(TODAY + timedelta(days=at - 1), time(23, 59))
            assert desk.due == 0, wait
            desk.go_to(TODAY + timedelta(days=at), time(0, 1))
            assert desk.due == 1, wait
        desk.answer("2")
        box, due = desk.kept[first]
        boxes.append(box)
    assert boxes == [1, 2, 3, 4, 5, 6, 7, 7, 7]
    assert due == day(at + 64) and desk.counts[2] == 1
    desk.go_to(date.fromisoformat(due))
    desk.answer("1")
    assert desk.kept[first] == (0, due) and desk.counts[2] == 0 and desk.due == 1


def test_today_ends_with_the_cards_that_were_missed(desk):
    for number in range(NEW_A_DAY):
        desk.answer("1" if number % 10 == 0 else "2")
    assert desk.counts[:2] == [2, 0]
    missed = [name for name, (box, _) in desk.kept.items() if box == 0]
    assert missed == [order(desk)[0], order(desk)[10]]
    first = desk.front
    desk.answer("1")
    assert desk.front != first
    desk.answer("2")
    assert desk.front == first
    desk.answer("2")
    assert desk.front == "Nothing is left for today. The next cards come tomorrow."
    assert not desk.page.locator(".study-turn").is_visible()
    desk.go_to(TODAY + timedelta(days=1))
    assert desk.counts[:2] == [NEW_A_DAY, NEW_A_DAY]


def test_an_early_answer_counts_only_when_it_is_wrong(desk):
    first, second = order(desk)[:2]
    desk.answer("2")
    desk.page.locator(".study-which").select_option("all")
    desk.answer("2")
    assert desk.kept == {first: (1, day(1))}
    desk.answer("2")
    assert desk.kept[second] == (1, day(1))
    desk.page.locator(".study-which").select_option("today")
    desk.page.locator(".study-which").select_option("all")
    desk.answer("1")
    assert desk.kept[first] == (0, day(0))


def test_a_card_is_turned_by_a_click_and_its_links_are_followed(visit):
    desk = Desk(visit(viewport=PHONE, has_touch=True))
    turn = desk.page.locator(".study-turn")
    desk.card.scroll_into_view_if_needed()
    assert turn.bounding_box()["y"] + turn.bounding_box()["height"] <= PHONE["height"]
    desk.card.tap()
    assert desk.turned
    link = desk.card.locator(".card-see a")
    title, target = link.inner_text(), link.get_attribute("href")
    link.tap()
    desk.page.wait_for_url(f"**/{target}")
    section = desk.page.locator(target[target.index("#") :]).locator(
        "xpath=ancestor-or-self::section"
    )
    assert title in section.last.inner_text().splitlines()[0]


def choose(desk, **choices):
    """Choose under "Order and pace"."""
    desk.page.locator(".study-more").evaluate("fold => fold.open = true")
    for name, value in choices.items():
        field = desk.page.locator(f".study-{name}")
        field.fill(value) if name == "by" else field.select_option(value)


def test_what_is_chosen_and_the_place_are_remembered(desk):
    for quota, new in (("10", 10), ("50", 50), ("all", len(DECK))):
        choose(desk, fresh=quota)
        assert desk.counts[1] == new
    choose(desk, which="all", order="mixed", chapter="hmc")
    desk.answer("2")
    place = desk.front
    desk.page.reload()
    assert desk.front == place and desk.counts[3] == sum(c["chapter"] == "hmc" for c in DECK)
    assert desk.page.locator(".study-order").input_value() == "mixed"
    choose(desk, order="")
    assert desk.page.locator(".study-which").input_value() == "all"


def test_mixed_cards_change_chapters_and_all_come(desk):
    choose(desk, which="all", order="mixed")
    places, fronts = [], set()
    for _ in range(30):
        places.append(desk.page.locator(".study-place").inner_text())
        fronts.add(desk.front)
        desk.answer("2")
    assert len(set(places)) >= 10 and len(fronts) == 30


def test_until_an_exam_all_cards_are_seen_and_none_rests_for_long(desk):
    choose(desk, by=day(21))
    assert desk.counts[1] == -(-len(DECK) // 21) and desk.page.locator(".study-fresh").is_disabled()
    desk.answer("2")
    assert desk.counts[1] == -(-len(DECK) // 21) - 1
    first = order(desk)[0]
    for number, rest in ((1, 2), (3, 4), (7, 5), (12, 3), (15, 2), (17, 2), (19, 1), (20, 1)):
        desk.go_to(TODAY + timedelta(days=number))
        desk.answer("2")
        assert desk.kept[first][1] == day(number + rest)
    desk.go_to(TODAY + timedelta(days=22))
    assert desk.counts[1] == NEW_A_DAY


def test_an_answer_is_taken_back(desk):
    first, second, *_ = order(desk)
    front = desk.front
    assert not desk.page.locator(".study-undo").is_visible()
    desk.answer("1")
    desk.answer("2")
    assert set(desk.kept) == {first, second}
    desk.card.press("u")
    assert set(desk.kept) == {first} and desk.turned
    desk.page.locator(".study-undo").click()
    assert desk.kept == {} and desk.front == front and desk.turned
    assert not desk.page.locator(".study-undo").is_visible()
    desk.card.press("2")
    assert desk.kept == {first: (1, day(1))}


def test_the_filter_shows_one_chapter(desk):
    def shown():
        return desk.page.eval_on_selector_all(
            "details.card", "all => all.filter(c => c.checkVisibility()).map(c => c.id.slice(5))"
        )

    assert len(shown()) == len(DECK) == desk.counts[3]
    for chapter in ("importance", "together"):
        desk.page.locator(".study-chapter").select_option(chapter)
        title = desk.page.locator(".study-chapter option:checked").inner_text()
        assert desk.page.locator(".study-place").inner_text() == f"{title}, new"
        assert shown() == [card["id"] for card in DECK if card["chapter"] == chapter]
        assert desk.counts[3] == len(shown())
    desk.page.evaluate("location.hash = '#card-mcmc-steps'")  # what is linked to is shown
    desk.page.wait_for_function("document.getElementById('card-mcmc-steps').checkVisibility()")
    assert len(shown()) == len(DECK) == desk.counts[3]


def test_a_chapter_leads_to_its_cards(visit):
    page = visit().open("chapters/mcmc.html")
    page.locator(".cards-more a").press("Enter")
    page.wait_for_url("**/cards.html?chapter=mcmc")
    assert page.locator(".study-chapter").input_value() == "mcmc"


def test_progress_is_kept_saved_forgotten_and_restored(desk, tmp_path):
    for key in "2212":
        desk.answer(key)
    kept = desk.kept
    assert len(kept) == 4
    desk.page.reload()
    assert desk.kept == kept and desk.due == 1
    with desk.page.expect_download() as waiting:
        desk.page.locator(".study-export").press("Enter")
    file = tmp_path / waiting.value.suggested_filename
    waiting.value.save_as(file)
    assert json.loads(file.read_text("utf-8"))["version"] == 1

    desk.page.once("dialog", lambda dialog: dialog.dismiss())
    desk.page.locator(".study-reset").click()
    assert desk.kept == kept
    desk.page.once("dialog", lambda dialog: dialog.accept())
    desk.page.locator(".study-reset").click()
    assert desk.kept == {} and desk.due == 0

    said = desk.page.locator(".study-said")
    desk.page.locator(".study-import").set_input_files(file)
    said.get_by_text("Entries taken from the file: 4.").wait_for()
    assert desk.kept == kept and desk.due == 1
    desk.page.locator(".study-import").set_input_files(file)
    said.get_by_text("Entries taken from the file: 0.").wait_for()
    file.write_text("{]", "utf-8")
    desk.page.locator(".study-import").set_input_files(file)
    said.get_by_text("This is not a file of progress.").wait_for()
    assert desk.kept == kept


def test_the_store(desk):
    """What is asked of it is in JavaScript, as it is."""
    for name, found, expected in desk.page.evaluate(STORE):
        assert found == expected, name


def test_what_the_store_cannot_read_is_no_obstacle(desk):
    first = order(desk)[0]
    odd = {"version": 1, "areas": {"cards": {first: {"at": 1, "value": 5}}}}
    for text in ("{", "[]", json.dumps(odd)):
        desk.page.evaluate("text => localStorage.setItem('all-the-needles', text)", text)
        desk.page.reload()
        assert desk.counts[:2] == [0, NEW_A_DAY]
    desk.answer("2")
    assert desk.kept == {first: (1, day(1))}


def test_a_browser_that_keeps_nothing_can_still_study(visit):
    visitor = visit()
    visitor.page.add_init_script(
        "Object.defineProperty(window, 'localStorage', { get() { throw new Error('barred'); } });"
    )
    page = visitor.open(PAGE)
    card = page.locator(".study-card")
    before = page.locator(".study-front").inner_text()
    card.press("Space")
    card.press("2")
    assert page.locator(".study-front").inner_text() != before
    assert f"Due 0 · new today {NEW_A_DAY - 1}" in page.locator(".study-counts").inner_text()
    visitor.trouble.clear()  # of the theme's own scripts


@pytest.mark.parametrize("mode", ["light", "dark"])
@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_a_turned_card_can_be_used_by_everybody(visit, mode, viewport):
    options = {"viewport": viewport, "color_scheme": mode, "reduced_motion": "reduce"}
    page = visit(**options).open(f"{PAGE}?chapter=importance")
    for key in ("Space", "2", "Space"):  # the second card has a displayed formula
        page.locator(".study-card").press(key)
    assert page.locator(".study-back .katex-display").count() == 1
    page.evaluate("document.fonts.ready.then(() => new Promise(requestAnimationFrame))")
    assert not violations(page, ".study")
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


def test_without_scripts_the_cards_turn_and_the_box_is_not_there(visit):
    page = visit(java_script_enabled=False).open(PAGE)
    assert not page.locator(".study").is_visible()
    assert page.get_by_text("needs JavaScript").is_visible()
    fold = page.locator("details.card").first
    fold.locator("summary").click()
    assert fold.locator(".card-back").is_visible()


def test_the_package_for_anki_is_there(visit):
    page = visit().open(PAGE)
    with page.expect_download() as waiting:
        page.locator(".study-anki a").click()
    with zipfile.ZipFile(waiting.value.path()) as package:
        assert "collection.anki2" in package.namelist()
