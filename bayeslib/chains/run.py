"""Runs of chains: how many of what, and the way there and back."""

from ..errors import TooLargeError
from ..validate import as_count
from .blocks import run_chains
from .collect import collect

_LONGEST = 10**9  # iterations of a warm-up


def as_counts(num_samples, num_warmup, num_chains):
    """Return the three counts as integers, or raise BayeslibError naming the one that is not."""
    num_samples = as_count(num_samples, "num_samples")
    num_warmup = as_count(num_warmup, "num_warmup", minimum=0)
    if num_warmup > _LONGEST:
        raise TooLargeError(f"num_warmup must be at most {_LONGEST:,}, got {num_warmup:,}")
    return num_samples, num_warmup, as_count(num_chains, "num_chains")


def run_from(
    starts, generators, chain, arguments, *, kernel, target, names, counts, rng, executor, progress,
    method, settings, extra_evals=0,
):  # fmt: skip
    """Run one chain a start and join what they drew.

    Parameters
    ----------
    starts : array_like, one a chain
    generators : list of numpy.random.Generator
    chain : callable
        chain(control, index, target, rng, start, *arguments, counts) -> Outcome; a function of an
        importable module.
    arguments : tuple
        The sampler's own, the same for every chain; picklable.
    kernel : Kernel or Algorithm
        Compiled here, before the chains need it at once.
    target : Target
        Or any model of which `chain` knows the law; only one with a density is asked what went
        wrong.
    names : tuple of str
        Of the values drawn.
    counts, rng, executor, progress
        See `Algorithm.sample`.
    method, settings, extra_evals
        See `collect`.

    Returns
    -------
    Draws
    """
    num_samples, num_warmup, num_chains = counts
    jobs = [
        (target, generator, start, *arguments, counts)
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
