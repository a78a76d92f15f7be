"""The plain cells of the pages, run for themselves."""

import json
from functools import cache
from pathlib import Path

import numpy as np

CHAPTERS = Path(__file__).parents[2] / "chapters"


@cache
def plain_twin(page, name):
    """Run the page's cells tagged ``plain-<name>`` and return the function they define."""
    notebook = json.loads((CHAPTERS / f"{page}.ipynb").read_text())
    cells = [c for c in notebook["cells"] if f"plain-{name}" in c["metadata"].get("tags", ())]
    assert cells, f"{page} has no cell tagged plain-{name}"
    for cell in cells:
        lines = [line for line in "".join(cell["source"]).splitlines() if line.strip()]
        assert len(lines) <= 20, f"a plain cell of {name} has {len(lines)} lines, more than 20"
    namespace = {"np": np}
    exec("\n".join("".join(c["source"]) for c in cells), namespace)
    return namespace[name]
