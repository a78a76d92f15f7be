"""The formula sheet: every statement of the chapters, once, with its number, without its proof."""

import re

import formula_sheet
import pytest
from prose import CHAPTERS, ROOT, notebooks, texts
from small_book import build, sample

STATEMENT = re.compile(rf"^\s*(?:`{{3,}}|:{{3,}}){{prf:({'|'.join(formula_sheet.KINDS)})}}", re.M)


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    """Return the pages of a small book with a sheet, and what was warned of."""
    folder = tmp_path_factory.mktemp("book")
    return build(folder, sample("formulas"), "sphinx_proof", "formula_sheet", numfig=True)


def test_a_sheet_has_the_statements_of_all_chapters(book):
    pages, heard = book
    html = pages["formulas"]
    assert heard == ""
    assert re.findall(r'<section id="(formulas-\w)">', html) == ["formulas-a", "formulas-b"]
    assert re.search(r"<h2>.*?<a[^>]*href=\"a.html\"[^>]*>.*?1\. First chapter", html)
    assert re.search(r'href="#formulas-b">(<[^>]+>)?2\. Second chapter<', html), (
        "in the list of sections"
    )
    assert html.count('class="formula ') == 2
    assert "A thing." in html and "x = 1" in html and "w = 3" in html  # this one has no label
    assert "Because" not in html and "Aside" not in html


def test_equations_have_their_numbers_and_follow_a_statement_that_cites_them(book):
    text = re.sub("<[^>]+>", "", book[0]["formulas"])
    first, second = text[text.index("Definition 1.1 (") :].split("2. Second chapter")[:2]
    assert first.count("x = 1") == 1  # its own
    assert "(1.1)" in first[first.index("x = 1") :]
    assert "(2.1)" in second[second.index("z = 2") :] and "x = 1" not in second
    assert "z = 2 \\end{aligned}" in second, "the comma of the sentence that it stood in is gone"


def test_a_statement_has_its_number_and_leads_to_its_place(book):
    html = book[0]["formulas"]
    assert re.search(r'href="a.html#def-x">Definition 1.1</a> \(Of', html)
    assert re.search(r'href="b.html#thm-t">Theorem 2.1</a> \(Truth\)', html)
    links = re.findall(r'href="([^"]*#[^"]*)"', html[html.index("(Truth)") :])
    assert links[3] == "b.html#thm-t"
    assert links[:3] == ["a.html#def-x", "a.html#equation-eq-x", "b.html#equation-eq-z"]


def test_no_address_stands_twice(book):
    pages, _ = book
    ids = re.findall(r'\bid="([^"]+)"', pages["formulas"])
    assert len(ids) == len(set(ids))
    assert not {"def-x", "thm-t", "equation-eq-x"} & set(ids)
    assert 'id="def-x"' in pages["a"], "where it was"


def test_each_numbered_page_is_a_chapter_of_the_sheet():
    found = formula_sheet.chapters(ROOT / "_toc.yml")
    assert len(found) > 15 and "chapters/rejection" in found
    stating = [f"chapters/{p.stem}" for p in notebooks() if STATEMENT.search("\n".join(texts(p)))]
    assert set(stating) == set(found), "every chapter states something, and no other page"


def test_the_sheet_has_no_text_of_its_own():
    assert len((CHAPTERS / "formulas.md").read_text("utf-8").split()) < 100
