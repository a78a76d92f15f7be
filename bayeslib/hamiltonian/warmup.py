"""How Hamiltonian samplers learn their step size and their metric in the warm-up."""

import numpy as np

from ..chains.loop import FINE, IMPROPER, copy, record
from ..chains.warmup import add, learn_root, variance, warmup_windows
from ..compile.callback import helper
from ..errors import BayeslibError
from ..validate import as_fraction, as_positive
from .dynamics import draw_momentum, integrate, kinetic_energy

# What is learned: nothing, the diagonal from draws and gradients, or the covariance of the draws.
UNIT, DIAGONAL, DENSE = range(3)
METRICS = {"unit": UNIT, "diag": DIAGONAL, "dense": DENSE}

_LARGEST_STEP = 1e7
_SMALLEST_STEP = 1e-12
_SMALLEST, _LARGEST = 1e-20, 1e20
_FEWEST = 4  # draws before a variance is believed
_FULL_EVERY = 8  # iterations of the warm-up from one full trajectory to the next
_LOST = 0.01  # an acceptance rate below it: the step was unstable where the trajectory went
_FEW_LOST = 1.0 / 1500.0
_LEAST = 0.7  # of the averaged step; a funnel is to show its divergences
_STEEPNESS = 8.0  # the share of lost transitions grows about as this power of the step

# value: the step size. wanted: the acceptance rate to aim at, 0 where the step is kept. average: of
# the logarithm of the step. deficit: of acceptance, a running mean. centre: what the logarithm
# shrinks to. count: steps since it was begun anew. begun: whether it was since the metric changed.
Step = record(
    value="f8", wanted="f8", average="f8", deficit="f8", centre="f8", count="f8", begun="?"
)

# front, back: draws in the two estimates of a diagonal metric. deepest: how deep the trajectory may
# be. reached: depth of the last that was let grow. watched, lost: transitions. num_diverged: of
# those that are kept.
Memory = record(
    front="f8", back="f8", deepest="i8", reached="i8", watched="f8", lost="f8", num_diverged="i8"
)


def as_step(step_size, target_accept, num_warmup):
    """Return what a `Step` begins with: adapted to `target_accept` where `step_size` is None."""
    target_accept = as_fraction(target_accept, "target_accept")
    if step_size is not None:
        return {"value": as_positive(step_size, "step_size"), "begun": True}
    if num_warmup == 0:
        raise BayeslibError("num_warmup=0 leaves no time to find a step size; pass step_size")
    return {"value": 1.0, "wanted": target_accept}


@helper
def find_step(target, rng, log_p, x, position, momentum, gradient):
    """Double or halve the step until one step's acceptance crosses 0.8; restart the averaging.

    `x` is a sampler's state; there is room for a trajectory's end. Where the density is nan or
    +inf the step is too long, and no more is said of it.
    """
    step, direction, goal, account = x.step, 0.0, np.log(0.8), target.account
    num_nan = account.num_nan
    while _SMALLEST_STEP < step.value < _LARGEST_STEP:
        draw_momentum(rng, x.root, momentum)
        copy(x.position, position)
        copy(x.gradient, gradient)
        before = kinetic_energy(momentum, x.metric) - log_p
        log_new, _ = integrate(target, position, momentum, gradient, x.metric, step.value, 1)
        change = before - (kinetic_energy(momentum, x.metric) - log_new)
        above = goal < change < np.inf  # false for nan
        stopped = target.handle[target.handle.size - 1] != 0
        if stopped or (direction != 0.0 and above != (direction > 0.0)):
            break
        direction = 1.0 if above else -1.0
        step.value *= 2.0**direction
    account.num_nan, account.status = num_nan, FINE
    if step.value >= _LARGEST_STEP:
        account.status = IMPROPER
        copy(x.position, target.points[1])
    step.centre = np.log(10.0 * step.value)
    step.average = step.deficit = step.count = 0.0
    step.begun = True


@helper
def average_step(step, probability):
    """Nesterov's dual averaging, with the constants of Hoffman and Gelman (2014)."""
    step.count += 1.0
    n = step.count
    step.deficit += (step.wanted - probability - step.deficit) / (n + 10.0)
    log_step = step.centre - np.sqrt(n) / 0.05 * step.deficit
    step.average += n**-0.75 * (log_step - step.average)
    step.value = np.exp(log_step)


@helper
def learn_metric(t, windows, window, x):
    """Learn M^-1 from the draws, in the middle windows, as Stan does; say whether it changed."""
    metric, moments = x.metric, x.moments
    if not learn_root(t, windows, window, x.position, moments, x.root, False):
        return False
    for i in range(metric.shape[1]):
        if moments.shape[0] == 2:
            metric[0, i] = moments[1, i]
            continue
        metric[i, i] = variance(x.root, i)
        for j in range(i + 1, metric.shape[1]):
            metric[i, j] = metric[j, i] = moments[1 + i, j]
    return True


def begin_hmc(t, windows, target, rng, log_p, x):
    """Find a first step, for a new metric too."""
    if not x.step.begun:
        find_step(target, rng, log_p, x, x.proposal, x.momentum, x.slope)


def learn_hmc(t, windows, target, rng, log_p, x, note):
    """Learn the step size and the metric; freeze both at the end of the warm-up."""
    target.account.num_outside = 0
    if x.step.wanted == 0.0:
        return
    average_step(x.step, note.acceptance_rate)
    if learn_metric(t, windows, target.account.window, x):
        x.step.begun = False
    if t + 1 == windows[windows.size - 1]:
        x.step.value = np.exp(x.step.average)


def metric_windows(num_warmup, learned):
    """Return where the windows of the warm-up end, the last at `num_warmup`.

    A dense metric has Stan's. A diagonal one learns in windows of 10 iterations for the first fifth
    of the warm-up and of 30 % of it from there to 85 %, where its estimate is frozen.
    """
    if learned != DIAGONAL:
        return warmup_windows(num_warmup, learned == DENSE)
    early, late = int(0.2 * num_warmup), int(0.85 * num_warmup)
    ends, end, size = [], 0, 10
    while end + 2 * size <= late:
        end += size
        ends.append(end)
        if end >= early:
            size = max(10, int(0.3 * num_warmup))
    return np.array([*ends, late, num_warmup])


def begin_nuts(t, windows, target, rng, log_p, tree):
    """Find a first step, for a new metric too; say how often the trajectory may double.

    Most stop one short of the last full one: they cost half and teach the metric as much. The first
    tenth and the last window are full.
    """
    if not tree.step.begun:
        find_step(target, rng, log_p, tree, tree.left[0], tree.left[1], tree.left[2])
    if tree.step.wanted > 0.0:
        num_warmup, deepest = windows[windows.size - 1], tree.max_depth
        if t % _FULL_EVERY > 0 and 10 * t >= num_warmup and 20 * t < 17 * num_warmup:
            deepest = min(deepest, max(tree.memory.reached - 1, 1))
        tree.memory.deepest = deepest


def learn_nuts(t, windows, target, rng, log_p, tree, note):
    """Learn the step size and the metric; freeze both at the end of the warm-up."""
    step, memory, num_warmup = tree.step, tree.memory, windows[windows.size - 1]
    target.account.num_outside = memory.num_diverged = 0
    if step.wanted == 0.0:
        return
    average_step(step, note.acceptance_rate)
    # Lost are counted among transitions of the usual step, after the first fifth.
    if 5 * t >= num_warmup and note.step_size <= 1.1 * np.exp(step.average):
        memory.watched += 1.0
        memory.lost += note.acceptance_rate < _LOST
    if memory.deepest == tree.max_depth:
        memory.reached = note.tree_depth
    if tree.learned == DIAGONAL:
        changed = learn_diagonal(t, windows, target.account.window, tree)
    else:
        changed = learn_metric(t, windows, target.account.window, tree)
    if changed:
        step.begun = False
        memory.watched = memory.lost = 0.0
    if t + 1 == num_warmup:
        memory.deepest, step.value = tree.max_depth, np.exp(step.average)
        # The mean acceptance rate does not see a step that is unstable in the tails only.
        if memory.lost > _FEW_LOST * memory.watched:
            excess = memory.lost / (_FEW_LOST * memory.watched)
            step.value *= max(_LEAST, excess ** (-1.0 / _STEEPNESS))


@helper
def learn_diagonal(t, windows, window, tree):
    """Set the diagonal of M^-1 to the sd of the draws over the sd of the gradients.

    Until the last window, from each draw; say whether it is the first. Rows 0 to 3 of `moments` are
    what is used: mean and squares of draws, then of gradients. Rows 4 to 7 started later and take
    over at the end of a window, so that early draws are forgotten.
    """
    memory, moments = tree.memory, tree.moments
    if window == windows.size - 1:
        return False
    is_new = memory.front < _FEWEST
    memory.front += 1.0
    memory.back += 1.0
    add(tree.position, memory.front, moments[0:2])
    add(tree.gradient, memory.front, moments[2:4])
    add(tree.position, memory.back, moments[4:6])
    add(tree.gradient, memory.back, moments[6:8])
    if t + 1 == windows[window] and window < windows.size - 2:  # the last takes nothing over
        moments[:4] = moments[4:]
        memory.front, memory.back = memory.back, 0.0
    if memory.front < _FEWEST:
        return False
    for i in range(tree.position.size):
        variance = np.sqrt(moments[1, i] / moments[3, i])
        if _SMALLEST < variance < _LARGEST:  # false for nan: a draw that never moved
            tree.metric[0, i] = variance
            tree.root[0, i] = np.sqrt(variance)
    return is_new
