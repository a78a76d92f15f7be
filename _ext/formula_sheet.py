"""The directive ``formula-sheet``: what each chapter defines and states, without proofs.

.. code-block:: md

    ```{formula-sheet}
    ```

A section for each numbered chapter holds its definitions, theorems and algorithms, copied when all
pages have been read, so that each has the number it has there, and leads there; so have equations.
Those of its page that a statement cites, and that stand in none, follow it.
"""

import re
from pathlib import Path

import yaml
from bookext import cells, directives
from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.transforms.post_transforms import SphinxPostTransform

COMMA = re.compile(r"\s*,(\s*(?:\\end\{\w+\}\s*)?)$")  # where the sentence of an equation went on
KINDS = ("definition", "theorem", "lemma", "proposition", "corollary", "algorithm")


class Statements(nodes.General, nodes.Element):
    """Where the statements of one page will stand."""


def chapters(toc):
    """Return the numbered pages of a table of contents, in order."""
    parts = yaml.safe_load(Path(toc).read_text("utf-8")).get("parts", [])
    return [entry["file"] for p in parts if p.get("numbered") for entry in p["chapters"]]


class FormulaSheet(directives.Directive):
    """See the module."""

    def run(self):
        pages = self.read(Path(self.env.srcdir) / "_toc.yml", chapters)
        return [self.section(number, page) for number, page in enumerate(pages, 1)]

    def section(self, number, page):
        name = f"formulas-{page.rsplit('/', 1)[-1].replace('_', '-')}"
        title = f"{number}. {cells.read(self.env.doc2path(page)).title}"
        link = directives.link("doc", f"/{page}", nodes.inline("", title), self.env.docname)
        place = Statements(page=page)
        return nodes.section("", nodes.title("", "", link), place, ids=[name], names=[name])


def is_statement(node):
    """Return whether a node is a box that says something, and not a proof."""
    return isinstance(node, nodes.Element) and node.get("realtype") in KINDS


class CopyStatements(SphinxPostTransform):
    """Put copies of a page's statements where they belong, before links are resolved."""

    default_priority = 5

    def run(self):
        for place in list(self.document.findall(Statements)):
            tree = self.env.get_doctree(place["page"])
            equations = {block.get("label"): block for block in tree.findall(nodes.math_block)}
            boxes = list(tree.findall(is_statement))
            for box in boxes:
                for block in box.findall(nodes.math_block):
                    equations.pop(block.get("label"), None)  # it is on the sheet
            found = [self.entry(place["page"], box, equations) for box in boxes]
            place.replace_self(found)

    def entry(self, page, box, equations):
        """Return a statement under its name, a link to it; equations that it cites follow."""
        title, *body = (clean(child, self.env.docname) for child in box.children)
        numbers = self.env.toc_fignumbers.get(page, {}).get(box["countertype"], {})
        number = ".".join(map(str, numbers.get(box["ids"][0], ())))
        uri = self.app.builder.get_relative_uri(self.env.docname, page)
        name = f"{box['realtype'].title()} {number}".rstrip()
        link = nodes.reference("", name, internal=True, refuri=f"{uri}#{box['ids'][0]}")
        head = nodes.paragraph("", "", link, *title.children, classes=["formula-name"])
        content = [node for section in body for node in section.children]
        for cited in [ref for section in body for ref in section.findall(pending_xref)]:
            equation = equations.pop(cited["reftarget"], None)
            if equation is not None:
                alone = equation.deepcopy()
                alone.children = [nodes.Text(COMMA.sub(r"\1", equation.astext()))]
                content += clean(nodes.container("", alone), self.env.docname)
        return nodes.container("", head, *content, classes=["formula", box["realtype"]])


def clean(node, docname):
    """Return a copy without addresses or proofs, whose links start from another page.

    An equation that had a label is followed by its number, which leads to it.
    """
    copy = node.deepcopy()
    for inner in list(copy.findall(nodes.Element)):
        for name in ("ids", "names"):
            inner[name] = []
        if isinstance(inner, pending_xref):
            inner["refdoc"] = docname
        elif isinstance(inner, nodes.math_block):
            label, inner["label"], inner["number"] = inner.get("label"), None, None
            if label:
                link = directives.link("eq", label, nodes.inline(), docname, domain="math")
                numbered = nodes.container("", classes=["numbered"])
                inner.replace_self(numbered)
                numbered += [inner, nodes.paragraph("", "", link, classes=["number"])]
        elif isinstance(inner, nodes.target) or type(inner).__name__ == "proof_node":
            inner.parent.remove(inner)
    return copy


def setup(app):
    """Register the directive; Jupyter Book links its style, _static/formulas.css, by itself."""
    app.add_node(Statements)
    app.add_directive("formula-sheet", FormulaSheet)
    app.add_post_transform(CopyStatements)
    app.connect("env-get-outdated", directives.read_anew("formulas"))
