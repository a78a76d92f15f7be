"""Planted bugs: each must be rejected by the test named for it, run as it stands."""

import pytest
from mutants import BUGS, arguments_of, fresh_test, planted
from recording import note

pytestmark = pytest.mark.trust("S16")


@pytest.fixture(scope="module")
def folder(request):
    return request.config.cache.mkdir("mutants")


@pytest.mark.filterwarnings("ignore::bayeslib.BayeslibWarning")  # a bug may well be noticed
@pytest.mark.parametrize("name", BUGS)
def test_a_planted_bug_is_rejected_by_the_test_named_for_it(name, folder):
    bug = BUGS[name]
    with planted(bug, folder):
        test = fresh_test(bug.test)
        arguments = arguments_of(test, bug.arguments, folder)
        with pytest.raises((AssertionError, pytest.fail.Exception, bug.error)):
            test(**arguments)
    note("bug", test=bug.test)


def test_no_bug_stays_behind(folder):
    """After the last mutant the test named passes again, here for a kernel and for a function."""
    for name in ("metropolis: accepts ratio^0.9", "diagnostics: ranks are not split"):
        bug = BUGS[name]
        with planted(bug, folder):
            pass
        test = fresh_test(bug.test)
        test(**arguments_of(test, bug.arguments, folder))


def test_there_are_at_least_seventeen():
    assert len(BUGS) >= 17
    assert len({(bug.module, bug.change) for bug in BUGS.values()}) == len(BUGS)
