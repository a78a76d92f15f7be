"""How far draws went, and how fast the density falls beyond them, asked of the density itself."""

import numpy as np

from ..compile.callback import evaluate_many
from ..validate import along

_FAR = 8.0  # mean absolute deviations, 6.4 standard deviations of normal draws
_ENOUGH = 400  # draws for a centre and a spread
_PIECE = 100_000  # numbers looked at at once
_MOST = 4  # dimensions asked about
_REACH = (1e1, 1e3)  # times the distance of the farthest draw
_ENDLESS = 1e10  # where every usual prior has fallen
_FEW = 100  # draws, from which one cannot tell
_OF_HALF = 500  # draws, or up to twice as many, for its mean and spread: no run must wait


@np.errstate(all="ignore")
def tail_index(target, values, *, gradient=False):
    """Find the order from which on moments of the target do not exist, if draws went far out.

    Parameters
    ----------
    target : Target
    values : numpy.ndarray, shape (num_chains, num_samples, dim)
        Finite.
    gradient : bool
        Whether it is the density that comes with the gradient that is compiled.

    Returns
    -------
    index : float
        Where log p falls by b for each unit of log distance, b - 1 along an axis and b - dim on
        the ray through a draw: the smaller, over the dimensions with a draw eight mean absolute
        deviations from the mean. Moments of that order and above are infinite: the integral for
        0, the mean for 1. Infinite when no draw is so far, huge when the density falls faster than
        any power.
    num_evals : int
    """
    draws = values.reshape(-1, target.dim)
    some = np.ascontiguousarray(draws[:: max(1, len(draws) // _ENOUGH)].T)
    centre = some.mean(axis=1)
    spread = np.abs(some - centre[:, None]).mean(axis=1)
    # Dimensions as rows, a piece at a time, which stays in the cache: no run must wait for this.
    most = np.zeros(target.dim)
    for piece in np.array_split(draws, 1 + draws.size // _PIECE):
        columns = np.ascontiguousarray(piece.T)
        most = np.maximum(most, columns.max(axis=1) - centre)
        most = np.maximum(most, centre - columns.min(axis=1))
    distance = np.nan_to_num(most / spread, nan=0.0)
    farthest = np.argsort(-distance)[:_MOST]
    # Held by each other: nothing is far along a simplex.
    held = ~target.layout.transform.monotone if target.layout else np.zeros(target.dim, dtype=bool)
    far = [i for i in farthest if _FAR < distance[i] < np.inf and not held[i]]
    if not far:
        return np.inf, 0
    points, dims = [], []
    for i in far:
        farthest = draws[np.argmax(np.abs(draws[:, i] - centre[i]))]
        axis = np.where(np.arange(target.dim) == i, farthest - centre, 0.0)
        start = np.where(held, farthest, centre)
        points += [start + reach * way for way in (axis, farthest - start) for reach in _REACH]
        dims += [1, target.dim - held.sum()]
    bound = target.bind(gradient)
    found = evaluate_many(bound, np.array(points))
    if bound.num_errors:
        return np.inf, len(points)
    falls = (found[0::2] - found[1::2]) / np.log(_REACH[1] / _REACH[0])
    orders = (falls - dims)[np.isfinite(found[0::2]) & np.isfinite(found[1::2])]
    return float(np.min(orders, initial=np.inf)), len(points)


@np.errstate(all="ignore")
def disagree(values):
    """Say whether halves of the chains, (num_chains, num_samples, dim), lie apart.

    So they do when they are worth less than ten draws, as all those of an improper density; of
    fewer than a hundred it is taken for granted.
    """
    half = values.shape[1] // 2
    if half < _FEW:
        return True
    means, spreads = [], []
    for chain in values:  # by products, which take a third of the time of mean and var
        halves = chain[: 2 * half].reshape(2, half, -1)[:, :: max(1, half // _OF_HALF)]
        weights = np.full(halves.shape[1], 1.0 / halves.shape[1])
        means.append(weights @ halves)
        halves = halves - means[-1][:, None]
        spreads.append(np.einsum("hnd,hnd->hd", halves, halves) / weights.size)
    apart, spread = np.var(means, axis=(0, 1)), np.mean(spreads, axis=(0, 1))
    return not np.all(apart <= 0.1 * spread)


@np.errstate(all="ignore")
def endless(target, values, gradient):
    """Say in which direction the density is flat, or rises, to the end, if the chains disagree.

    Asked beyond each chain's last draw, away from the mean or along the axis nearest to that, and
    in the direction in which no gradient at the draws has a part; without gradients, in which the
    chains' means lie apart, in twelfths of its largest part, which draws tell exactly enough.

    Returns
    -------
    said : str or None
    num_evals : int
    """
    if values.shape[1] < 2 * _FEW or not disagree(values):
        return None, 0
    bound, draws, last = target.bind(gradient), values.reshape(-1, target.dim), values[:, -1]
    some, centre = draws[:: max(1, len(draws) // _ENOUGH)], draws.mean(axis=0)
    ways = last - centre
    ways /= np.abs(ways).max(axis=1, keepdims=True)
    ways, spread = [*ways, *np.trunc(ways)], some.std(axis=0)
    exact = gradient and target.dim < len(some)
    if exact:
        parts = np.zeros_like(some)
        for x, slope in zip(some, parts, strict=True):
            bound(x, slope)
        parts *= spread
    else:
        parts = (values.mean(axis=1) - centre) / spread
    directions = np.linalg.svd(np.nan_to_num(parts, posinf=0.0, neginf=0.0))[2]
    way = spread * directions[-1 if exact else 0]
    way /= np.abs(way).max()
    ways += [way if exact else np.rint(12.0 * way) / 12.0] * len(last)
    near, ways = np.tile(last, (len(ways) // len(last), 1)), np.array(ways)
    here, there = evaluate_many(bound, near), evaluate_many(bound, near + _ENDLESS * ways)
    above = (there > here.max() + 1.0) & (there < np.inf)
    found, spent = above | (np.abs(there - here) < 1.0), exact * len(some) + 2 * len(here)
    if bound.num_errors or not found.any():
        return None, spent
    first = found.argmax()
    how, where = "rises" if above[first] else "is flat", along(ways[first], target.names)
    why = "it is improper (is a prior missing, or a sign wrong?), or as far away (then rescale)"
    return f"the log density {how} in the direction {where} as far as {_ENDLESS:g}: {why}", spent


def runaway(target, values):
    """Say which bounded parameter ran where few proper priors leave a hundredth of draws, or None.

    That is beyond 1e100, or to within 1e-100 of a bound, or to its last digits if that is not 0; or
    close to 0 if the density, which is asked where 0 is crowded, has no integral there.
    """
    for i, bounds in enumerate(target.support or ()):
        x = values[..., i]
        room = 1e-100 * min(1.0, bounds[1] - bounds[0])
        near = [np.abs(x - bound) < 1e-15 * abs(bound) + room for bound in bounds]
        gone = np.any([np.abs(x) > 1e100, *near, _at_a_pole(target, values, i)], axis=0)
        if np.mean(gone) > 0.01:
            told = f"{target.names[i]} ran to {x[gone][-1]:.2g}: is its prior proper?"
            return f"{told} (If it is, then so steep there that floats may end before draws do.)"


def _at_a_pole(target, values, i):
    """Say which draws crowd 0 where the density rises towards it as 1 / |x|, or faster.

    At other bounds floats soon end.
    """
    near = np.abs(values[..., i]) < 1e-4 * np.abs(values[..., i]).max()
    if near.mean() < 0.1:
        return near & False
    points = values[near][[-1, -1]]
    points[:, i] = np.sign(points[:, i]) * [1e-100, 1e-200]
    farther, nearer = evaluate_many(target.bind(False), points).tolist()
    # Most draws of a proper density that is this steep would lie nearer than floats can.
    return near & (0.999 < (nearer - farther) / np.log(1e100) < np.inf)
