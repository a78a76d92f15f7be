"""The directive ``cards``: flash cards from chapters/cards.yml, turned over without JavaScript.

A card is an HTML `<details>`: its summary, the front, is a button to every browser and screen
reader, and the back is hidden from both until the card is turned. Front and back are MyST, so
their mathematics is drawn like the rest of the page's.

.. code-block:: md

    ```{cards} rejection
    ```

shows the cards of one chapter; several names show several chapters, in the deck's order.
"""

from pathlib import Path

import yaml
from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

DECK = Path("chapters") / "cards.yml"
FIELDS = {"id", "chapter", "source", "front", "back", "corrected"}
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
        return [deck_node("", *(self.card(card) for card in cards))]

    def card(self, card):
        front = front_node("", *self.inline(card["front"]))
        back = back_node("", *self.blocks(card["back"]))
        if "corrected" in card:
            words = nodes.inline("", "", *self.inline(card["corrected"]))
            note = nodes.paragraph("", "", nodes.strong("", "Corrected: "), words)
            note["classes"].append("card-corrected")
            back += note
        return card_node("", front, back, ids=[f"card-{card['id']}"])

    def blocks(self, text):
        holder = nodes.Element()
        lines = StringList(text.rstrip().splitlines(), source=str(DECK))
        self.state.nested_parse(lines, self.content_offset, holder)
        return holder.children

    def inline(self, text):
        (paragraph,) = self.blocks(text)
        return paragraph.children


def visit_deck(self, node):
    self.body.append('<ul class="cards">\n')


def depart_deck(self, node):
    self.body.append("</ul>\n")


def visit_card(self, node):
    self.body.append(f'<li><details class="card" id="{node["ids"][0]}">\n')


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


def plain(self, node):
    """Leave the children to speak for themselves, where there is nothing to turn over."""


def latex_front(self, node):
    self.body.append("\n\n\\noindent\\textbf{")


def latex_front_end(self, node):
    self.body.append("}\n\n")


def setup(app):
    """Register the directive; Jupyter Book links its style, _static/cards.css, by itself."""
    app.add_directive("cards", Cards)
    for node, html in (
        (deck_node, (visit_deck, depart_deck)),
        (card_node, (visit_card, depart_card)),
        (front_node, (visit_front, depart_front)),
        (back_node, (visit_back, depart_back)),
    ):
        is_front = node is front_node
        latex = (latex_front, latex_front_end) if is_front else (plain, plain)
        app.add_node(node, html=html, latex=latex, text=(plain, plain))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
