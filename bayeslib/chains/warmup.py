"""What warm-ups share: windows, and the variances or the covariance that are learned in them.

`moments` has the mean in row 0. Two rows are for variances: row 1 has the sums of squares. Three or
more are for a covariance: those below the mean have the sums of products, in the upper triangle.
`root` is the standard deviations, (1, dim), or the lower Cholesky factor, (dim, dim).
"""

import numpy as np

from ..compile.callback import helper

_PRIOR = 5.0  # draws that what was known before counts for (as in Stan)


def warmup_windows(num_warmup, learns=True):
    """Return where the windows of an adaptive warm-up end, the last at `num_warmup`.

    As in Stan: a first window for finding the typical set, windows that double from 25 to learn
    scales from, and a last one to settle the step. Short warm-ups share out 15, 60 and 25 %;
    below 50, or where nothing `learns`, there is only one window.

    Returns
    -------
    numpy.ndarray of int64
    """
    if num_warmup < 50 or not learns:
        return np.array([num_warmup])
    first, size, last = 75, 25, 50
    if first + size + last > num_warmup:
        first, last = int(0.15 * num_warmup), int(0.25 * num_warmup)
        size = num_warmup - first - last
    return doubling_windows(first, size, num_warmup - last, num_warmup)


def doubling_windows(end, size, stop, num_warmup):
    """Return where windows end: the first at `end`, then by `size`, which doubles, to `stop`."""
    ends = [end]
    while end < stop:
        end, size = end + size, 2 * size
        if end + size > stop:
            end = stop
        ends.append(end)
    return np.array([*ends, num_warmup])


@helper
def add(x, n, moments):
    """Take in the n-th of some vectors (Welford, 1962); the first clears what was there."""
    dim = x.size
    if n == 1.0:
        moments[0] = x
        moments[1:] = 0.0
    elif moments.shape[0] == 2:
        for i in range(dim):
            change = x[i] - moments[0, i]
            moments[0, i] += change / n
            moments[1, i] += change * (x[i] - moments[0, i])
    else:
        for i in range(dim):
            moments[0, i] += (x[i] - moments[0, i]) / n
        # The deviation from the old mean is that from the new one times n / (n - 1).
        for i in range(dim):
            change = (x[i] - moments[0, i]) * n / (n - 1.0)
            for j in range(i, dim):
                moments[1 + i, j] += change * (x[j] - moments[0, j])


@helper
def factorise(matrix):
    """Write the Cholesky factor below and on the diagonal; say whether there is one."""
    for j in range(matrix.shape[0]):
        for i in range(j, matrix.shape[0]):
            total = matrix[j, i]  # the upper triangle stays as it was
            for k in range(j):
                total -= matrix[i, k] * matrix[j, k]
            if i == j:
                if not total > 0.0:
                    return False
                matrix[j, j] = np.sqrt(total)
            else:
                matrix[i, j] = total / matrix[j, j]
    return True


@helper
def variance(root, i):
    """Return the variance of coordinate i by a lower Cholesky factor."""
    total = 0.0
    for j in range(i + 1):
        total += root[i, j] * root[i, j]
    return total


@helper
def set_root(n, moments, root, own):
    """Set `root` from the moments of n draws; say whether they have one.

    Variances are shrunk a little, to what they were if that was the sampler's `own`, else to 0.001.
    Those that were set remain in row 1 of `moments`, covariances in its upper triangle.
    """
    dim = root.shape[1]
    if moments.shape[0] == 2:
        for i in range(dim):
            old = root[0, i] * root[0, i] if own else 1e-3
            found = moments[1, i] / max(n - 1.0, 1.0)
            moments[1, i] = (n * found + old * _PRIOR) / (n + _PRIOR)
            root[0, i] = np.sqrt(moments[1, i])
        return True
    weight, ridge = n / ((n + _PRIOR) * max(n - 1.0, 1.0)), _PRIOR / (n + _PRIOR)
    # Fewer draws than dimensions say nothing of correlations: a random walk shrinks these the more.
    less = (n + _PRIOR) / (n + _PRIOR + dim) if own else 1.0
    for i in range(dim):
        for j in range(i, dim):
            moments[1 + i, j] *= weight if i == j else weight * less
        moments[1 + i, i] += ridge * (variance(root, i) if own else 1e-3)
    if not factorise(moments[1 : 1 + dim]):
        return False
    for i in range(dim):
        for j in range(i + 1):
            root[i, j] = moments[1 + i, j]
    return True


@helper
def learn_root(t, windows, window, position, moments, root, own):
    """Learn from each draw of a window that is neither first nor last; say whether `root` was set.

    It is at the window's end. See `set_root`.
    """
    if not 0 < window < windows.size - 1:
        return False
    n = float(t + 1 - windows[window - 1])
    add(position, n, moments)
    return t + 1 == windows[window] and set_root(n, moments, root, own)
