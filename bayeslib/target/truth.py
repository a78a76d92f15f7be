"""What is exactly known about a target."""

from collections import UserDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np


@dataclass(frozen=True, kw_only=True)
class Truth:
    """What is exactly known about a target; None where it is not.

    Attributes
    ----------
    mean : numpy.ndarray, shape (dim,)
    cov : numpy.ndarray, shape (dim, dim)
    quantiles : dict
        (dim,) by probability; in `posteriors` at 0.025, 0.05, 0.25, 0.5, 0.75, 0.95, 0.975.
    log_evidence : float
        Logarithm of the integral of exp(log density).
    sample : callable
        sample(num_samples, rng) -> (num_samples, dim), exact and independent.
    cdf : callable
        cdf(x (n,)) -> (n,), for targets of one dimension.

    Examples
    --------
    >>> truth = bl.posteriors.coin(8, 2).truth
    >>> print(truth.mean, round(truth.log_evidence, 4))
    [0.75] -6.2046
    >>> print(truth.quantiles[0.5].round(4), truth.cdf(np.array([0.5])).round(4))
    [0.7642] [0.0327]
    """

    mean: np.ndarray | None = None
    cov: np.ndarray | None = None
    quantiles: dict | None = None
    log_evidence: float | None = None
    sample: Callable | None = None
    cdf: Callable | None = None


class Quantiles(UserDict):
    """{probability: marginal quantiles (dim,)}, computed when first looked at.

    Parameters
    ----------
    compute : callable
        ``compute(*args)`` returns the dict.
    """

    def __init__(self, compute, *args):
        self._compute, self._args = compute, args

    @cached_property
    def data(self):
        return self._compute(*self._args)

    def __missing__(self, probability):
        raise KeyError(f"no quantile at {probability!r}; there are {sorted(self.data)}")
