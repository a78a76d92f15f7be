"""What the files of the built book say: complete, numbered, and linked to what is there."""

import posixpath
import re
from collections import Counter
from functools import cache
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

import nbformat
import notebooks
import pytest
import reference
from bookext.answers import form
from browsing import HTML, built, markup, soup
from exercise_form import read_book
from formula_sheet import KINDS, chapters
from prose import CHAPTERS, ROOT

from needles.study import find

EXTRA = ["search", "genindex"]
EXERCISES = {name: exercises for name, _, exercises in read_book(ROOT)}
TAUGHT = reference.find_teaching(CHAPTERS)
ENTRIES = reference.find_entries(CHAPTERS)
NUMBERED = re.compile(
    r"(Figure|Table|Theorem|Definition|Proposition|Lemma|Corollary|Algorithm|Exercise) ([\d.]+)"
)
COUNTED = re.compile(
    rf'class="[^"]*\b(?:caption-number|admonition-title)\b[^>]*>(?:\s|<[^>]*>)*{NUMBERED.pattern}'
)
pytestmark = pytest.mark.usefixtures("book")


@pytest.fixture(scope="module", params=[*built(), *EXTRA])
def name(request):
    return request.param


@pytest.fixture(scope="module")
def page(name):
    """A page, read once for all its tests, none of which changes it."""
    return soup(name)


@cache
def read(name):
    return soup(f"chapters/{name}")


def text_of(element):
    return " ".join(element.get_text().split())


def links(tree):
    return {link["href"] for link in tree.select("a[href]")}


def file_of(name):
    """Return the address of a page as other pages have it."""
    return f"{name.removeprefix('chapters/')}.html"


def test_every_picture_has_a_text_alternative(page):
    for image in page.find_all("img"):
        assert image.has_attr("alt"), image
        assert image["alt"].strip() or not image.find_parent("article"), image
    for drawing in page.select("article svg"):
        if not drawing.find_parent(["svg", "math"]) and "katex" not in str(drawing.parent.attrs):
            hidden = drawing.find_parent(attrs={"aria-hidden": "true"})
            assert hidden or (drawing.get("role") == "img" and drawing.get("aria-label")), drawing


@cache
def ids(name):
    return set(re.findall(r'\sid="([^"]*)"', markup(name)))


def test_every_link_within_the_book_leads_somewhere(name, page):
    for element in page.find_all(href=True) + page.find_all(src=True):
        link = element.get("href") or element.get("src")
        if not link or urlsplit(link).scheme or link.startswith("//"):
            continue
        target, anchor = urldefrag(urljoin(f"{name}.html", link.split("?")[0]))
        target = unquote(target) or f"{name}.html"
        assert (HTML / target).is_file(), link
        if anchor and target.endswith(".html"):
            assert unquote(anchor) in ids(target[:-5]), link


def number_at(name, anchor):
    """Return "Figure 3.2", where that is the number of what has this address."""
    text = markup(name)
    kind, number = COUNTED.search(text, text.index(f' id="{anchor}"')).groups()
    return f"{kind} {number.rstrip('.')}"


def test_what_is_counted_has_the_number_of_its_chapter_and_is_referred_to_by_it(name, page):
    chapter = page.select_one("article h1 > .section-number")
    first = chapter.get_text().strip() if chapter else ""
    for mark in page.select("article :is(.caption-number, .admonition > .admonition-title)"):
        if match := NUMBERED.match(text_of(mark)):
            count = match[2].rstrip(".")
            assert count.startswith(first) and count.count(".") == len(first[:1]), match[0]
    for link in page.select("article a.reference.internal[href]"):
        if NUMBERED.fullmatch(text_of(link)):
            there, _, anchor = link["href"].partition("#")
            there = posixpath.join("chapters", there[:-5]) if there else name
            assert number_at(there, anchor) == text_of(link), link["href"]


@pytest.mark.parametrize("sheet", sorted((ROOT / "_static").glob("*.css")), ids=str)
def test_an_id_that_a_sheet_styles_is_of_one_page(sheet):
    for styled in re.findall(r"#([a-z][\w-]*)(?=[^{};]*\{)", sheet.read_text("utf-8")):
        assert sum(styled in ids(name) for name in built()) in (1, len(built())), styled


def test_no_id_is_given_twice(page):
    twice = [i for i, n in Counter(e["id"] for e in page.find_all(id=True)).items() if n > 1]
    assert not twice


def test_the_notebook_can_be_downloaded(name, page):
    assert name in EXTRA or all(w in str(links(page)) for w in ("_sources/", notebooks.NAME))


def test_an_exercise_is_listed_blank_and_solved(name, page):
    exercises = EXERCISES.get(name, ())
    boxes = {box["id"]: box for box in page.select("div.exercise")}
    assert list(boxes) == [exercise.label for exercise in exercises]
    after = [box.find_next(class_=["answer", "answer-code", "verdict"]) for box in boxes.values()]
    fields = [form(find(exercise.name)) is not None for exercise in exercises]
    assert [found["class"] for found in after] == [
        ["answer"] if field else ["answer-code"] for field in fields
    ]
    assert all(page.select_one(found.a["href"]) for found in after if found.a)
    solved = [box.select(".verdict")[-1]["class"] for box in page.select(".solution")]
    assert solved == [["verdict", "right"]] * len(boxes)
    listed = [link["href"].split("#") for link in read("exercises").select(".exercise-list a")]
    assert [anchor for target, anchor in listed if target == file_of(name)] == list(boxes)


def test_its_live_notebook_states_every_exercise_and_closes_its_solution(name, page):
    path = HTML / "_sources" / f"{name}.ipynb"
    if path.is_file():
        made = nbformat.read(path, 4)
        text = "\n".join(c.source for c in made.cells if c.cell_type == "markdown")
        for title in page.select("div.exercise > .admonition-title"):
            number = " ".join(text_of(title).split()[:2])  # Exercise 13
            assert f"### {number}" in text and f"Solution to {number}" in text
        closed, is_closed = [], False
        for cell in made.cells:
            if cell.cell_type == "markdown" and re.match("#{1,3} ", cell.source):
                is_closed = "jp-MarkdownHeadingCollapsed" in cell.metadata
            elif is_closed and cell.cell_type == "code" and "remove-cell" not in cell.metadata.tags:
                closed.append(cell)
        assert len(closed) == len(page.select("details.solution div.cell"))


def test_every_statement_is_on_the_formula_sheet_once_and_by_its_name(name, page):
    sheet = [
        (link["href"], text_of(link))
        for link in read("formulas").select(".formula-name > a:first-child")
        if link["href"].startswith(f"{file_of(name)}#")
    ]
    boxes = page.select(", ".join(f".proof.{kind}[id]" for kind in KINDS))
    boxes = boxes if name in chapters(ROOT / "_toc.yml") else []
    assert [link for link, _ in sheet] == [f"{file_of(name)}#{box['id']}" for box in boxes]
    for (_, number), box in zip(sheet, boxes, strict=True):
        assert NUMBERED.fullmatch(number) and text_of(box).startswith(number)


def test_a_chapter_ends_with_what_it_has_taught(name, page):
    stem = name.removeprefix("chapters/")
    taught = {f"{ENTRIES[entry]}.html#{entry}" for entry in TAUGHT if stem in TAUGHT[entry]}
    lines = page.select("p.library")
    assert len(lines) == bool(taught)
    for line in lines:
        assert links(line) == taught
        section = text_of(line.find_parent("section").find("h2"))
        headings = [text_of(heading) for heading in page.select("article h2")]
        assert section.startswith("Summary") or not any(h.startswith("Summary") for h in headings)


@pytest.mark.parametrize("entry", ENTRIES)
def test_an_entry_is_found_by_name_and_says_where_it_is_taught(entry):
    described = read(ENTRIES[entry]).find(id=entry).parent
    assert described.select("dd .rubric"), "no example"
    said = described.select_one(".taught")
    expected = {f"{page}.html" for page in TAUGHT[entry]}
    expected |= {f"{page}.html#{label}" for page, label in TAUGHT[entry].items()}
    assert (links(said) if said else set()) == expected
    assert f"chapters/{ENTRIES[entry]}.html#{entry}" in indexed()
    assert f"{ENTRIES[entry]}.html#{entry}" in links(read("api"))


@cache
def indexed():
    return links(soup("genindex"))


def test_no_docstring_is_printed_raw():
    for name in set(ENTRIES.values()):
        text = read(name).find("article").get_text()
        assert not [mark for mark in (":py:", "``", "\\|", "-----") if mark in text]
