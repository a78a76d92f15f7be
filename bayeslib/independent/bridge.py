"""The bridge from a proposal to a target, and Metropolis moves along it."""

import numpy as np

from ..errors import BayeslibError, warn
from ..validate import as_floats, check_memory
from .importance_sample import check_overflow

BEST_JUMP = 2.38  # over sqrt(dim), times the spread: the best step for a Gaussian


class Cloud:
    """Positions with their log densities under target and proposal, moved together.

    At inverse temperature b a position has the density q^(1 - b) p^b.

    Parameters
    ----------
    target : Target
    proposal : Proposal
    values : numpy.ndarray, shape (n, dim)
    """

    def __init__(self, target, proposal, values):
        self._target, self._proposal = target, proposal
        self.values = values
        self.num_evals, self.num_nan = 0, 0
        self.log_p, self.log_q = self._log_target(values), proposal.own_logdensity(values)

    @property
    def log_ratio(self):
        """Log target minus log proposal: its multiples are the steps of the log weights."""
        return self.log_p - self.log_q

    def keep(self, chosen):
        """Replace the particles by those of the indices `chosen`."""
        self.values = self.values[chosen]
        self.log_p, self.log_q = self.log_p[chosen], self.log_q[chosen]

    def move(self, beta, factor, rng):
        """Move each position once, by Metropolis at inverse temperature `beta`.

        Parameters
        ----------
        factor : numpy.ndarray, shape (dim,) or (dim, dim)
            Standard deviations of the proposed steps, or a Cholesky factor of their covariance.

        Returns
        -------
        numpy.ndarray of bool, shape (n,)
            Which moved.

        Notes
        -----
        Draw order: the normals of all steps, row by row, then one uniform for each position.
        """
        steps = rng.standard_normal(self.values.shape)
        return self.jump(beta, steps * factor if factor.ndim == 1 else steps @ factor.T, rng)

    def jump(self, beta, steps, rng):
        """Move each position by its row of `steps` or not at all, as `move` does."""
        uniforms = rng.random(len(steps))
        proposed = self.values + steps
        log_p, log_q = self._log_target(proposed), self._proposal.logdensity(proposed)
        with np.errstate(invalid="ignore", divide="ignore"):
            rise = bridge(log_p, log_q, beta) - bridge(self.log_p, self.log_q, beta)
            moved = np.log(uniforms) < rise
        self.values = np.where(moved[:, None], proposed, self.values)
        self.log_p = np.where(moved, log_p, self.log_p)
        self.log_q = np.where(moved, log_q, self.log_q)
        return moved

    def warn_of_nan(self):
        if self.num_nan:
            warn(f"the log density was nan at {self.num_nan} points, which got no weight")

    def _log_target(self, values):
        log_p = self._target.many(values)
        self.num_evals += len(values)
        check_overflow(log_p, values)
        nan = np.isnan(log_p)
        self.num_nan += int(nan.sum())
        return np.where(nan, -np.inf, log_p)


def bridge(log_p, log_q, beta):
    """Log density at inverse temperature `beta` above 0, from those of target and proposal."""
    if beta == 1.0:
        return log_p
    return np.where(log_q == -np.inf, -np.inf, (1.0 - beta) * log_q + beta * log_p)


def as_temperatures(value):
    """Return inverse temperatures rising from 0 to 1; a whole number asks for as many steps."""
    betas = as_floats(value, "inverse_temperatures")
    if betas.ndim == 0 and betas >= 1.0 and float(betas).is_integer():
        check_memory((betas,), "inverse_temperatures")
        return np.linspace(0.0, 1.0, int(betas) + 1)
    ends = betas.ndim == 1 and betas.size > 1 and betas[0] == 0.0 and betas[-1] == 1.0
    if not (ends and np.all(np.diff(betas) > 0.0)):
        raise BayeslibError(
            "inverse_temperatures must rise from 0 to 1 and increase at every step, or be a whole "
            f"number of steps, got {value!r}"
        )
    return betas
