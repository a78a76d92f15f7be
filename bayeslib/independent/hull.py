"""The kernel of adaptive rejection sampling: a hull of tangents and chords, and draws from it."""

import numpy as np

from ..compile.callback import (
    ADDRESS,
    GENERATOR,
    HANDLE,
    INT,
    INTS,
    MATRIX,
    VECTOR,
    density,
    helper,
    kernel,
)

MOST_POINTS = 1000

# rows of the hull: touching points, log density, slope, left end and cumulative area of a piece
X, H, SLOPE, LEFT, AREA = range(5)
# words of the state: points in the hull, why the kernel stopped
SIZE, STATUS = range(2)
FINE, CONVEX, NOT_FINITE = range(3)
# numbers of the state: logarithm that the areas are relative to, support, offending point, and the
# sums over proposals of (area now / area then) and of its square
SHIFT, LOW, HIGH, BAD_X, BAD_RATIO, SUM, SUM_SQUARES = range(7)


@helper
def _rounding(h):
    return 1e-9 * (1.0 + np.abs(h))


@helper
def _log_area(hull, words, numbers):
    return numbers[SHIFT] + np.log(hull[AREA, words[SIZE] - 1])


@helper
def _rebuild(hull, words, numbers):
    """Lay the pieces of the envelope between the intersections of neighbouring tangents."""
    n = words[SIZE]
    x, h, slope, left, area = hull[X], hull[H], hull[SLOPE], hull[LEFT], hull[AREA]
    left[0] = numbers[LOW]
    top = h[0]
    for i in range(1, n):
        width = x[i] - x[i - 1]
        bend = slope[i - 1] - slope[i]
        z = 0.5 * width
        if bend > 0.0:
            z = min(max((h[i] - h[i - 1] - slope[i] * width) / bend, 0.0), width)
        left[i] = x[i - 1] + z
        top = max(top, h[i], h[i - 1] + slope[i - 1] * z)
    for i, end in ((0, numbers[LOW]), (n - 1, numbers[HIGH])):
        if np.isfinite(end):
            top = max(top, h[i] + slope[i] * (end - x[i]))
    numbers[SHIFT] = top
    total = 0.0
    for i in range(n):
        right = left[i + 1] if i < n - 1 else numbers[HIGH]
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
def _invert(hull, words, numbers, u):
    """The point with a share `u` of the envelope's area to its left, after its piece."""
    n = words[SIZE]
    area = hull[AREA]
    i = np.searchsorted(area[: n - 1], u * area[n - 1], side="right")
    before = area[i - 1] if i > 0 else 0.0
    share = (u * area[n - 1] - before) / (area[i] - before)
    left = hull[LEFT, i]
    right = hull[LEFT, i + 1] if i < n - 1 else numbers[HIGH]
    slope = hull[SLOPE, i]
    rise = abs(slope) * (right - left)
    if rise < 1e-12:
        return i, left + share * (right - left)
    if slope > 0.0:
        return i, right + np.log(share + (1.0 - share) * np.exp(-rise)) / slope
    return i, left + np.log1p(share * np.expm1(-rise)) / slope


@helper
def _chord(hull, n, i, x):
    """Log of the squeeze at `x`, which lies in piece i; and how many points are left of it."""
    j = i + 1 if x >= hull[X, i] else i
    if j == 0 or j == n:
        return -np.inf, j
    share = (x - hull[X, j - 1]) / (hull[X, j] - hull[X, j - 1])
    return hull[H, j - 1] + share * (hull[H, j] - hull[H, j - 1]), j


@helper
def _violates(hull, n, j, h, slope, envelope, chord):
    """Whether a new point before point j of the hull shows the log density not to be concave."""
    if h - envelope > _rounding(envelope) or chord - h > _rounding(h):
        return True
    slack = 1e-7 * (1.0 + abs(slope))
    return (j > 0 and slope > hull[SLOPE, j - 1] + slack) or (
        j < n and slope < hull[SLOPE, j] - slack
    )


@helper
def _insert(hull, n, j, x, h, slope):
    for i in range(n, j, -1):
        for row in range(3):
            hull[row, i] = hull[row, i - 1]
    hull[X, j], hull[H, j], hull[SLOPE, j] = x, h, slope


@kernel(
    INT, ADDRESS, HANDLE, GENERATOR, MATRIX, INTS, VECTOR, VECTOR, INTS, INTS, INT, INT, seconds=2
)
def draw(
    address, handle, rng, hull, words, numbers, values, num_proposals, num_evals, first, last
):  # fmt: skip
    """Make the draws first, …, last - 1; return where it stopped, and why in words[STATUS]."""
    _rebuild(hull, words, numbers)
    theta, grad = np.empty(1), np.empty(1)
    t = first
    while t < last:
        n = words[SIZE]
        i, x = _invert(hull, words, numbers, rng.random())
        log_u = np.log(rng.random())
        envelope = hull[H, i] + hull[SLOPE, i] * (x - hull[X, i])
        chord, j = _chord(hull, n, i, x)
        num_proposals[t] += 1
        numbers[SUM] += 1.0
        numbers[SUM_SQUARES] += 1.0
        accepted = log_u <= chord - envelope
        if not accepted:
            theta[0] = x
            h = density(address, theta, grad, handle)
            num_evals[t] += 1
            if handle[-1] != 0:
                return t
            numbers[BAD_X] = x
            if not (np.isfinite(h) and np.isfinite(grad[0])):
                words[STATUS] = NOT_FINITE
                return t
            if _violates(hull, n, j, h, grad[0], envelope, chord):
                numbers[BAD_RATIO] = h - envelope
                words[STATUS] = CONVEX
                return t
            accepted = log_u <= h - envelope
            apart = (j == 0 or x > hull[X, j - 1]) and (j == n or x < hull[X, j])
            if apart and n < hull.shape[1]:
                before = _log_area(hull, words, numbers)
                _insert(hull, n, j, x, h, grad[0])
                words[SIZE] = n + 1
                _rebuild(hull, words, numbers)
                shrink = np.exp(_log_area(hull, words, numbers) - before)
                numbers[SUM] *= shrink
                numbers[SUM_SQUARES] *= shrink * shrink
        if accepted:
            values[t] = x
            t += 1
    return t
