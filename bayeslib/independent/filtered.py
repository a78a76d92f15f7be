"""What a particle filter returns."""

from dataclasses import dataclass, field

import numpy as np

from ..errors import BayeslibError
from ..results import Draws, Estimate


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
        if not isinstance(step, int | np.integer) or not -num_steps <= step < num_steps:
            raise BayeslibError(f"step must be a whole number below {num_steps}, got {step!r}")
        return Draws(
            self.particles[step][None],
            log_weights=self.log_weights[step][None],
            stats={"family": self.families[step][None]},
            num_evals=num_particles * (int(step) % num_steps + 1),
            method="particle_filter",
            settings=self.settings,
        )

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
