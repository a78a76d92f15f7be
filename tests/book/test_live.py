"""Pages as notebooks that read well in plain JupyterLab."""

import functools
from pathlib import Path

import nbformat
import pytest
from bookext import live
from bookext.mathematics import draw
from bs4 import BeautifulSoup

PAGE = Path(__file__).parents[1] / "data" / "live.html"


@functools.cache
def page():
    """Return a page with formulas as KaTeX draws them."""
    short, long = draw(r"\KL(q) < |x|", display=False), draw(r"\E x", display=True)
    formula = f'<span class="math">{short}</span>'
    display = f'<div class="math"><span class="eqno">(7)</span>{long}</div>'
    return PAGE.read_text("utf-8").format(formula=formula, display=display)


def code(source, *tags):
    return nbformat.v4.new_code_cell(source, metadata={"tags": list(tags)})


def made(**where):
    cells = [code("import os", "remove-cell"), code("draw()", "hide-input"), code("answer = ...")]
    cells += [code("answer = 42"), code("x = 1\nassert x == 2", "remove-cell")]
    source = nbformat.v4.new_notebook(cells=cells)
    found = live.notebook(page(), source, **where)
    nbformat.validate(found)
    return found


def said(notebook):
    return "\n\n".join(c.source for c in notebook.cells if c.cell_type == "markdown")


@pytest.mark.parametrize(
    "wanted",
    [
        "# A page\n\nSee Figure 3: $\\operatorname{KL}(q) < |x|$ is 2\\*3\\_4.",
        "$$\\operatorname{\\mathbb{E}} x \\tag{7}$$",
        "> **Theorem 1 (Truth)**\n>\n> It holds.",
        "*Figure 3.1 A dart.*\n\n*A hat.*",
        "More under “Exercises”.\n\n```sh\nls\n```",
        "## Exercises\n\nRun the above.",
        "### Exercise 1 (Try)\n\n> How many?",
        "### Solution to Exercise 1\n\nCount.",
        "<b>More <em>of</em> <code>x</code></b></summary>\n\n- one\n- two\n\n  three\n\n</details>",
        "| a |\n| --- |\n| $\\operatorname{KL}(q) < \\vert x\\vert $ &#124; b |",
    ],
)
def test_what_a_page_says_stands_in_plain_markdown(wanted):
    assert wanted in said(made())


def test_code_is_that_of_the_source_and_what_is_in_the_way_is_folded():
    first, *cells = [cell for cell in made().cells if cell.cell_type == "code"]
    assert "find_spec" in first.source and first.source.endswith("\nimport os")
    folds = {cell.source: "jupyter" in cell.metadata for cell in cells}
    checks = live.unasserted("x = 1\nassert x == 2")
    assert folds == {"draw()": True, "answer = ...": False, "answer = 42": False, checks: True}


def test_a_solution_is_closed_by_its_heading_up_to_the_next():
    cells = made().cells
    starts = [i for i, cell in enumerate(cells) if "jp-MarkdownHeadingCollapsed" in cell.metadata]
    assert [cells[i].source for i in starts] == ["### Solution to Exercise 1"]


def test_checks_of_the_books_numbers_let_a_reader_go_on(capsys):
    exec(live.unasserted("x = 1\nassert x == 2\nassert x == 3\ny = 2\nassert y == 2"), found := {})
    assert found["y"] == 2 and capsys.readouterr().out.count("does not hold for yours") == 1


def test_references_lead_to_the_book_where_it_has_an_address():
    address = "https://example.org/book/chapters/page.html"
    there = "[Figure 3](https://example.org/book/chapters/other.html#there)"
    text = said(made(address=address))
    assert there in text and f"[A page]({address})" in text
    assert "](" not in said(made()) and "“A page”" in said(made())


def test_the_first_cell_says_what_to_install_and_is_silent_where_it_is():
    found = made(repository="https://github.com/someone/needles")
    first = next(cell for cell in found.cells if cell.cell_type == "code").source
    exec(first, {})
    wanted = "-b main https://github.com/someone/needles live && pip install"
    with pytest.raises(ImportError, match=wanted):
        exec(first.replace('"bayeslib"', '"nowhere_else"'), {})
    with pytest.raises(ImportError, match="zip"):
        source = next(cell for cell in made().cells if cell.cell_type == "code").source
        exec(source.replace('"needles"', '"nowhere_else"'), {})


def test_the_first_cell_goes_where_the_data_are_and_says_where_there_are_none(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    cells = [code("Path('../tests/record.json')"), *(code(str(i)) for i in range(4))]
    found = live.notebook(page(), nbformat.v4.new_notebook(cells=cells))
    first = next(cell for cell in found.cells if cell.cell_type == "code").source
    with pytest.raises(ImportError, match="what this page reads"):
        exec(first, {})
    (tmp_path / "live" / "chapters").mkdir(parents=True)
    (tmp_path / "live" / "tests").mkdir()
    (tmp_path / "live" / "tests" / "record.json").touch()
    exec(first, {})
    exec(first, {})  # a cell may be run twice
    assert Path.cwd() == tmp_path / "live" / "chapters"


def test_a_role_that_stays_is_noticed():
    note = nbformat.v4.new_markdown_cell("a {prf:ref}`b`\n\n(there)=\n\n`{glue:text}` and {x}")
    shown = live.LITERAL.findall(live.prose(nbformat.v4.new_notebook(cells=[note])))
    assert shown == ["(there)="] or shown == ["{prf:ref}`", "(there)="]


def test_comments_and_scripts_are_not_read():
    paragraph = BeautifulSoup("<p>a<!-- b --><script>c</script> d</p>", "html.parser").p
    assert live.Reader().inline(paragraph) == "a d"
