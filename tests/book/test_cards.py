"""The flash cards: the deck's form, what it must hold, and the directives that show it."""

import re
from types import SimpleNamespace

import cards
import formula_sheet
import pytest
import small_book
import yaml
from docutils import nodes
from prose import CHAPTERS, ROOT, markdown

DECK = cards.read_deck(CHAPTERS / "cards.yml")

# The lines at which the source's flash cards (D4) begin: all of them, by chapter.
SOURCES = {
    "challenge": {9},
    "hardness": {15},
    "monte_carlo": {20, 25, 33, 38, 44, 51, 56, 61, 69, 141},
    "importance": {74, 78, 85, 97, 109, 111, 113, 125, 127, 135},
    "rejection": {147, 149, 161, 170, 174, 183},
    "ising": {189, 194, 202, 204},
    "mcmc": {213, 226, 238, 243},
    "gibbs": {248, 250, 260, 262, 264, 266, 268},
}
UNFINISHED = {147, 194, 213, 268}  # those that carry a TODO; the one at L31 is no card

CONTENTS = [name.removeprefix("chapters/") for name in formula_sheet.chapters(ROOT / "_toc.yml")]
# Pages that were one: cards keep their ids, by which readers' progress is known.
PARTED = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))["sphinx"]["config"]["parted"]


def before(chapter):
    """Return the page that a chapter was part of, or the chapter itself."""
    whole = PARTED.get(f"chapters/{chapter}", chapter)
    return whole.removeprefix("chapters/")


def page(name):
    """Return the Markdown of a page."""
    (path,) = CHAPTERS.glob(f"{name}.*[bd]")
    return markdown(path)


def title(name):
    return re.search(r"^# (.+)$", page(name), re.MULTILINE)[1]


def source_line(card):
    return int(card["source"].removeprefix("D4 L")) if card["source"] != "own" else None


@pytest.mark.parametrize("card", DECK, ids=lambda card: card["id"])
def test_cards_are_well_formed(card):
    assert re.fullmatch(r"[a-z0-9_]+(-[a-z0-9]+)+", card["id"])
    assert card["id"].startswith((f"{card['chapter']}-", f"{before(card['chapter'])}-"))
    assert re.fullmatch(r"own|D4 L\d+", card["source"])
    assert ("corrected" in card) <= card["source"].startswith("D4")
    for field in ("front", "back", "corrected"):
        text = card.get(field, "")
        assert text.count("$") % 2 == 0 and text.count("{") == text.count("}"), field
    assert len(card["front"].split()) <= 30
    assert len(card["back"].split()) <= 90


def test_every_source_card_is_in_the_deck():
    found = {}
    for card in DECK:
        if line := source_line(card):
            found.setdefault(card["chapter"], set()).add(line)
    assert found == SOURCES


def test_every_source_card_that_was_wrong_or_unfinished_is_corrected():
    lines = sorted(set().union(*SOURCES.values()))
    errata = yaml.safe_load((CHAPTERS / "errata.yml").read_text("utf-8"))
    places = " ".join(e["place"] for e in errata if e["source"] == "D4")
    wrong = {
        max(line for line in lines if line <= place)
        for place in map(int, re.findall(r"\d+", places))
    }
    assert len(wrong) > 15
    corrected = {source_line(card) for card in DECK if "corrected" in card}
    assert wrong | UNFINISHED <= corrected


def test_every_chapter_has_its_cards():
    assert {card["chapter"] for card in DECK} == set(CONTENTS)
    for chapter in CONTENTS:
        assert f"```{{cards}} {chapter}\n```" in page(chapter)
        fewest = 4 if f"chapters/{chapter}" in {*PARTED, *PARTED.values()} else 8
        assert fewest <= sum(card["chapter"] == chapter for card in DECK) <= 14, chapter


def test_the_page_shows_the_whole_deck_in_the_order_of_the_book():
    shown = re.findall(r"^### (.+)\n\n```\{cards\} (\w+)\n```$", page("cards"), re.MULTILINE)
    assert shown == [(title(chapter), chapter) for chapter in CONTENTS]


def test_the_page_states_the_schedule():
    script = (ROOT / "_static" / "cards.js").read_text("utf-8")
    days = re.search(r"const DAYS = \[(.+?)\];", script)[1]
    assert days == "1, 2, 4, 8, 16, 32, 64"
    assert (
        "one day in the first box, then two, four, eight, sixteen, thirty-two, and sixty-four"
        in (page("cards"))
    )
    box = (ROOT / "_ext" / "study.html").read_text("utf-8")
    assert '<option value="20" selected>20</option>' in box and "twenty a day" in page("cards")
    assert "const LEARNT = 4;" in script and "learnt from the fourth box on" in page("cards")


CARD = "- {id: a-b, chapter: a, see: s, source: own, front: F, back: B}\n"


@pytest.mark.parametrize(
    "text, words",
    [
        ("- {id: a-b, chapter: a, see: s, source: own, front: F}\n", "card a-b lacks back"),
        ("- {chapter: a, see: s, source: own, front: F, back: B}\n", "card number 1 lacks id"),
        (CARD.replace("back: B", "back: B, side: C"), "unknown field side"),
        (CARD.replace("back: B", "back: ' '"), "empty back"),
        (CARD + CARD, "a-b is there twice"),
        (CARD.replace("front: F", 'front: "F\\n\\nG"'), "more than one paragraph"),
    ],
)
def test_a_deck_with_a_fault_names_the_card(tmp_path, text, words):
    path = tmp_path / "cards.yml"
    path.write_text(text, "utf-8")
    with pytest.raises(ValueError, match=words):
        cards.read_deck(path)


@pytest.fixture
def build(tmp_path):
    """Build a page with the directive; returns (html, warnings)."""
    deck = re.sub("see: .*", "see: here", (CHAPTERS / "cards.yml").read_text("utf-8"))

    def run(page):
        files = {"chapters/cards.yml": deck, "index.md": page}
        texts, warnings = small_book.build(tmp_path, files, "cards")
        return texts["index"], warnings

    return run


def test_cards_are_folded_and_their_mathematics_is_set(build):
    page, warnings = build("(here)=\n# Cards\n\n```{study}\n```\n\n```{cards} rejection\n```\n")
    assert warnings == ""
    shown = [card for card in DECK if card["chapter"] == "rejection"]
    assert page.count('<details class="card"') == len(shown)
    assert "<details open" not in page
    start = '<details class="card" id="card-rejection-steps" data-chapter="rejection">'
    (front,) = re.findall(rf"{start}\s*<summary><span>(.*?)</span></summary>", page)
    assert 'class="math' in front and "$" not in front and "<p>" not in front
    body = re.search(r'<ul class="cards">.*?</details></li>\s*</ul>', page, re.S)[0]
    assert "$" not in body
    assert body.count('<div class="card-see">') == body.count('href="#here"') == len(shown)
    folded = sum("corrected" in card for card in shown)
    assert body.count('<details class="card-corrected"><summary>') == folded > 0
    assert '<div class="study" hidden>' in page and "needs JavaScript" in page
    assert f'href="{cards.ANKI}" download' in page and "ANKI" not in page


def test_a_chapter_without_cards_is_a_warning(build):
    _, warnings = build("# Cards\n\n```{cards} nowhere\n```\n")
    assert "no card of the chapter 'nowhere'" in warnings


def test_sub_decks_have_the_titles_and_the_order_of_the_book():
    deck = [{"chapter": name} for name in ("a", "b")]
    env = SimpleNamespace(
        config=SimpleNamespace(root_doc="chapters/intro"),
        toctree_includes={"chapters/intro": ["chapters/b", "chapters/a", "chapters/notation"]},
        titles={
            f"chapters/{name}": nodes.title("", f"On {name}") for name in ("a", "b", "notation")
        },
    )
    assert list(cards.titles(env, deck).items()) == [("b", "On b"), ("a", "On a")]
