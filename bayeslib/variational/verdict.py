"""What weighted draws say of a Gaussian fit: one verdict for every method that makes one."""

from contextlib import suppress
from dataclasses import replace
from math import lgamma
from typing import NamedTuple

import numpy as np

from ..diagnostics.trouble import apart, khat_limit
from ..errors import warn
from ..exact.grid_posterior import evaluate
from ..independent.importance_sample import psis
from .elbo import mean_of, risen
from .elsewhere import scout

NARROW, WIDE = 0.82, 1.25  # a standard deviation over that of the weighted draws
OFF = 0.48  # a mean, from that of the weighted draws, in their standard deviations
_LOW, _HIGH = np.array([[np.log(NARROW)], [-OFF]]), np.array([[np.log(WIDE)], [OFF]])
_CALM = 0.5  # k-hat up to which the first draws suffice
_SURE = 4.0  # standard errors
_STAGES = (20_000, 100_000)  # draws in all
_MOST_TIMES, _MOST_NUMBERS = 50, 4_000_000  # as many as there were first; coordinates of all draws
# Of Student-t draws: their share; their scale, for a bound makes Gaussians too narrow; and degrees
# of freedom, with fewer of which exp of a coordinate may overflow.
SHARE, WIDTH, DF = 0.2, 2.0, 3.0
_MOST = 0.5  # the share of draws that nearly equal weights are worth, of which k-hat is noise
_FEW = 100.0  # draws' worth that tell no spread to a tenth
_LOST = 0.001  # the share of draws that they are worth at which more would not help


class Weighed(NamedTuple):
    """Draws, what the target and the approximation say of them, and how they were made.

    Attributes
    ----------
    values : numpy.ndarray, shape (n, dim)
        In the coordinates in which the approximation is Gaussian.
    logdensity, log_q : numpy.ndarray, shape (n,)
        Of the target, -inf where it is not finite, and of the approximation.
    """

    values: np.ndarray
    logdensity: np.ndarray
    log_q: np.ndarray

    @property
    def elbo(self):
        """The evidence lower bound, an `Estimate`, of draws of the approximation."""
        return mean_of(self.logdensity - self.log_q)

    def and_more(self, other):
        """Return these draws and then those of `other`."""
        return Weighed(*map(np.concatenate, zip(self, other, strict=True)))


def weigh(free, base, num_draws, rng, *, wide=False):
    """Draw from `base`, a `Gaussian` without transform, and ask the target `free`.

    Draw order: num_draws × dim standard normals; with `wide`, which makes them draws of a Student-t
    of 3 degrees of freedom and twice the scale, num_draws chi-square variates after them.

    Raises
    ------
    TargetError
        When the log density is +inf at a draw.
    """
    values = base.sample(num_draws, rng)
    if wide:
        shrink = np.sqrt(rng.chisquare(DF, size=num_draws) / DF)
        values = base.mean + WIDTH * (values - base.mean) / shrink[:, None]
    return Weighed(values, evaluate(free, values, forgive_nan=True), base.logdensity(values))


def checked(free, approximation, num_check, rng, *, weighed=None, edges=False):
    """Return the approximation with ``elbo``, ``khat`` and what speaks against it, and warn.

    Parameters
    ----------
    free : Target
        In the coordinates in which the approximation is Gaussian.
    approximation : Gaussian
    num_check : int
        Its first draws, of which the bound is.
    rng : numpy.random.Generator
    weighed : Weighed, optional
        These draws, where they have been made.
    edges : bool
        Whether the density may be zero beyond an edge without fault. There is no bound then.

    Returns
    -------
    Gaussian
        With the settings ``khat``, of the weights of its own draws, ``num_weighed``, how many
        draws were weighed, and ``num_scouted``, evaluations spent on looking for another mode.

    Notes
    -----
    The moments of each parameter under the approximation are compared with those under the target,
    both by weighting the same draws: four fifths of the approximation, one fifth of a Student-t of
    3 degrees of freedom about the same mean and twice as wide, for a Gaussian's draws do not reach
    a far tail, whatever it holds, and where their weights are nearly equal k-hat is noise. Up to
    k-hat's limit the target's weights are Pareto-smoothed: else a single draw may carry a moment,
    and an error so large that nothing can be accused. Where the first draws leave doubts there are
    20,000, then 100,000 in all, at most 50 times as many as the first, and fewer above 40
    dimensions.

    Accused are a standard deviation below 0.82 or above 1.25 of the target's, or a mean more than
    0.48 of that off, which differs from the target's by more than four of its standard errors; and
    an approximation of which the weights do not tell, worth below 100 draws, or below half of them
    with a k-hat above its limit. That of its own draws is not enough if all moments agree:
    any tail that falls more slowly than a Gaussian brings it there at last. What none of the draws
    comes near stays unseen, unless `scout` climbs to it.

    Draw order: for each stage the draws that it adds, standard normals for the approximation's,
    and standard normals and chi-square variates for the Student-t's.

    References
    ----------
    Yao, Vehtari, Simpson and Gelman (2018), for k-hat of a variational fit. Huggins, Kasprzak,
    Campbell and Broderick (2020), for why the bound tells nothing of means and spreads, which have
    to be measured. Hesterberg (1995), for the wide share. Vehtari, Simpson, Gelman, Yao and Gabry
    (2024), for the smoothing.
    """
    judged = None
    if not approximation.settings.get("interrupted", False):
        with suppress(KeyboardInterrupt):
            weighed = weighed or weigh(free, approximation.base, num_check, rng)
            judged = _judged(free, approximation, weighed, rng, edges)
    if judged is None:
        said = "interrupted before its draws were weighed: nothing is known of its errors"
        settings = approximation.settings | {"khat": np.nan, "num_weighed": 0, "interrupted": True}
        judged = replace(approximation, problems=(*approximation.problems, said), settings=settings)
    warn(*judged.problems)
    return judged


def _judged(free, approximation, weighed, rng, edges):
    base, first = approximation.base, weighed.elbo
    found = _compared(free, approximation, weighed, rng)
    problems = list(approximation.problems)
    if first.value == -np.inf and not edges:
        share = f"{np.sum(weighed.logdensity == -np.inf)} of {len(weighed.values)}"
        problems.append(f"{share} draws have no finite density: give the Target its support=")
    other, num_scouted = None, 0
    if not (edges or any("ended elsewhere" in said for said in problems)):
        other, num_scouted = scout(free, [base], first.value, approximation._map)
    problems += [*_problems(found, approximation, other), other]
    num_evals = approximation.num_evals + found.size + num_scouted
    added = {"khat": found.own_khat, "num_weighed": found.size, "num_scouted": num_scouted}
    return replace(
        approximation, num_evals=num_evals, problems=tuple(filter(None, problems)),
        elbo=approximation.elbo if edges else replace(first, num_evals=num_evals),
        settings=approximation.settings | added,
    )  # fmt: skip


def _compared(free, approximation, own, rng):
    """Return the comparison by as many draws as it takes; `own` are the first."""
    base, size = approximation.base, len(own.values)
    wide = Weighed(*(part[:0] for part in own))
    later = np.minimum(_STAGES, min(_MOST_TIMES * size, _MOST_NUMBERS // base.dim))
    for stage in (int(size / (1.0 - SHARE)), *later.tolist()):
        num_wide = int(SHARE * stage) - len(wide.values)
        num_own = stage - int(SHARE * stage) - len(own.values)
        if num_wide <= 0 or num_own < 0:
            break
        if num_own:
            own = own.and_more(weigh(free, base, num_own, rng))
        wide = wide.and_more(weigh(free, base, num_wide, rng, wide=True))
        found = _Comparison(own, wide, base, approximation._map)
        if found.clear:
            break
    return found


class _Comparison:
    """Moments of an approximation against those of the target, both of the same weighted draws.

    Attributes
    ----------
    khat, worth : float
        Of the target's weights, `worth` in draws; ``own_khat`` of the approximation's own draws.
    moments, errors : numpy.ndarray, shape (2, dim)
        The approximation's against the target's, and their standard errors: the log of the ratio
        of the standard deviations, and the difference of the means in the target's.
    """

    def __init__(self, own, wide, base, transform):
        draws = own.and_more(wide)
        self.size, self.worth = len(draws.values), 0.0
        share = len(wide.values) / self.size
        log_wide = _log_student(draws.log_q, base)
        log_made = np.logaddexp(np.log(1.0 - share) + draws.log_q, np.log(share) + log_wide)
        log_own, self.khat = own.logdensity - own.log_q, np.inf
        self.own_khat = psis(log_own)[1] if log_own.max() > -np.inf else np.inf
        self.moments, self.errors = np.zeros((2, 2, base.dim))
        if np.any(draws.logdensity > -np.inf):
            log_p, log_q = draws.logdensity - log_made, draws.log_q - log_made
            p, (smoothed, self.khat) = _weights(log_p), psis(log_p)
            self.worth = p.sum() ** 2 / np.square(p).sum()
            if self.khat <= khat_limit(self.size):
                p = _weights(smoothed)
            self._compare(transform.constrain(draws.values), p, _weights(log_q))
            # of what is the same everywhere, all this is rounding
            self.moments[:, transform.fixed] = self.errors[:, transform.fixed] = 0.0

    @np.errstate(all="ignore")
    def _compare(self, theta, p, q):
        fine, size = np.isfinite(theta).all(axis=1), len(theta)
        theta, p, q = theta[fine], p[fine, None], q[fine, None]
        mean, q_mean = (p * theta).sum(axis=0) / size, (q * theta).sum(axis=0) / size
        z, q_z = theta - mean, theta - q_mean
        sd = np.sqrt((p * z**2).sum(axis=0) / size)
        q_sd = np.sqrt((q * q_z**2).sum(axis=0) / size)
        z, q_z = z / sd, q_z / q_sd
        self.moments = np.array([np.log(q_sd / sd), (q_mean - mean) / sd])
        terms = 0.5 * (q * (q_z**2 - 1.0) - p * (z**2 - 1.0)), q * q_z * q_sd / sd - p * z
        self.errors = np.sqrt(np.square(terms).sum(axis=1)) / size

    def off(self, errors):
        """Say which moments would pass a limit, (2, dim), were they so many errors nearer."""
        reach = errors * self.errors
        return (self.moments + reach < _LOW) | (self.moments - reach > _HIGH)

    @property
    def told(self):
        """Whether the weights tell anything."""
        calm = self.khat <= khat_limit(self.size) or self.worth > _MOST * self.size
        return calm and self.worth >= _FEW

    @property
    def clear(self):
        """Whether the verdict needs no more draws."""
        if not self.told:
            return self.size >= _STAGES[0] and self.worth < _LOST * self.size
        if self.khat > _CALM and self.size < _STAGES[0]:
            return False
        innocent = not self.off(-_SURE).any() and self.own_khat <= khat_limit(self.size)
        return bool(innocent or self.off(_SURE).any())


def _weights(log_weights):
    """Weights whose mean is 1."""
    weights = np.exp(log_weights - log_weights.max())
    return weights / weights.mean()


def _log_student(log_q, base):
    """Log density of the wide draws: as log q, it depends on the distance from the mean alone."""
    dim, peak = base.dim, base.logdensity(base.mean)
    constant = lgamma((DF + dim) / 2.0) - lgamma(DF / 2.0)
    constant += dim / 2.0 * np.log(2.0 / (DF * WIDTH**2)) + peak
    return constant - (DF + dim) / 2.0 * np.log1p(2.0 * (peak - log_q) / (DF * WIDTH**2))


def _remedy(found, approximation, other):
    """Say what to do: of a mode unseen, or a fit on its way, neither weights nor family tell."""
    said, settings = " ".join(approximation.problems), approximation.settings
    if other or "ended elsewhere" in said or "modes were found" in said:
        return "start multipathfinder at the modes, or use parallel_tempering"
    trace, arrived = approximation.elbo_trace, settings.get("converged", "family" not in settings)
    if not arrived and ("not settled" in said or risen(trace[np.isfinite(trace)]) != 0.0):
        return "let the fit settle first, by more steps or a nearer start"
    remedy = "reparameterise, or use nuts"
    if settings.get("family") == "meanfield" and approximation.dim > 1:
        remedy = f'a mean-field fit knows no correlations, try family="fullrank"; {remedy}'
    weights_may = found.told and found.own_khat <= khat_limit(found.size)
    return f"importance_sample from it may correct that; or {remedy}" if weights_may else remedy


def _problems(found, approximation, other):
    """Say what the weights speak against, in one sentence or none."""
    guilty = found.off(0.0) & (np.abs(found.moments) > _SURE * found.errors)
    remedy = _remedy(found, approximation, other)
    lost = ~np.isfinite(found.moments).all(axis=0)
    if found.told and lost.any():
        said = f"draws of {approximation.names[lost.argmax()]} overflow, or are equal to rounding"
        yield f"{said}: its mean and spread say nothing; {remedy}"
    elif found.told and guilty.any():
        worst = np.argmax(np.where(guilty, np.abs(found.moments / _LOW), 0.0).max(axis=0))
        said, name, (spread, shift) = [], approximation.names[worst], found.moments[:, worst]
        if guilty[0, worst]:
            said.append(f"spread is {np.exp(spread):.2f} of the posterior's")
        if guilty[1, worst]:
            said.append(f"mean is {abs(shift):.2f} posterior standard deviations off")
        num_off = guilty.any(axis=0).sum()
        several = f" ({num_off} of {approximation.dim} parameters are off)"
        said = f"{name}'s {' and its '.join(said)}, by {found.size} weighted draws"
        yield f"{said}{several if num_off > 1 else ''}: {remedy}"
    elif found.worth and not found.told:
        pair = found.khat, khat_limit(found.size)
        high = f"k-hat is {', above '.join(apart(*pair))}: " if pair[0] > pair[1] else ""
        said = f"{high}{found.size} weighted draws are worth {found.worth:.0f}"
        yield f"{said}: the fit misses much of the posterior, and weights do not mend it; {remedy}"
