"""Stochastic-gradient Hamiltonian Monte Carlo with friction."""

from typing import NamedTuple

import numpy as np

from ..chains.algorithm import Algorithm, as_plan
from ..chains.loop import Chain, laid_out, record
from ..compile.callback import helper
from ..compile.kinds import FLOAT, INT, MATRIX, VECTOR
from ..errors import BayeslibError
from ..target.transforms import walked
from ..validate import as_count, as_positive, as_scale, check_each, shown
from .batches import STAYS, account, as_setting, estimate_gradients, sample
from .dynamics import draw_momentum, kinetic_energy
from .noisy import MOVING, Noisy, estimate, follows, moved, times_metric


class Motion(NamedTuple):
    """What a chain with momentum and friction remembers."""

    position: VECTOR
    proposal: VECTOR
    momentum: VECTOR
    velocity: VECTOR
    gradient: VECTOR
    metric: MATRIX  # M^-1: (1, dim) its diagonal, or (dim, dim)
    root: MATRIX  # of M^-1, of the same shape
    friction: VECTOR
    known_noise: VECTOR  # the part of the friction that makes up for the gradient's
    step_size: FLOAT
    num_steps: INT
    refresh: INT  # steps from one momentum to the next, 0 for one in all
    heat: VECTOR  # the sum of r times M^-1 r over the steps kept


Note = record(diverging="?", kinetic_energy="f8")


def sghmc_step(target, rng, log_p, x, note):
    """Take steps theta += eps v and r += eps (g - C v) + N(0, 2 (C - B) eps), if they lead on."""
    for _ in range(x.num_steps if target.tally.fate == MOVING else 0):
        push(target, rng, x)
        for i in range(x.position.size):
            x.proposal[i] = x.position[i] + x.step_size * x.velocity[i]
        if not moved(target, x.proposal, x.position):
            break
        log_p = estimate(target, rng, x.position, x.gradient)
        if not follows(target, rng, log_p, x.position, x.gradient, x.gradient):
            break
        rub(target, rng, x)
    note.kinetic_energy = kinetic_energy(x.momentum, x.metric)
    note.diverging = target.tally.fate != MOVING
    return log_p if target.batch.size == 0 else np.nan


@helper
def push(target, rng, x):
    """Write the velocity, of a new momentum when it is time for one; add up the heat of the old."""
    step = target.tally.steps
    times_metric(x.metric, x.momentum, x.velocity)
    if step > 0 and not target.account.warming:
        target.tally.heated += 1
        for i in range(x.heat.size):
            x.heat[i] += x.momentum[i] * x.velocity[i]
    if step == 0 or (x.refresh > 0 and step % x.refresh == 0):
        draw_momentum(rng, x.root, x.momentum)
        times_metric(x.metric, x.momentum, x.velocity)


@helper
def rub(target, rng, x):
    """Change the momentum by gradient, friction and noise, none where the gradient has too much."""
    step_size, cut = x.step_size, False
    for i in range(x.position.size):
        noise = x.known_noise[i]
        if target.by_row:
            noise = 0.5 * step_size * target.spread * target.variance[i]
        rest = x.friction[i] - noise
        if rest < 0.0:
            rest, cut = 0.0, True
        x.momentum[i] += step_size * (x.gradient[i] - x.friction[i] * x.velocity[i])
        x.momentum[i] += np.sqrt(2.0 * rest * step_size) * rng.standard_normal()
    if cut and target.tally.summed > 0:
        target.tally.negative += 1


def initial(run, start, rows, estimate, **motion):
    estimate_gradients(run, rows, estimate)
    return laid_out(Motion, start.size, position=start, **motion)


def settings(run):
    tally = run.density.tally
    heat = run.state.heat / max(tally.heated, 1)
    return account(run) | {"temperature": heat, "num_negative": int(tally.negative)}


SGHMC = Algorithm(
    "sghmc", Chain(sghmc_step, Motion, Note, target=Noisy), initial, settings, gradient=True,
    diverged=STAYS,
)  # fmt: skip


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
    target's by an amount that vanishes with the step size, if `noise_estimate` shrinks with it or
    is "batch", see Notes.

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
        C, at least 0, a mass per unit of time: the momentum decays at the rate C M^-1. Without
        friction a noisy gradient heats it for ever: a warning says so unless `refresh` is given.
    noise_estimate : float, array_like of shape (dim,), "batch" or None
        The part of the friction that makes up for the gradient's noise, eps V / 2 with V the
        noise's variance; None is 0. "batch" estimates it at each step from the batch's rows, one
        by one.
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
        As of `sgld`. Another stat is ``kinetic_energy``, ``r.T @ M^-1 @ r / 2`` beside each draw,
        and there are two more settings:

        - ``temperature`` (num_chains, dim): the mean of r times M^-1 r over the steps kept. It is 1
          when friction and noise balance, above 1 when the noise is too strong for the friction;
        - ``num_negative`` (num_chains,): steps at which "batch" estimated more noise than the
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
    A step moves the position first, ``theta += eps * v`` with ``v = M^-1 @ r``, and then the
    momentum, ``r += eps * g - eps * C * v + N(0, 2 * (C - B) * eps)``, with v from before, B the
    `noise_estimate` and g at the new position, as in `sgld`.

    Bias: for a N(0, 1) target and M = 1 the variance is ``1 + (eps * V / 2 - B) / C``, up to a
    factor ``1 + O(eps**2)``.

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
    >>> scales = dict(noise_scale=1.0, prior_scale=10.0)
    >>> target = bl.posteriors.linear_regression(X, y, **scales)
    >>> draws = bl.sghmc(
    ...     target, batch_size=100, step_size=0.003, friction=30.0,
    ...     noise_estimate="batch", num_steps=10, num_samples=500,
    ...     num_warmup=200, rng=1,
    ... )
    >>> print(draws.expect(), target.truth.mean.round(4))
    [1.9457 ± 0.0012] [1.9457]
    """
    target = walked(target)
    dim = target.dim
    plan = as_plan(num_samples, num_warmup, num_chains, rng, executor, progress)
    step_size = as_positive(step_size, "step_size")
    by_row = isinstance(noise_estimate, str)
    options, settings = as_setting(
        target, batch_size=batch_size, num_steps=num_steps, num_chains=num_chains, rows=rows,
        inverse_mass_matrix=inverse_mass_matrix, replace=replace, centre=centre,
        gradient_noise=gradient_noise, by_row=by_row,
    )  # fmt: skip
    refresh = 0 if refresh is None else as_count(refresh, "refresh")
    friction = as_scale(friction, "friction", dim, zero=True)
    if by_row and (noise_estimate != "batch" or not batch_size or settings["batch_size"] < 2):
        rule = 'must be numbers or "batch" with batch_size > 1'
        raise BayeslibError(f"noise_estimate {rule}, got {noise_estimate!r}")
    known = 0.0 if by_row or noise_estimate is None else noise_estimate
    noise = as_scale(known, "noise_estimate", dim, zero=True)
    rule = f"at most friction={shown(friction)}"
    check_each(noise, "noise_estimate", rule, noise <= friction, ": take larger batches")
    noisy = "gradient_noise" in settings["uncorrected"]
    heated = noisy and not refresh and bool(np.any(friction == 0.0))
    told = {"step_size": step_size, "friction": friction, "refresh": refresh}
    options |= told | {"known_noise": noise}
    settings |= told | {"heated": heated, "noise_estimate": noise_estimate if by_row else noise}
    return sample(SGHMC, target, initial_position, options, plan, settings)
