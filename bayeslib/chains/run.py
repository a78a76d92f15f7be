"""Runs of chains: how many of what, and the way there and back."""

import numpy as np

from ..errors import ImproperError, TargetError, warn
from ..results import Draws
from ..validate import shown
from .blocks import run_chains
from .loop import IMPROPER, INFINITE

FAR = 1e10


def collect(outcomes, *, target, names, interrupted, num_warmup, method, settings, extra_evals=0):
    """Join the chains' draws, cut to the shortest chain that has any.

    Parameters
    ----------
    outcomes : list of Outcome
    target : Target
        Says what went wrong.
    names : tuple of str
        Of the values.
    interrupted : bool
    num_warmup : int
    method : str
    settings : dict
        Completed by the chains' own (one entry a chain), by ``interrupted``, and by
        ``acceptance`` where proposals are accepted or not.
    extra_evals : int
        Evaluations made outside the chains.

    Returns
    -------
    Draws

    Raises
    ------
    Exception
        Whatever the log density raised, with a note of where, or whatever lost a chain (its
        worker died); `partial` keeps the draws of the other chains.
    TargetError
        The log density reached +inf.
    ImproperError
        The step size grew without bound.
    KeyboardInterrupt
        If interrupted during the warm-up.
    """
    draws = _join(outcomes, names, interrupted, num_warmup, method, settings, extra_evals)
    _raise_lost(outcomes, draws)
    for chain, outcome in enumerate(outcomes):
        if outcome.ended_early:
            _raise(target, outcome, chain, draws)
    if draws is None:
        raise KeyboardInterrupt
    _warn(target, outcomes, draws)
    return draws


def _join(outcomes, names, interrupted, num_warmup, method, settings, extra_evals):
    kept = [outcome for outcome in outcomes if outcome.done > num_warmup]
    if not kept:
        return None
    size = min(outcome.done for outcome in kept) - num_warmup

    def stack(arrays):
        if len(arrays) == 1:
            return arrays[0][None, :size]
        return np.stack([array[:size] for array in arrays])

    own = {name: np.stack([o.settings[name] for o in kept]) for name in kept[0].settings}
    stats = {name: stack([o.stats[name] for o in kept]) for name in kept[0].stats}
    if "accepted" in stats:
        own["acceptance"] = float(stats["accepted"].mean())
    num_nan = sum(int(outcome.account.num_nan) for outcome in outcomes)
    return Draws(
        stack([outcome.values for outcome in kept]),
        logdensity=stack([outcome.logdensity for outcome in kept]),
        stats=stats,
        num_evals=extra_evals + sum(int(outcome.account.num_evals) for outcome in outcomes),
        method=method,
        settings={"num_samples": len(kept[0].values), **settings}
        | own
        | {"interrupted": interrupted, "num_nan": num_nan},
        names=names,
    )


def _raise_lost(outcomes, draws):
    lost = [chain for chain, outcome in enumerate(outcomes) if outcome.error is not None]
    if not lost:
        return
    error = outcomes[lost[0]].error
    error.add_note(
        f"bayeslib: of {len(outcomes)} chains these were lost: {', '.join(map(str, lost))}. The "
        "draws of the others are in the error's `partial`; the same call with the same rng makes "
        "the same chains again"
    )
    error.partial = draws
    raise error


def _raise(target, outcome, chain, draws):
    where = f"chain {chain}, iteration {outcome.done} (warm-up included)"
    if outcome.raised is not None:
        error = outcome.raised
        error.add_note(f"bayeslib: in {where}")
    elif outcome.failed_at is not None:
        error = target.explain(outcome.failed_at)
        error.add_note(
            f"bayeslib: raised at theta={shown(target._place(outcome.failed_at))} in {where}"
        )
    elif outcome.account.status == INFINITE:
        error = TargetError(
            f"the log density is +inf at theta={shown(target._place(outcome.points[1]))} in "
            f"{where}: it overflows, or the density is not integrable there"
        )
    else:
        assert outcome.account.status == IMPROPER
        error = ImproperError(
            f"the step size grew beyond 1e7 in {where}: the posterior seems improper, that is flat "
            "for ever in some direction; check that every parameter has a proper prior, and that "
            f"{target.logdensity.__name__!r} returns the logarithm of a density, not a density"
        )
    error.partial = draws
    raise error


def _warn(target, outcomes, draws):
    if draws.settings["num_nan"]:
        first = next(o.points[0] for o in outcomes if o.account.num_nan)
        warn(
            f"the log density was nan at {draws.settings['num_nan']} proposals, which were "
            f"rejected; the first was theta={shown(target._place(first))}"
        )
    if max(draws.values.max(), -draws.values.min()) > FAR:
        warn(
            f"draws reach beyond {FAR:g}: the posterior may be improper; check the priors, and "
            "that the function returns the logarithm of a density, not a density"
        )


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
