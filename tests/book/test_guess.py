"""The directive guess: suspects, their verdicts, and the fold of the specimen."""

import sys

import pytest
from bs4 import BeautifulSoup
from prose import ROOT

pytest.importorskip("sphinx.application")
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace

sys.path.insert(0, str(ROOT / "_ext"))
import guess

PAGE = """# Zoo

```{guess-score}
```

## A symptom

Seen.

````{guess} lion
Who was it?

- [ ] The *first*, with $p$.

  It was not.
- [x] The second.

  It was.
````

Told.

## Another

Seen too.

```{guess} bear
- [x] A.

  Yes, A.
- [ ] B.

  Not B.
```
"""


# Sphinx keeps the suffixes of one application for the next of the same process, unless told.
CONF = "source_suffix = {'.md': 'markdown'}\nextensions = ['myst_parser', 'guess']\n"


def make(folder, kind, out, warning=None):
    """Build what lies in `folder`; what its extensions register is forgotten afterwards."""
    with docutils_namespace():
        trees = folder / f"trees-{kind}"
        Sphinx(folder, folder, out, trees, kind, status=None, warning=warning).build()


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("zoo")
    (folder / "index.md").write_text(PAGE, "utf-8")
    (folder / "conf.py").write_text(CONF + "myst_enable_extensions = ['dollarmath']\n", "utf-8")
    make(folder, "html", folder / "out")
    return folder, BeautifulSoup((folder / "out" / "index.html").read_text("utf-8"), "html.parser")


def test_each_suspect_is_a_fold_with_its_verdict(built):
    lion, bear = built[1].select(".guess")
    assert lion["data-guess"] == "index-lion" and bear["data-guess"] == "index-bear"
    assert lion.p.get_text() == "Who was it?" and bear.p.get_text() == guess.QUESTION
    first, second = lion.select("details")
    assert first.summary.get_text().startswith("The first, with ")
    assert first.summary.em and "[" not in lion.get_text()
    assert not first.has_attr("data-right") and second.has_attr("data-right")
    assert [d.select_one(".guess-verdict").get_text() for d in (first, second)] == ["No.", "Yes."]
    assert "It was not." in first.get_text()
    assert built[1].select_one(".guess-score").has_attr("hidden")


def test_what_follows_is_folded_in_its_section_only(built):
    (fold,) = built[1].select(".specimen")
    assert fold.select_one(".admonition-title").get_text() == guess.FOLD
    assert "Told." in fold.get_text() and "Seen" not in fold.get_text()
    assert fold.find_parent("section").h2.get_text().startswith("A symptom")


def test_the_specimens_cells_are_moved_into_the_fold():
    from docutils import nodes
    from docutils.utils import new_document

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
    (tmp_path / "index.md").write_text(f"# A\n\n````{{guess}} a\n{wrong}\n````\n", "utf-8")
    (tmp_path / "conf.py").write_text(CONF, "utf-8")
    warnings = tmp_path / "warnings"
    with warnings.open("w") as log:
        make(tmp_path, "dummy", tmp_path / "o", warning=log)
    assert words in warnings.read_text()


def test_in_print_the_right_suspect_is_ticked(built):
    folder = built[0]
    make(folder, "latex", folder / "tex")
    (path,) = (folder / "tex").glob("*.tex")
    text = path.read_text("utf-8")
    assert text.count(r"$(\checkmark)$") == 2 and text.count(r"$(\times)$") == 2
    assert "Who was it?" in text and guess.FOLD.split(":")[0] in text
