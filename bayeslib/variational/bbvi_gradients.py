"""The estimators of black-box variational inference, many times over."""

from ..errors import BayeslibError
from ..target import unconstrained
from ..validate import as_bool, as_count, as_one_each, as_position, as_rng, check_finite
from .bbvi_ascent import Fit, as_num_draws
from .gaussian_family import FAMILIES, as_factor, pack

_PILOT = 10_000  # draws that a baseline is estimated from


def bbvi_gradients(
    target,
    mean,
    scale,
    *,
    estimator,
    num_draws=1,
    num_samples=1000,
    baseline=None,
    entropy=True,
    rng,
):
    """Estimate the gradient of the evidence lower bound many times, as `bbvi` does at each step.

    Parameters
    ----------
    target : Target
    mean : array_like, shape (dim,)
        Of q, in unconstrained coordinates.
    scale : float or array_like, shape (dim,) or (dim, dim)
        Standard deviations of a q of family "meanfield", or the lower triangular factor of one of
        "fullrank".
    estimator : {"score", "baseline", "loo", "rao_blackwell", "reparam"}
        As in `bbvi`.
    num_draws : int
        Draws for each estimate.
    num_samples : int
        Estimates.
    baseline : float or array_like, shape (num_parameters,), optional
        The c of "baseline". None estimates the best one from 10,000 draws made before.
    entropy : bool
        False leaves out log q: the gradient is that of the expectation of log p alone.
    rng : int, Generator, SeedSequence or None

    Returns
    -------
    numpy.ndarray, shape (num_samples, num_parameters)
        Independent rows: the gradient in the means, the logarithms of the scales (of the factor's
        diagonal) and the factor's entries below it, row by row.

    Raises
    ------
    BayeslibError
        For arguments out of range, each named.
    GradientError
        When "reparam" finds no gradient.
    TargetError
        When the log density is not finite at a draw.

    Notes
    -----
    Draw order: 10,000 × dim standard normals when a baseline is to be estimated, then for each
    estimate num_draws × dim.

    Examples
    --------
    >>> target = bl.posteriors.gaussian([0.0], 1.0)
    >>> how = dict(num_draws=4, rng=1)
    >>> for estimator in ("score", "loo", "reparam"):
    ...     g = bl.bbvi_gradients(target, [3.0], 0.5, estimator=estimator, **how)
    ...     print(estimator, g.mean(axis=0).round(1), g.std(axis=0).round(1))
    score [-2.9  0.7] [4.7 3.5]
    loo [-3.   0.8] [2.7 2.7]
    reparam [-3.   0.8] [0.3 0.8]
    """
    free = unconstrained(target)
    mean = as_position(mean, "mean", free.dim)
    free.verify(mean, gradient=estimator == "reparam")
    factor, dense = as_factor(scale, free.dim)
    num_draws = as_num_draws(num_draws, estimator, FAMILIES[dense])
    num_samples = as_count(num_samples, "num_samples")
    entropy = as_bool(entropy, "entropy")
    parameters = pack(mean, factor, dense)
    if baseline is not None:
        if estimator != "baseline":
            raise BayeslibError(f'baseline belongs to estimator="baseline", not to {estimator!r}')
        baseline = as_one_each(baseline, "baseline", parameters.size)
        check_finite(baseline, "baseline")
    rng, _ = as_rng(rng)
    how = {"estimator": estimator, "entropy": entropy, "delay": 1.0, "average_from": num_samples}
    fit = Fit(free, parameters, num_draws, num_samples, num_kept=num_samples, keep=1.0, **how)
    if estimator == "baseline" and baseline is None:
        pilot = Fit(free, parameters, _PILOT, 1, keep=0.0, **how)
        pilot.run_all(rng)
        baseline = pilot.climb.above / pilot.climb.below
    if baseline is not None:
        fit.climb.above[:], fit.climb.below[:] = baseline, 1.0
    fit.run_all(rng)
    return fit.gradients
