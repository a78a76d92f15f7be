"""The bibliography: the form of references.bib, and how a build lists it."""

import re
from collections import Counter

import pytest
import references
import small_book
from prose import CHAPTERS
from pybtex.database import parse_file, parse_string

WORKS = parse_file(str(CHAPTERS.parent / "references.bib")).entries
CITED = re.compile(r"\{cite(?::\w+)?\}`([^`]+)`")
NEEDED = {
    "article": {"journal"},
    "book": {"publisher"},
    "incollection": {"booktitle", "publisher"},
    "inproceedings": {"booktitle"},
    "misc": set(),
}


def cited(folder):
    """Return the keys that the pages and ledgers of a folder cite."""
    pages = [p for p in folder.iterdir() if p.suffix in {".ipynb", ".md", ".yml"}]
    found = [keys for page in pages for keys in CITED.findall(page.read_text("utf-8"))]
    return {key.strip() for keys in found for key in keys.split(",")}


def checksum(isbn):
    """Return what is 0 for an ISBN of thirteen figures without a slip."""
    return sum(int(c) * (1, 3)[i % 2] for i, c in enumerate(isbn.replace("-", ""))) % 10


def faults(work):
    """Return what is wrong with a work."""
    fields, people = work.fields, [p for role in work.persons.values() for p in role]
    ranges = [fields.get("pages", ""), fields.get("number", "")]
    edition = fields.get("edition", "2nd")
    return [
        *(f"no {name}" for name in sorted(NEEDED[work.type] - fields.keys())),
        *(["no author"] if not people else []),
        *(f"name {person}" for person in people if person.lineage_names),
        *(["year"] if not re.fullmatch(r"\d{4}[a-z]?", fields["year"]) else []),
        *(["doi"] if not re.fullmatch(r"10\.\d{4,9}/\S+", fields.get("doi", "10.1000/a")) else []),
        *(["arXiv"] if "arxiv" in (fields.get("doi", "") + fields.get("note", "")).lower() else []),
        *(["eprint"] if ("eprint" in fields) != (fields.get("archiveprefix") == "arXiv") else []),
        *(["isbn"] if "isbn" in fields and checksum(fields["isbn"]) else []),
        *([] if re.fullmatch(r"\d+(st|nd|rd|th)", edition) else ["edition"]),
        *(["numeral"] if re.search(r"\{[IVX]+\}\. [A-Za-z]", fields["title"]) else []),
        *(["range"] if any(re.search(r"\d-\d", text) for text in ranges) else []),
    ]


@pytest.mark.parametrize("key", sorted(WORKS))
def test_a_work_is_in_form(key):
    assert faults(WORKS[key]) == []


GOOD = "author={One, Ann}, title={A {II}. {B}}, journal={J}, year={2000}, pages={1--2}"


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("One, Ann", "One, Jr, Ann", "name One, Jr, Ann"),
        ("journal={J},", "", "no journal"),
        ("author", "translator", None),
        ("2000", "in press", "year"),
        ("{B}", "B", "numeral"),
        ("1--2", "1-2", "range"),
        ("pages", "doi", "doi"),
        ("pages={1--2}", "doi={10.48550/arXiv.1}", "arXiv"),
        ("pages={1--2}", "note={arXiv:1}", "arXiv"),
        ("pages", "eprint", "eprint"),
        ("pages={1--2}", "isbn={978-0-521-64298-8}", "isbn"),
        ("pages={1--2}", "edition={5}", "edition"),
    ],
)
def test_a_work_with_a_fault_is_seen(old, new, fault):
    def work(text):
        return parse_string(f"@article{{Key, {text}}}", "bibtex").entries["Key"]

    assert faults(work(GOOD)) == []
    assert (fault or "no author") in faults(work(GOOD.replace(old, new)))


def test_every_work_is_cited_and_every_citation_has_its_work(tmp_path):
    assert cited(CHAPTERS) == set(WORKS)
    (tmp_path / "page.md").write_text("As {cite:t}`One2000` and {cite}`Two2001, Three2002`.")
    assert cited(tmp_path) == {"One2000", "Two2001", "Three2002"}


def as_cited(work):
    """Return a work as the text cites it: the first name, how many more, the year."""
    people = next(iter(work.persons.values()))
    names = [" ".join(person.last_names) for person in people]
    return names[0], "et al." if len(names) > 2 else "".join(names[1:]), work.fields["year"]


def test_no_two_works_are_cited_alike():
    assert [name for name, n in Counter(map(as_cited, WORKS.values())).items() if n > 1] == []


def test_a_journal_has_one_name():
    names = {work.fields["journal"] for work in WORKS.values() if "journal" in work.fields}
    short = Counter(re.sub(r"^The |\W", "", name).lower() for name in names)
    assert [name for name, n in short.items() if n > 1] == []


def build(folder, style, *extra):
    """Return a small book, built as HTML and LaTeX: {name: text}."""
    settings = {"bibtex_bibfiles": ["works.bib"], "bibtex_default_style": style}
    settings["bibtex_reference_style"] = "author_year"
    files, texts = small_book.sample("references"), {}
    for kind in ("html", "latex"):
        extensions = ("sphinxcontrib.bibtex", *extra)
        found, warnings = small_book.build(folder, files, *extensions, kind=kind, **settings)
        assert kind == "latex" or not warnings
        texts |= found
    return texts


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    return build(tmp_path_factory.mktemp("book"), references.STYLE, "references")


def listed(html):
    """Return the entries of a bibliography as text without tags."""
    parts = re.split(r'<div class="citation"[^>]*>', html)[1:]
    return [" ".join(re.sub(r"<[^>]+>", "", part.split("</div>")[0]).split()) for part in parts]


def test_works_stand_by_author_with_the_year_after_the_names(book):
    assert listed(book["works"]) == [
        "Adams, C., Ann Zed, and Bo Yew (1990). On A. J, 3(1).",
        "Černý, V. (1985). Salesmen. J, 45:41–51. Cited in Page one",
        "Cole, D. (1984). T. In Proceedings, volume 32(2) of S.",
        "Zed, Ann, and Bo Yew (editors) (2001). A Book. P. Cited in Page two, Page one",
    ]


def test_the_links_lead_to_the_citations_and_the_letters_to_the_works(book):
    links = re.findall(r'href="(\w+)\.html#(id\d+)">Page', book["works"])
    assert [page for page, _ in links] == ["one", "two", "one"]
    assert all(book[page].count(f'id="{anchor}"') == 1 for page, anchor in links)
    assert "Zed" in book["one"].split(f'id="{links[2][1]}"')[1][:20]
    letters = re.findall(r'href="#([\w-]+)">(\w)</a>', book["works"])
    assert "".join(letter for _, letter in letters) == "ACZ"
    assert all(f'<div class="citation" id="{name}"' in book["works"] for name, _ in letters)


def test_on_paper_the_list_is_the_same_and_leads_nowhere(book):
    text = re.sub(r"[\s~\xa0]+", " ", book["tex"])
    assert "Adams, C., Ann Zed, and Bo Yew (1990). On A." in text
    assert "Cited in" not in book["tex"]


def test_without_the_extension_the_list_has_numbers(tmp_path):
    html = build(tmp_path, "unsrt")["works"]
    assert 'class="label"' in html
    assert not listed(html) or "(1990)" not in "".join(listed(html))
