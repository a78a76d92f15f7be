"""The logistic function and its logarithms, over the whole range of doubles.

Their compiled forms are plain arithmetic, without calls of the C library: LLVM can then turn a loop
over rows into vector instructions.
"""

import math

import numpy as np
from numba import njit
from numba.extending import intrinsic

from ..kinds import DOUBLE, EXACT, FLOAT, INT, WORD
from .elementwise import compiled_by

_LOG2_E = 1.0 / math.log(2.0)
_ROUND = 1.5 * 2.0**52  # added to a small number, leaves it rounded in the lowest bits
_LOG2_HIGH = 6.93147180369123816490e-01  # its 20 last bits are zero: a multiple of it is exact
_LOG2_LOW = 1.90821492927058770002e-10
_SCALE, _BIAS = 2.0**-64, 1023 + 64  # in two factors, so that tiny results round only once
_EXP = tuple(1.0 / math.factorial(k) for k in range(14))
_E2, _E3, _E4, _E5, _E6, _E7, _E8, _E9, _E10, _E11, _E12, _E13 = _EXP[2:]


@intrinsic
def bits_of(typingctx, x):
    """The 64 bits of a double."""
    return INT(FLOAT), lambda context, builder, signature, args: builder.bitcast(args[0], WORD)


@intrinsic
def double_of(typingctx, bits):
    """The double of these 64 bits."""
    return FLOAT(INT), lambda context, builder, signature, args: builder.bitcast(args[0], DOUBLE)


@njit(**EXACT)
def exp_negative(x):
    """exp(x) for x <= 0: 2**k exp(r) with |r| <= log(2) / 2 and Taylor's polynomial."""
    x = -746.0 if x < -746.0 else x
    shifted = x * _LOG2_E + _ROUND
    k = shifted - _ROUND
    r = (x - k * _LOG2_HIGH) - k * _LOG2_LOW
    p = ((((_E13 * r + _E12) * r + _E11) * r + _E10) * r + _E9) * r + _E8
    p = (((((p * r + _E7) * r + _E6) * r + _E5) * r + _E4) * r + _E3) * r + _E2
    p = (p * r + 1.0) * r + 1.0
    return p * double_of((bits_of(shifted) + _BIAS) << 52) * _SCALE


@njit(**EXACT)
def log1p_unit(e):
    """log(1 + e) for 0 <= e <= 1, by the series of 2 artanh(s), whose first term is e - s e."""
    s = e / (2.0 + e)
    z = s * s
    p = (((z / 33 + 1 / 31) * z + 1 / 29) * z + 1 / 27) * z + 1 / 25
    p = (((p * z + 1 / 23) * z + 1 / 21) * z + 1 / 19) * z + 1 / 17
    p = (((p * z + 1 / 15) * z + 1 / 13) * z + 1 / 11) * z + 1 / 9
    p = ((p * z + 1 / 7) * z + 1 / 5) * z + 1 / 3
    return e + s * (2.0 * z * p - e)


def _log1pexp(x):
    # a nan fails every comparison and comes through by e
    x = float(x)
    return (x if x > 0.0 else 0.0) + log1p_unit(exp_negative(-abs(x)))


def _sigmoid(x):
    e = exp_negative(-abs(float(x)))
    return (1.0 if x > 0.0 else e) / (1.0 + e)


def _log_sigmoid(x):
    return -log1pexp(-float(x))


def log1pexp(x):
    """log(1 + exp(x)), without overflow or loss of digits.

    Parameters
    ----------
    x : float or array

    Returns
    -------
    float or numpy.ndarray, shape of `x`
        To within 4.5e-16 of its size; nan stays nan.

    Notes
    -----
    Also known as softplus. After Mächler (2012), "Accurately computing log(1 - exp(-|a|))".

    Examples
    --------
    >>> print(bl.log1pexp(1000.0), f"{bl.log1pexp(-40.0):.3e}")
    1000.0 4.248e-18
    """
    x = np.asarray(x, dtype=np.float64)
    return (np.maximum(x, 0.0) + np.log1p(np.exp(-np.abs(x))))[()]


def sigmoid(x):
    """1 / (1 + exp(-x)), the logistic function, without overflow.

    Parameters
    ----------
    x : float or array

    Returns
    -------
    float or numpy.ndarray, shape of `x`
        To within 4.5e-16 of its size; nan stays nan.

    Examples
    --------
    >>> print(bl.sigmoid(np.array([-800.0, 0.0, 2.0])).round(4))
    [0.     0.5    0.8808]
    """
    x = np.asarray(x, dtype=np.float64)
    e = np.exp(-np.abs(x))
    return (np.where(x > 0.0, 1.0, e) / (1.0 + e))[()]


def log_sigmoid(x):
    """The logarithm of `sigmoid`, -log(1 + exp(-x)).

    Parameters
    ----------
    x : float or array

    Returns
    -------
    float or numpy.ndarray, shape of `x`
        To within 4.5e-16 of its size; nan stays nan.

    Examples
    --------
    >>> print(bl.log_sigmoid(-1000.0), bl.log_sigmoid(0.0).round(4))
    -1000.0 -0.6931
    """
    return -log1pexp(-np.asarray(x, dtype=np.float64))


for _function, _form in ((log1pexp, _log1pexp), (sigmoid, _sigmoid), (log_sigmoid, _log_sigmoid)):
    compiled_by(_function, _form, ruled=True, options=EXACT)
