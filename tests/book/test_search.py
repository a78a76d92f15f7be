"""What the search knows: sections, terms, entries by their own words, nothing that nobody sees."""

import json
import re

import pytest
from bookext import search
from docutils import nodes
from small_book import build, sample


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    folder = tmp_path_factory.mktemp("book")
    _, heard = build(folder, sample("search"), "bookext.search")
    assert not heard
    text = (folder / "html" / "searchindex.js").read_text("utf-8")
    assert "Owls" not in text
    return json.loads(re.fullmatch(r"Search\.setIndex\((.*)\)", text)[1])


def places(index, word, kind="terms"):
    """Return where a word is: page and anchor."""
    found = index[kind].get(word, [])
    found = [found] if isinstance(found, int) else found
    return {index["docnames"][i] + index["anchors"][i] for i in found}


def test_a_word_is_found_in_its_section(index):
    assert places(index, "lamprei") == {"one"}
    assert places(index, "elver") == {"one#on-eels"}
    assert places(index, "pike", "titleterms") == {"one#on-pike"}
    assert places(index, "eel", "often") == {"one#on-eels"}
    assert index["filenames"][index["titles"].index("On pike")] == "One page"
    assert index["alltitles"]["On pike"][0][1] == "on-pike"


def test_a_term_is_a_place_of_its_own_with_or_without_its_hyphen(index):
    assert places(index, "thrown") == {"two#term-warm-uptime"}
    for form in ("warm-up–time", "warm-up-time", "warm up time", "warmuptime"):
        ((number, anchor, is_main),) = index["indexentries"][form]
        assert index["titles"][number] == "warm-up–time"
        assert (anchor, is_main) == ("term-warm-uptime", True)


def test_an_entry_of_the_reference_is_a_place_of_its_own_without_its_example(index):
    assert places(index, "whitebait") == {"nets#lib.Drag_net"}
    assert not places(index, "plankton")
    named = {
        f"{prefix}.{entry[4]}" for prefix, found in index["objects"].items() for entry in found
    }
    assert "lib.Drag_net.mend" in named, "its methods are objects"
    assert "lib.Drag_net" not in named
    assert index["indexentries"]["drag net"][0][1] == "lib.Drag_net"


def test_what_is_unseen_or_left_out_is_not_found(index):
    assert set(index["docnames"]) == {"index", "one", "two", "nets"}
    assert not places(index, "hidden") and not places(index, "owl") and not places(index, "raw")


def test_folded_code_and_outputs_are_unseen():
    def cell(*classes):
        code = nodes.container("", nodes.literal_block("", "code"), classes=["cell_input"])
        shown = nodes.container("", nodes.paragraph("", "shown"), classes=["cell_output"])
        return nodes.container("", code, shown, classes=["cell", *classes])

    assert search.seen(nodes.section("", cell())).astext() == "code"
    assert search.seen(nodes.section("", cell("tag_hide-input"))).astext() == ""
