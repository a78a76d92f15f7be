"""The exercises of the page on Markov chains."""

from dataclasses import dataclass
from functools import cache

import numpy as np

from ..grading import Routine, Value, near
from ..study import Exercise

_BIAS = np.array([0.5, 0.9, 0.1])


def _kernel(joint, q):
    flow = joint[:, None] * q
    return _with_stays(np.minimum(flow, flow.T) / joint[:, None])


def _with_stays(kernel):
    np.fill_diagonal(kernel, 0.0)
    np.fill_diagonal(kernel, 1.0 - kernel.sum(axis=1))
    return kernel


def _forgets_the_proposal(joint, q):
    return _with_stays(q * np.minimum(1.0, joint / joint[:, None]))


def _upside_down(joint, q):
    flow = joint[:, None] * q
    return _with_stays(q * np.minimum(1.0, flow / flow.T))


def _loses_the_refused(joint, q):
    flow = joint[:, None] * q
    return np.minimum(flow, flow.T) / joint[:, None]


def _renormalises(joint, q):
    kernel = _loses_the_refused(joint, q)
    return kernel / kernel.sum(axis=1, keepdims=True)


@dataclass(frozen=True)
class _LogDensity(Routine):
    """A log density up to a constant, which is taken from the first case."""

    def read(self, answer):
        values = super().read(answer)
        constant = self.reference(*self.cases[0]) - values[0]
        return [value + constant for value in values]


def _jacobian_the_wrong_way(phi):
    return phi - np.exp(phi)


def _walk_kernel(joint, accept):
    return _with_stays(accept(joint / joint[:, None]) / 2.0)


def _asymptotic_variance(kernel, law, f):
    f = f - law @ f
    return law @ (f * (2.0 * np.linalg.solve(np.eye(3) - kernel + law, f) - f))


@cache
def _barker_price():
    joint = np.array([0.8, 0.1, 0.1]) * _BIAS**8 * (1.0 - _BIAS) ** 2
    law, fair = joint / joint.sum(), np.array([1.0, 0.0, 0.0])
    barker, metropolis = (
        _asymptotic_variance(_walk_kernel(joint, accept), law, fair)
        for accept in (lambda r: r / (1.0 + r), lambda r: np.minimum(1.0, r))
    )
    return barker / metropolis


@cache
def _cautious():
    """The stationary shares of the three hypotheses, for the walker with two moods."""
    joint = _BIAS**2 * (1.0 - _BIAS)
    leave = _walk_kernel(joint, lambda r: np.minimum(1.0, r))
    np.fill_diagonal(leave, 0.0)
    moods = np.zeros((6, 6))
    for mood, boldness in enumerate((1.0, 0.1)):
        rows = slice(3 * mood, 3 * mood + 3)
        moods[rows, :3] = boldness * leave
        moods[rows, 3:] = np.diag(1.0 - boldness * leave.sum(axis=1))
    equations = np.vstack([moods.T - np.eye(6), np.ones(6)])
    settled = np.linalg.lstsq(equations, np.append(np.zeros(6), 1.0), rcond=None)[0]
    return settled[:3] + settled[3:]


@cache
def _optimal_step():
    from scipy import optimize, stats

    found = optimize.minimize_scalar(
        lambda step: -(step**2) * stats.norm.cdf(-step / 2.0),
        bounds=(0.5, 6.0),
        method="bounded",
        options={"xatol": 1e-10},
    )
    return np.array([found.x, 2.0 * stats.norm.cdf(-found.x / 2.0)])


_LOPSIDED = np.array([[0.2, 0.7, 0.1], [0.3, 0.3, 0.4], [0.6, 0.3, 0.1]])

EXERCISES = (
    Exercise(
        "mcmc-repeat",
        expects=Value(6.25, atol=0.0),
        mistakes={
            "That writes each place down once. A place counts as often "
            "as the chain is there after a proposal.": 5.5,
            "That counts moves only. A refused proposal is one more draw where one stands.": 7.0,
            "That is the average of the proposals, accepted or not.": 6.5,
            "The start is not one of the four draws; each proposal makes one.": 5.8,
        },
        recipe="Write down where the chain stands after each of the four proposals.",
        praise="4, 7, 7, 7: the repeats are how a likely place gets its weight.",
    ),
    Exercise(
        "mcmc-balance",
        expects=Routine(
            _kernel,
            cases=(
                (np.array([0.125, 0.081, 0.009]), np.full((3, 3), 1.0 / 3.0)),
                (np.array([0.125, 0.081, 0.009]), _LOPSIDED),
                (np.array([1.0, 5.0, 2.0]), _LOPSIDED.T / _LOPSIDED.sum(axis=0)[:, None]),
                (np.array([2.0, 1.0]), np.array([[0.5, 0.5], [0.1, 0.9]])),
            ),
        ),
        mistakes={
            "The proposal is lopsided, and the ratio must make up for it.": _forgets_the_proposal,
            "The ratio is upside down: forth over back instead of back over forth.": _upside_down,
            "Rows must sum to one: what is refused stays, on the diagonal.": _loses_the_refused,
            "Do not rescale the rows: what is refused stays, on the diagonal.": _renormalises,
        },
        recipe="Between two states flows the smaller of joint[i] q[i, j] and joint[j] q[j, i].",
        praise="In balance for any proposal, by construction.",
    ),
    Exercise(
        "mcmc-log",
        expects=_LogDensity(
            lambda phi: 3.0 * phi - np.exp(phi), cases=((0.0,), (1.0,), (-2.0,), (np.log(3.0),))
        ),
        mistakes={
            "That is the density of theta, looked up at exp(eta); a "
            "density changes with the variable, by "
            "the factor |d theta / d eta|.": lambda phi: 2.0 * phi - np.exp(phi),
            "The Jacobian is upside down: multiply by d theta / d eta.": _jacobian_the_wrong_way,
        },
        recipe="The density of eta is that of theta at exp(eta), times exp(eta).",
        praise="The Jacobian and the Hastings ratio are the same correction.",
    ),
    Exercise(
        "mcmc-cautious",
        expects=Value(lambda: _cautious()[2]),
        mistakes={
            "That is the posterior, which this walker misses.": near(9.0 / 215.0),
            "The right chain, another hypothesis: asked is the share of tails.": lambda a: (
                np.isclose(a, _cautious()[0], rtol=5e-3) or np.isclose(a, _cautious()[1], rtol=5e-3)
            ),
        },
        recipe="Six states: hypothesis and mood. Moves lead to bold, refusals to cautious.",
        praise="Both rules are right and the mixture is wrong: the past chose between them.",
    ),
    Exercise(
        "mcmc-barker",
        expects=Value(_barker_price),
        mistakes={
            "The other way round: Barker moves less, and its variance is the larger.": near(
                lambda: 1.0 / _barker_price()
            ),
            "That is the ratio of the errors; the variance is its square.": near(
                lambda: np.sqrt(_barker_price())
            ),
            "That is for two heads and a tail; here it is eight "
            "and two, and the prior is not even.": near(2.0112),
        },
        recipe="asymptotic_variance(walk_kernel(joint, accept), posterior, [1, 0, 0]), twice.",
        praise="To draw as well with Barker's rule takes that many times the steps.",
    ),
    Exercise(
        "mcmc-optimal",
        expects=Value(_optimal_step),
        mistakes={
            "Twice that: the proposals that go down are accepted now and then too.": near(
                lambda: _optimal_step()[1] / 2.0, at=1
            ),
            "The second number is an acceptance rate, below one.": lambda a: a[1] > 1.0,
        },
        recipe="Maximise b^2 times 2 Phi(-b / 2) over b.",
        praise="2.38 and 0.234, the two most quoted numbers of the trade.",
    ),
)
