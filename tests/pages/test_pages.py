"""Every page, as it stands in git: nothing run, nothing random, nothing typed that is computed."""

import ast
import json
import re
import statistics

import numpy as np
import pytest
import yaml
from prose import (
    CHAPTERS,
    HIDDEN,
    READING,
    ROOT,
    cells,
    notebooks,
    pages,
    reading_minutes,
    texts,
    typed_numbers,
)
from sphinx_external_toc.parsing import parse_toc_yaml

CONSTANTS = CHAPTERS / "constants.yml"
MAX_LINE = 80  # what the column holds
MAX_LINES, P90_LINES, MEDIAN_LINES = 25, 15, 6
SEEDED = {"default_rng", "Generator", "SeedSequence", "PCG64", "Philox"}

every_page = pytest.mark.parametrize("path", pages(), ids=lambda p: p.stem)
every_notebook = pytest.mark.parametrize("path", notebooks(), ids=lambda p: p.stem)


def tree(source):
    """Parse a code cell; magics are comments to Python."""
    return ast.parse(re.sub(r"^(\s*)[%!].*$", r"\1pass", source, flags=re.MULTILINE))


def dotted(node):
    """Return a.b.c as text, '' for what is no plain dotted name."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and dotted(node.value):
        return f"{dotted(node.value)}.{node.attr}"
    return ""


def unseeded(source):
    """Return the expressions of a cell that draw from an unseeded or global generator."""
    found = []
    for node in ast.walk(tree(source)):
        name = dotted(node)
        if re.fullmatch(r"(np|numpy)\.random\.\w+", name) and name.split(".")[-1] not in SEEDED:
            found.append(name)
        if isinstance(node, ast.Call) and dotted(node.func).split(".")[-1] == "default_rng":
            nothing = [a for a in node.args if isinstance(a, ast.Constant) and a.value is None]
            if nothing or not (node.args or node.keywords):
                found.append("default_rng()")
        if isinstance(node, ast.ImportFrom) and node.module == "numpy.random":
            found.append("from numpy.random import")
        if isinstance(node, ast.Import) and any(alias.name == "random" for alias in node.names):
            found.append("import random")
    return found


def wordless(source):
    """Return the calls of a cell that show a figure without `alt`."""
    found = []
    for node in ast.walk(tree(source)):
        if isinstance(node, ast.Call):
            name = dotted(node.func).split(".")[-1]
            if name in ("show", "explore", "arena") and "alt" not in {k.arg for k in node.keywords}:
                found.append(f"{name}(...)")
    return found


def wordless_images(text):
    """Return the images of Markdown `text` that have no text alternative."""
    bare = re.findall(r"!\[\s*\]\([^)]*\)", text)
    for block in re.finditer(r"^\s*(`{3,}|:{3,})\{(?:image|figure)\}.*?^\s*\1", text, re.S | re.M):
        if not re.search(r"^\s*:alt:\s*\S", block[0], re.M):
            bare.append(block[0].splitlines()[0])
    return bare


def headings(path):
    """Return the levels of a page's headings, in order."""
    levels, fence = [], None
    for text in (c.source for c in cells(path) if c.kind == "markdown"):
        for line in text.splitlines():
            mark = re.match(r"\s*(`{3,}|~{3,})", line)
            if mark and fence is None:
                fence = mark[1]
            elif fence and line.strip() == fence:
                fence = None
            elif fence is None and (heading := re.match(r"(#+) ", line)):
                levels.append(len(heading[1]))
    return levels


def test_the_table_of_contents_and_the_pages_agree():
    files = sorted(parse_toc_yaml(ROOT / "_toc.yml"))
    assert files, "_toc.yml lists no page"
    assert files == sorted(f"chapters/{path.stem}" for path in pages())
    assert len(set(files)) == len(files)


def test_chapters_are_numbered_and_what_stands_around_them_is_not():
    parts = yaml.safe_load((ROOT / "_toc.yml").read_text("utf-8"))["parts"]
    numbered = {part["caption"]: part.get("numbered") for part in parts}
    apart = ["Begin here", "Study", "Look up", "About"]
    assert [caption for caption, depth in numbered.items() if depth != 1] == apart


@every_page
def test_a_page_is_written(path):
    text = "\n".join(texts(path))
    assert not re.search(r"\b(TODO|FIXME|TBD|lorem ipsum|coming soon|to be written)\b", text, re.I)
    assert len(text.split()) >= 50 or "{bibliography}" in text


@every_page
def test_headings_are_one_tree(path):
    levels = headings(path)
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(b <= a + 1 for a, b in zip(levels, levels[1:], strict=False)), levels


@every_notebook
def test_nothing_is_run(path):
    notebook = json.loads(path.read_text("utf-8"))
    assert set(notebook["metadata"]) <= {"kernelspec", "language_info"}
    assert notebook["metadata"]["kernelspec"]["name"] == "python3"
    assert set(notebook["metadata"].get("language_info", {})) <= {"name"}
    ids = [cell["id"] for cell in notebook["cells"]]
    assert len(set(ids)) == len(ids)
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [] and cell["execution_count"] is None


@every_notebook
def test_every_draw_is_seeded(path):
    found = [name for c in cells(path) if c.kind == "code" for name in unseeded(c.source)]
    assert not found, f"{path.name}: {found}; write rng = np.random.default_rng(<int>)"


@every_page
def test_every_figure_is_told_in_words(path):
    for cell in cells(path):
        found = wordless(cell.source) if cell.kind == "code" else wordless_images(cell.source)
        assert not found, f"{path.name}: {found} without alt"
        if "caption" in cell.figure:
            assert cell.figure.get("name"), f"{path.name}: a figure with a caption needs a name"


@every_notebook
def test_code_fits_the_page(path):
    shown = [c.source for c in cells(path) if c.kind == "code" and not c.tags & HIDDEN]
    for source in shown:
        for line in source.splitlines():
            assert len(line) <= MAX_LINE, f"{path.name}: {len(line)} characters: {line}"
    lengths = [sum(bool(line.strip()) for line in source.splitlines()) for source in shown]
    if lengths:
        assert max(lengths) <= MAX_LINES
        assert np.quantile(lengths, 0.9) <= P90_LINES
        assert statistics.median(lengths) <= MEDIAN_LINES


def allowed():
    return yaml.safe_load(CONSTANTS.read_text("utf-8")) or {} if CONSTANTS.exists() else {}


@every_page
def test_no_number_is_typed_that_a_cell_computes(path):
    constants = allowed().get(path.stem, {})
    assert all(isinstance(key, str) and reason for key, reason in constants.items())
    numbers = {number for text in texts(path) for number in typed_numbers(text)}
    loose = sorted(numbers - set(constants))
    assert not loose, f"{path.name}: glue {loose} or list them in {CONSTANTS.name} with a reason"
    stale = sorted(set(constants) - numbers)
    assert not stale, f"{CONSTANTS.name}: {stale} no longer stand in {path.name}"


@every_notebook
def test_the_reading_time_follows_one_rule(path):
    for minutes in READING.findall("\n".join(texts(path))):
        assert abs(int(minutes) - reading_minutes(path)) <= 5, reading_minutes(path)


def test_reading_time_counts_what_is_read(tmp_path):
    words = " ".join(["word"] * 600)
    fold = f":::{{admonition}} More\n:class: note dropdown\n{words} {words} {words}\n:::\n"
    page = tmp_path / "page.md"
    for text, minutes in [(words, 5), (words + " $x$" * 150, 15), (f"{words}\n\n{fold}", 5),
                          (f"{words}\n\n## Exercises\n\n{words} {words} {words}", 5)]:  # fmt: skip
        page.write_text(text)
        assert reading_minutes(page) == minutes


def test_constants_name_pages():
    assert set(allowed()) <= {path.stem for path in pages()}


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("accepted 0.385 of them", ["0.385"]),
        ("about 1,000 draws, 20% of 5/6, 1e-6.", ["1,000", "20", "5/6", "1e-6"]),
        ("In 1953, by D1 and `x = 3`.", ["1953"]),
        ("1. one\n2. two at 7", ["7"]),
        ("{glue:text}`a:.2f` and {numref}`Figure {number} <fig-2>` [x](y/3.html)[^4]", []),
        ("$p = 1/3$, $x_{12}$ and $p = 0.4123$ and $10000$", ["0.4123", "10000"]),
        ("$$\na = 2.5\n$$ (eq-1)\n\nso 4", ["4", "2.5"]),
        ("```{prf:theorem} Title 9\n:label: thm-3\nat least 8\n```", ["9", "8"]),
        ("```python\nx = 3\n```\n\n:::{note}\nnot 3\n:::", ["3"]),
        ("| 1 | {glue:text}`b` |", ["1"]),
        ("````{solution-end}\n````\n\nthen 5 and `x = 6`", ["5"]),
        (
            "````{exercise} Two 2\n```{admonition} Hint\n:class: tip\n3\n```\n````\n4 `y`",
            ["2", "3", "4"],
        ),
        ("````{note}\n```python\nx = 1\n```\nnot 7\n````", ["7"]),
    ],
)
def test_the_sweep_bites(text, numbers):
    assert typed_numbers(text) == numbers


@pytest.mark.parametrize(
    "source",
    [
        "rng = np.random.default_rng()",
        "rng = np.random.default_rng(None)",
        "np.random.seed(1)",
        "x = numpy.random.normal()",
        "from numpy.random import default_rng",
        "import random",
    ],
)
def test_the_lint_for_randomness_bites(source):
    assert unseeded(source)
    assert not unseeded("%matplotlib inline\nrng = np.random.default_rng(7)\nrng.random()")


def test_the_lint_for_figures_bites():
    assert wordless("show(fig)") and wordless("bl.explore(draw, a=[1, 2])") and wordless("arena()")
    assert not wordless('show(fig, alt="a curve")')
    assert wordless_images("![](a.svg)") and wordless_images("```{image} a.svg\n:width: 3\n```")
    assert not wordless_images("![a curve](a.svg)\n```{image} a.svg\n:alt: a curve\n```")


def labels(text):
    """Return the labels that a page gives to its figures, equations, theorems and sections."""
    patterns = (
        r"^\(([a-z0-9-]+)\)=$",
        r"^:(?:label|name): ([a-z0-9-]+)$",
        r"\$\$ \((eq-[a-z0-9-]+)\)$",
    )
    return {name for pattern in patterns for name in re.findall(pattern, text, re.MULTILINE)}


def test_a_label_stands_on_one_page():
    owners = {}
    for path in pages():
        figures = {c.figure["name"] for c in cells(path) if "name" in c.figure}
        for name in labels("\n".join(texts(path))) | figures:
            owners.setdefault(name, []).append(path.stem)
    assert len(owners) > 100
    assert {name: where for name, where in owners.items() if len(where) > 1} == {}


def test_labels_are_seen():
    text = "(sec-a)=\n## A\n$$ x $$ (eq-b)\n$$\nx\n$$ (eq-c)\n:label: thm-d\n:name: tab-e\n"
    assert labels(text) == {"sec-a", "eq-b", "eq-c", "thm-d", "tab-e"}


TITLED = re.compile(r"\{(?:exercise|prf:\w+)\} ([^\n]+)\n:label: (\S+)")
NAMED = re.compile(r"\{(?:ref|prf:ref)\}`([^<`]+) <((?:ex|thm)-[^>]+)>`")
SHOWN = re.compile(r"\{numref\}`(fig-[^`]+)` \(([^)]+)\)")


def misnamed(text):
    """Return the names by which `text` calls exercises, theorems and figures that are not theirs.

    An exercise and a theorem have their titles; of a figure, each long word stands in its caption,
    the heading above it or the code that draws it.
    """
    titles, figures = {}, {}
    for path in pages():
        titles |= {label: title for title, label in TITLED.findall("\n".join(texts(path)))}
        heading = ""
        for c in cells(path):
            if c.kind == "markdown":
                heading = [heading, *re.findall(r"^#+ .+", c.source, re.M)][-1]
            if "name" in c.figure:
                figures[c.figure["name"]] = f"{c.figure['caption']} {heading} {c.source}".lower()
    wrong = [name for name, label in NAMED.findall(text) if titles.get(label) != name]
    for label, name in SHOWN.findall(text):
        words = re.findall(r"\w{5,}", name.lower())
        wrong += [f"{label}: {word}" for word in words if word not in figures.get(label, "")]
    return wrong


def test_the_plan_for_a_term_calls_things_by_their_names():
    text = "\n".join(texts(CHAPTERS / "teach.ipynb"))
    assert len(NAMED.findall(text)) == 36 and len(SHOWN.findall(text)) == 24
    assert misnamed(text) == []
    assert misnamed("{ref}`Two digits <ex-monte-carlo-digits>`") == ["Two digits"]
    assert misnamed("{numref}`fig-polls` (a thousand needles)") == ["fig-polls: needles"]
