"""Flash cards from chapters/cards.yml: the directives ``cards`` and ``study``, and Anki's package.

A card is an HTML `<details>`: its summary, the front, is a button to every browser and screen
reader, and the back is hidden from both until the card is turned. Front and back are MyST, so
their mathematics is drawn like the rest of the page's.

.. code-block:: md

    ```{cards} rejection
    ```

shows the cards of one chapter; several names show several chapters, in the deck's order. Below
them stands a link to the page of the whole deck, if the book has it.

.. code-block:: md

    ```{study}
    ```

is the box on that page, in which `_static/cards.js` shows one card of the page at a time. The build
puts the deck for Anki (see `anki_package`) beside the static files.
"""

import os
from pathlib import Path
from urllib.parse import urljoin

import anki_package
import yaml
from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective
from sphinx.util.osutil import relative_uri

DECK = Path("chapters") / "cards.yml"
PAGE = "chapters/cards"  # of the whole deck
ANKI = "_static/all-the-needles.apkg"
BOX = Path(__file__).with_name("study.html")
FIELDS = {"id", "chapter", "see", "source", "front", "back", "corrected"}
REQUIRED = FIELDS - {"corrected"}


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


class card_node(nodes.General, nodes.Element):
    """One card: a `front_node`, then the blocks of its back."""


class front_node(nodes.General, nodes.Element):
    """The question of a card: inline content."""


class back_node(nodes.General, nodes.Element):
    """The answer of a card: blocks."""


class see_node(nodes.General, nodes.Element):
    """Where the card is taught: a paragraph."""


class corrected_node(nodes.General, nodes.Element):
    """What the card's source had wrong: a paragraph."""


class Cards(SphinxDirective):
    """Show the cards of the chapters named."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self):
        path = Path(self.env.srcdir) / DECK
        self.env.note_dependency(str(path))
        chapters = self.arguments[0].split()
        try:
            deck = read_deck(path)
        except (OSError, ValueError, yaml.YAMLError) as error:
            raise self.error(f"cards.yml: {error}") from None
        for chapter in chapters:
            if chapter not in {card["chapter"] for card in deck}:
                raise self.error(f"cards.yml has no card of the chapter {chapter!r}")
        cards = [card for card in deck if card["chapter"] in chapters]
        elsewhere = self.env.docname != PAGE and PAGE in self.env.found_docs
        study = chapters[0] if elsewhere else None
        return [deck_node("", *(self.card(card) for card in cards), study=study)]

    def card(self, card):
        front = front_node("", *self.inline(card["front"]))
        back = back_node("", *self.blocks(card["back"]))
        if "corrected" in card:
            back += corrected_node("", nodes.paragraph("", "", *self.inline(card["corrected"])))
        back += see_node("", *self.blocks(f"Taught in {{ref}}`{card['see']}`."))
        return card_node("", front, back, ids=[f"card-{card['id']}"], chapter=card["chapter"])

    def blocks(self, text):
        holder = nodes.Element()
        lines = StringList(text.rstrip().splitlines(), source=str(DECK))
        self.state.nested_parse(lines, self.content_offset, holder)
        return holder.children

    def inline(self, text):
        (paragraph,) = self.blocks(text)
        return paragraph.children


class study_node(nodes.General, nodes.Element):
    """The box in which one card at a time is studied."""


class Study(SphinxDirective):
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


def visit_card(self, node):
    attributes = f'id="{node["ids"][0]}" data-chapter="{node["chapter"]}"'
    self.body.append(f'<li><details class="card" {attributes}>\n')


def depart_card(self, node):
    self.body.append("</details></li>\n")


def visit_front(self, node):
    self.body.append("<summary><span>")


def depart_front(self, node):
    self.body.append("</span></summary>\n")


def visit_back(self, node):
    self.body.append('<div class="card-back">\n')


def depart_back(self, node):
    self.body.append("</div>\n")


def visit_see(self, node):
    self.body.append('<div class="card-see">\n')


def visit_corrected(self, node):
    self.body.append('<details class="card-corrected"><summary>Corrected</summary>\n')


def depart_corrected(self, node):
    self.body.append("</details>\n")


def plain(self, node):
    """Leave the children to speak for themselves, where there is nothing to turn over."""


def latex_front(self, node):
    self.body.append("\n\n\\noindent\\textbf{")


def latex_front_end(self, node):
    self.body.append("}\n\n")


def latex_corrected(self, node):
    self.body.append("\n\n\\noindent\\textbf{Corrected:}")


def skip(self, node):
    """Leave out what only a browser can show."""
    raise nodes.SkipNode


def titles(env, deck):
    """Return the titles of the deck's chapters, by name, in the order of the book."""
    book = [name for name in env.toctree_includes.get(env.config.root_doc, []) if name]
    names = {Path(name).name: env.titles[name].astext() for name in book if name in env.titles}
    chapters = {card["chapter"] for card in deck}
    found = {name: title for name, title in names.items() if name in chapters}
    return found | {name: name for name in sorted(chapters - found.keys())}


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

    Its time is that of the deck's last change (or SOURCE_DATE_EPOCH): Anki renews a card when the
    package is newer than what it holds.
    """
    target = Path(app.outdir) / ANKI
    if exception or app.builder.format != "html" or PAGE not in app.env.found_docs:
        return
    path = Path(app.srcdir) / DECK
    time = int(os.environ.get("SOURCE_DATE_EPOCH") or path.stat().st_mtime)
    deck = read_deck(path)
    taught = places(app.env, deck, app.config.html_baseurl)
    anki_package.write(deck, titles(app.env, deck), taught, numbers(app.env), target, time=time)


def setup(app):
    """Register the directives; Jupyter Book links _static/cards.css and cards.js by itself."""
    app.add_directive("cards", Cards)
    app.add_directive("study", Study)
    app.add_node(study_node, html=(visit_study, None), latex=(skip, None), text=(skip, None))
    app.connect("build-finished", write_anki)
    asis = (plain, plain)
    for node, html, latex in (
        (deck_node, (visit_deck, depart_deck), asis),
        (card_node, (visit_card, depart_card), asis),
        (front_node, (visit_front, depart_front), (latex_front, latex_front_end)),
        (back_node, (visit_back, depart_back), asis),
        (see_node, (visit_see, depart_back), (skip, None)),
        (corrected_node, (visit_corrected, depart_corrected), (latex_corrected, plain)),
    ):
        app.add_node(node, html=html, latex=latex, text=asis)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
