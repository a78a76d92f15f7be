"""The leapfrog integrator, for looking at trajectories."""

from dataclasses import dataclass

import numpy as np

from ..chains.loop import copy
from ..compile.callback import borrowed, density, kernel, together
from ..compile.kinds import ADDRESS, FLOAT, HANDLE, INT, MATRIX, VECTOR
from ..target.target import as_separate, as_target
from ..validate import as_count, as_position, as_positive, check_memory
from .dynamics import as_metric, kick, kick_and_drift, kinetic_energy


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


@kernel(INT, ADDRESS, HANDLE, MATRIX, FLOAT, VECTOR, MATRIX, MATRIX, MATRIX)
def leapfrog_kernel(address, handle, metric, step_size, gradient, positions, momenta, numbers):
    """Fill a trajectory beyond its first row; return the evaluations made.

    Rows of `numbers` receive log density and energy.
    """
    handle, metric, gradient = borrowed(handle), borrowed(metric), borrowed(gradient)
    numbers[0, 0] = density(address, positions[0], gradient, handle)
    numbers[1, 0] = kinetic_energy(momenta[0], metric) - numbers[0, 0]
    for step in range(1, positions.shape[0]):
        if not abs(numbers[0, step - 1]) < np.inf:
            return step
        position, momentum = borrowed(positions[step]), borrowed(momenta[step])
        copy(positions[step - 1], position)
        copy(momenta[step - 1], momentum)
        kick_and_drift(position, momentum, gradient, metric, 0.5 * step_size, step_size)
        log_p = density(address, position, gradient, handle)
        if abs(log_p) < np.inf:
            kick(momentum, gradient, step_size)
        numbers[0, step], numbers[1, step] = log_p, kinetic_energy(momentum, metric) - log_p
    return positions.shape[0]


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
    positions[0], momenta[0] = position, momentum
    bound = target.bind(gradient=True)
    gradient, metric, positions, momenta = together(
        np.zeros(target.dim), metric, positions, momenta
    )
    num_evals = leapfrog_kernel(
        bound.address, bound.handle, metric, step_size, gradient, positions, momenta, numbers
    )
    if bound.num_errors:
        raise target.explain(bound.failed_at)
    return Trajectory(positions, momenta, *numbers, int(num_evals))
