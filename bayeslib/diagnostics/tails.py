"""How heavy a tail is: a generalised Pareto distribution fitted to what lies far out."""

import numpy as np

_EQUAL = 1e-8  # of log weights: what differs by less differs by rounding
_LEAST = 1e-300  # of a weight above the cutoff, in units of the largest: its inverse is a float


def size_of_tail(num_draws):
    """How many of the largest draws count as the tail."""
    return int(np.ceil(min(num_draws / 5.0, 3.0 * np.sqrt(num_draws))))


def fit_pareto(x):
    """Shape and scale of a generalised Pareto distribution, for sorted positive `x`.

    Zhang and Stephens (2009), with the shape shrunk towards 0.5 by the weight of ten draws.
    """
    n = x.size
    grid = 30 + int(np.sqrt(n))
    b = 1.0 - np.sqrt(grid / (np.arange(1, grid + 1) - 0.5))
    b = b / (3.0 * x[int(n / 4 + 0.5) - 1]) + 1.0 / x[-1]
    b = b[b != 0.0]  # where the shape is 0, too; equal x come to that
    shape = np.log1p(-b[:, None] * x).mean(axis=1)
    log_likelihood = n * (np.log(-b / shape) - shape - 1.0)
    weights = np.exp(log_likelihood - log_likelihood.max())
    weights /= weights.sum()
    kept = weights >= 10.0 * np.finfo(float).eps
    b_mean = b[kept] @ weights[kept] / weights[kept].sum()
    shape = np.log1p(-b_mean * x).mean()
    return (n * shape + 5.0) / (n + 10.0), -shape / b_mean


@np.errstate(all="ignore")  # of numbers so small that their inverse is none
def tail_shape(x):
    """Return k-hat of the heavier of the two tails of `x`; nan for fewer than 21 draws.

    Averages of 1 / k-hat-th and higher powers do not exist: above 1 not even the mean.
    """
    x = np.sort(x, axis=None)
    size = size_of_tail(x.size)
    if size < 5:
        return np.nan
    shapes = [np.nan]
    for ordered in (x, -x[::-1]):
        excess = ordered[-size:] - ordered[-size - 1]
        excess = excess[excess > 0.0]
        if excess.size >= 5:
            shapes.append(fit_pareto(excess)[0])
    return float(np.fmax.reduce(shapes))


def fit_weights(log_weights):
    """Fit a generalised Pareto distribution to the tail of importance weights.

    Parameters
    ----------
    log_weights : numpy.ndarray, shape (n,)
        The largest is 0.

    Returns
    -------
    khat, scale : float
        Of the fit; see `psis` for what k-hat is where there is nothing to fit to, and the scale
        nan.
    cutoff : float
        The largest log weight that is not of the tail.
    tail : numpy.ndarray of int
        Where the tail is, in rising order; empty where nothing was fitted.
    """
    x, none = log_weights, np.empty(0, dtype=int)
    tail_size = size_of_tail(x.size)
    order = np.argsort(x, kind="stable")
    cutoff = max(x[order[-tail_size - 1]], np.log(np.finfo(float).tiny)) if x.size > 1 else 0.0
    if cutoff >= -_EQUAL:
        return -np.inf, np.nan, cutoff, none
    if tail_size < 5:
        return np.nan, np.nan, cutoff, none
    excess = np.exp(x[order]) - np.exp(cutoff)
    tail, excess = order[excess > _LEAST], excess[excess > _LEAST]
    if tail.size < 5:
        return np.inf, np.nan, cutoff, none
    khat, scale = fit_pareto(excess)
    return float(khat), scale, cutoff, tail
