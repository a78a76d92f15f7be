"""Particles on the bridge from a proposal to a target, and the random walks that move them."""

import numpy as np

from ..errors import BayeslibError, warn
from ..validate import as_floats, check_memory
from .importance_sample import check_overflow

BEST_JUMP = 2.38  # over sqrt(dim), times the spread: the best step for a Gaussian
MOST_MOVES = 512
_SETTLED = 0.5  # the growth at which a chain has forgotten three quarters of where it was
_SPREAD = 0.5  # of the logarithms of the steps' lengths about the tuned one, either way
_LEAST_RATE = 0.1  # for the longest jumps on average may be rare ones, from mode to mode
_CHANGE = 0.3  # the largest of the logarithm of the length, a move
_FAR = 4.0  # times the median: what went farther may have changed modes, and counts as so far


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
        rule = "must rise from 0 to 1, or be a whole number"
        raise BayeslibError(f"inverse_temperatures {rule}, got {value!r}")
    return betas


class Walk:
    """Metropolis moves, their length tuned for the distance that they cover.

    Steps are differences of two particles, which are as long as modes are wide also where the whole
    cloud is far wider. Of a chain that forgets where it was like r^t, the mean squared distance
    from there grows like 1 - r^t, and from t / 2 to t moves by the share r^(t / 2): this `growth`,
    the largest along the principal axes of the cloud, says whether the particles have moved, each
    within its mode. Moves of independent direction that never came to an end would show a 1.

    Parameters
    ----------
    scale : float or numpy.ndarray, shape (dim,), or None
        Standard deviations of Gaussian steps to take instead.
    num_steps : int or None
        Moves a stage; None moves until the growth is below a half, or MOST_MOVES times.

    References
    ----------
    Ter Braak (2006), A Markov chain Monte Carlo version of the genetic algorithm differential
    evolution; Fearnhead and Taylor (2013), An adaptive sequential Monte Carlo sampler.
    """

    def __init__(self, scale, num_steps):
        self._scale, self._num_steps, self._log_length = scale, num_steps, 0.0
        self.rates, self.num_moves, self.growth = [], [], []

    def begin(self, values, resampled=True):
        """Measure distances from `values`, what resampling has left, in place of earlier ones."""
        self._start, self._count, self._distances = values, 0, {}
        self._resampled = resampled
        centred = values - values.mean(axis=0)
        self._axes = np.linalg.eigh(centred.T @ centred)[1]
        self._spread = centred.std(axis=0) + np.finfo(float).tiny
        self._jumps = np.full((2, 2), 1e-300)  # their squares and number: long steps, short ones

    def stage(self, cloud, beta, rng):
        """Move at inverse temperature `beta`, and take note of rate, number and growth.

        The growth is nan where nothing was resampled before, or will be before the next stage.
        """
        rates, growth = [], np.inf
        settled = _SETTLED + 1.0 / np.sqrt(len(cloud.values))
        while len(rates) != self._num_steps:
            rates.append(self._move(cloud, beta, rng))
            self._count += 1
            if _is_round(self._count) or len(rates) == self._num_steps:
                growth = self._measure(cloud.values)
                if self._num_steps is None and (growth < settled or self._count >= MOST_MOVES):
                    break
        self.rates.append(float(np.mean(rates)))
        self.num_moves.append(len(rates))
        if len(rates) < self._count:  # the earlier stages' moves were counted in
            self.growth[-1] = np.nan
        self.growth.append(growth if self._resampled else np.nan)

    def _measure(self, values):
        """How much farther, squared, the particles have come than after half of the moves."""
        squares = np.square((values - self._start) @ self._axes)
        squares = np.minimum(squares, _FAR * np.median(squares, axis=0)).mean(axis=0)
        self._distances[self._count] = squares
        half = max((n for n in self._distances if n <= self._count // 2), default=None)
        if half is None or not np.all(self._distances[half] > 0.0):
            return np.inf
        ratio = float(np.max(squares / self._distances[half]))
        return (ratio - 1.0) * half / (self._count - half)

    def _move(self, cloud, beta, rng):
        if self._scale is not None:
            return cloud.move(beta, self._scale, rng).mean()
        size, dim = self._start.shape
        first = rng.integers(size, size=size)
        other = (first + rng.integers(1, size, size=size)) % size
        lean = rng.uniform(-_SPREAD, _SPREAD, size=size)
        length = np.exp(self._log_length + lean) * BEST_JUMP / np.sqrt(2.0 * dim)
        steps = length[:, None] * (self._start[first] - self._start[other])
        moved = cloud.jump(beta, steps, rng)
        squares = np.square(steps / self._spread).sum(axis=1)
        self._jumps *= 0.7
        for k, those in enumerate((lean >= 0.0, lean < 0.0)):  # long steps, then short ones
            self._jumps[:, k] += squares[moved & those].sum(), np.sum(those)
        rate = float(moved[squares > 0.0].mean()) if np.any(squares > 0.0) else 0.0
        if rate < _LEAST_RATE:
            self._log_length -= _CHANGE
        else:
            long, short = self._jumps[0] / self._jumps[1]
            with np.errstate(divide="ignore"):
                gain = _CHANGE * np.log(long / short)
            self._log_length += float(np.clip(gain, -_CHANGE, _CHANGE))
        return rate


def _is_round(count):
    """Whether it is 1, 2, 3, 4, 6, 8, 12, 16, …: a power of two, or three halves of one."""
    return count // (count & -count) in (1, 3)  # without its factors of two
