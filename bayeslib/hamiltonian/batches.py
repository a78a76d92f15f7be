"""Data cut by rows, batches of them, and the gradient that a batch estimates.

What `sgld` and `sghmc` share: which arrays are rows and whether the density is a sum over them, the
estimate with its account, and the way from a door to `Draws`.
"""

import dataclasses
import warnings
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ..chains.loop import laid_out
from ..compile.callback import aligned
from ..compile.compiler import as_arguments
from ..diagnostics.trouble import batch_problems
from ..errors import BayeslibError, warn
from ..validate import as_bool, as_count, as_position, check_memory, shown
from .dynamics import as_metric
from .noisy import OUTSIDE, Noisy

_TOLERANCE = 1e-6  # of what is summed: far above rounding, far below a term that is missing
_TRIED = 3  # rows on which the plain function is tried first


class Rows(NamedTuple):
    """How the data of a target are cut: the arrays at `which` have `number` rows each."""

    which: tuple
    number: int
    batch_size: int

    def cut(self, data, first, last):
        """Return the data with some rows only, without copying them."""
        return tuple(a[first:last] if i in self.which else a for i, a in enumerate(data))

    def room(self, data, size):
        """Return the data with room for so many rows, filled with the first."""
        return tuple(
            aligned(np.resize(a, (size, *a.shape[1:])), writeable=True) if i in self.which else a
            for i, a in enumerate(self.cut(data, 0, size))
        )


STAYS = 'there a chain stays: see stats["diverging"]'
_EXACT = Rows((), None, None)  # no batches, but the whole gradient


def as_setting(
    target, *, batch_size, num_steps, num_chains, inverse_mass_matrix, replace, rows, centre,
    gradient_noise, by_row=False,
):  # fmt: skip
    """Return what the doors of `sgld` and `sghmc` have in common: options of `initial`, settings.

    Of the options, `rows` and `estimate` are for `estimate_gradients`, the others of the state.
    """
    dim, replace, scale, spread = target.dim, as_bool(replace, "replace"), 1.0, 0.0
    if batch_size is not None:
        rows = _as_rows(target, rows, batch_size, replace, num_chains)
        scale = rows.number / rows.batch_size
        spread = spread_of(rows.number, rows.batch_size, replace)
    elif rows is not None or centre is not None:
        raise BayeslibError(f"rows={rows!r} and centre={centre!r} mean nothing without batch_size")
    rows, noise = rows or _EXACT, gradient_noise
    root = np.zeros((0, dim)) if noise is None else as_metric(noise, dim, "gradient_noise")[1]
    points = np.zeros((0 if centre is None else 3, dim))
    if centre is not None:
        points[0] = as_position(centre, "centre", dim)
    num_steps = as_count(num_steps, "num_steps")
    metric, factor = as_metric(inverse_mass_matrix, dim)
    estimate = {"scale": scale, "spread": spread, "replace": replace, "by_row": by_row}
    estimate |= {"centre": points, "root": root}
    motion = {"metric": metric, "root": factor, "num_steps": num_steps}
    return {"rows": rows, "estimate": estimate, **motion}, {
        "num_steps": num_steps, "batch_size": rows.batch_size, "num_rows": rows.number,
        "replace": rows is not _EXACT and replace,
        "gradient_noise": None if noise is None else np.array(noise, dtype=float),
        "uncorrected": ("step_size", "gradient_noise")[: 1 + (len(root) > 0 or spread > 0.0)],
    }  # fmt: skip


def spread_of(number, batch_size, replace):
    """Return what the variance of one row's gradient is multiplied by in an estimate's."""
    return number**2 / batch_size * (1.0 if replace else 1.0 - batch_size / number)


def _as_rows(target, rows, batch_size, replace, num_chains):
    which, number = _as_which(target, rows)
    if number < 2:
        raise BayeslibError(f"a batch needs 2 rows of data, got {number}: leave out batch_size")
    batch_size = as_count(batch_size, "batch_size", maximum=None if replace else number)
    words = sum(target.data[i][:1].nbytes for i in which) / 8.0
    check_memory((num_chains, number + batch_size * (1.0 + words)), "the batches")
    return Rows(which, number, batch_size)


def _as_which(target, rows):
    sizes = {i: len(array) for i, array in enumerate(target.data) if array.ndim}
    if rows is None:
        longest = max(sizes.values(), default=0)
        which = tuple(i for i, size in sizes.items() if size == longest)
        if longest == target.dim > 1:
            raise BayeslibError(f"data have as many rows as parameters: pass rows={which}")
        return which, longest
    which = (rows,) if np.ndim(rows) == 0 else rows
    which = tuple(as_count(i, "an entry of rows", minimum=0) for i in which)
    lengths = {sizes.get(i) for i in which}
    if len(set(which)) < len(which) or len(lengths) != 1 or None in lengths:
        rule = f"must name different arrays of data, of equally many rows, {sizes}"
        raise BayeslibError(f"rows {rule}; got {rows!r}")
    return which, lengths.pop()


def check_additive(target, rows, theta):
    """Raise unless the density is a prior, which it is without rows, plus a sum over the rows."""
    _check_plain(target, rows, theta)
    half = 1 + (rows.number - 1) // 2
    ends = [(0, 0), (0, rows.number), *pairwise(sorted({0, 1, half, rows.number}))]
    found = [_evaluate(target, rows.cut(target.data, *at), theta) for at in ends]
    prior, slope = found[0]
    if not (np.isfinite(prior) and np.isfinite(slope).all()):
        found = f"with no rows of data the log density is {prior}, its gradient {shown(slope)}"
        rule = "both must be the prior's, finite (not so of a mean over rows)"
        raise BayeslibError(f"{found} at theta={shown(theta)}: {rule}")
    for i, name in enumerate(("log density", "gradient")):
        prior, whole, *parts = (np.asarray(one[i]) for one in found)
        total = prior + sum(part - prior for part in parts)
        size = 1.0 + abs(prior) + sum(abs(part) for part in parts)
        if np.all(abs(whole - total) <= _TOLERANCE * np.maximum(size, 1e-3 * np.max(size))):
            continue
        whole, total = (np.array2string(one, precision=6) for one in (whole, total))
        found = f"the {name} at theta={shown(theta)} is {whole} on all rows"
        found += f" but {total} when the rows' own parts are added up"
        rule = f"it must be a prior plus a sum over the rows of data{list(rows.which)}, not a mean"
        raise BayeslibError(f"{found}: {rule} (rows= names other arrays)")


def _check_plain(target, rows, theta):
    """Try the plain function on few rows: compiled code does not notice an index out of bounds."""
    num = min(_TRIED, rows.number)
    for first, last in ((0, 0), (0, num), *pairwise(range(num + 1))):
        data = as_arguments(rows.cut(target.data, first, last))
        try:
            with warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"):
                target.logdensity(theta.copy(), *data)
        except ArithmeticError:
            return  # 1/0 and exp(1000) raise in Python only
        except Exception as error:
            found = f"{target.logdensity.__name__!r} fails on {last - first} of its {rows.number}"
            rule = f"rows of data{list(rows.which)}, but must take any number, none included"
            told = f"{found} {rule}: {error} (rows= names other arrays)"
            raise BayeslibError(told) from error


def _evaluate(target, data, theta):
    slope = np.zeros(target.dim)
    return target.bind_to(data)(theta, slope), slope


def gradients_at(target, rows, theta):
    """Return the gradients at theta of the likelihood and of the prior, (2, dim)."""
    ends = ((0, rows.number), (0, 0))
    found = [_evaluate(target, rows.cut(target.data, *at), theta) for at in ends]
    if not all(np.isfinite([value, *slope]).all() for value, slope in found):
        raise BayeslibError(f"the density at centre={shown(theta)}, or its gradient, is not finite")
    (_, whole), (_, prior) = found
    return np.array([whole - prior, prior])


def estimate_gradients(run, rows, estimate):
    """Let a run ask for gradients as they are set."""
    target, prior, cut = run.target, run.bound, np.empty((0, 3), dtype=np.int64)
    if rows.which:
        part = rows.room(target.data, 1 if estimate["by_row"] else rows.batch_size)
        run.bound, prior = target.bind_to(part), target.bind_to(rows.cut(target.data, 0, 0))
        prior.handle[-2] = run.bound.handle[-2]  # one place for where they raise
        places = [(target.data[i], part[i]) for i in rows.which]
        cut = np.array([[a.ctypes.data, b.ctypes.data, a[:1].nbytes] for a, b in places])
    run.kept = prior
    asked = laid_out(
        Noisy, target.dim, address=run.bound.address, handle=run.bound.handle, cut=cut,
        points=run.density.points, prior_address=prior.address, prior_handle=prior.handle,
        order=np.arange(rows.number or 0), batch=np.empty(rows.batch_size or 0, dtype=np.int64),
        **estimate,
    )  # fmt: skip
    run.density = asked._replace(account=run.account)


def account(run):
    """Return the settings that a chain gives the draws; its evaluations become passes."""
    target, metric, num = run.density, run.state.metric, int(run.account.num_evals)
    passes = num / target.scale * (2.0 if len(target.centre) else 1.0)
    run.account.num_evals = int(np.ceil(passes))
    summed = max(target.tally.summed, 1)
    return {
        "inverse_mass_matrix": metric[0] if len(metric) == 1 else metric,
        "num_gradients": num,
        "passes": float(passes),
        "num_outside": int(run.notes["diverging"][:-1].sum()) * (target.tally.fate == OUTSIDE),
        "virial": target.thetas / summed * (target.slopes / summed) - target.products / summed,
    }


def sample(algorithm, target, initial_position, options, plan, settings):
    """Run the chains where the density is a sum; its values at the draws may not be known."""
    rows, centre, spent = options["rows"], options["estimate"]["centre"], 0

    def prepare(starts, generators):
        nonlocal spent
        for start in np.unique(starts, axis=0):
            check_additive(target, rows, start)
            spent += 2
        if len(centre):
            centre[1:] = gradients_at(target, rows, centre[0])
            spent += 1

    draws = algorithm.sample(
        target, initial_position, options, plan, settings, tails=False,
        prepare=prepare if rows.which else None,
    )  # fmt: skip
    warn(*batch_problems(draws))
    known = None if rows.which else draws.logdensity
    return dataclasses.replace(draws, logdensity=known, num_evals=draws.num_evals + spent)
