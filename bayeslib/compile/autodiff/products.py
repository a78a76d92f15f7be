"""Products of a constant matrix and a vector, on the way there and back, at addresses."""

import numpy as np
from numba import njit

from ..arithmetic import INLINED
from ..internals import stack_vector
from ..linked import doubles

_LENGTH = 256  # sums at a time, which stay in the first cache


@njit(**INLINED)
def predict(X, m, d, row, column, theta, out):
    """out[i] = X[i] @ theta, with the bytes of X from row to row and column to column."""
    if column == 8:
        i = 0
        while i + 4 <= m:
            a, b, c, e = 0.0, 0.0, 0.0, 0.0
            x0, x1 = doubles(X + i * row), doubles(X + (i + 1) * row)
            x2, x3 = doubles(X + (i + 2) * row), doubles(X + (i + 3) * row)
            for j in range(d):
                s = theta[j]
                a += x0[j] * s
                b += x1[j] * s
                c += x2[j] * s
                e += x3[j] * s
            out[i], out[i + 1], out[i + 2], out[i + 3] = a, b, c, e
            i += 4
        while i < m:
            a, x0 = 0.0, doubles(X + i * row)
            for j in range(d):
                a += x0[j] * theta[j]
            out[i] = a
            i += 1
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
                i = 0
                while i + 4 <= m:
                    a, b, c, e = u[i], u[i + 1], u[i + 2], u[i + 3]
                    x0, x1 = doubles(start + i * row), doubles(start + (i + 1) * row)
                    x2, x3 = doubles(start + (i + 2) * row), doubles(start + (i + 3) * row)
                    for j in range(num):
                        sums[j] += x0[j] * a + x1[j] * b + x2[j] * c + x3[j] * e
                    i += 4
                while i < m:
                    a, x0 = u[i], doubles(start + i * row)
                    for j in range(num):
                        sums[j] += x0[j] * a
                    i += 1
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
