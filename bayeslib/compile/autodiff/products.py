"""Products of a constant matrix and a vector, on the way there and back, at addresses."""

import numpy as np
from numba import njit

from ..arithmetic import INLINED
from ..functions.regression import accumulate_rows, predict_rows
from ..internals import stack_vector
from ..linked import doubles, rows_at

_LENGTH = 256  # sums at a time, which stay in the first cache


@njit(**INLINED)
def predict(X, m, d, row, column, theta, out):
    """out[i] = X[i] @ theta, with the bytes of X from row to row and column to column."""
    if column == 8:
        predict_rows(rows_at(X, row), theta[:d], 0, m, out)
    else:  # by columns, whose entries stand together, _LENGTH rows at a time
        sums = stack_vector(_LENGTH)
        for first in range(0, m, _LENGTH):
            num = min(_LENGTH, m - first)
            for i in range(num):
                sums[i] = 0.0
            for j in range(d):
                s, x0 = theta[j], doubles(X + 8 * first + j * column)
                for i in range(num):
                    sums[i] += x0[i] * s
            for i in range(num):
                out[first + i] = sums[i]


@njit(**INLINED)
def predict_both(X, d, line, theta, along, across):
    """along[i] = X[i] @ theta and across[j] = X[:, j] @ theta, of a square X, read once."""
    for j in range(d):
        across[j] = 0.0
    i = 0
    while i + 4 <= d:
        a, b, c, e = 0.0, 0.0, 0.0, 0.0
        x0, x1 = doubles(X + i * line), doubles(X + (i + 1) * line)
        x2, x3 = doubles(X + (i + 2) * line), doubles(X + (i + 3) * line)
        s0, s1, s2, s3 = theta[i], theta[i + 1], theta[i + 2], theta[i + 3]
        for j in range(d):
            s = theta[j]
            a += x0[j] * s
            b += x1[j] * s
            c += x2[j] * s
            e += x3[j] * s
            across[j] += x0[j] * s0 + x1[j] * s1 + x2[j] * s2 + x3[j] * s3
        along[i], along[i + 1], along[i + 2], along[i + 3] = a, b, c, e
        i += 4
    while i < d:
        a, x0, s0 = 0.0, doubles(X + i * line), theta[i]
        for j in range(d):
            a += x0[j] * theta[j]
            across[j] += x0[j] * s0
        along[i] = a
        i += 1


@njit(**INLINED)
def back(X, m, d, row, column, u, adjoints, parents):
    """adjoints[parents[j]] += X[:, j] @ u; an entry of u that is zero does not meet its row.

    Such a row may hold what is not finite, and have been left out by a branch.
    """
    sums = stack_vector(_LENGTH)
    for first in range(0, d, _LENGTH):
        num, start = min(_LENGTH, d - first), X + first * column
        for attempt in range(2):
            for j in range(num):
                sums[j] = 0.0
            if attempt == 0 and column == 8:
                accumulate_rows(rows_at(start, row), u, 0, m, sums[:num])
            elif attempt == 0:
                for j in range(num):
                    s, x0 = 0.0, doubles(start + j * column)
                    for i in range(m):
                        s += x0[i] * u[i]
                    sums[j] = s
            else:
                for i in range(m):
                    if u[i] != 0.0:
                        for j in range(num):
                            sums[j] += doubles(start + i * row + j * column)[0] * u[i]
            check = 0.0
            for j in range(num):
                check += abs(sums[j])
            if check < np.inf:
                break
        for j in range(num):
            adjoints[parents[first + j]] += sums[j]
