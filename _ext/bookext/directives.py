"""What the book's directives share: reading a file, MyST, links, lists, tables, and their nodes."""

import yaml
from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.util.docutils import SphinxDirective
from sphinx.util.nodes import make_refnode

ASIS = ("", "")


class Directive(SphinxDirective):
    """A directive that draws what a file of the book says."""

    def read(self, path, reader):
        """Return what `reader` makes of a file, on which the page depends from now on."""
        self.env.note_dependency(str(path))
        try:
            return reader(path)
        except (OSError, ValueError, yaml.YAMLError) as error:
            raise self.error(f"{path.name}: {error}") from None

    def inline(self, text):
        """Return MyST of one paragraph as inline nodes."""
        (paragraph,) = self.parse_text_to_nodes(text)
        return paragraph.children


class wrapped(nodes.General, nodes.Element):
    """Children between two texts: `html`, `latex`, each a pair; None to leave all out."""


def _writing(kind):
    def visit(self, node):
        if node.get(kind, ASIS) is None:
            raise nodes.SkipNode
        self.body.append(node.get(kind, ASIS)[0])

    def depart(self, node):
        self.body.append(node.get(kind, ASIS)[1])

    return visit, depart


def nothing(self, node):
    """Leave the children to speak for themselves."""


def link(kind, target, content, docname, *, domain="std", explicit=True):
    """Return a link that is resolved when all pages are known."""
    return pending_xref(
        "", content, refdomain=domain, reftype=kind, reftarget=target, refexplicit=explicit,
        refwarn=True, refdoc=docname,
    )  # fmt: skip


def joined(found):
    """Return nodes with a comma between each two."""
    return [part for node in found for part in (nodes.Text(", "), node)][1:]


def linked_pages(app, docname, places):
    """Return links to places, {page: id or None}, by the titles of their pages."""
    titles = app.env.titles
    return joined(
        make_refnode(app.builder, docname, page, id_, nodes.Text(titles[page].astext()))
        for page, id_ in places.items()
    )


def table(headings, rows, class_, widths=None):
    """Return a table of texts and inline nodes."""

    def row(values):
        line = nodes.row()
        for value in values:
            parts = value if isinstance(value, list) else [value]
            said = (p if isinstance(p, nodes.Node) else nodes.Text(str(p)) for p in parts)
            line += nodes.entry("", nodes.paragraph("", "", *said))
        return line

    group = nodes.tgroup("", cols=len(headings))
    group += [nodes.colspec(colwidth=width) for width in widths or [1] * len(headings)]
    group += [nodes.thead("", row(headings)), nodes.tbody("", *map(row, rows))]
    return nodes.table("", group, classes=[class_])


def read_anew(page):
    """Return what reads a page again when any page has changed."""

    def outdated(app, env, added, changed, removed):
        wanted = {name for name in env.found_docs if name.endswith(f"/{page}")}
        return wanted if added or changed or removed else ()

    return outdated


def setup(app, *kinds):
    """Register the node that is written as two texts, and kinds of it."""
    html, latex = _writing("html"), _writing("latex")
    for kind in (wrapped, *kinds):
        app.add_node(kind, override=True, html=html, latex=latex, text=(nothing, nothing))
