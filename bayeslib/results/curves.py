"""Parameters that hold each other: ordered numbers, a simplex, a unit vector, a Cholesky factor.

Each kind is a `Curve` between coordinates x, which may be any numbers, and the parameters theta.
Its functions take them along the first axis: one point, compiled with numbers or their derivatives,
or all draws at once in NumPy. The maps are those of the Stan Reference Manual, "Constraint
Transforms".
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..compile.functions import log_sigmoid, sigmoid

_NEAR = 1e-8  # how exactly a sum must be one


class Curve(NamedTuple):
    """One kind of parameters that hold each other.

    Attributes
    ----------
    num_coordinates : callable
        num_coordinates(size) of so many parameters.
    place : callable
        place(x, theta) writes the parameters, and returns log |d theta / d x|.
    coordinates : callable
        coordinates(theta (size, n)) -> x (k, n), in NumPy.
    inside : callable
        inside(theta) -> bool, of one point.
    said : str
        What a parameter must be, for messages.
    """

    num_coordinates: Callable
    place: Callable
    coordinates: Callable
    inside: Callable
    said: str


def place_ordered(x, theta):
    """Each number exp(x[i]) above the one before."""
    total = 0.0 * x[0]
    theta[0] = x[0]
    for i in range(1, len(x)):
        theta[i] = theta[i - 1] + np.exp(x[i])
        total = total + x[i]
    return total


def _ordered_coordinates(theta):
    return np.concatenate([theta[:1], np.log(np.diff(theta, axis=0))])


def inside_ordered(theta):
    for i in range(1, len(theta)):
        if not theta[i - 1] < theta[i]:
            return False
    return theta[len(theta) - 1] < np.inf


def place_simplex(x, theta):
    """Break a stick of length one: sigmoid(x[i]) is the share of the rest, but for an offset."""
    log_rest = 0.0 * x[0]
    total = 0.0 * x[0]
    for i in range(len(x)):
        u = x[i] - math.log(len(x) - i)  # x = 0 gives equal parts
        theta[i] = np.exp(log_rest) * sigmoid(u)
        total = total + log_rest + log_sigmoid(u) + log_sigmoid(-u)
        log_rest = log_rest + log_sigmoid(-u)
    theta[len(x)] = np.exp(log_rest)
    return total


def _simplex_coordinates(theta):
    rest = np.cumsum(theta[::-1], axis=0)[::-1]
    offsets = np.log(np.arange(len(theta) - 1, 0, -1))
    return np.log(theta[:-1]) - np.log(rest[1:]) + offsets[:, None]


def inside_simplex(theta):
    total = 0.0
    for i in range(len(theta)):
        if not theta[i] > 0.0:
            return False
        total = total + theta[i]
    return abs(total - 1.0) < _NEAR


def place_unit_vector(x, theta):
    """The direction of x, which is standard normal: its length says nothing."""
    squares = 0.0 * x[0]
    for i in range(len(x)):
        squares = squares + x[i] * x[i]
    for i in range(len(x)):
        theta[i] = x[i] / np.sqrt(squares)
    half = 0.5 * len(x)
    return -0.5 * squares + (1.0 - half) * math.log(2.0) - math.lgamma(half)


def inside_unit_vector(theta):
    squares = 0.0
    for i in range(len(theta)):
        squares = squares + theta[i] * theta[i]
    return abs(squares - 1.0) < _NEAR


def place_cholesky_corr(x, theta):
    """Row by row, tanh(x) is the share of the length that is left of a row."""
    n, k = int(math.sqrt(len(theta)) + 0.5), 0
    zero = x[0] - x[0]
    total = zero
    for i in range(n):
        log_rest = zero
        for j in range(i):
            theta[i * n + j] = np.tanh(x[k]) * np.exp(0.5 * log_rest)
            log_slope = log_sigmoid(2.0 * x[k]) + log_sigmoid(-2.0 * x[k]) + math.log(4.0)
            total = total + log_slope + 0.5 * log_rest
            log_rest = log_rest + log_slope
            k += 1
        theta[i * n + i] = np.exp(0.5 * log_rest)
        for j in range(i + 1, n):
            theta[i * n + j] = zero
    return total


def _cholesky_coordinates(theta):
    n, x = math.isqrt(len(theta)), []
    for i in range(n):
        row = theta[i * n : i * n + i + 1]
        left = np.sqrt(np.cumsum(np.square(row[::-1]), axis=0)[::-1])  # from the end: all digits
        x += [np.arcsinh(row[j] / left[j + 1]) for j in range(i)]
    return np.array(x)


def inside_cholesky_corr(theta):
    n = int(math.sqrt(len(theta)) + 0.5)
    for i in range(n):
        squares = 0.0
        for j in range(n):
            if j > i and theta[i * n + j] != 0.0:
                return False
            squares = squares + theta[i * n + j] * theta[i * n + j]
        if not (theta[i * n + i] > 0.0 and abs(squares - 1.0) < _NEAR):
            return False
    return True


CURVES = {
    "ordered": Curve(
        lambda n: n, place_ordered, _ordered_coordinates, inside_ordered, "rise strictly"
    ),
    "simplex": Curve(
        lambda n: n - 1, place_simplex, _simplex_coordinates, inside_simplex,
        "be positive and sum to one",
    ),
    "unit_vector": Curve(
        lambda n: n, place_unit_vector, lambda theta: theta, inside_unit_vector, "have length one"
    ),
    "cholesky_corr": Curve(
        lambda n: (n - math.isqrt(n)) // 2, place_cholesky_corr, _cholesky_coordinates,
        inside_cholesky_corr, "be lower triangular with rows of length one",
    ),
}  # fmt: skip
