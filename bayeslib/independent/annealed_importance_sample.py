"""Annealed importance sampling: weights along a path from the proposal to the target."""

import numpy as np

from ..target import as_separate
from ..validate import as_count, as_scale
from ..waiting import watched
from .cloud import BEST_JUMP, Cloud, as_temperatures
from .importance_sample import as_sampling, no_weight, warn_of_weights, weighted, with_tails
from .mixture import factored, weighted_cov
from .resample import choose, normalised

_PILOTS, _PILOT_STEPS = 200, 3
_BEST_RATE = 0.25  # of acceptance, which serves one dimension and many
_TUNING = 2.0  # a move that nobody makes shortens the next by exp(-0.5)


@watched("for before the last temperature no weight is complete")
def annealed_importance_sample(
    target,
    proposal,
    *,
    num_samples,
    inverse_temperatures=20,
    scale=None,
    num_steps=1,
    progress=None,
    rng,
):
    """Weight draws along a path of distributions from the proposal to the target.

    Each draw starts from the proposal. Stage after stage the inverse temperature b rises; the
    weight takes in the ratio of the new density ``q^(1 - b) p^b`` to the old one at the draw, which
    then makes `num_steps` random-walk Metropolis steps under the new density.

    Parameters
    ----------
    target : Target
    proposal : distribution
        See `as_proposal`. Normalised, for `log_evidence` to be right.
    num_samples : int
    inverse_temperatures : array_like or int
        From 0 to 1, or a number of equal steps, so that n steps have n + 1 temperatures. Each step
        is a stage.
    scale : float or array_like, shape (dim,) or (number of stages, dim), optional
        Standard deviations of the Metropolis steps. None finds them by a pilot run of 200 other
        draws, so that the weights stay unbiased.
    num_steps : int
        Metropolis steps of each draw in each stage.
    progress : bool, optional
        None shows a bar on runs of more than about two seconds.
    rng : int, Generator, SeedSequence or None

    Returns
    -------
    Draws
        Independent, shape (1, num_samples, dim), with raw `log_weights`. `log_evidence` is the log
        of the mean weight, which is unbiased, however badly the draws have mixed; its logarithm is
        biased low. Settings:

        - ``khat`` and ``ess``: see `importance_sample`;
        - ``acceptance``: the share of the Metropolis steps that were accepted;
        - ``scale``: the one used, shape (number of stages, dim);
        - ``tail_index``: see `nuts`.

    Raises
    ------
    BayeslibError
        For arguments out of range, each named; when the proposal's own density is zero, infinite
        or nan at one of its draws; ZeroWeightsError when no draw has a weight; TargetError when
        the log density is +inf at a draw.

    Warns
    -----
    BayeslibWarning
        When k-hat is too large or too few draws' worth remain, as for `importance_sample`; when
        ``tail_index`` says that variances or means do not exist; or when the log density was nan.

    Notes
    -----
    Cost: ``num_samples * (1 + stages * num_steps)`` evaluations; ``200 * (1 + 3 * stages)`` of a
    pilot run; and at most 16 for ``tail_index``.

    Draw order: a pilot run draws from ``rng.spawn(1)``, not from `rng`. Then
    ``proposal.sample(num_samples, rng)``, and in each Metropolis step num_samples * dim normals,
    draw by draw, and num_samples uniforms.

    References
    ----------
    Neal (2001), "Annealed importance sampling".

    Examples
    --------
    >>> from scipy import stats
    >>> target = bl.posteriors.gamma_student()
    >>> draws = bl.annealed_importance_sample(
    ...     target, stats.gamma(3), num_samples=1000, rng=1
    ... )
    >>> print(draws.expect(), target.truth.mean.round(3))
    [4.159 ± 0.043] [4.167]
    >>> print(draws.log_evidence, round(target.truth.log_evidence, 3))
    -2.361 ± 0.015 -2.37
    """
    method = "annealed_importance_sample"
    as_separate(target, method)
    proposal, num_samples, rng, settings = as_sampling(target, proposal, num_samples, rng, copies=4)
    num_steps = as_count(num_steps, "num_steps")
    betas = as_temperatures(inverse_temperatures)
    if scale is None:
        scale, pilot_evals = _pilot(target, proposal, betas, rng.spawn(1)[0])
    else:
        scale, pilot_evals = as_scale(scale, "scale", betas.size - 1, target.dim), 0
    cloud = Cloud(target, proposal, proposal.sample(num_samples, rng))
    log_weights, moved = np.zeros(num_samples), 0
    for k in range(1, betas.size):
        log_weights += (betas[k] - betas[k - 1]) * cloud.log_ratio
        for _ in range(num_steps):
            moved += cloud.move(betas[k], scale[k - 1], rng).sum()
    draws = weighted(
        target, proposal, cloud.values, cloud.log_p, log_weights,
        num_evals=cloud.num_evals + pilot_evals, method=method, settings=settings | {
            "inverse_temperatures": betas, "scale": scale, "num_steps": num_steps,
            "acceptance": float(moved / (num_samples * num_steps * (betas.size - 1))),
        },
    )  # fmt: skip
    cloud.warn_of_nan()
    return warn_of_weights(with_tails(target, draws))


def _pilot(target, proposal, betas, rng):
    """Spreads along the path, from a few particles that are resampled at each stage."""
    cloud = Cloud(target, proposal, proposal.sample(_PILOTS, rng))
    scales, log_tuning = np.empty((betas.size - 1, target.dim)), 0.0
    for k in range(1, betas.size):
        log_weights = (betas[k] - betas[k - 1]) * cloud.log_ratio
        if log_weights.max() == -np.inf:
            raise no_weight(target, cloud.values, proposal.label, ", or pass scale")
        weights, _ = normalised(np.exp(log_weights - log_weights.max()), 0.0)
        (factor,) = factored(weighted_cov(cloud.values, weights)[None])
        factor *= BEST_JUMP / np.sqrt(target.dim)
        cloud.keep(choose(weights, _PILOTS, rng, "systematic"))
        # the best step for a Gaussian is far too long where modes are narrow and far apart
        for _ in range(_PILOT_STEPS):
            rate = cloud.move(betas[k], np.exp(log_tuning) * factor, rng).mean()
            log_tuning += _TUNING * (rate - _BEST_RATE)
        log_tuning = min(log_tuning, 0.0)
        scales[k - 1] = np.exp(log_tuning) * np.sqrt(np.square(factor).sum(axis=1))
    return scales, cloud.num_evals
