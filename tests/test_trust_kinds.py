"""Which kind of test sees which planted bug: every bug of three samplers against every kind.

`test_trust_mutants` holds each bug against the test named for it; here the others are asked too,
and what is common elsewhere: means and spreads of a run within a fixed tolerance. A kind in which
the bug changes no number was not shown it, and is left out of its row. A study for the page on
trust, of half a minute a bug: `make record` runs it.
"""

import dataclasses
import functools
import hashlib
import inspect

import densities
import numpy as np
import pytest
from judging import judge, pvalues_of_means
from mutants import BUGS, fresh_test, planted
from recording import note, unheard
from scipy import special, stats
from verdict import ALPHA, smallest

import bayeslib as bl

pytestmark = [
    pytest.mark.slow,
    pytest.mark.study,
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
    return [(f"{file}.test_conserves_the_target", {"name": name}) for name in densities.EXACT]


def frozen(sampler):
    test = "test_trust_invariance.test_adaptation_ends_with_the_warm_up"
    return [(test, {"sampler": sampler})]


_PLAIN = "test_matches_the_plain_algorithm_draw_by_draw"
_KNOWN = "test_trust_invariance.test_acceptance_of_hamiltonian_monte_carlo_on_a_normal_is_known"
_GRADIENT = "test_engine.test_every_exact_density_has_the_gradient_it_claims"
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
        "gradient": [(_GRADIENT, {})],
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


def trace(value):
    """Yield the numbers in what a function returned, as text or bytes."""
    if isinstance(value, np.ndarray):
        yield value.tobytes()
    elif isinstance(value, (bool, int, float, np.generic)):
        yield repr(value).encode()
    elif isinstance(value, (list, tuple, dict)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from trace(item)
    elif dataclasses.is_dataclass(value):
        yield from trace(vars(value))


def digest(value):
    return hashlib.sha256(b"|".join(trace(value))).hexdigest()


def kept(function, found):
    """The same function, which adds a digest of what it returns to `found`."""

    @functools.wraps(function)
    def watched(*args, **kwargs):
        result = function(*args, **kwargs)
        found.append(digest(result))
        return result

    return watched


def result_of(test, arguments, folder):
    """Whether a test, run as it stands, does not pass, and what the library gave it, as digests."""
    if "mutants" in arguments:
        arguments = arguments | {"mutants": folder}
    function, found = fresh_test(test), []
    names = function.__globals__
    for name, value in list(names.items()):
        if inspect.isfunction(value) and value.__module__.split(".")[0] in ("bayeslib", "stepping"):
            names[name] = kept(value, found)
    try:
        function(**arguments)
    except (Exception, pytest.fail.Exception):
        return True, found
    return False, found


def rejects(find):
    """Whether the p-values that `find` returns are too small, or could not be had."""
    try:
        return smallest(find()) < ALPHA
    except AssertionError:
        return True


def results_of_a_run(sampler):
    """What a run with defaults shows to a tolerance, to z of means, to the judge, by itself.

    A run that is refused shows itself only. With each, what the library gave, as a digest.
    """
    try:
        draws = RUNS[sampler](densities.EXACT["log_gamma_normal"][0])
    except bl.BayeslibError:
        return {"own flags": (True, "refused")}
    sd = np.sqrt(np.diag(TRUTH.cov))
    off = np.abs(draws.flat.mean(axis=0) - TRUTH.mean).max()
    spread = np.abs(draws.flat.std(axis=0) / sd - 1.0).max()
    values = np.moveaxis(draws.values, 2, 0)
    each = [*zip(values, TRUTH.mean, strict=True)]
    seen = {
        "tolerance": not (off < 0.1 and spread < 0.1),
        "means": rejects(lambda: [pvalues_of_means(v, exact) for v, exact in each]),
        "judge": rejects(lambda: judge(draws, TRUTH)),
        "own flags": bool(draws.problems),
    }
    return {kind: (noticed, digest(draws)) for kind, noticed in seen.items()}


def results(sampler, folder):
    """Of every kind: whether its tests noticed something, and what the library gave them."""
    with unheard():
        found = results_of_a_run(sampler)
        for kind, tests in TESTS[sampler].items():
            each = [result_of(test, arguments, folder) for test, arguments in tests]
            found[kind] = any(noticed for noticed, _ in each), [given for _, given in each]
    return found


results_without_bug = functools.cache(results)


def shown(found, right):
    """Of the kinds to which a bug showed, in numbers or as a failure: whether they noticed it."""
    return {
        kind: noticed for kind, (noticed, given) in found.items()
        if noticed or given != right[kind][1]
    }  # fmt: skip


# Left out: all that is proposed counts as accepted, so a scale that is learned grows until nothing
# is, and the run never ends.
ENDLESS = {"metropolis: a rejected state is not repeated"}
CASES = [f"{sampler}: none" for sampler in TESTS]
CASES += [name for name in BUGS if name.split(":")[0] in TESTS and name not in ENDLESS]


@pytest.mark.parametrize("name", CASES)
def test_some_kind_sees_every_bug_and_none_sees_what_is_not_there(name, folder):
    sampler = name.split(":")[0]
    right = results_without_bug(sampler, folder)
    if name in BUGS:
        with planted(BUGS[name], folder):
            seen = shown(results(sampler, folder), right)
    else:
        seen = {kind: noticed for kind, (noticed, _) in right.items()}
        assert not shown(results(sampler, folder), right), "what nothing changes is not shown"
    note("seen", bug=name, by=seen)
    assert any(seen.values()) == (name in BUGS), seen


def test_the_truth_of_the_run_is_the_densitys():
    draws = densities.EXACT["log_gamma_normal"][1](400_000, np.random.default_rng(471))
    error = np.sqrt(np.diag(TRUTH.cov) / len(draws))
    assert np.abs((draws.mean(axis=0) - TRUTH.mean) / error).max() < 5.6
    np.testing.assert_allclose(np.cov(draws.T), TRUTH.cov, rtol=0.02)
    assert TRUTH.mean[0] == pytest.approx(special.digamma(3.0))
