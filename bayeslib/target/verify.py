"""The compiled density of a target, compared with the plain function that it was made of."""

import math

import numpy as np

from ..errors import GradientError, TargetError
from ..validate import shown

_COMPARED_WORDS = 200_000  # above it, the plain function would take seconds to compare with


def verify(target, theta, *, gradient):
    """Compare the compiled functions with plain Python, as `Target.verify` says."""
    if gradient:
        value = target._evaluate(theta, np.empty(target.dim), gradient=True)
        if math.isfinite(value) and _agrees(target, theta, value, gradient=True):
            return  # else it is found out which of the functions is wrong
    value = target._evaluate(theta, np.empty(target.dim), gradient=False)
    if not math.isfinite(value):
        return
    _agrees(target, theta, value, gradient=False)
    if gradient:
        fused = target._evaluate(theta, np.empty(target.dim), gradient=True)
        if not _close(value, fused):
            raise GradientError(
                f"the log density is {value!r} at theta={shown(theta)}, but with its "
                f"gradient {fused!r}: the two functions differ"
            )


def _agrees(target, theta, value, *, gradient):
    """Compare `value`, compiled and finite, with the plain function's.

    Where they differ, or that raises, it is an error of the density compiled alone; of the one
    that comes with the gradient, False is returned.
    """
    address = target._bound[gradient].address
    if sum(a.size for a in target.data) > _COMPARED_WORDS:
        return not gradient
    if address in target._verified and not (gradient and target._fused):
        return True
    try:
        plain = target._plain(theta)
    except Exception as error:
        if gradient or isinstance(error, ArithmeticError):
            return False  # 1/0 and exp(1000) raise in Python only
        error.add_note(
            f"bayeslib: raised in plain Python at theta={shown(theta)}; compiled, "
            f"{target.logdensity.__name__!r} is {value!r} there, because compiled code does not "
            "notice an index out of bounds"
        )
        raise
    if not _close(value, plain):
        if gradient:
            return False
        raise TargetError(
            f"{target.logdensity.__name__!r} is {plain!r} in plain Python at "
            f"theta={shown(theta)}, but {value!r} compiled: look for an index out of "
            "bounds (NUMBA_BOUNDSCHECK=1 finds it), or random numbers"
        )
    _check_support(target, theta, gradient=gradient)
    target._verified.add(address)
    return True


def _check_support(target, theta, *, gradient):
    for i, ends in enumerate(target.support or ()):
        for end, outward in zip(ends, (-1.0, 1.0), strict=True):
            if not np.isfinite(end):
                continue
            outside = theta.copy()
            outside[i] = end + 0.1 * outward * (1.0 + abs(end))
            open_ended = target._current(gradient).renew(bounded=False)
            value = open_ended(outside, np.empty(target.dim))
            if math.isfinite(value):
                raise TargetError(
                    f"{target.logdensity.__name__!r} is {value:.6g} at "
                    f"theta={shown(outside)}, outside the support {ends} of "
                    f"{target.names[i]}: return -np.inf there, or leave out support="
                )


def _close(a, b):
    if not (np.isfinite(a) and np.isfinite(b)):
        return a == b or (math.isnan(a) and math.isnan(b))
    return abs(a - b) <= 1e-6 * (1.0 + max(abs(a), abs(b)))
