"""The pages of errata and of coverage: names of cells, and the directives that draw them."""

from types import SimpleNamespace

import ledgers
import pytest
import small_book
from bookext import cells
from bs4 import BeautifulSoup
from docutils import nodes, utils
from nbformat import v4
from prose import CHAPTERS

ALONE = "---\norphan: true\n---\n"


def code(source, *tags, **metadata):
    return v4.new_code_cell(source, metadata={"tags": list(tags), **metadata})


@pytest.fixture
def folder(tmp_path):
    """Return a folder with two small pages and both ledgers."""
    chapters = tmp_path / "chapters"
    notebook = [
        v4.new_markdown_cell("# Page A\n\n(sec-a)=\n## A $y$\n"),
        code("def shown():\n    inner = 1\nother = [i for i in range(3)]", "plain-x"),
        code("%magic\nfor k in (1, 2):\n    record(a=1)", "hide-input", "plain-x"),
        code("fig, ax = figure()", mystnb={"figure": {"name": "fig-a"}}),
        code("secret = 2", "remove-cell"),
    ]
    files = small_book.sample("ledgers") | {"a.ipynb": {"cells": notebook}}
    small_book.write(chapters, files)
    return chapters


def test_a_cell_is_called_by_what_it_gives(folder):
    page = cells.read(folder / "a.ipynb")
    assert page.title == "Page A" and page.sections == {"sec-a": "A $y$"}
    assert [c.names for c in page.cells] == [
        ("plain-x", "shown", "other"),
        ("hide-input", "plain-x", "k", "a"),
        ("fig-a", "fig", "ax"),
        ("remove-cell", "secret"),
    ]
    assert [c.shown for c in page.cells] == [True, True, True, False]
    assert [c.index for c in cells.called(page, "plain-x")] == [1, 2]
    assert cells.called(page, "shown", "sec-b") == []
    assert cells.read(folder / "b.md").sections == {"sec-b": "Section B", "sec-c": "C"}


def test_a_name_that_two_cells_share_is_no_name(folder):
    entry = {"at": "a#sec-a", "cell": "shown"}
    assert ledgers.shown_by(folder, entry).index == 1
    with pytest.raises(ValueError, match="2 cells of a#sec-a are called plain-x"):
        ledgers.shown_by(folder, entry | {"cell": "plain-x"})
    with pytest.raises(ValueError, match="0 cells"):
        ledgers.shown_by(folder, entry | {"cell": "inner"})


def test_cells_that_are_pointed_at_get_an_id(folder):
    assert ledgers.anchors(folder, "a") == {1: ["cell-plain-x", "cell-shown"]}
    document = utils.new_document("a")
    document += [nodes.container(nb_element="cell_code", cell_index=i) for i in (1, 2, 3)]
    env = SimpleNamespace(docname="chapters/a", doc2path=lambda name: folder / "a.ipynb")
    ledgers.give_anchors(SimpleNamespace(env=env), document)
    assert [node["ids"] for node in document] == [["cell-plain-x", "cell-shown"], [], []]


@pytest.fixture
def build(folder):
    """Build a page with directives; returns (html, warnings)."""

    def run(text):
        files = {"chapters/a.md": f"{ALONE}# Page A\n\n(sec-a)=\n## A\n", "index.md": text}
        texts, warnings = small_book.build(folder.parent, files, "ledgers")
        return texts["index"], warnings

    return run


def counted(html):
    """Return the numbers of the page's table, row by row."""
    rows = BeautifulSoup(html, "html.parser").select("tbody tr")
    return [[int(cell.get_text()) for cell in row.find_all("td")[1:]] for row in rows]


def test_an_erratum_links_to_its_section_and_its_cell(build):
    html, warnings = build("# X\n\n```{errata} D0\n```\n\n```{errata} D1\n```\n")
    assert warnings == ""
    assert 'href="chapters/a.html#sec-a">A <span class="math' in html
    assert 'href="chapters/a.html#cell-shown"' in html
    assert 'href="chapters/a.html#fig-a">the figure</a>; also Page B › <a' in html
    assert (
        'Section B</a> · <a class="reference internal" href="chapters/b.html#sec-c">C</a>' in html
    )
    assert '; in the zoo: <a class="reference internal" href="chapters/b.html#sec-c">C</a>' in html
    assert "<strong>Was</strong> x" in html and "<strong>Read</strong> the" in html
    assert "secret</span></code>, hidden on the page" in html
    assert "Section B</a>: an argument, nothing to run" in html
    assert html.count("<em>three</em>") == 1 and "$" not in html.split("<body")[1]
    for id_ in ("erratum-d0-l1", "erratum-d0-l1-2", "erratum-d1-throughout"):
        assert html.count(f'id="{id_}"') == 1


def test_only_what_is_false_stands_open(build):
    html, _ = build("# X\n\n```{errata} D0\n```\n\n```{errata} D1\n```\n")
    body = BeautifulSoup(html, "html.parser")
    boxes = body.select("div.admonition.dropdown")
    titles = [box.select_one("p.admonition-title").get_text() for box in boxes]
    assert titles == ["Misleading: 2", "Missing: 1", "Slips of the pen"]
    heads = [[head.get_text() for head in box.select("dt")] for box in boxes]
    assert heads == [["Much · line 2", "More · line 3"], ["Lost · line 1"], ["throughout"]]
    for box in boxes:
        box.decompose()
    assert [line.get_text() for line in body.select("p.false")] == ["False: 1"]
    (head,) = body.select("dt")
    assert head.get_text().startswith("Of ") and head.select_one(".math")


def test_items_are_listed_page_by_page_and_counted(build):
    html, warnings = build("# X\n\n```{coverage} D0\n```\n\n```{coverage}\n```\n")
    assert warnings == ""
    assert html.index('href="chapters/b.html">Page B</a>') < html.index("Half, ")
    assert 'href="chapters/b.html#sec-b">Section B</a> · Page A › <a' in html
    assert counted(html) == [[2, 2, 2], [1, 1, 1], [3, 2, 2]]


def test_errata_are_counted_by_kind(build):
    html, _ = build("# X\n\n```{errata}\n```\n")
    assert 'href="#sec-errata-thesis">thesis chapter</a>' in html
    assert counted(html) == [[1, 2, 1], [0, 0, 0], [1, 2, 1]]


def change(path, old, new):
    path.write_text(path.read_text("utf-8").replace(old, new), "utf-8")


def test_what_cannot_be_found_is_said(build, folder):
    assert "no source 'D7'" in build("# X\n\n```{errata} D7\n```\n")[1]
    change(folder / "errata.yml", "cell: shown", "cell: lost")
    assert "0 cells of a#sec-a are called lost" in build("# X\n\n```{errata} D0\n```\n")[1]
    change(folder / "coverage.yml", "a#sec-a: x}}", "a#sec-z: x}}")
    assert "a has no section sec-z" in build("# X\n\n```{coverage} D0\n```\n")[1]


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("L9", "line 9"),
        ("L24-26", "lines 24–26"),
        ("L24, L84", "lines 24, 84"),
        ("L28, footnote", "line 28, footnote"),
        ("throughout", "throughout"),
    ],
)
def test_a_place_is_said_in_words(place, words):
    assert ledgers.lines_of(place) == words


@pytest.mark.parametrize("name", ["errata", "coverage"])
def test_the_counts_link_to_sections_that_are_there(name):
    text = (CHAPTERS / f"{name}.md").read_text("utf-8")
    sources = {entry["source"] for entry in ledgers.entries(CHAPTERS, name)}
    assert all(f"(sec-{name}-{ledgers.SECTIONS[source]})=" in text for source in sources)
