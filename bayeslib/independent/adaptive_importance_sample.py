"""Adaptive importance sampling: population Monte Carlo with a mixture of Student-t's."""

import numpy as np

from ..errors import BayeslibError
from ..target import as_separate
from ..validate import as_count, as_fraction, as_real, check_memory
from ..waiting import watched
from .importance_sample import as_sampling, looked_into, psis, warn_of_weights, weighted_draws
from .mixture import StudentMixture, weighted_cov
from .resample import choose


@watched("for what it draws while it learns is of other proposals")
def adaptive_importance_sample(
    target,
    proposal,
    *,
    num_samples,
    num_components=1,
    num_rounds=10,
    num_adapt=1000,
    df=5.0,
    defensive=0.1,
    progress=None,
    rng,
):
    """Learn a proposal from weighted draws, then sample by importance with it.

    The first round draws from `proposal` and fits a mixture of Student-t distributions; each
    further round draws from the mixture and improves it by one step of expectation maximisation.
    The draws that are returned are new, from the last mixture, which no longer changes: what
    holds for `importance_sample` holds for them.

    Parameters
    ----------
    target : Target
    proposal : distribution
        See `as_proposal`. Where to begin; wide enough to find every region of weight, for what
        it misses the mixture will hardly learn.
    num_samples : int
        Draws returned.
    num_components : int
    num_rounds : int
        At least 1.
    num_adapt : int
        Draws a round.
    df : float
        Degrees of freedom of the components, above 2.
    defensive : float
        The share of the mixture that `proposal` keeps, at least 0 and below 1. Above 0 the
        weights are never larger than 1 / defensive times those of `proposal`.
    progress : bool, optional
        None shows a bar on runs of more than about two seconds.
    rng : int, Generator, SeedSequence or None

    Returns
    -------
    Draws
        As `importance_sample` returns; `num_evals` counts the rounds too. Settings besides its own:

        - the mixture: ``weights``, the last of which is the share of `proposal`; ``means``;
          ``covs``, the components' scale matrices (their covariances are ``df / (df - 2)`` times as
          large); ``df``;
        - ``round_ess``: the worth of each round's draws.

    Raises
    ------
    BayeslibError
        As `importance_sample`; for df up to 2; for fewer draws a round than components.

    Warns
    -----
    BayeslibWarning
        As `importance_sample`; and when the draws are worth less than a tenth of their number, so
        that the mixture has not come near the target. A far mode, or an integral that is infinite,
        may not show.

    Notes
    -----
    Draw order: ``proposal.sample(num_adapt, rng)``, num_components uniforms (the centres are
    resampled draws); in each further round, and then for the draws returned, one multinomial for
    the number of draws of each component, then for each component its normals and its chi-square
    variates, and last the draws of `proposal`.

    References
    ----------
    Cappé, Guillin, Marin and Robert (2004), "Population Monte Carlo"; Cappé, Douc, Guillin, Marin
    and Robert (2008), "Adaptive importance sampling in general mixture classes"; Hesterberg (1995)
    for the defensive share.

    Examples
    --------
    >>> from scipy import stats
    >>> two = bl.posteriors.mixture([0.3, 0.7], [-4.0, 4.0], [1.0, 1.0])
    >>> draws = bl.adaptive_importance_sample(
    ...     two, stats.norm(0.0, 10.0), num_samples=2000, num_components=2, rng=1
    ... )
    >>> print(draws.expect(), two.truth.mean.round(2))
    [1.547 ± 0.088] [1.6]
    >>> print(round(draws.worth / draws.num_samples, 1), draws.log_evidence)
    0.9 0.0004 ± 0.0070
    """
    method = "adaptive_importance_sample"
    as_separate(target, method)
    proposal, num_samples, rng, settings = as_sampling(target, proposal, num_samples, rng)
    num_components = as_count(num_components, "num_components")
    num_rounds = as_count(num_rounds, "num_rounds")
    num_adapt = as_count(num_adapt, "num_adapt", minimum=max(2, num_components))
    df = as_real(df, "df")
    if df <= 2.0:
        raise BayeslibError(f"df must be above 2, for a covariance to exist, got {df!r}")
    defensive = as_fraction(defensive, "defensive", zero=True)
    check_memory((num_adapt, target.dim + 3), "the draws")
    current, round_ess = proposal, []
    for number in range(num_rounds):
        found = weighted_draws(target, current, num_adapt, rng, method="", settings={})
        if found.settings["interrupted"]:
            raise KeyboardInterrupt
        round_ess.append(found.settings["ess"])
        smoothed, _ = psis(found.log_weights)
        weights = np.exp(smoothed.ravel())
        ess = 1.0 / np.square(weights).sum()
        if number == 0:  # components centred on resampled draws, each as wide as all together
            centres = found.flat[choose(weights, num_components, rng, "stratified")]
            shares = np.full(num_components, (1.0 - defensive) / num_components)
            covs = np.tile(weighted_cov(found.flat, weights), (num_components, 1, 1))
            current = StudentMixture(np.append(shares, defensive), centres, covs, df, proposal)
        current = current.improved(found.flat, weights, ess)
    settings |= {"num_rounds": num_rounds, "num_adapt": num_adapt, "defensive": defensive}
    settings |= {name: getattr(current, name) for name in ("weights", "means", "covs", "df")}
    draws = weighted_draws(target, current, num_samples, rng, method=method, settings=settings)
    draws = looked_into(draws, num_adapt * num_rounds, round_ess=np.array(round_ess))
    return warn_of_weights(draws)
