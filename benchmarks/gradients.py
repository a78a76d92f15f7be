"""What `gradient="auto"` costs against a hand-written gradient, and how far it is from it."""

import time

import numpy as np

from bayeslib.compile.callback import evaluate_many

from .contest import problems
from .contest.with_bayeslib import Contestant

LIMIT = 5.0  # the automatic gradient may take this many times as long, up to
SMALL = 25  # this many parameters
EXACT = 1e-12
ROUNDS, POINTS, BLOCK_SECONDS = 11, 50, 0.02


def measure():
    """Print the table; return its rows: ns an evaluation, the least of interleaved blocks."""
    rows = []
    print(f"{'':14}{'hand':>10}{'auto':>10}   ns a gradient")
    for name, problem in problems.PROBLEMS.items():
        variants = ("hand", "auto", "naive") if name == "logistic" else ("hand", "auto")
        targets = {v: Contestant(name, v, 1.0, 1).target for v in variants}
        ns = _interleaved(targets, problem.dim)
        hand = ns.pop("hand")
        for variant, cost in ns.items():
            ratio, error = cost / hand, _largest_error(targets["hand"], targets[variant])
            dear = variant == "auto" and problem.dim <= SMALL and ratio > LIMIT
            remark = "  above the limit" if dear or error > EXACT else ""
            print(
                f"{name:14}{hand:10.1f}{cost:10.1f}   {ratio:.2f} × hand ({variant}), "
                f"relative error {error:.1e}{remark}"
            )
            rows.append({
                "posterior": name, "variant": variant, "hand_ns": hand, "auto_ns": cost,
                "ratio": ratio, "relative_error": error,
            })  # fmt: skip
    return rows


def _interleaved(targets, dim):
    """Return {variant: ns}, from blocks long enough to be timed, in turn."""
    rng, blocks = np.random.default_rng(1), {}
    for variant, target in targets.items():
        bound = target.bind(gradient=True)
        once = _seconds(bound, rng.standard_normal((1, dim)))
        once = min(once, _seconds(bound, rng.standard_normal((10, dim))) / 10)
        count = int(np.clip(BLOCK_SECONDS / once, 10, 100_000))
        blocks[variant] = bound, rng.standard_normal((count, dim))
    least = dict.fromkeys(targets, np.inf)
    for _ in range(ROUNDS):
        for variant, (bound, thetas) in blocks.items():
            least[variant] = min(least[variant], 1e9 * _seconds(bound, thetas) / len(thetas))
    return least


def _seconds(bound, thetas):
    began = time.perf_counter()
    evaluate_many(bound, thetas)
    return time.perf_counter() - began


def _largest_error(hand, auto):
    """The largest difference of a component, relative to the largest component."""
    worst = 0.0
    for theta in np.random.default_rng(2).standard_normal((POINTS, hand.dim)):
        exact = hand.gradient(theta)
        error = np.max(np.abs(auto.gradient(theta) - exact)) / np.max(np.abs(exact))
        worst = max(worst, float(error))
    return worst
