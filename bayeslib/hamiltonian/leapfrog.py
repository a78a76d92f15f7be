"""The leapfrog integrator, for looking at trajectories."""

from dataclasses import dataclass

import numpy as np

from ..target.target import as_separate, as_target
from ..validate import as_count, as_position, as_positive, check_memory
from .dynamics import as_metric


@dataclass(frozen=True)
class Trajectory:
    """A path of the leapfrog integrator, its start included.

    Attributes
    ----------
    positions, momenta : numpy.ndarray, shape (num_steps + 1, dim)
        nan beyond a point at which the log density is not finite.
    logdensity : numpy.ndarray, shape (num_steps + 1,)
    energy : numpy.ndarray, shape (num_steps + 1,)
        ``r.T @ M^-1 @ r / 2 - logdensity`` for the momentum r; an exact trajectory conserves it.
    num_evals : int
        Evaluations of the log density with its gradient.

    Examples
    --------
    >>> target = bl.posteriors.gaussian([0.0, 0.0], 1.0)
    >>> how = dict(step_size=0.2, num_steps=10)
    >>> path = bl.leapfrog(target, [1.0, 0.0], [0.0, 1.0], **how)
    >>> print(path.positions.shape, path.energy.shape, path.num_evals)
    (11, 2) (11,) 11
    """

    positions: np.ndarray
    momenta: np.ndarray
    logdensity: np.ndarray
    energy: np.ndarray
    num_evals: int


def velocity(momentum, metric):
    """Return M^-1 r."""
    return metric[0] * momentum if len(metric) == 1 else metric @ momentum


def kick_and_drift(position, momentum, gradient, metric, step_size):
    """Return where half a kick and a drift lead, and with what momentum."""
    momentum = momentum + 0.5 * step_size * gradient
    return position + step_size * velocity(momentum, metric), momentum


@np.errstate(all="ignore")  # of a path that blows up
def leapfrog(target, position, momentum, *, step_size, num_steps, inverse_mass_matrix=None):
    """Follow the Hamiltonian dynamics by the leapfrog integrator.

    Parameters
    ----------
    target : Target
        With a gradient.
    position, momentum : array_like, shape (dim,)
    step_size : float
        A time, as in `hmc`.
    num_steps : int
    inverse_mass_matrix : array_like, shape (dim,) or (dim, dim), optional
        M^-1, its diagonal alone or all of it; the identity when None.

    Returns
    -------
    Trajectory

    Raises
    ------
    BayeslibError
        For arguments out of range, each named; GradientError for a target without a gradient.

    Notes
    -----
    Each step is a half kick ``r += step_size / 2 * g`` of the momentum r, g being the gradient of
    the log density at theta, a drift ``theta += step_size * M^-1 @ r``, and a half kick. It is
    reversible and preserves volume; its energy error over a fixed time is of the order
    ``step_size**2``.

    Examples
    --------
    >>> target = bl.posteriors.gaussian([0.0], 1.0)
    >>> how = dict(step_size=0.1, num_steps=31)  # half a period
    >>> path = bl.leapfrog(target, [1.0], [0.0], **how)
    >>> print(path.positions[-1].round(2), np.ptp(path.energy).round(3))
    [-1.] 0.001
    >>> back = bl.leapfrog(target, path.positions[-1], -path.momenta[-1], **how)
    >>> print(np.allclose(back.positions[-1], [1.0]))
    True
    """
    position = as_target(target).flatten(position)
    position = as_position(position, "position", as_separate(target, "leapfrog").dim)
    momentum = as_position(momentum, "momentum", target.dim)
    step_size = as_positive(step_size, "step_size")
    num_steps = as_count(num_steps, "num_steps")
    metric, _ = as_metric(inverse_mass_matrix, target.dim)
    check_memory((2, num_steps + 1, target.dim + 1), "the trajectory")
    positions = np.full((num_steps + 1, target.dim), np.nan)
    momenta, numbers = positions.copy(), np.full((2, num_steps + 1), np.nan)
    bound, gradient = target.bind(gradient=True), np.zeros(target.dim)
    for step in range(num_steps + 1):
        if step > 0:
            position, momentum = kick_and_drift(position, momentum, gradient, metric, step_size)
        log_p = bound(position, gradient)
        if step > 0 and np.isfinite(log_p):
            momentum = momentum + 0.5 * step_size * gradient
        positions[step], momenta[step] = position, momentum
        numbers[:, step] = log_p, 0.5 * momentum @ velocity(momentum, metric) - log_p
        if not np.isfinite(log_p):
            break
    if bound.num_errors:
        raise target.explain(bound.failed_at)
    return Trajectory(positions, momenta, *numbers, step + 1)
