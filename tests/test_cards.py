"""The flash cards: the deck's form, and the directive that shows them."""

import importlib.util
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sphinx_application = pytest.importorskip("sphinx.application")
_spec = importlib.util.spec_from_file_location("cards", ROOT / "_ext" / "cards.py")
cards = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(cards)

DECK = cards.read_deck(ROOT / "chapters" / "cards.yml")

# The lines of the source's flash cards (D4) that belong to a chapter.
SOURCES = {
    "challenge": {9, 15},
    "importance": {74, 78, 85, 97, 109, 111, 113, 125, 127, 135},
    "rejection": {147, 149, 161, 170, 174, 183},
    "mcmc": {213, 226, 238, 243},
    "gibbs": {248, 250, 260, 262, 264, 266, 268},
    "diagnostics": set(),
    "minds": set(),
    "nuts": set(),
    "ising": {189, 194, 202, 204},
    "hmc": set(),
    "sghmc": set(),
    "laplace": set(),
    "advi": set(),
    "vi": set(),
    "amortised": set(),
    "hybrid": set(),
    "together": set(),
}


@pytest.mark.parametrize("card", DECK, ids=lambda card: card["id"])
def test_cards_are_well_formed(card):
    assert re.fullmatch(r"[a-z0-9_]+(-[a-z0-9]+)+", card["id"])
    assert card["id"].startswith(f"{card['chapter']}-")
    assert re.fullmatch(r"own|D4 L\d+", card["source"])
    assert ("corrected" in card) <= card["source"].startswith("D4")
    for field in ("front", "back", "corrected"):
        text = card.get(field, "")
        assert text.count("$") % 2 == 0 and text.count("{") == text.count("}"), field
    assert len(card["front"].split()) <= 30
    assert len(card["back"].split()) <= 90


@pytest.mark.parametrize("chapter", SOURCES)
def test_every_source_card_is_in_the_deck(chapter):
    lines = {
        int(card["source"].removeprefix("D4 L"))
        for card in DECK
        if card["chapter"] == chapter and card["source"] != "own"
    }
    assert lines == SOURCES[chapter]
    assert 8 <= sum(card["chapter"] == chapter for card in DECK) <= 14


def write(tmp_path, text):
    path = tmp_path / "cards.yml"
    path.write_text(text, encoding="utf-8")
    return path


CARD = "- {id: a-b, chapter: a, source: own, front: F, back: B}\n"


@pytest.mark.parametrize(
    "text, words",
    [
        ("- {id: a-b, chapter: a, source: own, front: F}\n", "card a-b lacks back"),
        ("- {chapter: a, source: own, front: F, back: B}\n", "card number 1 lacks id"),
        (CARD.replace("back: B", "back: B, side: C"), "unknown field side"),
        (CARD.replace("back: B", "back: ' '"), "empty back"),
        (CARD + CARD, "a-b is there twice"),
        (CARD.replace("front: F", 'front: "F\\n\\nG"'), "more than one paragraph"),
    ],
)
def test_a_deck_with_a_fault_names_the_card(tmp_path, text, words):
    with pytest.raises(ValueError, match=words):
        cards.read_deck(write(tmp_path, text))


@pytest.fixture
def build(tmp_path, monkeypatch):
    """Build a page with the directive; returns (html, warnings)."""
    monkeypatch.setitem(sys.modules, "cards", cards)
    (tmp_path / "chapters").mkdir()

    def run(page):
        (tmp_path / "chapters" / "cards.yml").write_text(
            (ROOT / "chapters" / "cards.yml").read_text(encoding="utf-8"), encoding="utf-8"
        )
        (tmp_path / "index.md").write_text(page, encoding="utf-8")
        warnings = (tmp_path / "warnings").open("w+", encoding="utf-8")
        with warnings:
            app = sphinx_application.Sphinx(
                str(tmp_path),
                None,
                str(tmp_path / "out"),
                str(tmp_path / "trees"),
                "html",
                status=None,
                warning=warnings,
                confoverrides={
                    "extensions": ["myst_parser", "cards"],
                    "myst_enable_extensions": ["dollarmath"],
                    "html_math_renderer": "mathjax",
                },
            )
            app.build()
            warnings.seek(0)
            return (tmp_path / "out" / "index.html").read_text(encoding="utf-8"), warnings.read()

    return run


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::PendingDeprecationWarning")
def test_cards_are_folded_and_their_mathematics_is_set(build):
    page, warnings = build("# Cards\n\n```{cards} rejection\n```\n")
    assert warnings == ""
    shown = [card for card in DECK if card["chapter"] == "rejection"]
    assert page.count('<details class="card"') == len(shown)
    assert "<details open" not in page
    (front,) = re.findall(
        r'id="card-rejection-steps">\s*<summary><span>(.*?)</span></summary>', page
    )
    assert 'class="math' in front and "$" not in front and "<p>" not in front
    body = re.search(r'<ul class="cards">.*?</details></li>\s*</ul>', page, re.S)[0]
    assert "$" not in body
    assert body.count("card-corrected") == sum("corrected" in card for card in shown)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::PendingDeprecationWarning")
def test_a_chapter_without_cards_is_a_warning(build):
    _, warnings = build("# Cards\n\n```{cards} nowhere\n```\n")
    assert "no card of the chapter 'nowhere'" in warnings
