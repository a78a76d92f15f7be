"""The directive guess: suspects, their verdicts, and the fold of the specimen."""

import guess
import pytest
from bs4 import BeautifulSoup
from docutils import nodes
from docutils.utils import new_document
from small_book import build, sample


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    texts, warnings = build(tmp_path_factory.mktemp("zoo"), sample("guess"), "guess")
    assert not warnings
    return BeautifulSoup(texts["index"], "html.parser")


def test_each_suspect_is_a_fold_with_its_verdict(built):
    lion, bear = built.select(".guess")
    assert lion["data-guess"] == "index-lion" and bear["data-guess"] == "index-bear"
    assert lion.p.get_text() == "Who was it?" and bear.p.get_text() == guess.QUESTION
    first, second = lion.select("details")
    assert first.summary.get_text().startswith("The first, with ")
    assert first.summary.em and "[" not in lion.get_text()
    assert not first.has_attr("data-right") and second.has_attr("data-right")
    assert [d.select_one(".guess-verdict").get_text() for d in (first, second)] == ["No.", "Yes."]
    assert "It was not." in first.get_text()
    assert built.select_one(".guess-score").has_attr("hidden")


def test_what_follows_is_folded_in_its_section_only(built):
    (fold,) = built.select(".specimen")
    assert fold.select_one(".admonition-title").get_text() == guess.FOLD
    assert "Told." in fold.get_text() and "Seen" not in fold.get_text()
    assert fold.find_parent("section").h2.get_text().startswith("A symptom")


def test_the_specimens_cells_are_moved_into_the_fold():
    document = new_document("zoo")
    section = nodes.section("", nodes.title("", "A"))
    wrong = nodes.container("", nodes.Text("wrong"), classes=["cell", "tag_specimen-lion"])
    symptom = nodes.container("", nodes.Text("symptom"), classes=["cell", "tag_hide-input"])
    section += [wrong, symptom, guess.guess_node("", name="lion"), nodes.paragraph("", "told")]
    document += section
    guess.FoldSpecimens(document).apply()
    title, seen, asked, fold = section.children
    assert seen is symptom and isinstance(asked, guess.guess_node)
    assert fold.children[1] is wrong and fold.children[2].astext() == "told"
    assert fold["classes"] == ["dropdown", "specimen"]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ("- [ ] A.\n\n  No.\n- [ ] B.\n\n  No.", "exactly one suspect"),
        ("- [x] A.\n\n  Yes.\n- [x] B.\n\n  Yes.", "exactly one suspect"),
        ("- A.\n\n  No.\n- [x] B.\n\n  Yes.", "begins with"),
        ("- [ ] A.\n- [x] B.\n\n  Yes.", "what is said"),
        ("Only words.", "end with a list"),
        ("One.\n\nTwo.\n\n- [x] A.\n\n  Yes.", "one paragraph"),
    ],
)
def test_a_guess_that_cannot_be_answered_is_refused(tmp_path, wrong, words):
    page = f"# A\n\n````{{guess}} a\n{wrong}\n````\n"
    assert words in build(tmp_path, {"index.md": page}, "guess", kind="dummy")[1]


def test_in_print_the_right_suspect_is_ticked(tmp_path):
    text = build(tmp_path, sample("guess"), "guess", kind="latex")[0]["tex"]
    assert text.count(r"$(\checkmark)$") == 2 and text.count(r"$(\times)$") == 2
    assert "Who was it?" in text and guess.FOLD.split(":")[0] in text
