"""One symbol, one meaning: every formula of the book against the tables of the notation page.

The tables of chapters/notation.ipynb hold what is true on every page, chapters/symbols.yml what
one page says for itself. Which meaning a letter has cannot be read off a formula; that a letter
has one, that it is written down, and that a second one is owned up to with its reason, can.
"""

import ast
import re
from pathlib import Path

import pytest
import yaml
from formulas import INDICES, bound, leading, symbols
from local_symbols import read_symbols
from prose import CHAPTERS, MATHS, markdown, outside_code, pages, texts

MACROS = {
    r"\data": r"\mathcal D",
    r"\R": r"\mathbb R",
    r"\E": r"\mathbb E",
    r"\P": "P",
    r"\norm": "",
    r"\abs": "",
}
MACRO = re.compile(r"\\(?:data|R|E|P|norm|abs)(?![A-Za-z])")
ROW = re.compile(r"(?<!\\)\|")
INLINE = re.compile(r"\$([^$]+)\$")
HEAD = ["symbol", "meaning", "in the code"]
CODE = re.compile(r"`(\w+)")
MARKED = re.compile(r"^\\(?:hat|bar) ")  # an estimate, an average: the letter under it tells


def rows(text):
    """Return the rows of Markdown tables, each a list of cells; rules and heads included."""
    lines = [line.strip() for line in text.splitlines()]
    return [[c.strip() for c in ROW.split(x)[1:-1]] for x in lines if x.startswith("|")]


def names(formula):
    """Return the symbols of a formula that must be explained somewhere, as {name: full forms}.

    An index and what the formula itself binds need no entry.
    """
    formula = MACRO.sub(lambda match: MACROS[match[0]] + " ", formula)
    own, found = bound(formula), {}
    for symbol in symbols(formula):
        is_index = symbol.place != "line" and symbol.name in INDICES
        if symbol.name not in own and not is_index:
            found.setdefault(symbol.name, set()).add(symbol.full)
    return found


def formulas_of(text):
    return [re.sub(r"\s*\([\w:-]+\)$", "", m[0]).strip("$") for m in MATHS.finditer(text)]


def deck():
    """Return {chapter: the texts of its cards}, which its page shows."""
    found = {}
    for card in yaml.safe_load((CHAPTERS / "cards.yml").read_text("utf-8")):
        words = [card[field] for field in ("front", "back", "corrected") if field in card]
        found.setdefault(card["chapter"], []).extend(words)
    return found


def used(path, cards):
    """Return {name: full forms} of a page, its cards included."""
    found = {}
    for text in [*map(outside_code, texts(path)), *cards.get(path.stem, ())]:
        for formula in formulas_of(text):
            for name, full in names(formula).items():
                found.setdefault(name, set()).update(full)
    return found


def tables(text):
    """Return the rows of the tables of symbols: those under the head, of two columns or three."""
    found, inside = [], False
    for line in text.splitlines():
        (row,) = rows(line) or ([],)
        if row in (HEAD, HEAD[:2]):
            inside = True
        elif not row:
            inside = False
        elif inside and not set("".join(row)) <= set(":- "):
            found.append([*row, ""][:3])
    return found


def letters(cell):
    """Return the symbols that a cell of a table explains, as (name, full form)."""
    plain = [MACRO.sub(lambda m: MACROS[m[0]] + " ", f) for f in INLINE.findall(cell)]
    return [(s.name, s.full) for s in map(leading, plain) if s]


def faults(page, found, table, local):
    """Return what is wrong with the symbols of a page.

    found: {name: full forms} on the page; table: the names of the book; local: {symbol:
    (meaning, reason or '')} of this page, a symbol being a name or a full form.
    """
    wrong = []
    for name, full in found.items():
        known = {name, MARKED.sub("", name)} & (table | set(local))
        if not known and not full <= set(local):
            wrong.append(f"{page}: {name} is in no table ({', '.join(sorted(full))})")
    everything = set(found).union(*found.values()) if found else set()
    for symbol, (_, reason) in local.items():
        if symbol not in everything:
            wrong.append(f"{page}: {symbol} is declared and does not occur")
        if symbol in table and not reason:
            wrong.append(f"{page}: {symbol} has another meaning in the book: say why")
        if symbol not in table and reason:
            wrong.append(f"{page}: {symbol} needs no reason, it has no other meaning")
    return wrong


def identifiers(folder):
    """Return the names of functions, arguments, fields, attributes and settings of a package."""
    found = set()
    for path in Path(folder).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                found.add(node.name)
            elif isinstance(node, ast.arg):
                found.add(node.arg)
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                found.add(node.target.id)
            elif isinstance(node, ast.Dict):
                found.update(k.value for k in node.keys if isinstance(k, ast.Constant))
    return found


NOTATION = markdown(CHAPTERS / "notation.ipynb")
SOURCES = (CHAPTERS / "sources.md").read_text("utf-8")
TABLE = tables(NOTATION)
GLOBAL = {name: row for row in TABLE for name, _ in letters(row[0])}
FULL = {full for row in TABLE for _, full in letters(row[0])}
LOCAL = read_symbols((CHAPTERS / "symbols.yml").read_text("utf-8"))
CARDS = deck()
TABLES = ("notation", "sources")
USED = {path.stem: used(path, CARDS) for path in pages() if path.stem not in TABLES}


@pytest.mark.parametrize("page", sorted(USED))
def test_every_symbol_is_explained(page):
    assert faults(page, USED[page], set(GLOBAL), LOCAL.get(page, {})) == []


def test_the_lint_for_symbols_bites():
    found, table = names(r"\hat q_\phi(\theta') = \sum_i w_i x_i"), {"w", r"\theta", r"\phi"}
    assert set(found) == {r"\hat q", r"\phi", r"\theta", "w", "x"}
    assert len(faults("a", found, table, {})) == 2
    assert faults("a", found, table | {"x"}, {r"\hat q_\phi": ("a fit", "")}) == []
    assert len(faults("a", found, table | {"x"}, {r"\hat q_\chi": ("a fit", "")})) == 2
    local = {"x": ("inputs", ""), r"\hat q": ("a fit", "")}
    assert faults("a", found, table, local) == []
    assert "say why" in faults("a", found, table | {"x"}, local)[0]
    assert "no reason" in faults("a", found, table, local | {"x": ("inputs", "custom")})[0]
    assert "does not occur" in faults("a", found, table, local | {"y": ("an output", "")})[0]


def test_pages_that_declare_symbols_exist():
    assert set(LOCAL) <= set(USED)
    assert all(meaning.strip() for entries in LOCAL.values() for meaning, _ in entries.values())
    with pytest.raises(ValueError, match="a twice"):
        read_symbols("page: {a: one, b: two, a: three}")


def doubles(entries):
    return sorted({entry for entry in entries if entries.count(entry) > 1})


def test_no_symbol_stands_twice_in_the_tables():
    assert doubles([full for row in TABLE for _, full in letters(row[0])]) == []
    assert doubles([row[1] for row in TABLE]) == []
    assert doubles([full for cell in ("$q$, $c$", "$q_\\phi$, $q$") for _, full in letters(cell)])
    assert len(TABLE) > 50


def test_no_symbol_of_the_tables_is_idle():
    everywhere = {name for page in USED.values() for name in page}
    assert set(GLOBAL) - everywhere == set()


def test_each_row_is_filled_in():
    assert all(len(row) == 3 and row[0] and row[1] for row in TABLE)
    assert tables("| symbol | meaning |\n|:---|:---|\n| $x$ | a |") == [["$x$", "a", ""]]
    assert tables("| symbol | here |\n|:---|:---|\n| $x$ | a |") == []


def test_names_in_the_code_are_in_the_code():
    library = identifiers(CHAPTERS.parent / "bayeslib")
    named = {name for row in TABLE for name in CODE.findall(row[2])}
    assert len(named) > 25
    assert named - library == set()
    assert {"num_samples", "num_sampels"} - library == {"num_sampels"}


def test_every_source_has_its_table():
    parts = SOURCES.split("\n## ")[2:]
    found = [[row for row in rows(part) if len(row) == 2] for part in parts]
    assert len(found) == 5 and all(table[0] == ["there", "here"] for table in found)
    assert min(map(len, found)) > 10
    assert all(all(row) for table in found for row in table)


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        (r"\hat\theta_{\text{ML}} = \argmax_\theta p(\data \mid \theta)", {r"\hat \theta", "p"}),
        (r"\tilde{\pi}(\theta') / \widehat R", {r"\tilde \pi", r"\theta", r"\hat R"}),
        (r"\frac1N \sum_{n=1}^N f(\theta_n)", {"N", "f", r"\theta"}),
        (r"\int f(x) \dd x + \int q\,\mathrm d\theta", {"f", "q"}),
        (r"\E_{q_\phi}[h_\phi]", {r"\mathbb E", "q", r"\phi", "h"}),
        (r"\operatorname{Var}[x] + \mathrm{ESS} + \text{the } y", {"x", "y"}),
        (r"e^{-U/T}, \mathcal{T}, \mathbf 1", {"e", "U", "T", r"\mathcal T"}),
        (r"\overline{t^2} \le x^{(n)}", {"t", "x"}),
    ],
)
def test_formulas_are_read(formula, expected):
    found = set(names(formula))
    assert found - {r"\mathcal D"} == expected
