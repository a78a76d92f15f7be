"""The directives ``errata`` and ``coverage``: two ledgers of chapters/ drawn as lists with links.

.. code-block:: md

    ```{errata}
    ```

    ```{errata} D0
    ```

    ```{coverage}
    ```

    ```{coverage} D0
    ```

Without a source each draws the counts of all of them, as a table; with one, its entries, and of the
errata those that are not false folded. An erratum is headed by its topic, and links to the section
that corrects it and to the cell that shows it. Texts are MyST.
"""

import re
from collections import Counter
from pathlib import Path

import yaml
from bookext import cells
from bookext.directives import Directive, table
from docutils import nodes

CHAPTERS = "chapters"
SOURCES = {
    "D0": "thesis chapter",
    "D1": "lecture",
    "D2": "notes on inference",
    "D3": "notes on Laplace and variational methods",
    "D4": "flash cards",
    "own": "none of the five",
}
PARTS = ("thesis", "lecture", "notes", "laplace", "cards", "own")  # of the pages, one a source
SECTIONS = dict(zip(SOURCES, PARTS, strict=True))
KINDS = {"error": "false", "claim": "misleading", "gap": "missing", "slip": "slips of the pen"}
LABELS = {"gap": ("Was", "Now"), "slip": ("For", "Read")}  # the others are said, and true
NO_CELL = {
    "wording": "a matter of wording",
    "proof": "an argument, nothing to run",
    "history": "a matter of history",
    "literature": "a reading of the literature",
}


def entries(folder, ledger):
    """Return the entries of a ledger, a list of dicts."""
    return yaml.safe_load((Path(folder) / f"{ledger}.yml").read_text("utf-8"))


def page_path(folder, page):
    """Return the file of a page, notebook or Markdown."""
    notebook = Path(folder) / f"{page}.ipynb"
    return notebook if notebook.is_file() else notebook.with_suffix(".md")


def shown_by(folder, entry):
    """Return the cell that shows an erratum, or None if it has none.

    Raises
    ------
    ValueError
        If the name belongs to no cell or to several cells of the section.
    """
    if "cell" not in entry:
        return None
    page, _, section = entry["at"].partition("#")
    found = cells.called(cells.read(page_path(folder, page)), entry["cell"], section)
    if len(found) != 1:
        raise ValueError(f"{len(found)} cells of {entry['at']} are called {entry['cell']}")
    return found[0]


def anchors(folder, page):
    """Return {index of a cell: ids} for the cells of a page that others point at."""
    found = {i: [a] for i, a in cells.tagged(cells.read(page_path(folder, page))).items()}
    for entry in entries(folder, "errata"):
        if entry.get("at", "").startswith(f"{page}#") and "cell" in entry:
            cell = shown_by(folder, entry)
            address = cells.address(cell, entry["cell"])
            if address and address != cell.figure:
                found.setdefault(cell.index, []).append(address)
    return {index: list(dict.fromkeys(ids)) for index, ids in found.items()}


def give_anchors(app, doctree):
    """Put an id on each code cell that is pointed at."""
    path = Path(app.env.doc2path(app.env.docname))
    if path.suffix != ".ipynb" or path.parent.name != CHAPTERS:
        return
    wanted = anchors(path.parent, path.stem)
    for node in doctree.findall(nodes.container):
        if node.get("nb_element") == "cell_code":
            node["ids"] += wanted.get(node["cell_index"], [])


def resolve(app, doctree, docname):
    """Give the links of the ledgers their addresses, which depend on the builder."""
    for node in doctree.findall(nodes.reference):
        page, _, anchor = node.get("ledger", "").partition("#")
        if page:
            uri = app.builder.get_relative_uri(docname, f"{CHAPTERS}/{page}")
            node["refuri"] = f"{uri}#{anchor}" if anchor else uri


class Ledger(Directive):
    """What both directives share: reading, MyST in a line, links, a table."""

    optional_arguments = 1
    name_of_ledger = ""

    def run(self):
        self.folder = Path(self.env.srcdir) / CHAPTERS
        return self.read(self.folder / f"{self.name_of_ledger}.yml", self.drawn)

    def drawn(self, path):
        """Return the counts of a ledger, or the entries of the source that is asked for."""
        ledger = entries(self.folder, path.stem)
        if not self.arguments:
            return [self.counts(ledger)]
        chosen = [entry for entry in ledger if entry["source"] == self.arguments[0]]
        if not chosen:
            raise ValueError(f"no source {self.arguments[0]!r}")
        return self.draw(chosen)

    def source(self, name):
        """Return a link to the part of this page that belongs to a source."""
        target = f"sec-{self.name_of_ledger}-{SECTIONS[name]}"
        return nodes.reference("", SOURCES[name], internal=True, refid=target)

    def page(self, name):
        return cells.read(page_path(self.folder, name))

    def link(self, place, content):
        """Return a link to page or page#anchor."""
        return nodes.reference("", "", *content, internal=True, ledger=place)

    def section(self, place, *, named=True):
        """Return the page's title, if wanted, and a link with the title of the section."""
        page, _, anchor = place.partition("#")
        found = self.page(page)
        if anchor not in found.sections:
            raise ValueError(f"{page} has no section {anchor}")
        link = self.link(place, self.inline(found.sections[anchor]))
        return [nodes.Text(f"{found.title} › "), link] if named else [link]


def paragraph(class_, label, *content):
    """Return a paragraph that opens with a label."""
    said = [nodes.strong("", label), nodes.Text(" "), *content]
    return nodes.paragraph("", "", *said, classes=[class_])


def item(term, *body, id_=None):
    """Return one item of a definition list."""
    head = nodes.term("", "", *term, ids=[id_] if id_ else [])
    return nodes.definition_list_item("", head, nodes.definition("", *body))


def part(kind, listed):
    """Return the errata of one kind: the false ones under a line, the others in a folded box."""
    words = KINDS[kind].capitalize()
    title = words if kind == "slip" else f"{words}: {len(listed)}"
    if kind == "error":
        return [nodes.paragraph("", "", nodes.strong("", title), classes=["false"]), listed]
    return [nodes.admonition("", nodes.title("", title), listed, classes=["dropdown"])]


def lines_of(place):
    """Return a place, L24-26 or L24, L84, in words."""
    words = re.sub(r"L(?=\d)", "", place).replace("-", "–")
    if not words[0].isdigit():
        return words
    return f"{'lines' if re.search(r'–|, [0-9]', words) else 'line'} {words}"


def erratum_id(entry):
    """Return the id of an erratum on its page, without what makes it unique among equals."""
    return nodes.make_id(f"erratum {entry['source']} {entry['place']}")


class Errata(Ledger):
    """The errata of one source, or how many there are of each."""

    name_of_ledger = "errata"

    def counts(self, ledger):
        kinds = [kind for kind in KINDS if kind != "slip"]
        number = Counter((entry["source"], entry["kind"]) for entry in ledger)
        sources = list(dict.fromkeys(entry["source"] for entry in ledger))
        rows = [[self.source(s), *(number[s, k] for k in kinds)] for s in sources]
        rows.append(["together", *(sum(number[s, k] for s in sources) for k in kinds)])
        return table(["source", *(KINDS[kind] for kind in kinds)], rows, "ledger-counts")

    def draw(self, chosen):
        twins = Counter()
        parts = {kind: nodes.definition_list(classes=["ledger", "errata"]) for kind in KINDS}
        for entry in chosen:
            id_ = erratum_id(entry)
            twins[id_] += 1
            parts[entry["kind"]] += self.entry(
                entry, id_ if twins[id_] == 1 else f"{id_}-{twins[id_]}"
            )
        drawn = (part(kind, listed) for kind, listed in parts.items() if len(listed))
        return [node for nodes_of_kind in drawn for node in nodes_of_kind]

    def entry(self, entry, id_):
        head = [nodes.inline("", lines_of(entry["place"]), classes=["place"])]
        if "topic" in entry:
            head = [*self.inline(entry["topic"]), nodes.Text(" · "), *head]
        said, true = LABELS.get(entry["kind"], ("Said", "True"))
        body = [
            paragraph("said", said, *self.inline(entry["said"])),
            paragraph("true", true, *self.inline(entry["is"])),
        ]
        if "at" in entry:
            body.append(paragraph("where", "Where", *self.where(entry)))
        return item(head, *body, id_=id_)

    def where(self, entry):
        line = [*self.section(entry["at"]), nodes.Text(": "), *self.shown(entry)]
        before = entry["at"].partition("#")[0]
        for number, place in enumerate(entry.get("also", [])):
            page = place.partition("#")[0]
            line.append(nodes.Text(" · " if number and page == before else "; also "))
            line += self.section(place, named=page != before)
            before = page
        if "specimen" in entry:
            line += [nodes.Text("; in the zoo: "), *self.section(entry["specimen"], named=False)]
        return line

    def shown(self, entry):
        """Return the link to the cell, or why there is none."""
        cell = shown_by(self.folder, entry)
        if cell is None:
            return [nodes.Text(NO_CELL[entry["no_cell"]])]
        name = entry["cell"]
        address = cells.address(cell, name)
        code = nodes.literal("", name.removeprefix("plain-"))
        if not address:
            return [nodes.Text("cell "), code, nodes.Text(", hidden on the page")]
        page = entry["at"].partition("#")[0]
        if address == cell.figure:
            return [self.link(f"{page}#{address}", [nodes.Text("the figure")])]
        return [nodes.Text("cell "), self.link(f"{page}#{address}", [code])]


class Coverage(Ledger):
    """Where the items of one source are, page by page, or how many there are of each."""

    name_of_ledger = "coverage"

    def counts(self, ledger):
        def row(name, chosen):
            at = {place for entry in chosen for place in entry["at"]}
            return [name, len(chosen), len(at), len({place.partition("#")[0] for place in at})]

        sources = list(dict.fromkeys(entry["source"] for entry in ledger))
        rows = [row(self.source(s), [e for e in ledger if e["source"] == s]) for s in sources]
        rows.append(row("together", ledger))
        return table(["source", "items", "sections", "pages"], rows, "ledger-counts")

    def draw(self, chosen):
        pages = {}
        for entry in chosen:
            pages.setdefault(next(iter(entry["at"])).partition("#")[0], []).append(entry)
        listed = nodes.definition_list(classes=["ledger", "coverage"])
        for page, of_page in pages.items():
            title = self.link(page, [nodes.Text(self.page(page).title)])
            items = [self.entry(entry, page) for entry in of_page]
            listed += item([title], nodes.bullet_list("", *items))
        return [listed]

    def entry(self, entry, page):
        line = [*self.inline(entry["item"]), nodes.Text(" →\u00a0")]
        for number, place in enumerate(entry["at"]):
            line += [nodes.Text(" · ")] if number else []
            line += self.section(place, named=not place.startswith(f"{page}#"))
        return nodes.list_item("", nodes.paragraph("", "", *line))


def setup(app):
    """Register the directives; Jupyter Book links their style, _static/ledgers.css, by itself."""
    app.add_directive("errata", Errata)
    app.add_directive("coverage", Coverage)
    app.connect("doctree-read", give_anchors)
    app.connect("doctree-resolved", resolve)
