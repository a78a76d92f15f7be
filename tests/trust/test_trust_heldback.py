"""Held-back posteriors, sampled with defaults: right within their errors, or said not to be.

One seed each; with it, were the reported errors exact, one of the 230 estimates of `nuts` would be
more than 5.5 of them off with probability 1e-5; they are estimates themselves, good to 10 or 20 %,
which makes it 1e-3. A flagged run is made again with four times the draws, since most flags ask for
more. In the study the others are run, too, and `nuts` has twenty more seeds.
"""

import functools

import numpy as np
import pytest
from heldback_models import HELD_BACK
from recording import note
from sparing import over

import bayeslib as bl

pytestmark = [
    pytest.mark.slow,
    pytest.mark.trust("M8"),
    pytest.mark.filterwarnings("ignore::bayeslib.BayeslibWarning"),
]
LIMIT = 5.5
SAMPLERS = {
    "nuts": {},
    "hmc": {"num_steps": 10},
    "metropolis": {"initial_position": None},
    "slice_sample": {},
    "parallel_tempering": {},
}
EASY = [name for name, (_, _, demanding) in HELD_BACK.items() if not demanding]
OTHERS = [(sampler, name) for name in HELD_BACK for sampler in list(SAMPLERS)[1:]]


@functools.cache
def run(sampler, name, seed=450, **more):
    """Draws with defaults, or None where the library refuses to return any."""
    try:
        return getattr(bl, sampler)(HELD_BACK[name][0], rng=seed, **SAMPLERS[sampler], **more)
    except bl.ImproperError:
        return None


def errors(draws, facts, shift=0.0):
    """Return |z| of each fact; `shift` wrongs each truth by so many spreads."""
    z = [draws.expect(f).z(truth + shift * np.std(f(draws.flat))) for _, f, truth in facts]
    return np.abs(np.array(z, dtype=float))


def spreads(draws, facts):
    """Return by how many spreads of its draws the worst fact is off, of those that vary."""
    given = [(f(draws.flat), truth) for _, f, truth in facts]
    return max([abs(np.mean(x) - truth) / np.std(x) for x, truth in given if np.ptp(x)], default=0)


def right_or_flagged(sampler, name, **more):
    draws, facts = run(sampler, name, **more), HELD_BACK[name][1]
    what = {"what": "longer" if more else "heldback", "sampler": sampler, "name": name}
    if draws is None:
        note(**what, said="refused")
        return True
    z = errors(draws, facts)
    said = "flagged" if draws.problems else "trusted"
    note(**what, said=said, z=z.max(), count=z.size, squares=z @ z, sds=spreads(draws, facts),
         short=any("ESS" in problem for problem in draws.problems))  # fmt: skip
    if draws.problems and not more:
        return right_or_flagged(sampler, name, num_samples=4000)
    return bool(draws.problems) or bool(np.all(z <= LIMIT))


@pytest.mark.parametrize("name", HELD_BACK)
def test_nuts_is_right_or_says_that_it_is_not(name):
    assert right_or_flagged("nuts", name)


@over(("sampler", "name"), OTHERS, few=16, rest=pytest.mark.study)
def test_the_others_are_right_or_say_that_they_are_not(sampler, name):
    assert right_or_flagged(sampler, name)


@pytest.mark.study
@pytest.mark.parametrize("name", HELD_BACK)
def test_nuts_is_right_or_says_that_it_is_not_over_twenty_seeds(name):
    runs = [run.__wrapped__("nuts", name, seed) for seed in range(20)]
    silent = [errors(draws, HELD_BACK[name][1]) for draws in runs if draws and not draws.problems]
    wrong = sum(not np.all(z <= LIMIT) for z in silent)
    z = max(map(np.max, silent), default=0.0)
    note("seeds", name=name, runs=len(runs), silent=len(silent), wrong=wrong, z=z)
    assert not wrong


def test_wrong_truths_are_noticed():
    """Half a spread off, where nothing is flagged: what is said to be right has been measured."""
    said_right = [name for name in EASY if not run("nuts", name).problems]
    assert len(said_right) >= len(EASY) - 8
    for name in said_right:
        assert not np.any(errors(run("nuts", name), HELD_BACK[name][1], 0.5) <= LIMIT), name


def test_few_alarms_are_false():
    """Over five seeds 13 % of these runs were flagged, all right, and half of them for good cause.

    (A sample size below 400.) Two of the 24 are always flagged, the others in 5 %: more than eight
    with probability 1e-4.
    """
    flagged = {name: run("nuts", name).problems for name in EASY if run("nuts", name).problems}
    assert len(flagged) <= 8, flagged
    assert len(EASY) >= 24


def peak_within(theta):
    """Half of the mass within 0.02 of the middle of the other half."""
    square = np.sum(theta**2)
    return np.logaddexp(-0.5 * square, -0.5 * square / 0.02**2 - 4.0 * np.log(0.02))


def test_a_peak_that_no_start_leads_to_stays_unseen():
    """What no draw has seen, none can tell of: the limit of all that is tested here."""
    draws = bl.nuts(bl.Target(peak_within, dim=4), rng=451)
    assert draws.problems == ()
    assert draws.expect(lambda x: x[:, 0] ** 2).z(0.5 + 0.5 * 0.02**2) > 2.0 * LIMIT
