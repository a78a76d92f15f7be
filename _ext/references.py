"""The bibliography by author: each work with the year after its names, and where it is cited.

The style ``author-year`` is that of the text, which cites by author and year: an entry has no
number or other label. In HTML each entry ends with links to the first citation on each page, and
letters lead to the first entry of each; on paper there is nothing to click.
"""

from itertools import groupby
from unicodedata import combining, normalize

import pybtex.plugin
from bookext.directives import linked_pages
from docutils import nodes
from pybtex.database import Entry
from pybtex.style.formatting import plain, toplevel, unsrt
from pybtex.style.names.lastfirst import NameStyle as LastFirst
from pybtex.style.names.plain import NameStyle as FirstLast
from pybtex.style.sorting import author_year_title
from pybtex.style.template import (
    field,
    first_of,
    join,
    node,
    optional,
    optional_field,
    sentence,
    tag,
    together,
    words,
)
from sphinxcontrib.bibtex.domain import get_docnames

STYLE = "author-year"


@node
def people(children, context, role):
    """The names of a role, the first one turned round."""
    first, *others = context["entry"].persons[role]
    names = [LastFirst().format(first), *(FirstLast().format(person) for person in others)]
    return join(sep=", ", sep2=", and ", last_sep=", and ")[names].format_data(context)


def letters(text):
    """Return a text in small letters without accents, as it is sorted."""
    return "".join(c for c in normalize("NFD", str(text)) if not combining(c)).lower()


class Sorting(author_year_title.SortingStyle):
    """By author, year and title; an accent does not count."""

    def person_key(self, person):
        return letters(LastFirst().format(person).format())


volume = join[field("volume"), optional["(", field("number"), ")"]]


class Style(plain.Style):
    """The plain style with the year after the names."""

    default_sorting_style = Sorting

    def format_entry(self, label, entry, bib_data=None):
        fields = {**entry.fields, "year": "", "cited": entry.fields["year"]}
        if entry.type == "inproceedings" and "pages" in fields:  # a collection's template says it
            fields["pages"] = f"pages {fields['pages']}"
        dated = Entry(entry.type, fields, entry.persons)
        dated.key = entry.key
        return super().format_entry(label, dated, bib_data)

    def format_names(self, role, as_sentence=True):
        if role != "author":
            return super().format_names(role, as_sentence)
        return sentence[words[people(role), join["(", field("cited"), ")"]]]

    def format_author_or_editor(self, e):
        if "author" in e.persons:
            return self.format_names("author")
        return sentence[words[people("editor"), "(editors)", join["(", field("cited"), ")"]]]

    def format_volume_and_series(self, e, as_sentence=True):
        series = optional[words["of", field("series")]]
        result = optional[words[together["volume", volume], series]]
        return sentence(capfirst=True)[result] if as_sentence else result

    def get_article_template(self, e):
        pages = first_of[
            optional[join[volume, optional[":", unsrt.pages]]],
            optional[words["pages", unsrt.pages]],
        ]
        return toplevel[
            self.format_names("author"),
            self.format_title(e, "title"),
            sentence[tag("em")[field("journal")], pages],
            sentence[optional_field("note")],
            self.format_web_refs(e),
        ]


def rewritten(app, env):
    """Return the pages with a bibliography, which change with the citations of the others."""
    return {key.docname for key in env.get_domain("cite").bibliographies}


def cited_in(app, docname, key):
    """Return the paragraph with a link to the first citation of a work on each page."""
    env = app.env
    firsts = {}
    for place in env.get_domain("cite").citation_refs:
        if key in {target.key for target in place.targets}:
            firsts.setdefault(place.docname, place.citation_ref_id)
    places = {page: firsts[page] for page in get_docnames(env) if page in firsts}
    links = linked_pages(app, docname, places)
    return nodes.paragraph("", "Cited in ", *links, classes=["cited-in"]) if links else None


def initial(citation):
    """Return the letter under which a citation without its label stands."""
    return letters(citation.astext())[0].upper()


def finish(app, doctree, docname):
    """Take the labels from the citations, say where each is cited, put letters above them."""
    if app.builder.format != "html":
        return
    keys = {citation.citation_id: citation.key for citation in app.env.get_domain("cite").citations}
    found = [entry for entry in doctree.findall(nodes.citation) if entry["ids"][0] in keys]
    if not found:
        return
    for entry in found:
        entry.remove(entry[0])
    index = nodes.paragraph(classes=["gloss-letters"])
    for letter, group in groupby(found, key=initial):
        link = nodes.reference(letter, letter, internal=True, refid=next(group)["ids"][0])
        index += [link, nodes.Text(" ")]
    for entry in found:
        entry += cited_in(app, docname, keys[entry["ids"][0]]) or []
    above = found[0].parent
    above.parent.insert(above.parent.index(above), index)


def setup(app):
    """Register the style; the look of the list is in _static/references.css."""
    pybtex.plugin.register_plugin("pybtex.style.formatting", STYLE, Style)
    app.connect("env-updated", rewritten)
    app.connect("doctree-resolved", finish)
