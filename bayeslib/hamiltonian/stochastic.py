"""Samplers that follow a noisy gradient: Langevin's dynamics, and Hamilton's with friction."""

import dataclasses

import numpy as np

from ..chains.blocks import advance
from ..chains.run import as_counts
from ..diagnostics.trouble import heat_problem, negative_problem
from ..errors import BayeslibError, warn
from ..target.target import as_target
from ..validate import as_count, as_floats, as_positive, check_finite, check_memory
from .hmc import warn_of_divergences
from .stochastic_chains import Chain, as_setting, run
from .stochastic_kernels import HEAT, HEATED, NEGATIVE, sghmc_kernel, sgld_kernel

_STAYS = 'there a chain stays: see stats["diverging"]'
_BLOCKS = 50  # of weighted draws that follow each other, at most, in each chain


def _sgld_chain(control, index, target, rng, start, setting, step_sizes, num_warmup, num_samples):
    chain = Chain(target, start, setting, num_samples)
    logdensity = np.empty(num_samples)

    def step(first, last):
        return sgld_kernel(
            *chain.density, rng, first, last, num_warmup, setting.num_steps, step_sizes,
            chain.position, chain.metric, chain.factor, *chain.gradients, chain.values,
            logdensity, *chain.flags,
        )  # fmt: skip

    done = advance(
        step, bound=chain.batch.bounds[0], control=control, chain=index,
        num_iterations=num_warmup + num_samples,
    )  # fmt: skip
    return chain.end(done, rng, logdensity, {}, {})


def _sghmc_chain(
    control, index, target, rng, start, setting, step_size, refresh, friction, noise, num_warmup,
    num_samples,
):  # fmt: skip
    chain = Chain(target, start, setting, num_samples, np.zeros(target.dim), friction, noise)
    numbers = np.empty((2, num_samples))

    def step(first, last):
        return sghmc_kernel(
            *chain.density, rng, first, last, num_warmup, setting.num_steps, refresh, step_size,
            chain.position, *chain.more, chain.metric, chain.factor, *chain.gradients,
            chain.values, numbers, *chain.flags,
        )  # fmt: skip

    done = advance(
        step, bound=chain.batch.bounds[0], control=control, chain=index,
        num_iterations=num_warmup + num_samples,
    )  # fmt: skip
    settings = {
        "temperature": chain.sums[HEAT] / max(chain.state[HEATED], 1.0),
        "num_negative": int(chain.state[NEGATIVE]),
    }
    return chain.end(done, rng, numbers[0], {"kinetic_energy": numbers[1]}, settings)


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
        In units of variance. An array has one step size an iteration, as a (b + t)^-c with c in
        (1/2, 1]; the draws then have weights, in proportion to it.
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
        Which of ``target.data`` are cut by rows, along the first axis. All arrays of the greatest
        length when None.
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
        `logdensity` is None when a batch is used, as it would take a pass for each draw. stats:
        ``diverging``, where the log density, its gradient or the position was not finite or the
        position passed 1e10: there the chain stays. With weights, ``family``: blocks of
        draws that follow each other, sqrt(num_samples) of them in a chain but at most 50, from
        which the errors of averages are made. Settings:
        ``num_rows``, ``num_gradients``, ``passes``, ``num_outside`` (num_chains,), and ``virial``
        (num_chains, dim), the mean of (theta - mean) times the gradient of -log p over the steps
        kept: 1 under the target, whatever it is, and above 1 where the draws are too wide, of
        which ``problems`` speaks.
        Interrupted, it returns what was drawn, ``settings["interrupted"]`` set.

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
    A step is theta += eps / 2 M^-1 g + sqrt(eps) L z, with z standard normal, L the root or lower
    Cholesky factor of M^-1, and g the gradient of the log density, estimated from b of n rows as
    prior(theta) + n / b (batch(theta) - prior(theta)), where batch is the gradient when the data
    are the batch and prior that of no rows. The estimate is unbiased; its covariance is n^2 / b
    (1 - b / n) times that of one row's gradient (divisor n - 1), or n^2 / b times it (divisor n)
    with `replace`. This noise V and the finite step stay uncorrected: for a Gaussian of variance
    s^2 the draws' variance is s^2 (1 + eps V / 4) / (1 - eps / (4 s^2)) when M = 1.

    Draw order, for each step: of a batch, b uniforms u; `dim` standard normals for
    `gradient_noise`, if any; `dim` standard normals z. The batch is the first b entries of a
    permutation that starts as 0, …, n - 1 and is kept for the run: for j < b, entry j is swapped
    with entry j + floor(u (n - j)). With `replace` they are the rows floor(u n).

    References
    ----------
    Welling and Teh (2011), Bayesian learning via stochastic gradient Langevin dynamics. Baker,
    Fearnhead, Fox and Nemeth (2019), Control variates for stochastic gradient MCMC.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> X, y = np.ones((1000, 1)), rng.normal(2.0, 1.0, size=1000)
    >>> target = bl.posteriors.linear_regression(X, y, noise_scale=1.0, prior_scale=10.0)
    >>> draws = bl.sgld(target, batch_size=100, step_size=1e-4, num_steps=10, rng=2)
    >>> print(draws.expect(), target.truth.mean.round(4))
    [1.9438 ± 0.0012] [1.9457]
    >>> print((draws.flat.std() / np.sqrt(target.truth.cov)).round(1))  # a little too wide
    [[1.2]]
    """
    dim = as_target(target).dim
    counts = as_counts(num_samples, num_warmup, num_chains)
    setting = as_setting(
        target, batch_size, num_steps, num_chains, inverse_mass_matrix, replace, rows, centre,
        gradient_noise,
    )  # fmt: skip
    step_sizes = _as_step_sizes(step_size, counts[0] + counts[1])
    draws = run(
        _sgld_chain, (setting, step_sizes), sgld_kernel, target, initial_position, counts, rng,
        executor, progress, {"step_size": step_sizes if np.ndim(step_size) else step_sizes[0]},
        gradient_noise, dim + 3,
    )  # fmt: skip
    if np.ndim(step_size):
        draws = _weighted(draws, step_sizes[counts[1] :])
    warn_of_divergences(draws, _STAYS)
    return draws


def sghmc(
    target,
    initial_position=None,
    *,
    batch_size,
    step_size,
    friction,
    noise_estimate=None,
    num_steps=1,
    refresh=None,
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
    """Sample, with a bias, by stochastic-gradient Hamiltonian Monte Carlo with friction.

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
    step_size : float
        A time, as in `hmc`.
    friction : float or array_like, shape (dim,)
        C, at least 0, per unit of time and mass. Without friction a noisy gradient heats the
        momentum for ever, which is warned of unless `refresh` is given.
    noise_estimate : float, array_like of shape (dim,), "batch" or None
        The part of the friction that makes up for the gradient's noise, eps V / 2 with V the
        noise's variance. "batch" estimates it at each step from the batch's rows, one by one.
    num_steps : int
        Steps an iteration; the position after the last is the draw.
    refresh : int, optional
        Steps after which the momentum is drawn anew; only at the beginning when None.
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
        Which of ``target.data`` are cut by rows, along the first axis. All arrays of the greatest
        length when None.
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
        As of `sgld`, with the stats ``kinetic_energy``, r' M^-1 r / 2 beside each draw, and the
        settings ``temperature`` (num_chains, dim), the mean of r times M^-1 r over the steps kept:
        1 when friction and noise balance, above 1 when the noise is too strong for the friction;
        and ``num_negative`` (num_chains,), steps at which "batch" estimated more noise than the
        friction allows, and no noise was added.

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
        When a chain diverged, or all chains start at one point; when noise meets no friction and
        no `refresh`, so that the momenta heat up; when "batch" estimated more noise than the
        friction allows.

    Notes
    -----
    A step moves the position first, theta += eps v with v = M^-1 r, and then the momentum,
    r += eps g(theta) - eps C v + N(0, 2 (C - B) eps), with v from before, B the `noise_estimate`
    and g as in `sgld`. For N(0, 1) and M = 1 the variance is 1 + (eps V / 2 - B) / C up to terms
    that vanish with the step size.

    Draw order, for each step: before the first, and every `refresh` steps, `dim` standard normals
    for the momentum, as in `hmc`; the batch's b uniforms and the normals of `gradient_noise`, as in
    `sgld`; `dim` standard normals, in order, also where no noise is to be added.

    References
    ----------
    Chen, Fox and Guestrin (2014), Stochastic gradient Hamiltonian Monte Carlo, algorithm 2.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> X, y = np.ones((1000, 1)), rng.normal(2.0, 1.0, size=1000)
    >>> target = bl.posteriors.linear_regression(X, y, noise_scale=1.0, prior_scale=10.0)
    >>> draws = bl.sghmc(
    ...     target, batch_size=100, step_size=0.003, friction=30.0, noise_estimate="batch",
    ...     num_steps=10, num_samples=500, num_warmup=200, rng=1,
    ... )
    >>> print(draws.expect(), target.truth.mean.round(4))
    [1.9457 ± 0.0012] [1.9457]
    """
    dim = as_target(target).dim
    counts = as_counts(num_samples, num_warmup, num_chains)
    step_size = as_positive(step_size, "step_size")
    setting = as_setting(
        target, batch_size, num_steps, num_chains, inverse_mass_matrix, replace, rows, centre,
        gradient_noise,
    )  # fmt: skip
    refresh = 0 if refresh is None else as_count(refresh, "refresh")
    friction = _as_friction(friction, "friction", dim)
    by_row = isinstance(noise_estimate, str)
    noise = np.zeros(dim)
    if by_row:
        _check_by_row(noise_estimate, setting)
        setting = dataclasses.replace(setting, by_row=True)
    elif noise_estimate is not None:
        noise = _as_friction(noise_estimate, "noise_estimate", dim)
        if np.any(noise > friction):
            worst = int(np.argmax(noise - friction))
            raise BayeslibError(
                f"noise_estimate must be at most friction, which is {friction[worst]:g} in "
                f"{target.names[worst]}, got {noise[worst]:g}: take more friction, a smaller step, "
                "or larger batches"
            )
    heated = setting.noisy and not refresh and bool(np.any(friction == 0.0))
    settings = {
        "step_size": step_size, "friction": friction, "heated": heated, "refresh": refresh,
        "noise_estimate": noise_estimate if by_row else noise,
    }  # fmt: skip
    draws = run(
        _sghmc_chain, (setting, step_size, refresh, friction, noise), sghmc_kernel, target,
        initial_position, counts, rng, executor, progress, settings, gradient_noise, dim + 4,
    )  # fmt: skip
    if heated:
        warn(heat_problem(draws))
    if negative_problem(draws):
        warn(negative_problem(draws))
    warn_of_divergences(draws, _STAYS)
    return draws


def _as_step_sizes(step_size, num_iterations):
    check_memory((num_iterations, 1), "the step sizes")
    if np.ndim(step_size) == 0:
        return np.full(num_iterations, as_positive(step_size, "step_size"))
    step_sizes = as_floats(step_size, "step_size")
    if step_sizes.shape != (num_iterations,):
        raise BayeslibError(
            f"step_size must be a number or have shape ({num_iterations},), one for each of the "
            f"num_warmup + num_samples iterations, got {step_sizes.shape}"
        )
    check_finite(step_sizes, "step_size")
    if np.any(step_sizes <= 0.0):
        raise BayeslibError(f"every step_size must be positive, the least is {step_sizes.min():g}")
    return step_sizes


def _as_friction(value, name, dim):
    array = as_floats(value, name)
    if array.ndim == 0:
        array = np.full(dim, float(array))
    if array.shape != (dim,):
        raise BayeslibError(f"{name} must be a number or have shape ({dim},), got {array.shape}")
    if not np.all((array >= 0.0) & np.isfinite(array)):
        raise BayeslibError(f"{name} must be at least 0 and finite, got {value!r}")
    return array


def _check_by_row(noise_estimate, setting):
    if noise_estimate != "batch":
        raise BayeslibError(
            f'noise_estimate must be numbers, "batch" or None, got {noise_estimate!r}'
        )
    if setting.rows is None or setting.rows.batch_size < 2:
        raise BayeslibError(
            'noise_estimate="batch" needs a batch_size of at least 2, to see how much rows differ'
        )


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
