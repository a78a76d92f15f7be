"""Applying a reader's function to many draws, written for all of them or for one."""

import numpy as np

from .errors import BayeslibError, BayeslibTypeError

_FEW = 100  # so few rows that their number may be met by chance


def apply_rows(f, draws, name="f"):
    """Apply `f` to every row of `draws`.

    `f` is first called with all rows at once; when that raises, or does not return one row for
    each, with one row at a time.

    Parameters
    ----------
    f : callable
        Takes `draws`, or one of its rows.
    draws : numpy.ndarray, shape (n, …)
    name : str
        What error messages call `f`.

    Returns
    -------
    numpy.ndarray, shape (n,) or (n, k)
        Of numbers or truth values.

    Raises
    ------
    BayeslibTypeError
        When `f` is not callable, or returns no numbers.
    BayeslibError
        When `f` returns more than one axis for a row.
    Exception
        What `f` raises for one row, with a note of how it was called.
    """
    if not callable(f):
        raise BayeslibTypeError(f"{name} must be callable, got {f!r}")
    failure = None
    try:
        results = np.asarray(f(draws))
        if results.shape[:1] == draws.shape[:1] and not _is_chance(f, draws, results):
            return _checked(results, name)
    except Exception as error:  # whatever a function of one draw makes of an array of them
        failure = error
    try:
        results = np.asarray([f(row) for row in draws])
    except Exception as error:
        if failure is not None and isinstance(error, IndexError):
            error = failure  # theta[:, 5] of one draw says less than theta[:, 5] of all
        error.add_note(
            f"bayeslib: {name} was called with all draws at once, shape {draws.shape}, and then "
            f"with one draw, shape {draws.shape[1:]}"
        )
        raise error from None
    return _checked(results, name)


def _is_chance(f, draws, results):
    """Whether `f` takes one row, and returned as many rows as there are draws by chance."""
    if len(draws) > _FEW and len(draws) not in draws.shape[1:]:
        return False
    try:
        last = np.asarray(f(draws[-1]))
    except Exception:
        return False
    if last.ndim >= results.ndim:
        return False  # it does not mind what it is given, as np.ones(len(theta)) or an array
    return last.shape != results.shape[1:] or not np.array_equal(last, results[-1], equal_nan=True)


def _checked(results, name):
    if results.dtype.kind not in "biuf":
        first = results.ravel()[:1].tolist()
        raise BayeslibTypeError(
            f"{name} must return numbers; for the first draw it is {first[0]!r}"
        )
    if results.ndim > 2:
        raise BayeslibError(
            f"{name} must return one number or a vector of numbers for each draw; it returned an "
            f"array of shape {results.shape[1:]}. Flatten it with np.ravel"
        )
    return results
