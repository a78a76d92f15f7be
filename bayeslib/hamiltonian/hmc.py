"""The public sampler: Hamiltonian Monte Carlo with a fixed number of leapfrog steps."""

import numpy as np

from ..chains.blocks import NUM_OUTSIDE, Record, advance, outcome
from ..chains.run import as_counts, sample_chains
from ..chains.warmup import warmup_windows
from ..compile.callback import together, workspace
from ..diagnostics.trouble import divergence_problem
from ..errors import BayeslibError, warn
from ..target.target import as_target
from ..validate import as_count, as_positive, as_real
from .kernels import ACCEPT, JITTER, LEARN, STEP, hmc_kernel
from .leapfrog import as_metric

_NUMBERS = ("acceptance_rate", "energy", "energy_error", "step_size")


def _hmc_chain(
    control, chain, target, rng, start, step_size, num_steps, metric, factor, target_accept, learn,
    jitter, num_warmup, num_samples,
):  # fmt: skip
    dim = target.dim
    bound, record = target.bind(gradient=True), Record(dim)
    position, gradient, metric, factor, moments, work = together(
        start, np.zeros(dim), metric, factor, np.zeros((2, dim)), workspace(3, dim)
    )
    current = np.array([bound(position, gradient)])
    state, constants, ends = np.zeros(7), np.zeros(3), np.array([num_warmup])
    state[STEP] = 1.0 if step_size is None else step_size
    constants[JITTER] = jitter
    if step_size is None:
        constants[ACCEPT], constants[LEARN] = target_accept, learn
        ends = warmup_windows(num_warmup)
    values, numbers = np.empty((num_samples, dim)), np.empty((5, num_samples))
    taken = np.empty(num_samples, dtype=np.int64)
    accepted, diverging = np.empty((2, num_samples), dtype=bool)

    def step(first, last):
        return hmc_kernel(
            bound.address, bound.handle, rng, first, last, num_steps, ends, position, gradient,
            current, metric, factor, moments, state, constants, work, record.counts,
            record.points, values, numbers, taken, accepted, diverging,
        )  # fmt: skip

    num_iterations = num_warmup + num_samples
    done = advance(step, bound=bound, control=control, chain=chain, num_iterations=num_iterations)
    stats = {name: numbers[i + 1] for i, name in enumerate(_NUMBERS)}
    stats |= {"n_steps": taken, "accepted": accepted, "diverging": diverging}
    settings = {
        "step_size": state[STEP],
        "inverse_mass_matrix": metric[0] if len(metric) == 1 else metric,
        "num_outside": record.counts[NUM_OUTSIDE],
    }
    return outcome(
        done, bound=bound, record=record, rng=rng, values=values, logdensity=numbers[0],
        stats=stats, settings=settings,
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
        None draws a start for each chain, see Notes. Modes that no start leads to stay unseen.
    step_size : float, optional
        A time: in standard deviations of the posterior where M^-1 holds its variances, in the units
        of theta where M^-1 is the identity. Given, nothing is adapted and the warm-up is only a
        run-in. None adapts it in the warm-up to `target_accept`, and freezes it before the first
        draw that is kept.
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
        (1 + jitter) times the step size, so that no trajectory's length is that of a period.
    executor : concurrent.futures.Executor, optional
        Where the chains run; threads by default. A process pool, or ``client.get_executor()`` of
        a Dask cluster, makes the same draws. If a chain is lost with its worker for good, the
        executor's error is raised, and its `partial` keeps the other chains.
    progress : bool, optional
        None shows a bar on runs of more than about two seconds.

    Returns
    -------
    Draws
        stats: ``acceptance_rate`` min(1, exp(-energy_error)), ``accepted``, ``energy`` of the
        state kept, ``energy_error`` at the trajectory's end, ``step_size``, ``n_steps`` (fewer
        where a trajectory left the support), ``diverging``: the energy error passed 1000; the
        draw beside it is where the trajectory began. Settings: ``step_size`` (num_chains,),
        ``inverse_mass_matrix`` (num_chains, dim[, dim]), ``num_outside`` (num_chains,), how many
        trajectories ended where the log density is -inf, and ``tail_index`` (see `nuts`).
        Interrupted, it returns what was drawn, ``settings["interrupted"]`` set.

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
        or draws reach beyond 1e10.

    Notes
    -----
    Momenta are N(0, M), the energy is H = -log p(theta) + p' M^-1 p / 2. Draw order, for each
    iteration: one uniform for `jitter`, if there is any; `dim` standard normals z in order; then,
    after the trajectory, one uniform, also when it cannot matter; accepted when it is below min(1,
    exp(-energy error)). The momentum is z / sqrt(diag M^-1), or L'^-1 z with the lower Cholesky
    factor L of a dense M^-1. Before the first iteration of a warm-up that adapts, and after each
    change of the metric, the search for a first step draws `dim` normals for each step size that it
    tries. When `initial_position` is None, `dim` uniforms for each attempted start come first (see
    `nuts`).

    A nearly Gaussian posterior is periodic under the dynamics: a trajectory of about one period
    (2 pi standard deviations) comes back to its start. Then change `num_steps`, or pass `jitter`.

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
    dim = as_target(target).dim
    num_steps = as_count(num_steps, "num_steps", maximum=100_000)
    counts = as_counts(num_samples, num_warmup, num_chains)
    target_accept = as_target_accept(target_accept)
    jitter = as_real(jitter, "jitter", minimum=0.0)
    if jitter >= 1.0:
        raise BayeslibError(f"jitter must be below 1, a share of the step size, got {jitter}")
    if step_size is not None:
        step_size = as_positive(step_size, "step_size")
    elif counts[1] == 0:
        raise BayeslibError("num_warmup=0 leaves no time to find a step size; pass step_size")
    metric, factor = as_metric(inverse_mass_matrix, dim)
    learn = inverse_mass_matrix is None and step_size is None
    draws = sample_chains(
        _hmc_chain, (step_size, num_steps, metric, factor, target_accept, learn, jitter),
        kernel=hmc_kernel, target=target, initial_position=initial_position, gradient=True,
        counts=counts, numbers=7, rng=rng, executor=executor, progress=progress, method="hmc",
        settings={
            "num_steps": num_steps, "adapted": step_size is None, "target_accept": target_accept,
            "jitter": jitter,
        },
    )  # fmt: skip
    warn_of_divergences(draws, 'they began at values[stats["diverging"]]')
    return draws


def as_target_accept(value):
    """Return an acceptance rate to aim at, strictly between 0 and 1."""
    value = as_real(value, "target_accept", minimum=0.0, maximum=1.0)
    if value in (0.0, 1.0):
        raise BayeslibError(f"target_accept must lie between 0 and 1, got {value}")
    return value


def warn_of_divergences(draws, where):
    """Warn, once and on the sampler's caller, of transitions that diverged."""
    problem = divergence_problem(draws)
    if problem:
        by_chain = draws.stats["diverging"].sum(axis=1)
        warn(f"{problem} (by chain: {', '.join(map(str, by_chain))}; {where})")
