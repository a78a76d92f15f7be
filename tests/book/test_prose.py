"""Numbers handed to the prose of a page."""

import numpy as np
import pytest

from bayeslib import BayeslibError, BayeslibTypeError, Estimate
from needles.prose import _PREFIX, record, table


@pytest.fixture
def recorded(monkeypatch):
    """What `record` shows and a page then prints, as {name: text}."""
    from myst_nb.core.variables import format_plain_text

    seen = {}

    def display(data, raw, metadata):
        assert raw
        mark = metadata["scrapbook"]
        seen[mark["name"]] = format_plain_text(data[mark["mime_prefix"] + "text/plain"], "")

    monkeypatch.setattr("IPython.display.display", display)
    return seen


def test_numbers_estimates_and_texts_are_kept(recorded):
    record(a=np.float64(0.25), b=np.array([2.0]), c=np.int64(3), d="it's \\tau")
    record(e=Estimate(4.166974, 0.0123), f=Estimate(np.array([1.0]), np.array([0.5])))
    assert recorded == {
        "a": "0.25",
        "b": "2.0",
        "c": "3",
        "d": "it's \\tau",
        "e": "4.167\u00a0±\u00a00.012",
        "f": "1.00\u00a0±\u00a00.50",
    }


def test_the_marks_are_those_of_myst_nb(recorded):
    from myst_nb.ext.glue import GLUE_PREFIX

    assert _PREFIX == GLUE_PREFIX


@pytest.mark.parametrize("value", [None, True, np.zeros(2), [1.0], object()])
def test_what_prose_cannot_print_is_refused(value):
    with pytest.raises(BayeslibTypeError, match="^x must be"):
        record(x=value)


def test_a_table_is_a_table_for_the_eye_the_ear_and_the_terminal():
    found = table(
        ["", "a < b", "seconds"],
        [["x & y", "●", 12], ["z", "", "1,234"]],
        caption="Who saw what",
        align="llr",
    )
    html = found._repr_html_()
    assert 'role="region" tabindex="0" aria-label="Who saw what"' in html
    assert "<caption>Who saw what</caption>" in html
    assert '<th scope="col">a &lt; b</th><th scope="col" class="number">' in html
    assert '<th scope="row">x &amp; y</th>' in html
    wide = table(["", "b"], [["name", "a cell of many words"]], caption="x")._repr_html_()
    assert '<td class="long">a cell' in wide and '<th scope="row">name' in wide
    assert '<td>●</td><td class="number">12</td>' in html
    lines = repr(found).splitlines()
    assert lines[0] == "Who saw what"
    assert lines[2:] == ["x & y  ●           12", "z               1,234"]


@pytest.mark.parametrize(
    ("rows", "caption", "words"),
    [([["a", "b"]], "x", "a row of 2 cells under 1 columns"), ([["a"]], " ", "caption must say")],
)
def test_a_table_that_says_nothing_or_does_not_fit_is_refused(rows, caption, words):
    with pytest.raises(BayeslibError, match=words):
        table(["one"], rows, caption=caption)
