"""Schedules of temperatures for simulated annealing."""

import numpy as np

from ..errors import BayeslibError, BayeslibTypeError
from ..validate import as_count, as_floats, as_positive, check_each, check_fits, check_memory

_NAMED = ("geometric", "logarithmic")
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
    if num_iterations is not None:
        num_iterations = as_count(num_iterations, "num_iterations")
        check_memory((num_iterations,), "the temperatures")
    if schedule is None or isinstance(schedule, str) and schedule not in _NAMED:
        raise BayeslibTypeError(
            'schedule must be "geometric", "logarithmic", a function or temperatures, got '
            f"{schedule!r}"
        )
    if isinstance(schedule, str):
        return _named(schedule, initial, final, num_iterations or _DEFAULT), schedule
    if initial is not None or final is not None:
        raise BayeslibError(
            "initial_temperature and final_temperature are for the schedules "
            '"geometric" and "logarithmic"; the temperatures given decide alone'
        )
    label, name = "schedule", "given"
    if callable(schedule):
        label, name = "schedule(k)", getattr(schedule, "__name__", "schedule")
        num_iterations = num_iterations or _DEFAULT
        schedule = schedule(np.arange(num_iterations))
    temperatures = as_floats(schedule, label)
    num = num_iterations or max(temperatures.size, 1)
    rule = f"hold a temperature for each k = 0, …, num_iterations - 1 = {num - 1}"
    remedy = "; change it, or leave one of them out"
    check_fits(temperatures.shape == (num,), temperatures, label, rule, remedy)
    fine = np.isfinite(temperatures) & (temperatures >= 0.0)
    check_each(temperatures, label, "finite and not negative", fine)
    return temperatures, name


def _named(name, initial, final, num_iterations):
    if initial is None:
        raise BayeslibError(
            f"the {name} schedule needs initial_temperature: about the size of an uphill move, so "
            "that most are accepted at first"
        )
    initial = as_positive(initial, "initial_temperature")
    k = np.arange(num_iterations)
    if name == "logarithmic":
        if final is not None:
            raise BayeslibError(
                f"the logarithmic schedule has no final_temperature, got {final!r}: it falls as "
                "slowly as it does"
            )
        return initial * np.log(2.0) / np.log(k + 2.0)
    final = _FALL * initial if final is None else as_positive(final, "final_temperature")
    if final > initial:
        raise BayeslibError(
            f"final_temperature must be at most initial_temperature={initial:g}, got {final:g}"
        )
    return initial * (final / initial) ** (k / max(num_iterations - 1, 1))
