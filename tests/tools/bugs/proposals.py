"""Samplers that take proposals of the user's own, and do not do them justice."""

from planting import Bug

from bayeslib.chains.loop import ask, log_density
from bayeslib.compile.callback import helper
from bayeslib.markov.independence_metropolis import independence_step
from bayeslib.markov.metropolis_hastings import correction, metropolis_hastings_step

from .metropolis import ACCEPTANCES, not_refreshed, until_accepted

independence = helper(independence_step)


def wrong_sign(target, log_new, m):
    return -correction(target, log_new, m)


def way_back(target, log_new, m):
    return ask(target, m.compare, m.position, m.proposal, m.compare_handle)


def without_q(target, rng, log_p, x, note):
    x.log_q[target.account.t] = 0.0
    x.now.log_weight = log_density(target, x.position)
    return independence(target, rng, log_p, x, note)


def old_weight(target, rng, log_p, x, note):
    weight = x.now.log_weight
    log_p = independence(target, rng, log_p, x, note)
    x.now.log_weight = weight
    return log_p


def _unconserved(place, wrong, name):
    test = "test_invariance.test_conserves_the_target"
    return Bug(f"bayeslib.{place}", wrong, test, {"name": name})


_HASTINGS = "metropolis_hastings log_gamma_normal"
_INDEPENDENCE = "markov.independence_metropolis.independence_step"
_ACCEPTANCE = "chains.loop.acceptance"


def _hastings(place, wrong):
    return _unconserved(f"markov.metropolis_hastings.{place}", wrong, _HASTINGS)


def _independence(place, wrong, row="mixture"):
    return _unconserved(place, wrong, f"independence_metropolis {row}")


BUGS = {
    name: _hastings(place, wrong)
    for name, place, wrong in [
        ("the correction is left out", "correction", lambda target, log_new, m: 0.0),
        ("the correction has the wrong sign", "correction", wrong_sign),
        ("the correction asks for the way back", "correction", way_back),
    ]
} | {
    "rejected state not repeated": _hastings(
        "metropolis_hastings_step", until_accepted(metropolis_hastings_step)
    ),
    "the log density is never refreshed": _hastings(
        "metropolis_hastings_step", not_refreshed(metropolis_hastings_step)
    ),
    "independence: the proposal's density is left out": _independence(_INDEPENDENCE, without_q),
    "independence: the weight is never refreshed": _independence(_INDEPENDENCE, old_weight),
}
for name, wrong in list(ACCEPTANCES.items())[1:]:
    BUGS[name] = _unconserved(_ACCEPTANCE, wrong, _HASTINGS)
for name, wrong in ACCEPTANCES.items():
    row = "wide mixture" if "floored" in name else "mixture"
    BUGS[f"independence: {name}"] = _independence(_ACCEPTANCE, wrong, row)
