"""The directive ``local-symbols``: the letters that belong to one page, from chapters/symbols.yml.

A fold for each page, with a table of its symbols, what they are there, and, where the tables of
the notation page give a letter another meaning, why the page uses it.
"""

from pathlib import Path
from typing import NamedTuple

import yaml
from bookext import cells, directives
from ledgers import page_path

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


def table(title, entries):
    """Return the MyST of one page's fold."""
    lines = ["```{admonition} " + title, ":class: dropdown letters", ""]
    lines += ["| symbol | here | because |", "|:---|:---|:---|"]
    lines += [f"| ${symbol}$ | {text} | {reason} |" for symbol, (text, reason) in entries.items()]
    return [*lines, "```", ""]


class LocalSymbols(directives.Directive):
    """A fold for each page that has letters of its own."""

    def run(self):
        path = Path(self.env.srcdir) / SYMBOLS
        pages = self.read(path, lambda path: read_symbols(path.read_text("utf-8")))
        folds = (
            table(cells.read(page_path(path.parent, page)).title, entries)
            for page, entries in pages.items()
        )
        return self.parse_text_to_nodes("\n".join(line for fold in folds for line in fold))


def setup(app):
    """Register the directive."""
    app.add_directive("local-symbols", LocalSymbols)
