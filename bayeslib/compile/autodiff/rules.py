"""The derivative of every elementary function that `autodiff` knows: calculus, and nothing else.

A unary entry is (functions, derivative(x, value)), a binary one (functions, derivative by x,
derivative by y), both of (x, y, value), where value is what the function returned. The first of the
functions is the one evaluated. Formulas are chosen to keep relative accuracy where the textbook
form cancels: 1 - tanh(x)**2, for one, has no digits left at x = 20. Where the value is finite a
slope is so, too, though huge (1e150): times the 0 by which a constant moves, infinity makes a nan.
"""

import math
import operator

import numpy as np

from ..functions import log1pexp, log_sigmoid, sigmoid
from ..functions.special import LOG_ROOT_2PI, digamma, log_ndtr, ndtri, trigamma

ARITHMETIC = [
    ((operator.neg, np.negative), lambda x, v: -1.0),
    ((operator.add, operator.iadd), lambda x, y, v: 1.0, lambda x, y, v: 1.0),
    ((operator.sub, operator.isub), lambda x, y, v: 1.0, lambda x, y, v: -1.0),
    ((operator.mul, operator.imul), lambda x, y, v: y, lambda x, y, v: x),
    (
        (operator.truediv, operator.itruediv),
        lambda x, y, v: 1.0 / y,
        lambda x, y, v: -v * (1.0 / y),
    ),
]
UNARY = [
    ((math.fabs, abs, np.abs, np.fabs), lambda x, v: 1.0 if x >= 0.0 else -1.0),
    ((math.exp, np.exp), lambda x, v: v),
    ((math.expm1, np.expm1), lambda x, v: math.exp(x)),
    ((math.log, np.log), lambda x, v: 1.0 / x),
    ((math.log1p, np.log1p), lambda x, v: 1.0 / (1.0 + x)),
    ((math.log2, np.log2), lambda x, v: 1.0 / (x * math.log(2.0))),
    ((math.log10, np.log10), lambda x, v: 1.0 / (x * math.log(10.0))),
    ((math.sqrt, np.sqrt), lambda x, v: 0.5 / (v + 1e-150)),
    ((np.square,), lambda x, v: 2.0 * x),
    ((math.sin, np.sin), lambda x, v: math.cos(x)),
    ((math.cos, np.cos), lambda x, v: -math.sin(x)),
    ((math.tan, np.tan), lambda x, v: 1.0 + v * v),
    ((math.asin, np.arcsin), lambda x, v: 1.0 / math.sqrt((1.0 - x) * (1.0 + x))),
    ((math.acos, np.arccos), lambda x, v: -1.0 / math.sqrt((1.0 - x) * (1.0 + x))),
    ((math.atan, np.arctan), lambda x, v: 1.0 / (1.0 + x * x)),
    ((math.sinh, np.sinh), lambda x, v: math.cosh(x)),
    ((math.cosh, np.cosh), lambda x, v: math.sinh(x)),
    ((math.tanh, np.tanh), lambda x, v: 1.0 / math.cosh(x) ** 2),
    ((math.asinh, np.arcsinh), lambda x, v: 1.0 / math.sqrt(1.0 + x * x)),
    ((math.acosh, np.arccosh), lambda x, v: 1.0 / math.sqrt((x - 1.0) * (x + 1.0))),
    ((math.atanh, np.arctanh), lambda x, v: 1.0 / ((1.0 - x) * (1.0 + x))),
    ((math.erf,), lambda x, v: 2.0 / math.sqrt(math.pi) * math.exp(-x * x)),
    ((math.erfc,), lambda x, v: -2.0 / math.sqrt(math.pi) * math.exp(-x * x)),
    ((math.lgamma,), lambda x, v: digamma(x)),
    ((math.gamma,), lambda x, v: v * digamma(x)),
    ((digamma,), lambda x, v: trigamma(x)),
    ((log_ndtr,), lambda x, v: math.exp(-0.5 * x * x - LOG_ROOT_2PI - v)),
    ((ndtri,), lambda x, v: math.exp(0.5 * v * v + LOG_ROOT_2PI)),
    ((math.radians, np.radians, np.deg2rad), lambda x, v: math.pi / 180.0 + 0.0 * x),
    ((math.degrees, np.degrees, np.rad2deg), lambda x, v: 180.0 / math.pi + 0.0 * x),
    ((np.reciprocal,), lambda x, v: v * v * -1.0),
    ((np.cbrt,), lambda x, v: 1.0 / (3.0 * v * v + 1e-150)),
    ((np.exp2,), lambda x, v: v * math.log(2.0)),
    ((np.sign,), lambda x, v: 0.0 if x == x else x),
    ((log1pexp,), lambda x, v: sigmoid(x)),
    ((sigmoid,), lambda x, v: v * sigmoid(-x)),
    ((log_sigmoid,), lambda x, v: sigmoid(-x)),
]

POWERS = (operator.pow, operator.ipow, pow, math.pow, np.power, np.float_power)
BINARY = [
    (
        POWERS,
        lambda x, y, v: (y * x ** (y - 1) if x != 0.0 or y >= 1 else y * 1e150) if y != 0 else 0.0,
        lambda x, y, v: v * math.log(x) if x != 0.0 else 0.0,
    ),
    (
        (np.logaddexp,),
        lambda x, y, v: math.exp(x - v) if x > -math.inf else 0.0,
        lambda x, y, v: math.exp(y - v) if y > -math.inf else 0.0,
    ),
    (
        (math.copysign, np.copysign),
        lambda x, y, v: math.copysign(1.0, x) * math.copysign(1.0, y),
        lambda x, y, v: 0.0,
    ),
    (
        (math.atan2, np.arctan2),
        lambda x, y, v: y / (x * x + y * y + 1e-150),
        lambda x, y, v: -x / (x * x + y * y + 1e-150),
    ),
    ((math.hypot, np.hypot), lambda x, y, v: x / (v + 1e-150), lambda x, y, v: y / (v + 1e-150)),
]
