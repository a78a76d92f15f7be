"""The kernel of adaptive rejection sampling: a hull of tangents and chords, and draws from it."""

from typing import NamedTuple

import numpy as np
from numba import from_dtype

from ..chains.loop import numba_type, record
from ..compile.callback import borrowed, density, helper, kernel
from ..compile.kinds import ADDRESS, GENERATOR, HANDLE, INT, VECTOR

MOST_POINTS = 1000

FINE, CONVEX, NOT_FINITE = range(3)

State = record(
    num_points="i8",  # of the hull
    status="i8",  # why the kernel stopped
    done="i8",  # draws made
    low="f8",  # the ends of the support
    high="f8",
    shift="f8",  # the logarithm that the areas are relative to
    proposals="f8",  # the sum over proposals of (area now / area then)
    proposals_squared="f8",  # and of its square
    bad_x="f8",  # where it stopped
    bad_ratio="f8",  # and how far the log density lay above the envelope there
)

Note = record(value="f8", num_proposals="i8", num_evals="i8")


class Hull(NamedTuple):
    """Tangents to the log density, the envelope, and the chords between them, the squeeze."""

    x: VECTOR  # the touching points, in rising order
    h: VECTOR  # the log density
    slope: VECTOR
    left: VECTOR  # where the piece of each tangent begins
    area: VECTOR  # under the envelope up to where it ends
    state: State


def rounding(h):
    """What of a log density, or of differences from it, may be rounding."""
    return 1e-9 * (1.0 + np.abs(h))


def log_area(hull):
    """The logarithm of the area under the envelope."""
    return hull.state.shift + np.log(hull.area[hull.state.num_points - 1])


_rounding, _log_area = helper(rounding), helper(log_area)


@helper
def _rebuild(hull):
    """Lay the pieces of the envelope between the intersections of neighbouring tangents."""
    x, h, slope, left, area, state = hull
    n = state.num_points
    left[0] = state.low
    top = h[0]
    for i in range(1, n):
        width = x[i] - x[i - 1]
        bend = slope[i - 1] - slope[i]
        z = 0.5 * width
        if bend > 0.0:
            z = min(max((h[i] - h[i - 1] - slope[i] * width) / bend, 0.0), width)
        left[i] = x[i - 1] + z
        top = max(top, h[i], h[i - 1] + slope[i - 1] * z)
    for i, end in ((0, state.low), (n - 1, state.high)):
        if np.isfinite(end):
            top = max(top, h[i] + slope[i] * (end - x[i]))
    state.shift = top
    total = 0.0
    for i in range(n):
        right = left[i + 1] if i < n - 1 else state.high
        total += _piece_area(h[i] - top, slope[i], left[i] - x[i], right - x[i])
        area[i] = total


@helper
def _piece_area(h, slope, left, right):
    """Integral of exp(h + slope t) for t from left to right; the ends may be infinite."""
    rise = abs(slope) * (right - left)
    if rise < 1e-12:
        return np.exp(h) * (right - left)
    end = right if slope > 0.0 else left
    return np.exp(h + slope * end) * -np.expm1(-rise) / abs(slope)


@helper
def _invert(hull, u):
    """The point with a share `u` of the envelope's area to its left, after its piece."""
    n, area = hull.state.num_points, hull.area
    i = np.searchsorted(area[: n - 1], u * area[n - 1], side="right")
    before = area[i - 1] if i > 0 else 0.0
    share = (u * area[n - 1] - before) / (area[i] - before)
    left, slope = hull.left[i], hull.slope[i]
    right = hull.left[i + 1] if i < n - 1 else hull.state.high
    rise = abs(slope) * (right - left)
    if rise < 1e-12:
        return i, left + share * (right - left)
    if slope > 0.0:
        return i, right + np.log(share + (1.0 - share) * np.exp(-rise)) / slope
    return i, left + np.log1p(share * np.expm1(-rise)) / slope


@helper
def _chord(hull, i, x):
    """Log of the squeeze at `x`, which lies in piece i; and how many points are left of it."""
    j = i + 1 if x >= hull.x[i] else i
    if j == 0 or j == hull.state.num_points:
        return -np.inf, j
    share = (x - hull.x[j - 1]) / (hull.x[j] - hull.x[j - 1])
    return hull.h[j - 1] + share * (hull.h[j] - hull.h[j - 1]), j


@helper
def _violates(hull, j, h, slope, envelope, chord):
    """Whether a new point before point j of the hull shows the log density not to be concave."""
    if h - envelope > _rounding(envelope) or chord - h > _rounding(h):
        return True
    slack = 1e-7 * (1.0 + abs(slope))
    return (j > 0 and slope > hull.slope[j - 1] + slack) or (
        j < hull.state.num_points and slope < hull.slope[j] - slack
    )


@helper
def _insert(hull, j, x, h, slope):
    for i in range(hull.state.num_points, j, -1):
        hull.x[i], hull.h[i], hull.slope[i] = hull.x[i - 1], hull.h[i - 1], hull.slope[i - 1]
    hull.x[j], hull.h[j], hull.slope[j] = x, h, slope
    hull.state.num_points += 1


@kernel(
    INT, ADDRESS, HANDLE, GENERATOR, numba_type(Hull), from_dtype(Note)[::1], INT, INT, seconds=2
)
def draw(address, handle, rng, hull, notes, first, last):
    """Make the draws first, …, last - 1; the hull's state says where it stopped, and why."""
    hull = borrowed(hull)
    state = hull.state
    _rebuild(hull)
    theta, grad = np.empty(1), np.empty(1)
    state.done = first
    while state.done < last:
        note = notes[state.done]
        i, x = _invert(hull, rng.random())
        log_u = np.log(rng.random())
        envelope = hull.h[i] + hull.slope[i] * (x - hull.x[i])
        chord, j = _chord(hull, i, x)
        note.num_proposals += 1
        state.proposals += 1.0
        state.proposals_squared += 1.0
        accepted = log_u <= chord - envelope
        if not accepted:
            theta[0] = x
            h = density(address, theta, grad, handle)
            note.num_evals += 1
            if handle[-1] != 0:
                break
            state.bad_x = x
            if not (np.isfinite(h) and np.isfinite(grad[0])):
                state.status = NOT_FINITE
                break
            if _violates(hull, j, h, grad[0], envelope, chord):
                state.bad_ratio = h - envelope
                state.status = CONVEX
                break
            accepted = log_u <= h - envelope
            n = state.num_points
            apart = (j == 0 or x > hull.x[j - 1]) and (j == n or x < hull.x[j])
            if apart and n < hull.x.size:
                before = _log_area(hull)
                _insert(hull, j, x, h, grad[0])
                _rebuild(hull)
                shrink = np.exp(_log_area(hull) - before)
                state.proposals *= shrink
                state.proposals_squared *= shrink * shrink
        if accepted:
            note.value = x
            state.done += 1
    return state.done
