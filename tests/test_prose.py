"""Numbers handed to the prose of a page."""

import numpy as np
import pytest

from bayeslib import BayeslibTypeError, Estimate
from bayeslib.prose import record


@pytest.fixture
def recorded(monkeypatch):
    """What `record` shows, as {name: text}."""
    seen = {}

    def display(data, raw, metadata):
        assert raw
        mark = metadata["scrapbook"]
        seen[mark["name"]] = data[mark["mime_prefix"] + "text/plain"]

    monkeypatch.setattr("IPython.display.display", display)
    return seen


def test_numbers_estimates_and_texts_are_kept(recorded):
    record(a=np.float64(0.25), b=np.array([2.0]), c=np.int64(3), d="word")
    record(e=Estimate(4.166974, 0.0123), f=Estimate(np.array([1.0]), np.array([0.5])))
    assert recorded == {
        "a": "0.25",
        "b": "2.0",
        "c": "3",
        "d": "'word'",
        "e": "'4.167\u00a0±\u00a00.012'",
        "f": "'1.00\u00a0±\u00a00.50'",
    }


def test_the_marks_are_those_of_myst_nb(recorded):
    from myst_nb.ext.glue import GLUE_PREFIX

    from bayeslib import prose

    assert prose._PREFIX == GLUE_PREFIX


@pytest.mark.parametrize("value", [None, True, np.zeros(2), [1.0], object()])
def test_what_prose_cannot_print_is_refused(value):
    with pytest.raises(BayeslibTypeError, match="^x must be"):
        record(x=value)
