"""Planted bugs: each must be rejected by the test named for it, run as it stands."""

import pkgutil

import pytest
from bugs import BUGS, FEW, SELDOM
from planting import arguments_of, fresh_test, planted
from recording import measured, note

pytestmark = pytest.mark.trust("S16")
MARKS = dict.fromkeys(BUGS, [pytest.mark.slow]) | dict.fromkeys(FEW, [])
MARKS |= dict.fromkeys(SELDOM, [pytest.mark.slow, pytest.mark.study])


@pytest.mark.filterwarnings("ignore::bayeslib.BayeslibWarning")  # a bug may well be noticed
@pytest.mark.parametrize("name", [pytest.param(n, marks=marks) for n, marks in MARKS.items()])
def test_a_planted_bug_is_rejected_by_the_test_named_for_it(name):
    bug = BUGS[name]
    with planted(bug) as found:
        test = fresh_test(bug.test)
        arguments = arguments_of(test, bug.arguments)
        with pytest.raises((AssertionError, pytest.fail.Exception, bug.error)):
            test(**arguments)
    note("bug", test=bug.test)
    for what, kept in found.get("measured", {}).items():
        largest = kept.get("within", [0.0])[0]
        if largest > kept["limit"]:
            measured(what, largest, kept["limit"], right=False)


def test_no_bug_stays_behind():
    """After the last bug the test named passes again, here for a kernel and for a function."""
    for name in ("temperatures: a little uphill is free", "diagnostics: ranks are not split"):
        bug = BUGS[name]
        with planted(bug):
            pass
        test = fresh_test(bug.test)
        test(**arguments_of(test, bug.arguments))


def test_there_are_at_least_seventeen():
    """And what each would spoil is there, so that a name which moves is noticed at once."""
    assert len(BUGS) >= 17
    assert all(pkgutil.resolve_name(bug.where) for bug in BUGS.values())
    told = {(bug.where, id(bug.wrong), bug.test, str(bug.arguments)) for bug in BUGS.values()}
    assert len(told) == len(BUGS)
