"""The plan of tests: every item is carried by a test that names it with ``pytest.mark.trust``.

Run as a program it prints the table.
"""

import ast
from pathlib import Path

import pytest
from report import LEDGER

import bayeslib as bl

TESTS = Path(__file__).parents[1]
ITEMS = {item: f"{name}: {looks_at}" for item, (name, looks_at, _) in LEDGER.items()}
# Functions that need a test of an item of their own: trust("S6", of="ising_sample").
OWED = {
    "gibbs": "S7", "ising_sample": "S6", "metropolis_hastings": "S6", "resample": "S11",
    "smc": "M6", "annealed_importance_sample": "M6", "advi": "M7", "elbo": "M7", "laplace": "M7",
}  # fmt: skip


def is_test(node):
    return isinstance(node, ast.FunctionDef) and node.name.startswith("test_")


def is_mark(node):
    return isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark"


def marks(node):
    """Yield the items that a trust mark in a node names, each with the function it is of."""
    for call in ast.walk(node):
        if isinstance(call, ast.Call) and getattr(call.func, "attr", "") == "trust":
            of = [ast.literal_eval(k.value) for k in call.keywords if k.arg == "of"]
            for argument in call.args:
                yield ast.literal_eval(argument), *(of or [None])


TREES = {path.stem: ast.parse(path.read_text("utf-8")) for path in TESTS.glob("*/test_*.py")}


def carried():
    """Return (item, of, file, test, slow) of every mark on a test, those of whole files too."""
    found = []
    for name, tree in sorted(TREES.items()):
        whole = [node.value for node in filter(is_mark, tree.body)]
        for test in filter(is_test, tree.body):
            nodes = [*whole, *test.decorator_list]
            slow = any("pytest.mark.slow" in ast.unparse(node) for node in nodes)
            for node in nodes:
                found += [(item, of, name, test.name, slow) for item, of in marks(node)]
    return found


CARRIED = carried()


def test_every_item_is_carried_by_a_test():
    have = {item for item, *_ in CARRIED}
    assert have == set(ITEMS), f"not in both: {have ^ set(ITEMS)}"


def test_what_each_algorithm_owes_is_there():
    """A function that brings an item with it has a test of that item of its own."""
    have = {(of, item) for item, of, *_ in CARRIED if of}
    assert set(OWED.items()) - have == set()
    assert {name for name, _ in have} <= set(bl.__all__)


def test_what_takes_seconds_runs_always():
    for item in ITEMS:
        if item.startswith("S"):
            assert any(i == item and not slow for i, _, _, _, slow in CARRIED), item


def test_a_mark_on_a_helper_would_carry_nothing():
    for name, tree in TREES.items():
        tests = filter(is_test, tree.body)
        read = [*filter(is_mark, tree.body), *(node for t in tests for node in t.decorator_list)]
        assert len([*marks(tree)]) == sum(len([*marks(node)]) for node in read), name


@pytest.mark.parametrize("text", ['@pytest.mark.trust("S1", "S2", of="f")\ndef test_a(): 1'])
def test_marks_are_read(text):
    assert list(marks(ast.parse(text))) == [("S1", "f"), ("S2", "f")]


def table():
    """Return the lines of a table: item, what it is, the tests that carry it."""
    for item, what in ITEMS.items():
        yield f"{item:4}{what}"
        names = sorted({(f, t, of) for i, of, f, t, _ in CARRIED if i == item})
        yield from (f"      {f}.{t}{f' (of {of})' if of else ''}" for f, t, of in names)


if __name__ == "__main__":
    print("\n".join(table()))
