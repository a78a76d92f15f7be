"""The book's posteriors of real data, sampled by NUTS, against exact truth."""

import pytest
from judging import judge
from recording import note
from registry import scaled
from verdict import fails, passes

import bayeslib as bl
from bayeslib import posteriors

pytestmark = [pytest.mark.slow, pytest.mark.trust("M2")]

BOOK = {
    "eight_schools": posteriors.eight_schools(centered=False),
    "pumps": posteriors.pumps(),
    "coal_mining": posteriors.coal_mining(),
    "challenger": posteriors.challenger(),
}
# What the warning of a run with defaults advises; the others need nothing.
OPTIONS = {"eight_schools": {"target_accept": 0.95}}
SIZE = 5000


def check_of(name, target, truth):
    options = OPTIONS.get(name, {})
    return lambda rng, size: judge(bl.nuts(target, num_samples=size, rng=rng, **options), truth)


@pytest.mark.parametrize("name", BOOK)
def test_nothing_speaks_against_a_run(name):
    draws = bl.nuts(BOOK[name], rng=440, **OPTIONS.get(name, {}))
    assert bl.ess(draws).min() >= 400.0 and bl.ess(draws, kind="tail").min() >= 400.0
    assert bl.rhat(draws).max() < 1.01
    assert draws.stats["diverging"].sum() == 0
    assert draws.problems == ()


@pytest.mark.study
@pytest.mark.filterwarnings("ignore:.*diverged")
@pytest.mark.parametrize("name", OPTIONS)
def test_defaults_that_do_not_suffice_are_said_not_to(name):
    runs = [bl.nuts(BOOK[name], rng=seed) for seed in range(100)]
    diverging = [run.stats["diverging"].sum() for run in runs]
    flagged = sum(bool(run.problems) for run in runs)
    note("defaults", name=name, runs=len(runs), flagged=flagged)
    assert 0 < sum(diverging) < 0.001 * 100 * 4000
    for run, count in zip(runs, diverging, strict=True):
        assert any("diverged" in problem for problem in run.problems) == (count > 0)


@pytest.mark.fresh
@pytest.mark.filterwarnings("ignore:.*diverged")  # one of 20,000 draws may
@pytest.mark.parametrize("name", BOOK)
def test_means_variances_and_tails_are_the_exact_ones(name):
    target = BOOK[name]
    assert passes(check_of(name, target, target.truth), name=f"nuts {name}", size=SIZE)


@pytest.mark.filterwarnings("ignore:.*diverged")
@pytest.mark.parametrize("name", BOOK)
def test_a_posterior_slightly_too_narrow_is_found_out(name):
    target = BOOK[name]
    wrong = scaled(target, 1.25)
    assert fails(check_of(name, wrong, target.truth), name=f"nuts {name}", size=SIZE)
