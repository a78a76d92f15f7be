"""Data cut by rows: which they are, whether the density is a sum over them, and batches of them."""

import warnings
from dataclasses import dataclass

import numpy as np

from ..compile.callback import aligned
from ..compile.compiler import as_arguments
from ..errors import BayeslibError
from ..validate import as_bool, as_count, check_memory, shown

_TOLERANCE = 1e-6  # of what is summed: far above rounding, far below a term that is missing
_TRIED = 3  # rows on which the plain function is tried first


@dataclass(frozen=True)
class Rows:
    """How the data of a target are cut: the arrays at `which` have `number` rows each."""

    which: tuple
    number: int
    batch_size: int
    replace: bool

    @property
    def scale(self):
        """What a row of the batch counts."""
        return self.number / self.batch_size

    @property
    def spread(self):
        """The covariance of the gradient's noise, as a multiple of that of one row's gradient."""
        rest = 1.0 if self.replace else 1.0 - self.batch_size / self.number
        return self.number**2 / self.batch_size * rest


def as_rows(target, rows, batch_size, replace, num_chains):
    """Return the `Rows` of a target, or None when every gradient is to be exact."""
    replace = as_bool(replace, "replace")
    if batch_size is None:
        if rows is not None:
            raise BayeslibError(f"rows={rows!r} has no meaning without a batch_size")
        return None
    which = _as_which(target, rows)
    number = len(target.data[which[0]])
    if number < 2:
        raise BayeslibError(
            f"a batch needs data of at least 2 rows, {target!r} has {number}: pass batch_size=None"
        )
    batch_size = as_count(batch_size, "batch_size")
    if batch_size > number and not replace:
        raise BayeslibError(
            f"batch_size must be at most the number of rows, {number}, got {batch_size}: pass "
            "replace=True, or batch_size=None for the exact gradient"
        )
    words = sum(target.data[i][:1].nbytes for i in which) / 8.0
    check_memory((num_chains, number + batch_size * (1.0 + words)), "the batches")
    return Rows(which, number, batch_size, replace)


def _as_which(target, rows):
    sizes = {i: len(array) for i, array in enumerate(target.data) if array.ndim}
    if rows is None:
        if not sizes:
            raise BayeslibError(
                f"{target!r} has no arrays in its data, so there are no rows to take batches of: "
                "pass the data as data=(X, y, ...), or batch_size=None"
            )
        longest = max(sizes.values())
        which = tuple(i for i, size in sizes.items() if size == longest)
        if longest == target.dim and longest > 1:
            raise BayeslibError(
                f"the longest arrays of data have {longest} entries, as many as there are "
                f"parameters, so that rows cannot be told from them: pass rows, as rows={which}"
            )
        return which
    which = (rows,) if np.ndim(rows) == 0 else tuple(rows)
    which = tuple(as_count(i, "an entry of rows", minimum=0) for i in which)
    wrong = [i for i in which if i not in sizes]
    if not which or wrong or len(set(which)) < len(which):
        raise BayeslibError(
            f"rows must name different arrays among data, by their places {tuple(sizes)}, "
            f"got {rows!r}"
        )
    if len({sizes[i] for i in which}) > 1:
        raise BayeslibError(
            f"the arrays named by rows={which} must have equally many rows, they have "
            f"{tuple(sizes[i] for i in which)}"
        )
    return which


def pieces_of(target, rows, *cuts):
    """Yield the data with the rows from one cut to the next, without copying them."""
    for first, last in zip(cuts[:-1], cuts[1:], strict=True):
        yield tuple(a[first:last] if i in rows.which else a for i, a in enumerate(target.data))


def check_additive(target, rows, theta):
    """Compare the density of all rows with the sum of its pieces, and so for its gradient.

    Parameters
    ----------
    target : Target
    rows : Rows
    theta : numpy.ndarray, shape (dim,)

    Returns
    -------
    int
        Passes over the data.

    Raises
    ------
    BayeslibError
        If the density is not a prior, which is what is left without rows, and a sum over the rows.
    """
    _check_plain(target, rows, theta)
    half = 1 + (rows.number - 1) // 2
    cuts = [0, 1, half, rows.number] if half > 1 else [0, 1, rows.number]
    (none,) = pieces_of(target, rows, 0, 0)
    prior, slope = _evaluate(target, none, theta)
    if not (np.isfinite(prior) and np.isfinite(slope).all()):
        raise BayeslibError(
            f"with no rows of data the log density is {prior} and its gradient "
            f"{shown(slope)} at theta={shown(theta)}: it must then be that of the prior, "
            "finite, so that the rows can be weighed; a mean over rows has no such part"
        )
    whole = _evaluate(target, target.data, theta)
    parts = [_evaluate(target, piece, theta) for piece in pieces_of(target, rows, *cuts)]
    for name, i, at in (("log density", 0, prior), ("gradient", 1, slope)):
        values = np.array([part[i] for part in parts])
        total = at + (values - at).sum(axis=0)
        size = 1.0 + abs(at) + abs(values).sum(axis=0)
        if not np.all(abs(whole[i] - total) <= _TOLERANCE * np.maximum(size, 1e-3 * np.max(size))):
            raise BayeslibError(_not_a_sum(target, rows, theta, name, whole[i], total))
    return 2


def _check_plain(target, rows, theta):
    """Try the plain function on few rows: compiled code does not notice an index out of bounds."""
    num = min(_TRIED, rows.number)
    (none,), (few,) = pieces_of(target, rows, 0, 0), pieces_of(target, rows, 0, num)
    values = []
    for data in (none, few, *pieces_of(target, rows, *range(num + 1))):
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                values.append(float(target.logdensity(theta.copy(), *as_arguments(data))))
        except ArithmeticError:
            return  # 1/0 and exp(1000) raise in Python only
        except Exception as error:
            found = len(data[rows.which[0]])
            raise BayeslibError(
                f"{target.logdensity.__name__!r} fails on {found} of its {rows.number} rows, "
                f"taken of data{list(rows.which)}: {error}. It must take any number of rows, none "
                "included; say with rows= which arrays they are"
            ) from error
    prior, whole, *parts = values
    total = prior + sum(part - prior for part in parts)
    size = 1.0 + abs(prior) + sum(map(abs, parts))
    if np.isfinite(values).all() and not abs(whole - total) <= _TOLERANCE * size:
        raise BayeslibError(_not_a_sum(target, rows, theta, "log density", whole, total, num))


def _not_a_sum(target, rows, theta, name, whole, total, num=None):
    whole, total = (np.array2string(np.asarray(one), precision=6) for one in (whole, total))
    return (
        f"the {name} of {target.logdensity.__name__!r} is {whole} on {num or 'all'} rows at "
        f"theta={shown(theta)}, but {total} when the rows' own parts are added up: it must "
        f"be a prior plus a sum over the rows of data{list(rows.which)} (not a mean, nor a product "
        "of neighbours); say with rows= which arrays the rows are"
    )


def _evaluate(target, data, theta):
    bound, slope = target.bind_to(data), np.zeros(target.dim)
    value = bound(theta, slope)
    if bound.num_errors:
        raise BayeslibError(
            f"{target!r} raises on {len(data)} arrays cut by rows at theta={shown(theta)}: it "
            "must take any number of rows, none included"
        )
    return value, slope


def gradients_at(target, rows, theta):
    """Return the gradients at theta of the likelihood and of the prior, (2, dim)."""
    (none,) = pieces_of(target, rows, 0, 0)
    whole, prior = (_evaluate(target, data, theta)[1] for data in (target.data, none))
    if not (np.isfinite(whole).all() and np.isfinite(prior).all()):
        raise BayeslibError(f"the gradient at centre={shown(theta)} is not finite")
    return whole - prior, prior


class Batch:
    """A density bound to room for a batch of rows; one for each chain.

    Attributes
    ----------
    bounds : tuple of Bound
        Of the batch (of all data without rows), of no rows, and of a single row.
    addresses, table : numpy.ndarray of int64
        As the kernels take them.
    order, rows : numpy.ndarray of int64
        The permutation of all rows, and room for the batch's.
    """

    def __init__(self, target, rows):
        self.rows = np.empty(0 if rows is None else rows.batch_size, dtype=np.int64)
        self.order = np.arange(0 if rows is None else rows.number)
        self.table = np.empty((0, 4), dtype=np.int64)
        if rows is None:
            self.bounds = (target.bind(gradient=True),) * 3
        else:
            (none,) = pieces_of(target, rows, 0, 0)
            self._batch = self._room(target, rows, rows.batch_size)
            self._single = self._room(target, rows, 1)
            self.bounds = tuple(target.bind_to(data) for data in (self._batch, none, self._single))
            self.table = np.array(
                [
                    [a[i].ctypes.data for a in (target.data, self._batch, self._single)]
                    + [target.data[i][:1].nbytes]
                    for i in rows.which
                ]
            )
        self.addresses = np.array([bound.address for bound in self.bounds])

    @staticmethod
    def _room(target, rows, size):
        return tuple(
            aligned(np.zeros((size, *a.shape[1:]), a.dtype)) if i in rows.which else a
            for i, a in enumerate(target.data)
        )

    @property
    def failed(self):
        """The density that raised, or that of the batch."""
        return next((bound for bound in self.bounds if bound.num_errors), self.bounds[0])
