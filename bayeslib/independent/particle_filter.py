"""The bootstrap particle filter: importance sampling carried through a time series."""

from dataclasses import dataclass, field

import numpy as np

from ..errors import BayeslibError, TargetError, ZeroWeightsError, warn
from ..results import Draws, Estimate
from ..results.estimate import mean_and_error
from ..validate import (
    as_choice,
    as_count,
    as_floats,
    as_real,
    as_rng,
    check_callable,
    check_fits,
    check_memory,
    frozen,
)
from .genealogy import Genealogy
from .resample import SCHEMES, choose, normalised

_FEWEST = 10.0  # below as many particles' worth a step's weights are not to be trusted


@dataclass(frozen=True, repr=False)
class Filtered:
    """What a particle filter knows after each observation of a series.

    Attributes
    ----------
    mean : Estimate, shape (num_steps, dim)
        Of the state at each time, given the observations up to that time.
    log_evidence : Estimate
        Log probability (density) of all observations: the evidence itself is unbiased, so its
        logarithm is low by about half its variance.
    increments : numpy.ndarray, shape (num_steps,)
        Its parts, the log density of each observation given those before it; 0 where missing.
    ess : numpy.ndarray, shape (num_steps,)
        How many particles' worth the weights left after each observation.
    resampled : numpy.ndarray of bool, shape (num_steps,)
        Whether the particles were resampled on their way to each time.
    particles : numpy.ndarray, shape (num_steps, num_particles, dim)
    log_weights : numpy.ndarray, shape (num_steps, num_particles)
        Normalised.
    ancestors : numpy.ndarray of int, shape (num_steps, num_particles)
        The particle of the time before from which each comes; at the first time, itself.
    families : numpy.ndarray of int, shape (num_steps, num_particles)
        Equal for particles that count as one in the errors: see Notes of `particle_filter`.
    settings : dict
        See `particle_filter`.

    Examples
    --------
    >>> from scipy import stats
    >>> filtered = bl.particle_filter(
    ...     [0.5, np.nan, -0.2], rng=1, num_particles=2000,  # the second is missing
    ...     initial=lambda n, rng: rng.normal(size=(n, 1)),
    ...     transition=lambda x, step, rng: x + rng.normal(size=x.shape),
    ...     log_observation=lambda y, x, step: stats.norm.logpdf(y, x[:, 0]),
    ... )
    >>> filtered
    Filtered(num_steps=3, num_particles=2000, dim=1, log_evidence=-2.886 ± 0.019)
    >>> print(filtered.at(0).expect(), filtered.paths().shape)
    [0.240 ± 0.014] (3, 2000, 1)
    >>> print(filtered.increments.round(1))
    [-1.3  0.  -1.6]
    """

    mean: Estimate
    log_evidence: Estimate
    increments: np.ndarray
    ess: np.ndarray
    resampled: np.ndarray
    particles: np.ndarray
    log_weights: np.ndarray
    ancestors: np.ndarray
    families: np.ndarray
    settings: dict = field(default_factory=dict)

    def at(self, step):
        """Weighted draws of the state at time `step`, given the observations up to then.

        Parameters
        ----------
        step : int
            0 is the first; negative ones count from the end.

        Returns
        -------
        Draws
        """
        num_steps, num_particles = self.log_weights.shape
        step = as_count(step, "step", minimum=-num_steps, maximum=num_steps - 1)
        return Draws(
            self.particles[step][None], log_weights=self.log_weights[step][None],
            stats={"family": self.families[step][None]}, settings=self.settings,
            num_evals=num_particles * (step % num_steps + 1), method="particle_filter",
        )  # fmt: skip

    def paths(self):
        """The whole past of each particle of the last time, by following its ancestors.

        Weighted by the last weights they are draws of the path given all observations; but far
        back few different states are left, because resampling let the others die out.

        Returns
        -------
        numpy.ndarray, shape (num_steps, num_particles, dim)
        """
        lines = np.empty_like(self.particles)
        chosen = np.arange(self.particles.shape[1])
        for t in range(len(lines) - 1, -1, -1):
            lines[t] = self.particles[t][chosen]
            chosen = self.ancestors[t][chosen]
        return lines

    def __repr__(self):
        num_steps, num_particles, dim = self.particles.shape
        return f"Filtered({num_steps=}, {num_particles=}, {dim=}, log_evidence={self.log_evidence})"


def particle_filter(
    observations,
    *,
    initial,
    transition,
    log_observation,
    num_particles,
    ess_threshold=0.5,
    scheme="systematic",
    rng,
):
    """Follow the hidden state of a time series with weighted, resampled particles.

    Parameters
    ----------
    observations : array_like, shape (num_steps,) or (num_steps, k)
        A row that is all nan is missing: the particles move on unweighted.
    initial : callable
        initial(num_particles, rng) -> (num_particles, dim): draws of the first state.
    transition : callable
        transition(particles, step, rng) -> (num_particles, dim): a draw of the state at time
        `step` for each particle of time ``step - 1``. It must not write to `particles`.
    log_observation : callable
        log_observation(observation, particles, step) -> (num_particles,): the log density of the
        observation at time `step`, given each state, constants included; `particles` is read-only.
    num_particles : int
        At least 2.
    ess_threshold : float
        Resample before a step when the weights are worth less than this share of the particles:
        0 never does, which is sequential importance sampling; 1 always does.
    scheme : {"systematic", "stratified", "residual", "multinomial"}
        See `resample`.
    rng : int, Generator, SeedSequence or None

    Returns
    -------
    Filtered
        ``settings`` holds ``num_particles``, ``ess_threshold``, ``scheme``, ``seed``, and
        ``num_families``: how many families, see Notes, the last error rests on. Interrupted, it
        ends with the last complete step, ``settings["interrupted"]`` set.

    Raises
    ------
    BayeslibError
        For arguments out of range, or functions that return a wrong shape; TargetError for a log
        density that is nan or +inf; ZeroWeightsError, naming the step, when no particle can
        explain an observation.

    Warns
    -----
    BayeslibWarning
        When after some observation fewer than ten particles' worth were left. It is not kept:
        ``ess.min()`` of the result tells it again.

    Notes
    -----
    States of one dimension may be of shape (num_particles,) throughout; the result has the
    trailing dimension.

    Errors come from this one run: particles that descend from a common ancestor are a family,
    and families are nearly independent. The ancestors are those of some time back, and are
    renewed before too few of them have descendants left; what is further back is taken as
    forgotten. With few particles, or a state that forgets slowly, errors come out too small.

    Draw order: ``initial(num_particles, rng)``; then for each later step, first the uniforms of
    the scheme if it resamples, in the order of `resample`, then ``transition(..., rng)``.

    Cost: num_particles evaluations of `log_observation` a step, all at once.

    References
    ----------
    Gordon, Salmond and Smith (1993), "Novel approach to nonlinear/non-Gaussian Bayesian state
    estimation". For the errors: Chan and Lai (2013); Lee and Whiteley (2018); Olsson and Douc
    (2019), "Numerically stable online estimation of variance in particle filters".

    Examples
    --------
    >>> from scipy import stats
    >>> rng = np.random.default_rng(1)
    >>> level = np.cumsum(rng.normal(size=50))  # a walk, seen through noise
    >>> seen = level + rng.normal(size=50)
    >>> filtered = bl.particle_filter(
    ...     seen, rng=2, num_particles=1000,
    ...     initial=lambda n, rng: rng.normal(size=(n, 1)),
    ...     transition=lambda x, step, rng: x + rng.normal(size=x.shape),
    ...     log_observation=lambda y, x, step: stats.norm.logpdf(y, x[:, 0]),
    ... )
    >>> found = filtered.mean.value[:, 0]
    >>> print(np.std(found - level) < np.std(seen - level), filtered.log_evidence)
    True -93.03 ± 0.26
    """
    observations = as_floats(observations, "observations")
    fits = observations.ndim in (1, 2) and len(observations) > 0
    check_fits(fits, observations, "observations", "have shape (num_steps,) or (num_steps, k)")
    num_particles = as_count(num_particles, "num_particles", minimum=2)
    ess_threshold = as_real(ess_threshold, "ess_threshold", minimum=0.0, maximum=1.0)
    as_choice(scheme, "scheme", SCHEMES)
    check_callable(initial=initial, transition=transition, log_observation=log_observation)
    rng, seed = as_rng(rng)
    num_steps = len(observations)
    check_memory((2, num_steps, num_particles, 4), "the particles")  # before initial makes them
    first = np.array(initial(num_particles, rng), dtype=float)
    fits = first.ndim in (1, 2) and len(first) == num_particles
    check_fits(fits, first, "initial", f"return shape ({num_particles},) or ({num_particles}, dim)")
    first = _checked(first, first.shape, "initial")
    check_memory((2, num_steps, num_particles, first[0].size + 3), "the particles")
    settings = {"num_particles": num_particles, "ess_threshold": ess_threshold}
    settings |= {"scheme": scheme, "seed": seed}
    result = _follow(observations, first, transition, log_observation, settings, rng)
    warn(result.settings["interrupted"] and f"the run was interrupted: {result}")
    worst = int(result.ess.argmin())
    if result.ess[worst] < min(_FEWEST, num_particles):
        found = f"after the observation at step {worst} the {num_particles} particles are worth"
        remedy = "use more, or a transition that looks at the observation"
        warn(f"{found} {result.ess[worst]:.1f}: {remedy}")
    return result


def _follow(observations, states, transition, log_observation, settings, rng):
    num_particles, shape, threshold = len(states), states.shape, settings["ess_threshold"]
    weights = equal = np.full(num_particles, 1.0 / num_particles)
    genealogy, ess, steps = Genealogy(num_particles), np.inf, []
    try:
        for t, observation in enumerate(observations):
            ancestors, resampled, increment = np.arange(num_particles), False, 0.0
            if t > 0:
                resampled = threshold == 1.0 or ess < threshold * num_particles
                if resampled:
                    ancestors = choose(weights, num_particles, rng, settings["scheme"])
                    genealogy.resample(ancestors, weights)
                    weights = equal
                states = transition(states[ancestors], t, rng)
                states = _checked(states, shape, f"transition at {t}")
            if not np.all(np.isnan(observation)):
                log_g = log_observation(observation, frozen(states), t)
                weights, increment = _reweighted(weights, log_g, states, t)
            particles, ess = states.reshape(num_particles, -1), 1.0 / np.square(weights).sum()
            with np.errstate(divide="ignore"):
                log_weights = np.log(weights)
            mean = mean_and_error(particles, weights, genealogy.family)
            step = (increment, ess, resampled, particles, log_weights, ancestors, genealogy.family)
            steps.append((*mean, *step))
    except KeyboardInterrupt:
        if not steps:
            raise
    mean, error, *by_step = map(np.array, zip(*steps, strict=True))
    num_evals = num_particles * len(steps)
    log_error = np.sqrt(genealogy.variance(weights))
    settings["num_families"] = int(np.unique(steps[-1][-1]).size)
    settings["interrupted"] = len(steps) < len(observations)
    log_evidence = Estimate(by_step[0].sum(), log_error, num_evals)
    return Filtered(Estimate(mean, error, num_evals), log_evidence, *by_step, settings)


def _checked(states, shape, what):
    states = np.array(states, dtype=float)
    check_fits(states.shape == shape, states, what, f"return shape {shape}")
    if not np.isfinite(states).all():
        raise BayeslibError(f"{what} returned a state that is nan or infinite")
    return states


def _reweighted(weights, log_g, states, t):
    """The weights after an observation of these log densities, and the log of their sum."""
    log_g = np.asarray(log_g, dtype=float)
    rule = f"return shape ({len(states)},), one log density a particle"
    check_fits(log_g.shape == (len(states),), log_g, "log_observation", rule, f" at step {t}")
    bad = np.flatnonzero(~(log_g < np.inf))  # nan too
    if bad.size:
        i = bad[0]
        raise TargetError(f"log_observation is {log_g[i]} at step {t} for the state {states[i]}")
    with np.errstate(divide="ignore"):
        log_w = np.log(weights) + log_g
    highest = log_w.max()
    if highest == -np.inf:
        raise ZeroWeightsError(f"no particle explains the observation at step {t}: take more")
    return normalised(np.exp(log_w - highest), highest)
