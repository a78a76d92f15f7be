"""What chains made, joined; and what went wrong in them."""

import numpy as np

from ..errors import ImproperError, TargetError, warn
from ..results import Draws
from ..validate import shown
from .blocks import Outcome
from .far import disagree
from .loop import INFINITE

FAR = 1e10


def join_chains(outcomes, target, plan, interrupted, join, what="log density", of="theta"):
    """Join what chains made, cut to the shortest that has any.

    Parameters
    ----------
    outcomes, interrupted
        From `run_chains`.
    target : Target
        Asked what went wrong, where it has a density.
    plan : Plan
    join : callable
        join(outcomes, size, num_evals, settings) -> what is returned, of the chains that got beyond
        their warm-up, by as much as `size`; settings are ``num_samples``, ``num_warmup``,
        ``interrupted`` and ``num_nan``. See `into_draws`.
    what, of : str
        What may be nan, and of what it is a function.

    Raises
    ------
    Exception
        See `raise_trouble`.
    """
    num_samples, num_warmup = plan.num_samples, plan.num_warmup
    made, found = [one for one in outcomes if isinstance(one, Outcome)], None
    num_nan = sum(int(one.account.num_nan) for one in made)
    num_evals = sum(int(one.account.num_evals) for one in made)
    kept = [one for one in made if one.done > num_warmup]
    if kept:
        size = min(one.done for one in kept) - num_warmup
        settings = {"num_samples": num_samples, "num_warmup": num_warmup}
        settings |= {"interrupted": interrupted, "num_nan": num_nan}
        found = join(kept, size, num_evals, settings)
    raise_trouble(target, outcomes, found)
    warn(interrupted and f"the run was interrupted: {size} of {num_samples} draws a chain are kept")
    if num_nan:
        first = shown(target._place(next(one.points[0] for one in made if one.account.num_nan)))
        warn(f"the {what} was nan at {num_nan} proposals, which were rejected; first {of}={first}")
    values = [one.values[:size] for one in kept]
    far = max(max(x.max(initial=0.0), -x.min(initial=0.0)) for x in values) > FAR
    if far and disagree(np.stack(values)):
        warn(f"draws reach beyond {FAR:g}: improper? check the priors, and that it is a logarithm")
    return found


def into_draws(method, names, settings, extra_evals=0):
    """Return a `join` for `Algorithm.run` that makes `Draws`.

    Parameters
    ----------
    method : str
    names : tuple of str
        Of the values.
    settings : dict
        Completed by the chains' own (one entry a chain), and by ``acceptance`` where proposals are
        accepted or not.
    extra_evals : int
        Evaluations made outside the chains.
    """

    def join(outcomes, size, num_evals, counted):
        def stack(arrays):
            return np.stack([array[:size] for array in arrays])

        first = outcomes[0]
        own = {name: np.stack([one.settings[name] for one in outcomes]) for name in first.settings}
        stats = {name: stack([one.stats[name] for one in outcomes]) for name in first.stats}
        if "accepted" in stats:
            own["acceptance"] = float(stats["accepted"].mean())
        values = stack([one.values for one in outcomes])
        log_p = stack([one.logdensity for one in outcomes])
        return Draws(
            values, logdensity=log_p, stats=stats, num_evals=extra_evals + num_evals, method=method,
            settings=counted | settings | own, names=names,
        )  # fmt: skip

    return join


def raise_trouble(target, outcomes, partial):
    """Raise what went wrong first, its `partial` being what the chains made until then.

    Raises
    ------
    Exception
        Whatever lost a chain (its worker died), or a function of the user's raised, with a note of
        where.
    TargetError
        The log density reached +inf.
    ImproperError
        The step size grew without bound.
    KeyboardInterrupt
        If interrupted during the warm-up: `partial` is None.
    """
    lost = [chain for chain, one in enumerate(outcomes) if not isinstance(one, Outcome)]
    early = [chain for chain, one in enumerate(outcomes) if chain not in lost and one.ended_early]
    if lost:
        error = outcomes[lost[0]]
        told = f"of {len(outcomes)} chains these were lost: {', '.join(map(str, lost))}"
        remedy = "`partial` has the others' draws, and the same rng makes the same chains again"
        error.add_note(f"bayeslib: {told}; {remedy}")
    elif early:
        error = _reason(target, outcomes[early[0]], early[0])
    elif partial is None:
        raise KeyboardInterrupt
    else:
        return
    error.partial = partial
    raise error


def _reason(target, outcome, chain):
    """Return the error that ended a chain."""
    where = f"chain {chain}, iteration {outcome.done} (warm-up included)"
    if outcome.raised is not None:
        outcome.raised.add_note(f"bayeslib: in {where}")
        return outcome.raised
    if outcome.failed_at is not None:
        error, theta = target.explain(outcome.failed_at), target._place(outcome.failed_at)
        error.add_note(f"bayeslib: raised at theta={shown(theta)} in {where}")
        return error
    if outcome.account.status == INFINITE:
        theta = shown(target._place(outcome.points[1]))
        return TargetError(f"the log density is +inf at theta={theta} in {where}: it overflows")
    remedy = f"check the priors, and that {target.logdensity.__name__!r} returns a logarithm"
    found = f"the step size grew beyond 1e7 in {where}: the posterior seems improper"
    return ImproperError(f"{found}; {remedy}")
