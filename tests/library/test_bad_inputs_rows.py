"""Every row of the table of bad inputs has a test that runs."""

import json
import subprocess
import sys
from pathlib import Path

from bad_inputs import ROWS

TESTS = Path(__file__).parents[1]


def missing_rows(files):
    """The rows that none of the tests in `files` carries, as pytest itself collects them."""
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-qq", "-p", "bad_inputs",
         "-p", "no:cacheprovider", "-m", "row and not slow", *files],
        cwd=TESTS.parent, capture_output=True, text=True,
    )  # fmt: skip
    (line,) = [line for line in run.stdout.splitlines() if line.startswith("ROWS ")]
    carried = {int(row) for row in json.loads(line.removeprefix("ROWS "))}
    assert carried <= set(ROWS), "a test carries a row that the table has not"
    return {row: what for row, what in ROWS.items() if row not in carried}


def test_every_row_has_a_test():
    files = [str(path) for path in TESTS.glob("*/test_*.py") if "mark.row(" in path.read_text()]
    assert set(ROWS) == set(range(1, 61))
    assert missing_rows(files) == {}


def test_a_row_without_a_test_would_be_missed():
    missing = missing_rows([str(TESTS / "library/test_diagnostics.py")])
    assert set(missing) == set(ROWS) - {44}
