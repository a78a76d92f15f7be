"""One ascent of the evidence lower bound by natural gradients.

Steps are taken in the coordinates of the approximation itself, m + L a and L (I + b), in which the
Fisher information is nearly the identity: the gradient is a natural one, and neither the units of
the parameters nor, of the family "fullrank", their correlation matter.
"""

from typing import NamedTuple

import numpy as np

from ..chains.loop import Density, laid_out, numba_type, record
from ..compile.callback import borrowed, density, helper, kernel
from ..compile.kinds import GENERATOR, INT, MATRIX, VECTOR
from ..errors import ImproperError, TargetError
from ..results import Gaussian
from ..validate import shown
from ..waiting import blocks, count
from .gaussian_family import draw_normals, factorise, pack, place, pull_back, unpack

# What a single step may change at most, in the scale of the approximation.
MEAN_STEP, SCALE_STEP = 1.0, 0.2
_FAR = 1e100  # where squares may soon overflow
_ROUND = 20.0  # steps of a round's window, times the step size
_STILL = 1.1  # R-hat of the two halves of a window's iterates

Options = record(num_draws="i8", sticking="?", step_size="f8", num_outside="i8")


class Climb(NamedTuple):
    """An ascent: the packed Gaussian, and room for a step.

    `total` adds up the parameters after each step, `how.num_outside` counts draws at which the
    density or its gradient is not finite. Of a mean-field `slope` the diagonal alone is used.
    """

    parameters: VECTOR
    total: VECTOR
    factor: MATRIX
    shift: VECTOR  # the gradient by a, (dim,)
    slope: MATRIX  # the gradient by b, (dim, dim)
    z: VECTOR
    x: VECTOR
    gradient: VECTOR
    u: VECTOR
    how: Options


@helper
def add_gradient(climb, dense):
    """Add one draw's u and, to the lower triangle, u z'."""
    pull_back(climb.parameters, climb.factor, climb.gradient, climb.u)
    for i in range(climb.u.size):
        if climb.how.sticking:
            climb.u[i] += climb.z[i]
        climb.shift[i] += climb.u[i]
        for j in range(0 if dense else i, i + 1):
            climb.slope[i, j] += climb.u[i] * climb.z[j]


@helper
def move(climb, dense):
    """Take a step along the averaged gradients."""
    parameters, factor, shift, slope = climb.parameters, climb.factor, climb.shift, climb.slope
    dim, size = shift.size, climb.how.step_size
    square, growth = 0.0, climb.u
    for i in range(dim):
        shift[i] = min(max(size * shift[i], -MEAN_STEP), MEAN_STEP)
        slope[i, i] = min(max(size * slope[i, i], -SCALE_STEP), SCALE_STEP)
        growth[i] = np.exp(slope[i, i])
        for j in range(0 if dense else i, i):
            square += slope[i, j] ** 2
    off = size * min(1.0, SCALE_STEP / (size * np.sqrt(square) + 1e-300))
    k = 2 * dim
    for i in range(dim):
        for j in range(0 if dense else i, i + 1):
            parameters[i] += factor[i, j] * shift[j]
        parameters[dim + i] += slope[i, i]
        for j in range(0 if dense else i, i):
            parameters[k] = factor[i, j] * growth[j]
            for m in range(j + 1, i + 1):
                parameters[k] += factor[i, m] * off * slope[m, j]
            k += 1


@kernel(INT, numba_type(Density), GENERATOR, numba_type(Climb), MATRIX, VECTOR, seconds=2)
def ascent_kernel(target, rng, climb, path, trace):
    """Take as many steps as `trace` is long; returns how many were, fewer when the density raised.

    `path` (num_steps, 2 dim) gets the mean and the logarithm of the standard deviations after
    each step, `trace` the average of log p - log q over its draws. A draw at which the density or
    its gradient is not finite pulls every scale in.
    """
    target, climb = borrowed(target), borrowed(climb)
    dim, num_draws = climb.x.size, climb.how.num_draws
    dense = climb.parameters.size > 2 * dim
    log_det = factorise(climb.parameters, climb.factor)
    for t in range(trace.size):
        climb.shift[:] = 0.0
        climb.slope[:] = 0.0
        total, outside = 0.0, 0
        for _ in range(num_draws):
            draw_normals(rng, climb.z)
            log_q = place(climb.parameters, climb.factor, log_det, climb.z, climb.x)
            log_p = density(target.address, climb.x, climb.gradient, target.handle)
            if target.handle[target.handle.size - 1] != 0:
                return t
            if np.isfinite(log_p + climb.gradient.sum()):  # only if all of them are
                total += log_p - log_q
                add_gradient(climb, dense)
            else:
                outside += 1
        climb.how.num_outside += outside
        trace[t] = total / num_draws if outside == 0 else -np.inf
        inward = outside / num_draws
        if not climb.how.sticking:
            inward = 2.0 * inward - 1.0  # the gradient of the entropy is the identity
        for i in range(dim):
            climb.shift[i] /= num_draws
            for j in range(0 if dense else i, i + 1):
                climb.slope[i, j] /= num_draws
            climb.slope[i, i] -= inward
        move(climb, dense)
        log_det = factorise(climb.parameters, climb.factor)
        climb.total[:] += climb.parameters
        for i in range(dim):
            path[t, i] = climb.parameters[i]
            square = 0.0
            for j in range(0 if dense else i, i + 1):
                square += climb.factor[i, j] ** 2
            path[t, dim + i] = 0.5 * np.log(square)
    return trace.size


class Fit:
    """The state of one ascent.

    Parameters
    ----------
    target : UnconstrainedTarget
    start : numpy.ndarray, shape (dim,)
    rng : numpy.random.Generator
    scale : float
        Of every coordinate at the start.
    dense : bool
    num_draws : int
        For each step.
    sticking : bool
        Whether the gradient of the entropy goes along the draws.

    Attributes
    ----------
    average : numpy.ndarray
        The parameters that `ascend` has led to: those of now until a first average is known.
    step_sizes : list of float
        One a round.
    converged : bool
        Whether the averages of the last two rounds were within the tolerance.
    weighed : Weighed or None
        Draws of `gaussian`, once they have been weighed.
    """

    def __init__(self, target, start, rng, *, scale, dense, num_draws, sticking):
        dim = target.dim
        parameters = pack(start, scale * np.eye(dim), dense)
        self.climb = climb = laid_out(
            Climb, dim, parameters=parameters, total=parameters.shape, factor=(dim, dim),
            slope=(dim, dim), how={"num_draws": num_draws, "sticking": sticking},
        )  # fmt: skip
        self.target, self.rng = target, rng
        self._bound = target.bind(gradient=True)
        self._density = Density.of(self._bound)
        self.paths, self.traces, self.num_steps = [], [], 0
        self.average, self.step_sizes, self.converged = climb.parameters, [], False
        self.weighed = None

    @property
    def gaussian(self):
        """Where the ascent has led, a `Gaussian` of the unconstrained coordinates."""
        return self._gaussian(self.average)

    def run(self, step_size, num_steps):
        """Take steps; returns the path (num_steps, 2 dim) and the parameters averaged over it."""
        climb, first = self.climb, len(self.paths)
        before = climb.how.num_outside
        climb.how.step_size = step_size
        climb.total[:] = 0.0
        for begin, end in blocks(num_steps):
            path, trace = np.empty((end - begin, 2 * self.target.dim)), np.empty(end - begin)
            ascent_kernel(self._density, self.rng, climb, path, trace)
            if self._bound.num_errors:
                raise self.target.explain(self._bound.failed_at)
            self.num_steps += trace.size
            self.paths.append(path)
            self.traces.append(trace)
            count(trace.size * int(climb.how.num_draws))
        mean, scale = climb.parameters[: self.target.dim], np.abs(climb.factor).max()
        if not (np.abs(mean).max() < _FAR and scale < _FAR):
            where = f"ran off to unconstrained means {shown(mean)} and a scale of {scale:.3g}"
            remedy = "give each parameter a prior"
            raise ImproperError(f"the fit {where}: the posterior is improper, or flat; {remedy}")
        missed = int(climb.how.num_outside - before)
        if missed == num_steps * climb.how.num_draws and not np.isfinite(self.target(mean)):
            where = f"left the support at unconstrained means {shown(mean)}"
            raise TargetError(f"the fit {where}: begin well inside, with initial_scale=0.1")
        return np.concatenate(self.paths[first:]), climb.total / num_steps

    def distance(self, one, other):
        """Symmetrised Kullback-Leibler divergence between two averages."""
        one, other = self._gaussian(one), self._gaussian(other)
        return one.kl(other) + other.kl(one)

    def _gaussian(self, average):
        mean, factor = unpack(average, self.target.dim)
        return Gaussian(mean, factor @ factor.T)

    def ascend(self, num_steps, max_steps, step_size, tolerance):
        """Ascend by `num_steps` steps, or in rounds of steps half as long as those before.

        With a constant step the iterates settle to a cloud about the optimum, whose average is
        closer to it the smaller the step. A round ends when its second half has no trend left; then
        that half is averaged, and the next round starts from the average.

        References
        ----------
        Dhaka, Catalina, Andersen, Magnusson, Huggins and Vehtari (2020), "Robust, accurate
        stochastic optimization for variational inference"; Welandawe, Andersen, Vehtari and Huggins
        (2024), "A framework for improving the reliability of black-box variational inference".
        """
        if num_steps is not None:
            self.step_sizes.append(step_size)
            self.run(step_size, num_steps // 2)
            _, self.average = self.run(step_size, num_steps - num_steps // 2)
            return
        last = None
        while not (self.converged or self.num_steps >= max_steps):
            self.step_sizes.append(step_size)
            still = self._run_round(max_steps, step_size, tolerance)
            if still and last is not None:
                self.converged = self.distance(self.average, last) < tolerance
            self.climb.parameters[:] = last = self.average
            step_size *= 0.5

    def _run_round(self, max_steps, step_size, tolerance):
        """Average the last half of the steps; return whether it had no trend."""
        window, paths, averages = int(np.ceil(_ROUND / step_size)), [], []
        while self.num_steps < max_steps:
            path, average = self.run(step_size, min(window, max_steps - self.num_steps))
            if len(path) < window and averages:
                break  # what is left is too short to weigh as much as the others
            paths.append(path)
            averages.append(average)
            half = len(averages) // 2
            self.average = np.mean(averages[half:], axis=0)
            if len(averages) % 2:
                continue
            if _no_trend(np.concatenate(paths[half:])):
                return True
            if half > 1:
                earlier, later = np.split(np.array(averages[half:]), [half // 2])
                if self.distance(later.mean(axis=0), earlier.mean(axis=0)) < 0.1 * tolerance:
                    return True
        return False


@np.errstate(over="ignore", invalid="ignore")  # of a run that went off
def _no_trend(path):
    """Say whether the two halves of a path (n, m) have the same mean, by R-hat."""
    half = len(path) // 2
    first, second = path[:half], path[-half:]
    within = 0.5 * (first.var(axis=0) + second.var(axis=0))
    between = 0.5 * np.square(first.mean(axis=0) - second.mean(axis=0))
    return bool(np.all(between <= (_STILL**2 - 1.0) * within + 1e-16))
