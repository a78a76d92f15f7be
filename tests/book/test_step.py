"""The step beside a page's plain cell is the library's, and every plain sampler has one."""

import json
import re

import pytest
import step
from browsing import ROOT

from bayeslib.chains.algorithm import Algorithm

CHAPTERS = ROOT / "chapters"
SHOWN = re.compile(r"```\{step\} (.+)\n")


def cells(page):
    return json.loads((CHAPTERS / f"{page}.ipynb").read_text("utf-8"))["cells"]


def on_chains(name):
    try:
        return isinstance(step.algorithm(name)[1], Algorithm)
    except AttributeError:  # no public name, or no sampler of chains
        return False


PLAIN = sorted(
    {
        (path.stem, tag.removeprefix("plain-"))
        for path in CHAPTERS.glob("*.ipynb")
        for cell in cells(path.stem)
        for tag in cell["metadata"].get("tags", [])
        if tag.startswith("plain-") and on_chains(tag.removeprefix("plain-"))
    }
)


def test_there_are_ten_plain_samplers_of_chains():
    assert len({name for _, name in PLAIN}) >= 10


@pytest.mark.parametrize(("page", "name"), PLAIN)
def test_beside_the_plain_cell_stands_the_step(page, name):
    shown = [s.split() for c in cells(page) for s in SHOWN.findall("".join(c["source"]))]
    (arguments,) = [found for found in shown if found[0] == name]
    code = step.source(*arguments)
    first = step.algorithm(name)[1].chain.step
    assert code.startswith(f"def {first.__name__}(") and first.__doc__ in code


def test_a_part_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match="has no 'acept'"):
        step.source("metropolis", "acept")
