"""What the book says in quotation marks that a source says, the source says: word for word.

The sources are not part of the book. `tests/data/sources.npz` has fingerprints of them, a number
for every one, two and three of their words in a row, without formulas, markup and case; run as a
program with the folder of the sources (PYTHONPATH=_ext), this file writes it. A quotation may leave
out what it marks by an ellipsis or a formula.
"""

import json
import re
import sys
import zlib
from functools import cache
from pathlib import Path

import ledgers
import numpy as np
import pytest
import yaml
from nbformat.v4 import new_markdown_cell
from prose import CHAPTERS, cells, notebooks

FINGERPRINTS = Path(__file__).parents[1] / "data" / "sources.npz"
SOURCES = ("D0", "D1", "D2", "D3", "D4")
FORMULA = re.compile(
    r"\$\$.*?\$\$|\$[^$]*\$|\\\[.*?\\\]|\\begin\{(equation|align|split)\*?\}.*?\\end\{\1\*?\}", re.S
)
QUOTED = re.compile(r'(?<!\w)"([^"]+)"|“([^”]+)”')
# A paragraph outside the boxes quotes a source when it names one.
NAMED = re.compile(
    r"\b(thesis chapter|the lecture|notes on|(inference|Laplace|the) notes|the cards?|sources?)\b",
    re.I,
)


def words(text):
    """The words of a text in lower case; a formula is one that no quotation has."""
    text = re.sub(r"\\(cite\w*|label|ref)\{[^}]*\}|(?m:^ *%.*$)", " ", text)
    text = re.sub(r"\\[a-zA-Z]+\b|[{}*_`^]", " ", FORMULA.sub(" ∎ ", text))
    return re.findall(r"[^\W_]+|∎", text.lower())


def fingerprints(tokens, length):
    """A number for each `length` words in a row."""
    rows = zip(*(tokens[k:] for k in range(length)), strict=False)
    return np.array([zlib.crc32(" ".join(row).encode()) for row in rows], dtype=np.uint32)


def has(prints, fragment):
    """Whether a source, given by its fingerprints, has these words in a row."""
    if len(fragment) < 3:
        return not fragment or np.isin(fingerprints(fragment, len(fragment)), prints).all()
    wanted = fingerprints(fragment, 3)
    starts = np.flatnonzero(prints[: prints.size - wanted.size + 1] == wanted[0])
    return any(np.array_equal(prints[k : k + wanted.size], wanted) for k in starts)


def literal(quotation, sources):
    """Whether one of these sources has each part of a quotation, between ellipses and formulas."""
    parts = [words(part) for part in re.split(r"…|\.\.\.", FORMULA.sub("…", quotation))]
    return any(all(has(source(name, min(3, len(p))), p) for p in parts if p) for name in sources)


@cache
def source(name, length):
    with np.load(FINGERPRINTS) as stored:
        return stored[f"{name}_{length}"]


def quotations(text):
    return [a or b for a, b in QUOTED.findall(FORMULA.sub(lambda m: m[0].replace('"', ""), text))]


def paragraphs(path):
    """The paragraphs of a page that speak of the sources: in boxes, and where one is named."""
    for cell in cells(path):
        box = False
        for line in cell.source.splitlines() if cell.kind == "markdown" else ():
            box = (box or line.startswith(":class: corrected")) and line not in ("```", ":::")
            if (box or NAMED.search(line)) and "Danish" not in line:
                yield line


def quoted():
    """Yield (where, quotation, sources that may have it)."""
    for entry in ledgers.entries(CHAPTERS, "errata"):
        for quotation in quotations(entry["said"]):
            yield f"errata {entry['source']} {entry['place']}", quotation, [entry["source"]]
    for card in yaml.safe_load((CHAPTERS / "cards.yml").read_text("utf-8")):
        for quotation in quotations(card.get("corrected", "")):
            yield f"card {card['id']}", quotation, ["D4"]
    for path in notebooks():
        for paragraph in paragraphs(path):
            for quotation in quotations(paragraph):
                yield path.stem, quotation, SOURCES


QUOTATIONS = list(quoted())


@pytest.mark.parametrize(("where", "quotation", "sources"), QUOTATIONS, ids=lambda v: str(v)[:40])
def test_a_quotation_is_literal(where, quotation, sources):
    assert literal(quotation, sources), f"{where}: no source has {quotation!r}"


def test_there_are_quotations():
    assert len(QUOTATIONS) > 150
    assert {where.split()[0] for where, *_ in QUOTATIONS} >= {"errata", "card", "mcmc", "vi"}


@pytest.mark.parametrize(
    ("quotation", "source"),
    [
        ("entail solving exactly", "D0"),  # one letter
        ("the closer the proposal to the posterior", "D0"),  # a word left out in silence
        ("The relative frequency of a configuration is given", "D0"),  # a formula left out
        ("ergodic unbiased", "D4"),  # both words, not in a row
        ("a reasonable time frame", "D2"),
        ("more on this next lecture", "D0"),  # another's words
    ],
)
def test_a_quotation_that_is_not_literal_is_found(quotation, source):
    assert not literal(quotation, [source])


def test_what_may_differ_is_case_markup_and_what_is_marked():
    assert literal("*Entails* solving … which we wish to approximate", ["D0"])
    assert literal("relative frequency of a configuration $x$ is given by its", ["D0"])


def test_only_paragraphs_that_speak_of_the_sources_are_read(tmp_path):
    page = tmp_path / "page.ipynb"
    box = ':::{admonition} Said\n:class: corrected\n* "never said"\n:::\n'
    text = box + '"a word"\nThe lecture has "another".\nThe card says "a third", the notes "more"\n'
    text += 'The thesis chapter, in Danish: "et ord"'
    page.write_text(json.dumps({"cells": [new_markdown_cell(text)]}))
    found = [q for line in paragraphs(page) for q in quotations(line)]
    assert found == ["never said", "another", "a third", "more"]


def write(folder):
    found = {}
    for name, path in zip(SOURCES, sorted(Path(folder).glob("*.txt")), strict=True):
        tokens = words(path.read_text("utf-8"))
        found |= {f"{name}_{n}": np.unique(fingerprints(tokens, n)) for n in (1, 2)}
        found[f"{name}_3"] = fingerprints(tokens, 3)
    np.savez(FINGERPRINTS, **found)


if __name__ == "__main__":
    write(sys.argv[1])
