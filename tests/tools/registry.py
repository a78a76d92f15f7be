"""Every sampling algorithm of bayeslib, once: the tests of test_registry.py run over this table.

A new algorithm is one more entry. That brings it the comparison with its plain twin (when a page
has cells tagged ``plain-<name>``), the seed contract, recovery of exact truth with a twin that
must fail, the contract of results, and the bad input that every algorithm refuses alike.
"""

import inspect
import math
from dataclasses import dataclass, field

import numpy as np
from linear_chains import batches, hamilton, langevin, law, regression_batches
from scipy import stats

import bayeslib as bl
from bayeslib import posteriors


def case(target, *arguments, **options):
    """Return how a public function is called: target, further arguments, options."""
    return target, arguments, options


@dataclass(frozen=True)
class Algorithm:
    """How to call one public function on targets whose truth is known.

    Parameters
    ----------
    function : callable
    page : str, optional
        The page with its plain twin.
    cases : dict
        Name: (target, the positional arguments after it, keyword arguments without rng).
    num_samples : int
        Draws (a chain) with which recovery is judged.
    compared : int
        Draws compared with the plain twin.
    tuning : dict
        What the twin is told, because it has no warm-up that would find it out.
    """

    function: object
    cases: dict
    page: str | None = None
    num_samples: int = 20_000
    compared: int = 400
    tuning: dict = field(default_factory=dict)

    @property
    def name(self):
        return self.function.__name__

    @property
    def chains(self):
        return "num_chains" in inspect.signature(self.function).parameters

    def run(self, case, rng, function=None, **changes):
        target, arguments, options = self.cases[case]
        options = {"num_samples": self.num_samples} | options | changes
        return (function or self.function)(target, *arguments, rng=rng, **options)

    def run_compared(self, case, rng, function=None):
        """Run so that a plain twin can follow: of chains one, from its start, without warm-up."""
        if not self.chains:
            return self.run(case, rng, function, num_samples=self.compared)
        target, arguments, options = self.cases[case]
        arguments = [a[0] if isinstance(a, np.ndarray) else a for a in arguments]
        options = options | self.tuning | {"num_samples": self.compared}
        if function is None:
            options |= {"num_warmup": 0, "num_chains": 1}
        return (function or self.function)(target, *arguments, rng=rng, **options)


@dataclass(frozen=True)
class Gibbs(Algorithm):
    """A sampler that is given conditionals instead of a target, here those of a Gaussian."""

    def run_compared(self, case, rng, function=None):
        if function is None:
            return super().run_compared(case, rng)
        target, (starts,), _ = self.cases[case]
        data = gaussian_of(target)
        return function(PAIR, starts[0], data=data, num_samples=self.compared, rng=rng)


def scaled(target, factor):
    """The same density raised to `factor`, with the truth of the original: a wrong sampler."""

    def logdensity(theta, *data):
        return factor * original(theta, *data)

    original = target.logdensity
    return bl.Target(
        logdensity,
        dim=target.dim,
        data=target.data,
        names=target.names,
        support=target.support,
        truth=target.truth,
    )


def poisson(eta, count, exposure):
    return count * eta[0] - exposure * np.exp(eta[0])


def stretch(theta, rng, scale):
    """A lognormal step: not symmetric."""
    return theta * np.exp(scale * rng.standard_normal(theta.size))


def stretch_ratio(proposed, current, scale):
    return np.sum(np.log(proposed)) - np.sum(np.log(current))


def uneven(theta, rng, scale):
    """A normal step whose size depends on where it begins: not symmetric."""
    size = scale * (1.0 + 0.5 * abs(np.tanh(theta[0])))
    return theta + size * rng.standard_normal(theta.size)


def uneven_ratio(proposed, current, scale):
    there = scale * (1.0 + 0.5 * abs(np.tanh(current[0])))
    back = scale * (1.0 + 0.5 * abs(np.tanh(proposed[0])))
    square = np.sum((proposed - current) ** 2)
    log_ratio = current.size * np.log(there / back)
    return log_ratio - 0.5 * square / back**2 + 0.5 * square / there**2


def first_of_pair(theta, rng, mean, precision):
    centre = mean[0] - precision[0, 1] / precision[0, 0] * (theta[1] - mean[1])
    return centre + rng.standard_normal() / np.sqrt(precision[0, 0])


def second_of_pair(theta, rng, mean, precision):
    centre = mean[1] - precision[0, 1] / precision[1, 1] * (theta[0] - mean[0])
    return centre + rng.standard_normal() / np.sqrt(precision[1, 1])


PAIR = (first_of_pair, second_of_pair)


def gaussian_of(target):
    """Return mean and precision of a Gaussian in the plane, read off its log density."""
    mean = target.truth.mean

    def drop(step):
        there, here = (target.logdensity(mean + s, *target.data) for s in (step, 0.0))
        return 2.0 * (here - there)

    own = np.array([drop(unit) for unit in np.eye(2)])
    across = 0.5 * (drop(np.ones(2)) - own.sum())
    return mean, np.array([[own[0], across], [across, own[1]]])


def gibbs(
    target, initial_position, *, num_samples, num_warmup=1000, num_chains=4, executor=None, rng
):
    """Sample a Gaussian in the plane; its conditionals are tested against it, too."""
    return bl.gibbs(
        PAIR, initial_position, data=gaussian_of(target), target=target, num_samples=num_samples,
        num_warmup=num_warmup, num_chains=num_chains, executor=executor, rng=rng,
    )  # fmt: skip


def log_gamma():
    """log of a Gamma(count, exposure) variable: log-concave, skewed, known in closed form."""
    count, exposure = 3.0, 2.0
    law = stats.loggamma(count, loc=-np.log(exposure))
    truth = bl.Truth(
        mean=np.array([law.mean()]), cov=np.array([[law.var()]]), cdf=law.cdf,
        log_evidence=math.lgamma(count) - count * np.log(exposure),
    )  # fmt: skip
    return bl.Target(poisson, dim=1, data=(count, exposure), truth=truth)


def settled(target, maps, shifts, noise):
    """The target, with the law that a biased sampler's steps settle in as what is to be found."""
    mean, cov = law(maps, shifts, noise)
    truth = bl.Truth(mean=mean[: target.dim], cov=cov[: target.dim, : target.dim])
    return bl.Target(
        target.logdensity, dim=target.dim, data=target.data, fused=target._fused, truth=truth
    )


def steps_of(steps, **options):
    """How a Gaussian in the plane is sampled with a noisy gradient, and the law that makes."""
    mean, precision = gaussian_of(PLANE)
    target = settled(PLANE, *steps(precision[None], (precision @ mean)[None], **options))
    return case(target, _START_2D, **options, batch_size=None)


def batches_of(steps, **options):
    """How a regression of six rows is sampled by batches of two, and the law that makes."""
    rng = np.random.default_rng(620)
    X, y = rng.standard_normal((6, 2)), rng.standard_normal(6)
    target = posteriors.linear_regression(X, y, noise_scale=1.5, prior_scale=1.0)
    chosen = regression_batches(X, y, 1.5, 1.0, batches(6, 2))
    target = settled(target, *steps(*chosen, **options))
    return case(target, _START_2D, **options, batch_size=2)


STUDENT, PRIOR = posteriors.gamma_student(), stats.gamma(3)
COIN = posteriors.coin(8, 2)
PLANE = posteriors.gaussian([1.0, -2.0], [[1.0, 0.8], [0.8, 2.0]])
RIDGE = posteriors.gaussian([0.5, 0.0], [[1.0, 0.9], [0.9, 1.0]])
WIDE = stats.multivariate_normal([1.0, -2.0], 4.0 * np.eye(2))

_START_1D = np.array([[2.0], [4.0], [6.0], [8.0]])
_START_2D = np.array([[0.0, 0.0], [2.0, -4.0], [1.0, 1.0], [-1.0, -3.0]])

LADDER = {"ess_threshold": 0.9, "num_steps": 8}

ALGORITHMS = (
    Algorithm(
        bl.rejection_sample,
        page="rejection",
        cases={
            "gamma_student": case(STUDENT, PRIOR, log_bound=-np.log(np.sqrt(8.0))),
            "coin": case(COIN, stats.uniform(), log_bound=COIN([0.8])),
        },
    ),
    Algorithm(
        bl.adaptive_rejection_sample,
        page="rejection",
        cases={"log_gamma": case(log_gamma(), points=[-2.0, 1.5])},
    ),
    Algorithm(
        bl.importance_sample,
        page="importance",
        cases={"gamma_student": case(STUDENT, PRIOR), "plane": case(PLANE, WIDE)},
    ),
    Algorithm(
        bl.annealed_importance_sample,
        page="particles",
        num_samples=5_000,
        cases={
            "gamma_student": case(STUDENT, PRIOR, scale=1.5),
            "plane": case(PLANE, WIDE, scale=1.0, inverse_temperatures=10),
        },
    ),
    Algorithm(
        bl.smc,
        page="particles",
        num_samples=5_000,
        cases={
            "gamma_student": case(STUDENT, PRIOR, scale=1.5, inverse_temperatures=3, **LADDER),
            "plane": case(PLANE, WIDE, scale=1.0, inverse_temperatures=4, **LADDER),
        },
    ),
    Algorithm(
        bl.adaptive_importance_sample,
        cases={"gamma_student": case(STUDENT, PRIOR), "plane": case(PLANE, WIDE, num_components=2)},
    ),
    Algorithm(
        bl.multipathfinder,
        cases={"plane": case(PLANE, num_paths=2), "log_gamma": case(log_gamma())},
    ),
    Algorithm(
        bl.metropolis,
        page="mcmc",
        tuning={"scale": 1.5},
        cases={"gamma_student": case(STUDENT, _START_1D), "plane": case(PLANE, _START_2D)},
    ),
    Algorithm(
        bl.metropolis_hastings,
        page="mcmc",
        cases={
            "gamma_student": case(
                STUDENT, _START_1D, propose=stretch, log_ratio=stretch_ratio, args=(0.8,)
            ),
            "plane": case(PLANE, _START_2D, propose=uneven, log_ratio=uneven_ratio, args=(1.0,)),
        },
    ),
    Algorithm(
        bl.independence_metropolis,
        page="mcmc",
        compared=2_000,
        cases={"gamma_student": case(STUDENT, PRIOR), "plane": case(PLANE, WIDE)},
    ),
    Algorithm(
        bl.slice_sample,
        page="mcmc",
        tuning={"width": 2.0},
        cases={
            "gamma_student": case(STUDENT, _START_1D),
            "plane": case(PLANE, _START_2D, order="random"),
        },
    ),
    Gibbs(
        gibbs,
        page="gibbs",
        cases={"plane": case(PLANE, _START_2D), "ridge": case(RIDGE, _START_2D)},
    ),
    Algorithm(
        bl.parallel_tempering,
        page="annealing",
        tuning={"inverse_temperatures": [0.05, 0.3, 1.0], "scale": 1.5},
        cases={"gamma_student": case(STUDENT, _START_1D), "plane": case(PLANE, _START_2D)},
    ),
    Algorithm(
        bl.hmc,
        page="hmc",
        num_samples=5_000,
        tuning={"step_size": 0.4},
        cases={
            "log_gamma": case(log_gamma(), _START_1D - 4.0, num_steps=5),
            "plane": case(PLANE, _START_2D, num_steps=5),
        },
    ),
    Algorithm(
        bl.nuts,
        page="nuts",
        num_samples=5_000,
        tuning={"step_size": 0.5},
        cases={"log_gamma": case(log_gamma(), _START_1D - 4.0), "plane": case(PLANE, _START_2D)},
    ),
    Algorithm(
        bl.sgld,
        cases={
            "batches": batches_of(langevin, step_size=0.4),
            "plane": steps_of(langevin, step_size=0.8, gradient_noise=1.0),
        },
    ),
    Algorithm(
        bl.sghmc,
        cases={
            "batches": batches_of(hamilton, step_size=0.4, friction=1.5),
            "plane": steps_of(hamilton, step_size=0.4, friction=1.0, gradient_noise=1.0),
        },
    ),
)
