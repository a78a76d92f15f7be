"""No method is wrong without a word: posteriors held back, and models from outside.

Were a method right, and its errors exact, a mean would be six of them off with probability 2e-9,
and one of the 10,000 coordinates judged here with probability 2e-5. What is known to slip through
is listed, with what was measured, and not judged more mildly: it must still slip through.
"""

import numpy as np
import pytest
from answers import METHODS, answer
from outside_models import OUTSIDE
from recording import note
from twins import quiet

import bayeslib as bl

pytestmark = [pytest.mark.trust("M8"), quiet]
SEEDS = range(5)

# (method, posterior): what was measured, with the first seed unless another is named.
KNOWN = {
    # A narrow mode that holds 0.7 of the mass, 33 of its own sds from all that is looked at.
    ("laplace", "two modes in 2, unequal"): "mean 1.50 sds off, sd 0.30 of the true one",
    ("laplace", "two modes in 5, unequal"): "mean 1.47 sds off, sd 0.47 of the true one",
    ("importance from laplace", "two modes in 2, unequal"): "mean 1.51 sds, 357 errors off",
    ("importance from laplace", "two modes in 5, unequal"): "mean 1.47 sds, 222 errors off",
    ("adaptive importance", "two modes in 5, unequal"): "mean 1.48 sds, 186 errors off",
    ("nuts", "two modes in 1, unequal"): "mean 1.51 sds, 278 errors off",
    ("nuts", "two modes in 2, unequal"): "mean 1.50 sds, 333 errors off",
    ("nuts", "two modes in 5, unequal"): "mean 1.47 sds, 253 errors off",
    # A valley 0.1 wide and bent: its arms are not reached.
    ("multipathfinder", "heldback: valley"): "mean 0.63 sds, 65 errors off",
    # An evidence that does not exist is stated with an error.
    ("adaptive importance", "heldback: no integral"): "log evidence 3.30 ± 0.10",
    # 103 dimensions.
    ("smc", "stochastic volatility"): "log evidence 0.66 nats, more than six errors off",
}

AROUND_ZERO = ["half normal, no guard", "heldback: cauchy at 3", "own: autoregression"]
# Of make test: where each method has been wrong, or is tempted to be, at little cost.
QUICK = {
    "laplace": ["exp(1)", "t3 in 1", "banana", "heldback: moyal", "two modes in 1, unequal"],
    "advi": ["two modes in 1, equal", "own: gaussian_process", "banana", "heldback: valley"],
    "advi, full rank": ["two modes in 1, equal", "zero inflated", "heldback: moyal"],
    "bbvi": ["two modes in 1, equal", "own: ordinal", "heldback: groups, non-centred"],
    "pathfinder": ["exp(1)", "t5 in 1", "heldback: rayleigh"],
    "multipathfinder": ["exp(1)", "two modes in 1, unequal", "heldback: cauchy at 3"],
    "importance": AROUND_ZERO,
    "importance from laplace": ["t3 in 1", "heldback: moyal", "two modes in 1, unequal"],
    "importance from advi": ["t3 in 1", "heldback: moyal", "two modes in 1, unequal"],
    "resample": AROUND_ZERO,
    "adaptive importance": AROUND_ZERO,
    "annealed importance": AROUND_ZERO,
    "smc": ["half normal, no guard", "heldback: cauchy at 3", "two modes in 1, unequal"],
    "nuts": ["banana", "heldback: cauchy at 3", "two modes in 1, equal"],
}
# The others take longer, and are judged with the five seeds.
SMALL = [name for name, target in OUTSIDE.items() if target.dim <= 3]

# Where a flag would be false. Posteriors of one peak, as good as Gaussian (in coordinates of the
# whole line): fits are within a tenth of their spreads. In 20 dimensions weights of draws from a
# Gaussian twice as wide are worth nothing, and are said to be; smc copes.
GAUSSIANS = ["book: gaussian", "book: gaussian in 5", "book: linear regression"]
NEARLY = ["book: coal mines", "probit", "zero inflated"]
NEARLY += ["own: autoregression", "own: poisson", "own: robust"]
FEW = [*GAUSSIANS, "book: O-rings", "book: coal mines", "book: coin", "book: running example"]
EASY = {
    "laplace": [*GAUSSIANS, "book: gaussian in 20", *NEARLY],
    # of independent parameters
    "advi": ["book: gaussian", "book: coal mines", "book: coin", "own: change_point"],
    "advi, full rank": [*GAUSSIANS, "book: gaussian in 20", *NEARLY],
    "bbvi": ["book: gaussian", "book: coal mines", "book: coin", "own: change_point"],
    "pathfinder": [*GAUSSIANS, "book: gaussian in 20", *NEARLY],
    "multipathfinder": [*GAUSSIANS, "book: gaussian in 20", *NEARLY],
    "importance": FEW,
    "importance from laplace": [*GAUSSIANS, "probit", "own: poisson", "own: autoregression"],
    "importance from advi": [*GAUSSIANS, "probit", "own: poisson", "own: autoregression"],
    "resample": FEW,
    "adaptive importance": FEW,
    "annealed importance": FEW,
    "smc": [*FEW, "book: gaussian in 20"],
    "nuts": [*GAUSSIANS, "book: gaussian in 20", *NEARLY],
}
ONE_IN = 50
MORE = {"importance from advi": 2}  # k-hat is 0.80 with one seed of the autoregression


def silent(method, names, seed):
    """Return the answers that are wrong without a word, but for those known."""
    given = {name: answer(method, name, seed) for name in names}
    wrong = [a for a in given.values() if a.wrong]
    unsaid = {name: a for name, a in given.items() if a.silently_wrong}
    counts = {"wrong": len(wrong), "silent": len(unsaid), "runs": len(given)}
    counts["unflagged"] = sum(not a.flagged for a in given.values())
    note("outside", method=method, seed=seed, **counts, names=sorted(unsaid))
    return {name: a for name, a in unsaid.items() if (method, name) not in KNOWN}


@pytest.mark.parametrize("method", METHODS)
def test_it_is_right_or_says_that_it_is_not(method):
    assert not silent(method, QUICK[method], 0)
    # and without a verdict it would be refused: of these answers one is wrong
    given = [answer(method, name, 0)._replace(problems=(), refused="") for name in QUICK[method]]
    assert any(a.silently_wrong for a in given)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_it_is_right_or_says_that_it_is_not_on_the_small(method):
    assert not silent(method, SMALL, 0)


@pytest.mark.slow
@pytest.mark.study
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("method", METHODS)
def test_it_is_right_or_says_that_it_is_not_over_seeds(method, seed):
    assert not silent(method, OUTSIDE, seed)


@pytest.mark.slow
@pytest.mark.study
@pytest.mark.parametrize(("method", "name"), KNOWN)
def test_what_is_known_to_slip_through_still_does(method, name):
    assert any(answer(method, name, seed).silently_wrong for seed in SEEDS)


def flags(method, seeds):
    """Return (name, seed, what was said) of each flag on an easy posterior, and the runs."""
    given = {(name, s): answer(method, name, s) for name in EASY[method] for s in seeds}
    return [(*k, a.problems, a.refused) for k, a in given.items() if a.flagged], len(given)


@pytest.mark.slow
def test_few_flags_are_false():
    """Of about a hundred runs one in fifty at most, over all methods."""
    found = [flags(method, SEEDS[:1]) for method in METHODS]
    false = [flag for given, _ in found for flag in given]
    assert len(false) <= sum(runs for _, runs in found) / ONE_IN, false


@pytest.mark.slow
@pytest.mark.study
@pytest.mark.parametrize("method", METHODS)
def test_few_flags_of_a_method_are_false(method):
    false, runs = flags(method, SEEDS)
    assert len(false) <= max(MORE.get(method, 1), runs / ONE_IN), false


def test_accusing_by_khat_of_few_draws_would_be_refused():
    """Where weights are nearly equal it is noise: of fits that are right it accuses several."""
    accused = 0
    for name in EASY["advi, full rank"]:
        q = METHODS["advi, full rank"](name, np.random.default_rng(840))
        x = q.sample(2000, 841)
        _, khat = bl.psis(OUTSIDE[name].many(x) - q.logdensity(x))
        accused += khat > 0.7 and not q.problems
    assert accused > 1
