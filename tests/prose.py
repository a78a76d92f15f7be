"""Reading pages as their readers do: what is prose, what is code, which numbers are typed."""

import json
import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
CHAPTERS = ROOT / "chapters"
HIDDEN = {"hide-input", "hide-cell", "remove-input", "remove-cell"}

NOT_PROSE = [
    re.compile(r"<!--.*?-->", re.DOTALL),
    re.compile(r"^(?P<f>`{3,}|~{3,})(?!\{)[^\n]*\n.*?^(?P=f)\s*$", re.DOTALL | re.MULTILINE),
    re.compile(
        r"^\s*(?:`{3,}|:{3,})\{(?:code[\w-]*|math|cards?|bibliography)\}.*?^\s*(?:`{3,}|:{3,})\s*$",
        re.DOTALL | re.MULTILINE,
    ),
    re.compile(r"^\s*(?:`{3,}|:{3,})\{(?:solution|solution-start|solution-end)\}.*$", re.MULTILINE),
    re.compile(r"^\s*(?:`{3,}|:{3,})\{[\w:-]+\}", re.MULTILINE),  # the title after it is prose
    re.compile(r"^\s*:[\w-]+:.*$", re.MULTILINE),  # options of a directive
    re.compile(r"^\([\w:-]+\)=\s*$", re.MULTILINE),  # a label
    re.compile(r"\{[\w:+-]+\}(`+)(?:(?!\1).)*\1", re.DOTALL),  # roles, glued numbers among them
    re.compile(r"(`+)(?:(?!\1).)+\1", re.DOTALL),
    re.compile(r"\]\([^)\n]*\)|<https?://[^>]*>|\[\^[\w-]+\]"),
    re.compile(r"^\s*(?:>\s*)*\d+[.)]\s", re.MULTILINE),  # a numbered list
]
MATHS = re.compile(r"\$\$.*?\$\$(?:\s*\([\w:-]+\))?|(?<!\\)\$[^$\n]+(?:\n[^$\n]+)*\$", re.DOTALL)
NUMBER = re.compile(r"(?<![\w./])\d+(?:[.,]\d+)*(?:[eE][+-]?\d+)?(?:/\d+)?")
NUMBER_IN_MATHS = re.compile(r"(?<![\w.])(?:\d+\.\d+|\d{4,})")


class Cell(NamedTuple):
    """A cell of a page; a Markdown file is one cell."""

    kind: str
    source: str
    tags: frozenset
    figure: dict


def pages():
    """Return the paths of all pages, sorted."""
    return sorted(p for p in CHAPTERS.iterdir() if p.suffix in (".ipynb", ".md"))


def notebooks():
    """Return the paths of the pages that run."""
    return [path for path in pages() if path.suffix == ".ipynb"]


def cells(path):
    """Return the cells of a page."""
    if path.suffix == ".md":
        return [Cell("markdown", path.read_text("utf-8"), frozenset(), {})]
    found = []
    for cell in json.loads(path.read_text("utf-8"))["cells"]:
        meta = cell["metadata"]
        found.append(
            Cell(
                kind=cell["cell_type"],
                source="".join(cell["source"]),
                tags=frozenset(meta.get("tags", [])),
                figure=meta.get("mystnb", {}).get("figure", {}),
            )
        )
    return found


def texts(path):
    """Return everything on a page that is read as text: Markdown, and captions of figures."""
    found = cells(path)
    return [c.source for c in found if c.kind == "markdown"] + [
        c.figure["caption"] for c in found if "caption" in c.figure
    ]


def typed_numbers(text):
    """Return the numbers that are typed into Markdown `text` rather than computed.

    Outside mathematics every number counts; inside, integers of up to three digits and their
    fractions are notation, and decimals and longer numbers count.
    """
    maths = []

    def keep(match):
        maths.append(match[0])
        return " "

    for pattern in NOT_PROSE[:4]:
        text = pattern.sub(" ", text)
    text = MATHS.sub(keep, text)
    for pattern in NOT_PROSE[4:]:
        text = pattern.sub(" ", text)
    numbers = NUMBER.findall(text)
    for formula in maths:
        numbers += NUMBER_IN_MATHS.findall(formula)
    return numbers
