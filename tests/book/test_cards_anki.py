"""The package for Anki: opened as Anki opens it, and read back."""

import re
import sqlite3
import zipfile
from contextlib import closing

import anki_package
import pytest
import yaml
from bs4 import BeautifulSoup
from prose import CHAPTERS

DECK = yaml.safe_load((CHAPTERS / "cards.yml").read_text("utf-8"))
TITLES = {card["chapter"]: f"On {card['chapter']} & more" for card in DECK}
PLACES = {card["see"]: (f"On {card['see']}", f"https://example.org/{card['see']}") for card in DECK}
NUMBERS = {chapter: i for i, chapter in enumerate(TITLES, start=3) if chapter != "minds"}
TIME = 1_700_000_000

# What the deck may use of what MathJax 3 knows with Anki's settings (base, ams, mathtools).
KNOWN = set(
    """
    Big Bigl Bigr Delta Gamma Lambda Phi Pr Sigma Vert alpha approx bar begin beta bigl bigr cdot
    cdots chi delta det dfrac dot dots ell end eta exp frac ge hat in inf infty int lVert lambda
    langle le leftarrow left log lvert mathbb mathbf mathcal mathrel mathrm mathsf max mid min mu
    nabla ne nu omega operatorname partial phi pi propto qquad quad rVert rangle rho right rvert
    sigma sim sqrt star sum tau text tfrac theta tilde times to top varepsilon
    """.split()
)
TAGS = {"a", "p", "em", "strong", "ol", "ul", "li", "div", "b"}
FORMULA = re.compile(r"\\\((.*?)\\\)|\\\[(.*?)\\\]", re.DOTALL)


def opened(path):
    """Return the sub-decks (id: name) and the notes of a package, as rows."""
    with zipfile.ZipFile(path) as package:
        assert package.namelist() == ["collection.anki2", "media"]
        data = package.read("collection.anki2")
    with closing(sqlite3.connect(":memory:")) as base:
        base.deserialize(data)
        decks = yaml.safe_load(base.execute("select decks from col").fetchone()[0])
        rows = base.execute(
            "select guid, tags, flds, did from notes join cards on cards.nid = notes.id"
        ).fetchall()
    return {int(number): deck["name"] for number, deck in decks.items()}, rows


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    path = tmp_path_factory.mktemp("anki") / "deck.apkg"
    anki_package.write(DECK, TITLES, PLACES, NUMBERS, path, time=TIME)
    return path


@pytest.fixture(scope="module")
def notes(package):
    """The fields of every note (front, back, chapter) by the card's id."""
    _, rows = opened(package)
    return {guid.removeprefix("all-the-needles-"): row[0].split("\x1f") for guid, _, *row in rows}


def test_every_card_is_there_once_in_the_deck_of_its_chapter(package):
    decks, rows = opened(package)
    names = {row[0]: decks[row[3]] for row in rows}
    number = {chapter: f"{i:02d} " for chapter, i in NUMBERS.items()} | {"minds": ""}
    assert len(rows) == len(DECK)
    assert names == {
        f"all-the-needles-{card['id']}": (
            f"All the Needles::{number[card['chapter']]}{TITLES[card['chapter']]}"
        )
        for card in DECK
    }


def test_tags_say_chapter_source_and_correction(package):
    tags = {row[0]: row[1].split() for row in opened(package)[1]}
    for card in DECK:
        found = set(tags[f"all-the-needles-{card['id']}"])
        assert f"chapter::{card['chapter']}" in found
        assert f"source::{card['source'].replace(' ', '-')}" in found
        assert ("corrected" in found) == ("corrected" in card)


def leftovers(text):
    """Return what Anki could not show in a field: markup of the book, commands it does not know."""
    found = re.findall(r"\$|`|\{[\w:+-]+\}`|\*\w|\]\(", text)
    outside = FORMULA.sub(" ", text)
    found += re.findall(r"\\.", outside)
    for formula in (inline or display for inline, display in FORMULA.findall(text)):
        found += set(re.findall(r"\\([A-Za-z]+)", formula)) - KNOWN
        found += ["<"] if "<" in formula else []
    return found + sorted({tag.name for tag in BeautifulSoup(text, "html.parser")(True)} - TAGS)


@pytest.mark.parametrize("part", [0, 1, 2], ids=["front", "back", "chapter"])
def test_nothing_of_the_books_markup_is_left(notes, part):
    assert {name: bad for name, fields in notes.items() if (bad := leftovers(fields[part]))} == {}


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (r"a \(x^2\) and <em>b</em>", []),
        ("a $x$", ["$", "$"]),
        (r"\(\ELBO\)", ["ELBO"]),
        ("{term}`a`", ["{term}`", "`"]),
        (r"\(a < b\)", ["<"]),
        ("<summary>a</summary>", ["summary"]),
        (r"loose \alpha", [r"\a"]),
    ],
)
def test_markup_that_is_left_is_seen(text, left):
    assert sorted(leftovers(text)) == sorted(left)


def test_every_formula_arrives(notes):
    """As many as the source has between dollars, and of equal count in each field."""
    for card in DECK:
        for part, field in (("front", 0), ("back", 1)):
            text = card[part] + (card.get("corrected", "") if field else "")
            dollars = len(re.findall(r"\$\$.+?\$\$|\$[^$]+\$", text, re.DOTALL))
            assert len(FORMULA.findall(notes[card["id"]][field])) == dollars, card["id"]


def test_lists_emphasis_and_signs_are_drawn(notes):
    steps = notes["rejection-steps"][1]
    assert steps.count("<li>") == 3 and "&lt;" in steps and r"\tilde\pi" in steps
    assert "<em>For</em>" in notes["challenge-deterministic"][1]
    assert '<p class="corrected"><b>Corrected:</b>' in notes["mcmc-balance"][1]
    assert "#P-hard" in notes["challenge-hardness"][1]
    assert notes["rejection-steps"][2] == "On rejection &amp; more"


def test_a_card_leads_to_the_section_that_teaches_it(notes):
    link = '<a href="https://example.org/sec-rejection-area">On sec-rejection-area</a>'
    assert f'<p class="place">Taught in {link}</p>' in notes["rejection-steps"][1]
    markdown = anki_package.reader()
    back = anki_package.fields({"front": "F", "back": "B"}, "T", ("On *it*", ""), markdown)[1]
    assert back == '<div>B</div><p class="place">Taught in On <em>it</em></p>'


@pytest.mark.parametrize(
    ("formula", "written_out"),
    [
        (r"\E[x]", r"\operatorname{\mathbb{E}}[x]"),
        (r"\norm{a_{1}}^2", r"\left\lVert a_{1} \right\rVert^2"),
        (r"\abs x", r"\left\lvert x \right\rvert"),
        (r"\norm{\abs{x}}", r"\left\lVert \left\lvert x \right\rvert \right\rVert"),
        (r"A\T A", r"A^{\mathsf{T}} A"),
        (r"\Pr(\theta) \\ \Tau", r"\Pr(\theta) \\ \Tau"),
        (r"\P(A) \given B", r"\operatorname{P}(A) \mathbin{\mid} B"),
    ],
)
def test_the_books_macros_are_written_out(formula, written_out):
    assert anki_package.expand(formula) == written_out


def test_links_keep_their_words():
    assert anki_package.html("see [there](mcmc.md)", anki_package.reader()) == "see there"


def test_the_same_deck_gives_the_same_bytes(package, tmp_path):
    again, later = tmp_path / "again.apkg", tmp_path / "later.apkg"
    anki_package.write(DECK, TITLES, PLACES, NUMBERS, again, time=TIME)
    anki_package.write(DECK, TITLES, PLACES, NUMBERS, later, time=TIME + 1)
    assert again.read_bytes() == package.read_bytes() != later.read_bytes()


def test_a_card_keeps_its_identity():
    """Readers' collections hold these numbers: a change would part cards from their history."""
    assert anki_package.identity("model") == 1512728537
    assert anki_package.identity("rejection") == 1978283146
