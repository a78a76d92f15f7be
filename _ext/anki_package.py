r"""The deck as a package for Anki: a sub-deck for each chapter, formulas for Anki's MathJax.

A card's MyST becomes HTML. Its formulas become ``\( \)`` and ``\[ \]``, with the book's own macros
written out. A card keeps its identity over the years, so that an import of a later package renews
the text and leaves the reader's history alone.
"""

import hashlib
import re
import tempfile
import zipfile
from html import escape
from pathlib import Path

import genanki
from bookext import archive
from bookext.mathematics import expand
from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin

BOOK = "All the Needles"
STYLE = """.card { max-width: 40rem; margin: 0 auto; padding: 1rem; font: 1.15rem/1.5 serif; }
.card ol, .card ul { padding-left: 1.5em; }
.place, .corrected { opacity: 0.75; font-size: 0.8em; }
"""
FRONT = '<p class="place">{{Chapter}}</p>{{Front}}'
BACK = "{{FrontSide}}<hr id=answer>{{Back}}"


def identity(name):
    """Return the number that stands for a name, always the same, as Anki wants it."""
    digest = hashlib.sha256(f"{BOOK}/{name}".encode()).digest()
    return (1 << 30) + int.from_bytes(digest[:4]) % (1 << 30)


def tex(formula, opening, closing):
    """Return a formula as Anki wants it; its comparison signs are no tags."""
    return f"{opening}{escape(expand(formula.strip()), quote=False)}{closing}"


def reader():
    """Return the reader of the cards' MyST."""
    markdown = MarkdownIt("commonmark", {"typographer": True})
    markdown.enable(["smartquotes", "replacements"])
    dollarmath_plugin(markdown, allow_labels=False)
    rules = markdown.renderer.rules
    rules["math_inline"] = lambda tokens, i, *_: tex(tokens[i].content, r"\(", r"\)")
    rules["math_block"] = lambda tokens, i, *_: tex(tokens[i].content, r"<p>\[", r"\]</p>")
    rules["softbreak"] = lambda *_: " "
    for part in ("link_open", "link_close"):
        rules[part] = lambda *_: ""
    return markdown


def html(text, markdown):
    """Return MyST as HTML: one paragraph bare, several in their tags."""
    drawn = markdown.render(text).strip()
    bare = re.fullmatch(r"<p>((?:(?!</?p>).)*)</p>", drawn, re.DOTALL)
    return bare[1] if bare else drawn


def fields(card, title, place, markdown):
    """Return the three fields of a card: front, back, chapter."""
    back = html(card["back"], markdown)
    if "corrected" in card:
        words = html(card["corrected"], markdown)
        back = f'<div>{back}</div><p class="corrected"><b>Corrected:</b> {words}</p>'
    section, address = place
    section = html(section, markdown)
    link = f'<a href="{escape(address)}">{section}</a>' if address else section
    back = f'<div>{back}</div><p class="place">Taught in {link}</p>'
    return [html(card["front"], markdown), back, escape(title, quote=False)]


def tags(card):
    """Return the tags of a card: its chapter, where it comes from, whether it was corrected."""
    source = card["source"].replace(" ", "-")
    corrected = ["corrected"] if "corrected" in card else []
    return [f"chapter::{card['chapter']}", f"source::{source}", *corrected]


def decks(deck, titles, places, numbers):
    """Return the sub-decks, one for each chapter of `titles` (name: title), in that order.

    `places` are the sections that teach the cards: label: (title, address or ""). `numbers` are
    those that the chapters have in the book (name: number); a chapter without has none here.
    """
    model = genanki.Model(
        identity("model"),
        BOOK,
        fields=[{"name": name} for name in ("Front", "Back", "Chapter")],
        templates=[{"name": "Card", "qfmt": FRONT, "afmt": BACK}],
        css=STYLE,
    )
    markdown = reader()
    made = []
    for chapter, title in titles.items():
        number = f"{numbers[chapter]:02d} " if chapter in numbers else ""
        made.append(genanki.Deck(identity(chapter), f"{BOOK}::{number}{title}"))
        for card in deck:
            if card["chapter"] == chapter:
                guid = f"all-the-needles-{card['id']}"
                content = fields(card, title, places[card["see"]], markdown)
                note = genanki.Note(model, content, guid=guid, tags=tags(card))
                made[-1].add_note(note)
    return made


def write(deck, titles, places, numbers, path, *, time):
    """Write the package; the same arguments, `time` in s since 1970, give the same bytes."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        loose = Path(folder) / "deck.apkg"
        genanki.Package(decks(deck, titles, places, numbers)).write_to_file(loose, timestamp=time)
        with zipfile.ZipFile(loose) as members:
            archive.write(path, ((name, members.read(name)) for name in sorted(members.namelist())))
