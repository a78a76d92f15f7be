"""Errors of draws that come in families: copies of a few, and what became of the copies."""

import numpy as np


def family_totals(values, family):
    """Sum `values`, (n,) or (n, k), within each family of the n draws: one row a family."""
    order = np.argsort(family, kind="stable")
    firsts = np.flatnonzero(np.diff(family[order], prepend=family.min() - 1))
    return np.add.reduceat(values[order], firsts)


def mean_and_error(results, weights, family):
    """Return the weighted mean of `results`, and its standard error if families are independent.

    Parameters
    ----------
    results : numpy.ndarray, shape (n,) or (n, k)
    weights : numpy.ndarray, shape (n,)
        Normalised.
    family : numpy.ndarray of int, shape (n,)
        Equal for draws that have an ancestor in common.

    Returns
    -------
    mean, error : float or numpy.ndarray, shape (k,)

    References
    ----------
    Chan and Lai (2013), A general theory of particle filters in hidden Markov models.
    """
    mean = weights @ results
    deviations = (weights * (results - mean).T).T
    return mean, np.sqrt(np.square(family_totals(deviations, family)).sum(axis=0))
