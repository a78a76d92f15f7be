"""From draws and seconds to the figures of the tables: one estimator for all contestants."""

import math

import numpy as np
from scipy import stats

from bayeslib import diagnostics


def describe(values, mean, mean_error):
    """Judge one run's draws.

    Parameters
    ----------
    values : array, shape (num_chains, num_samples, dim)
    mean, mean_error : arrays, shape (dim,)
        The true mean, and its standard error where it is itself an estimate.

    Returns
    -------
    dict
        ``ess``, the least bulk-ESS of all parameters; ``rhat``, the largest; ``errors``, how far
        the means are off, (dim,), and ``mcse``, their standard errors with the truth's own.
    """
    mcse = np.hypot(diagnostics.mcse(values), mean_error)
    return {
        "ess": float(np.min(diagnostics.ess(values))),
        "rhat": float(np.max(diagnostics.rhat(values))),
        "errors": values.mean(axis=(0, 1)) - mean,
        "mcse": mcse,
    }


def agreement(runs):
    """Compare the mean of several independent runs with the truth.

    Returns
    -------
    dict
        ``rms_z`` over runs and parameters, near 1 when errors are what they are said to be;
        ``largest_z`` of the runs pooled; ``p``, how likely the true mean gives one as large, by
        Bonferroni's bound over the parameters.
    """
    errors, mcse = (np.array([run[key] for run in runs]) for key in ("errors", "mcse"))
    pooled = errors.mean(axis=0) / (np.sqrt(np.square(mcse).sum(axis=0)) / len(runs))
    largest = float(np.max(np.abs(pooled)))
    return {
        "rms_z": float(np.sqrt(np.mean(np.square(errors / mcse)))),
        "largest_z": largest,
        "p": float(np.minimum(1.0, 2.0 * pooled.size * stats.norm.sf(largest))),  # nan stays nan
    }


def spread(numbers):
    """Return {"median", "low", "high", "count"}; None for no finite number.

    low and high are the order statistics that cover the median nine times in ten, or the ends
    where there are too few numbers for that.
    """
    numbers = sorted(x for x in numbers if x is not None and math.isfinite(x))
    if not numbers:
        return None
    skipped = int(stats.binom.ppf(0.05, len(numbers), 0.5))
    skipped = max(0, skipped - 1)
    return {
        "median": float(np.median(numbers)),
        "low": float(numbers[skipped]),
        "high": float(numbers[-1 - skipped]),
        "count": len(numbers),
    }


def ratio(ours, theirs, key):
    """Compare two contestants round by round, so that a slow minute counts for both.

    Parameters
    ----------
    ours, theirs : sequences of dict
        Runs, each with ``round`` and `key`; those of one round are represented by their median.

    Returns
    -------
    dict or None
        The `spread` of ours / theirs over the rounds that both took part in.
    """
    ours, theirs = _by_round(ours, key), _by_round(theirs, key)
    return spread([ours[r] / theirs[r] for r in ours.keys() & theirs.keys()])


def _by_round(runs, key):
    rounds = {}
    for run in runs:
        if run.get(key) is not None and math.isfinite(run[key]):
            rounds.setdefault(run["round"], []).append(run[key])
    return {r: float(np.median(numbers)) for r, numbers in rounds.items()}


def time_to(wanted, start_up, first_call, warm_call, ess, warmup=0.5):
    """Seconds from a cold process to `wanted` effective draws.

    Starting up and compiling, then the warm-up whole, then as much of the sampling as is needed.

    Parameters
    ----------
    start_up : float
        From the start of the process to the first call.
    first_call, warm_call : float
        With and without compilation.
    ess : float
        Of one call.
    warmup : float
        The share of a warm call that is its warm-up.
    """
    compiling = max(first_call - warm_call, 0.0)
    return start_up + compiling + warm_call * (warmup + (1.0 - warmup) * wanted / ess)
