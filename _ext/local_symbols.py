"""The directive ``local-symbols``: the letters that belong to one page, from chapters/symbols.yml.

A fold for each page, with a table of its symbols, what they are there, and, where the tables of
the notation page give a letter another meaning, why the page uses it.
"""

import json
import re
from pathlib import Path
from typing import NamedTuple

import yaml
from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

SYMBOLS = Path("chapters") / "symbols.yml"
BAR = " | "


class Meaning(NamedTuple):
    """What a symbol is on a page; the reason, where the book gives it another meaning."""

    text: str
    reason: str


class _Unique(yaml.SafeLoader):
    """YAML in which a key may stand once only."""


def _mapping(loader, node):
    keys = [loader.construct_object(key) for key, _ in node.value]
    twice = sorted({str(key) for key in keys if keys.count(key) > 1})
    if twice:
        raise ValueError(f"{', '.join(twice)} twice, from line {node.start_mark.line + 1}")
    return {loader.construct_object(k): loader.construct_object(v) for k, v in node.value}


_Unique.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)


def read_symbols(text):
    """Return {page: {symbol: Meaning}} from the text of symbols.yml."""
    found = {}
    for page, entries in yaml.load(text, _Unique).items():
        found[page] = {}
        for symbol, entry in entries.items():
            meaning, _, reason = entry.partition(BAR)
            found[page][symbol] = Meaning(meaning, reason)
    return found


def heading(folder, page):
    """Return the first heading of a page, its name if there is no such page."""
    for path in (folder / f"{page}.ipynb", folder / f"{page}.md"):
        if path.exists():
            text = path.read_text("utf-8")
            if path.suffix == ".ipynb":
                text = "\n".join("".join(cell["source"]) for cell in json.loads(text)["cells"])
            return re.search(r"^# (.+)$", text, re.MULTILINE)[1]
    return page


def table(title, entries):
    """Return the MyST of one page's fold."""
    lines = ["```{admonition} " + title, ":class: dropdown letters", ""]
    lines += ["| symbol | here | because |", "|:---|:---|:---|"]
    lines += [f"| ${symbol}$ | {text} | {reason} |" for symbol, (text, reason) in entries.items()]
    return [*lines, "```", ""]


class LocalSymbols(SphinxDirective):
    """A fold for each page that has letters of its own."""

    def run(self):
        path = Path(self.env.srcdir) / SYMBOLS
        self.env.note_dependency(str(path))
        try:
            pages = read_symbols(path.read_text("utf-8"))
        except (OSError, ValueError, yaml.YAMLError) as error:
            raise self.error(f"symbols.yml: {error}") from None
        lines = []
        for page, entries in pages.items():
            lines += table(heading(path.parent, page), entries)
        holder = nodes.Element()
        source = StringList(lines, source=str(SYMBOLS))
        self.state.nested_parse(source, self.content_offset, holder)
        return holder.children


def setup(app):
    """Register the directive."""
    app.add_directive("local-symbols", LocalSymbols)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
