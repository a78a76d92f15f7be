"""The formula sheet of the built book: whole, leading to its places, and short on paper."""

import re

import pytest
from browsing import soup
from formula_sheet import KINDS

PAGES_A_CHAPTER = 2
NAME = re.compile(rf"(?:{'|'.join(kind.title() for kind in KINDS)}) \d+\.\d+")
MARGIN = dict.fromkeys(("top", "bottom", "left", "right"), "1.5cm")

pytestmark = pytest.mark.usefixtures("book")


@pytest.fixture(scope="module")
def sheet():
    return soup("chapters/formulas")


def links(sheet):
    return sheet.select(".formula-name > a:first-child")


@pytest.fixture(scope="module")
def statements(sheet):
    """Return {address: what stands first in it} of the statements of all chapters, in order."""
    found = {}
    for section in sheet.select('section[id^="formulas-"]'):
        page = section.h2.a["href"]
        for box in soup(f"chapters/{page.removesuffix('.html')}").select(".proof[id]"):
            if set(box["class"]) & set(KINDS):
                found[f"{page}#{box['id']}"] = " ".join(box.get_text().split())
    return found


def test_every_statement_of_the_book_is_on_the_sheet_once(sheet, statements):
    assert [link["href"] for link in links(sheet)] == list(statements)
    assert len(statements) > 100


def test_a_statement_has_the_name_that_its_chapter_gives_it(sheet, statements):
    for link in links(sheet):
        name = " ".join(link.get_text().split())
        assert NAME.fullmatch(name) and statements[link["href"]].startswith(name)


def test_no_proof_is_on_the_sheet(sheet):
    assert not sheet.select("article :is(.proof, details, .cell)")
    assert "∎" not in sheet.select_one("article").get_text()


def test_the_sheet_is_short_on_paper(visit, sheet):
    page = visit().open("chapters/formulas.html")
    printed = page.pdf(format="A4", margin=MARGIN)
    pages = len(re.findall(rb"/Type\s*/Page\b", printed))
    assert 5 < pages <= PAGES_A_CHAPTER * len(sheet.select('section[id^="formulas-"]'))


@pytest.mark.parametrize("name", ["formulas", "sources", "errata", "coverage"])
def test_what_is_outside_the_search_is_not_found(visit, name):
    page = visit().open("search.html?q=theorem")
    page.locator("#search-results li a").first.wait_for()
    assert page.locator(f"#search-results li a[href*='/{name}.html']").count() == 0
