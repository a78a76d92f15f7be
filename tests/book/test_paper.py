"""The book on paper: what is set in place of HTML, what is left out, when nothing is printed."""

import re
import shutil
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest
from bookext import mathematics, outputs, paper, press, typesetting
from docutils import nodes
from nbformat import v4
from prose import ROOT
from small_book import build, sample, write

from needles import plots
from needles.arena import arena
from needles.figures.interactive import explore
from needles.figures.toggles import toggles
from needles.plots import show
from needles.prose import table
from needles.study import Verdict

FRAME = re.compile(r"currentColor|color-mix|var\(")


def bars(height=1.0):
    fig, ax = plots.figure(5.4, 2.0)
    ax.plot([0, 1], [0, height], color=plots.DRAWS)
    plots.label(ax, 0.5, 0.5, "θ % of it", color=plots.DRAWS)
    return fig


def source(found):
    return "".join(node.astext() for node in found)


def svg_of(folder):
    (path,) = (folder / outputs.FIGURES).glob("*.svg")
    return path.read_text("utf-8")


def alt_of(tex):
    return bytes.fromhex(re.search(r"\{FEFF([0-9A-F]*)\}", tex)[1]).decode("utf-16-be")


def test_picture_becomes_a_file_with_the_ink_of_paper_and_its_words(tmp_path):
    html = show(bars(), alt="A line rises, θ > 0 & so on").html
    assert FRAME.search(html)  # the twin: what the page holds is no file of its own
    tex = source(outputs.on_paper(html, tmp_path))
    drawn = svg_of(tmp_path)
    assert not FRAME.search(drawn)
    root = ElementTree.fromstring(drawn)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert alt_of(tex) == "A line rises, θ > 0 & so on"
    assert "{388.8bp}" in tex  # 5.4 inches
    assert outputs.MOVES not in tex


def test_coloured_text_is_mixed_as_the_browser_would():
    assert outputs.ink("fill:color-mix(in srgb, #64c832 60%, currentColor)") == "fill:#3c781e"
    assert outputs.ink("stroke:var(--a, var(--b, #fff))") == "stroke:#ffffff"


def test_explorer_stands_still_at_its_start_and_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv("BAYESLIB_PRERENDER", "1")
    html = explore(
        bars, alt="A line", caption=lambda height: f"It ends at {height}", height=[1.0, 2.0, 3.0],
        start={"height": 2.0}, labels={"height": "height h"},
    ).html  # fmt: skip
    tex = source(outputs.on_paper(html, tmp_path))
    remark = re.search(r"\\figureremark\{(.*)\}", tex)[1]
    assert remark == f"It ends at 2.0. Shown: height h = 2. {outputs.MOVES}"
    assert "height h = 2" in alt_of(tex)
    assert len(list((tmp_path / outputs.FIGURES).iterdir())) == 1


@pytest.mark.parametrize(
    "shown, colours", [(["blue"], {plots.DRAWS}), (None, {plots.DRAWS, plots.TRUTH})]
)
def test_toggles_show_the_ticked_series_alone(tmp_path, shown, colours):
    def draw(cost):
        fig, ax = plots.figure()
        first = ax.plot([0, 1], [0, 1], color=plots.DRAWS)
        second = ax.plot([0, 1], [1, 0], color=plots.TRUTH)
        return fig, {"blue": first, "green": second}

    html = toggles(
        draw, {"all": ["blue", "green"]}, alt="Two lines", shown=shown, cost=["a", "b"]
    ).html
    tex = source(outputs.on_paper(html, tmp_path))
    assert {c for c in (plots.DRAWS, plots.TRUTH) if c in svg_of(tmp_path)} == colours
    assert "Shown: cost = a." in tex


def test_arena_keeps_its_still_picture(tmp_path):
    tex = source(outputs.on_paper(arena(alt="A chain walks").html, tmp_path))
    assert outputs.MOVES in tex
    assert "exact draws" in tex
    assert "function" not in tex


def test_tables_are_set(tmp_path):
    shown = table(["name", "n"], [["a_b & c", "✓"]], caption="50 % of it", align="lr").html
    tex = source(outputs.on_paper(shown, tmp_path))
    assert r"\begin{booktable}{lr}{50 \% of it}{name & n}" in tex
    assert r"a\_b \& c & \(\checkmark\) \\" in tex
    over = shown.replace("<tbody>", '<tbody><tr><th colspan="2">some_of them</th></tr>')
    tex = source(outputs.on_paper(over, tmp_path))
    assert r"\multicolumn{2}{l}{\emph{some\_of them}} \\" in tex


def test_only_a_long_table_outside_a_float_goes_on_over_pages(tmp_path):
    for rows, floats, kind in ((5, False, "{book"), (50, False, "{longbook"), (50, True, "{book")):
        html = table(["n"], [[str(i)] for i in range(rows)], caption="numbers").html
        tex = source(outputs.on_paper(html, tmp_path, floats=floats))
        assert tex.startswith(rf"\begin{kind}table}}")


def test_a_table_wider_than_the_page_breaks_its_text_and_no_other():
    long = "word " * 20
    narrow = list(outputs.widths("llr", [["a", "b", "1"], ["c", "d", "2"]]))
    assert narrow == ["l", "l", "r"]
    name, text, number = outputs.widths("llr", [["a", long, "1"]])
    assert (name, number) == ("l", "r")
    assert "p{" in text
    em = float(re.search(r"p\{([\d.]+)em", text)[1])
    assert em <= outputs.CHARACTER * outputs.WIDE


def test_verdicts_are_words(tmp_path):
    (said,) = outputs.on_paper(Verdict(True, "It is.", "right")._repr_html_(), tmp_path)
    assert said.astext() == "Right. It is."


def cell(code, html):
    raw = nodes.raw("", html, format="html", classes=["output", "text_html"])
    return nodes.container("", nodes.literal_block("", code), raw, nb_element="cell_code")


def test_only_cells_that_wait_for_an_answer_are_blank():
    blank = Verdict(False, "Is a return missing?", "wrong")._repr_html_()
    assert paper.is_blank(cell("answer = ...\ncheck('a', answer)", blank))
    assert not paper.is_blank(cell("answer = 3\ncheck('a', answer)", blank))
    assert not paper.is_blank(cell("x = a[..., 0]", "<table></table>"))
    assert not paper.is_blank(nodes.container("", nodes.literal_block("", "...")))


def test_every_macro_of_the_book_is_tex():
    told = typesetting.macros()
    assert told.count(r"\def") == len(mathematics.MACROS)
    assert r"\def\norm#1{\left\lVert #1 \right\rVert}" in told
    assert r"\def\given{\mathbin{\mid}}" in told


def test_pages_left_out_exist_and_chapters_stay():
    pages = set(re.findall(r"chapters/\w+", (ROOT / "_toc.yml").read_text("utf-8")))
    out = {page for page in pages if paper.LEFT_OUT.match(page)}
    names = ("cards", "exercises", "formulas", "coverage", "bug_zoo", "bug_zoo_draws")
    assert {f"chapters/{name}" for name in (*names, "api", "api_target")} <= out
    assert {f"chapters/{name}" for name in ("nuts", "notation", "errata", "trust")} <= pages - out
    assert {paper.FRONT, paper.END} <= pages - out


def test_proof_begins_and_ends_as_one():
    box = nodes.admonition("", nodes.paragraph("", "Proof. It holds."))
    (said,) = paper.proof(nodes.container("", box))
    assert isinstance(said[0], nodes.emphasis)
    assert said.astext().startswith("Proof. It holds.")
    assert r"\square" in said.astext()


@pytest.fixture(scope="module")
def tex(tmp_path_factory):
    """The LaTeX of a book of some pages, one of which is left out, and the warnings."""
    folder = tmp_path_factory.mktemp("paper")
    (folder / "_static").mkdir()
    shutil.copy(ROOT / "_static" / "logo.svg", folder / "_static")
    html = show(bars(), alt="A line rises").html
    out, hidden = v4.new_output("display_data", {"text/html": html}), {"tags": ["hide-input"]}
    files = sample("paper")
    cells = [
        v4.new_markdown_cell(files.pop("chapters/page.md")),
        v4.new_code_cell("folded = 1", outputs=[out], metadata=hidden),
        v4.new_code_cell("open_ = 1"),
    ]
    language = {"language_info": {"name": "python", "pygments_lexer": "python"}}
    files["chapters/page.ipynb"] = v4.new_notebook(cells=cells, metadata=language)
    settings = {
        "source_suffix": {".md": "myst-nb", ".ipynb": "myst-nb"},
        "extensions": ["myst_nb", "sphinx_proof", "sphinx_exercise", "bookext.paper"],
        "myst_enable_extensions": ["dollarmath", "smartquotes"],
        "project": "Needles",
        "root_doc": "chapters/intro",
        "latex_engine": "xelatex",
        "latex_documents": [("chapters/intro", "book.tex", "Needles", "We", "manual")],
    }
    texts, heard = build(folder, files, kind="latex", **settings)
    return texts["tex"], heard


def test_pages_are_bound_into_one_book(tex):
    source, heard = tex
    assert "WARNING" not in heard
    order = [
        *(r"\chapter{Introduction}", r"\part{First part}", r"\chapter{A page}"),
        *(r"\part{Look up}", r"\chapter{The end}"),
    ]
    places = [source.index(words) for words in order]
    assert places == sorted(places)
    assert r"\setcounter{secnumdepth}{-1}" in source[places[-2] : places[-1]]
    assert "The deck" not in source and "Many." not in source
    assert "deck" in source and "chapters/cards" not in source  # words of a link out of the book


def test_what_the_page_folds_is_open_and_folded_code_is_not_there(tex):
    source = tex[0]
    assert "folded" not in source and r"open\PYGZus{}" in source
    assert r"\bookfigure{figures/" in source
    assert r"\sphinxstyleemphasis{Proof.} It holds.\hfill" in source
    letters = source.index("Letters")
    assert "sphinxadmonition" not in source[letters - 60 :]
    assert r"\sphinxtableatstartofbodyhook" in source[letters:]


def test_answers_within_answers_stand_further_in_and_in_no_box(tex):
    outer, inner = tex[0].index(r"\sphinxstylestrong{An answer}"), tex[0].index("A further answer")
    assert "sphinxadmonition" not in tex[0][outer : tex[0].index("The leaf.")]
    assert tex[0][outer:inner].count(r"\begin{quote}") == 1


def test_numbers_are_those_of_the_web(tex):
    source = tex[0]
    page = source.index(r"\chapter{A page}")
    assert r"\setcounter{chapter}{1}\setcounter{secnumdepth}{0}" in source[page - 200 : page]
    assert r"\setcounter{secnumdepth}{-1}" in source[: source.index(r"\chapter{Introduction}")]
    for counter, what in (("table", "Some letters"), ("equation", "x = 1")):
        at = source.index(what)
        assert rf"\def\the{counter}{{2.1}}" in source[at - 400 : at]


def test_solutions_stand_at_the_end_and_lead_back(tex):
    source = tex[0]
    places = [source.index(words) for words in ("How many", r"\chapter{Solutions}", "As many")]
    assert places == sorted(places)
    asked, solved = source[places[0] : places[1]], source[places[1] :]
    assert r"\solvedat{ex-count}" in asked and "exercise:ex-count" in source[: places[0]]
    assert r"\solves{ex-count}{Exercise 2.1 (Count)}" in solved
    assert solved.index(r"\section{A page}") < solved.index(r"\solves")


def test_what_is_told_to_those_at_a_screen_is_left_out(tex, tmp_path):
    assert "slider" not in tex[0] and "the field below" not in tex[0]
    assert "of cards. It has two ends." in tex[0]
    kept = "Move the slider from one ball to many; the step is the observer."
    extensions = ["myst_nb", "bookext.paper"]
    files, source_suffix = {"index.md": f"# A\n\nMove it. {kept}\n"}, {".md": "myst-nb"}
    pages, _ = build(tmp_path, files, extensions=extensions, source_suffix=source_suffix)
    assert f'<span class="on-screen">Move it. </span>{kept}' in pages["index"]


def executed(folder, code, quoted=None):
    path = folder / "_build" / "jupyter_execute" / "chapters" / "page.ipynb"
    cells = [{"cell_type": "code", "source": code, "metadata": {}, "outputs": []}]
    files = {path.name: {"cells": cells}} | ({"page.glue.json": quoted} if quoted else {})
    write(path.parent, files)
    return path


def test_numbers_that_the_prose_quotes_come_back(tmp_path):
    book = {"name": "eta", "mime_prefix": "application/papermill.record/"}
    number = {"output_type": "display_data", "data": {"text/plain": "2.5"}}
    path = executed(tmp_path, "1", {"eta": number | {"metadata": {"scrapbook": book}}})
    last = paper.whole(path)["cells"][-1]
    assert last["outputs"][0]["data"] == {"application/papermill.record/text/plain": "2.5"}
    assert last["metadata"]["tags"] == ["remove-cell"]


@pytest.mark.parametrize("builder, text", [("latex", "ran"), ("html", "as it stands")])
def test_only_paper_takes_what_was_executed(tmp_path, builder, text):
    executed(tmp_path, "ran")
    app = SimpleNamespace(builder=SimpleNamespace(format=builder), srcdir=tmp_path)
    page = ["as it stands"]
    paper.take_executed(app, "chapters/page", page)
    assert text in page[0]


def test_pages_that_changed_since_they_ran_are_named(tmp_path):
    (tmp_path / "chapters").mkdir()
    (tmp_path / "_toc.yml").write_text("root: chapters/page\n", "utf-8")
    ran = executed(tmp_path, "x = 1")
    shutil.copy(ran, tmp_path / "chapters" / "page.ipynb")
    assert press.stale(tmp_path) == []
    executed(tmp_path, "x = 2")
    assert press.stale(tmp_path) == ["chapters/page"]
    ran.unlink()
    assert press.stale(tmp_path) == ["chapters/page"]


def test_what_is_missing_is_named_with_its_packages(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SystemExit, match="xelatex.*apt-get install.*texlive-xetex"):
        press.main(tmp_path)
    for tool in press.TOOLS:
        path = tmp_path / tool
        path.write_text("#!/bin/sh\nexit 1\n", "utf-8")
        path.chmod(0o755)
    assert press.missing() == list(press.FILES)


def test_the_book_is_told_to_use_xelatex_and_its_own_style():
    config = (ROOT / "_config.yml").read_text("utf-8")
    assert "latex_engine: xelatex" in config
    style = Path(typesetting.STYLE).read_text("utf-8")
    for command in ("bookfigure", "figureremark", "solves", "solvedat", "papertitle"):
        assert rf"\{command}" in style
    assert "{booktable}" in style and "{longbooktable}" in style
