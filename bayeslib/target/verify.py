"""A target's functions, compared with each other: compiled, in plain Python, and by differences."""

import math
from contextlib import suppress
from dataclasses import replace

import numpy as np

from ..compile.autodiff import compilable
from ..compile.autodiff.rewrite import reached
from ..compile.kinds import JIT
from ..errors import GradientError, TargetError, warn
from ..validate import shown
from .parameters import Layout

_COMPARED_WORDS = 200_000  # above it, the plain function would take seconds to compare with
_MAKERS = {"int", "astype", "searchsorted", "floor", "round", "int64"}  # of indices from numbers
_ASKED = 20_000  # words of data, which plain Python reads in a few hundredths of a second
_FIRST_STEP = 0.1
_RATIO = 4.0
_NUM_STEPS = 12
_RTOL = 1e-6


def slope(evaluate, theta, direction):
    """Differentiate along `direction` by Richardson extrapolation of central differences.

    Parameters
    ----------
    evaluate : callable
        evaluate(thetas (n, dim)) -> (n,) log densities.
    theta, direction : numpy.ndarray, shape (dim,)

    Returns
    -------
    derivative, error : float
        Both nan when no step stays inside the support. Steps run from a tenth of the point's size
        down to a hundred-millionth; the entry of the tableau that varies least is returned, as in
        Ridders (1982).
    """
    size = max(1.0, float(np.abs(theta[direction != 0.0]).max()))
    steps = _FIRST_STEP * size * _RATIO ** -np.arange(_NUM_STEPS)
    moves = steps[:, None] * direction
    above, below = evaluate(np.concatenate([theta + moves, theta - moves])).reshape(2, -1)
    best, least = np.nan, np.inf
    with np.errstate(invalid="ignore"):  # of steps that leave the support
        rounding = (np.finfo(float).eps * np.maximum(abs(above), abs(below)) / steps).tolist()
        column = ((above - below) / (2.0 * steps)).tolist()
    for j in range(1, _NUM_STEPS):
        factor = _RATIO ** (2 * j)
        for i in range(_NUM_STEPS - j):
            coarse, fine = column[i : i + 2]
            new = column[i] = (factor * fine - coarse) / (factor - 1.0)
            error = max(abs(new - fine), abs(new - coarse)) + rounding[i + j]
            if error < least:
                best, least = new, error
    return best, least


def agrees(value, found, error):
    """Say whether `value` may be the derivative; also when the differences cannot tell."""
    return math.isnan(found) or math.isclose(value, found, rel_tol=_RTOL, abs_tol=10.0 * error)


def is_kink(evaluate, theta, direction, value):
    """Say whether `value` lies between two one-sided derivatives that differ, as at abs(0)."""
    size = max(1.0, float(np.abs(theta[direction != 0.0]).max()))
    far, near = (
        np.diff(evaluate(theta + step * np.outer([-1.0, 0.0, 1.0], direction))) / step
        for step in (1e-4 * size, 1e-6 * size)
    )
    gap = abs(near[1] - near[0])
    if abs(np.diff(far) - np.diff(near)) > 0.1 * gap:
        return False  # the gap closes with the step: a smooth bend
    differ = gap > 1e-2 * np.abs(near).sum()
    return differ and near.min() - 1e-3 * gap <= value <= near.max() + 1e-3 * gap


def check_gradient(target, theta, *, thorough):
    """Compare a target's gradient with finite differences, as `Target.check_gradient` says.

    Returns
    -------
    int
        Evaluations spent.
    """

    def evaluate(thetas):  # without compiling the log density alone
        values = target.many_with_gradient(thetas)
        return target.many(thetas) if values is None else values

    gradient = target.gradient(theta)
    num_evals = 1
    if not thorough:
        oblique = np.sqrt(2.0) * np.cos(np.arange(1, target.dim + 1))
        for direction in (np.ones(target.dim), oblique):
            num_evals += 2 * _NUM_STEPS
            if not agrees(gradient @ direction, *slope(evaluate, theta, direction)):
                break
        else:
            return num_evals
    for i, direction in enumerate(np.eye(target.dim)):
        derivative, error = slope(target.many, theta, direction)
        num_evals += 2 * _NUM_STEPS
        right = agrees(gradient[i], derivative, error)
        if not (right or is_kink(target.many, theta, direction, gradient[i])):
            found = f"the gradient is {gradient[i]:.9g} in component {i} ({target.names[i]})"
            auto = target._recipe(True)[0] == "auto"
            remedy = "begin elsewhere" if auto else 'correct it, or pass gradient="auto"'
            found += f" at theta={shown(theta)}, but finite differences say {derivative:.9g}"
            raise GradientError(f"{found}; {remedy}")
    return num_evals


def verify(target, theta, *, gradient=False, walks=True):
    """Compare the compiled functions with plain Python, as `Target.verify` says.

    Only what walks minds a density that is finite beyond its support.
    """
    if gradient:
        fused = target._evaluate(theta, np.empty(target.dim), gradient=True)
        if math.isfinite(fused) and _as_in_python(target, theta, fused, walks, gradient=True):
            return  # else it is found out which of the functions is wrong
    value = target._evaluate(theta, np.empty(target.dim), gradient=False)
    if not math.isfinite(value):
        return
    compared = _as_in_python(target, theta, value, walks, gradient=False)
    if gradient and not _close(value, fused):
        found = f"the log density is {value!r} at theta={shown(theta)}"
        raise GradientError(f"{found}, but {fused!r} with its gradient")
    if compared:
        target._verified.add((target._bound[gradient].address, False))


def try_plain(target, theta):
    """Raise the IndexError of the plain function or, of large data, of one that is compiled."""
    try:
        target._plain(theta, careful(target))
    except IndexError as error:
        told = "compiled code, which does not notice an index out of bounds, was not asked"
        told = f"{told}; places count from 0, so subtract 1 from labels 1, 2, ..."
        error.add_note(f"bayeslib: raised at theta={shown(theta)}; {told}")
        raise
    except Exception:
        return  # the compiled code's to raise, or to take, as 1/0


def careful(target):
    """Return the density compiled to notice an index out of bounds, of large data; else None."""
    if target._careful is None and sum(a.size for a in target.data) > _COMPARED_WORDS:
        target._careful = compilable(target._flat, **JIT, boundscheck=True)
    return target._careful


def _as_in_python(target, theta, value, walks, *, gradient):
    """Compare `value`, compiled and finite, with the plain function's.

    Where they differ, or that raises, it is an error of the density compiled alone; of the one
    that comes with the gradient, False is returned.
    """
    address = target._bound[gradient].address
    large = careful(target)
    if large and gradient:
        return False
    if (address, walks) in target._verified and not (gradient and target._fused):
        return True
    try:
        plain = target._plain(theta, large)
    except Exception as error:
        if gradient or isinstance(error, ArithmeticError):
            return False  # 1/0 and exp(1000) raise in Python only
        error.add_note(f"bayeslib: raised at theta={shown(theta)}; compiled, it is {value!r}")
        raise
    if not _close(value, plain):
        if gradient:
            return False
        found = f"{target.logdensity.__name__!r} is {plain} in plain Python at theta={shown(theta)}"
        odd = "an index out of bounds, random numbers, n**-1, or whole numbers beyond 2**63"
        raise TargetError(f"{found}, but {value!r} compiled: look for {odd} (write 1.0 * n)")
    if walks:
        _check_support(target, theta, gradient=gradient)
    if not large and (address, False) not in target._verified:
        _check_columns(target, theta, value)
        _check_missing(target, theta)
    target._verified |= {(address, False), (address, walks)}
    return True


def _check_columns(target, theta, value):
    """Warn where the value is another one when columns (n, 1) are vectors."""
    columns = [i for i, a in enumerate(target.data) if a.shape[1:] == (1,)]
    cures, function = [(f"data[{i}]", "pass its .ravel()") for i in columns], None
    own = getattr(target, "original", target)  # of one in coordinates
    if own.layout and all(a.ndim < 2 or a.shape[1:] == (1,) for a in target.data):
        given = own.parameters.items()
        narrow = {name: replace(p, shape=p.shape[:1]) for name, p in given if p.shape[1:] == (1,)}
        cures += [(f"p.{name}", "declare the shape n") for name in narrow]
        layout = Layout(own.parameters | narrow)
        function = (layout.flat if own is target else layout.free)(own.logdensity)
    flat = [np.ravel(a) if i in columns else a for i, a in enumerate(target._arguments)]
    same = True
    with suppress(Exception):  # columns are wanted, or what is compared with
        same = not cures or bool(_close(value, target._plain(theta, function, flat)))
    if not same:
        warn("{} of shape (n, 1) broadcast to (n, n): {}".format(*cures[0]))


def _check_missing(target, theta):
    """Warn where a code of what is missing, as -1 or -9, is an index: it counts from the end."""
    data = target._arguments
    for i, a in enumerate(data):
        if np.ndim(a) and a.dtype.kind == "i" and a.min(initial=0) < 0:
            try:
                target._plain(theta, None, [*data[:i], np.where(a < 0, 2**40, a), *data[i + 1 :]])
            except IndexError:
                codes = " to ".join(map(str, dict.fromkeys((a.min(), a[a < 0].max()))))
                found = f"data[{i}] has {np.sum(a < 0)} indices of {codes}"
                remedy = "if they stand for what is missing, leave such rows out"
                warn(f"{found}, which count from the end: {remedy}")
            except Exception:
                continue  # labels of -1 and 1, of which a function asks more


def out_of_bounds(target, values):
    """Say at which draw an index is out of bounds, which compiled code does not notice, or None.

    Asked of plain Python where indices are made of numbers, of the draws that are farthest out
    along each coordinate, of as many as take little time.
    """
    if not any(_MAKERS & {*code.co_names} for code, _ in reached(target.logdensity)):
        return
    draws = values.reshape(-1, target.dim)
    ends = np.append(draws.argmin(axis=0), draws.argmax(axis=0))
    words = sum(np.size(a) for a in target.data)
    for x in draws[ends[: _ASKED // (1 + words)]]:
        try:
            target._plain(x)
        except IndexError as error:
            found = f"{target.logdensity.__name__!r} raises in plain Python at the draw {shown(x)}"
            return f"{found}: {error}; compiled, it read beyond the array there"
        except Exception:
            continue  # 1/0 and exp(1000), which compiled code takes


def _check_support(target, theta, *, gradient):
    for i, side in np.argwhere(np.isfinite(target.support or ())):
        end, outside = target.support[i][side], theta.copy()
        outside[i] = end + (-0.1, 0.1)[side] * (1.0 + abs(end))
        open_ended = target._current(gradient).renew(bounded=False)
        value = open_ended(outside, np.empty(target.dim))
        if math.isfinite(value):
            found = f"{target.logdensity.__name__!r} is {value:.6g} at theta={shown(outside)}"
            where = f"outside the support {target.support[i]} of {target.names[i]}"
            raise TargetError(f"{found}, {where}: return -np.inf there")


def _close(value, other):
    """Say whether `other` is `value`, which is finite, but for rounding."""
    return abs(value - other) <= 1e-6 * (1.0 + abs(value))
