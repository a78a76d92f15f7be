"""A number that knows its Monte Carlo error, and the error of draws that come in families."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Estimate:
    """A number that knows its Monte Carlo error.

    Parameters
    ----------
    value : float or numpy.ndarray
        The estimate, in the units of the quantity.
    mcse : float or numpy.ndarray
        Its Monte Carlo standard error, same shape; nan where it is unknown.
    num_evals : int
        Evaluations of the log density (or of the integrand) that it cost.

    Notes
    -----
    Printing shows the error to two significant digits and the value no further. ``float`` and a
    format, as ``.1f``, are for a single number; functions of NumPy take the value.

    Examples
    --------
    >>> estimate = bl.Estimate(3.14872, 0.0123, num_evals=1000)
    >>> estimate
    Estimate(3.149 ± 0.012, num_evals=1000)
    >>> float(estimate), f"{estimate:.1f}", float(np.round(estimate, 2))
    (3.14872, '3.1', 3.15)
    """

    value: float | np.ndarray
    mcse: float | np.ndarray
    num_evals: int = 0

    def __post_init__(self):
        if np.ndim(self.value) == 0:
            vars(self).update(value=float(self.value), mcse=float(self.mcse))

    def z(self, truth):
        """How many standard errors the estimate lies above `truth`.

        Examples
        --------
        >>> print(round(bl.Estimate(3.15, 0.01).z(np.pi), 2))
        0.84

        By how many errors of their difference two independent estimates lie apart:

        >>> a, b = bl.Estimate(3.15, 0.01), bl.Estimate(3.10, 0.02)
        >>> print(round((a.value - b.value) / np.hypot(a.mcse, b.mcse), 1))
        2.2
        """
        difference, mcse = np.asarray(self.value) - truth, np.asarray(self.mcse)
        with np.errstate(divide="ignore", invalid="ignore"):  # an exact value has no error
            return np.where((difference == 0.0) & (mcse == 0.0), 0.0, difference / mcse)[()]

    def __float__(self):
        """The value as a float, where it is a single number."""
        return float(np.asarray(self.value).item())

    def __array__(self, dtype=None, copy=None):
        """The value, for the functions of NumPy: ``np.exp(estimate)``, or of a list of them."""
        return np.array(self.value, dtype)

    def __str__(self):
        values, errors = np.broadcast_arrays(np.asarray(self.value), np.asarray(self.mcse))
        pairs = zip(values.ravel().tolist(), errors.ravel().tolist(), strict=True)
        shown = ", ".join(_with_error(*pair) for pair in pairs)
        return f"[{shown}]" if values.ndim else shown

    def __repr__(self):
        return f"Estimate({self}, num_evals={self.num_evals})"

    def __format__(self, spec):
        return str(self) if not spec else format(float(self), spec)


def _with_error(value, error):
    if not (np.isfinite(value) and np.isfinite(error)):
        return f"{value:.6g} ± {error:.2g}"
    if error == 0.0:
        return f"{value:.6g} ± 0"
    decimals = 1 - int(np.floor(np.log10(error)))
    if decimals > 15 - np.log10(max(abs(value), 1.0)):  # more than a float has
        return f"{round(value, decimals):.15g} ± {error:.2g}"
    shown = max(decimals, 0)
    return f"{round(value, decimals):.{shown}f} ± {round(error, decimals):.{shown}f}"


def family_totals(values, family):
    """Sum `values`, (n,) or (n, k), within each family of the n draws: one row a family."""
    order = np.argsort(family, kind="stable")
    firsts = np.flatnonzero(np.diff(family[order], prepend=family.min() - 1))
    return np.add.reduceat(values[order], firsts)


def mean_and_error(results, weights, family):
    """Return the weighted mean of `results`, and its standard error if families are independent.

    Parameters
    ----------
    results : numpy.ndarray, shape (n,) or (n, k)
    weights : numpy.ndarray, shape (n,)
        Normalised.
    family : numpy.ndarray of int, shape (n,)
        Equal for draws that have an ancestor in common.

    Returns
    -------
    mean, error : float or numpy.ndarray, shape (k,)

    References
    ----------
    Chan and Lai (2013), A general theory of particle filters in hidden Markov models.
    """
    mean = weights @ results
    deviations = (weights * (results - mean).T).T
    return mean, np.sqrt(np.square(family_totals(deviations, family)).sum(axis=0))
