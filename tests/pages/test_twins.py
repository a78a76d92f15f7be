"""A page's definitions are found by name, wherever they stand, and with what they need."""

import json
from itertools import permutations

import pytest
import twins

CELLS = (
    "import numpy as np\nfrom pathlib import Path",
    "rng = np.random.default_rng(1)\nfirst = rng.random()\nsecond = rng.random()",
    "def half(x):\n    return scale * x\n\nscale = 0.5\n%time half(2)\nraise ValueError",
    "table = {}\nfor name in ('a', 'b'):\n    table[name] = half(len(table))\nname = 3",
    "matrix = np.ones((2, 2))\nnp.fill_diagonal(matrix, 0)\nmatrix[0, 1] += 1",
    "def twice(x):\n    ...\n",
    "def twice(x):\n    return 2 * x / half(1) / 2",
)


@pytest.fixture
def page(tmp_path, monkeypatch):
    """Return ``page(name, cells)``: what `twins.page` finds on a page of these cells."""
    monkeypatch.setattr(twins, "CHAPTERS", tmp_path)

    def write(name, cells):
        found = [{"cell_type": "code", "source": source, "metadata": {}} for source in cells]
        (tmp_path / f"{name}.ipynb").write_text(json.dumps({"cells": found}), "utf-8")
        return lambda *names: twins.page(name, *names)

    return write


def test_cells_may_stand_in_any_order_in_which_they_run(page):
    first, *middle, early, last = CELLS
    for number, order in enumerate(permutations(middle)):
        if order.index(middle[1]) < order.index(middle[2]):
            names = page(f"page-{number}", [first, *order, early, last])
            half, table, matrix = names("half", "table", "matrix")
            assert half(3) == 1.5 and table == {"a": 0.0, "b": 0.5}
            assert matrix.tolist() == [[0, 2], [1, 0]]
            assert names("twice")(3) == 6.0, "the last of two"
            assert names("second") == pytest.approx(0.9504636963259353), "the second draw"


def test_a_wrong_name_is_told_the_right_ones(page):
    with pytest.raises(NameError, match=r"lost has no \['scales'\]; it has .*half, .*scale, "):
        page("lost", CELLS)("half", "scales")
