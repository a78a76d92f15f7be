"""Data cut by rows, batches of them, and the gradient that a batch estimates.

What `sgld` and `sghmc` share: which arrays are rows and whether the density is a sum over them, the
estimate with its account, and the way from a door to `Draws`.
"""

import ctypes
import dataclasses
import warnings
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic

from ..chains.collect import FAR
from ..chains.loop import Account, copy, ended, laid_out, record
from ..compile.callback import ADDRESS, HANDLE, INT, INTS, MATRIX, VECTOR, aligned, density, helper
from ..compile.compiler import as_arguments
from ..diagnostics.trouble import heat_problem, negative_problem
from ..errors import BayeslibError, warn
from ..validate import as_bool, as_count, as_covariance, as_position, as_scale, check_memory, shown
from .dynamics import as_metric, warn_of_divergences

_TOLERANCE = 1e-6  # of what is summed: far above rounding, far below a term that is missing
_TRIED = 3  # rows on which the plain function is tried first

# Why a chain stays where it is: something was not finite, or the density is zero there.
MOVING, LOST, OUTSIDE = range(3)
# Iterations; steps: all, those kept, those kept whose momentum is in the sum of heat, those of them
# with more noise than friction.
Tally = record(
    iterations="i8", steps="i8", summed="i8", heated="i8", negative="i8", fate="i8"
)  # fmt: skip


class Noisy(NamedTuple):
    """A `Density` whose gradient is exact, or estimated; its evaluations are of gradients.

    The density itself is that of a part of the data: of all, of a batch, or of one row of a batch
    after the other.
    """

    address: ADDRESS
    handle: HANDLE
    unused: VECTOR
    points: MATRIX
    account: Account
    prior_address: ADDRESS
    prior_handle: HANDLE  # of no rows
    cut: INT[:, ::1]  # of each array that has rows: where they are, where the part's, bytes of one
    order: INTS  # a permutation of all rows, which every batch shuffles further
    batch: INTS  # its rows; none where the gradient is exact
    by_row: types.boolean
    replace: types.boolean
    scale: types.float64  # rows for a row of the batch
    spread: types.float64  # of the estimate's covariance: a multiple of that of one row's gradient
    centre: MATRIX  # no rows, or a point, the likelihood's gradient there, and the prior's
    root: MATRIX  # of a covariance that is added: no rows, one of roots, or a Cholesky factor
    z: VECTOR
    prior: VECTOR  # gradients, here and below
    part: VECTOR
    at_centre: VECTOR
    likelihood: VECTOR
    mean: VECTOR  # of the rows
    variance: VECTOR
    first: INT  # step that is kept; over those from here on are sums of
    origin: VECTOR
    thetas: VECTOR  # from the origin
    slopes: VECTOR
    products: VECTOR  # of the two
    tally: Tally


@intrinsic
def _copy_compiled(typingctx, to, source, size):
    def codegen(context, builder, signature, args):
        pointer = ir.IntType(8).as_pointer()
        places = [builder.inttoptr(place, pointer) for place in args[:2]]
        cgutils.raw_memcpy(builder, *places, args[2], 1)
        return context.get_dummy_value()

    return types.void(INT, INT, INT), codegen


def _copy_plain(to, source, size):
    ctypes.memmove(int(to), int(source), int(size))


# copy_bytes(to, source, size), of addresses: data of any type and shape, without a type of its own.
copy_bytes = _copy_plain if config.DISABLE_JIT else _copy_compiled


@helper
def estimate(target, rng, theta, gradient):
    """Write the gradient, or an unbiased estimate of it; return the log density that came with it.

    The sum over all rows is estimated from a batch of them, with a centre that of the differences
    from there.
    """
    target.account.num_evals += 1
    if target.batch.size == 0:
        return density(target.address, theta, gradient, target.handle)
    draw_batch(rng, target.order, target.batch, target.replace)
    log_p = density(target.prior_address, theta, target.prior, target.prior_handle)
    if target.prior_handle[target.prior_handle.size - 1] != 0:
        target.handle[target.handle.size - 1] += 1  # the only one that is looked at
    log_p += sum_batch(target, theta)
    for i in range(theta.size):
        gradient[i] = target.prior[i] + target.scale * target.likelihood[i]
        if target.centre.shape[0] > 0:
            gradient[i] += target.centre[1, i]
    return log_p


@helper
def draw_batch(rng, order, batch, replace):
    """Draw the rows of a batch, from all or from those not yet drawn."""
    for j in range(batch.size):
        if replace:
            batch[j] = int(rng.random() * order.size)
        else:
            k = j + int(rng.random() * (order.size - j))
            batch[j] = order[k]
            order[k] = order[j]
            order[j] = batch[j]


@helper
def sum_batch(target, theta):
    """Write the sum of the rows' gradients, and row by row their variance in each coordinate."""
    total, num_rows, centred = 0.0, target.batch.size, target.centre.shape[0] > 0
    likelihood, mean, variance = target.likelihood, target.mean, target.variance
    if target.by_row:
        num_rows = 1
    for i in range(theta.size):
        likelihood[i] = mean[i] = variance[i] = 0.0
    for first in range(0, target.batch.size, num_rows):
        gather(target, first, num_rows)
        total += density(target.address, theta, target.part, target.handle)
        if centred:
            density(target.address, target.centre[0], target.at_centre, target.handle)
        for i in range(theta.size if target.by_row else 0):
            slope = target.part[i] - target.prior[i]
            if centred:
                slope -= target.at_centre[i] - target.centre[2, i]
            likelihood[i] += slope
            change = slope - mean[i]
            mean[i] += change / (first + 1.0)
            variance[i] += change * (slope - mean[i])
    for i in range(theta.size):
        if target.by_row:
            variance[i] /= target.batch.size - 1.0
        else:
            likelihood[i] = target.part[i] - target.prior[i]
    for i in range(theta.size if centred and not target.by_row else 0):
        likelihood[i] -= target.at_centre[i] - target.centre[2, i]
    return total


@helper
def gather(target, first, num_rows):
    """Copy rows of the batch to where the density looks for them."""
    for k in range(target.cut.shape[0]):
        source, to, size = target.cut[k, 0], target.cut[k, 1], target.cut[k, 2]
        for j in range(num_rows):
            copy_bytes(to + j * size, source + target.batch[first + j] * size, size)


@helper
def add_normals(rng, root, scale, z, into):
    """Add scale * L z with z standard normal; L is diagonal, lower triangular, or nothing."""
    if root.shape[0] == 0:
        return
    for i in range(z.size):
        z[i] = rng.standard_normal()
    for j in range(z.size):
        if root.shape[0] == 1:
            into[j] += scale * root[0, j] * z[j]
        else:
            for i in range(j, z.size):
                into[i] += scale * root[i, j] * z[j]


@helper
def times_metric(metric, vector, product):
    """Write M^-1 times a vector."""
    for i in range(vector.size):
        if metric.shape[0] == 1:
            product[i] = metric[0, i] * vector[i]
        else:
            product[i] = 0.0
            for j in range(vector.size):
                product[i] += metric[i, j] * vector[j]


@helper
def moved(target, proposal, position):
    """Move there unless only a runaway gets so far; say whether it did."""
    for i in range(proposal.size):
        if not abs(proposal[i]) <= FAR:
            target.tally.fate = LOST
            return False
    copy(proposal, position)
    return True


@helper
def follows(target, rng, log_p, theta, gradient, slope):
    """Write the gradient with noise added, and add up; or say that the chain cannot go on."""
    if ended(target):
        return False
    finite, tally = abs(log_p) < np.inf, target.tally
    for i in range(theta.size):
        finite = finite and abs(gradient[i]) < np.inf
        slope[i] = gradient[i]
    if not finite:
        tally.fate = OUTSIDE if log_p == -np.inf else LOST
        return False
    add_normals(rng, target.root, 1.0, target.z, slope)
    if tally.steps == target.first:
        copy(theta, target.origin)
    tally.steps += 1
    if tally.steps > target.first:
        tally.summed += 1
        for i in range(theta.size):
            away = theta[i] - target.origin[i]
            target.thetas[i] += away
            target.slopes[i] += slope[i]
            target.products[i] += away * slope[i]
    return True


@dataclasses.dataclass(frozen=True)
class Rows:
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
            aligned(np.resize(a, (size, *a.shape[1:]))) if i in self.which else a
            for i, a in enumerate(self.cut(data, 0, size))
        )


class Setting(NamedTuple):
    """What the doors of `sgld` and `sghmc` have in common, by who is told."""

    rows: Rows | None
    estimate: dict  # `Noisy`
    motion: dict  # the state
    settings: dict  # the reader of the draws


def as_setting(
    target, *, batch_size, num_steps, num_chains, inverse_mass_matrix, replace, rows, centre,
    gradient_noise, by_row=False,
):  # fmt: skip
    dim, replace, scale, spread = target.dim, as_bool(replace, "replace"), 1.0, 0.0
    if batch_size is not None:
        rows = _as_rows(target, rows, batch_size, replace, num_chains)
        batch_size, scale = rows.batch_size, rows.number / rows.batch_size
        spread = spread_of(rows.number, batch_size, replace)
    elif rows is not None:
        raise BayeslibError(f"rows={rows!r} has no meaning without a batch_size")
    points, root, noise = np.zeros((0, dim)), np.zeros((0, dim)), gradient_noise
    if centre is not None:
        if rows is None:
            raise BayeslibError("centre has no meaning without a batch_size: the gradient is exact")
        points = np.zeros((3, dim))
        points[0] = as_position(centre, "centre", dim)
    if noise is not None and np.ndim(noise) < 2:
        root = np.sqrt(as_scale(noise, "gradient_noise", dim))[None, :]
    elif noise is not None:
        root = np.linalg.cholesky(as_covariance(noise, "gradient_noise", dim))
    num_steps = as_count(num_steps, "num_steps")
    metric, factor = as_metric(inverse_mass_matrix, dim)
    return Setting(
        rows,
        {
            "scale": scale, "spread": spread, "replace": replace, "by_row": by_row,
            "centre": points, "root": root,
        },
        {"metric": metric, "root": factor, "num_steps": num_steps},
        {
            "num_steps": num_steps, "batch_size": batch_size,
            "num_rows": None if rows is None else rows.number,
            "replace": rows is not None and replace,
            "gradient_noise": None if noise is None else np.array(noise, dtype=float),
            "uncorrected": ("step_size", "gradient_noise")[: 1 + (len(root) > 0 or spread > 0.0)],
        },
    )  # fmt: skip


def spread_of(number, batch_size, replace):
    """Return what the variance of one row's gradient is multiplied by in an estimate's."""
    return number**2 / batch_size * (1.0 if replace else 1.0 - batch_size / number)


def _as_rows(target, rows, batch_size, replace, num_chains):
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
    return Rows(which, number, batch_size)


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
    if not which or set(which) - set(sizes) or len(set(which)) < len(which):
        raise BayeslibError(
            f"rows must name different arrays among data, by their places {tuple(sizes)}, "
            f"got {rows!r}"
        )
    lengths = tuple(sizes[i] for i in which)
    if len(set(lengths)) > 1:
        raise BayeslibError(
            f"the arrays named by rows={which} must have equally many rows, they have {lengths}"
        )
    return which


def check_additive(target, rows, theta):
    """Raise unless the density is a prior, which it is without rows, plus a sum over the rows."""
    _check_plain(target, rows, theta)
    half = 1 + (rows.number - 1) // 2
    cuts = [0, 1, half, rows.number] if half > 1 else [0, 1, rows.number]
    ends = [(0, 0), (0, rows.number), *pairwise(cuts)]
    found = [_evaluate(target, rows.cut(target.data, *at), theta) for at in ends]
    prior, slope = found[0]
    if not (np.isfinite(prior) and np.isfinite(slope).all()):
        raise BayeslibError(
            f"with no rows of data the log density is {prior} and its gradient "
            f"{shown(slope)} at theta={shown(theta)}: it must then be that of the prior, "
            "finite, so that the rows can be weighed; a mean over rows has no such part"
        )
    for i, name in enumerate(("log density", "gradient")):
        _compare(target, rows, theta, name, [one[i] for one in found], "all")


def _check_plain(target, rows, theta):
    """Try the plain function on few rows: compiled code does not notice an index out of bounds."""
    num = min(_TRIED, rows.number)
    found = []
    for first, last in ((0, 0), (0, num), *pairwise(range(num + 1))):
        data = as_arguments(rows.cut(target.data, first, last))
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                found.append(float(target.logdensity(theta.copy(), *data)))
        except ArithmeticError:
            return  # 1/0 and exp(1000) raise in Python only
        except Exception as error:
            raise BayeslibError(
                f"{target.logdensity.__name__!r} fails on {last - first} of its {rows.number} "
                f"rows, taken of data{list(rows.which)}: {error}. It must take any number of rows, "
                "none included; say with rows= which arrays they are"
            ) from error
    if np.isfinite(found).all():
        _compare(target, rows, theta, "log density", found, num)


def _compare(target, rows, theta, name, found, num):
    """Raise unless what was found of `num` rows is what was found of none, and of its pieces."""
    prior, whole, *parts = (np.asarray(one) for one in found)
    total = prior + sum(part - prior for part in parts)
    size = 1.0 + abs(prior) + sum(abs(part) for part in parts)
    if np.all(abs(whole - total) <= _TOLERANCE * np.maximum(size, 1e-3 * np.max(size))):
        return
    whole, total = (np.array2string(one, precision=6) for one in (whole, total))
    raise BayeslibError(
        f"the {name} of {target.logdensity.__name__!r} is {whole} on {num} rows at "
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
    ends = ((0, rows.number), (0, 0))
    whole, prior = (_evaluate(target, rows.cut(target.data, *at), theta)[1] for at in ends)
    if not (np.isfinite(whole).all() and np.isfinite(prior).all()):
        raise BayeslibError(f"the gradient at centre={shown(theta)} is not finite")
    return np.array([whole - prior, prior])


def prepared(run, setting):
    """Let a run ask for gradients as they are set, and return what its state is told."""
    target, rows, prior = run.target, setting.rows, run.bound
    cut, number, batch_size = np.empty((0, 3), dtype=np.int64), 0, 0
    if rows is not None:
        number, batch_size = rows.number, rows.batch_size
        part = rows.room(target.data, 1 if setting.estimate["by_row"] else batch_size)
        run.bound, prior = target.bind_to(part), target.bind_to(rows.cut(target.data, 0, 0))
        prior.handle[-2] = run.bound.handle[-2]  # one place for where they raise
        places = [(target.data[i], part[i]) for i in rows.which]
        cut = np.array([[a.ctypes.data, b.ctypes.data, a[:1].nbytes] for a, b in places])
    run.kept, first = prior, run.num_warmup * setting.motion["num_steps"]
    vectors = {name: (target.dim,) for name, k in Noisy.__annotations__.items() if k is VECTOR}
    asked = laid_out(
        Noisy, address=run.bound.address, handle=run.bound.handle, points=run.density.points,
        prior_address=prior.address, prior_handle=prior.handle, cut=cut, order=np.arange(number),
        batch=np.empty(batch_size, dtype=np.int64), first=first, **vectors, **setting.estimate,
    )  # fmt: skip
    run.density = asked._replace(account=run.account)
    return setting.motion


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


def sample(algorithm, target, initial_position, setting, options, *, settings, **how):
    """Run the chains where the density is a sum; its values at the draws may not be known."""
    rows, centre, spent = setting.rows, setting.estimate["centre"], 0

    def prepare(starts, generators):
        nonlocal spent
        if rows is None:
            return
        for start in np.unique(starts, axis=0):
            check_additive(target, rows, start)
            spent += 2
        if len(centre):
            centre[1:] = gradients_at(target, rows, centre[0])
            spent += 1

    draws = algorithm.sample(
        target, initial_position, {"setting": setting, **options}, prepare=prepare, tails=False,
        settings=settings | setting.settings, **how,
    )  # fmt: skip
    for problem in (heat_problem(draws), negative_problem(draws)):
        if problem:
            warn(problem)
    warn_of_divergences(draws, 'there a chain stays: see stats["diverging"]')
    known = draws.logdensity if rows is None else None
    return dataclasses.replace(draws, logdensity=known, num_evals=draws.num_evals + spent)
