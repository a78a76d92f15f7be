"""The step beside a page's plain cell is the library's, and every plain sampler has one."""

import re

import pytest
import step
from prose import CHAPTERS, cells, markdown, notebooks

from bayeslib.chains.algorithm import Algorithm

SHOWN = re.compile(r"```\{library-step\} (.+)\n")


def on_chains(name):
    try:
        return isinstance(step.algorithm(name)[1], Algorithm)
    except AttributeError:  # no public name, or no sampler of chains
        return False


PLAIN = {}
for path in notebooks():
    for cell in cells(path):
        for tag in sorted(cell.tags):
            if tag.startswith("plain-") and on_chains(tag.removeprefix("plain-")):
                PLAIN.setdefault(tag.removeprefix("plain-"), set()).add(path.stem)


def test_there_are_ten_plain_samplers_of_chains():
    assert len(PLAIN) >= 10


@pytest.mark.parametrize("name", PLAIN)
def test_beside_a_plain_cell_stands_the_step(name):
    texts = (markdown(CHAPTERS / f"{page}.ipynb") for page in PLAIN[name])
    found = [arguments.split() for text in texts for arguments in SHOWN.findall(text)]
    (arguments,) = [arguments for arguments in found if arguments[0] == name]
    code, first = step.source(*arguments), step.algorithm(name)[1].chain.step
    assert code.startswith(f"def {first.__name__}(") and first.__doc__ in code


def test_a_part_that_is_not_there_is_refused():
    with pytest.raises(AttributeError, match="has no attribute 'acept'"):
        step.source("metropolis", "acept")
