"""Pareto smoothing of importance weights, and k-hat."""

import numpy as np
from scipy import special

from ..diagnostics.tails import fit_weights
from ..errors import BayeslibError, ZeroWeightsError
from ..validate import as_floats, check_each


def psis(log_weights):
    """Pareto-smooth importance weights and measure how heavy their tail is.

    The largest ``min(0.2 S, 3 sqrt(S))`` of S weights are replaced by the expected order
    statistics of a generalised Pareto distribution fitted to them, and truncated at the largest
    raw weight.

    Parameters
    ----------
    log_weights : Draws or array, shape (S,) or (num_chains, num_samples)
        Unnormalised: adding a constant changes nothing. -inf is a weight of zero.

    Returns
    -------
    log_weights : numpy.ndarray
        Smoothed and normalised, their exponentials sum to 1; the shape of the input.
    khat : float
        The fitted shape. Below 0.5 the variance of the weights is probably finite; above
        min(1 - 1 / log10(S), 0.7) estimates are not to be trusted. -inf when the tail and the
        weight below it are all equal, so that nothing stands out; else nan for fewer than 21 draws,
        and inf when fewer than five weights stand out, so that these few carry everything.

    Raises
    ------
    ZeroWeightsError
        When all weights are zero.
    BayeslibError
        When a log weight is nan or +inf, or there is none.

    References
    ----------
    Vehtari, Simpson, Gelman, Yao and Gabry (2024), "Pareto smoothed importance sampling"; the fit
    is that of Zhang and Stephens (2009), "A new and efficient estimation method for the generalized
    Pareto distribution", shrunk towards 0.5 with the weight of ten draws.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from scipy import stats
    >>> target = bl.posteriors.gaussian([0.0], 1.0)
    >>> draws = bl.importance_sample(
    ...     target, stats.norm(1.0, 0.8), num_samples=10_000, rng=1)
    >>> smoothed, khat = bl.psis(draws)
    >>> print(round(khat, 2))
    0.62
    >>> print(replace(draws, log_weights=smoothed).expect())
    [-0.025 ± 0.052]
    """
    given = getattr(log_weights, "log_weights", log_weights)
    if given is None:
        raise BayeslibError("these draws have no weights; psis needs those of importance_sample")
    given = as_floats(given, "log_weights")
    x = given.ravel()
    if x.size == 0:
        raise BayeslibError("log_weights is empty")
    check_each(given, "log_weights", "finite or -inf", given < np.inf)
    if x.max() == -np.inf:
        raise ZeroWeightsError(f"all {x.size} weights are zero")
    x = x - x.max()
    khat, scale, cutoff, tail = fit_weights(x)
    if tail.size and np.isfinite(khat):
        p = (np.arange(tail.size) + 0.5) / tail.size  # of which excess has the Pareto quantiles
        with np.errstate(over="ignore"):  # what is beyond the largest float is cut at the largest
            excess = -scale * special.boxcox1p(-p, -khat)
            x[tail] = np.minimum(np.log(excess + np.exp(cutoff)), 0.0)
    return (x - special.logsumexp(x)).reshape(given.shape), khat
