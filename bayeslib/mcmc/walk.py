"""Markov chain Monte Carlo: the random-walk Metropolis algorithm."""

import warnings

import numpy as np

from .engine import (
    ADDRESS,
    FLAGS,
    GENERATOR,
    HANDLE,
    INFINITE,
    INT,
    INTS,
    MATRIX,
    NUM_EVALS,
    NUM_NAN,
    STATUS,
    VECTOR,
    Record,
    advance,
    collect,
    density,
    helper,
    initial_positions,
    kernel,
    outcome,
    run_chains,
    spawn,
    together,
    warmup_windows,
)
from .errors import BayeslibWarning
from .target import as_target
from .validate import as_count, as_rng, as_scale, check_memory

# Acceptance rates at which the random walk mixes fastest, for 1, 2, … dimensions
# (Gelman, Roberts and Gilks, 1996); the last holds beyond.
_BEST_ACCEPTANCE = (0.44, 0.35, 0.28, 0.26, 0.234)
_JUMP = 2.38  # times the posterior's scale over sqrt(dim): the best step for a Gaussian

# The adaptation's state: logarithm of the factor, its average, steps since the window began.
_FACTOR, _AVERAGE, _COUNT, _WINDOW = range(4)


@helper
def _adapt_factor(state, ratio, best):
    """Move the logarithm of the factor towards the best acceptance (Robbins and Monro, 1951)."""
    state[_COUNT] += 1.0
    n = state[_COUNT]
    accepted = np.exp(min(ratio, 0.0)) if ratio == ratio else 0.0
    state[_FACTOR] += (accepted - best) * n**-0.6 / (best * (1.0 - best)) ** 0.5
    weight = n**-0.75  # recent values count more, as in Nesterov's dual averaging
    state[_AVERAGE] += weight * (state[_FACTOR] - state[_AVERAGE])


@helper
def _adapt_shape(t, ends, state, position, shape, moments, start):
    """Learn each dimension's scale from the draws of this window; begin the next at its end."""
    window = int(state[_WINDOW])
    if window > 0 and window < ends.size - 1:
        n = t - ends[window - 1] + 1.0
        for i in range(position.size):
            change = position[i] - moments[0, i]
            moments[0, i] += change / n
            moments[1, i] += change * (position[i] - moments[0, i])
    if t + 1 != ends[window]:
        return
    if window > 0 and window < ends.size - 1:
        n = ends[window] - ends[window - 1]
        for i in range(position.size):
            old = np.exp(2.0 * state[_AVERAGE]) * shape[i] ** 2
            variance = moments[1, i] / max(n - 1.0, 1.0)
            shape[i] = np.sqrt((n * variance + 1e-3 * 5.0 * old) / (n + 5.0))
        # The first scales learned replace a guess, and the factor that went with it.
        state[_FACTOR] = start if window == 1 else state[_AVERAGE]
        state[_AVERAGE] = state[_FACTOR]
    moments[:] = 0.0
    state[_COUNT] = 0.0
    state[_WINDOW] += 1.0


@kernel(
    INT, ADDRESS, HANDLE, GENERATOR, INT, INT, INTS, VECTOR, VECTOR, VECTOR, MATRIX, VECTOR,
    VECTOR, INTS, MATRIX, MATRIX, VECTOR, VECTOR, FLAGS,
)  # fmt: skip
def metropolis_kernel(
    address, handle, rng, first, last, ends, position, current, shape, moments, state,
    constants, counts, points, draws, logdensity, acceptance, accepted,
):  # fmt: skip
    """Do the iterations first, …, last - 1; the first ``ends[-1]`` are adaptation or warm-up.

    `current` holds the log density at `position`; `constants` the best acceptance rate (0 when
    the scale is fixed) and the logarithm of the initial factor. Returns where it stopped.
    """
    dim = position.size
    proposal, unused, scale = np.empty(dim), np.empty(dim), np.empty(dim)
    num_warmup = ends[ends.size - 1]
    best, start = constants[0], constants[1]
    lp = current[0]
    for t in range(first, last):
        if t == first or t <= num_warmup:
            log_factor = state[_AVERAGE] if t >= num_warmup else state[_FACTOR]
            factor = np.exp(log_factor)
            for i in range(dim):
                scale[i] = factor * shape[i]
        for i in range(dim):
            proposal[i] = position[i] + scale[i] * rng.standard_normal()
        uniform = rng.random()
        new = density(address, proposal, unused, handle)
        counts[NUM_EVALS] += 1
        if handle[handle.size - 1] != 0:
            current[0] = lp
            return t
        ratio = new - lp
        if not new < np.inf:
            if new == np.inf:
                counts[STATUS] = INFINITE
                points[1] = proposal
                current[0] = lp
                return t
            if counts[NUM_NAN] == 0:
                points[0] = proposal
            counts[NUM_NAN] += 1
            ratio = -np.inf
        probability = np.exp(min(ratio, 0.0))
        accept = uniform < probability
        if accept:
            lp = new
            for i in range(dim):
                position[i] = proposal[i]
        if t < num_warmup:
            if best > 0.0:
                _adapt_factor(state, ratio, best)
                _adapt_shape(t, ends, state, position, shape, moments, start)
            continue
        n = t - num_warmup
        for i in range(dim):
            draws[n, i] = position[i]
        logdensity[n] = lp
        acceptance[n] = probability
        accepted[n] = accept
    current[0] = lp
    return last


def _metropolis_chain(control, chain, target, rng, start, scale, num_warmup, num_samples):
    dim = target.dim
    bound, record = target.bind(gradient=False), Record(dim)
    position, shape, moments = together(start, np.ones(dim), np.zeros((2, dim)))
    current = np.array([bound(position, np.empty(dim))])
    values, logdensity = np.empty((num_samples, dim)), np.empty(num_samples)
    acceptance, accepted = np.empty(num_samples), np.empty(num_samples, dtype=bool)
    state = np.zeros(4)
    ends, constants = np.array([num_warmup]), np.zeros(2)
    if scale is None:
        log_factor = np.log(_JUMP / np.sqrt(dim))
        state[_FACTOR] = state[_AVERAGE] = log_factor
        constants[:] = _BEST_ACCEPTANCE[min(dim, len(_BEST_ACCEPTANCE)) - 1], log_factor
        ends = warmup_windows(num_warmup)
    else:
        shape[:] = scale

    def step(first, last):
        return metropolis_kernel(
            bound.address, bound.handle, rng, first, last, ends, position, current, shape,
            moments, state, constants, record.counts, record.points, values, logdensity,
            acceptance, accepted,
        )  # fmt: skip

    num_iterations = num_warmup + num_samples
    done = advance(step, bound=bound, control=control, chain=chain, num_iterations=num_iterations)
    stats = {"acceptance_rate": acceptance, "accepted": accepted}
    settings = {"scale": np.exp(state[_AVERAGE]) * shape}
    return outcome(
        done, bound=bound, record=record, rng=rng, values=values, logdensity=logdensity,
        stats=stats, settings=settings,
    )  # fmt: skip


def metropolis(
    target,
    initial_position,
    *,
    scale=None,
    num_samples=1000,
    num_warmup=1000,
    num_chains=4,
    rng,
    executor=None,
    progress=None,
):
    """Sample by the random-walk Metropolis algorithm with Gaussian proposals.

    Parameters
    ----------
    target : Target
    initial_position : array_like, shape (dim,) or (num_chains, dim), or None
        None draws a start for each chain, see Notes.
    scale : float or array_like, shape (dim,), optional
        Standard deviation of the proposal in each dimension. None adapts it in the warm-up: each
        dimension's scale from the draws of doubling windows, times a common factor tuned to an
        acceptance rate between 0.44 (one dimension) and 0.234 (five and more). It is frozen
        before the first draw that is kept.
    num_samples : int
        Draws kept in each chain.
    num_warmup : int
        Iterations before them, in each chain; not kept, but counted in `num_evals`.
    num_chains : int
    rng : int, Generator, SeedSequence or None
        One chain draws from it; several draw from ``rng.spawn(num_chains)``. None takes fresh
        entropy and records it in ``settings["seed"]``.
    executor : concurrent.futures.Executor, optional
        Where the chains run; threads by default. The draws do not depend on it.
    progress : bool, optional
        None shows a bar on runs of more than about two seconds.

    Returns
    -------
    Draws
        stats: ``acceptance_rate``, the probability with which the proposal was accepted, and
        ``accepted``, whether it was. ``settings["scale"]`` has the scale of each chain,
        (num_chains, dim). Interrupted, it returns what was drawn, ``settings["interrupted"]`` set.

    Raises
    ------
    BayeslibError
        For arguments out of range, each named; StartError when the density at a start is nan,
        infinite or zero.
    MemoryError
        Before the run, when the draws would not fit.

    Notes
    -----
    From theta, the proposal theta' = theta + scale * z is accepted with probability
    min(1, p(theta') / p(theta)). Draw order, for each iteration: the `dim` standard normals z, in
    order, then one uniform, also when it cannot matter; accepted when it is below the
    probability. A proposal where the density is nan is rejected and counted
    (``settings["num_nan"]``). When `initial_position` is None, `dim` uniforms for each attempted
    start come first.

    References
    ----------
    Metropolis, Rosenbluth, Rosenbluth, Teller and Teller (1953), Equation of state calculations
    by fast computing machines. Gelman, Roberts and Gilks (1996), Efficient Metropolis jumping
    rules.
    """
    dim = as_target(target).dim
    num_samples = as_count(num_samples, "num_samples")
    num_warmup = as_count(num_warmup, "num_warmup", minimum=0)
    num_chains = as_count(num_chains, "num_chains")
    if scale is not None:
        scale = as_scale(scale, "scale", dim)
    elif num_warmup == 0:
        warnings.warn(
            "num_warmup=0 leaves no time to adapt the scale, which stays at "
            f"{_JUMP / np.sqrt(dim):.3g}; pass scale, or num_warmup=1000",
            BayeslibWarning,
            stacklevel=2,
        )
    check_memory((2, num_chains, num_samples, dim + 3), "draws")
    rng, seed = as_rng(rng)
    generators = spawn(rng, num_chains)
    starts, num_evals = initial_positions(target, initial_position, generators, gradient=False)
    jobs = [
        (target, generator, start, scale, num_warmup, num_samples)
        for generator, start in zip(generators, starts, strict=True)
    ]
    metropolis_kernel.compile()
    outcomes, interrupted = run_chains(
        _metropolis_chain, jobs, num_iterations=num_warmup + num_samples, executor=executor,
        progress=progress, title="metropolis",
    )  # fmt: skip
    if num_chains == 1:
        rng.bit_generator.state = outcomes[0].rng_state  # it may have advanced in another process
    return collect(
        outcomes, target=target, interrupted=interrupted, num_warmup=num_warmup,
        method="metropolis", extra_evals=num_evals,
        settings={"num_warmup": num_warmup, "seed": seed, "adapted": scale is None},
    )  # fmt: skip
