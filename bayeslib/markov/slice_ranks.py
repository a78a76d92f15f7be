"""Are full conditionals those of a density? Their draws' ranks among draws from its slices."""

import copy

import numpy as np
from numba import types

from ..chains.loop import Density, log_density, numba_type
from ..compile.callback import kernel
from ..compile.kinds import FLOAT, GENERATOR, INT, MATRIX, VECTOR
from ..errors import BayeslibError
from ..validate import shown
from .slice_sample import slice_update

FALSE_ALARM = 1e-9  # a run, in all
NUM_DRAWS, NUM_MOVES = 200, 7  # from each conditional at each place; beside each
_PILOTS, _SWEEPS, _MOST_COORDINATES = 50, 3, 16
_LARGEST = 1e8  # log densities beyond it have differences that are mostly rounding
_MOST_STEPS_OUT = 50


@kernel(types.void, numba_type(Density), GENERATOR, INT, FLOAT, MATRIX, VECTOR, VECTOR, seconds=3)
def rank_kernel(target, rng, i, width, states, position, ranks):
    """Rank coordinate i of each state in a sequence of slice updates that runs through it.

    The update is reversible, so that a sequence in equilibrium may be made from any of its members
    outwards; ranks are on (0, 1), ties broken at random.
    """
    for n in range(states.shape[0]):
        before = int(rng.random() * (NUM_MOVES + 1.0))
        below, equal = 0, 1
        for direction in range(2):
            for j in range(position.size):
                position[j] = states[n, j]
            log_p = log_density(target, position)
            for _ in range(before if direction == 0 else NUM_MOVES - before):
                log_p, _, _ = slice_update(target, rng, log_p, position, i, width, _MOST_STEPS_OUT)
                below += position[i] < states[n, i]
                equal += position[i] == states[n, i]
        ranks[n] = (below + equal * rng.random()) / (NUM_MOVES + 1.0)


def check_conditionals(conditionals, target, starts, rng):
    """Compare arranged conditionals with the slices of `target`.

    Parameters
    ----------
    conditionals : list of Draws
    target : Target
    starts : numpy.ndarray, shape (num_chains, dim)
    rng : Generator
        Copied, and left as it is.

    Raises
    ------
    BayeslibError
        For the first conditional that draws where the density is zero, or whose ranks are not
        uniform at a false-alarm rate of `FALSE_ALARM` in all.
    """
    rng = copy.deepcopy(rng)
    moves = [(one, one.bind(rng, target.dim)) for one in conditionals]
    bound = target.bind(gradient=False)
    pairs = [(k, i) for k, one in enumerate(conditionals) for i in one.block]
    num_pairs = min(len(pairs), _MOST_COORDINATES)
    pairs = [pairs[j] for j in np.linspace(0, len(pairs) - 1, num_pairs).astype(int)]
    # A wrong conditional may drive the chain to where it is nearly right: look at the starts too.
    places = [start for start in starts[[0, -1][: len(starts)]] if abs(target(start)) < _LARGEST]
    for theta in starts[[0, -1]]:
        for move in _SWEEPS * moves:
            (theta,) = _drawn(*move, target, theta, 1, rng)
        places.append(theta)
    ranks = {pair: [] for pair in pairs}
    for place in places:
        for k in sorted({k for k, _ in pairs}):
            states = _drawn(*moves[k], target, place, _PILOTS + NUM_DRAWS, rng)
            for i in (i for j, i in pairs if j == k):
                pilots, tested = np.split(states, [_PILOTS])
                ranks[k, i].append(_ranked(target, bound, i, pilots, tested, rng))
    level = FALSE_ALARM / (2.0 * len(pairs) * (len(places) + 1))
    for (k, i), found in ranks.items():
        for some in filter(np.size, (np.concatenate(found), *found)):
            _judge(conditionals[k].label, target.names[i], some, level)


def _drawn(conditional, callback, target, theta, number, rng):
    """Return `number` states, (number, dim), with the conditional's block drawn anew."""
    states, out = np.tile(theta, (number, 1)), np.empty(theta.size)
    for state in states:
        callback(theta, out)
        if callback.handle[-1] != 0:
            raise conditional.error(callback, theta, theta, copy.deepcopy(rng))
        state[conditional.block] = out[: conditional.size]
    values = target.many(states)
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        drawn = shown(states[bad[0], conditional.block])
        raise BayeslibError(outside(conditional.label, drawn, values[bad[0]]))
    return states


def outside(who, drawn, value):
    """Return what to say of a draw at which the target's density is not positive and finite."""
    where = "where the log density of the target is"
    return f"{who} drew {drawn}, {where} {value}: outside the support, or for another target"


def _ranked(target, bound, i, pilots, tested, rng):
    """Return ranks of coordinate i that are uniform if it was drawn from the target's slice."""
    if np.all(pilots[:, i] == np.floor(pilots[:, i])):
        return _discrete_ranks(target, i, np.unique(pilots[:, i]), tested, rng)
    low, high = np.quantile(pilots[:, i], [0.25, 0.75])
    width = 2.0 * (high - low) or 1.0
    ranks, room, tested = np.empty(len(tested)), np.empty(target.dim), np.ascontiguousarray(tested)
    rank_kernel(Density.of(bound), rng, i, width, tested, room, ranks)
    if bound.num_errors:
        raise target.explain(bound.failed_at)
    return ranks


def _discrete_ranks(target, i, values, tested, rng):
    """The same among whole numbers that were seen before; others are left out on both sides."""
    tested = tested[np.isin(tested[:, i], values)]
    if values.size < 2 or len(tested) == 0:
        return np.empty(0)
    states = np.repeat(tested, values.size, axis=0)
    states[:, i] = np.tile(values, len(tested))
    log_p = target.many(states).reshape(len(tested), values.size)
    log_p[np.isnan(log_p)] = -np.inf
    p = np.exp(log_p - log_p.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    smaller = np.sum(p * (values < tested[:, i, None]), axis=1)
    own = np.sum(p * (values == tested[:, i, None]), axis=1)
    return smaller + own * rng.random(len(tested))


def _judge(label, name, ranks, level):
    limit = np.sqrt(np.log(2.0 / level) / (2.0 * ranks.size))  # Massart's constant
    folded = _folded(ranks)
    if _distance(ranks) <= limit and _distance(folded) <= limit:
        return
    if abs(ranks.mean() - 0.5) > abs(folded.mean() - 0.5):
        how = "too large" if ranks.mean() > 0.5 else "too small"
    else:
        how = "too far spread" if folded.mean() > 0.5 else "too close together"
    found = f"{label} does not draw {name} from the target's conditional: its draws are {how}"
    remedy = "NumPy takes scale, 1 / rate, and standard deviations; for an update leave out target"
    raise BayeslibError(f"{found}; {remedy}")


def _folded(ranks):
    """Uniform too, and not where a spread is wrong."""
    return np.abs(2.0 * ranks - 1.0)


def _distance(ranks):
    """The largest distance between the empirical distribution function and the uniform one."""
    ranks, n = np.sort(ranks), ranks.size
    return max(np.max(np.arange(1, n + 1) / n - ranks), np.max(ranks - np.arange(n) / n))
