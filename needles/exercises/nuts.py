"""The exercises of the page on the No-U-Turn sampler."""

import numpy as np

from ..grading import Choice, Routine, Statistical, Value
from ..study import Exercise


def _pick(weights, start, leave=lambda new, old: min(1.0, new / old)):
    """Probability of each state of a final path to be picked, by biased progressive sampling."""
    weights = np.asarray(weights, dtype=float)
    if weights.size == 1:
        return np.ones(1)
    half = weights.size // 2
    old, new = slice(0, half), slice(half, None)
    if start >= half:
        old, new = new, old
    chance = leave(weights[new].sum(), weights[old].sum())
    found = np.empty(weights.size)
    found[new] = chance * weights[new] / weights[new].sum()
    found[old] = (1.0 - chance) * _pick(weights[old], start % half, leave)
    return found


def _multinomial(weights, start):
    return np.asarray(weights, dtype=float) / np.sum(weights)


def _last_doubling(weights, start):
    """The whole old half drawn by weight, not doubling by doubling."""
    weights = np.asarray(weights, dtype=float)
    half = weights.size // 2
    old = np.arange(weights.size) // half == start // half
    leave = min(1.0, weights[~old].sum() / weights[old].sum())
    found = weights / np.where(old, weights[old].sum(), weights[~old].sum())
    return found * np.where(old, 1.0 - leave, leave)


def _always(weights, start):
    return _pick(weights, start, lambda new, old: 1.0)


def _shortfall(rates, delta, sign=1.0):
    total = 0.0
    for n, rate in enumerate(rates, start=1):
        total += (sign * (delta - rate) - total) / (n + 10.0)
    return total


def _next(rates, delta, first_step):
    return 10.0 * first_step * np.exp(-np.sqrt(len(rates)) / 0.05 * _shortfall(rates, delta))


def _upside_down(rates, delta, first_step):
    return 10.0 * first_step * np.exp(-np.sqrt(len(rates)) / 0.05 * _shortfall(rates, delta, -1.0))


def _without_ten(rates, delta, first_step):
    return _next(rates, delta, first_step) / 10.0


def _without_root(rates, delta, first_step):
    return 10.0 * first_step * np.exp(-_shortfall(rates, delta) / 0.05)


def _plain_mean(rates, delta, first_step):
    mean = delta - np.mean(rates)
    return 10.0 * first_step * np.exp(-np.sqrt(len(rates)) / 0.05 * mean)


def _first_effect():
    from bayeslib.posteriors import eight_schools

    return float(eight_schools(centered=True).truth.mean[2])


EXERCISES = (
    Exercise(
        "nuts-orbit",
        expects=Value(np.pi),
        mistakes={
            "There the two ends are uncorrelated, but still moving apart.": np.pi / 2,
            "By then the flow is back where it began: it turned half-way.": 2.0 * np.pi,
            "At time zero the product is zero too, but then it becomes positive.": 0.0,
        },
        recipe="Multiply out and take the mean, term by term: what is left is one sine.",
        praise="Half a turn, whatever the dimension.",
    ),
    Exercise(
        "nuts-bill",
        expects=Value(np.array([40.0, 32.0]), atol=0.0),
        mistakes={
            "One too many: the gradient at the start is known already.": lambda a: a[0] == 41.0,
            "That is a sixth doubling completed; it was dropped after nine steps.": lambda a: (
                a[0] == 63.0
            ),
            "The steps of the half that was dropped were paid for, too.": lambda a: a[0] == 31.0,
            "States of the half that was dropped cannot be drawn.": lambda a: a[1] in (40.0, 41.0),
            "The start counts as well: it may be drawn again.": lambda a: a[1] == 31.0,
        },
        recipe="Five doublings of one state make 32; the sixth would have added as many.",
        praise="A dropped half costs gradients and gives nothing; that keeps the chain honest.",
    ),
    Exercise(
        "nuts-pick",
        expects=Routine(
            _pick,
            cases=(
                (np.array([1.0, 3.0]), 0),
                (np.array([1.0, 3.0]), 1),
                (np.array([0.5, 1.0, 0.2, 0.9]), 2),
                (np.array([0.2, 0.5, 1.0, 0.9, 0.4, 0.3, 0.8, 0.1]), 1),
                (np.array([0.2, 0.5, 1.0, 0.9, 0.4, 0.3, 0.8, 0.1]), 6),
            ),
        ),
        mistakes={
            "That draws from the whole path by weight: valid, but not step 4.": _multinomial,
            "The new half is taken with probability min(1, W_new / W_old), not always.": _always,
            "Within the old half the earlier doublings "
            "decide, in the same way: recurse.": _last_doubling,
        },
        recipe="Split the weights in the middle; the half without the start is the newest.",
        praise="And w times this matrix is symmetric.",
    ),
    Exercise(
        "nuts-step",
        expects=Routine(
            _next,
            cases=(
                ([0.3], 0.8, 0.5),
                ([0.3, 0.3, 0.3], 0.8, 0.5),
                ([0.9, 1.0, 0.2, 0.7], 0.65, 0.1),
            ),
        ),
        mistakes={
            "The wrong way round: poor rates must make the step smaller.": _upside_down,
            "It shrinks towards ten times the first step, not towards that step.": _without_ten,
            "The square root of n is missing: without it the steps never settle.": _without_root,
            "The average starts as if ten shortfalls of zero came before (t0 = 10).": _plain_mean,
        },
        recipe="log step = log(10 first_step) - sqrt(n) / 0.05 times the averaged shortfall.",
        praise="Bold first, and quick to repent.",
    ),
    Exercise(
        "nuts-break",
        expects=Choice(
            (
                "no checks across the seam",
                "at most two doublings",
                "draw from the whole path by weight",
                "keep the half that turned",
            ),
            "keep the half that turned",
        ),
        mistakes={
            "Fewer paths turn, for every start alike. It costs.": "no checks across the seam",
            "Shorter paths, from every start alike. It costs.": "at most two doublings",
            "A reversible way of picking. It "
            "moves less far, and is right.": "draw from the whole path by weight",
        },
        recipe="Which one lets a path be final from some of its states and not from others?",
        praise="What is dropped keeps the path equally likely from all its states.",
    ),
    Exercise(
        "nuts-school",
        expects=Statistical(_first_effect, max_mcse=0.06),
        mistakes={
            "That is the raw effect. The other schools have something to say about it.": lambda a: (
                abs(a[0] - 28.0) < 1.0
            ),
            "That is eta, in units of tau: theta is mu + tau eta.": lambda a: (
                abs(a[0] - 0.3167) < 0.05
            ),
            "That is the mean of all schools, mu.": lambda a: abs(a[0] - 4.397) < 0.3,
        },
        recipe="The last coordinates of the non-centred form are eta_j: theta_j = mu + tau eta_j.",
        praise="A quantity of the other coordinates is one function in expect.",
    ),
)
