"""The pages as they stand in git: their sections, and names for their code cells.

A cell is called by its figure, by a tag, or by a name that its code gives: a function or class that
it defines, a variable that it assigns, a number that it records. A name says which cell is meant as
long as the cell does what it did, wherever it moves on the page.
"""

import ast
import json
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

HEADING = re.compile(r"^\(([\w-]+)\)=\n+#+ (.+)$|^# (.+)$", re.MULTILINE)
MAGIC = re.compile(r"^(\s*)[%!].*$", re.MULTILINE)
INNER = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
ADDRESSED = ("plain-", "specimen-")  # tags that are an address on the built page


class Cell(NamedTuple):
    """A code cell: its place among all cells, the label of its section, and what it is called."""

    index: int
    section: str
    figure: str
    names: tuple
    shown: bool


class Page(NamedTuple):
    """A page: its title, the title of each labelled section (Markdown), and its code cells."""

    title: str
    sections: dict
    cells: tuple


def names_given(source):
    """Return the names that code gives at the top level, records included, in order."""
    found = []

    def search(node):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.ClassDef)):
                found.append(child.name)
                continue
            if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
                found.append(child.id)
            if isinstance(child, ast.Call) and getattr(child.func, "id", "") == "record":
                found.extend(keyword.arg for keyword in child.keywords if keyword.arg)
            if not isinstance(child, INNER):
                search(child)

    search(ast.parse(MAGIC.sub(r"\1pass", source)))
    return tuple(dict.fromkeys(found))


def _code_cell(index, section, cell):
    metadata = cell["metadata"]
    tags = metadata.get("tags", [])
    figure = metadata.get("mystnb", {}).get("figure", {}).get("name", "")
    names = (figure, *tags, *names_given("".join(cell["source"])))
    return Cell(index, section, figure, tuple(filter(None, names)), "remove-cell" not in tags)


@cache
def _read(path, time):
    text = path.read_text("utf-8")
    cells = (
        json.loads(text)["cells"]
        if path.suffix == ".ipynb"
        else [{"cell_type": "markdown", "source": [text]}]
    )
    title, here, sections, code = "", "", {}, []
    for index, cell in enumerate(cells):
        if cell["cell_type"] == "code":
            code.append(_code_cell(index, here, cell))
            continue
        for label, heading, first in HEADING.findall("".join(cell["source"])):
            title = title or first
            if label:
                here = label
                sections[label] = heading.strip()
    return Page(title, sections, tuple(code))


def read(path):
    """Return a notebook or a Markdown page as a `Page`."""
    path = Path(path)
    return _read(path, path.stat().st_mtime_ns)


def called(page, name, section=None):
    """Return the cells of a page, or of one of its sections, that a name belongs to."""
    return [c for c in page.cells if name in c.names and section in (None, c.section)]


def address(cell, name):
    """Return the id on the built page of a cell called `name`; '' if the page does not show it."""
    if not cell.shown:
        return ""
    return cell.figure if name == cell.figure else f"cell-{name}"


def tagged(page):
    """Return {index of a cell: id} for the first cell with each tag that is an address."""
    first = {}
    for cell in page.cells:
        for name in cell.names:
            if name.startswith(ADDRESSED) and cell.shown:
                first.setdefault(name, cell.index)
    return {index: f"cell-{name}" for name, index in first.items()}
