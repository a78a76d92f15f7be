"""Gibbs sampling: its order of draws, its scans, and what it refuses."""

import json
import pickle
import sys
import threading

import numpy as np
import pytest
from bad_inputs import refused
from densities import gaussian2
from scipy import stats
from stepping import Z_LIMIT, swap_z

import bayeslib as bl
from bayeslib.chains.run import Outcome
from bayeslib.markov.gibbs import arrange, as_conditionals

ALPHA = 1e-6
Y = np.array([1.2, -0.3, 2.1, 0.8, 1.5, 0.1])
STARTS = np.array([[0.0, 1.0], [2.0, 0.3], [-1.0, 3.0], [1.0, 0.1]])


def draw_mean(theta, rng, y, sd, shape, rate):
    precision = 1.0 / sd**2 + y.size * theta[1]
    mean = theta[1] * np.sum(y) / precision
    return mean + rng.standard_normal() / np.sqrt(precision)


def draw_precision(theta, rng, y, sd, shape, rate):
    total = rate + 0.5 * np.sum((y - theta[0]) ** 2)
    return rng.gamma(shape + 0.5 * y.size, 1.0 / total)


def normal_sample(theta, y, sd, shape, rate):
    if theta[1] <= 0.0:
        return -np.inf
    value = -0.5 * (theta[0] / sd) ** 2 + (shape - 1.0) * np.log(theta[1]) - rate * theta[1]
    return value + 0.5 * y.size * np.log(theta[1]) - 0.5 * theta[1] * np.sum((y - theta[0]) ** 2)


CONDITIONALS, DATA = (draw_mean, draw_precision), (Y, 2.0, 1.5, 0.7)


def normal_target():
    return bl.Target(
        normal_sample, dim=2, data=DATA, gradient=None, names=("mean", "precision"),
        support=[(None, None), (0.0, None)],
    )  # fmt: skip


def plain(conditionals, theta, *, num_samples, rng, data=(), blocks=None, scan="systematic"):
    rng, theta, out = np.random.default_rng(rng), np.array(theta, dtype=float), []
    num = len(conditionals)
    blocks = blocks or list(range(num))
    for _ in range(num_samples):
        order = list(range(num))
        if scan == "symmetric":
            order += order[-2::-1]
        for k in order:
            k = int(rng.random() * num) if scan == "random" else k
            theta[blocks[k]] = conditionals[k](theta, rng, *data)
        out.append(theta.copy())
    return np.array(out)


@pytest.mark.parametrize("scan", ["systematic", "random", "symmetric"])
@pytest.mark.parametrize("seed", [1, 2])
def test_follows_the_plain_loop_draw_by_draw(scan, seed):
    run = {"data": DATA, "scan": scan, "num_samples": 300}
    fast = bl.gibbs(CONDITIONALS, [0.0, 1.0], num_warmup=0, num_chains=1, rng=seed, **run)
    assert fast.settings["compiled"] and fast.logdensity is None
    np.testing.assert_allclose(
        fast.flat, plain(CONDITIONALS, [0.0, 1.0], rng=seed, **run), rtol=1e-10
    )
    assert not np.allclose(fast.flat, plain(CONDITIONALS, [0.0, 1.0], rng=seed + 9, **run))
    assert fast.num_evals == 300 * (3 if scan == "symmetric" else 2)


def pair(theta, rng):
    return np.array([theta[2] + rng.standard_normal(), rng.random()])


def last(theta, rng):
    return 0.5 * theta[0] + rng.exponential()


def test_blocks_are_dealt_out_in_order_or_named():
    options = {"num_samples": 50, "num_warmup": 0, "num_chains": 1, "rng": 3}
    dealt = bl.gibbs([pair, last], np.zeros(3), **options)
    expected = plain([pair, last], np.zeros(3), num_samples=50, rng=3, blocks=[[0, 1], 2])
    np.testing.assert_allclose(dealt.flat, expected, rtol=1e-10)
    named = bl.gibbs(
        [pair, last, last], np.zeros(3), names=("a", "b", "c"), blocks=[("b", "a"), "c", 0],
        **options,
    )  # fmt: skip
    blocks = [[1, 0], 2, 0]
    expected = plain([pair, last, last], np.zeros(3), num_samples=50, rng=3, blocks=blocks)
    np.testing.assert_allclose(named.flat, expected, rtol=1e-10)
    assert named.names == ("a", "b", "c")


def variates(theta, rng):
    draws = [rng.random(), rng.standard_normal(), rng.normal(1.0, 2.0), rng.exponential(3.0)]
    draws += [rng.gamma(2.5, 0.5), rng.gamma(0.2, 0.5), rng.beta(2.0, 3.0), rng.chisquare(4.0)]
    draws += [rng.uniform(-1.0, 2.0), float(rng.poisson(3.0)), float(rng.binomial(10, 0.3))]
    return np.array(draws)


@pytest.mark.parametrize(
    ("conditional", "dim"), [(variates, 11), (lambda theta, rng: rng.integers(0, 10), 1)]
)
def test_numpys_variates_are_the_same_compiled(conditional, dim):
    start, block = np.full(dim, 0.5), list(range(dim))
    run = {"blocks": [block if dim > 1 else 0], "num_samples": 500, "rng": 4}
    fast = bl.gibbs([conditional], start, num_warmup=0, num_chains=1, **run)
    assert fast.settings["compiled"]
    expected = plain([conditional], start, **run)
    np.testing.assert_allclose(fast.flat, expected, rtol=1e-12)


@pytest.mark.trust("S7", of="gibbs")
def test_compiled_conditionals_are_ratios_of_the_joint():
    """Mean and sd of a normal conditional, read off two draws, at 50 random states."""
    conditionals = as_conditionals((draw_mean, draw_precision), DATA)
    assert arrange(conditionals, None, STARTS[0], np.random.default_rng(0))
    target, rng, worst = normal_target(), np.random.default_rng(6), 0.0
    for _ in range(50):
        theta, new = np.array([rng.normal(), rng.gamma(1.0)]), rng.normal()
        x, z = np.empty(2), np.empty(2)
        for n in range(2):
            z[n] = np.random.default_rng(n).standard_normal()
            callback, out = conditionals[0].bind(np.random.default_rng(n), 2), np.empty(2)
            callback(theta, out)
            x[n] = out[0]
        sd = (x[1] - x[0]) / (z[1] - z[0])
        q = stats.norm(x[0] - sd * z[0], sd)
        joint = target([new, theta[1]]) - target(theta)
        ratio = q.logpdf(new) - q.logpdf(theta[0])
        worst = max(worst, abs(joint - ratio) / (1.0 + abs(joint)))
        off = stats.norm(x[0] - sd * z[0], 1.001 * sd)
        assert abs(joint - off.logpdf(new) + off.logpdf(theta[0])) > 1e-8
    assert worst < 1e-10


def draw_x(theta, rng, rho):
    return rho * theta[1] + np.sqrt(1.0 - rho * rho) * rng.standard_normal()


def draw_y(theta, rng, rho):
    return rho * theta[0] + np.sqrt(1.0 - rho * rho) * rng.standard_normal()


def scan_swap_z(scan, *, right):
    start = np.random.default_rng(7).multivariate_normal([0.0, 0.0], [[1.0, 0.6], [0.6, 1.0]], 1)
    # Stationary from an exact start; every tenth step, since 0.36^9 leaves pairs as independent.
    draws = bl.gibbs(
        [draw_x, draw_y], start, data=(0.6,), scan=scan, num_samples=200_000, num_warmup=0,
        num_chains=1, rng=8,
    )  # fmt: skip
    x, after = draws.values[0, ::10], draws.values[0, 1::10]
    forth = np.tanh(2.0 * after[:, 0]) * x[:, 1] ** 2
    back = np.tanh(2.0 * x[:, 0]) * after[:, 1] ** 2
    difference = forth * x[:, 1] - back * after[:, 1]
    return swap_z(x, after, difference, right=right)


@pytest.mark.trust("S9")
@pytest.mark.parametrize("scan", ["random", "symmetric"])
def test_is_reversible(scan):
    """Five z values at alpha 1e-6 together, for which 5.2 would do."""
    assert np.max(np.abs(scan_swap_z(scan, right=True))) < Z_LIMIT


@pytest.mark.trust("S9")
def test_a_systematic_scan_is_not_reversible():
    assert np.max(np.abs(scan_swap_z("systematic", right=False))) > Z_LIMIT


def test_the_test_leaves_the_draws_alone():
    options = {"data": DATA, "num_samples": 50, "rng": 9}
    target = normal_target()
    checked, free = (bl.gibbs(CONDITIONALS, STARTS, target=t, **options) for t in (target, None))
    np.testing.assert_array_equal(checked.values, free.values)
    np.testing.assert_allclose(checked.logdensity.ravel(), target.many(checked.flat), rtol=1e-10)


# What goes wrong


def in_place(theta, rng):
    theta[0] = rng.random()
    return theta[0]


def not_a_number(theta, rng):
    return np.log(rng.random() - 2.0) + theta[0]


def raises(theta, rng):
    if rng.random() < 0.05:
        raise ZeroDivisionError("on purpose")
    return rng.random()


def leaves(theta, rng):
    if rng.random() < 0.05:
        sys.exit(threading.Lock())  # which no other process can have
    return rng.random()


def fine(theta, rng):
    return rng.random()


test_bad_input_is_refused_in_words = refused(
    (([], {}), "0 values in all"),
    ((fine, {}), "sequence of functions"),
    (({"a": fine, "b": fine}, {}), "got {.*; pass a list, and what each draws as blocks="),
    (([in_place, fine], {}), ValueError, "read-only"),
    (([fine], {}), "1 values in all, but there are 2 coordinates"),
    (([fine, fine, fine], {}), "3 values in all"),
    (([fine, 3.0], {}), r"conditionals\[1\] must be a function"),
    (([fine, lambda theta: 1.0], {}), r"conditionals\[1\] must take \(theta, rng\)"),
    (([fine, lambda theta, rng: None], {}), "must return what it drew.* got None"),
    (([fine, lambda theta, rng: np.zeros((2, 2))], {}), "one-dimensional"),
    (([fine, lambda theta, rng: np.random.rand()], {}), "from the rng it is given"),  # noqa: NPY002
    (([fine, not_a_number], {}), r"conditionals\[1\] \(not_a_number\) drew \[nan\]"),
    (([fine, fine], {"scan": "spiral"}), "scan must be one of"),
    (([fine, fine], {"blocks": [0]}), "must have 2 entries, one each"),
    (([fine, fine], {"blocks": [0, 0]}), "no conditional draws"),
    (([fine, fine], {"blocks": [0, 2]}), "must be at most 1, got 2"),
    (([fine, fine], {"blocks": [0, "x"]}), "got 'x'"),
    (([fine, fine], {"blocks": [0, True]}), "must be an integer, got True"),
    (([fine, fine], {"blocks": [(0, 1), 1]}), "must return 2 values, got 1"),
    (([fine, fine], {"blocks": [(0, 0), 1]}), "twice"),
    (([fine, fine], {"initial_position": None}), "pass starts"),
    (([fine, fine], {"initial_position": []}), "at least 1, got 0"),
    (([fine, fine], {"initial_position": [np.nan, 1.0]}), "nan"),
    (([fine, fine], {"target": "posterior"}), "target"),
    (([fine, fine], {"target": gaussian2(), "names": ("a", "b")}), "not those of the target"),
    (([fine, fine], {"data": 3.0}), "data must be a tuple"),
    by=lambda conditionals, changes: bl.gibbs(
        conditionals, **{"initial_position": STARTS, "rng": 1} | changes
    ),
)


@pytest.mark.filterwarnings("ignore:your functions run as plain:bayeslib.BayeslibWarning")
def test_what_a_conditional_raises_comes_out_with_the_draws_until_then():
    with pytest.raises(ZeroDivisionError, match="on purpose") as caught:
        bl.gibbs([fine, raises], STARTS, num_warmup=0, rng=1)
    assert any("conditionals[1] (raises)" in note for note in caught.value.__notes__)
    assert caught.value.partial is None or np.isfinite(caught.value.partial.values).all()
    with pytest.raises(SystemExit) as caught:
        bl.gibbs([fine, leaves], STARTS, num_warmup=0, rng=1)
    found = pickle.loads(pickle.dumps(Outcome(*[None] * 9, raised=caught.value))).raised
    assert "SystemExit: <unlocked" in str(found) and "(leaves)" in found.__notes__[0]


def uncompilable(theta, rng):
    return json.loads("0.5") * theta[0] + rng.standard_normal()


def test_plain_python_draws_the_same_with_a_warning():
    options = {"num_samples": 40, "num_warmup": 0, "num_chains": 1, "rng": 2}
    with pytest.warns(bl.BayeslibWarning, match="plain Python"):
        slow = bl.gibbs([uncompilable], [0.0], **options)
    assert not slow.settings["compiled"]
    np.testing.assert_allclose(
        slow.flat, plain([uncompilable], [0.0], num_samples=40, rng=2), rtol=1e-12
    )


def stuck(theta, rng):
    rng.random()
    return theta[1]


def test_a_coordinate_that_never_changes_is_flagged():
    draws = bl.gibbs([fine, stuck], STARTS, num_samples=200, rng=1)
    assert any("never moved" in problem and "theta[1]" in problem for problem in draws.problems)
