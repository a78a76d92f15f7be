"""chapters/coverage.yml and errata.yml: complete, in form, and said where they say.

That sections and cells are there is asked when the book is built (`_ext/ledgers.py`).
"""

import re

import ledgers
import pytest
from prose import CHAPTERS, plain_words, section_texts, words_of

SOURCES = {"D0", "D1", "D2", "D3", "D4"}
PLACE = re.compile(r"(L\d+(-\d+)?(, |$))+(footnote)?|throughout")


def wrong_text(entry, *names):
    """Say which of these fields is not a text that can be set, or return nothing."""
    for name in names:
        text = entry.get(name)
        if not isinstance(text, str) or not text.strip() or "\n\n" in text.strip():
            return f"{name} is not a text"
        if text.count("$") % 2:
            return f"{name} has half a formula"
    return None


def wrong(entry):
    """Say what is wrong with an item of coverage.yml, or return nothing."""
    if set(entry) != {"source", "item", "at"} or entry["source"] not in SOURCES | {"own"}:
        return "fields"
    if not entry["at"] or not isinstance(entry["at"], dict):
        return "no place"
    unsaid = (not_said(*at) for at in entry["at"].items())
    return wrong_text(entry, "item") or next(filter(None, unsaid), None)


def not_said(place, phrase):
    """Say that a section does not have a phrase, or return nothing."""
    page, _, anchor = place.partition("#")
    words = words_of(phrase)
    if len(words.split()) < 2:
        return f"{place} has no phrase of two words or more"
    text = section_texts(ledgers.page_path(CHAPTERS, page)).get(anchor, "")
    said = plain_words(re.sub("^#+ .*", "", text, count=1, flags=re.M))  # its heading promises only
    return None if f" {words} " in f" {said} " else f"{place} does not say {phrase!r}"


def wrong_erratum(entry):
    """The same for errata.yml."""
    if not {"source", "place", "kind", "said", "is"} <= set(entry):
        return "fields"
    if entry["source"] not in SOURCES or entry["kind"] not in ledgers.KINDS:
        return "fields"
    if not PLACE.fullmatch(str(entry["place"])):
        return "lines"
    if bad := wrong_text(entry, "said", "is"):
        return bad
    rest = set(entry) - {"source", "place", "kind", "said", "is"}
    if entry["kind"] == "slip":
        return "fields" if rest else None
    if bad := wrong_text(entry, "topic"):
        return bad
    rest -= {"topic"}
    if ("specimen" in rest) != (entry["kind"] == "error"):
        return "no specimen, or none needed"
    rest -= {"also", "specimen"}
    if rest not in ({"at", "cell"}, {"at", "no_cell"}):
        return "fields"
    zoo = entry.get("specimen", "bug_zoo").startswith("bug_zoo")
    return None if zoo else "not in the zoo"


COVERAGE, ERRATA = (ledgers.entries(CHAPTERS, name) for name in ("coverage", "errata"))


@pytest.mark.parametrize("entry", COVERAGE, ids=lambda e: f"{e['source']}: {e['item'][:40]}")
def test_each_item_has_its_place(entry):
    assert wrong(entry) is None


def test_a_wrong_place_is_seen():
    butterfly = "rejection#sec-rejection-butterfly"
    entry = {"source": "D1", "item": "x", "at": {butterfly: "Draw a box around it"}}
    assert wrong(entry) is None
    assert "does not say" in wrong(entry | {"at": {"rejection#sec-nowhere": "a butterfly"}})
    assert wrong(entry | {"at": {}}) == "no place"
    assert "does not say" in wrong(entry | {"at": {butterfly: "an elephant in the room"}})
    assert "does not say" in wrong(entry | {"at": {"gibbs#sec-gibbs-scans": "a sweep is not"}})
    elsewhere = {"rejection#sec-rejection-area": "Draw a box around it"}
    assert "does not say" in wrong(entry | {"at": elsewhere})
    assert "no phrase" in wrong(entry | {"at": {butterfly: ""}})
    assert wrong(entry | {"source": "D9"}) == "fields"
    assert "half" in wrong(entry | {"item": "$x"})


def test_no_item_and_no_topic_stands_twice():
    seen = [(e["source"], e["item"]) for e in COVERAGE]
    seen += [(e["source"], e.get("topic")) for e in ERRATA]
    assert len(seen) == len(set(seen))


@pytest.mark.parametrize("entry", ERRATA, ids=lambda e: f"{e['source']} {e['place']}")
def test_each_erratum_is_corrected_and_shown_where_it_says(entry):
    assert wrong_erratum(entry) is None


def test_a_wrong_erratum_is_seen():
    entry = {"source": "D1", "place": "L1", "kind": "claim", "topic": "t", "said": "x", "is": "y"}
    entry |= {"at": "rejection#sec-rejection-envelope", "cell": "fig-envelope"}
    assert wrong_erratum(entry) is None
    assert wrong_erratum(entry | {"said": " "}) == "said is not a text"
    assert wrong_erratum(entry | {"is": "$a"}) == "is has half a formula"
    assert wrong_erratum(entry | {"place": "page 3"}) == "lines"
    assert wrong_erratum(entry | {"no_cell": "proof"}) == "fields"
    assert wrong_erratum(entry | {"kind": "slip"}) == "fields"
    assert wrong_erratum(entry | {"topic": ""}) == "topic is not a text"
    assert wrong_erratum({"source": "D1"}) == "fields"
    assert "specimen" in wrong_erratum(entry | {"kind": "error"})
    caged = entry | {"kind": "error", "specimen": "bug_zoo#sec-bug-zoo-mass"}
    assert wrong_erratum(caged) is None
    assert wrong_erratum(caged | {"specimen": entry["at"]}) == "not in the zoo"
    without = {key: value for key, value in entry.items() if key != "cell"}
    assert wrong_erratum(without) == "fields"
    assert wrong_erratum(without | {"no_cell": "proof"}) is None


def test_the_sources_are_in_order():
    def first_line(entry):
        return int(re.search(r"\d+", entry["place"] + " 999")[0])

    order = [entry["source"] for entry in ERRATA]
    assert order == sorted(order) and set(order) == SOURCES
    for source in SOURCES:
        *lines, slips = [e for e in ERRATA if e["source"] == source]
        assert slips["kind"] == "slip"
        assert [first_line(e) for e in lines] == sorted(map(first_line, lines)), source
