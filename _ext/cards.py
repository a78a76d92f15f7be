"""Flash cards from chapters/cards.yml: the directives ``cards`` and ``study``, and Anki's package.

A card is an HTML `<details>`: its summary, the front, is a button to every browser and screen
reader, and the back is hidden from both until the card is turned. Front and back are MyST, so
their mathematics is drawn like the rest of the page's.

.. code-block:: md

    ```{cards} rejection
    ```

shows the cards of one chapter. Below them stands a link to the page of the whole deck, if the book
has it.

.. code-block:: md

    ```{study}
    ```

is the box on that page, in which `_static/cards.js` shows one card of the page at a time. The build
puts the deck for Anki (see `anki_package`) beside the static files.
"""

from pathlib import Path
from urllib.parse import urljoin

import anki_package
import yaml
from bookext import directives
from bookext.directives import wrapped
from docutils import nodes
from sphinx.util.osutil import relative_uri

DECK = Path("chapters") / "cards.yml"
PAGE = "chapters/cards"  # of the whole deck
ANKI = "_static/all-the-needles.apkg"
BOX = Path(__file__).with_name("study.html")
FIELDS = {"id", "chapter", "see", "source", "front", "back", "corrected"}
REQUIRED = FIELDS - {"corrected"}
# what is written before and after the parts of a card
SUMMARY = ("<summary><span>", "</span></summary>\n")
QUESTION = ("\n\n\\noindent\\textbf{", "}\n\n")
BACK = ('<div class="card-back">\n', "</div>\n")
CORRECTED = ('<details class="card-corrected"><summary>Corrected</summary>\n', "</details>\n")
SEE = ('<div class="card-see">\n', "</div>\n")
START = '<li><details class="card" id="card-{id}" data-chapter="{chapter}">\n'
WRONG = ("\n\n\\noindent\\textbf{Corrected:}", "")


def read_deck(path):
    """Return the cards of a deck, checked: a list of dicts.

    Raises
    ------
    ValueError
        Naming the card and the field that is missing, unknown, empty or used twice.
    """
    deck = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    seen = set()
    for number, card in enumerate(deck, start=1):
        name = card.get("id", f"number {number}")
        if missing := REQUIRED - card.keys():
            raise ValueError(f"card {name} lacks {', '.join(sorted(missing))}")
        if unknown := card.keys() - FIELDS:
            raise ValueError(f"card {name} has the unknown field {', '.join(sorted(unknown))}")
        if empty := [field for field, text in card.items() if not str(text).strip()]:
            raise ValueError(f"card {name} has an empty {', '.join(empty)}")
        if name in seen:
            raise ValueError(f"card {name} is there twice")
        if "\n\n" in card["front"].strip():
            raise ValueError(f"card {name} has a front of more than one paragraph")
        seen.add(name)
    return deck


class deck_node(nodes.General, nodes.Element):
    """A list of cards."""


class Cards(directives.Directive):
    """Show the cards of a chapter."""

    required_arguments = 1

    def run(self):
        chapter = self.arguments[0]
        deck = self.read(Path(self.env.srcdir) / DECK, read_deck)
        cards = [card for card in deck if card["chapter"] == chapter]
        if not cards:
            raise self.error(f"cards.yml has no card of the chapter {chapter!r}")
        elsewhere = self.env.docname != PAGE and PAGE in self.env.found_docs
        study = chapter if elsewhere else None
        return [deck_node("", *(self.card(card) for card in cards), study=study)]

    def card(self, card):
        front = wrapped("", *self.inline(card["front"]), html=SUMMARY, latex=QUESTION)
        back = wrapped("", *self.parse_text_to_nodes(card["back"]), html=BACK)
        if "corrected" in card:
            said = nodes.paragraph("", "", *self.inline(card["corrected"]))
            back += wrapped("", said, html=CORRECTED, latex=WRONG)
        see = self.parse_text_to_nodes(f"Taught in {{ref}}`{card['see']}`.")
        back += wrapped("", *see, html=SEE, latex=None)
        return wrapped("", front, back, html=(START.format(**card), "</details></li>\n"))


class study_node(nodes.General, nodes.Element):
    """The box in which one card at a time is studied."""


class Study(directives.Directive):
    """Show the study box."""

    def run(self):
        self.env.note_dependency(str(BOX))
        return [study_node()]


def address(self, target):
    """Return the address of a file of the book as seen from the page that is written."""
    here = self.builder.get_target_uri(self.builder.current_docname)
    return relative_uri(here, target)


def visit_study(self, node):
    self.body.append(BOX.read_text("utf-8").replace("ANKI", address(self, ANKI)))
    raise nodes.SkipNode


def visit_deck(self, node):
    self.body.append('<ul class="cards">\n')


def depart_deck(self, node):
    self.body.append("</ul>\n")
    if node["study"]:
        link = f"{address(self, self.builder.get_target_uri(PAGE))}?chapter={node['study']}"
        self.body.append(
            f'<p class="cards-more"><a href="{link}">Study these cards, a few a day</a></p>\n'
        )


def skip(self, node):
    """Leave out what only a browser can show."""
    raise nodes.SkipNode


def titles(env, deck):
    """Return the titles of the deck's chapters, by name, in the order of the book."""
    book = [name for name in env.toctree_includes.get(env.config.root_doc, []) if name]
    names = {Path(name).name: env.titles[name].astext() for name in book if name in env.titles}
    chapters = {card["chapter"] for card in deck}
    return {name: title for name, title in names.items() if name in chapters}


def numbers(env):
    """Return the numbers of the chapters that have one, by name."""
    found = {Path(page).name: places.get("", ()) for page, places in env.toc_secnumbers.items()}
    return {name: number[0] for name, number in found.items() if len(number) == 1}


def places(env, deck, base):
    """Return (title, address or "") of every section that the deck names, by its label."""
    labels = env.get_domain("std").labels
    found = {}
    for card in deck:
        page, anchor, title = labels[card["see"]]
        found[card["see"]] = title, base and urljoin(base, f"{page}.html#{anchor}")
    return found


def write_anki(app, exception):
    """Put the deck for Anki where the study box says that it is.

    Its time is that of the deck's last change: Anki renews a card when the package is newer than
    what it holds.
    """
    target = Path(app.outdir) / ANKI
    if exception or app.builder.format != "html" or PAGE not in app.env.found_docs:
        return
    path = Path(app.srcdir) / DECK
    time = int(path.stat().st_mtime)
    deck = read_deck(path)
    taught = places(app.env, deck, app.config.html_baseurl)
    anki_package.write(deck, titles(app.env, deck), taught, numbers(app.env), target, time=time)


def setup(app):
    """Register the directives; Jupyter Book links _static/cards.css and cards.js by itself."""
    directives.setup(app)
    app.add_directive("cards", Cards)
    app.add_directive("study", Study)
    asis = (directives.nothing, directives.nothing)
    app.add_node(study_node, html=(visit_study, None), latex=(skip, None), text=(skip, None))
    app.add_node(deck_node, html=(visit_deck, depart_deck), latex=asis, text=asis)
    app.connect("build-finished", write_anki)
