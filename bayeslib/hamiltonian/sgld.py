"""Stochastic-gradient Langevin dynamics."""

import dataclasses
from typing import NamedTuple

import numpy as np

from ..chains.algorithm import Algorithm, as_plan
from ..chains.loop import Chain, laid_out, record
from ..compile.kinds import INT, MATRIX, VECTOR
from ..target.transforms import walked
from ..validate import as_floats, as_one_each, check_each, check_memory
from .batches import STAYS, account, as_setting, estimate_gradients, sample
from .noisy import MOVING, Noisy, add_normals, estimate, follows, moved, times_metric

_BLOCKS = 50  # of weighted draws that follow each other, at most, in each chain


class Langevin(NamedTuple):
    """What a chain of Langevin's dynamics remembers."""

    position: VECTOR
    proposal: VECTOR
    gradient: VECTOR
    slope: VECTOR  # the gradient with noise added
    metric: MATRIX  # M^-1: (1, dim) its diagonal, or (dim, dim)
    root: MATRIX  # of M^-1, of the same shape
    step_sizes: VECTOR  # one for each iteration
    num_steps: INT


Note = record(diverging="?")


def sgld_step(target, rng, log_p, x, note):
    """Take steps theta += eps / 2 M^-1 g + sqrt(eps) L z, as long as they lead somewhere."""
    exact, step_size = target.batch.size == 0, x.step_sizes[target.account.t]
    spread = np.sqrt(step_size)
    for _ in range(x.num_steps if target.tally.fate == MOVING else 0):
        if not exact:
            log_p = estimate(target, rng, x.position, x.gradient)
        if not follows(target, rng, log_p, x.position, x.gradient, x.slope):
            break
        times_metric(x.metric, x.slope, x.proposal)
        for i in range(x.position.size):
            x.proposal[i] = x.position[i] + 0.5 * step_size * x.proposal[i]
        add_normals(rng, x.root, spread, target.z, x.proposal)
        if not moved(target, x.proposal, x.position):
            break
        if exact:
            log_p = estimate(target, rng, x.position, x.gradient)
    note.diverging = target.tally.fate != MOVING
    return log_p if exact else np.nan


def initial(run, start, rows, estimate, **motion):
    estimate_gradients(run, rows, estimate)
    run.account.num_evals = run.density.batch.size == 0  # the gradient at the start, then exact
    return laid_out(Langevin, start.size, position=start, **motion)


SGLD = Algorithm(
    "sgld", Chain(sgld_step, Langevin, Note, target=Noisy), initial, account, gradient=True,
    diverged=STAYS,
)  # fmt: skip


def sgld(
    target,
    initial_position=None,
    *,
    batch_size,
    step_size,
    num_steps=1,
    num_samples=1000,
    num_warmup=1000,
    num_chains=4,
    rng,
    inverse_mass_matrix=None,
    replace=False,
    rows=None,
    centre=None,
    gradient_noise=None,
    executor=None,
    progress=None,
):
    """Sample, with a bias, by stochastic-gradient Langevin dynamics.

    Nothing is accepted or rejected: the draws follow a density that is wider or narrower than the
    target's by an amount that vanishes with the step size, see Notes.

    Parameters
    ----------
    target : Target
        With a gradient; a prior plus a sum over the rows of its data, which is checked.
    initial_position : array_like, shape (dim,) or (num_chains, dim), optional
        None draws a start for each chain, as in `nuts`.
    batch_size : int or None
        Rows from which each gradient is estimated; None for all, the exact gradient.
    step_size : float or array_like, shape (num_warmup + num_samples,)
        In units of variance. An array has one step size an iteration, as ``a * (t0 + t)**-c`` with
        c in (1/2, 1]; the draws then have weights, in proportion to it.
    num_steps : int
        Steps an iteration; the position after the last is the draw.
    num_samples : int
        Draws kept in each chain.
    num_warmup : int
        Iterations before them, in each chain; not kept, but counted in `num_evals`.
    num_chains : int
    rng : int, Generator, SeedSequence or None
        One chain draws from it; several draw from ``rng.spawn(num_chains)``. None takes fresh
        entropy and records it in ``settings["seed"]``.
    inverse_mass_matrix : array_like, shape (dim,) or (dim, dim), optional
        M^-1, in units of variance: its diagonal, or all of it. The identity when None.
    replace : bool
        Whether a batch may hold a row twice.
    rows : int or sequence of int, optional
        Which of ``target.data``, by index, are cut by rows, along the first axis. None takes all
        arrays as long as the longest.
    centre : array_like, shape (dim,), optional
        A point, best the mode, at which the whole gradient is computed once, so that only
        differences from the rows' gradients there need estimating: a control variate.
    gradient_noise : float or array_like, shape (dim,) or (dim, dim), optional
        A covariance V: N(0, V) is added to each gradient, as a model of batches.
    executor : concurrent.futures.Executor, optional
        Where the chains run; threads by default. See `hmc`.
    progress : bool, optional
        None shows a bar on runs of more than about two seconds.

    Returns
    -------
    Draws
        `num_evals` is in passes over all rows, rounded up in each chain, checks included;
        `logdensity` is None when a batch is used, as it would take a pass for each draw.
        Interrupted, it warns and returns what was drawn, ``settings["interrupted"]`` set. Stats:

        - ``diverging``: the log density, its gradient or the position was not finite, or the
          position passed 1e10; there the chain stays;
        - ``family``, only where the draws have weights: the number of the block of successive
          draws that each lies in, from which the errors of averages are made. A chain has
          sqrt(num_samples) blocks, but at most 50.

        Settings:

        - ``num_rows``, ``num_gradients``, ``passes``, ``num_outside`` (num_chains,);
        - ``virial`` (num_chains, dim): the mean of (theta - mean) times the gradient of -log p over
          the steps kept. It is 1 if the draws follow the target, and above 1 if they are too wide;
          ``problems`` says so where it is off by more than 0.2 plus three standard errors.

    Raises
    ------
    BayeslibError
        For arguments out of range, each named; a density that is not a sum over rows; StartError
        when the density at a start is nan, infinite or zero; GradientError for a missing or wrong
        gradient.
    MemoryError
        Before the run, when the draws would not fit.

    Warns
    -----
    BayeslibWarning
        When a chain diverged, or all chains start at one point.

    Notes
    -----
    A step is ``theta += eps / 2 * M^-1 @ g + sqrt(eps) * L @ z``, with z standard normal, L the
    root or lower Cholesky factor of M^-1, and g the gradient of the log density, estimated from b
    of n rows as ``prior + n / b * (batch - prior)``: batch is the gradient with the batch as all
    the data, prior that with none.

    Bias: the estimate of g has none; its covariance is ``n**2 / b * (1 - b / n)`` times that of one
    row's gradient (divisor n - 1), or ``n**2 / b`` times it (divisor n) with `replace`. This noise
    V and the finite step stay uncorrected: for a Gaussian of variance s2, and M = 1, the draws'
    variance is ``s2 * (1 + eps * V / 4) / (1 - eps / (4 * s2))``.

    Draw order, for each step: of a batch, b uniforms u; `dim` standard normals for
    `gradient_noise`, if any; `dim` standard normals z. The batch is the first b entries of a
    permutation that starts as 0, ..., n - 1 and is kept for the run: for j < b, entry j is swapped
    with entry ``j + floor(u * (n - j))``. With `replace` they are the rows ``floor(u * n)``.

    References
    ----------
    Welling and Teh (2011), Bayesian learning via stochastic gradient Langevin dynamics. Baker,
    Fearnhead, Fox and Nemeth (2019), Control variates for stochastic gradient MCMC.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> X, y = np.ones((1000, 1)), rng.normal(2.0, 1.0, size=1000)
    >>> scales = dict(noise_scale=1.0, prior_scale=10.0)
    >>> target = bl.posteriors.linear_regression(X, y, **scales)
    >>> draws = bl.sgld(target, batch_size=100, step_size=1e-4, num_steps=50, rng=2)
    >>> print(draws.expect(), target.truth.mean.round(4))
    [1.94610 ± 0.00061] [1.9457]
    >>> print((draws.flat.std() / np.sqrt(target.truth.cov)).round(1))  # too wide
    [[1.1]]
    """
    target = walked(target)
    plan = as_plan(num_samples, num_warmup, num_chains, rng, executor, progress)
    options, settings = as_setting(
        target, batch_size=batch_size, num_steps=num_steps, num_chains=num_chains, rows=rows,
        inverse_mass_matrix=inverse_mass_matrix, replace=replace, centre=centre,
        gradient_noise=gradient_noise,
    )  # fmt: skip
    num_iterations = plan.num_samples + plan.num_warmup
    check_memory((num_iterations, 1), "the step sizes")
    given = as_floats(step_size, "step_size")
    check_each(given, "step_size", "positive and finite", np.isfinite(given) & (given > 0.0))
    step_sizes = as_one_each(given, "step_size, for num_warmup + num_samples,", num_iterations)
    options["step_sizes"] = step_sizes
    settings["step_size"] = step_sizes if np.ndim(step_size) else step_sizes[0]
    draws = sample(SGLD, target, initial_position, options, plan, settings)
    return _weighted(draws, step_sizes[plan.num_warmup :]) if np.ndim(step_size) else draws


def _weighted(draws, step_sizes):
    """Weigh draws by their steps; blocks of them count as one in the errors of averages."""
    size = draws.num_samples
    num_blocks = min(_BLOCKS, int(np.sqrt(size)))
    block = np.arange(size) * num_blocks // size
    family = block + num_blocks * np.arange(draws.num_chains)[:, None]
    return dataclasses.replace(
        draws, log_weights=np.tile(np.log(step_sizes[:size]), (draws.num_chains, 1)),
        stats=draws.stats | {"family": family},
    )  # fmt: skip
