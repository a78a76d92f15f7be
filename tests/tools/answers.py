"""`nuts`, every fit and weighted method on a posterior: is its answer right or flagged?

An answer is silently wrong when no problem is named and a mean is more than six of its own errors
and half a posterior sd off, or the log evidence six errors and half a nat, or a fit's sd is below
0.8 of the truth. The error of a fit is that of the approximation: none of sampling.
"""

import functools
from typing import NamedTuple

import numpy as np
from outside_models import OUTSIDE, proposal

import bayeslib as bl

ERRORS, SDS, NATS, SPREAD = 6.0, 0.5, 0.5, 0.8


def weighted(name, rng):
    return bl.importance_sample(OUTSIDE[name], proposal(name), num_samples=10_000, rng=rng)


def from_a_fit(fit, name, rng):
    """Importance sampling from a fit, and what the fit says of itself."""
    q = FITS[fit](name, rng)
    return bl.importance_sample(OUTSIDE[name], q, num_samples=5000, rng=rng), q.problems


def laplace(name, rng):
    target = OUTSIDE[name]
    coordinates = "own" if target.support is None else "unconstrained"
    return bl.laplace(target, coordinates=coordinates)


FITS = {
    "laplace": laplace,
    "advi": lambda name, rng: bl.advi(OUTSIDE[name], rng=rng),
    "advi, full rank": lambda name, rng: bl.advi(OUTSIDE[name], family="fullrank", rng=rng),
    "bbvi": lambda name, rng: bl.bbvi(OUTSIDE[name], rng=rng),
    "pathfinder": lambda name, rng: bl.pathfinder(OUTSIDE[name], rng=rng),
}
WEIGHTED = {
    "multipathfinder": lambda name, rng: bl.multipathfinder(OUTSIDE[name], rng=rng),
    "importance": weighted,
    "importance from laplace": lambda name, rng: from_a_fit("laplace", name, rng),
    "importance from advi": lambda name, rng: from_a_fit("advi, full rank", name, rng),
    "resample": lambda name, rng: bl.resample(weighted(name, rng), num_samples=1000, rng=rng),
    "adaptive importance": lambda name, rng: bl.adaptive_importance_sample(
        OUTSIDE[name], proposal(name), num_samples=5000, rng=rng
    ),
    "annealed importance": lambda name, rng: bl.annealed_importance_sample(
        OUTSIDE[name], proposal(name), num_samples=1000, rng=rng
    ),
    "smc": lambda name, rng: bl.smc(OUTSIDE[name], proposal(name), num_samples=2000, rng=rng),
}  # fmt: skip
METHODS = FITS | WEIGHTED | {"nuts": lambda name, rng: bl.nuts(OUTSIDE[name], rng=rng)}


class Answer(NamedTuple):
    """What a method said of a posterior; `sds`, `nats` and `spread` are the worst found."""

    problems: tuple
    errors: float = 0.0  # of the worst mean, in its own
    sds: float = 0.0  # of the same, in posterior sds
    nats: float = 0.0  # of the log evidence, if six errors off
    spread: float = 1.0  # smallest sd of a fit over the true one
    refused: str = ""

    @property
    def flagged(self):
        return bool(self.problems or self.refused)

    @property
    def wrong(self):
        """Beyond its errors, flagged or not; not a number is wrong."""
        off = not (self.errors <= ERRORS or self.sds <= SDS)
        return off or self.nats > NATS or not self.spread >= SPREAD

    @property
    def silently_wrong(self):
        return self.wrong and not self.flagged


def measure(result, target, *, fit, said=()):
    """Judge a result by the truth of its target; `said` was said before it."""
    estimate, truth = result.expect(), target.truth
    true_sd = np.sqrt(np.diag(truth.cov))
    value, error = np.ravel(estimate.value), np.ravel(estimate.mcse)
    sds = np.abs(value - truth.mean) / true_sd
    floor = 1e-9 * true_sd
    errors = sds * true_sd / (floor if fit else np.fmax(error, floor))
    excess = np.where(np.isnan(sds), np.inf, np.minimum(errors / ERRORS, sds / SDS))
    i = int(np.argmax(excess))
    nats, spread = 0.0, 1.0
    evidence = getattr(result, "log_evidence", None)
    if not fit and evidence is not None and truth.log_evidence is not None:
        miss = abs(float(evidence) - truth.log_evidence)
        nats = miss if miss > ERRORS * float(evidence.mcse) else 0.0
    if fit:
        centre = result.expect().value
        variance = np.ravel(result.expect(lambda x: (x - centre) ** 2).value)
        spread = float(np.min(np.sqrt(variance) / true_sd))
    return Answer((*said, *result.problems), float(errors[i]), float(sds[i]), float(nats), spread)


@functools.cache
def answer(method, name, seed):
    """What a method with its defaults says of a posterior; a refusal in words is an answer."""
    try:
        result = METHODS[method](name, np.random.default_rng([820, seed]))
    except bl.BayeslibError as refusal:
        return Answer((), refused=str(refusal))
    result, said = result if isinstance(result, tuple) else (result, ())
    return measure(result, OUTSIDE[name], fit=method in FITS, said=said)
