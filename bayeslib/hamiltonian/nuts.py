"""The public sampler: the No-U-Turn Sampler."""

import numpy as np

from ..chains.blocks import NUM_OUTSIDE, Record, advance, outcome
from ..chains.run import as_counts, sample_chains
from ..chains.warmup import warmup_windows
from ..compile.callback import together, workspace
from ..errors import BayeslibError
from ..target.target import as_target
from ..validate import as_count, as_positive
from .hmc import as_target_accept, warn_of_divergences
from .kernels import STEP
from .leapfrog import as_metric
from .nuts_kernels import DENSE, DIAGONAL, STATE_SIZE, UNIT, nuts_kernel
from .tree import work_rows

_METRICS = {"unit": UNIT, "diag": DIAGONAL, "dense": DENSE}
_NUMBERS = ("acceptance_rate", "energy", "step_size")
_DEEPEST = 20  # a million gradients a draw
_DIVERGENCES = 1000  # positions kept, a chain


def metric_windows(num_warmup, learned):
    """Return where the windows of the warm-up end, the last at `num_warmup`.

    A dense metric has Stan's. A diagonal one learns in windows of 10 iterations for the first fifth
    of the warm-up and of 30 % of it from there to 85 %, where its estimate is frozen.
    """
    if learned == DENSE:
        return warmup_windows(num_warmup)
    early, late = int(0.2 * num_warmup), int(0.85 * num_warmup)
    ends, end, size = [], 0, 10
    while end + 2 * size <= late:
        end += size
        ends.append(end)
        if end >= early:
            size = max(10, int(0.3 * num_warmup))
    return np.array([*ends, late, num_warmup])


def _nuts_chain(
    control, chain, target, rng, start, step_size, inverse_mass, root, learned, max_tree_depth,
    target_accept, num_warmup, num_samples,
):  # fmt: skip
    dim = target.dim
    bound, record = target.bind(gradient=True), Record(dim)
    position, gradient, inverse_mass, root, moments, work = together(
        start,
        np.zeros(dim),
        inverse_mass,
        root,
        np.zeros((1 + dim, dim) if learned == DENSE else (8, dim)),
        workspace(work_rows(max_tree_depth), dim),
    )
    current = np.array([bound(position, gradient), 0.0])
    state, found = np.zeros(STATE_SIZE), np.zeros(4)
    state[STEP] = 1.0 if step_size is None else step_size
    wanted, ends = 0.0, np.array([num_warmup])
    if step_size is None:
        wanted, ends = target_accept, metric_windows(num_warmup, learned)
    values, numbers = np.empty((num_samples, dim)), np.empty((4, num_samples))
    whole = np.empty((2, num_samples), dtype=np.int64)
    flags = np.empty((2, num_samples), dtype=bool)
    divergences = np.full((min(num_samples, _DIVERGENCES), dim), np.nan)

    def step(first, last):
        return nuts_kernel(
            bound.address, bound.handle, rng, first, last, max_tree_depth, learned, wanted, ends,
            position, gradient, current, inverse_mass, root, moments, state, work, found,
            record.counts, record.points, values, numbers, whole, flags, divergences,
        )  # fmt: skip

    num_iterations = num_warmup + num_samples
    done = advance(step, bound=bound, control=control, chain=chain, num_iterations=num_iterations)
    stats = {name: numbers[i + 1] for i, name in enumerate(_NUMBERS)}
    stats |= {"tree_depth": whole[0], "n_steps": whole[1]}
    stats |= {"diverging": flags[0], "reached_max_treedepth": flags[1]}
    settings = {
        "step_size": state[STEP],
        "inverse_mass_matrix": inverse_mass[0] if len(inverse_mass) == 1 else inverse_mass,
        "divergences": divergences,
        "num_outside": record.counts[NUM_OUTSIDE],
    }
    return outcome(
        done, bound=bound, record=record, rng=rng, values=values, logdensity=numbers[0],
        stats=stats, settings=settings,
    )  # fmt: skip


def nuts(
    target,
    initial_position=None,
    *,
    num_samples=1000,
    num_warmup=1000,
    num_chains=4,
    target_accept=0.8,
    max_tree_depth=10,
    metric="diag",
    step_size=None,
    inverse_mass_matrix=None,
    rng,
    executor=None,
    progress=None,
):
    """Sample by the No-U-Turn Sampler: Hamiltonian Monte Carlo that chooses its own path lengths.

    Parameters
    ----------
    target : Target
        With a gradient; it is compared with finite differences at the first chain's start.
    initial_position : array_like, shape (dim,) or (num_chains, dim), optional
        None draws a start for each chain, see Notes. Modes that no start leads to stay unseen.
    num_samples : int
        Draws kept in each chain.
    num_warmup : int
        Iterations before them, in each chain, that adapt step size and metric; not kept, but
        counted in `num_evals`.
    num_chains : int
    target_accept : float
        Mean acceptance rate the adapted step aims at, between 0 and 1. Higher means smaller steps.
        The step is made smaller still where it is unstable in the tails, see Notes.
    max_tree_depth : int
        A trajectory doubles at most this many times, up to 20: ``2**max_tree_depth - 1`` steps.
    metric : {"diag", "dense", "unit"}
        What of the inverse mass matrix M^-1 the warm-up learns: its diagonal, sd(draws) /
        sd(gradients) in each dimension; all of it, the regularised covariance of the draws; or
        nothing.
    step_size : float, optional
        A time: in standard deviations of the posterior where M^-1 holds its variances, in the units
        of theta where M^-1 is the identity. Given, nothing is adapted, `metric` is not used, and
        the warm-up is only a run-in.
    inverse_mass_matrix : array_like, shape (dim,) or (dim, dim), optional
        M^-1, in units of variance. Given, it is kept whatever `metric` says. None is the identity
        when `step_size` is given.
    rng : int, Generator, SeedSequence or None
        One chain draws from it; several draw from ``rng.spawn(num_chains)``. None takes fresh
        entropy and records it in ``settings["seed"]``.
    executor : concurrent.futures.Executor, optional
        Where the chains run; threads by default. A process pool, or ``client.get_executor()`` of
        a Dask cluster, makes the same draws. If a chain is lost with its worker for good, the
        executor's error is raised, and its `partial` keeps the other chains.
    progress : bool, optional
        None shows a bar on runs of more than about two seconds.

    Returns
    -------
    Draws
        stats: ``acceptance_rate``, the mean of min(1, exp(-energy error)) over the trajectory;
        ``energy`` of the state kept; ``step_size``; ``tree_depth``, completed doublings;
        ``n_steps``, leapfrog steps; ``diverging``, an energy error passed 1000 (the draw beside it
        comes from the doublings before that); ``reached_max_treedepth``, the trajectory had not
        turned when it was full.
        Settings: ``step_size`` (num_chains,), ``inverse_mass_matrix`` (num_chains, dim[, dim]),
        ``divergences`` (n, dim), the positions from which the diverging steps set out, chain after
        chain, at most 1000 a chain; ``num_outside`` (num_chains,), how many of the divergences
        were steps to where the log density is -inf; ``tail_index``, the order from which on
        moments do not exist, found from the density beyond the farthest draws if one is eight
        mean absolute deviations out (up to 16 evaluations), else infinite. Interrupted, it
        returns what was drawn, ``settings["interrupted"]`` set.

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
    Momenta are N(0, M), the energy is H = -log p(theta) + p' M^-1 p / 2. From the current state the
    trajectory doubles, forwards or backwards, until it turns back: until r' M^-1 p <= 0 for the sum
    r of its momenta and the first or last momentum p, in the whole, in one of the subtrees it was
    doubled from (then the new half is dropped), or across the seam of two. The next state is drawn
    with probability proportional to exp(-H) within each new half, and the new half's is preferred
    to the old with probability min(1, ratio of the two sums of exp(-H)).

    Draw order, for each iteration: `dim` standard normals z in order, where the momentum is
    z / sqrt(diag M^-1), or L'^-1 z with the lower Cholesky factor L of a dense M^-1. For each
    doubling one uniform, forwards when it is below 1/2; after each of its steps but the first, and
    unless that diverged, one, by which the newest state replaces the half's proposal when it is
    below the newest weight over the half's sum; and when the half is complete one, by which its
    proposal becomes the next state. All are drawn also when they cannot matter. Before the first
    iteration of a warm-up that adapts, and after the first change of a diagonal metric or each of
    a dense one, the search for a first step draws `dim` normals for each step size that it tries.
    When `initial_position` is None, `dim` uniforms for each attempted start come first: it is
    uniform over the target's `support` where that has both ends; at distance exp(u), u uniform on
    (-2, 2), from a single end; on (-2, 2) where there is none. Chains 1, 3, 5, … start without,
    at the mirror image of the chain before them (one minus its uniforms), if the density is finite
    there.

    The diagonal metric is updated after every warm-up iteration up to 85 %, from draws that reach
    back by one or two windows; the variance of the gradients makes its estimate exact for an
    uncorrelated Gaussian after a few draws. The dense one has Stan's doubling windows.

    Of the warm-up's trajectories between 10 and 85 %, seven in eight may double once less often
    than the last of the others did: that saves a third of the warm-up's gradients, and the draws
    that are kept are as good. At the end the step of dual averaging is reduced, to 0.7 of it at
    most, if more than one in 1500 transitions had an acceptance rate below 0.01: by the eighth
    root of the excess. So few hardly show in the mean rate, but some of them went where the step
    is beyond the stability limit of the leapfrog integrator, and others like them would diverge.

    References
    ----------
    Hoffman and Gelman (2014), The No-U-Turn Sampler. Betancourt (2013), Generalizing the No-U-Turn
    Sampler to Riemannian manifolds, for the criterion. Betancourt (2017), A conceptual introduction
    to Hamiltonian Monte Carlo, for the multinomial draw. The Stan Development Team (2019),
    Stan 2.21, for the checks across subtrees. Seyboldt, Carlson and Carpenter (2026),
    Preconditioning Hamiltonian Monte Carlo by minimizing Fisher divergence, for the metric.

    Examples
    --------
    >>> target = bl.posteriors.eight_schools()
    >>> draws = bl.nuts(target, rng=1)
    >>> print(draws.expect(lambda x: x[:, 0]), target.truth.mean[0].round(3))
    4.375 ± 0.049 4.397
    >>> print(draws.stats["diverging"].sum(), bl.bfmi(draws) > 0.3)
    0 [ True  True  True  True]
    """
    dim = as_target(target).dim
    counts = as_counts(num_samples, num_warmup, num_chains)
    max_tree_depth = as_count(max_tree_depth, "max_tree_depth", maximum=_DEEPEST)
    target_accept = as_target_accept(target_accept)
    if not (isinstance(metric, str) and metric in _METRICS):
        known = ", ".join(f'"{name}"' for name in _METRICS)
        raise BayeslibError(f"metric must be one of {known}, got {metric!r}")
    if step_size is not None:
        step_size = as_positive(step_size, "step_size")
    elif counts[1] == 0:
        raise BayeslibError("num_warmup=0 leaves no time to find a step size; pass step_size")
    learned = UNIT
    if inverse_mass_matrix is None and step_size is None:
        learned = _METRICS[metric]
    if learned == DENSE:
        inverse_mass_matrix = np.eye(dim)
    inverse_mass, root = as_metric(inverse_mass_matrix, dim)
    settings = {
        "adapted": step_size is None, "target_accept": target_accept,
        "max_tree_depth": max_tree_depth, "metric": metric,
    }  # fmt: skip
    try:
        draws = sample_chains(
            _nuts_chain,
            (step_size, inverse_mass, root, learned, max_tree_depth, target_accept),
            kernel=nuts_kernel, target=target, initial_position=initial_position, gradient=True,
            counts=counts, numbers=7, rng=rng, executor=executor, progress=progress,
            method="nuts", settings=settings,
        )  # fmt: skip
    except Exception as error:
        _join_divergences(getattr(error, "partial", None))
        raise
    _join_divergences(draws)
    warn_of_divergences(draws, 'the steps began at settings["divergences"]')
    return draws


def _join_divergences(draws):
    """Join the positions noted for the draws that are kept, chain after chain."""
    if draws is not None:
        counts = draws.stats["diverging"].sum(axis=1)
        noted = zip(draws.settings["divergences"], counts, strict=True)
        draws.settings["divergences"] = np.concatenate([rows[:count] for rows, count in noted])
