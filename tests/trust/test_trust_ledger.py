"""The plan of tests: every item is carried by a test that names it with ``pytest.mark.trust``.

Run as a program it prints the table.
"""

import ast
from pathlib import Path

import pytest

import bayeslib as bl

TESTS = Path(__file__).parents[1]
# Each begins with the name that the page on trust has for it.
ITEMS = {
    "S1": "gradients: of densities, transforms and networks, against finite differences",
    "S2": "paths return: leapfrog steps, run back, end where they began",
    "S3": "volume: leapfrog keeps it",
    "S4": "second order: half the leapfrog step, a quarter of the energy's error",
    "S5": "shadow energy: leapfrog on a Gaussian keeps it",
    "S6": "transition matrix: of an acceptance function, leaves the target alone",
    "S7": "conditionals: ratios of the joint density",
    "S8": "a few steps: from exact draws they conserve the target, with power and movement",
    "S9": "there and back: swapping before and after changes nothing",
    "S10": "known acceptance: in closed form",
    "S11": "independent draws: and resampling, against exact laws",
    "S12": "weights: averages by them, and how many draws they are worth",
    "S13": "diagnostics: equal to ArviZ's",
    "S14": "seeds: one gives the same bits",
    "S15": "bad input: refused in the words promised",
    "S16": "planted bugs: each rejected by the test named for it",
    "M1": "whole runs: judged on analytic targets",
    "M2": "real data: NUTS judged on the book's posteriors, eight schools at target_accept=0.95",
    "M3": "hidden draw: its rank in a chain made from it",
    "M4": "joint test: of model and sampler",
    "M5": "calibration: ranks of the truth among the draws of fits",
    "M6": "evidence: right on average",
    "M7": "best fits: optima of variational inference",
    "M8": "warnings: what must not be believed says so",
    "M9": "interruptions: interrupts, threads, processes, saving",
    "N1": "fresh seeds: the verdict in two stages, and the command that uses it",
}
# Functions that need a test of an item of their own: trust("S6", of="ising_sample").
OWED = {
    "gibbs": "S7",
    "ising_sample": "S6",
    "metropolis_hastings": "S6",
    "resample": "S11",
    "smc": "M6",
    "annealed_importance_sample": "M6",
    "advi": "M7",
    "elbo": "M7",
    "laplace": "M7",
}


def is_trust(node):
    return isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.trust"


def marks(node):
    """Yield the items that a trust mark in a node names, each with the function it is of."""
    for call in filter(is_trust, ast.walk(node)):
        of = [ast.literal_eval(k.value) for k in call.keywords if k.arg == "of"]
        for argument in call.args:
            yield ast.literal_eval(argument), *(of or [None])


def carried():
    """Return (item, of, file, test, slow) of every mark on a test, those of whole files too."""
    found = []
    for path in sorted(TESTS.glob("*/test_*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        tests = [n for n in tree.body if isinstance(n, ast.FunctionDef) and "test_" in n.name[:5]]
        whole = [n for n in tree.body if isinstance(n, ast.Assign)]
        whole = [n.value for n in whole if ast.unparse(n.targets[0]) == "pytestmark"]
        for test in tests:
            nodes = [*whole, *test.decorator_list]
            slow = any("pytest.mark.slow" in ast.unparse(node) for node in nodes)
            for node in nodes:
                found += [(item, of, path.stem, test.name, slow) for item, of in marks(node)]
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


def test_what_takes_seconds_runs_always_and_nothing_is_marked_in_vain():
    for item in ITEMS:
        if item.startswith("S"):
            assert any(i == item and not slow for i, _, _, _, slow in CARRIED), item
    tree = [ast.parse(p.read_text(encoding="utf-8")) for p in TESTS.glob("*/test_*.py")]
    written = sum(len(list(marks(node))) for t in tree for node in t.body)
    on_files = sum(
        len(list(marks(n.value)))
        for t in tree
        for n in t.body
        if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == "pytestmark"
    )
    on_tests = sum(
        len(list(marks(d)))
        for t in tree
        for n in t.body
        if isinstance(n, ast.FunctionDef) and n.name.startswith("test_")
        for d in n.decorator_list
    )
    assert written == on_files + on_tests  # a mark on a helper would carry nothing


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
