"""The ascent of black-box variational inference: gradient estimates, and steps along them."""

from typing import NamedTuple

import numpy as np

from ..chains.loop import Density, ended, laid_out, log_density_and_gradient, numba_type, record
from ..compile.callback import borrowed, density, helper, kernel
from ..compile.kinds import GENERATOR, INT, INTS, MATRIX, VECTOR
from ..errors import BayeslibError, TargetError
from ..validate import as_choice, as_count, blame, check_memory, shown
from ..waiting import blocks, count
from .ascent import TINY, adam
from .elbo import risen
from .gaussian_family import FAMILIES, add_pathwise, draw_normals, factorise, place, score

ESTIMATORS = ("score", "baseline", "loo", "rao_blackwell", "reparam")
SCORE, BASELINE, LOO, RAO_BLACKWELL, REPARAM = range(5)
OPTIMISERS = ("sgd", "adagrad", "adam")
SGD, ADAGRAD, ADAM = range(3)

FARTHEST, FARTHEST_LOG = 1e8, 300.0  # of a parameter that has run off; of a scale's logarithm

# `average_from` is the first step of which the parameters are averaged, `keep` what the baseline
# keeps of its running averages; a `step_size` of 0 estimates gradients and takes no step.
Options = record(
    estimator="i8", optimiser="i8", entropy="?", average_from="i8", step_size="f8", decay="f8",
    delay="f8", keep="f8",
)  # fmt: skip


class Climb(NamedTuple):
    """An ascent: the packed Gaussian, what it remembers, and room for a step.

    `above` and `below` are running averages of f h^2 and h^2 for each parameter, whose ratio is
    the best baseline; h is the score.
    """

    parameters: VECTOR
    averaged: VECTOR
    first: VECTOR  # the optimiser's moments
    second: VECTOR
    above: VECTOR
    below: VECTOR
    baseline: VECTOR
    gradient: VECTOR
    score: VECTOR
    factor: MATRIX
    normals: MATRIX  # (num_draws, dim)
    values: VECTOR  # f of each draw
    theta: VECTOR
    slope: VECTOR
    outside: VECTOR  # the first draw at which the density was not finite
    how: Options


@helper
def add_by_coordinate(target, climb, z, log_p):
    """Add the score times what is lost when one coordinate after the other goes to its mean."""
    theta, dim = climb.theta, z.size
    score(climb.factor, z, climb.slope, climb.score)
    for i in range(dim):
        here = theta[i]
        theta[i] = climb.parameters[i]
        gain = log_p - density(target.address, theta, climb.slope, target.handle)
        theta[i] = here
        target.account.num_evals += 1
        if climb.how.entropy:
            gain += 0.5 * z[i] * z[i]
        climb.gradient[i] += gain * climb.score[i]
        climb.gradient[dim + i] += gain * climb.score[dim + i]


@helper
def add_by_score(climb):
    """Add h (f - baseline) of all draws, and learn the next step's baseline from them.

    The baseline is the mean of all draws, or the best number for each parameter, or 0.
    """
    mean, code = 0.0, climb.how.estimator
    for s in range(climb.values.size):
        mean += climb.values[s] / climb.values.size
    for k in range(climb.baseline.size):
        climb.baseline[k] = mean if code == LOO else 0.0
        if code == BASELINE and climb.below[k] > 0.0:
            climb.baseline[k] = climb.above[k] / climb.below[k]
        climb.above[k] *= climb.how.keep
        climb.below[k] *= climb.how.keep
    new = (1.0 - climb.how.keep) / climb.values.size
    for s in range(climb.values.size):
        score(climb.factor, climb.normals[s], climb.slope, climb.score)
        for k in range(climb.score.size):
            h, f = climb.score[k], climb.values[s]
            climb.gradient[k] += h * (f - climb.baseline[k])
            climb.above[k] += new * f * h * h
            climb.below[k] += new * h * h


@helper
def estimate(target, rng, climb):
    """Write one estimate of the gradient; return that of the bound, nan where a draw has none."""
    estimator, entropy = climb.how.estimator, climb.how.entropy
    num_draws, dim = climb.normals.shape
    log_det = factorise(climb.parameters, climb.factor)
    for s in range(num_draws):
        draw_normals(rng, climb.normals[s])
    climb.gradient[:] = 0.0
    finite, total = True, 0.0
    for s in range(num_draws):
        z = climb.normals[s]
        log_q = place(climb.parameters, climb.factor, log_det, z, climb.theta)
        log_p = log_density_and_gradient(target, climb.theta, climb.slope)
        if ended(target):
            return np.nan
        if log_p == -np.inf:
            if target.account.num_outside == 0:
                climb.outside[:] = climb.theta
            target.account.num_outside += 1
            finite = False
            continue
        total += log_p - log_q
        climb.values[s] = log_p - log_q if entropy else log_p
        if estimator == REPARAM:
            add_pathwise(climb.factor, z, climb.slope, climb.gradient)
        elif estimator == RAO_BLACKWELL:
            add_by_coordinate(target, climb, z, log_p)
    if finite and estimator <= LOO:
        add_by_score(climb)
    divisor = num_draws - 1.0 if estimator == LOO else float(num_draws)
    for k in range(climb.gradient.size):
        climb.gradient[k] /= divisor
    if estimator == REPARAM and entropy:
        climb.gradient[dim : 2 * dim] += 1.0
    return total / num_draws if finite else np.nan


@helper
def move(t, climb):
    """Take step t along the gradient."""
    how, parameters, gradient = climb.how, climb.parameters, climb.gradient
    # Robbins and Monro: for 1/2 < decay <= 1 their sum diverges, that of their squares does not.
    rate = how.step_size * (1.0 + t / how.delay) ** -how.decay
    if how.optimiser == ADAM:
        adam(parameters, gradient, climb.first, climb.second, t + 1, rate)
    elif how.optimiser == ADAGRAD:
        for k in range(gradient.size):
            climb.second[k] += gradient[k] ** 2
            parameters[k] += rate * gradient[k] / (np.sqrt(climb.second[k]) + TINY)
    else:
        for k in range(gradient.size):
            parameters[k] += rate * gradient[k]


@kernel(INT, numba_type(Density), GENERATOR, INTS, numba_type(Climb), MATRIX, VECTOR, seconds=3)
def bbvi_kernel(target, rng, span, climb, gradients, trace):
    """Do the steps ``span[0]``, …, ``span[1] - 1``; returns where it stopped.

    The bound of step t is left in ``trace[t]``, and its gradient in ``gradients[t]`` while there
    are rows. A step with a draw where f is not finite is not taken.
    """
    target, climb, dim = borrowed(target), borrowed(climb), climb.theta.size
    for t in range(span[0], span[1]):
        trace[t] = estimate(target, rng, climb)
        if ended(target):
            return t
        finite = np.isfinite(trace[t] + climb.gradient.sum())
        if t < gradients.shape[0]:
            gradients[t] = climb.gradient
        if finite and climb.how.step_size > 0.0:
            move(t, climb)
            for k in range(climb.parameters.size):
                is_log = dim <= k < 2 * dim
                if not abs(climb.parameters[k]) < (FARTHEST_LOG if is_log else FARTHEST):
                    return t
        after = t - climb.how.average_from
        if after >= 0:
            for k in range(climb.parameters.size):
                climb.averaged[k] += (climb.parameters[k] - climb.averaged[k]) / (after + 1.0)
    return span[1]


class Fit:
    """One run of the kernel.

    Parameters
    ----------
    free : Target
    parameters : numpy.ndarray, shape (k,)
        To begin with.
    num_draws, num_steps : int
    num_kept : int
        Of how many steps `gradients` keeps the estimate.
    **how
        See `Options`; the estimator by its name.
    """

    def __init__(self, free, parameters, num_draws, num_steps, *, num_kept=0, estimator, **how):
        dim, size = free.dim, parameters.size
        check_memory((num_draws, dim), "the draws")
        check_memory((num_kept, size), "the gradients")
        self.free, self.num_steps, self.done = free, num_steps, 0
        self._bound = free.bind(gradient=estimator == "reparam")
        self._density = Density.of(self._bound)
        self.climb = laid_out(
            Climb, size, parameters=parameters, factor=(dim, dim), normals=(num_draws, dim),
            values=(num_draws,), theta=(dim,), slope=(dim,), outside=(dim,),
            how=how | {"estimator": ESTIMATORS.index(estimator)},
        )  # fmt: skip
        self.account = self._density.account
        self.gradients, self.trace = np.empty((num_kept, size)), np.empty(num_steps)

    def run(self, rng):
        """Do the steps; `done` says how many were, should an interrupt end them."""
        climb = self.climb
        for first, last in blocks(self.num_steps):
            count((last - first) * len(climb.normals))
            span = np.array([first, last])
            self.done = bbvi_kernel(self._density, rng, span, climb, self.gradients, self.trace)
            if self.done < last:
                raise self._error()

    def run_all(self, rng):
        """Do the steps, or raise where some were not done or not taken."""
        self.run(rng)
        if num_outside := int(self.account.num_outside):
            where = f"{num_outside} draws of q, the first x={shown(self.climb.outside)}"
            words = f"the log density is not finite at {where}: take a narrower scale"
            raise TargetError(blame(self.free, words))

    def problems(self):
        """Say what speaks against the ascent."""
        done = self.done
        if done < self.num_steps:
            yield f"the fit was interrupted after {done} of {self.num_steps} steps"
        taken = self.trace[:done][np.isfinite(self.trace[:done])]
        why = f"the log density is not finite, the first x={shown(self.climb.outside)}"
        if not taken.size:
            found = f"every one of {done} steps had a draw where {why}"
            raise TargetError(f"{found}: begin elsewhere, or with a smaller initial_scale")
        if taken.size < done:
            yield f"{done - taken.size} of {done} steps were not taken, as {why}: give the support"
        if (rise := risen(taken)) > 0.0:
            yield f"the bound rose by {rise:.2g} in the last half: not converged; take more steps"

    def _error(self):
        if self._bound.num_errors:
            return self.free.explain(self._bound.failed_at, f" in step {self.done}")
        if self.account.status:  # which the density has if it was +inf
            where = f"x={shown(self._density.points[1])} in step {self.done}"
            return TargetError(f"the log density is +inf at {where}: it overflows, or is improper")
        found = f"the parameters ran off at step {self.done}, as the gradients are too noisy"
        return BayeslibError(f'{found}: take a smaller step_size, or estimator="loo" or "reparam"')


def as_optimiser(name):
    """Return the number of an optimiser."""
    return OPTIMISERS.index(as_choice(name, "optimiser", OPTIMISERS))


def as_num_draws(num_draws, estimator, family):
    """Return the draws of a step, after the estimator and the family are known to go with it."""
    as_choice(estimator, "estimator", ESTIMATORS)
    as_choice(family, "family", FAMILIES)
    if estimator == "rao_blackwell" and family == "fullrank":
        raise BayeslibError('"rao_blackwell" is of family="meanfield" alone: take "loo"')

    if estimator == "loo":  # which compares each draw with the others
        return as_count(num_draws, 'for estimator="loo" num_draws', minimum=2)
    return as_count(num_draws, "num_draws")
