"""What the chains with noisy gradients have in common: what they are told, and what they keep."""

import dataclasses

import numpy as np

from ..chains.blocks import NUM_EVALS, Record, outcome
from ..chains.run import sample_chains
from ..compile.callback import together, workspace
from ..errors import BayeslibError
from ..validate import as_count, as_covariance, as_position, as_scale
from .leapfrog import as_metric
from .stochastic_kernels import (
    GRADIENTS,
    NUM_SUMS,
    PRODUCT,
    SLOPE,
    STATE_SIZE,
    SUMMED,
    THETA,
    WORK_ROWS,
)
from .stochastic_rows import Batch, as_rows, check_additive, gradients_at


@dataclasses.dataclass(frozen=True)
class Setting:
    """What all chains are told: the kernels' arrays, and how to cut the data."""

    rows: object
    num_steps: int
    metric: np.ndarray
    factor: np.ndarray
    centre: np.ndarray
    root: np.ndarray
    by_row: bool = False

    @property
    def noisy(self):
        """Whether the gradient is not exact."""
        return len(self.root) > 0 or (self.rows is not None and self.rows.spread > 0.0)

    @property
    def replace(self):
        return self.rows is not None and self.rows.replace

    def passes(self, gradients):
        """Passes over the data that so many gradients take."""
        if self.rows is None:
            return gradients
        return gradients / self.rows.scale * (2.0 if len(self.centre) else 1.0)


class Chain:
    """The arrays of one chain, and how it ends."""

    def __init__(self, target, start, setting, num_samples, *more):
        dim, rows = target.dim, setting.rows
        self.setting, self.batch, self.record = setting, Batch(target, rows), Record(dim)
        self.values, self.state = np.empty((num_samples, dim)), np.zeros(STATE_SIZE)
        self.flags = np.zeros((2, num_samples), dtype=bool)  # diverging, and outside the support
        self.told = np.zeros(2) if rows is None else np.array([rows.scale, rows.spread])
        arrays = together(
            start, setting.metric, setting.factor, setting.centre, setting.root,
            np.zeros((NUM_SUMS, dim)), workspace(WORK_ROWS, dim), *more,
        )  # fmt: skip
        self.position, self.metric, self.factor, *self.matrices = arrays[:5]
        self.sums, self.work, *self.more = arrays[5:]

    @property
    def density(self):
        """The kernels' first arguments."""
        return self.batch.addresses, *(bound.handle for bound in self.batch.bounds)

    @property
    def gradients(self):
        """What the kernels need to know to estimate a gradient, and where they keep account."""
        return (
            self.batch.order, self.batch.rows, self.batch.table, self.setting.replace,
            self.setting.by_row, self.told, *self.matrices, self.state, self.sums, self.work,
        )  # fmt: skip

    def end(self, done, rng, logdensity, stats, settings):
        """Return the chain's `Outcome`."""
        passes = self.setting.passes(self.state[GRADIENTS])
        self.record.counts[NUM_EVALS] = int(np.ceil(passes))
        summed, metric = max(self.state[SUMMED], 1.0), self.setting.metric
        mean, slope, product = self.sums[[THETA, SLOPE, PRODUCT]] / summed
        settings = {
            "inverse_mass_matrix": metric[0] if len(metric) == 1 else metric,
            "num_gradients": int(self.state[GRADIENTS]),
            "passes": float(passes),
            "num_outside": int(self.flags[1].sum()),
            "virial": mean * slope - product,
        } | settings
        return outcome(
            done, bound=self.batch.failed, record=self.record, rng=rng, values=self.values,
            logdensity=logdensity, stats={"diverging": self.flags[0]} | stats, settings=settings,
        )  # fmt: skip


def as_setting(
    target, batch_size, num_steps, num_chains, inverse_mass_matrix, replace, rows, centre, noise
):
    dim = target.dim
    rows = as_rows(target, rows, batch_size, replace, num_chains)
    points = np.zeros((0, dim))
    if centre is not None:
        if rows is None:
            raise BayeslibError("centre has no meaning without a batch_size: the gradient is exact")
        points = np.zeros((3, dim))
        points[0] = as_position(centre, "centre", dim)
    root = np.zeros((0, dim))
    if noise is not None and np.ndim(noise) < 2:
        root = np.sqrt(as_scale(noise, "gradient_noise", dim))[None, :]
    elif noise is not None:
        root = np.linalg.cholesky(as_covariance(noise, "gradient_noise", dim))
    num_steps = as_count(num_steps, "num_steps")
    metric, factor = as_metric(inverse_mass_matrix, dim)
    return Setting(rows, num_steps, metric, factor, points, np.ascontiguousarray(root))


def run(
    chain, arguments, kernel, target, initial_position, counts, rng, executor, progress, settings,
    gradient_noise, numbers,
):  # fmt: skip
    """Run the chains; the log density of the draws is left out where it is not known."""
    setting, spent = arguments[0], 0

    def prepare(starts, generators):
        nonlocal spent
        if setting.rows is None:
            return
        for start in np.unique(starts, axis=0):
            spent += check_additive(target, setting.rows, start)
        if len(setting.centre):
            setting.centre[1:] = gradients_at(target, setting.rows, setting.centre[0])
            spent += 1

    settings |= {
        "num_steps": setting.num_steps,
        "batch_size": None if setting.rows is None else setting.rows.batch_size,
        "num_rows": None if setting.rows is None else setting.rows.number,
        "replace": setting.replace,
        "gradient_noise": None if gradient_noise is None else np.array(gradient_noise, dtype=float),
        "uncorrected": ("step_size", "gradient_noise")[: 1 + setting.noisy],
    }
    draws = sample_chains(
        chain, arguments, kernel=kernel, target=target, initial_position=initial_position,
        gradient=True, prepare=prepare, counts=counts, numbers=numbers, rng=rng,
        executor=executor, progress=progress, method=kernel.py_func.__name__[: -len("_kernel")],
        settings=settings, tails=False,
    )  # fmt: skip
    known = draws.logdensity if setting.rows is None else None
    return dataclasses.replace(draws, logdensity=known, num_evals=draws.num_evals + spent)
