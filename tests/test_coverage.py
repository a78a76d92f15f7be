"""chapters/coverage.yml and errata.yml: what they list is found where they say."""

import json
import re
from pathlib import Path

import pytest
import yaml

CHAPTERS = Path(__file__).parent.parent / "chapters"
SOURCES = {"D0", "D1", "D2", "D3", "D4"}


def entries(name="coverage"):
    return yaml.safe_load((CHAPTERS / f"{name}.yml").read_text(encoding="utf-8"))


def anchors(page):
    """Labels that stand before a heading of the page: what an address can point at."""
    cells = json.loads((CHAPTERS / f"{page}.ipynb").read_text(encoding="utf-8"))["cells"]
    text = "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
    return set(re.findall(r"^\(([a-z0-9-]+)\)=\n+#", text, re.MULTILINE))


def wrong_place(place):
    """Say what is wrong with an address, or return nothing."""
    page, _, anchor = place.partition("#")
    contents = (CHAPTERS.parent / "_toc.yml").read_text(encoding="utf-8")
    if not re.search(rf"chapters/{page}\b", contents):
        return f"{page} is not in the book"
    return None if anchor in anchors(page) else f"{page} has no {anchor}"


def wrong(entry):
    """Say what is wrong with an item of coverage.yml, or return nothing."""
    if set(entry) != {"source", "item", "at"} or entry["source"] not in SOURCES:
        return "fields"
    if not entry["at"]:
        return "no place"
    return next(filter(None, map(wrong_place, entry["at"])), None)


def wrong_erratum(entry):
    """The same for errata.yml."""
    texts = ("place", "said", "is", "at")
    if set(entry) != {"source", *texts} or entry["source"] not in SOURCES:
        return "fields"
    if not all(isinstance(entry[name], str) and entry[name].strip() for name in texts):
        return "not a text"
    return wrong_place(entry["at"])


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


@pytest.mark.parametrize("entry", entries("errata"), ids=lambda e: f"{e['source']} {e['place']}")
def test_each_erratum_is_corrected_where_it_says(entry):
    assert wrong_erratum(entry) is None


def test_a_wrong_erratum_is_seen():
    entry = {"source": "D1", "place": "L1", "said": "x", "is": "y"}
    entry["at"] = "rejection#sec-rejection-butterfly"
    assert wrong_erratum(entry) is None
    assert "no sec" in wrong_erratum(entry | {"at": "rejection#sec-nowhere"})
    assert wrong_erratum(entry | {"said": " "}) == "not a text"
    assert wrong_erratum({"source": "D1"}) == "fields"
