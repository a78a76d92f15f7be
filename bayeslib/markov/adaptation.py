"""How the random walk learns its proposal in the warm-up.

First it moves one coordinate at a time, which finds the scale of each within some twenty moves,
however many powers of ten they lie apart. Then it moves all together and learns their variances or
covariance, in windows that double. Last it settles the common factor.

A walk has a `root`, the proposal's standard deviations, shape (1, dim), or the lower Cholesky
factor of its covariance, (dim, dim); both are multiplied by a common factor, tuned to an acceptance
rate.
"""

import numpy as np

from ..chains.loop import record
from ..chains.warmup import doubling_windows, learn_root
from ..compile.callback import helper

# best: the acceptance rate that is sought, 0 where nothing is. start, factor, average: logarithms
# of the factor. count: steps since the window began. alone: the coordinate, from 1, that moves
# alone, 0 where all move.
Tuning = record(best="f8", start="f8", factor="f8", average="f8", count="f8", alone="i8")

JUMP = 2.38  # times the posterior's scale over sqrt(dim): the best step for a Gaussian
# Acceptance rates at which the random walk mixes fastest, for 1, 2, … dimensions
# (Gelman, Roberts and Gilks, 1996); the last holds beyond.
BEST_ACCEPTANCE = (0.44, 0.35, 0.28, 0.26, 0.234)

_MOVES = 25  # of each coordinate, at most, before all move together


def walk_windows(num_warmup, dim):
    """Return where the windows of the warm-up end: single moves, learning, and the factor's.

    Returns
    -------
    numpy.ndarray of int64
        Only one, of single moves, for fewer than 50 iterations; or where `dim` is 0.
    """
    if num_warmup < 50 or dim == 0:
        return np.array([num_warmup])
    end = min(max(_MOVES * dim, num_warmup // 10), 2 * num_warmup // 5)
    return doubling_windows(end, 25 + 5 * dim, num_warmup - num_warmup // 5, num_warmup)


def tuned(dim, num_warmup):
    """Return what a `Tuning` that adapts begins with."""
    log_factor = np.log(JUMP / np.sqrt(dim))
    best = BEST_ACCEPTANCE[min(dim, len(BEST_ACCEPTANCE)) - 1]
    return {
        "best": best, "start": log_factor, "factor": log_factor, "average": log_factor,
        "alone": num_warmup > 0,
    }  # fmt: skip


def learn_walk(t, windows, target, rng, log_p, walk, note):
    """Tune the factor, learn the shape, and freeze both at the end of the warm-up."""
    tuning = walk.tuning
    if tuning.best == 0.0:
        return
    if tuning.alone > 0:
        _learn_coordinate(t, windows, walk, note)
        return
    tuning.count += 1.0
    n, best, change = tuning.count, tuning.best, note.acceptance_rate - tuning.best
    # Robbins and Monro (1951); recent values count more in the average, as in Nesterov's.
    tuning.factor += change * n**-0.6 / (best * (1.0 - best)) ** 0.5
    tuning.average += n**-0.75 * (tuning.factor - tuning.average)
    window = target.account.window
    if learn_root(t, windows, window, walk.position, walk.moments, walk.root, True):
        # What the first window learns are other scales, to which the factor did not belong.
        tuning.factor = tuning.start if window == 1 else tuning.average
        tuning.average = tuning.factor
    if t + 1 == windows[window]:
        tuning.count = 0.0
    set_scale(walk, tuning.average if t + 1 == windows[windows.size - 1] else tuning.factor)


@helper
def _learn_coordinate(t, windows, walk, note):
    """Tune the logarithm of one coordinate's scale, row 0 of `moments`; row 1 is its average."""
    tuning, root, dim, best = walk.tuning, walk.root, walk.position.size, BEST_ACCEPTANCE[0]
    log_scale, average, i, n = walk.moments[0], walk.moments[1], t % dim, t // dim + 1.0
    log_scale[i] += (note.acceptance_rate - best) * n**-0.6 / (best * (1.0 - best)) ** 0.5
    average[i] += n**-0.75 * (log_scale[i] - average[i])
    tuning.alone = (t + 1) % dim + 1
    if t + 1 == windows[0]:
        for j in range(dim):
            root[j if root.shape[0] > 1 else 0, j] = np.exp(average[j]) / JUMP
        tuning.factor = tuning.average = tuning.start
        tuning.alone = 0
        set_scale(walk, tuning.factor)


@helper
def set_scale(walk, log_factor):
    """Propose with this factor."""
    for i in range(walk.scale.size):
        walk.scale[i] = np.exp(log_factor) * (1.0 if walk.root.shape[0] > 1 else walk.root[0, i])
