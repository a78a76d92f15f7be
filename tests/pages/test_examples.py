"""The reference: an entry for every public name, and an example in every entry that runs."""

import doctest
import inspect
import re
from pathlib import Path

import numpy as np
import pytest
import reference

import bayeslib as bl
from bayeslib import posteriors
from needles import ask, check, explore, plots
from needles.arena import arena

CHAPTERS = Path(__file__).parents[2] / "chapters"
DRAWINGS = ("figure", "label", "mark_truth", "plot_draws", "plot_target", "show")
# Their methods are what readers call most: each has an example of its own.
EVERY_METHOD = ("bayeslib.Draws", "bayeslib.Estimate", "bayeslib.Gaussian", "bayeslib.Target")
# What kernels call on a target.
INNER = {"bind", "bind_to", "explain", "finite", "many_with_gradient", "verify"}
ENTRIES = reference.find_entries(CHAPTERS)
NUMBER = r"(?<![\w.])[-+]?\d+(?:\.\d*)?(?:e[-+]?\d+)?"
ESTIMATE = re.compile(rf"({NUMBER})(?: ± ({NUMBER}))?", re.IGNORECASE)


def public():
    """Return the full names that the reference must have."""
    names = {f"bayeslib.{name}" for name in bl.__all__}
    names |= {f"bayeslib.posteriors.{name}" for name in posteriors.__all__}
    names |= {f"needles.{name}" for name in ("ask", "check", "explore", "arena.arena")}
    return names | {f"needles.plots.{name}" for name in DRAWINGS}


def methods(name):
    """Return the public methods of a class, by full name."""
    found = vars(reference.resolve(name)).items()
    return {
        f"{name}.{key}": value
        for key, value in found
        if inspect.isfunction(value) and key[0] != "_" and key not in INNER
    }


def examples():
    """Return what must have an example, full name -> object."""
    things = {name: reference.resolve(name) for name in ENTRIES}
    for name in EVERY_METHOD:
        things |= methods(name)
    return things


THINGS = examples()


def example_of(thing):
    """Return the example in a docstring, '' if there is none that prints something."""
    text = (inspect.getdoc(thing) or "").partition("\nExamples\n--------\n")[2]
    parsed = doctest.DocTestParser().get_examples(text)
    return text if any(example.want for example in parsed) else ""


def same(want, got):
    """Tell whether two texts agree, numbers with a point to one and a half of the last digit.

    An estimate may differ by its standard error, which has two digits, and that by a third: other
    processors round otherwise, and chains that round otherwise part.
    """
    want, got = (re.sub(r"(?<=\[) | (?=\])", "", " ".join(t.split())) for t in (want, got))
    if ESTIMATE.sub("#", want) != ESTIMATE.sub("#", got):
        return False
    return all(map(near, ESTIMATE.findall(want), ESTIMATE.findall(got)))


def near(want, got):
    (want, error), (got, other) = want, got
    if error and float(error):
        room = float(error)
        if len(error.replace(".", "").strip("0")) > 2:
            return False
        return abs(float(want) - float(got)) <= room and 0.67 < float(other) / room < 1.5
    if "." not in want:
        return want == got
    digits, _, exponent = want.lower().partition("e")
    unit = 10.0 ** (int(exponent or 0) - len(digits.partition(".")[2]))
    return abs(float(want) - float(got)) <= 1.5 * unit


class Printed(doctest.OutputChecker):
    """Compares what is printed as `same` does."""

    def check_output(self, want, got, optionflags):
        return same(want, got)


def failures(text, name="example"):
    """Run an example and return what went wrong, '' if nothing did."""
    names = {"np": np, "bl": bl, "__name__": "__main__"}
    names |= {"arena": arena, "ask": ask, "check": check, "explore": explore, "plots": plots}
    test = doctest.DocTestParser().get_doctest(text, names, name, None, 0)
    said = []
    runner = doctest.DocTestRunner(checker=Printed(), verbose=False)
    runner.run(test, out=said.append)
    return "".join(said)


def test_every_public_name_is_an_entry():
    assert public() <= set(ENTRIES)
    assert len(ENTRIES) > 100
    for name in set(ENTRIES) - public():  # the rest are classes that entries return
        assert inspect.isclass(reference.resolve(name)) or name.endswith(".as_proposal"), name


def test_what_entries_return_is_an_entry():
    known = {reference.title(name) for name in ENTRIES}
    returned = {word for thing in THINGS.values() for word in reference.returned(thing)}
    assert {"Draws", "Grid", "Verdict"} <= returned
    assert {word for word in returned if word[0].isupper()} <= known


@pytest.mark.parametrize("name", THINGS)
def test_the_example_runs(name):
    text = example_of(THINGS[name])
    assert text, f"{name} has no example"
    if said := failures(text, name):
        pytest.fail(said)


def test_an_entry_without_example_is_noticed():
    bare = type("Bare", (), {"__doc__": "Do nothing.\n\nExamples\n--------\n>>> x = 1\n"})
    assert not example_of(bare) and not example_of(lambda: None)


def test_a_wrong_example_is_noticed():
    assert not failures(">>> print(np.round(2 / 3, 2))\n0.67\n")
    assert "Expected" in failures(">>> print(np.round(2 / 3, 2))\n0.69\n")
    assert "NameError" in failures(">>> nothing\n1\n")
    assert "Expected nothing" in failures(">>> 1 + 1\n")


@pytest.mark.parametrize(
    ("want", "got", "agree"),
    [
        ("3.14", "3.15", True),
        ("3.14", "3.16", False),
        ("[ 0.1 -2.0]", "[0.1 -2.]", True),
        ("-0.1", "0.1", False),
        ("1.5e-3", "1.6e-3", True),
        ("1.5e-3", "1.5e-2", False),
        ("1000", "1001", False),
        ("x2 is 1.0", "x3 is 1.0", False),
        ("nan", "1.0", False),
        ("True", "False", False),
        ("[3.50 ± 0.22]", "[3.53 ± 0.24]", True),
        ("3.50 ± 0.02", "3.53 ± 0.02", False),
        ("3.50 ± 0.20", "3.50 ± 0.40", False),
        ("3.50 ± 0", "3.51 ± 0", True),
        ("3.500 ± 0.216", "3.50 ± 0.22", False),
    ],
)
def test_numbers_agree_to_the_last_digit(want, got, agree):
    assert same(want, got) == agree
