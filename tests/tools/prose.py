"""Reading pages as their readers do: what is prose, what is code, which numbers are typed."""

import json
import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
CHAPTERS = ROOT / "chapters"
HIDDEN = {"hide-input", "remove-input", "remove-cell"}

COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
FENCE = re.compile(r"^\s*(?P<marks>`{3,}|~{3,}|:{3,})(?:\{(?P<name>[\w:-]+)\})?(?P<rest>.*)$")
CODE = re.compile(r"code[\w-]*|math|cards?|bibliography")
OPTION = re.compile(r"^\s*:[\w-]+:.*$", re.MULTILINE)  # of a directive
LABEL = re.compile(r"^\([\w:-]+\)=\s*$", re.MULTILINE)
READING = re.compile(r"\*Reading time\* about (\d+) minutes")
NOT_PROSE = [
    READING,  # which `reading_minutes` holds to one rule
    re.compile(r"\{[\w:+-]+\}(`+)(?:(?!\1).)*\1", re.DOTALL),  # roles, glued numbers among them
    re.compile(r"(`+)(?:(?!\1).)+\1", re.DOTALL),
    re.compile(r"\]\([^)\n]*\)|<https?://[^>]*>|\[\^[\w-]+\]"),
    re.compile(r"^\s*(?:>\s*)*\d+[.)]\s", re.MULTILINE),  # a numbered list
]
MATHS = re.compile(r"\$\$.*?\$\$(?:\s*\([\w:-]+\))?|(?<!\\)\$[^$\n]+(?:\n[^$\n]+)*\$", re.DOTALL)
SECTION = re.compile(r"^(?:\((sec-[\w-]+)\)=\n+)?(#+) ", re.MULTILINE)
LINKED = re.compile(r"\[([^\]]*)\]\([^)\n]*\)")
ROLE = re.compile(r"\{[\w:+-]+\}(`+)(?:([^`<]*?) <[^`>]*>|.*?)\1")
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


def markdown(path):
    """Return the Markdown of a page."""
    return "\n\n".join(cell.source for cell in cells(path) if cell.kind == "markdown")


def texts(path):
    """Return everything on a page that is read as text: Markdown, and captions of figures."""
    found = cells(path)
    return [c.source for c in found if c.kind == "markdown"] + [
        c.figure["caption"] for c in found if "caption" in c.figure
    ]


def outside_code(text):
    """Return Markdown without its blocks of code and without fences, titles of directives kept."""
    kept, opened = [], []
    for line in COMMENT.sub(" ", text).splitlines():
        fence = FENCE.match(line)
        if fence and not (opened and opened[-1][1] and fence["name"]):
            marks, name, rest = fence["marks"], fence["name"], fence["rest"]
            bare = not name and not rest.strip()
            if bare and opened and marks.startswith(opened[-1][0]):
                opened.pop()
            else:
                opened.append((marks, not name or bool(CODE.fullmatch(name))))
                if name and not name.startswith("solution") and not opened[-1][1]:
                    kept.append(rest)
        elif not any(is_code for _, is_code in opened):
            kept.append(line)
    return "\n".join(kept)


FOLDED = re.compile(
    r"^(?P<fence>`{3,}|:{3,})\{[^\n]*\n(?::[\w-]+:[^\n]*\n)*?:class:[^\n]*\bdropdown\b.*?^(?P=fence)\s*$",
    re.MULTILINE | re.DOTALL,
)
SECONDS = {"word": 0.4, "formula": 4.0, "line of code": 4.0, "figure": 60.0}


def reading_minutes(path):
    """Estimate, to five minutes, how long a page takes without its folded parts and exercises."""
    counts = dict.fromkeys(SECONDS, 0)
    for cell in cells(path):
        text, *exercises = re.split(r"^## Exercises$", cell.source, flags=re.MULTILINE)
        if cell.kind == "code":
            counts["figure"] += bool(cell.figure)
            visible = not cell.tags & HIDDEN
            counts["line of code"] += visible * sum(map(bool, map(str.strip, text.splitlines())))
        else:
            text = FOLDED.sub("", text)
            counts["formula"] += len(MATHS.findall(text))
            counts["word"] += len(re.findall(r"\w+", MATHS.sub("", outside_code(text))))
        if exercises:
            break
    seconds = sum(SECONDS[what] * count for what, count in counts.items())
    return 5 * max(1, round(seconds / 300))


def section_texts(path):
    """Return {label: text} of a page's labelled sections, captions and sections inside included."""
    found = cells(path)
    text = "\n\n".join(
        c.source if c.kind == "markdown" else c.figure.get("caption", "") for c in found
    )
    headings = [(m[1], len(m[2]), m.start()) for m in SECTION.finditer(text)]
    ends = [
        next((start for _, other, start in headings[i + 1 :] if other <= level), len(text))
        for i, (_, level, _) in enumerate(headings)
    ]
    return {
        name: text[start:end] for (name, _, start), end in zip(headings, ends, strict=True) if name
    }


def plain_words(text):
    """Return the words of Markdown in lower case; what is not words stands as a mark."""
    text = MATHS.sub(" ∎ ", LINKED.sub(r"\1", outside_code(text)))
    return words_of(ROLE.sub(lambda m: m[2] or " ∎ ", text))


def words_of(text):
    """Return the words of a text in lower case, one space apart."""
    return " ".join(re.findall(r"[^\W_]+|∎", text.lower()))


def typed_numbers(text):
    """Return the numbers that are typed into Markdown `text` rather than computed.

    Outside mathematics every number counts; inside, integers of up to three digits and their
    fractions are notation, and decimals and longer numbers count.
    """
    maths = []

    def keep(match):
        maths.append(match[0])
        return " "

    text = MATHS.sub(keep, LABEL.sub(" ", OPTION.sub(" ", outside_code(text))))
    for pattern in NOT_PROSE:
        text = pattern.sub(" ", text)
    numbers = NUMBER.findall(text)
    for formula in maths:
        numbers += NUMBER_IN_MATHS.findall(formula)
    return numbers
