"""Resampling: from weighted draws to as many of equal weight as wanted."""

import numpy as np

from ..errors import BayeslibError, BayeslibTypeError
from ..results import Draws
from ..validate import as_choice, as_count, as_rng, check_memory

SCHEMES = ("systematic", "stratified", "residual", "multinomial")


def resample(draws, *, num_samples, rng, scheme="systematic"):
    """Draw again from weighted draws, in proportion to their weights.

    It adds no information, only noise: expectations should be taken of the weighted draws. It
    is for what needs draws of equal weight, and for stopping weights from degenerating.

    Parameters
    ----------
    draws : Draws
        Weighted, or independent.
    num_samples : int
        How many to return; each draw is copied ``num_samples`` times its weight, on average.
    rng : int, Generator, SeedSequence or None
    scheme : {"systematic", "stratified", "residual", "multinomial"}
        How the copies are rounded to whole numbers. Each keeps the average, so that all are
        unbiased. Multinomial draws independently; stratified and residual never add more noise
        than that. Systematic copies each draw a number of times that differs from the average by
        less than one; it usually adds the least, without a guarantee.

    Returns
    -------
    Draws
        Of equal weight, shape (1, num_samples, dim), copies of a draw next to each other.
        ``stats["family"]`` is the index, among all draws passed, of the one each is a copy of, or
        that draw's own family, if it has one: `Draws.expect` needs it for an honest error, because
        copies know nothing new.

    Raises
    ------
    BayeslibTypeError
        When `draws` is no Draws.
    BayeslibError
        For an unknown scheme, or draws of a Markov chain without weights.

    Notes
    -----
    Draw order: one uniform for "systematic"; `num_samples` uniforms for "stratified" and
    "multinomial"; for "residual" as many as the whole parts of the expected copies leave over.

    References
    ----------
    Douc, Cappé and Moulines (2005), "Comparison of resampling schemes for particle filtering".

    Examples
    --------
    >>> from scipy import stats
    >>> target = bl.posteriors.gamma_student()
    >>> weighted = bl.importance_sample(
    ...     target, stats.gamma(3), num_samples=4000, rng=1
    ... )
    >>> equal = bl.resample(weighted, num_samples=1000, rng=2)
    >>> print(equal.log_weights, equal.expect(), weighted.expect())
    None [4.187 ± 0.040] [4.146 ± 0.021]
    """
    if not isinstance(draws, Draws):
        raise BayeslibTypeError(f"draws must be a Draws, got {type(draws).__name__}")
    num_samples = as_count(num_samples, "num_samples")
    as_choice(scheme, "scheme", SCHEMES)
    family = draws.stats.get("family")
    if draws.log_weights is None and family is None and not draws.independent:
        raise BayeslibError("these draws have no weights: use draws.sample(num_samples, rng)")
    check_memory((num_samples, draws.dim + 3), "the draws")
    rng, seed = as_rng(rng)
    chosen = choose(draws.weights, num_samples, rng, scheme)
    flat = np.arange(len(draws.flat)) if family is None else np.ravel(family)
    settings = {"scheme": scheme, "num_samples": num_samples, "seed": seed}
    if "khat" in draws.settings:
        settings["khat"] = draws.settings["khat"]
    return Draws(
        draws.flat[None, chosen],
        logdensity=None if draws.logdensity is None else np.ravel(draws.logdensity)[None, chosen],
        stats={"family": flat[None, chosen]}, num_evals=draws.num_evals, method="resample",
        settings=settings, names=draws.names, log_evidence=draws.log_evidence,
    )  # fmt: skip


def choose(weights, num_samples, rng, scheme):
    """Return the indices of `num_samples` draws chosen by `scheme`, in increasing order.

    Parameters
    ----------
    weights : numpy.ndarray, shape (n,)
        Non-negative, not all zero; they need not sum to 1.
    """
    weights = weights / weights.sum()
    if scheme == "residual":
        expected = num_samples * weights
        whole = np.floor(expected + 1e-12 * num_samples)  # 3 * (1 / 3) is meant to be 1
        left = num_samples - int(whole.sum())
        rest = np.maximum(expected - whole, 0.0)
        rest = rest if rest.any() else weights
        more = np.bincount(_spread(rest, rng.random(left)), minlength=weights.size)
        return np.repeat(np.arange(weights.size), whole.astype(int) + more)
    if scheme == "multinomial":
        return _spread(weights, np.sort(rng.random(num_samples)))
    offset = rng.random(num_samples) if scheme == "stratified" else rng.random()
    return _spread(weights, (np.arange(num_samples) + offset) / num_samples)


def normalised(weights, log_unit):
    """Return weights that sum to 1, and the log of what they summed to in units of e^log_unit."""
    total = weights.sum()
    return weights / total, float(log_unit + np.log(total))


def _spread(weights, points):
    """Return which weight each point of [0, 1) falls on when all are laid end to end."""
    ends = weights.cumsum()
    ends /= ends[-1]  # the last positive weight then ends at 1, whatever was rounded off
    return np.searchsorted(ends, np.minimum(points, np.nextafter(1.0, 0.0)), side="right")
