"""Adaptive rejection sampling: tangents of a log-concave density are its envelope."""

import numpy as np
from scipy import special

from ..errors import BayeslibError, EnvelopeError, TargetError
from ..results import Draws, Estimate
from ..target.target import as_target
from ..target.verify import verify
from ..validate import as_count, as_floats, as_rng, blame, check_finite, check_memory
from ..waiting import blocks, count, watching
from .hull import CONVEX, MOST_POINTS, NOT_FINITE, Hull, Note, State, draw, log_area, rounding

_MOST_CHECKED = 100


def adaptive_rejection_sample(target, *, points, num_samples, rng):
    """Draw exactly from a log-concave density on the line, with few evaluations.

    The tangents at the points evaluated so far lie above the log density, the chords between them
    below it. Proposals come from the exponential of the tangents; most are accepted because they
    lie under the chords, and only the others cost an evaluation, which refines both.

    Parameters
    ----------
    target : Target
        One-dimensional and log-concave, with a gradient. `support` says where it ends; None is the
        whole line.
    points : array, shape (k,)
        Where to start, inside the support. Where the support has no end the outermost point on that
        side must lie beyond the mode.
    num_samples : int
    rng : int, Generator, SeedSequence or None

    Returns
    -------
    Draws
        Independent, shape (1, num_samples, 1), without `logdensity`, which is mostly never
        computed. `log_evidence` is the log of ``N / sum(1 / area)`` for N draws; the sum runs over
        all proposals, each with the area under its envelope. It is kept between the logs of the
        areas under the final chords and tangents. Interrupted, it warns and returns what was drawn,
        ``settings["interrupted"]`` set.

        - Stats: ``num_proposals`` and ``num_evals`` that each draw took. The run's `num_evals` adds
          those at `points` and of the final check.
        - Settings: ``hull``, the points of the final envelope.

    Raises
    ------
    EnvelopeError
        When the density is found not to be log-concave: at a point evaluated, or at one of the
        first hundred draws, which are looked at again for that. A density that is convex where
        none of them fell goes unnoticed.
    GradientError
        When the target has no gradient.
    TargetError
        When the log density is nan or infinite inside the support.
    BayeslibError
        When the points do not fit the support, or do not enclose the mode where they must.

    Notes
    -----
    Draw order: for each proposal two uniforms, ``rng.random()`` for its place, by the inverse of
    the envelope's distribution function from left to right, and ``rng.random()`` for acceptance:
    first against the chords, then, if need be, against the log density, after which the point joins
    the hull whether it was accepted or not.

    References
    ----------
    Gilks and Wild (1992), "Adaptive rejection sampling for Gibbs sampling".

    Examples
    --------
    >>> target = bl.posteriors.coin(8, 2)
    >>> draws = bl.adaptive_rejection_sample(
    ...     target, points=[0.3, 0.7, 0.9], num_samples=2000, rng=1
    ... )
    >>> print(draws.expect(), target.truth.mean.round(4))
    [0.7501 ± 0.0026] [0.75]
    >>> few = draws.num_evals < 200
    >>> print(f"{draws.num_samples} draws, fewer than 200 evaluations: {few}")
    2000 draws, fewer than 200 evaluations: True
    """
    if as_target(target).dim != 1:
        raise BayeslibError(f"the target must have dim=1, got {target.dim}")
    num_samples = as_count(num_samples, "num_samples")
    check_memory((num_samples, 4), "the draws")
    rng, seed = as_rng(rng)
    start = np.unique(np.atleast_1d(as_floats(points, "points")))
    check_finite(start, "points")
    for x in start[:, None]:
        verify(target, x, gradient=True, walks=False)
    bound = target.bind(gradient=True)
    hull = _first_hull(target, bound, start)
    notes, interrupted = np.zeros(num_samples, dtype=Note), False
    draw.compile()
    try:
        with watching("adaptive_rejection_sample", num_samples):
            for first, last in blocks(num_samples):
                done = draw(bound.address, bound.handle, rng, hull, notes, first, last)
                count(done - first)
                if done < last:
                    break
    except KeyboardInterrupt:
        interrupted = True
    state, num_evals = hull.state, start.size + int(notes["num_evals"].sum())
    notes, error = notes[: state.done], _trouble(target, bound, state)
    if error is None:
        # what the chords hide: draws that were accepted without an evaluation
        checked, grad = notes["value"][:_MOST_CHECKED], np.empty(1)
        num_evals += checked.size
        values = np.array([bound(np.array([x]), grad) for x in checked])
        error = _convex_part(hull, checked, values)
    draws = Draws(
        notes["value"][None, :, None],
        stats={name: notes[name][None] for name in ("num_proposals", "num_evals")},
        num_evals=num_evals, method="adaptive_rejection_sample",
        settings={
            "points": start, "num_samples": num_samples, "seed": seed, "interrupted": interrupted,
            "hull": hull.x[: state.num_points].copy(),
        },
        names=target.names, log_evidence=_log_evidence(hull, num_evals), independent=True,
    )  # fmt: skip
    if error is not None:
        error.partial = draws
        raise error
    return draws


def _first_hull(target, bound, start):
    low, high = target.support[0] if target.support else (-np.inf, np.inf)
    if start.size == 0 or start.size > MOST_POINTS // 2:
        raise BayeslibError(f"points must be 1 to {MOST_POINTS // 2} numbers, got {start.size}")
    if not (low < start[0] and start[-1] < high):
        raise BayeslibError(f"points must lie inside ({low:g}, {high:g}), got {start.tolist()}")
    state, grad = np.zeros(1, dtype=State)[0], np.empty(1)
    state.low, state.high, state.num_points = low, high, start.size
    hull = Hull(*np.zeros((5, MOST_POINTS)), state)
    for i, x in enumerate(start):
        hull.x[i], hull.h[i] = x, bound(np.array([x]), grad)
        hull.slope[i] = grad[0]
        if not (np.isfinite(hull.h[i]) and np.isfinite(grad[0])):
            words = f"the log density is {hull.h[i]} with slope {grad[0]} at the point {x:g}; "
            raise TargetError(blame(target, words + "points must lie where both are finite"))
    slope = hull.slope[: start.size]
    for side, end, i, sign in (("left", low, 0, 1.0), ("right", high, -1, -1.0)):
        if np.isinf(end) and sign * slope[i] <= 0.0:
            rule = f"the support has no end on the {side}, where a point must lie past the mode"
            found = f"the slope at {start[i]:g} is {slope[i]:.3g}"
            raise BayeslibError(f"{rule}, but {found}: add a point further {side}")
    if error := _convex_part(hull, start, hull.h[: start.size]):
        raise error
    return hull


def _convex_part(hull, points, values):
    """Return an error where a log density lies above a tangent or below a chord, or None."""
    x, h, slope = (part[: hull.state.num_points] for part in hull[:3])
    above = values - np.min(h + slope * (points[:, None] - x), axis=1)
    below = np.interp(points, x, h, left=-np.inf, right=-np.inf) - values
    excess = np.maximum(above, below) - rounding(values)
    worst = np.argmax(excess)
    return _not_concave(float(points[worst]), float(above[worst])) if excess[worst] > 0.0 else None


def _not_concave(x, log_ratio):
    words = f"the log density is not concave near theta={x:.6g}: use rejection_sample"
    return EnvelopeError(words, position=np.array([x]), log_ratio=log_ratio)


def _trouble(target, bound, state):
    if bound.num_errors:
        return target.explain(bound.failed_at)
    if state.status == CONVEX:
        return _not_concave(state.bad_x, float(state.bad_ratio))
    if state.status == NOT_FINITE:
        found = f"the log density or its slope is nan or infinite at theta={state.bad_x:.6g}"
        remedy = "give the target its true support"
        return TargetError(f"{found}, inside ({state.low:g}, {state.high:g}): {remedy}")


def _log_evidence(hull, num_evals):
    # Given the past, proposal t is accepted with probability a_t = Z / area_t: accepted - a_t has
    # mean 0 and variance a_t (1 - a_t), and Z is what makes the a_t sum to the number accepted.
    # It lies between the areas under the final chords and the final tangents in any case; and as no
    # rejection may just be luck, the variance of the sum counts as that of one at least.
    state = hull.state
    if state.done == 0:
        return None
    log_envelope, log_chords = log_area(hull), -np.inf
    x, h = hull.x[: state.num_points], hull.h[: state.num_points]
    if x.size > 1:
        # the integral of an exponential between two points, from the higher end downwards
        areas = np.diff(x) * special.exprel(-np.abs(np.diff(h)))
        log_chords = special.logsumexp(np.maximum(h[1:], h[:-1]), b=areas)
    rate = np.clip(state.done / state.proposals, np.exp(log_chords - log_envelope), 1.0)
    variance = max(state.done - rate**2 * state.proposals_squared, 1.0)
    error = np.sqrt(variance) / state.done
    return Estimate(log_envelope + np.log(rate), error, num_evals)
