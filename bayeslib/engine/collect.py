"""From the chains' outcomes to Draws, or to an error that keeps what was drawn."""

import warnings

import numpy as np

from ..errors import BayeslibWarning, ImproperError, TargetError
from ..results import Draws
from .chains import FINE, IMPROPER, INFINITE, NUM_EVALS, NUM_NAN, STATUS

FAR = 1e10


def collect(outcomes, *, target, interrupted, num_warmup, method, settings, extra_evals=0):
    """Join the chains' draws, cut to the shortest chain that has any.

    Parameters
    ----------
    outcomes : list of Outcome
    target : Target
        For its names, and to say what went wrong.
    interrupted : bool
    num_warmup : int
    method : str
    settings : dict
        Completed by the chains' own (one entry a chain) and by ``interrupted``.
    extra_evals : int
        Evaluations made outside the chains.

    Returns
    -------
    Draws

    Raises
    ------
    Exception
        Whatever the log density raised, with a note of where; `partial` keeps the draws.
    TargetError
        The log density reached +inf.
    ImproperError
        The step size grew without bound.
    KeyboardInterrupt
        If interrupted during the warm-up.
    """
    draws = _join(outcomes, target, interrupted, num_warmup, method, settings, extra_evals)
    for chain, outcome in enumerate(outcomes):
        if outcome.failed_at is not None or outcome.counts[STATUS] != FINE:
            _raise(target, outcome, chain, draws)
    if draws is None:
        raise KeyboardInterrupt
    _warn(outcomes, draws)
    return draws


def _join(outcomes, target, interrupted, num_warmup, method, settings, extra_evals):
    kept = [outcome for outcome in outcomes if outcome.done > num_warmup]
    if not kept:
        return None
    size = min(outcome.done for outcome in kept) - num_warmup

    def stack(arrays):
        if len(arrays) == 1:
            return arrays[0][None, :size]
        return np.stack([array[:size] for array in arrays])

    own = {name: np.stack([o.settings[name] for o in kept]) for name in kept[0].settings}
    num_nan = sum(int(outcome.counts[NUM_NAN]) for outcome in outcomes)
    return Draws(
        stack([outcome.values for outcome in kept]),
        logdensity=stack([outcome.logdensity for outcome in kept]),
        stats={name: stack([o.stats[name] for o in kept]) for name in kept[0].stats},
        num_evals=extra_evals + sum(int(outcome.counts[NUM_EVALS]) for outcome in outcomes),
        method=method,
        settings={"num_samples": len(kept[0].values), **settings}
        | own
        | {"interrupted": interrupted, "num_nan": num_nan},
        names=target.names,
    )


def _raise(target, outcome, chain, draws):
    where = f"chain {chain}, iteration {outcome.done} (warm-up included)"
    if outcome.failed_at is not None:
        error = target.explain(outcome.failed_at)
        error.add_note(f"bayeslib: raised at theta={_shown(outcome.failed_at)} in {where}")
    elif outcome.counts[STATUS] == INFINITE:
        error = TargetError(
            f"the log density is +inf at theta={_shown(outcome.points[1])} in {where}: it "
            "overflows, or the density is not integrable there"
        )
    else:
        assert outcome.counts[STATUS] == IMPROPER
        error = ImproperError(
            f"the step size grew beyond 1e7 in {where}: the posterior seems improper, that is flat "
            "for ever in some direction; check that every parameter has a proper prior"
        )
    error.partial = draws
    raise error


def _warn(outcomes, draws):
    if draws.settings["num_nan"]:
        first = next(o.points[0] for o in outcomes if o.counts[NUM_NAN])
        warnings.warn(
            f"the log density was nan at {draws.settings['num_nan']} proposals, which were "
            f"rejected; the first was theta={_shown(first)}",
            BayeslibWarning,
            stacklevel=4,
        )
    if max(draws.values.max(), -draws.values.min()) > FAR:
        warnings.warn(
            f"draws reach beyond {FAR:g}: the posterior may be improper; check the priors",
            BayeslibWarning,
            stacklevel=4,
        )


def _shown(theta):
    return np.array2string(theta, precision=6, separator=", ", threshold=12)
