"""Live notebooks: each page as it was built, as a notebook that reads well in plain JupyterLab.

JupyterLab knows neither MyST nor the book's macros. So the notebooks that readers open are made of
the finished pages, in which numbers, references and citations stand as words; their code is that of
the sources. They take the place of the sources under the header's download button and in the zip.

Code that the page folds or leaves out is folded. A solution lies under a folded heading, which
hides what it prints when all cells are run. Checks of the book's own numbers stop no reader's.
"""

import ast
import json
import re
from html import escape
from itertools import groupby
from pathlib import Path
from textwrap import indent
from urllib.parse import urljoin

import nbformat
from bs4 import BeautifulSoup, NavigableString, Tag
from sphinx.util import logging

from .mathematics import expand

logger = logging.getLogger(__name__)

FOLDED = {"hide-input", "remove-cell", "remove-input"}
BLOCKS = set("p ul ol dl dt dd div table details section pre blockquote aside figure hr".split())
BLOCKS |= {f"h{level}" for level in range(1, 7)}
SKIPPED = ("script", "style", "svg", "button", "select", "input", "nav", "form", "canvas")
SPECIAL = re.compile(r"([\\*_`$\[\]<])")
DRAWN = re.compile(r"<(svg|script)\b.*?</\1>", re.DOTALL)  # long, and not read
THERE = re.compile(r"On the book[’']s page, .*?\. There, run", re.DOTALL)  # this is it
BAR = re.compile(r"\$[^$]*\$|\|")
STARTS = re.compile(r"^(\s*)(\d+[.)]|[-+#>])(?=\s|$)")

FIRST = """\
# Setup. Where the library is not installed, this says what to do.
import importlib.util
import os

if os.path.isdir("live/chapters"):
    os.chdir("live/chapters")
here = [*map(importlib.util.find_spec, ("bayeslib", "needles")), *map(os.path.exists, {read})]
if not all(here):
    raise ImportError({remedy!r})
"""
INSTALL = (
    "run first: !git clone -q --depth 1 -b {1} {0} live && pip install -q ./live ./live/needles"
)
DOWNLOAD = (
    "the book's library, or what this page reads, is not here: "
    "take the zip of all notebooks, named on its first page, and install its requirements.txt"
)
READ = re.compile(r"[\"']((?:\.\./|data/)[\w./-]+)[\"']")  # what a page reads
EXERCISE = re.compile(r"^> \*\*(Exercise [\d.]+.*)\*\*\n>")
GREETING = (
    "*The page {} of the book, live. Numbers in the text and its tables are the book's: what you "
    "change shows in what the code prints. After a restart, or a NameError, choose* Run, Run All "
    "Above Selected Cell. *Each open page takes up to a gigabyte of memory: shut one down before "
    "you open the next.{}*"
)
NEW = " New to the library? Open `start.ipynb` first."
OTHERS = """\
try:
{}
except AssertionError:
    print("(What the book checks of its own numbers here does not hold for yours.)")"""


class Reader:
    """What a page says, as Markdown.

    Parameters
    ----------
    address : str
        Of the page on the web, or '' where the book has none: then references lead to the
        notebooks `beside` it, and to nothing else.
    beside : collection of str
        The names of the other notebooks in the same folder.
    headings : collection of str
        Of the page itself, which are quoted where a reference names them.
    """

    def __init__(self, address="", beside=(), headings=()):
        self.address, self.beside, self.headings = address, beside, headings

    def inline(self, node):
        """Return running text."""
        return re.sub(" {2,}(?!\n)", " ", "".join(map(self._inline, node.children)).strip())

    def _inline(self, node):
        if isinstance(node, NavigableString):
            plain = type(node) is NavigableString  # no comment, nor a script's text
            return SPECIAL.sub(r"\\\1", re.sub(r"\s+", " ", node)) if plain else ""
        classes = set(node.get("class") or ())
        if node.name in SKIPPED or classes & {"headerlink", "visually-hidden"}:
            return ""
        lone = "caption-number" in classes and "." not in node.get_text()
        if lone and node.find_parent("figcaption"):  # of a page without a number
            return ""
        if "math" in classes or "katex" in classes:
            return f"${tex(node)}$"
        within = "".join(map(self._inline, node.children))
        if node.name == "code":
            return f"`{node.get_text()}`"
        mark = {"strong": "**", "b": "**", "em": "*", "i": "*"}.get(node.name)
        if mark and within.strip():
            before, after = re.match(r"\s*", within)[0], re.search(r"\s*$", within)[0]
            return f"{before}{mark}{within.strip()}{mark}{after}"
        if node.name == "a" and within.strip():
            return self._link(within, node.get("href", ""))
        return within

    def _link(self, text, to):
        if re.match(r"https?:", to):
            return f"[{text}]({to})"
        page, is_page, _ = to.partition(".html")
        if not is_page:
            return f"“{text}”" if text in self.headings else text
        if self.address:
            return f"[{text}]({urljoin(self.address, to)})"
        return f"[{text}]({page}.ipynb)" if page in self.beside else text

    def blocks(self, node):
        """Return the paragraphs, lists, boxes, … that a node is."""
        classes, name = set(node.get("class") or ()), node.name
        if name in SKIPPED or "toctree-wrapper" in classes:
            return []
        if re.fullmatch("h[1-6]", name):
            return [f"{'#' * int(name[1])} {self.inline(node)}"]
        if "math" in classes or "katex-display" in classes:
            number = node.select_one(".eqno")
            tag = rf" \tag{{{number.get_text().strip('()# ¶')}}}" if number else ""
            return [f"$${tex(node)}{tag}$$"]  # in one line: JupyterLab keeps a box's > in a formula
        if name == "pre" or any(c.startswith("highlight") for c in classes):
            language = next((c[10:] for c in classes if c.startswith("highlight-")), "")
            return [f"```{language}\n{node.get_text().strip()}\n```"]
        if name == "details":
            return [self.fold(node)]
        if name in ("ul", "ol"):
            return ["\n".join(self._items(node))]
        if name == "table":
            return self._table(node)
        if "admonition" in classes or name in ("blockquote", "aside"):
            return [quoted(self._box(node))]
        if not any(isinstance(c, Tag) and is_block(c) for c in node.children):
            text = self.inline(node)
            return [STARTS.sub(r"\1\\\2", text)] if text else []
        return self.within(node)

    def within(self, node, *, but=None):
        """Return the blocks of a node's children except one; text between them is a paragraph."""
        found, run = [], []
        for child in [*(c for c in node.children if c is not but), None]:
            if child is not None and not (isinstance(child, Tag) and is_block(child)):
                run.append(child)
                continue
            text = "".join(map(self._inline, run)).strip()
            found += [STARTS.sub(r"\1\\\2", text)] if text else []
            found += self.blocks(child) if child is not None else []
            run = []
        return found

    def _box(self, node):
        title = node.find(class_=["admonition-title", "sidebar-title"], recursive=False)
        head = [f"**{self.inline(title)}**"] if title and self.inline(title) else []
        return "\n\n".join(head + self.within(node, but=title))

    def fold(self, node):
        """Return a box that opens at a click."""
        summary = node.find("summary", recursive=False)
        title = re.sub(r"`(.*?)`", r"<code>\1</code>", self.inline(summary))
        title = re.sub(r"(?<!\\)\*(.+?)(?<!\\)\*", r"<em>\1</em>", title.replace("**", ""))
        title = re.sub(r"\\([*_`\[\]<])", lambda m: escape(m[1]), title)
        body = "\n\n".join(self.within(node, but=summary))
        return details(title, body, is_open=node.has_attr("open"))

    def _items(self, node):
        for i, item in enumerate(node.find_all("li", recursive=False), int(node.get("start", 1))):
            mark = "- " if node.name == "ul" else f"{i}. "
            text = "\n\n".join(self.within(item))
            yield mark + re.sub(r"\n(?=.)", "\n" + " " * len(mark), text)

    def _table(self, node):
        caption = node.find("caption")
        said = [f"*{self.inline(caption)}*"] if caption else []
        rows = [
            [BAR.sub(unbarred, self.inline(cell)) for cell in row.find_all(["td", "th"])]
            for row in node.find_all("tr")
        ]
        head, *rest = rows if node.find("thead") else [[""] * len(rows[0]), *rows]
        lines = [head, ["---"] * len(head), *rest]
        return [*said, "\n".join(f"| {' | '.join(line)} |" for line in lines)]


def is_block(node):
    """Tell whether an element stands by itself."""
    return node.name in BLOCKS


def details(title, body, *, is_open=False):
    """Return a box that opens at a click."""
    opened = " open" if is_open else ""
    return f"<details{opened}><summary><b>{title}</b></summary>\n\n{body}\n\n</details>"


def unbarred(match):
    """Return a formula, or a bar, without bars: they would end a cell of a table."""
    formula = match[0].replace(r"\|", r"\Vert ").replace("|", r"\vert ")
    return formula if match[0] != "|" else "&#124;"


def quoted(text):
    """Return a text as a quotation."""
    return "\n".join(f"> {line}".rstrip() for line in text.splitlines())


def tex(node):
    """Return a drawn formula as TeX that any reader of mathematics knows."""
    source = node.select_one("annotation").get_text().strip()
    return re.sub(r"\s+", " ", expand(source))


def cells(article, sources, reader):
    """Yield ("markdown", text, hidden) and ("code", cell, folds) in the order of the page.

    Parameters
    ----------
    article : Tag
        The page's text.
    sources : list
        The code cells of its notebook.
    reader : Reader
    """
    shown = [i for i, cell in enumerate(sources) if "remove-cell" not in tags(cell)]
    places = iter([*shown, len(sources)])
    last = next(places)
    for cell in sources[:last]:
        yield "code", cell, ""

    def walk(node, solving):
        nonlocal last
        for child in node.children:
            if not isinstance(child, Tag):
                continue
            classes = set(child.get("class") or ())
            if child.name == "section":
                yield from walk(child, solving)
            elif "cell" in classes:
                here, last = last, next(places)
                for cell in sources[here:last]:
                    yield "code", cell, solving
                for caption in child.select("figcaption:has(.caption-number)"):
                    yield "markdown", f"*{reader.inline(caption)}*", solving
            elif child.select_one("div.cell"):
                if "solution" in classes:
                    title = reader.inline(child.summary)
                    yield from walk(without(child, child.summary), title)
                else:
                    yield from walk(child, solving)
            else:
                for text in reader.blocks(child):
                    yield "markdown", text, solving

    yield from walk(article, "")


def without(node, part):
    part.extract()
    return node


def tags(cell):
    return set(cell.metadata.get("tags", ()))


def notebook(html, source, *, address="", repository="", branch="main", beside=()):
    """Return the live notebook of a page.

    Parameters
    ----------
    html : str
        The page as built.
    source : NotebookNode
        What it was built of.
    address, repository : str
        Of the page and of the book's sources on the web, or ''.
    branch : str
        Of the sources, from which the library is taken where it is not installed.
    beside : collection of str
        The names of the other notebooks in the same folder.
    """
    html = DRAWN.sub("", html[html.index("<article") : html.index("</article>")])
    article = BeautifulSoup(html, "html.parser").select_one("article")
    sources = [cell for cell in source.cells if cell.cell_type == "code"]
    headings = {heading.get_text().strip("# ¶\n") for heading in article.select("h2, h3, h4")}
    reader, made, within = Reader(address, beside, headings), [], ""
    title = article.h1.get_text().strip("# ¶\n")
    link = f"[{title}]({address})" if address else f"“{title}”"
    texts = [GREETING.format(link, NEW if "start" in beside else "")]
    remedy = INSTALL.format(repository, branch) if repository else DOWNLOAD
    read = sorted({path for cell in sources for path in READ.findall(cell.source)})
    setup = [FIRST.format(read=read, remedy=remedy)]

    def flush():
        if said := THERE.sub("Run", "\n\n".join(texts)):
            made.append(nbformat.v4.new_markdown_cell(said))
        texts.clear()

    for kind, what, solving in cells(article, sources, reader):
        if solving != within:
            flush()
            if solving:
                made.append(closed(nbformat.v4.new_markdown_cell(f"### {solving}")))
        within = solving
        if kind == "markdown":
            what, is_exercise = EXERCISE.subn(r"### \1\n", what, count=1)
            if is_exercise or what.startswith("## "):
                flush()
            texts.append(what)
        elif setup and "remove-cell" in tags(what):
            setup.append(unasserted(what.source))
        else:
            flush()
            if setup:
                made.append(folded(nbformat.v4.new_code_cell("\n".join(setup))))
                setup.clear()
            cell = nbformat.v4.new_code_cell(what.source, metadata={"tags": sorted(tags(what))})
            if "remove-cell" in tags(what):
                cell.source = unasserted(cell.source)
            made.append(folded(cell) if FOLDED & tags(what) else cell)
    flush()
    for i, cell in enumerate(made):
        cell.id = f"cell-{i}"  # the same build gives the same bytes
    return nbformat.v4.new_notebook(cells=made, metadata=source.metadata)


def unasserted(source):
    """Return code whose checks of the book's numbers say so where they fail, and go on."""
    lines, blocks = source.splitlines(), []
    for asserts, nodes in groupby(ast.parse(source).body, key=_asserts):
        if asserts:
            first, *_, last = [*nodes] * 2
            blocks.append(slice(first.lineno - 1, last.end_lineno))
    for block in reversed(blocks):
        lines[block] = [OTHERS.format(indent("\n".join(lines[block]), "    "))]
    return "\n".join(lines)


def _asserts(node):
    return not isinstance(node, ast.FunctionDef | ast.ClassDef) and "assert" in ast.unparse(node)


def closed(cell):
    """Close what follows a heading, up to the next: a click opens it, running it does not."""
    cell.metadata["jp-MarkdownHeadingCollapsed"] = True
    return cell


def folded(cell):
    cell.metadata["jupyter"] = {"source_hidden": True}
    return cell


def write(app):
    """Write the live notebook of each page in place of its source, where the header finds it."""
    options, base = app.config.html_theme_options, app.config.html_baseurl
    paths = {name: Path(app.env.doc2path(name)) for name in sorted(app.env.found_docs)}
    sources = {name: path for name, path in paths.items() if path.suffix == ".ipynb"}
    beside = {path.stem for path in sources.values()}
    for name, source in sources.items():
        page = Path(app.outdir) / f"{name}.html"
        made = notebook(
            page.read_text("utf-8"), nbformat.read(source, 4),
            address=urljoin(base, f"{name}.html") if base else "",
            repository=options.get("repository_url", ""),
            branch=options.get("repository_branch") or "main", beside=beside - {source.stem},
        )  # fmt: skip
        text = json.dumps(made, indent=1, ensure_ascii=False) + "\n"
        for wrong in sorted(set(LITERAL.findall(prose(made)))):
            logger.warning("the live notebook shows %r", wrong, location=name, type="live")
        (Path(app.outdir) / "_sources" / f"{name}.ipynb").write_text(text, "utf-8")


# What JupyterLab would show as it stands.
LITERAL = re.compile(r"\{[a-z:]+\}`|^:{3,}.*$|^\([\w-]+\)=$", re.MULTILINE)


def prose(made):
    """Return the text of a notebook without its code."""
    texts = (cell.source for cell in made.cells if cell.cell_type == "markdown")
    return re.sub(r"(?s)```.*?```|`[^`]*`", "", "\n\n".join(texts))
