"""The reference in the built book: every entry found by name, and joined to its chapters."""

from functools import cache

import browsing
import pytest
import reference
from prose import CHAPTERS

TAUGHT = reference.find_teaching(CHAPTERS)
ENTRIES = reference.find_entries(CHAPTERS)


pytestmark = pytest.mark.usefixtures("book")
soup = cache(browsing.soup)


def links(tree):
    return {link["href"] for link in tree.select("a[href]")}


def described(name):
    """Return the description of an entry on its page."""
    return soup(f"chapters/{ENTRIES[name]}").find(id=name).parent


@pytest.mark.parametrize("name", ENTRIES)
def test_an_entry_is_found_by_name_and_says_where_it_is_taught(name):
    entry = described(name)
    assert entry.select("dd .rubric"), "no example"
    said = entry.select_one(".taught")
    expected = {f"{page}.html" for page in TAUGHT[name]}
    expected |= {f"{page}.html#{label}" for page, label in TAUGHT[name].items()}
    assert (links(said) if said else set()) == expected
    assert f"chapters/{ENTRIES[name]}.html#{name}" in links(soup("genindex"))
    assert f"{ENTRIES[name]}.html#{name}" in links(soup("chapters/api"))


@pytest.mark.parametrize("page", sorted({page for where in TAUGHT.values() for page in where}))
def test_a_chapter_ends_with_what_it_has_taught(page):
    tree = soup(f"chapters/{page}")
    (line,) = tree.select("p.library")
    expected = {f"{ENTRIES[name]}.html#{name}" for name, where in TAUGHT.items() if page in where}
    assert links(line) == expected
    section = line.find_parent("section").find("h2").get_text()
    headings = [heading.get_text() for heading in tree.select("article h2")]
    assert section.startswith("Summary") or not any(h.startswith("Summary") for h in headings)


def test_no_docstring_is_printed_raw():
    for page in set(ENTRIES.values()):
        text = soup(f"chapters/{page}").find("article").get_text()
        assert not [mark for mark in (":py:", "``", "\\|", "-----") if mark in text]
