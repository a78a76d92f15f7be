"""Every row of the table of bad inputs has a test that always runs."""

import ast
from pathlib import Path

import yaml

TESTS = Path(__file__).parents[1]
ROWS = yaml.safe_load((TESTS / "data" / "bad_inputs.yml").read_text("utf-8"))


def rows(text):
    """Return the rows that the tests in a file carry, but for those that are slow."""
    found = set()
    for test in ast.parse(text).body:
        calls = {
            ast.unparse(call.func): call for call in ast.walk(test) if isinstance(call, ast.Call)
        }
        if "pytest.mark.slow" not in map(ast.unparse, getattr(test, "decorator_list", ())):
            carried = calls.get("pytest.mark.row", ast.Call(args=[])).args
            found |= {row.value for row in carried}
    return found


def test_every_row_has_a_test():
    files = [path.read_text("utf-8") for path in TESTS.glob("*/test_*.py")]
    assert set().union(*map(rows, files)) == set(ROWS) == set(range(1, 61))


def test_a_row_without_a_test_would_be_missed():
    marked = "@pytest.mark.row(1, 2)\n{}def test_a(): 1\ndef test_b(): 2"
    assert rows(marked.format("")) == {1, 2}
    assert rows(marked.format("@pytest.mark.slow\n")) == rows("ROWS = [3]") == set()
