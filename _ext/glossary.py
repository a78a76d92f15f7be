"""The directive ``glossary-terms``, and links to it from the first use of a term on each page.

The terms stand in chapters/glossary.yml. A page does not link the words that it defines itself,
nor words in headings, captions, tables, boxes that are folded, theorems, exercises, code, emphasis
or other links; and no paragraph gets more than a few. Each term names the pages that use it.

.. code-block:: md

    ```{glossary-terms}
    ```
"""

import re
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import yaml
from bookext import directives
from docutils import nodes
from sphinx import addnodes
from sphinx.domains.std import make_glossary_term
from sphinx.transforms import SphinxTransform
from sphinx.util.nodes import make_refnode

ENTRIES = Path("chapters") / "glossary.yml"
PAGE = "chapters/glossary"
REQUIRED = {"term", "text", "at"}
FIELDS = REQUIRED | {"symbol", "forms", "link"}
NO_PROSE = ("cards", "coverage", "errata", "exercises", "formulas", "sources")
LISTS = {f"chapters/{page}" for page in NO_PROSE}
PER_PARAGRAPH = 2
WORD = re.compile(r"[^\W\d_][\w’'–-]*")
# Where running text stands; what is inside anything else is left alone.
PROSE = (nodes.section, nodes.bullet_list, nodes.enumerated_list, nodes.list_item, nodes.admonition)
NO_TEXT = (nodes.literal, nodes.literal_block, nodes.math, nodes.math_block, nodes.emphasis)
NOT_PROSE = {"dropdown", "promise", "corrected"}


class Entry(NamedTuple):
    """A term of the glossary."""

    term: str
    text: str
    at: list
    symbol: str = ""
    forms: list = ()
    link: bool = True

    @property
    def id(self):
        return f"term-{nodes.make_id(self.term)}"


def order(term):
    """Return what a term is sorted by: its letters and figures."""
    return re.sub(r"[^a-z0-9]", "", term.lower())


def read_glossary(path):
    """Return the terms of a glossary, checked and sorted.

    Raises
    ------
    ValueError
        Naming the term and the field that is missing, unknown, empty or used twice.
    """
    entries, seen = [], set()
    for number, fields in enumerate(yaml.safe_load(Path(path).read_text("utf-8")), start=1):
        name = fields.get("term", f"number {number}")
        if missing := REQUIRED - fields.keys():
            raise ValueError(f"{name} lacks {', '.join(sorted(missing))}")
        if unknown := fields.keys() - FIELDS:
            raise ValueError(f"{name} has the unknown field {', '.join(sorted(unknown))}")
        for form in (name, *fields.get("forms", ())):
            if form in seen:
                raise ValueError(f"{form} is there twice")
            seen.add(form)
        entries.append(Entry(**fields))
    return sorted(entries, key=lambda entry: order(entry.term))


def plural(word):
    """Return the regular plural of a word or phrase."""
    if re.search(r"[^aeiou]y$", word):
        return f"{word[:-1]}ies"
    return f"{word}es" if re.search(r"(?:s|x|z|ch|sh)$", word) else f"{word}s"


class Finder:
    """Finds the words of a glossary in running text."""

    def __init__(self, entries):
        self.by_word = {}
        for entry in entries:
            if entry.link:
                for form in (entry.term, *entry.forms):
                    self._add(form, entry.id)
                    self._add(plural(form), entry.id)
        for candidates in self.by_word.values():
            candidates.sort(key=lambda candidate: -candidate[0])

    def _add(self, form, key):
        # of a word in small letters the first may be a capital, at the start of a sentence
        head = f"[{form[0]}{form[0].upper()}]" if form[0].islower() else re.escape(form[0])
        rest = r"\s+".join(re.escape(part) for part in form[1:].split(" "))
        pattern = re.compile(rf"{head}{rest}(?![\w–-])")
        self.by_word.setdefault(WORD.match(form)[0].lower(), []).append((len(form), pattern, key))

    def __call__(self, text):
        """Yield (start, end, id of the term) of the terms in a text, the longest at each place."""
        position = 0
        for word in WORD.finditer(text):
            if word.start() < position:
                continue
            for _, pattern, key in self.by_word.get(word[0].lower(), ()):
                if match := pattern.match(text, word.start()):
                    yield match.start(), match.end(), key
                    position = match.end()
                    break


def is_prose(paragraph):
    """Tell whether a paragraph is running text of the page."""
    node = paragraph.parent
    while node is not None and not isinstance(node, nodes.document):
        if type(node) not in PROSE or NOT_PROSE & set(node.get("classes", ())):
            return False
        node = node.parent
    return True


def mark(paragraph, finder, known):
    """Mark the terms in a paragraph that are not in `known`; return their ids, in order.

    A term becomes an inline node of class ``gloss``, which the last step turns into a link.
    """
    marked = []
    for text in [child for child in paragraph.children if isinstance(child, nodes.Text)]:
        pieces, position, source = [], 0, text.astext()
        for start, end, key in finder(source):
            if key in known or key in marked or len(marked) == PER_PARAGRAPH:
                continue
            pieces.append(nodes.Text(source[position:start]))
            words = source[start:end]
            pieces.append(nodes.inline(words, words, classes=["gloss"], term=key))
            marked.append(key)
            position = end
        if pieces:
            paragraph.replace(text, [*pieces, nodes.Text(source[position:])])
    return marked


def mentioned(document, finder):
    """Return the ids of the terms that stand anywhere in the text of a page."""
    texts = (t for t in document.findall(nodes.Text) if not isinstance(t.parent, NO_TEXT))
    return {key for text in texts for _, _, key in finder(text.astext())}


def label_prefix(docname):
    """Return how the labels of a page's sections begin."""
    return f"sec-{Path(docname).name.replace('_', '-')}-"


class FirstUses(SphinxTransform):
    """Mark the first use of each term on a page."""

    default_priority = 860  # after what puts boxes and quotation marks in their places

    def apply(self, **kwargs):
        path = Path(self.env.srcdir) / ENTRIES
        if not path.exists() or self.env.docname in LISTS:
            return
        entries, finder = _glossary(path)
        self.env.note_dependency(str(path))
        if self.env.docname == PAGE:
            for paragraph in self.document.findall(nodes.paragraph):
                if "gloss-text" in paragraph["classes"]:
                    mark(paragraph, finder, {paragraph["term"]})
            return
        prefix = label_prefix(self.env.docname)
        own = {e.id for e in entries if any(label.startswith(prefix) for label in e.at)}
        _uses(self.env)[self.env.docname] = sorted(mentioned(self.document, finder) - own)
        known = set(own)
        for paragraph in list(self.document.findall(nodes.paragraph)):
            if is_prose(paragraph):
                known.update(mark(paragraph, finder, known))


@cache
def _glossary(path):
    """Return the entries and their finder, read once for a build."""
    entries = read_glossary(path)
    return entries, Finder(entries)


def _uses(env):
    """Return {page: ids of the terms that it uses and does not define}."""
    if not hasattr(env, "glossary_uses"):
        env.glossary_uses = {}
    return env.glossary_uses


class GlossaryTerms(directives.Directive):
    """All terms, in alphabetical order, with where each is defined and used."""

    def run(self):
        entries = self.read(Path(self.env.srcdir) / ENTRIES, read_glossary)
        items = nodes.definition_list("", *map(self.item, entries), classes=["glossary"])
        return [self.letters(entries), addnodes.glossary("", items, sorted=False)]

    def letters(self, entries):
        """A paragraph with a link to the first term of each letter."""
        line = nodes.paragraph(classes=["gloss-letters"])
        for letter, group in groupby(entries, key=lambda entry: order(entry.term)[0].upper()):
            link = nodes.reference(letter, letter, internal=True, refid=next(group).id)
            line += [link, nodes.Text(" ")]
        return line

    def item(self, entry):
        line = self.lineno
        words, document = [nodes.Text(entry.term)], self.state.document
        term = make_glossary_term(self.env, words, None, str(ENTRIES), line, entry.id, document)
        term["forms"] = list(entry.forms)  # by which the search finds the term
        if entry.symbol:
            term.insert(1, [nodes.Text(" "), *self.inline(entry.symbol)])
        text = nodes.paragraph("", "", *self.inline(entry.text), classes=["gloss-text"])
        text["term"] = entry.id
        where = ", ".join(f"{{ref}}`{label}`" for label in entry.at)
        words = self.inline(f"{where}.")
        places = nodes.paragraph("", "Defined in ", *words, classes=["gloss-where"])
        places["term"] = entry.id
        return nodes.definition_list_item("", term, nodes.definition("", text, places))


def _pages(env):
    """Return {id of a term: the pages that use it, in the order of the book}."""
    pages = {}
    for page in env.collect_relations():
        for key in _uses(env).get(page, ()):
            pages.setdefault(key, []).append(page)
    return pages


def link_uses(app, doctree, docname):
    """Turn marked terms into links to the glossary, and list their pages in it."""
    env = app.env
    there = PAGE in env.found_docs
    for node in list(doctree.findall(nodes.inline)):
        if there and "gloss" in node["classes"] and "term" in node:
            words = nodes.Text(node.astext())
            link = make_refnode(app.builder, docname, PAGE, node["term"], words)
            link["classes"].append("gloss")
            node.replace_self(link)
    all_places = [p for p in doctree.findall(nodes.paragraph) if "gloss-where" in p["classes"]]
    pages = _pages(env) if all_places else {}
    for places in all_places:
        if used := pages.get(places["term"]):
            links = directives.linked_pages(app, docname, dict.fromkeys(used))
            places += [nodes.Text(" Used in "), *links, nodes.Text(".")]


def forget(app, env, docname):
    _uses(env).pop(docname, None)


def setup(app):
    """Register the directive and the links; the look is in _static/glossary.css."""
    app.add_directive("glossary-terms", GlossaryTerms)
    app.add_transform(FirstUses)
    app.connect("env-purge-doc", forget)
    app.connect("doctree-resolved", link_uses)
