"""What the Hamiltonian samplers share: momenta and leapfrog steps.

`metric` is the inverse mass matrix M^-1: (1, dim) its diagonal, or (dim, dim). `root` is its root,
of the same shape: the roots of the diagonal, or the lower Cholesky factor.
"""

import numpy as np

from ..chains.loop import log_density_and_gradient
from ..compile.callback import helper
from ..validate import as_covariance, as_scale

DIVERGENT = 1000.0  # an energy error that no stable trajectory makes (Stan's rule)


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


def as_metric(value, dim, name="inverse_mass_matrix"):
    """Return M^-1 and its root."""
    if value is None or np.ndim(value) < 2:
        metric = as_scale(1.0 if value is None else value, name, dim)[None, :]
        return metric, np.sqrt(metric)
    metric = as_covariance(value, name, dim)
    return metric, np.ascontiguousarray(np.linalg.cholesky(metric))
