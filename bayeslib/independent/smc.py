"""The sequential Monte Carlo sampler: temper, resample, move."""

import numpy as np

from ..results import Draws, Estimate
from ..target import as_separate
from ..validate import as_choice, as_count, as_fraction, as_scale
from ..waiting import watched
from .cloud import Cloud, Walk, as_temperatures
from .genealogy import Genealogy
from .importance_sample import as_sampling, no_weight, warn_of_weights, with_tails
from .resample import SCHEMES, choose, normalised

_SLOWEST = 1e-8  # smaller steps of the inverse temperature get nowhere


@watched("for before its last temperature no particle stands for the target")
def smc(
    target,
    proposal,
    *,
    num_samples,
    inverse_temperatures=None,
    ess_threshold=0.5,
    scale=None,
    num_steps=None,
    scheme="systematic",
    progress=None,
    rng,
):
    """Sample by tempering a cloud of draws from the proposal to the target.

    The density ``q^(1 - b) p^b`` is the proposal's at b = 0, the target's at 1. Each stage raises
    b, weights the particles by the ratio of the two densities, resamples if the weights have become
    uneven, and moves each particle by random-walk Metropolis steps. The moves end when they hardly
    lead further away: when the mean squared distance from where they began grew, along every
    principal axis of the cloud, less than half as much in their second half as in their first.

    Parameters
    ----------
    target : Target
    proposal : distribution
        See `as_proposal`. Normalised, for `log_evidence` to be right; wide.
    num_samples : int
        Particles, at least 2.
    inverse_temperatures : array_like or int, optional
        From 0 to 1, or a number of equal steps, so that n steps have n + 1 temperatures. None
        chooses each so that the weights are worth `ess_threshold` times the particles.
    ess_threshold : float
        Strictly between 0 and 1. Resample when the weights are worth less than this share; where
        the temperatures are chosen, at every stage but the last.
    scale : float or array_like, shape (dim,), optional
        Standard deviations of Gaussian steps, at every stage. None steps by the difference of two
        particles, times a factor near 1.7 / sqrt(dim) that is tuned for the longest jumps.
    num_steps : int, optional
        Metropolis steps of each particle in each stage. None makes as many as it takes, at most
        512 after each resampling: some five times the dimension for a posterior near a Gaussian.
    scheme : {"systematic", "stratified", "residual", "multinomial"}
        See `resample`.
    progress : bool, optional
        None shows a bar on runs of more than about two seconds.
    rng : int, Generator, SeedSequence or None

    Returns
    -------
    Draws
        Shape (1, num_samples, dim), with the weights gained since the last resampling (pass them
        to `resample` for draws of equal weight). `log_evidence` has the error that the families
        show: the evidence is unbiased for fixed temperatures, scale and number of steps, and nearly
        so when they adapt. Stats:

        - ``family``: the same integer for all that descend from one particle, a first one or, when
          few of these have descendants left, a later one; errors count a family as one.

        Settings:

        - of each stage, ``inverse_temperatures``, ``ess``, ``acceptance_rates``, ``num_moves`` and
          ``growth``: how much the squared distance grew in the second half of the moves, over the
          first (nan where the next stage moves on);
        - ``num_families``: the least number of equal families that the particles were worth while
          their positions still depended on where these began, as in separate modes; num_samples if
          it was never small;
        - ``evenness``: the worth of the families over their number, at the worst stage;
        - ``tail_index``: see `nuts`.

    Raises
    ------
    BayeslibError
        For arguments out of range, each named; when the proposal's own density is zero, infinite
        or nan at one of its draws; ZeroWeightsError when no particle has weight; TargetError when
        the log density is +inf at a particle.

    Warns
    -----
    BayeslibWarning
        When at some stage the moves were too few; when ``num_families`` is too small, so that the
        shares of modes are badly known; when a few families have taken over; when the draws are
        worth less than ten, and less than nine tenths of their number; when ``tail_index`` says
        that variances or means do not exist; or when the log density was nan. All but the last
        stand in ``problems``.

    Notes
    -----
    The errors come from one run, and no run knows of a mode that none of its particles has found
    while the cloud was still wide. Once families are few, and positions no longer depend on those
    of a few stages ago, every particle of then begins a family of its own. In many dimensions the
    evidence may be off by far more than its error, without a warning; in a hundred it was.

    Cost: ``num_samples * (1 + sum(num_moves))`` evaluations, and at most 16 for ``tail_index``.

    Draw order: ``proposal.sample(num_samples, rng)``; then in each stage the uniforms of the scheme
    if it resamples, and in each Metropolis step, with `scale`, num_samples * dim normals, particle
    by particle, and num_samples uniforms; without, twice num_samples integers and twice num_samples
    uniforms.

    References
    ----------
    Del Moral, Doucet and Jasra (2006), "Sequential Monte Carlo samplers"; Jasra, Stephens, Doucet
    and Tsagaris (2011), "Inference for Lévy-driven stochastic volatility models via adaptive
    sequential Monte Carlo", for the temperatures; Fearnhead and Taylor (2013), "An adaptive
    sequential Monte Carlo sampler", for the length of steps; ter Braak (2006) for their directions.
    For the errors: Lee and Whiteley (2018).

    Examples
    --------
    >>> from scipy import stats
    >>> two = bl.posteriors.mixture([0.3, 0.7], [-4.0, 4.0], [1.0, 1.0])
    >>> draws = bl.smc(two, stats.norm(0.0, 10.0), num_samples=2000, rng=1)
    >>> print(draws.expect(), two.truth.mean.round(2))
    [1.60 ± 0.10] [1.6]
    >>> print(draws.log_evidence, draws.settings["inverse_temperatures"].round(2))
    -0.004 ± 0.028 [0.   0.23 1.  ]
    """
    target = as_separate(target, "smc")
    told = as_sampling(target, proposal, num_samples, rng, minimum=2, copies=4)
    proposal, num_samples, rng, settings = told
    num_steps = None if num_steps is None else as_count(num_steps, "num_steps")
    as_choice(scheme, "scheme", SCHEMES)
    ess_threshold = as_fraction(ess_threshold, "ess_threshold")
    if inverse_temperatures is not None:
        inverse_temperatures = as_temperatures(inverse_temperatures)
    scale = None if scale is None else as_scale(scale, "scale", target.dim)
    cloud = Cloud(target, proposal, proposal.sample(num_samples, rng))
    genealogy, betas = Genealogy(num_samples), [0.0]
    weights = np.full(num_samples, 1.0 / num_samples)
    walk, log_evidence, ess = Walk(scale, num_steps), 0.0, []
    walk.begin(cloud.values, resampled=False)
    while betas[-1] < 1.0:
        highest = cloud.log_ratio.max()
        if highest == -np.inf:
            raise no_weight(target, cloud.values, proposal.label)
        beta = _next(cloud.log_ratio, betas, inverse_temperatures, ess_threshold)
        step = beta - betas[-1]
        grown = weights * np.exp(step * (cloud.log_ratio - highest))
        weights, gained = normalised(grown, step * highest)
        log_evidence += gained
        ess.append(1.0 / np.square(weights).sum())
        wanted = inverse_temperatures is None and beta < 1.0  # b was chosen to need it
        if wanted or ess[-1] < ess_threshold * num_samples:
            chosen = choose(weights, num_samples, rng, scheme)
            cloud.keep(chosen)
            genealogy.resample(chosen, weights, cloud.values)
            weights = np.full(num_samples, 1.0 / num_samples)
            walk.begin(cloud.values)
        walk.stage(cloud, beta, rng)
        betas.append(beta)
    error = np.sqrt(genealogy.variance(weights))
    cloud.warn_of_nan()
    with np.errstate(divide="ignore"):
        log_weights = np.log(weights)
    draws = Draws(
        cloud.values[None], logdensity=cloud.log_p[None], log_weights=log_weights[None],
        stats={"family": genealogy.family[None]}, num_evals=cloud.num_evals, method="smc",
        settings=settings | {
            "num_steps": num_steps, "scheme": scheme, "ess_threshold": ess_threshold,
            "scale": scale, "inverse_temperatures": np.array(betas), "ess": np.array(ess),
            "acceptance_rates": np.array(walk.rates), "num_moves": np.array(walk.num_moves),
            "growth": np.array(walk.growth), "num_families": float(genealogy.fewest),
            "evenness": min(genealogy.least_even, genealogy.evenness(weights)),
        },
        names=target.names, log_evidence=Estimate(log_evidence, error, cloud.num_evals),
    )  # fmt: skip
    return warn_of_weights(with_tails(target, draws))


def _next(log_ratio, betas, given, ess_threshold):
    """The next inverse temperature: the one given, or the one that leaves the wanted ESS."""
    if given is not None:
        return float(given[len(betas)])

    def leaves_enough(beta):
        grown = np.exp((beta - betas[-1]) * (log_ratio - log_ratio.max()))
        return grown.sum() ** 2 / np.square(grown).sum() / grown.size >= ess_threshold

    if leaves_enough(1.0):
        return 1.0
    low, high = betas[-1], 1.0
    while high - low > 1e-12 + 1e-6 * (high - betas[-1]):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if leaves_enough(middle) else (low, middle)
    # where a share of the particles has no weight at all, no temperature leaves the wanted ESS
    return min(max(low, betas[-1] + _SLOWEST), 1.0)
