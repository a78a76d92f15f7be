"""What `gradient="auto"` costs, and how far it is from a gradient by hand.

Against the hand-written one on the posteriors of the contest and on logistic regressions written
with whole arrays; against the value alone on a hierarchy, whose gradient nobody writes by hand. And
against the library's helper in chains on a regression of ten columns, written with whole arrays.
"""

import time

import numpy as np

from bayeslib import Target, logistic_log_likelihood, nuts
from bayeslib.compile.callback import evaluate_many

from .contest import problems
from .contest.with_bayeslib import Contestant, logistic_arrays

LIMIT = 5.0  # the automatic gradient may take this many times as long, up to
SMALL = 25  # this many parameters
EXACT = 1e-12
ROUNDS, POINTS, BLOCK_SECONDS = 11, 50, 0.02
WHOLE_ARRAYS, ARRAY_LIMIT = (25, 100, 300), 2.0  # parameters, and times a loop by hand
GROUPS, GROUPS_LIMIT = "groups_200", 8.0  # ten rows each, and times the value
COLUMNS, COLUMN_ROWS, RUNS = 10, (1000, 10_000), 5  # of a regression in chains


def logistic_by_helper(theta, rows, labels):
    return logistic_log_likelihood(theta, rows, labels) - 0.5 * np.sum(theta**2)


def logistic_fused(theta, grad, rows, labels):
    total = 0.0
    for j in range(theta.size):
        grad[j] = -theta[j]
        total -= 0.5 * theta[j] ** 2
    for i in range(labels.size):
        s = 0.0
        for j in range(theta.size):
            s += rows[i, j] * theta[j]
        small = np.exp(-abs(s))
        total += labels[i] * s - max(s, 0.0) - np.log1p(small)
        slope = labels[i] - (1.0 if s >= 0.0 else small) / (1.0 + small)
        for j in range(theta.size):
            grad[j] += slope * rows[i, j]
    return total


def measure():
    """Print the table; return its rows: ns an evaluation, the least of interleaved blocks."""
    rows = []
    print(f"{'':14}{'hand':>10}{'auto':>10}   ns a gradient")
    for name, problem in problems.PROBLEMS.items():
        variants = ("hand", "auto", "naive") if name == "logistic" else ("hand", "auto")
        targets = {v: Contestant(name, v, 1.0, 1).target for v in variants}
        rows += _compared(name, targets, LIMIT if problem.dim <= SMALL else np.inf)
    for dim in WHOLE_ARRAYS:
        rng = np.random.default_rng(1)
        data = rng.standard_normal((1000, dim)), rng.integers(0, 2, 1000).astype(float)
        targets = {
            variant: Target(logistic_arrays, dim=dim, data=data, fused=fused)
            for variant, fused in (("hand", logistic_fused), ("auto", None))
        }
        rows += _compared(f"arrays_{dim}", targets, ARRAY_LIMIT)
    targets = {"auto": Contestant(GROUPS, "auto", 1.0, 1).target}
    targets["value"] = Target(targets["auto"].logdensity, dim=targets["auto"].dim,
                              data=targets["auto"].data, gradient=None)  # fmt: skip
    return [*rows, *_compared(GROUPS, targets, GROUPS_LIMIT, by="value"), *_in_chains()]


def _in_chains():
    """Seconds a gradient of whole runs, on as many cores as there are, in turn: the median."""
    for count in COLUMN_ROWS:
        rng = np.random.default_rng(1)
        data = rng.standard_normal((count, COLUMNS)), rng.integers(0, 2, count).astype(float)
        densities = logistic_by_helper, logistic_arrays
        helped, whole = (Target(density, dim=COLUMNS, data=data) for density in densities)
        ns = {helped: [], whole: []}
        for seed in range(RUNS + 1):
            for target, found in ns.items():
                began = time.perf_counter()
                draws = nuts(target, num_samples=200, num_warmup=200, progress=False, rng=seed)
                found.append(1e9 * (time.perf_counter() - began) / draws.num_evals)
        helper, arrays = (float(np.median(found[1:])) for found in ns.values())  # without the first
        name = f"columns_{COLUMNS}_{count}"
        print(f"{name:14}{helper:10.1f}{arrays:10.1f}   {arrays / helper:.2f} × helper (in chains)")
        yield {
            "posterior": name, "variant": "arrays", "hand_ns": helper, "auto_ns": arrays,
            "by": "helper", "ratio": arrays / helper,
            "relative_error": _largest_error(helped, whole),
        }  # fmt: skip


def _compared(name, targets, limit, by="hand"):
    ns = _interleaved(targets)
    base = ns.pop(by)
    for variant, cost in ns.items():
        ratio = cost / base
        error = 0.0 if by == "value" else _largest_error(targets[by], targets[variant])
        remark = "  above the limit" if variant == "auto" and ratio > limit else ""
        remark += "  not exact" if error > EXACT else ""
        print(
            f"{name:14}{base:10.1f}{cost:10.1f}   {ratio:.2f} × {by} ({variant}), "
            f"relative error {error:.1e}{remark}"
        )
        yield {
            "posterior": name, "variant": variant, "hand_ns": base, "auto_ns": cost, "by": by,
            "ratio": ratio, "relative_error": error,
        }  # fmt: skip


def _interleaved(targets):
    """Return {variant: ns}, from blocks long enough to be timed, in turn."""
    rng, blocks = np.random.default_rng(1), {}
    for variant, target in targets.items():
        bound = target.bind(gradient=variant != "value")
        once = _seconds(bound, rng.standard_normal((1, target.dim)))
        once = min(once, _seconds(bound, rng.standard_normal((10, target.dim))) / 10)
        count = int(np.clip(BLOCK_SECONDS / once, 10, 100_000))
        blocks[variant] = bound, rng.standard_normal((count, target.dim))
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
