"""Which kind of test sees which planted bug: every bug of three samplers against every kind.

`test_trust_mutants` holds each bug against the test named for it; here the others are asked too,
and what is common elsewhere: means and spreads of a run within a fixed tolerance. A study for the
page on trust, of half a minute a bug: `make record` runs it.
"""

import contextlib
import os

import numpy as np
import pytest
from densities import EXACT
from judging import judge, pvalues_of_means
from mutants import BUGS, fresh_test, planted
from recording import note
from scipy import special, stats
from verdict import ALPHA, smallest

import bayeslib as bl

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not os.environ.get("RECORD"), reason="a study: make record"),
    pytest.mark.trust("S16"),
    pytest.mark.filterwarnings("ignore::bayeslib.BayeslibWarning"),  # a bug may well be noticed
]
GAMMA = stats.loggamma(3.0)
TRUTH = bl.Truth(
    mean=np.array([1.0, 0.5]) * GAMMA.mean(),
    cov=GAMMA.var() * np.array([[1.0, 0.5], [0.5, 0.25]]) + np.diag([0.0, 0.7**2]),
)
RUNS = {
    "metropolis": lambda target: bl.metropolis(target, None, num_samples=10_000, rng=470),
    "hmc": lambda target: bl.hmc(target, num_steps=4, num_samples=5000, rng=470),
    "nuts": lambda target: bl.nuts(target, num_samples=5000, rng=470),
}


def ten_steps(file):
    return [(f"{file}.test_conserves_the_target", {"name": name}) for name in EXACT]


def frozen(sampler):
    test = "test_trust_invariance.test_adaptation_ends_with_the_warm_up"
    return [(test, {"sampler": sampler})]


_PLAIN = "test_matches_the_plain_algorithm_draw_by_draw"
_KNOWN = "test_trust_invariance.test_acceptance_of_hamiltonian_monte_carlo_on_a_normal_is_known"
_GRADIENT = "test_posteriors.test_gradient_and_fused_value_agree_with_the_plain_density"
_SWAP = "test_mcmc.test_is_reversible_and_a_drifting_proposal_is_not"
# Kind: the tests of it, each with its arguments; "mutants" is filled in.
TESTS = {
    "metropolis": {
        "ten steps": ten_steps("test_mcmc"),
        "swap": [(_SWAP, {"mutants": None})],
        "acceptance": [("test_mcmc.test_acceptance_on_a_normal_is_known", {"scale": 2.4})],
        "plain twin": [(f"test_mcmc.{_PLAIN}", {})],
        "freezing": frozen("metropolis"),
    },
    "hmc": {
        "ten steps": ten_steps("test_hmc"),
        "swap": [("test_hmc.test_is_reversible", {})],
        "acceptance": [(_KNOWN, {"step_size": 1.7, "num_steps": 3})],
        "integrator": [
            ("test_hmc.test_leapfrog_is_reversible", {"metric": "diagonal", "num_steps": 7}),
            ("test_hmc.test_leapfrog_preserves_volume", {"metric": "identity"}),
            ("test_hmc.test_leapfrog_energy_error_is_of_second_order", {"metric": "identity"}),
        ],
        "gradient": [(_GRADIENT, {"name": "banana"})],
        "plain twin": [(f"test_hmc.{_PLAIN}", {"metric": [0.5, 2.0]})],
        "freezing": frozen("hmc"),
    },
    "nuts": {
        "ten steps": ten_steps("test_nuts"),
        "swap": [("test_nuts.test_is_reversible", {"mutants": None})],
        "plain twin": [(f"test_nuts.{_PLAIN}", {"name": "gaussian2", "metric": "diagonal"}),
                       (f"test_nuts.{_PLAIN}", {"name": "funnel", "metric": "diagonal"})],
        "freezing": frozen("nuts"),
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(request):
    return request.config.cache.mkdir("mutants")


def fails(test, arguments, folder):
    """Whether a test, run as it stands, does not pass."""
    if "mutants" in arguments:
        arguments = arguments | {"mutants": folder}
    try:
        fresh_test(test)(**arguments)
    except (Exception, pytest.fail.Exception):
        return True
    return False


def seen_in_a_run(sampler):
    """What a run with defaults shows to a tolerance, to z of means, to the judge, by itself."""
    try:
        draws = RUNS[sampler](EXACT["log_gamma_normal"][0])
    except bl.BayeslibError:
        return dict.fromkeys(("tolerance", "means", "judge", "own flags"), True)
    sd = np.sqrt(np.diag(TRUTH.cov))
    off = np.abs(draws.flat.mean(axis=0) - TRUTH.mean).max()
    spread = np.abs(draws.flat.std(axis=0) / sd - 1.0).max()
    values = np.moveaxis(draws.values, 2, 0)
    means = [pvalues_of_means(v, exact) for v, exact in zip(values, TRUTH.mean, strict=True)]
    try:
        judged = smallest(judge(draws, TRUTH)) < ALPHA
    except AssertionError:
        judged = True
    return {
        "tolerance": bool(off > 0.1 or spread > 0.1),
        "means": smallest(means) < ALPHA,
        "judge": judged,
        "own flags": bool(draws.problems),
    }


CASES = [f"{sampler}: none" for sampler in TESTS]
CASES += [name for name in BUGS if name.split(":")[0] in TESTS]


@pytest.mark.parametrize("name", CASES)
def test_some_kind_sees_every_bug_and_none_sees_what_is_not_there(name, folder):
    sampler = name.split(":")[0]
    with planted(BUGS[name], folder) if name in BUGS else contextlib.nullcontext():
        seen = seen_in_a_run(sampler) | {
            kind: any(fails(test, arguments, folder) for test, arguments in tests)
            for kind, tests in TESTS[sampler].items()
        }
    note("seen", bug=name, by=seen)
    assert any(seen.values()) == (name in BUGS), seen


def test_the_truth_of_the_run_is_the_densitys():
    draws = EXACT["log_gamma_normal"][1](400_000, np.random.default_rng(471))
    error = np.sqrt(np.diag(TRUTH.cov) / len(draws))
    assert np.abs((draws.mean(axis=0) - TRUTH.mean) / error).max() < 5.6
    np.testing.assert_allclose(np.cov(draws.T), TRUTH.cov, rtol=0.02)
    assert TRUTH.mean[0] == pytest.approx(special.digamma(3.0))
