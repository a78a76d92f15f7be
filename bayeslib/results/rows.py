"""Applying a reader's function to many draws, written for all of them or for one."""

import inspect
import warnings

import numpy as np

from ..errors import BayeslibError, BayeslibTypeError
from ..validate import check_callable, check_fits, frozen, shown
from .named import asked

_ENOUGH = 10  # draws, of which a function is constant by its making rather than by chance


def apply_rows(f, draws, name="f"):
    """Apply `f` to every row of `draws`.

    `f` is first called with all rows at once, and then with two of them alone. When that raises,
    does not return one row for each, or the two differ because `f` mixes the entries of what it
    is given, it is called with one row at a time.

    Parameters
    ----------
    f : callable
        Takes `draws`, or one of its rows. One that is random, and takes either, gets the rows.
    draws : numpy.ndarray, shape (n, …)
        `f` cannot write to it.
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
        When `f` returns more than one axis for a row; or takes all rows and single ones, and
        mixes rows, so that nothing tells which of its answers is meant.
    Exception
        What `f` raises for one row, with a note of how it was called.
    """
    check_callable(**{name: f})
    draws, failure, together = frozen(draws), None, None
    try:
        results = np.asarray(f(draws))
    except Exception as error:  # whatever a function of one draw makes of an array of them
        failure = error
    else:
        if results.shape[:1] == draws.shape[:1]:
            if not _takes_one(f, draws, results, name):
                return _checked(results, name)
            together = results
        elif results.ndim == 0 and (names := asked(draws)) and _attempt(f, draws[1:]) is not None:
            found = f"{name} makes one number of all {len(draws)} draws of {names[0]}"
            raise BayeslibError(f"{found}: write np.quantile(draws[{names[0]!r}], 0.95) or so")
    try:
        results = np.array(_of_each(f, draws, name))
    except Exception as error:
        if failure is not None and isinstance(error, IndexError):
            error = failure  # theta[:, 5] of one draw says less than theta[:, 5] of all
        calls = f"with all draws at once, {draws.shape}, and then with one, {draws.shape[1:]}"
        error.add_note(f"bayeslib: {name} was called {calls}; it may write to a copy of them alone")
        raise error from None
    results = _checked(results, name)
    if together is not None and len(results) >= _ENOUGH:
        # p.mu - p.mu.mean() is 0 of each number, and over p.mu.std() nan or infinite
        if _constant(np.where(np.isfinite(results), results, np.nan)) and not _constant(together):
            raise _two_meanings(name, draws, draws[0], together[0], results[0])
    return results


def _of_each(f, draws, name, *arguments):
    """Return what `f` makes of each draw and `arguments`: arrays of one shape."""
    results = []
    for i, row in enumerate(draws):
        try:
            result = f(row, *arguments)
        except Exception as error:
            error.add_note(f"bayeslib: raised at draw {i} of {len(draws)}, {shown(row)}")
            raise
        try:
            results.append(np.array(result))  # a copy, for `f` may fill one array again and again
        except ValueError:
            rule = "must return a number or an array for one draw"
            raise BayeslibError(f"{name} {rule}; join several by np.hstack") from None
    shapes = {result.shape for result in results}
    if len(shapes) > 1:
        listed = ", ".join(map(str, sorted(shapes)))
        raise BayeslibError(f"{name} must return arrays of one shape, got {listed}")
    return results


def _constant(results):
    return np.array_equal(results, np.broadcast_to(results[:1], results.shape), equal_nan=True)


def _takes_one(f, draws, results, name):
    """Whether `f` takes one row, though it returned as many rows as there are draws."""
    for i in _probes(draws):
        row, among, alone = draws[i], results[i], _attempt(f, draws[i : i + 1])
        one = _attempt(f, row)
        if len(draws) > 1 and _alike(alone, among[None], row):
            if one is None or one.shape != among.shape or _alike(one, among, row):
                continue
            raise _two_meanings(name, draws, row, among, one)  # as p.M[:, 0], a row or a column
        if one is None:
            return False  # of all draws together
        if one.ndim >= results.ndim:  # p.a + p.b * x of as many x as draws, or of no parameter
            return _alike(alone, one, row) and not _alike(one, results, row)
        if one.shape != among.shape:
            return True
        if _alike(one, among, row):
            continue
        if alone is None or alone.shape != (1, *one.shape):
            return True  # as many rows by chance
        if row.size > 1 and _alike(alone[0], one, row):
            return True  # it mixes the entries of all that it is given
        if not _alike(_attempt(f, row), one, row):
            return True  # random: right for one row, perhaps not for all
        raise _two_meanings(name, draws, row, among, one)
    return False


def _two_meanings(name, draws, *found):
    what = [np.array2string(np.asarray(x), precision=4, threshold=6) for x in found]
    found = f"of {what[0]} makes {what[1]} among all draws, {what[2]} alone"
    remedy = f"write it for shape {draws.shape}, row by row, by axis=-1 or theta[:, 0]"
    return BayeslibError(f"{name} takes all draws and also one, but {found}: {remedy}")


def _probes(draws):
    """Two rows to try alone: the last, and the highest, which stands apart from all the others."""
    if len(draws) == 0 or draws.dtype.kind not in "biuf":
        return range(len(draws))[-1:]
    with np.errstate(all="ignore"):
        highest = int(draws.reshape(len(draws), -1).sum(axis=1).argmax())
    return sorted({len(draws) - 1, highest}, reverse=True)


def _attempt(f, value):
    """What `f` makes of `value`, as an array; None when it raises."""
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return np.asarray(f(value))
    except Exception:
        return None


def each_row(f, draws, name, arguments):
    """Return what `f`, called `name` in messages, makes of each draw and `arguments`: arrays."""
    try:
        inspect.signature(f).bind(draws, *arguments)
    except TypeError as error:
        takes = ", ".join(["p", *arguments])
        raise BayeslibTypeError(f"{name} must take ({takes}): {error}") from None
    results = _of_each(f, frozen(draws), name, *arguments.values())
    if any(result.dtype == object for result in results):
        raise BayeslibError(f"{name} must return a number or array of numbers, got {results[0]!r}")
    return results


def _alike(a, b, row):
    """Whether two arrays made of `row` are equal up to the order in which sums are taken."""
    if a is None or a.shape != b.shape:
        return False
    if not {a.dtype.kind, b.dtype.kind} <= set("biuf"):
        return np.array_equal(a, b)
    rtol = max(np.sqrt(np.finfo(x.dtype).eps) for x in (a, b, np.zeros(1)) if x.dtype.kind == "f")
    a, b = a.astype(float), b.astype(float)
    numbers = [np.ravel(x) for x in (b, row) if np.asarray(x).dtype.kind in "biuf"]
    size = max(np.abs(x[np.isfinite(x)]).max(initial=0.0) for x in numbers)
    return np.allclose(a, b, rtol=rtol, atol=1e-3 * rtol * size, equal_nan=True)


def _checked(results, name):
    if results.dtype.kind not in "biuf":
        first = results.item(0)
        raise BayeslibTypeError(f"{name} must return numbers; for the first draw it is {first!r}")
    rule = "return a number or a vector for each draw"
    check_fits(results.ndim <= 2, results, name, rule, ": flatten each with np.ravel")
    return results
