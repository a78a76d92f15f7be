"""What every sampler of chains does around its own loop."""

import dataclasses

import numpy as np

from ..errors import TooLargeError
from ..validate import as_count, as_rng, check_memory
from .blocks import run_chains, spawn
from .collect import collect
from .far import tail_index
from .starts import initial_positions

_LONGEST = 10**9  # iterations of a warm-up


def as_counts(num_samples, num_warmup, num_chains):
    """Return the three counts as integers, or raise BayeslibError naming the one that is not."""
    num_samples = as_count(num_samples, "num_samples")
    num_warmup = as_count(num_warmup, "num_warmup", minimum=0)
    if num_warmup > _LONGEST:
        raise TooLargeError(f"num_warmup must be at most {_LONGEST:,}, got {num_warmup:,}")
    return num_samples, num_warmup, as_count(num_chains, "num_chains")


def sample_chains(
    chain,
    arguments,
    *,
    kernel,
    target,
    initial_position,
    gradient=False,
    draw=None,
    prepare=None,
    counts,
    numbers,
    rng,
    executor,
    progress,
    method,
    settings,
    tails=True,
):
    """Run one chain a generator from checked starts, and join what they drew.

    Parameters
    ----------
    chain : callable
        chain(control, index, target, rng, start, *arguments, num_warmup, num_samples) -> Outcome;
        a function of an importable module.
    arguments : tuple
        The sampler's own, the same for every chain; picklable.
    kernel : Kernel
        Compiled here, before the chains need it at once.
    target : Target
    initial_position : array_like or None
        See `initial_positions`, as for `gradient` and `draw`.
    prepare : callable, optional
        prepare(starts, generators) is called before the chains begin; it draws nothing.
    counts : tuple of int
        From `as_counts`.
    numbers : int
        Kept for each draw, the values not counted, to estimate the memory.
    rng : int, Generator, SeedSequence or None
        A generator that one chain draws from is left where that chain left it, also when it ran
        in another process.
    executor, progress
        See `run_chains`.
    method : str
    settings : dict
        Completed by ``num_warmup`` and ``seed``, as `collect` says, and by ``tail_index``.
    tails : bool
        Whether the target's density is that of the draws, and can be asked about its tails.

    Returns
    -------
    Draws
    """
    num_samples, _, num_chains = counts
    check_memory((2, num_chains, num_samples, target.dim + numbers), "draws")
    rng, seed = as_rng(rng)
    generators = spawn(rng, num_chains)
    starts, num_evals = initial_positions(
        target, initial_position, generators, gradient=gradient, draw=draw
    )
    if prepare is not None:
        prepare(starts, generators)
    draws = run_from(
        starts, generators, chain, arguments, kernel=kernel, target=target, names=target.names,
        counts=counts, rng=rng, executor=executor, progress=progress, method=method,
        settings={"seed": seed, **settings}, extra_evals=num_evals,
    )  # fmt: skip
    if draws.settings["interrupted"] or not tails or not np.isfinite(draws.values).all():
        return draws
    draws.settings["tail_index"], spent = tail_index(target, draws.values, gradient=gradient)
    return dataclasses.replace(draws, num_evals=draws.num_evals + spent) if spent else draws


def run_from(
    starts, generators, chain, arguments, *, kernel, target, names, counts, rng, executor, progress,
    method, settings, extra_evals=0,
):  # fmt: skip
    """Run one chain a start and join what they drew, `names` being those of the draws.

    The rest is as `sample_chains` and `collect` say. `target` may be any model of which `chain`
    knows the law; only one with a density is asked what went wrong.
    """
    num_samples, num_warmup, num_chains = counts
    jobs = [
        (target, generator, start, *arguments, num_warmup, num_samples)
        for generator, start in zip(generators, starts, strict=True)
    ]
    kernel.compile()
    outcomes, interrupted = run_chains(
        chain, jobs, num_iterations=num_warmup + num_samples, executor=executor,
        progress=progress, title=method,
    )  # fmt: skip
    if num_chains == 1:
        rng.bit_generator.state = outcomes[0].rng_state
    return collect(
        outcomes, target=target, names=names, interrupted=interrupted, num_warmup=num_warmup,
        method=method, settings={"num_warmup": num_warmup, **settings}, extra_evals=extra_evals,
    )  # fmt: skip
