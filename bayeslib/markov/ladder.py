"""The ladder of inverse temperatures: what may be asked for, and how it is learned."""

import numpy as np

from ..errors import BayeslibError
from ..validate import as_count, as_floats

HOTTEST = 0.01  # inverse temperature at which a ladder without a reference begins
_FEWEST, _MOST = 4, 200  # rungs
_LEAST_REJECTION = 0.01  # below it, a pair's share of a short window is noise


def as_ladder(value, dim, has_reference):
    """Return inverse temperatures that rise to 1, and whether they are to be adapted.

    Parameters
    ----------
    value : None, int or array_like
        A number of rungs, or the rungs themselves.
    dim : int
    has_reference : bool
        Whether the ladder may begin at 0.

    Returns
    -------
    betas : numpy.ndarray, shape (number of rungs,)
    adapted : bool

    Raises
    ------
    BayeslibError
    """
    if np.ndim(value) == 0:
        if value is None:
            # 2 Lambda + 1 rungs for a Gaussian's communication barrier Lambda, tempered this far.
            barrier = np.sqrt(dim / (2.0 * np.pi)) * np.log(1.0 / HOTTEST)
            num_rungs = int(np.clip(np.ceil(2.0 * barrier) + 1, _FEWEST, _MOST))
        else:
            num_rungs = as_count(value, "inverse_temperatures", minimum=2, maximum=_MOST)
        if has_reference:
            return np.linspace(0.0, 1.0, num_rungs), True
        return np.geomspace(HOTTEST, 1.0, num_rungs), True
    betas = as_floats(value, "inverse_temperatures")
    rises = betas.ndim == 1 and betas.size > 1 and np.all(np.diff(betas) > 0.0) and betas[-1] == 1.0
    if not rises or betas[0] < 0.0 or (betas[0] == 0.0 and not has_reference):
        rule = "be a number, or begin above 0 (at 0: pass reference=), increase and end at 1"
        raise BayeslibError(f"inverse_temperatures must {rule}, got {value!r}")
    return betas, False


def respace(betas, rejection, roots, tunings):
    """Move the rungs in place to where all pairs would refuse equally often.

    The rejections add up to the communication barrier; it is shared out equally, as if it grew
    linearly between two rungs (Syed et al., 2022). The proposals' scales are interpolated too.

    Parameters
    ----------
    betas : numpy.ndarray, shape (r,)
    rejection : numpy.ndarray, shape (r - 1,)
        Of swaps, for each pair.
    roots : numpy.ndarray, shape (r, 1, dim)
    tunings : numpy.ndarray of `Tuning`, shape (r,)
    """
    barrier = np.concatenate([[0.0], np.cumsum(np.maximum(rejection, _LEAST_REJECTION))])
    wanted = np.linspace(0.0, barrier[-1], betas.size)
    if betas[0] > 0.0:
        betas[1:-1] = np.exp(np.interp(wanted, barrier, np.log(betas)))[1:-1]
    else:
        betas[1:-1] = np.interp(wanted, barrier, betas)[1:-1]
    for i in range(roots.shape[2]):
        roots[:, 0, i] = np.exp(np.interp(wanted, barrier, np.log(roots[:, 0, i])))
    for name in ("factor", "average"):
        tunings[name] = np.interp(wanted, barrier, tunings[name])


def log_normaliser(betas, ratios):
    """Stepping-stone estimate of the logarithm of the ratio of the end's integrals.

    Parameters
    ----------
    betas : numpy.ndarray, shape (num_chains, r)
    ratios : numpy.ndarray, shape (num_chains, n, r)
        Log target minus log reference at each rung.

    Returns
    -------
    value : float
        The sum of the logarithms of mean exp((b' - b) ratio) over neighbours b < b', the chains'
        estimates averaged.
    influence : numpy.ndarray, shape (num_chains, n)
        What each draw says, to first order: the error of its mean is the estimate's.
    """
    steps = np.diff(betas, axis=1)[:, None, :] * ratios[:, :, :-1]
    largest = steps.max(axis=1, keepdims=True)
    weights = np.exp(steps - largest)
    means = weights.mean(axis=1, keepdims=True)
    estimates = (np.log(means) + largest).sum(axis=2)
    return float(estimates.mean()), estimates + (weights / means).sum(axis=2)
