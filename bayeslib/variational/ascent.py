"""Stochastic gradient ascent: steps for kernels, and when to take smaller ones, and to stop."""

import numpy as np
from numba import types

from ..compile.callback import helper, kernel
from ..compile.kinds import FLOAT, INT, VECTOR

FIRST_DECAY, SECOND_DECAY, TINY = 0.9, 0.999, 1e-8  # of Adam, as its authors chose them
ROUND = 20.0  # steps of a round's window, times the step size
STILL = 1.1  # R-hat of the two halves of a window's iterates


@helper
def adam(parameters, gradient, first, second, t, step_size):
    """Take Adam's step number `t`, from 1, uphill along `gradient`; all arrays (k,), in place.

    `first` and `second` are the running moments, zero before the first step.
    """
    for i in range(parameters.size):
        first[i] = FIRST_DECAY * first[i] + (1.0 - FIRST_DECAY) * gradient[i]
        second[i] = SECOND_DECAY * second[i] + (1.0 - SECOND_DECAY) * gradient[i] ** 2
        mean = first[i] / (1.0 - FIRST_DECAY**t)
        spread = np.sqrt(second[i] / (1.0 - SECOND_DECAY**t))
        parameters[i] += step_size * mean / (spread + TINY)


@kernel(types.void, VECTOR, VECTOR, VECTOR, VECTOR, INT, FLOAT)
def adam_step(parameters, gradient, first, second, t, step_size):
    """`adam`, for callers that are not compiled."""
    adam(parameters, gradient, first, second, t, step_size)


@helper
def adagrad(parameters, gradient, squares, step_size):
    """Take a step of AdaGrad uphill; `squares` sums the squared gradients, all (k,), in place."""
    for i in range(parameters.size):
        squares[i] += gradient[i] ** 2
        parameters[i] += step_size * gradient[i] / (np.sqrt(squares[i]) + TINY)


@helper
def robbins_monro(t, step_size, decay):
    """Step number `t`, from 0: for 1/2 < decay <= 1 its sum diverges, its squares' does not."""
    return step_size * (1.0 + t) ** -decay


def run_rounds(fit, *, step_size, max_steps, tolerance):
    """Ascend in rounds of constant steps, each half as long as the one before.

    With a constant step the iterates settle to a cloud about the optimum, whose average is closer
    to it the smaller the step. A round ends when its second half has no trend left; then that half
    is averaged, and the next round starts from the average.

    Parameters
    ----------
    fit : object
        Its run(step_size, num_steps) goes on for so many steps, and returns what is watched,
        (num_steps, m), and the parameters averaged over these steps, (k,); restart(average) goes
        on from these; distance(average, average) -> float, in nats; `num_steps` counts its steps,
        and `interrupted` says that the last run ended early.
    step_size : float
        Of the first round.
    max_steps : int
    tolerance : float
        The distance of two rounds' averages at which to stop.

    Returns
    -------
    average : numpy.ndarray, shape (k,)
        The last round's averaged parameters.
    step_sizes : numpy.ndarray, shape (rounds,)
    converged : bool
        Whether the last two averages were within the tolerance.

    References
    ----------
    Dhaka, Catalina, Andersen, Magnusson, Huggins and Vehtari (2020), "Robust, accurate stochastic
    optimization for variational inference"; Welandawe, Andersen, Vehtari and Huggins (2024), "A
    framework for improving the reliability of black-box variational inference".
    """
    sizes, last = [], None
    while True:
        sizes.append(step_size)
        average, still = _run_round(fit, step_size, max_steps, tolerance)
        settled = still and last is not None and fit.distance(average, last) < tolerance
        if settled or fit.num_steps >= max_steps or fit.interrupted:
            return average, np.array(sizes), settled
        fit.restart(average)
        last, step_size = average, 0.5 * step_size


def _run_round(fit, step_size, max_steps, tolerance):
    """Return the average, and whether the last of the steps had no trend."""
    window, paths, averages = int(np.ceil(ROUND / step_size)), [], []
    while fit.num_steps < max_steps and not fit.interrupted:
        path, average = fit.run(step_size, min(window, max_steps - fit.num_steps))
        if len(path) < window and averages:
            break  # what is left is too short to weigh as much as the others
        paths.append(path)
        averages.append(average)
        if len(averages) % 2:
            continue
        half = len(averages) // 2
        still = _no_trend(np.concatenate(paths[half:]))
        if not still and half > 1:
            middle = half + half // 2
            earlier = np.mean(averages[half:middle], axis=0)
            later = np.mean(averages[middle:], axis=0)
            still = fit.distance(later, earlier) < 0.1 * tolerance
        if still:
            return np.mean(averages[half:], axis=0), True
    return np.mean(averages[len(averages) // 2 :], axis=0), False


@np.errstate(over="ignore", invalid="ignore")  # of a run that went off
def _no_trend(path):
    """Say whether the two halves of a path (n, m) have the same mean, by R-hat."""
    half = len(path) // 2
    first, second = path[:half], path[-half:]
    within = 0.5 * (first.var(axis=0) + second.var(axis=0))
    between = 0.5 * np.square(first.mean(axis=0) - second.mean(axis=0))
    return bool(np.all(between <= (STILL**2 - 1.0) * within + 1e-16))
