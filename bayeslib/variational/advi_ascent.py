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
from .gaussian_family import draw_normals, factorise, is_dense, pack, place, pull_back, unpack

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
def clipped(step, most):
    return min(max(step, -most), most)


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
        shift[i] = clipped(size * shift[i], MEAN_STEP)
        slope[i, i] = clipped(size * slope[i, i], SCALE_STEP)
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
    dense = is_dense(climb.parameters, dim)
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
            finite = np.isfinite(log_p)
            for i in range(dim):
                finite = finite and np.isfinite(climb.gradient[i])
            if finite:
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
        for k in range(climb.total.size):
            climb.total[k] += climb.parameters[k]
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
    step_sizes : numpy.ndarray, shape (rounds,)
    converged : bool
        Whether the averages of the last two rounds were within the tolerance.
    gaussian : Gaussian
        Where `ascend` has led, of the unconstrained coordinates.
    weighed : Weighed or None
        Its draws, once they have been weighed.
    """

    def __init__(self, target, start, rng, *, scale, dense, num_draws, sticking):
        dim = target.dim
        parameters = pack(start, scale * np.eye(dim), dense)
        self.climb = laid_out(
            Climb, dim, parameters=parameters, total=parameters.shape, factor=(dim, dim),
            slope=(dim, dim), how={"num_draws": num_draws, "sticking": sticking},
        )  # fmt: skip
        self.target, self.rng = target, rng
        self._bound = target.bind(gradient=True)
        self._density = Density.of(self._bound)
        self.paths, self.traces, self.num_steps = [], [], 0
        self.interrupted, self.weighed = False, None

    def run(self, step_size, num_steps):
        """Take steps; returns the path (num_steps, 2 dim) and the parameters averaged over it.

        After an interrupt the path is shorter, and the parameters are those that it came to.
        """
        done, bound, climb = 0, self._bound, self.climb
        before = climb.how.num_outside
        climb.how.step_size = step_size
        path, trace = np.empty((num_steps, 2 * self.target.dim)), np.empty(num_steps)
        climb.total[:] = 0.0
        try:
            for begin, end in blocks(num_steps):
                ascent_kernel(self._density, self.rng, climb, path[begin:end], trace[begin:end])
                done = end
                if bound.num_errors:
                    raise self.target.explain(bound.failed_at)
                count((end - begin) * int(climb.how.num_draws))
        except KeyboardInterrupt:
            self.interrupted = True
        mean, scale = climb.parameters[: self.target.dim], np.abs(climb.factor).max()
        if not (np.abs(mean).max() < _FAR and scale < _FAR):
            raise ImproperError(
                f"the approximation ran off, to unconstrained means {shown(mean)} and a scale of "
                f"{scale:.3g}: the posterior is improper, or flat; give each parameter a prior"
            )
        missed = int(climb.how.num_outside - before)
        if 0 < missed == done * climb.how.num_draws and not np.isfinite(self.target(mean)):
            raise TargetError(
                f"the approximation left the support at unconstrained means {shown(mean)}: begin "
                "at the means of nuts with initial_scale=0.1, or use laplace"
            )
        self.num_steps += done
        self.paths.append(path[:done])
        self.traces.append(trace[:done])
        return path[:done], climb.parameters.copy() if self.interrupted else climb.total / num_steps

    def distance(self, one, other):
        """Symmetrised Kullback-Leibler divergence between two averages."""
        one, other = self._gaussian(one), self._gaussian(other)
        return one.kl(other) + other.kl(one)

    def _gaussian(self, average):
        mean, factor = unpack(average, self.target.dim)
        return Gaussian(mean, factor @ factor.T)

    def ascend(self, num_steps, max_steps, step_size, tolerance):
        """Run to the end, by rounds or by `num_steps` steps of one size."""
        if num_steps is None:
            average = self._run_rounds(max_steps, step_size, tolerance)
        else:
            self.step_sizes, self.converged = np.array([step_size]), False
            _, average = self.run(step_size, num_steps // 2)
            if not self.interrupted:
                _, average = self.run(step_size, num_steps - num_steps // 2)
        self.gaussian = self._gaussian(average)

    def _run_rounds(self, max_steps, step_size, tolerance):
        """Ascend in rounds of constant steps, each half as long as the one before.

        With a constant step the iterates settle to a cloud about the optimum, whose average is
        closer to it the smaller the step. A round ends when its second half has no trend left; then
        that half is averaged, and the next round starts from the average. Returns the last one.

        References
        ----------
        Dhaka, Catalina, Andersen, Magnusson, Huggins and Vehtari (2020), "Robust, accurate
        stochastic optimization for variational inference"; Welandawe, Andersen, Vehtari and Huggins
        (2024), "A framework for improving the reliability of black-box variational inference".
        """
        sizes, last = [], None
        while True:
            sizes.append(step_size)
            average, still = self._run_round(max_steps, step_size, tolerance)
            settled = still and last is not None and self.distance(average, last) < tolerance
            if settled or self.num_steps >= max_steps or self.interrupted:
                self.step_sizes, self.converged = np.array(sizes), settled
                return average
            self.climb.parameters[:] = last = average
            step_size *= 0.5

    def _run_round(self, max_steps, step_size, tolerance):
        """Return the average, and whether the last of the steps had no trend."""
        window, paths, averages = int(np.ceil(_ROUND / step_size)), [], []
        while self.num_steps < max_steps and not self.interrupted:
            path, average = self.run(step_size, min(window, max_steps - self.num_steps))
            if len(path) < window and averages:
                break  # what is left is too short to weigh as much as the others
            paths.append(path)
            averages.append(average)
            if len(averages) % 2:
                continue
            half = len(averages) // 2
            still = _no_trend(np.concatenate(paths[half:]))
            if not still and half > 1:
                earlier, later = np.split(np.array(averages[half:]), [half // 2])
                apart = self.distance(later.mean(axis=0), earlier.mean(axis=0))
                still = apart < 0.1 * tolerance
            if still:
                return np.mean(averages[half:], axis=0), True
        return np.mean(averages[len(averages) // 2 :], axis=0), False


@np.errstate(over="ignore", invalid="ignore")  # of a run that went off
def _no_trend(path):
    """Say whether the two halves of a path (n, m) have the same mean, by R-hat."""
    half = len(path) // 2
    first, second = path[:half], path[-half:]
    within = 0.5 * (first.var(axis=0) + second.var(axis=0))
    between = 0.5 * np.square(first.mean(axis=0) - second.mean(axis=0))
    return bool(np.all(between <= (_STILL**2 - 1.0) * within + 1e-16))
