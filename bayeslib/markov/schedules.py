"""Schedules of temperatures for simulated annealing."""

import numpy as np

from ..errors import BayeslibError
from ..validate import as_choice, as_floats, as_positive, check_each, check_shape

_DEFAULT = 10_000  # iterations
_FALL = 1e-3  # of the geometric schedule, from first to last


def as_schedule(schedule, initial, final, num_iterations):
    """Return the temperature of every iteration, and what to call the schedule.

    Parameters
    ----------
    schedule : str, callable or array_like
    initial, final : float or None
        For the named schedules only.
    num_iterations : int or None

    Returns
    -------
    temperatures : numpy.ndarray, shape (num_iterations,)
    name : str

    Raises
    ------
    BayeslibError
    """
    if isinstance(schedule, str):
        as_choice(schedule, "schedule", ("geometric", "logarithmic"))
        return _named(schedule, initial, final, num_iterations or _DEFAULT), schedule
    if initial is not None or final is not None:
        raise BayeslibError("initial_temperature and final_temperature are for a named schedule")
    label, name = "schedule", "given"
    if callable(schedule):
        label, name = "schedule(k)", getattr(schedule, "__name__", "schedule")
        num_iterations = num_iterations or _DEFAULT
        schedule = schedule(np.arange(num_iterations))
    temperatures = as_floats(schedule, label)
    num = num_iterations or max(temperatures.size, 1)
    check_shape(temperatures, label, (num,), f"hold num_iterations={num} temperatures")
    fine = np.isfinite(temperatures) & (temperatures >= 0.0)
    check_each(temperatures, label, "finite and not negative", fine)
    return temperatures, name


def _named(name, initial, final, num_iterations):
    if initial is None:
        raise BayeslibError(f"the {name} schedule needs initial_temperature, as high as most hills")
    initial = as_positive(initial, "initial_temperature")
    k = np.arange(num_iterations)
    if name == "logarithmic":
        if final is not None:
            raise BayeslibError(f"the logarithmic schedule has no final_temperature, got {final!r}")
        return initial * np.log(2.0) / np.log(k + 2.0)
    final = _FALL * initial if final is None else as_positive(final, "final_temperature")
    if final > initial:
        raise BayeslibError(f"final_temperature={final:g} is above initial_temperature={initial:g}")
    return initial * (final / initial) ** (k / max(num_iterations - 1, 1))
