"""Hamiltonian Monte Carlo with a fixed number of leapfrog steps."""

from typing import NamedTuple

import numpy as np

from ..chains.algorithm import Algorithm, as_plan
from ..chains.loop import Chain, accepts, copy, laid_out, outside, record
from ..chains.warmup import warmup_windows
from ..compile.kinds import FLOAT, INT, MATRIX, VECTOR
from ..target.transforms import walked
from ..validate import as_count, as_fraction
from .dynamics import DIVERGENT, as_metric, draw_momentum, integrate, kinetic_energy
from .warmup import Step, as_step, begin_hmc, learn_hmc


class Motion(NamedTuple):
    """What a chain remembers of its motion."""

    position: VECTOR
    gradient: VECTOR
    proposal: VECTOR  # the trajectory's end,
    momentum: VECTOR
    slope: VECTOR  # and the gradient there
    metric: MATRIX
    root: MATRIX
    moments: MATRIX  # no rows where no metric is learned
    num_steps: INT
    jitter: FLOAT
    step: Step


Note = record(
    acceptance_rate="f8", energy="f8", energy_error="f8", step_size="f8", n_steps="i8",
    accepted="?", diverging="?",
)  # fmt: skip


def hmc_step(target, rng, log_p, x, note):
    """Draw a momentum, do `num_steps` leapfrog steps, and accept where they lead, or stay."""
    note.step_size = x.step.value
    if x.jitter > 0.0:
        note.step_size *= 1.0 + x.jitter * (2.0 * rng.random() - 1.0)
    draw_momentum(rng, x.root, x.momentum)
    copy(x.position, x.proposal)
    copy(x.gradient, x.slope)
    before = kinetic_energy(x.momentum, x.metric) - log_p
    log_new, note.n_steps = integrate(
        target, x.proposal, x.momentum, x.slope, x.metric, note.step_size, x.num_steps
    )
    kinetic = kinetic_energy(x.momentum, x.metric)
    # A trajectory that blew up overflows to -inf too, but with the momentum of one.
    if outside(target, log_new) and kinetic - before < DIVERGENT:
        target.account.num_outside += 1
    error = kinetic - log_new - before
    note.energy_error = error if error < np.inf else np.inf
    note.diverging = note.energy_error > DIVERGENT
    if not accepts(rng, -note.energy_error, note):
        note.energy = before
        return log_p
    note.energy = kinetic - log_new
    copy(x.proposal, x.position)
    copy(x.slope, x.gradient)
    return log_new


def initial(run, start, learns, **options):
    moments = (2 if learns else 0, start.size)
    return laid_out(Motion, start.size, position=start, moments=moments, **options)


def settings(run):
    metric = run.state.metric
    return {
        "step_size": run.state.step.value,
        "inverse_mass_matrix": metric[0] if len(metric) == 1 else metric,
        "num_outside": run.account.num_outside,
    }


HMC = Algorithm(
    "hmc", Chain(hmc_step, Motion, Note, begin=begin_hmc, learn=learn_hmc, seconds=6), initial,
    settings, lambda num_warmup, x: warmup_windows(num_warmup, len(x.moments) > 0), gradient=True,
    diverged='they began at values[stats["diverging"]]',
)  # fmt: skip


def hmc(
    target,
    initial_position=None,
    *,
    step_size=None,
    num_steps,
    num_samples=1000,
    num_warmup=1000,
    num_chains=4,
    rng,
    inverse_mass_matrix=None,
    target_accept=0.8,
    jitter=0.0,
    executor=None,
    progress=None,
):
    """Sample by Hamiltonian Monte Carlo with a fixed number of leapfrog steps.

    Parameters
    ----------
    target : Target
        With a gradient; it is compared with finite differences at the first chain's start.
    initial_position : array_like, shape (dim,) or (num_chains, dim), optional
        None draws a start for each chain, as `nuts` does (see its Notes). Modes that no start
        leads to stay unseen.
    step_size : float, optional
        The time of a leapfrog step. Its unit is a posterior standard deviation where M^-1 holds the
        posterior's variances, and that of theta where M^-1 is the identity. Given, nothing is
        adapted and the warm-up is only burn-in. None adapts it in the warm-up to `target_accept`,
        and freezes it before the first draw that is kept.
    num_steps : int
        Leapfrog steps an iteration.
    num_samples : int
        Draws kept in each chain.
    num_warmup : int
        Iterations before them, in each chain; not kept, but counted in `num_evals`.
    num_chains : int
    rng : int, Generator, SeedSequence or None
        One chain draws from it; several draw from ``rng.spawn(num_chains)``. None takes fresh
        entropy and records it in ``settings["seed"]``.
    inverse_mass_matrix : array_like, shape (dim,) or (dim, dim), optional
        M^-1, in units of variance: the closer to the posterior covariance, the better. Given, it
        is kept. None adapts its diagonal in the warm-up when `step_size` is None too, and is the
        identity otherwise.
    target_accept : float
        Mean acceptance rate the adapted step aims at, between 0 and 1.
    jitter : float
        At least 0, below 1: each iteration's step is uniform between (1 - jitter) and
        (1 + jitter) times the step size, so that not all trajectories are of one period's length.
    executor : concurrent.futures.Executor, optional
        Where the chains run; threads by default. A process pool, or ``client.get_executor()`` of
        a Dask cluster, makes the same draws. If a chain is lost with its worker for good, the
        executor's error is raised, and its `partial` keeps the other chains.
    progress : bool, optional
        None shows a bar on runs of more than about two seconds.

    Returns
    -------
    Draws
        Interrupted, it warns and returns what was drawn, ``settings["interrupted"]`` set. Stats:

        - ``acceptance_rate``: ``min(1, exp(-energy_error))``, the probability with which the
          trajectory's end was accepted; ``accepted``: whether it was;
        - ``energy`` of the state kept; ``energy_error`` at the trajectory's end;
        - ``step_size``; ``n_steps``: fewer where a trajectory left the support;
        - ``diverging``: the energy error passed 1000; the draw is where the trajectory began.

        Settings:

        - ``step_size`` (num_chains,); ``inverse_mass_matrix`` (num_chains, dim[, dim]);
        - ``num_outside`` (num_chains,): how many trajectories ended where the log density is -inf;
        - ``tail_index``: see `nuts`.

    Raises
    ------
    BayeslibError
        For arguments out of range, each named; StartError when the density at a start is nan,
        infinite or zero; GradientError for a missing or wrong gradient; TargetError when the
        density is +inf on the way; ImproperError when the step size grows without bound.
    MemoryError
        Before the run, when the draws would not fit.

    Warns
    -----
    BayeslibWarning
        When transitions diverged, the density was nan on the way, all chains start at one point,
        draws reach beyond 1e10, or a parameter ran to its bound.

    Notes
    -----
    Momenta r are N(0, M), the energy is ``H = -log p(theta) + r.T @ M^-1 @ r / 2``.

    Periods: a nearly Gaussian posterior is periodic under the dynamics. Trajectories of about one
    period (2 pi standard deviations) come back to their start; those of half a period end at its
    mirror image, so that means look exact and variances are wrong. Then change `num_steps`, or pass
    `jitter`.

    Draw order, for each iteration: one uniform for `jitter`, if there is any; `dim` standard
    normals z in order, where the momentum is ``z / sqrt(diag(M^-1))``, or ``inv(L.T) @ z`` with the
    lower Cholesky factor L of a dense M^-1; then, after the trajectory, one uniform, also when it
    cannot matter; accepted when it is below ``min(1, exp(-energy_error))``. Before the first
    iteration of a warm-up that adapts, and after each change of the metric, the search for a first
    step draws `dim` normals for each step size that it tries. When `initial_position` is None,
    `dim` uniforms for each attempted start come first (see `nuts`).

    References
    ----------
    Duane, Kennedy, Pendleton and Roweth (1987), Hybrid Monte Carlo. Neal (2011), MCMC using
    Hamiltonian dynamics. Hoffman and Gelman (2014), The No-U-Turn Sampler, for the adaptation.

    Examples
    --------
    >>> target = bl.posteriors.gaussian([0.0, 1.0], [[1.0, 0.8], [0.8, 2.0]])
    >>> draws = bl.hmc(target, num_steps=8, jitter=0.3, rng=1)
    >>> print(draws.expect(), target.truth.mean)
    [0.004 ± 0.012, 1.003 ± 0.017] [0. 1.]
    >>> print(bl.rhat(draws) < 1.01, draws.problems)
    [ True  True] ()
    """
    target = walked(target)
    num_steps = as_count(num_steps, "num_steps", maximum=100_000)
    plan = as_plan(num_samples, num_warmup, num_chains, rng, executor, progress)
    jitter = as_fraction(jitter, "jitter", zero=True)
    step = as_step(step_size, target_accept, plan.num_warmup)
    metric, root = as_metric(inverse_mass_matrix, target.dim)
    learns = inverse_mass_matrix is None and step_size is None
    told = {"num_steps": num_steps, "jitter": jitter}
    return HMC.sample(
        target, initial_position,
        told | {"metric": metric, "root": root, "step": step, "learns": learns}, plan=plan,
        settings=told | {"adapted": step_size is None, "target_accept": float(target_accept)},
    )  # fmt: skip
