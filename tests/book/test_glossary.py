"""The glossary: its terms, where they are found in the text, and the links of a built page."""

import re

import glossary
import pytest
from bookext import mathematics
from docutils import nodes
from prose import CHAPTERS, MATHS, markdown, pages
from small_book import build, sample

ENTRIES = glossary.read_glossary(CHAPTERS / "glossary.yml")
FINDER = glossary.Finder(ENTRIES)
LABEL = re.compile(r"^\((sec-[a-z0-9-]+)\)=\n+#", re.MULTILINE)
DEFINITION = re.compile(r"^`{3,}\{prf:definition\}(.*?)^`{3,}$", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def labels():
    return {label for path in pages() for label in LABEL.findall(markdown(path))}


def faults(entry, labels):
    """Return what is wrong with a term."""
    sentences = re.findall(r"[.?](?=\s|$)", entry.text)
    return [
        *(f"no section {label}" for label in entry.at if label not in labels),
        *(["more than two sentences"] if len(sentences) > 2 else []),
        *(["no end"] if not entry.text.endswith(".") else []),
        *(["too long"] if len(entry.text.split()) > 45 else []),
        *(["no place"] if not entry.at else []),
    ]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.id)
def test_a_term_is_defined_and_has_a_place(entry, labels):
    assert faults(entry, labels) == []
    for formula in MATHS.findall(f"{entry.symbol} {entry.text}"):
        mathematics.draw(formula.strip("$"), display=False)


def test_a_faulty_term_is_seen(labels):
    good = ENTRIES[0]
    assert faults(good._replace(at=["sec-nowhere"]), labels) == ["no section sec-nowhere"]
    assert faults(good._replace(text="One. Two. Three."), labels)
    assert faults(good._replace(text="No end"), labels)
    assert faults(good._replace(text="word " * 46 + "."), labels)
    assert faults(good._replace(at=[]), labels) == ["no place"]


def test_terms_stand_in_order_and_once():
    text = (CHAPTERS / "glossary.yml").read_text("utf-8")
    names = re.findall(r"^- term: (.+)$", text, re.MULTILINE)
    assert names == sorted(names, key=glossary.order)
    assert len(names) > 150
    assert len({entry.id for entry in ENTRIES}) == len(names)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("- {term: a, text: b}", "a lacks at"),
        ("- {text: b, at: [c]}", "number 1 lacks term"),
        ("- {term: a, text: b, at: [c], sign: d}", "unknown field sign"),
        ("- {term: a, text: b, at: [c]}\n- {term: d, text: b, at: [c], forms: [a]}", "a is there"),
    ],
)
def test_a_glossary_with_a_fault_names_the_term(tmp_path, text, words):
    path = tmp_path / "glossary.yml"
    path.write_text(text, "utf-8")
    with pytest.raises(ValueError, match=words):
        glossary.read_glossary(path)


def defined(text):
    """Return the words in bold in the definitions of a page, without mathematics."""
    words = [w for box in DEFINITION.findall(text) for w in re.findall(r"\*\*([^*$]+)\*\*", box)]
    return {" ".join(word.split()).lower() for word in words}


def test_what_a_definition_defines_is_in_the_glossary():
    words = set().union(*(defined(markdown(path)) for path in pages()))
    assert len(words) > 20
    forms = [form for entry in ENTRIES for form in (entry.term, *entry.forms)]
    whole = {w.lower() for form in forms for w in (form, glossary.plural(form))}
    starts = {form.split(" ")[0] for form in whole}
    assert {word for word in words if word not in whole and word not in starts} == {"turns"}
    box = "```{prf:definition} A thing\nA **zorblax** is a **prior**.\n```"
    assert defined(box) == {"zorblax", "prior"}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Gibbs samplers and a Markov blanket", ["term-gibbs-sampling", "term-markov-blanket"]),
        ("annealed importance\nsampling", ["term-annealed-importance-sampling"]),
        ("importance-sampling, unimportance sampling, importance samplings-like", []),
        ("Entropy, entropies, ENTROPY", ["term-entropy", "term-entropy"]),
        ("MAP and map, nuts and NUTS", ["term-map", "term-nuts"]),
        ("the Rao–Blackwellised mean", ["term-raoblackwellisation"]),
        ("Metropolis–Hastings and Metropolis", ["term-metropolishastings"]),
        ("the prior, the posterior", []),
    ],
)
def test_terms_are_found_in_text(text, found):
    assert [key for _, _, key in FINDER(text)] == found


def paragraph(text):
    holder = nodes.paragraph("", text)
    nodes.section("", holder)
    return holder


def test_marks_stop_at_the_limit_and_at_what_is_known():
    text = "Entropy, quadrature and entropy again; detailed balance; a funnel."
    line = paragraph(text)
    assert glossary.mark(line, FINDER, {"term-quadrature"}) == [
        "term-entropy",
        "term-detailed-balance",
    ]
    assert line.astext() == text
    assert [node.astext() for node in line.findall(nodes.inline)] == ["Entropy", "detailed balance"]
    assert glossary.mark(paragraph("Nothing here."), FINDER, set()) == []


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    """A small book, built as HTML and LaTeX: {name: text}."""
    folder, texts = tmp_path_factory.mktemp("book"), {}
    for kind in ("html", "latex"):
        found, warnings = build(folder, sample("glossary"), "glossary", kind=kind)
        assert not warnings
        texts |= found
    return texts


def linked(html):
    """Return [(words, id of the term)] of the links to the glossary in a page."""
    link = r'<a class="[^"]*\bgloss\b[^"]*" href="(?:glossary\.html)?#([\w-]+)">([^<]*)</a>'
    return [(words, key) for key, words in re.findall(link, html)]


def test_first_uses_in_prose_are_links(book):
    assert linked(book["one"]) == [
        ("Entropy", "term-entropy"),
        ("quadrature", "term-quadrature"),
        ("Kalman filter", "term-kalman-filter"),
        ("funnel", "term-funnel"),
    ]


def test_a_page_does_not_link_what_it_defines(book):
    assert linked(book["two_words"]) == [("quadratures", "term-quadrature")]


def test_a_page_of_lists_is_left_alone(book):
    assert linked(book["exercises"]) == []


def terms(html):
    """Return {id of a term: the HTML of its entry}."""
    parts = re.split(r'<dt id="(term-[\w-]+)"', html)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_the_glossary_links_its_own_terms_and_lists_pages(book):
    entries = terms(book["glossary"])
    words = "detailed-balance entropy funnel kalman-filter leapfrog markov-blanket quadrature"
    assert list(entries) == [f"term-{word}" for word in words.split()]
    assert linked(entries["term-entropy"]) == [("quadrature", "term-quadrature")]
    assert linked(entries["term-quadrature"]) == []
    assert re.search(r"Used in.*one\.html.*two_words\.html", entries["term-quadrature"])
    assert "two_words.html" in entries["term-funnel"]
    assert re.search(r"Used in.*one\.html", entries["term-detailed-balance"])
    assert "Used in" not in entries["term-markov-blanket"]
    assert "exercises.html" not in entries["term-leapfrog"] + entries["term-funnel"]
    letters = re.findall(r'href="#term-[\w-]+">(\w)</a>', book["glossary"])
    assert "".join(letters) == "DEFKLMQ"


def test_links_survive_in_latex(book):
    assert r"{chapters/glossary:term-entropy}]{\sphinxcrossref{Entropy}}" in book["tex"]
    assert r"\label{\detokenize{chapters/glossary:term-entropy}}" in book["tex"]
