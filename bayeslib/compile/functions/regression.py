"""Log likelihoods of regressions: a pass over the rows gives the value and its whole gradient."""

import math

import numpy as np
from numba import njit, types
from numba.extending import overload

from ...errors import BayeslibError
from ..internals import stack_vector
from ..kinds import INLINED, OURS
from ..linked import address_of, doubles, native, rows_at
from .elementwise import active
from .logistic import bits_of, double_of, exp_negative, log1pexp, sigmoid

ROWS = 64  # a block of X stays in the first cache between the two times that it is read
_LOG_2PI = math.log(2.0 * math.pi)


@njit(**INLINED)
def predict_rows(X, theta, first, num, out):
    """out = X[first : first + num] @ theta. Four rows at a time: four independent sums."""
    i = 0
    while i + 4 <= num:
        row = first + i
        a, b, c, d = 0.0, 0.0, 0.0, 0.0
        for j in range(theta.size):
            t = theta[j]
            a += X[row, j] * t
            b += X[row + 1, j] * t
            c += X[row + 2, j] * t
            d += X[row + 3, j] * t
        out[i], out[i + 1], out[i + 2], out[i + 3] = a, b, c, d
        i += 4
    while i < num:
        a = 0.0
        for j in range(theta.size):
            a += X[first + i, j] * theta[j]
        out[i] = a
        i += 1


@njit(**INLINED)
def accumulate_rows(X, weights, first, num, out):
    """out += weights @ X[first : first + num]."""
    i = 0
    while i + 4 <= num:
        row = first + i
        a, b, c, d = weights[i], weights[i + 1], weights[i + 2], weights[i + 3]
        for j in range(out.size):
            out[j] += X[row, j] * a + X[row + 1, j] * b + X[row + 2, j] * c + X[row + 3, j] * d
        i += 4
    while i < num:
        for j in range(out.size):
            out[j] += X[first + i, j] * weights[i]
        i += 1


def _over_rows(name, sum_block):
    """Make a pass of the sum of a block of rows, which turns predictions into residuals."""

    def rows(theta, grad, X, y):
        n = y.size
        # vectors of its own, which the compiler knows to lie apart from all others
        s, values, slopes = stack_vector(ROWS), stack_vector(theta.size), stack_vector(theta.size)
        for j in range(theta.size):
            values[j], slopes[j] = theta[j], 0.0
        total = 0.0
        for first in range(0, n, ROWS):
            num = min(ROWS, n - first)
            predict_rows(X, values, first, num, s)
            total = sum_block(total, s, y, first, num)
            if grad is not None:
                accumulate_rows(X, s, first, num, slopes)
        if grad is not None:
            for j in range(theta.size):
                grad[j] += slopes[j]
        return total

    passed = njit(**INLINED)(rows)

    def linked(theta, grad, X, y, n, dim):
        """The bits of the same, of doubles at addresses, for `emit`; `grad` may be 0."""
        beta, X, y = doubles(theta)[:dim], rows_at(X, 8 * dim), doubles(y)[:n]
        if grad != 0:
            return bits_of(passed(beta, doubles(grad)[:dim], X, y))
        return bits_of(passed(beta, None, X, y))

    linked.__name__ = linked.__qualname__ = name
    return passed, linked


@njit(**INLINED)
def _logistic_block(total, s, y, first, num):
    # log(1 + e) summed as the logarithm of a product, which stays below 2**ROWS
    product = 1.0
    for i in range(num):
        z = s[i]
        e = exp_negative(-abs(z))
        product *= 1.0 + e
        total += y[first + i] * z - (z if z > 0.0 else 0.0)
        s[i] = y[first + i] - (1.0 if z > 0.0 else e) / (1.0 + e)
    return total - math.log(product)


@njit(**INLINED)
def _squares_block(total, s, y, first, num):
    for i in range(num):
        r = s[i] - y[first + i]
        total += r * r
        s[i] = 2.0 * r
    return total


_any_logistic, _logistic_rows = _over_rows("_logistic_rows", _logistic_block)
_any_squares, _squares_rows = _over_rows("_squares_rows", _squares_block)


def logistic_pass(theta, grad, X, y):
    """`logistic_log_likelihood`; its gradient is added to `grad`, unless that is None."""
    theta, X, y = _as_regression(theta, X, y)
    if outside := np.flatnonzero((y < 0.0) | (y > 1.0)).tolist():
        row = outside[0]
        raise BayeslibError(f"outcomes y must be 0 or 1, got {y[row]:g} in row {row}: recode them")
    s = X @ theta
    if grad is not None:
        grad += (y - sigmoid(s)) @ X
    return float(y @ s - np.sum(log1pexp(s)))


def squares_pass(theta, grad, X, y):
    """`sum_of_squares`; its gradient is added to `grad`, unless that is None."""
    theta, X, y = _as_regression(theta, X, y)
    r = X @ theta - y
    if grad is not None:
        grad += 2.0 * r @ X
    return float(r @ r)


def logistic_log_likelihood(theta, X, y):
    """The log probability of binary outcomes in a logistic regression.

    ``sum(y * s - log1pexp(s))`` with ``s = X @ theta``. In a log density under ``gradient="auto"``
    its derivatives cost one pass over the rows, whatever the number of parameters.

    Parameters
    ----------
    theta : array, shape (dim,)
        Coefficients.
    X : array, shape (n, dim)
        Predictors, one row an observation; a column of ones for an intercept.
    y : array, shape (n,)
        Outcomes, 0 or 1, or between the two.

    Returns
    -------
    float
        With an absolute error of about ``1e-16 * (n + sum(abs(s)))``.

    Raises
    ------
    BayeslibError
        When the shapes do not agree, or an outcome is below 0 or above 1; in compiled code of your
        own, a plain ValueError.

    Examples
    --------
    >>> X = np.array([[1.0, -1.0], [1.0, 0.5], [1.0, 2.0]])
    >>> y = np.array([0.0, 0.0, 1.0])
    >>> print(round(bl.logistic_log_likelihood(np.array([0.0, 1.0]), X, y), 4))
    -1.4143
    >>> def logdensity(theta, X, y):  # in a log density
    ...     return bl.logistic_log_likelihood(theta, X, y) - 0.5 * np.sum(theta**2)
    >>> target = bl.Target(logdensity, dim=2, data=(X, y))
    >>> print(target.gradient([0.0, 1.0]).round(4))
    [-0.7722 -0.8039]
    """
    return logistic_pass(theta, None, X, y)


def sum_of_squares(theta, X, y):
    """The sum of squared residuals of a linear regression, |y - X @ theta|**2."""
    return squares_pass(theta, None, X, y)


def linear_log_likelihood(theta, X, y, noise_scale):
    """The log density of outcomes in a linear regression with Gaussian noise.

    ``y ~ N(X @ theta, noise_scale**2)``. In a log density under ``gradient="auto"`` its derivatives
    cost one pass over the rows, whatever the number of parameters.

    Parameters
    ----------
    theta : array, shape (dim,)
        Coefficients.
    X : array, shape (n, dim)
        Predictors, one row an observation; a column of ones for an intercept.
    y : array, shape (n,)
        Outcomes.
    noise_scale : float
        Standard deviation of the noise, in the units of `y`; may depend on the parameters.
        Positive; not checked.

    Returns
    -------
    float

    Raises
    ------
    BayeslibError
        When the shapes do not agree; in compiled code of your own, a plain ValueError.

    Examples
    --------
    >>> from scipy import stats
    >>> X = np.array([[1.0, -1.0], [1.0, 0.5], [1.0, 2.0]])
    >>> y = np.array([0.1, 0.9, 3.2])
    >>> theta, noise_scale = np.array([1.0, 1.0]), 0.5
    >>> print(round(bl.linear_log_likelihood(theta, X, y, noise_scale), 4))
    -1.4974
    >>> print(stats.norm(X @ theta, noise_scale).logpdf(y).sum().round(4))
    -1.4974
    """
    squares = sum_of_squares(theta, X, y)
    log_scale = np.log(noise_scale)
    return -0.5 * (squares / noise_scale**2 + len(y) * (2.0 * log_scale + _LOG_2PI))


def _as_regression(theta, X, y):
    theta, X, y = (np.asarray(a, dtype=np.float64) for a in (theta, X, y))
    if y.ndim != 1:
        raise BayeslibError(f"y must have shape (n,), got {y.shape}: pass y.ravel()")
    if X.shape != (y.size, theta.size):
        raise BayeslibError(
            f"X must have shape (len(y), len(theta)) = ({y.size}, {theta.size}), got {X.shape}"
        )
    return theta, X, y


# The functions of (theta, X, y) that one pass over the rows differentiates, and that pass.
PASSES = {logistic_log_likelihood: logistic_pass, sum_of_squares: squares_pass}
SUMS_OVER_ROWS = {*PASSES, linear_log_likelihood}


def _is_doubles(kind):
    is_array = isinstance(kind, types.Array)
    return kind is types.none or is_array and (kind.dtype, kind.layout) == (types.float64, "C")


def _register(function, one_pass, rows, linked):
    function.__compiled__ = one_pass.__compiled__ = (rows,)

    call, binary = native(linked), function is logistic_log_likelihood

    def of_doubles(theta, grad, X, y):
        places = address_of(theta), address_of(grad), address_of(X), address_of(y)
        return double_of(call(places[0], places[1], places[2], places[3], y.size, theta.size))

    of_doubles.__qualname__ = f"of_doubles{linked.__name__}"
    of_doubles = njit(**OURS)(of_doubles)

    @overload(one_pass, jit_options=INLINED)
    def compiled_pass(theta, grad, X, y):
        run = of_doubles if all(map(_is_doubles, (theta, grad, X, y))) else rows

        def checked(theta, grad, X, y):
            if X.shape[0] != y.size or X.shape[1] != theta.size:
                raise ValueError("X must have shape (len(y), len(theta))")
            if binary:
                outside = False
                for i in range(y.size):  # all of them: a loop without an exit is fast
                    outside |= (y[i] < 0.0) | (y[i] > 1.0)
                if outside:
                    raise ValueError("outcomes y must be 0 or 1")
            return run(theta, grad, X, y)

        return checked

    @overload(function, jit_options=INLINED)
    def compiled(theta, X, y):
        return None if active((theta, X, y)) else lambda theta, X, y: one_pass(theta, None, X, y)


_register(logistic_log_likelihood, logistic_pass, _any_logistic, _logistic_rows)
_register(sum_of_squares, squares_pass, _any_squares, _squares_rows)
linear_log_likelihood.__compiled__ = ()  # its own code
overload(linear_log_likelihood, jit_options=INLINED)(
    lambda theta, X, y, noise_scale: linear_log_likelihood
)
