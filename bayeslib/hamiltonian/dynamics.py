"""What the Hamiltonian samplers share: momenta, leapfrog steps, and how long a step is.

`metric` is the inverse mass matrix M^-1: (1, dim) its diagonal, or (dim, dim). `root` is its root,
of the same shape: the roots of the diagonal, or the lower Cholesky factor.
"""

import numpy as np

from ..chains.loop import FINE, IMPROPER, copy, log_density_and_gradient, record
from ..chains.warmup import learn_root, variance
from ..compile.callback import helper
from ..diagnostics.trouble import divergence_problem
from ..errors import BayeslibError, warn
from ..validate import as_covariance, as_fraction, as_positive, as_scale

DIVERGENT = 1000.0  # an energy error that no stable trajectory makes (Stan's rule)
_LARGEST_STEP = 1e7
_SMALLEST_STEP = 1e-12

# value: the step size. wanted: the acceptance rate to aim at, 0 where the step is kept. average: of
# the logarithm of the step. deficit: of acceptance, a running mean. centre: what the logarithm
# shrinks to. count: steps since it was begun anew. begun: whether it was since the metric changed.
Step = record(
    value="f8", wanted="f8", average="f8", deficit="f8", centre="f8", count="f8", begun="?"
)


@helper
def draw_momentum(rng, root, momentum):
    """Draw from N(0, M): dim standard normals in order, divided by the root of M^-1."""
    dim = momentum.size
    for i in range(dim):
        momentum[i] = rng.standard_normal()
    if root.shape[0] == 1:
        for i in range(dim):
            momentum[i] /= root[0, i]
        return
    for i in range(dim - 1, -1, -1):
        total = momentum[i]
        for j in range(i + 1, dim):
            total -= root[j, i] * momentum[j]
        momentum[i] = total / root[i, i]


@helper
def velocity(metric, momentum, i):
    """Return coordinate i of M^-1 p."""
    if metric.shape[0] == 1:
        return metric[0, i] * momentum[i]
    total = 0.0
    for j in range(momentum.size):
        total += metric[i, j] * momentum[j]
    return total


@helper
def kinetic_energy(momentum, metric):
    """Return p' M^-1 p / 2; the constant log|M| / 2 is left out."""
    total = 0.0
    for i in range(momentum.size):
        total += velocity(metric, momentum, i) * momentum[i]
    return 0.5 * total


@helper
def kick_and_drift(position, momentum, gradient, metric, push, step_size):
    """Add `push` times the gradient to the momentum, then `step_size` * M^-1 p to the position."""
    if metric.shape[0] == 1:
        for i in range(position.size):
            momentum[i] += push * gradient[i]
            position[i] += step_size * metric[0, i] * momentum[i]
        return
    for i in range(position.size):
        momentum[i] += push * gradient[i]
    for i in range(position.size):
        position[i] += step_size * velocity(metric, momentum, i)


@helper
def kick(momentum, gradient, step_size):
    """Do the last half kick of a trajectory."""
    for i in range(momentum.size):
        momentum[i] += 0.5 * step_size * gradient[i]


@helper
def integrate(target, position, momentum, gradient, metric, step_size, num_steps):
    """Do leapfrog steps in place; return the log density at the end and the steps taken.

    The half kicks between two steps are done as one. It ends early where the log density is -inf:
    the caller rejects, and so would the way back, which visits the same points.
    """
    log_p, push = 0.0, 0.5 * step_size
    for step in range(num_steps):
        kick_and_drift(position, momentum, gradient, metric, push, step_size)
        log_p, push = log_density_and_gradient(target, position, gradient), step_size
        if log_p == -np.inf:
            return log_p, step + 1
    kick(momentum, gradient, step_size)
    return log_p, num_steps


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


def as_step(step_size, target_accept, num_warmup):
    """Return what a `Step` begins with: adapted to `target_accept` where `step_size` is None."""
    target_accept = as_fraction(target_accept, "target_accept")
    if step_size is not None:
        return {"value": as_positive(step_size, "step_size"), "begun": True}
    if num_warmup == 0:
        raise BayeslibError("num_warmup=0 leaves no time to find a step size; pass step_size")
    return {"value": 1.0, "wanted": target_accept}


def as_metric(value, dim, name="inverse_mass_matrix"):
    """Return M^-1 and its root."""
    if value is None or np.ndim(value) < 2:
        metric = as_scale(1.0 if value is None else value, name, dim)[None, :]
        return metric, np.sqrt(metric)
    metric = as_covariance(value, name, dim)
    return metric, np.ascontiguousarray(np.linalg.cholesky(metric))


def warn_of_divergences(draws, where):
    """Warn, once and on the sampler's caller, of transitions that diverged."""
    problem = divergence_problem(draws)
    if problem:
        by_chain = draws.stats["diverging"].sum(axis=1)
        warn(f"{problem} (by chain: {', '.join(map(str, by_chain))}; {where})")
