"""chapters/coverage.yml: each item of the sources is found where the file says."""

import json
import re
from pathlib import Path

import pytest
import yaml

CHAPTERS = Path(__file__).parent.parent / "chapters"
SOURCES = {"D0", "D1", "D2", "D3", "D4"}


def entries():
    return yaml.safe_load((CHAPTERS / "coverage.yml").read_text(encoding="utf-8"))


def anchors(page):
    """Labels that stand before a heading of the page: what an address can point at."""
    cells = json.loads((CHAPTERS / f"{page}.ipynb").read_text(encoding="utf-8"))["cells"]
    text = "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
    return set(re.findall(r"^\(([a-z0-9-]+)\)=\n+#", text, re.MULTILINE))


def wrong(entry):
    """Say what is wrong with an entry, or return nothing."""
    if set(entry) != {"source", "item", "at"} or entry["source"] not in SOURCES:
        return "fields"
    if not entry["at"]:
        return "no place"
    contents = (CHAPTERS.parent / "_toc.yml").read_text(encoding="utf-8")
    for place in entry["at"]:
        page, _, anchor = place.partition("#")
        if not re.search(rf"chapters/{page}\b", contents):
            return f"{page} is not in the book"
        if anchor not in anchors(page):
            return f"{page} has no {anchor}"
    return None


@pytest.mark.parametrize("entry", entries(), ids=lambda e: f"{e['source']}: {e['item'][:40]}")
def test_each_item_has_its_place(entry):
    assert wrong(entry) is None


def test_a_wrong_place_is_seen():
    entry = {"source": "D1", "item": "x", "at": ["rejection#sec-rejection-butterfly"]}
    assert wrong(entry) is None
    assert "no sec" in wrong(entry | {"at": ["rejection#sec-nowhere"]})
    assert "not in the book" in wrong(entry | {"at": ["nowhere#sec-nowhere"]})
    assert wrong(entry | {"at": []}) == "no place"
    assert wrong(entry | {"source": "D9"}) == "fields"


def test_no_item_stands_twice():
    seen = [(e["source"], e["item"]) for e in entries()]
    assert len(seen) == len(set(seen))
