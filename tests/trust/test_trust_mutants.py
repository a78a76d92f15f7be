"""Planted bugs: each must be rejected by the test named for it, run as it stands."""

import mutants
import pytest
from bugs import BUGS, FEW
from planting import arguments_of, fresh_test, planted
from recording import note
from sparing import over

pytestmark = pytest.mark.trust("S16")


@pytest.mark.filterwarnings("ignore::bayeslib.BayeslibWarning")  # a bug may well be noticed
@over("name", [*FEW, *(name for name in BUGS if name not in FEW)], few=len(FEW))
def test_a_planted_bug_is_rejected_by_the_test_named_for_it(name):
    bug = BUGS[name]
    with planted(bug):
        test = fresh_test(bug.test)
        arguments = arguments_of(test, bug.arguments)
        with pytest.raises((AssertionError, pytest.fail.Exception, bug.error)):
            test(**arguments)
    note("bug", test=bug.test)


@pytest.mark.filterwarnings("ignore::bayeslib.BayeslibWarning")
@pytest.mark.parametrize("name", mutants.BUGS)
def test_a_bug_of_replaced_text_is_rejected_by_the_test_named_for_it(name, tmp_path):
    bug = mutants.BUGS[name]
    with mutants.planted(bug, tmp_path):
        test = mutants.fresh_test(bug.test)
        arguments = mutants.arguments_of(test, bug.arguments, tmp_path)
        with pytest.raises((AssertionError, pytest.fail.Exception, bug.error)):
            test(**arguments)
    note("bug", test=bug.test)


def test_no_bug_stays_behind():
    """After the last bug the test named passes again."""
    for name in ("metropolis: accepts ratio^0.9",):
        bug = BUGS[name]
        with planted(bug):
            pass
        test = fresh_test(bug.test)
        test(**arguments_of(test, bug.arguments))


def test_there_are_at_least_seventeen():
    assert len(BUGS) + len(mutants.BUGS) >= 17
    assert len({(bug.where, bug.wrong) for bug in BUGS.values()}) == len(BUGS)
