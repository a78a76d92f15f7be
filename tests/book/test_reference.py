"""How the reference marks up docstrings, and how it is joined to the pages."""

import inspect
import re
import shutil

import pytest
import reference
import yaml
from prose import CHAPTERS, ROOT

import bayeslib as bl

EXERCISES = ROOT / "needles" / "exercises"  # one file a chapter
ENTRIES = reference.find_entries(CHAPTERS)
KNOWN = {"nuts": "bayeslib.nuts", "Draws": "bayeslib.Draws"}


def test_names_become_links_and_the_rest_code():
    text = reference.mark_up("As `nuts`, `Draws.expect`, `x`, ``y``; |a|; f(*x, 2 * 3**2).", KNOWN)
    assert ":py:obj:`nuts <bayeslib.nuts>`" in text
    assert ":py:obj:`Draws.expect <bayeslib.Draws.expect>`" in text
    assert text.endswith("``x``, ``y``; \\|a\\|; f(\\*x, 2 * 3**2).")


def test_words_in_quotes_are_code():
    text = reference.mark_up('"stl", not family="full", but "Sticking the landing" and ``"x"``', {})
    assert text == '``"stl"``, not ``family="full"``, but "Sticking the landing" and ``"x"``'
    text = reference.mark_up('"theta[0]", "stats/energy", but "He said"', {})
    assert text == '``"theta[0]"``, ``"stats/energy"``, but "He said"'
    text = reference.mark_up("f(x (n, dim), *data) -> (n,), or g(theta) -> a number", {})
    assert text == "``f(x (n, dim), *data) -> (n,)``, or g(theta) -> a number"
    assert "``{" in reference.quote_types('kind : {"bulk", "tail"}', "Draws")


def test_notes_begin_with_a_bold_word_and_what_few_look_up_is_small():
    notes = "Starts: drawn.\n\nDraw order, for each step: one.\n\nStarts here.\n"
    text = f"It: draws.\n\nNotes\n-----\n{notes}\nReferences\n----------\nNeal (2003).\n"
    marked = reference.mark_up(text, {})
    assert "\n**Starts**: drawn." in marked and "\n\nStarts here." in marked
    assert "\n\n.. container:: fine-print\n\n   **Draw order**, for each step: one." in marked
    assert marked.endswith("\n----------\n.. container:: fine-print\n\n   Neal (2003).\n\n")
    assert marked.startswith("It: draws.")


def test_a_parameter_is_no_entry():
    assert reference.mark_up("`nuts` and `Draws`s", KNOWN, {"nuts"}).startswith("``nuts`` and :py")
    assert "`\\ s" in reference.mark_up("`Draws`s", KNOWN)


def test_types_become_links_in_their_sections_only():
    text = "Draws it.\n\nParameters\n----------\nx : Draws or None\n    Draws.\n"
    text += "\nReturns\n-------\nDraws\n"
    marked = reference.mark_up(text, KNOWN)
    assert marked.count(":py:obj:") == 2
    assert marked.startswith("Draws it.") and "    Draws.\n" in marked


def test_errors_and_warnings_become_links():
    known = {"StartError": "bayeslib.StartError", "BayeslibWarning": "bayeslib.BayeslibWarning"}
    text = "Says ``StartError``.\n\nRaises\n------\nStartError\n    Or MemoryError; StartError.\n"
    text += "\nWarns\n-----\nBayeslibWarning\n    When it is far.\n"
    marked = reference.mark_up(text, known)
    assert "\nStartError\n    Or MemoryError; :py:obj:`StartError <bayeslib.StartError>`." in marked
    assert "\n:py:obj:`BayeslibWarning <bayeslib.BayeslibWarning>`\n    When" in marked
    assert marked.startswith("Says ``StartError``.")


def test_everything_is_taught_where_it_is_defined_or_said_not_to_be():
    taught = reference.find_teaching(CHAPTERS)
    assert taught["bayeslib.sgld"]["sghmc"] == "sec-sghmc-sgld"  # shares helpers with others
    assert taught["bayeslib.bfmi"]["nuts"] == "sec-nuts-report"  # in a cell that ends another
    assert list(taught) == list(ENTRIES)
    assert list(taught["bayeslib.metropolis_hastings"]) == ["mcmc", "minds"]
    assert taught["bayeslib.exact.grid_posterior.Grid"] == taught["bayeslib.grid_posterior"]
    pages = {page for where in taught.values() for page in where}
    chapters = {path.stem for path in EXERCISES.glob("[a-z]*.py")}
    assert len(chapters) > 15 and chapters - pages == {"together"}  # where all meet again


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda table: table["teaches"]["advi"].append("no_such_name"), "no_such_name"),
        (lambda table: table["teaches"]["advi"].append("onsager_energy"), "onsager_energy"),
        (lambda table: table["nowhere"].remove("hdi"), "bayeslib.hdi"),
        (lambda table: table["nowhere"].append("nuts"), "bayeslib.nuts"),
    ],
)
def test_a_wrong_table_is_refused(tmp_path, change, complaint):
    copy = tmp_path / "chapters"
    shutil.copytree(CHAPTERS, copy)
    shutil.copy(CHAPTERS.parent / "_toc.yml", tmp_path)
    table = yaml.safe_load((copy / reference.TABLE).read_text("utf-8"))
    change(table)
    (copy / reference.TABLE).write_text(yaml.safe_dump(table), "utf-8")
    with pytest.raises(ValueError, match=complaint):
        reference.find_teaching(copy)


def test_no_property_begins_with_words_and_a_colon():
    """Sphinx would take what stands before the colon for the property's type."""
    public = [getattr(bl, name) for name in bl.__all__]
    first = {
        f"{kind.__name__}.{name}": (value.__doc__ or "").partition("\n")[0]
        for kind in filter(inspect.isclass, public)
        for name, value in inspect.getmembers_static(kind)
        if isinstance(value, property)
    }
    assert len(first) > 10 and not [name for name, line in first.items() if ":" in line]


def test_the_warnings_that_the_reference_explains_are_the_librarys():
    page = (CHAPTERS / "api_errors.md").read_text("utf-8").partition("(sec-api-refused)=")[0]
    terms = re.findall(r"^(`.+`)\n: ", page, re.MULTILINE)
    source = "".join(path.read_text("utf-8") for path in (ROOT / "bayeslib").rglob("*.py"))
    source = re.sub(r"\{kind\}", "bulk", re.sub(r'"\s+f?"', "", source))
    said = [words for term in terms for words in re.findall("`([^`]+)`", term)]
    assert len(said) > 10
    assert not [words for words in said if words.replace("tail ESS", "bulk ESS") not in source]


def test_the_tree_of_errors_is_that_of_the_classes():
    page = (CHAPTERS / "api_errors.md").read_text("utf-8")
    tree = re.findall(r"^( *)- \{py:obj\}`\w+ <(.+Error)>`", page, re.MULTILINE)
    above = [ValueError]
    for indent, name in tree:
        above[1 + len(indent) // 2 :] = [reference.resolve(name)]
        assert above[-1].__bases__[0] is above[-2]
    assert {name for _, name in tree} == set(re.findall(r"^\.\. auto.+:: (.+Error)$", page, re.M))


def test_what_nobody_makes_has_no_module_and_no_arguments():
    hidden = {name.rpartition(".")[2] for name in filter(reference.only_returned, ENTRIES)}
    assert {"Calibration", "Grid", "JointTest"} <= hidden
    assert not hidden & {"Draws", "NoisyOr", "Proposal", "TooLargeError", "as_proposal"}


def test_an_entry_stands_on_one_page(tmp_path):
    for page in ("api_a.md", "api_b.md"):
        (tmp_path / page).write_text(".. autofunction:: bayeslib.nuts\n", "utf-8")
    with pytest.raises(ValueError, match=r"two pages, api_a and api_b"):
        reference.find_entries(tmp_path)
