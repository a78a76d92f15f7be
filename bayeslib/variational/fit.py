"""One ascent of the evidence lower bound: its state and its rounds."""

import numpy as np

from ..compile.callback import together
from ..errors import ImproperError
from ..results import Gaussian
from ..validate import shown
from ..waiting import blocks, count
from .advi_kernels import ascent_kernel
from .ascent import Ascent, run_rounds

_FAR = 1e100  # where squares may soon overflow


class Fit:
    """The state of one ascent.

    Parameters
    ----------
    target : UnconstrainedTarget
    start : numpy.ndarray, shape (dim,)
    scale : float
        Of every coordinate at the start.
    dense : bool
    num_draws : int
        For each step.
    sticking : bool
        Whether the gradient of the entropy goes along the draws.
    rng : numpy.random.Generator
    """

    def __init__(self, target, start, scale, dense, num_draws, sticking, rng):
        self.target, self.rng, self.dense = target, rng, dense
        self._bound, self._options = target.bind(gradient=True), (num_draws, int(sticking))
        shape = np.eye(target.dim) if dense else np.ones((1, target.dim))
        self._mean, self._scale, self._mean_sum, self._scale_sum = together(
            start, scale * shape, np.zeros(target.dim), np.zeros(shape.shape)
        )
        self.paths, self.traces, self.num_steps = [], [], 0
        self.num_outside, self.interrupted = np.zeros(1, dtype=np.int64), False

    def run(self, step_size, num_steps):
        """Take steps; returns the path (num_steps, 2 dim) and the parameters averaged over it.

        After an interrupt the path is shorter, and the parameters are those that it came to.
        """
        dim, done = self._mean.size, 0
        path, trace = np.empty((num_steps, 2 * dim)), np.empty(num_steps)
        self._mean_sum[:], self._scale_sum[:] = 0.0, 0.0
        try:
            for begin, end in blocks(num_steps, first=1):
                ascent_kernel(
                    self._bound.address, self._bound.handle, self.rng, end - begin,
                    self._options[0], step_size, self._options[1], self._mean, self._scale,
                    self._mean_sum, self._scale_sum, path[begin:end], trace[begin:end],
                    self.num_outside,
                )  # fmt: skip
                done = end
                if self._bound.num_errors:
                    break
                count((end - begin) * self._options[0])
        except KeyboardInterrupt:
            self.interrupted = True
        if self._bound.num_errors:
            raise self.target.explain(self._bound.failed_at)
        if not (np.abs(self._mean).max() < _FAR and np.abs(self._scale).max() < _FAR):
            raise ImproperError(
                f"the approximation ran off, to mean {shown(self._mean)} in unconstrained "
                f"coordinates and a scale of {np.abs(self._scale).max():.3g}: the posterior is "
                "improper, or flat; give every parameter a proper prior"
            )
        self.num_steps += done
        self.paths.append(path[:done])
        self.traces.append(trace[:done])
        if self.interrupted:
            logs = self._scale.copy()
            rows = np.arange(dim) if self.dense else np.zeros(dim, dtype=int)
            logs[rows, np.arange(dim)] = np.log(logs[rows, np.arange(dim)])
            return path[:done], np.append(self._mean, logs)
        return path, np.append(self._mean_sum, self._scale_sum) / num_steps

    def restart(self, average):
        """Go on from averaged parameters."""
        mean, scale = self._parts(average)
        self._mean[:], self._scale[:] = mean, scale

    def _parts(self, average):
        """Mean (dim,) and scale as the kernel has it; the average has its diagonal's logarithm."""
        dim = self._mean.size
        mean, scale = average[:dim], average[dim:].reshape(self._scale.shape).copy()
        if self.dense:
            np.fill_diagonal(scale, np.exp(np.diag(scale)))
        else:
            scale = np.exp(scale)
        return mean, scale

    def gaussian(self, average):
        """The approximation with these parameters, of the unconstrained coordinates."""
        mean, scale = self._parts(average)
        if not self.dense:
            return Gaussian(mean, scale[0] ** 2)
        return Gaussian(mean, scale @ scale.T)

    def distance(self, one, other):
        """Symmetrised Kullback-Leibler divergence between two averages."""
        one, other = self.gaussian(one), self.gaussian(other)
        return one.kl(other) + other.kl(one)

    def ascend(self, num_steps, max_steps, step_size, tolerance):
        """Run to the end, by rounds or by `num_steps` steps of one size; returns an `Ascent`."""
        if num_steps is None:
            return run_rounds(
                self.run, self.restart, self.distance, lambda: self.interrupted,
                step_size=step_size, max_steps=max_steps, tolerance=tolerance,
            )  # fmt: skip
        _, average = self.run(step_size, num_steps // 2)
        if not self.interrupted:
            _, average = self.run(step_size, num_steps - num_steps // 2)
        return Ascent(average, np.array([step_size]), self.num_steps, False)
