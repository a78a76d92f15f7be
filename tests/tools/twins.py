"""The pages' cells, called by the names that they give, and run for themselves."""

import ast
import contextlib
import linecache
import re
import symtable
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
from bookext.cells import MAGIC, called, read
from prose import CHAPTERS, cells

# Standard errors: two-sided 2e-8 a number, so that a test of up to fifty fails a right program once
# in a million runs. It is meant for means of some hundred effective draws and more.
Z_LIMIT = 5.6
# For tests of what has been said in a warning, or of what nothing is said of.
quiet = pytest.mark.filterwarnings("ignore::bayeslib.BayeslibWarning")


class Statement(NamedTuple):
    """A statement at the top level of a page, and names: bound, changed, needed now and later."""

    code: object
    binds: set
    changes: set
    now: set
    later: set


def _pieces(node):
    """Return the simple statements inside a statement, in the order in which they run."""
    if isinstance(node, ast.For):
        unpacked = ast.Assign([node.target], ast.Constant(None), lineno=1)
        heads = [ast.Expr(node.iter), unpacked]
    elif isinstance(node, ast.With):
        heads = [
            ast.Assign([item.optional_vars], item.context_expr, lineno=1)
            if item.optional_vars
            else ast.Expr(item.context_expr)
            for item in node.items
        ]
    elif isinstance(node, ast.If | ast.While):
        heads = [ast.Expr(node.test)]
    elif isinstance(node, ast.Try | ast.ExceptHandler):
        heads = [ast.Expr(node.type)] if getattr(node, "type", None) else []
    else:
        return [node]
    parts = (getattr(node, field, []) for field in ("body", "handlers", "orelse", "finalbody"))
    inner = [piece for part in parts for child in part for piece in _pieces(child)]
    return heads + inner


def _needs(table, inside=False):
    """Return the global names that a statement reads when it runs, and those its functions read."""
    now, later = set(), set()
    for symbol in table.get_symbols():
        if symbol.is_referenced() and (symbol.is_global() or table.get_type() == "module"):
            (later if inside else now).add(symbol.get_name())
    for child in table.get_children():
        waits = child.get_type() == "function" and not child.get_name().endswith(("comp", "expr"))
        for known, found in zip((now, later), _needs(child, inside or waits), strict=True):
            known |= found
    return now, later


def _changed(node):
    """Return the names whose values a simple statement changes.

    By x += 1, x[0] = 1, x.append(1) and np.fill_diagonal(x, 1).
    """
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return set()
    found = set()
    places = [part for part in ast.walk(node) if isinstance(getattr(part, "ctx", None), ast.Store)]
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        places.append(node.value.func)
        if re.match(r"np\.(?!testing)", ast.unparse(node.value.func)):
            found = {part.id for part in node.value.args if isinstance(part, ast.Name)}
    for part in places:
        whole = part
        while isinstance(part, ast.Attribute | ast.Subscript):
            part = part.value
        if isinstance(part, ast.Name) and (part is not whole or isinstance(node, ast.AugAssign)):
            found.add(part.id)
    return found


@cache
def statements(page):
    """Return the statements of a page in order; to use a generator is to change it."""
    found, imported, generators = [], set(), set()
    for cell in cells(CHAPTERS / f"{page}.ipynb"):
        source = cell.source if cell.kind == "code" else ""
        for node in ast.parse(MAGIC.sub(r"\1pass", source)).body:
            binds, changes, now, later = set(), set(), set(), set()
            for piece in _pieces(node):
                table = symtable.symtable(ast.unparse(piece), page, "exec")
                names = table.get_symbols()
                imported |= {s.get_name() for s in names if s.is_imported()}
                needs = _needs(table)
                changed = (_changed(piece) | needs[0] & generators) - imported - binds
                changes |= changed
                now |= needs[0] - binds | changed
                later |= needs[1] - binds
                binds |= {s.get_name() for s in names if s.is_assigned() or s.is_imported()}
                if isinstance(piece, ast.AugAssign):
                    binds -= changed
                if isinstance(piece, ast.Assign) and "default_rng" in ast.dump(piece.value):
                    generators |= binds
            code = compile(ast.unparse(node), f"{page}.ipynb", "exec")
            found.append(Statement(code, binds, changes, now, later))
    return found


def _sources(page, name, at, *, later=False):
    """Return the places of what `name` stands for at a statement, or in a function made there."""
    found = statements(page)
    binds = [i for i, statement in enumerate(found) if name in statement.binds]
    if not binds:
        return set()
    first = max((i for i in binds if i < at), default=binds[0])
    end = min((i for i in binds if i > first), default=len(found)) if later else at
    return {first, *(i for i in range(first + 1, end) if name in found[i].changes)}


@cache
def _namespace(page, names):
    """Return a namespace in which a page has run what gives `names`, and nothing else."""
    found, chosen = statements(page), set()
    known = set().union(*(statement.binds for statement in found))
    if missing := set(names) - known:
        raise NameError(f"{page} has no {sorted(missing)}; it has {', '.join(sorted(known))}")
    more = set().union(*(_sources(page, name, len(found), later=True) for name in names))
    while more:
        chosen |= more
        wanted = [(name, i, False) for i in more for name in found[i].now]
        wanted += [(name, i, True) for i in more for name in found[i].later]
        more = set().union(*(_sources(page, *w[:2], later=w[2]) for w in wanted)) - chosen
    space = {"__name__": "__main__"}
    with contextlib.chdir(CHAPTERS):
        for i in sorted(chosen):
            exec(found[i].code, space)
    return space


def page(page, *names):
    """Return what a page defines under a name, or under several, in order.

    Of the page runs what that needs, once a process: the last statement that binds the name, what
    this reads, and so on. Nobody has to know where it stands.
    """
    space = _namespace(page, names)
    return space[names[0]] if len(names) == 1 else [space[name] for name in names]


def source(page, name):
    """Return the code of the cells that a name or a tag belongs to."""
    path = CHAPTERS / f"{page}.ipynb"
    found, every = called(read(path), name), cells(path)
    assert found, f"no cell of {page} is called {name}; there are {read(path).cells}"
    return [every[cell.index].source for cell in found]


def run(text, space):
    """Run a cell; its source can be looked up, as in a notebook."""
    name = f"<cell {len(linecache.cache)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    exec(compile(text, name, "exec"), space)


@cache
def plain_twin(page, name):
    """Run the page's cells tagged ``plain-<name>`` and return the function they define."""
    space = {"np": np}
    for text in source(page, f"plain-{name}"):
        lines = [line for line in text.splitlines() if line.strip()]
        assert len(lines) <= 20, f"a plain cell of {name} has {len(lines)} lines, more than 20"
        run(text, space)
    return space[name]
