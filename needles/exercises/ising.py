"""The exercises of the page on the Ising model and the Boltzmann machine."""

from functools import cache

import numpy as np

from ..grading import Routine, Value, near
from ..study import Exercise

_COUPLING = 0.5


def _half_magnetised():
    """Temperature at which Onsager's magnetisation is one half."""
    return 2.0 / np.arcsinh((1.0 - 2.0**-8) ** -0.25)


def _ring(beta=1.0, sites=10):
    return np.log((2.0 * np.cosh(beta)) ** sites + (2.0 * np.sinh(beta)) ** sites)


def _lone_pixel():
    return 1.0 / (1.0 + np.exp(8.0 * _COUPLING))


def _fields(weights, biases):
    return np.asarray(biases) / 2.0 + np.sum(weights, axis=1) / 4.0


def _states(num_units):
    return ((np.arange(2**num_units)[:, None] >> np.arange(num_units)) & 1).astype(float)


def _softmax(log_weights):
    weights = np.exp(log_weights - np.max(log_weights))
    return weights / weights.sum()


def _log_weights(weights, biases, states):
    return 0.5 * np.sum((states @ weights) * states, axis=1) + states @ np.asarray(biases)


def _halves(weights, biases, visible):
    """Mean products of pairs, clamped and unclamped."""
    states = _states(len(biases))
    log_weights = _log_weights(weights, biases, states)
    fits = np.all(states[:, : len(visible)] == visible, axis=1)
    clamped, free = _softmax(log_weights[fits]), _softmax(log_weights)
    return states[fits].T @ (states[fits] * clamped[:, None]), states.T @ (states * free[:, None])


def _without_diagonal(matrix):
    return matrix - np.diag(np.diag(matrix))


def _gradient(weights, biases, visible):
    clamped, free = _halves(weights, biases, visible)
    return _without_diagonal(clamped - free)


def _clamped_only(weights, biases, visible):
    return _without_diagonal(_halves(weights, biases, visible)[0])


def _descent(weights, biases, visible):
    return -_gradient(weights, biases, visible)


def _with_diagonal(weights, biases, visible):
    clamped, free = _halves(weights, biases, visible)
    return clamped - free


def _machine(num_units, seed):
    rng = np.random.default_rng(seed)
    weights = np.triu(rng.normal(0.0, 1.0, (num_units, num_units)), 1)
    return weights + weights.T, rng.normal(0.0, 0.5, num_units)


def _sweep_matrix(weights, biases):
    """Transition matrix of one sweep through the units in turn."""
    states = _states(len(biases))
    code = 2 ** np.arange(len(biases))
    total = np.eye(len(states))
    for unit in range(len(biases)):
        step = np.zeros((len(states), len(states)))
        on = 1.0 / (1.0 + np.exp(-(states @ weights[unit] + biases[unit])))
        for value, chance in ((1.0, on), (0.0, 1.0 - on)):
            after = states.copy()
            after[:, unit] = value
            step[np.arange(len(states)), (after @ code).astype(int)] += chance
        total = total @ step
    return total


@cache
def _contrastive_residue():
    """Largest expected update of contrastive divergence at the maximum of the likelihood."""
    from scipy import optimize

    states = _states(4)
    data = np.array([20, 1, 1, 1, 1, 1, 1, 20, 1, 1, 1, 1, 20, 1, 1, 20]) / 92.0
    upper = np.triu_indices(4, 1)

    def unpack(packed):
        weights = np.zeros((4, 4))
        weights[upper] = packed[:6]
        return weights + weights.T, packed[6:]

    def loss(packed):
        log_weights = _log_weights(*unpack(packed), states)
        excess = states.T @ (states * (_softmax(log_weights) - data)[:, None])
        value = np.logaddexp.reduce(log_weights) - data @ log_weights
        return value, np.append(excess[upper], np.diag(excess))

    best = optimize.minimize(loss, np.zeros(10), jac=True, options={"gtol": 1e-10}).x
    weights, biases = unpack(best)
    after = data @ _sweep_matrix(weights, biases)
    change = states.T @ (states * (data - after)[:, None])
    return float(np.abs(change).max())


EXERCISES = (
    Exercise(
        "ising-temperature",
        expects=Value(_half_magnetised, digits=5),
        mistakes={
            "That is the inverse temperature; take its reciprocal.": near(
                lambda: 1.0 / _half_magnetised()
            ),
            "That is the critical temperature, where the magnetisation is still zero.": near(
                2.0 / np.log(1.0 + np.sqrt(2.0)), rtol=2e-4
            ),
            "A temperature here is positive.": lambda a: a <= 0,
        },
        recipe="Solve 1 - sinh(2 beta)^(-4) = 2^(-8) for beta.",
        praise="A hair below the critical temperature: an eighth root rises steeply.",
    ),
    Exercise(
        "ising-ring",
        expects=Value(_ring, digits=4),
        mistakes={
            "The second eigenvalue counts too: the trace is a sum of two powers.": near(
                10.0 * np.log(2.0 * np.cosh(1.0)), rtol=2e-3
            ),
            "That is the open chain; in a ring the last spin is next to the first.": near(
                np.log(2.0) + 9.0 * np.log(2.0 * np.cosh(1.0))
            ),
            "That is Z. Take its logarithm.": near(lambda: np.exp(_ring())),
        },
        recipe="Z is the trace of the tenth power of a 2 by 2 matrix.",
        praise="Both eigenvalues are smooth in beta: no magnet on a line, as Ising found.",
    ),
    Exercise(
        "ising-translate",
        expects=Routine(
            _fields, cases=tuple(_machine(n, seed) for n, seed in ((2, 1), (3, 2), (5, 3)))
        ),
        mistakes={
            "The weights contribute too: expand s_i s_j.": lambda w, b: np.asarray(b) / 2.0,
            "Each product of halves has a quarter in front.": lambda w, b: (
                np.asarray(b) / 2.0 + np.sum(w, axis=1) / 2.0
            ),
            "The biases are halved as well.": lambda w, b: np.asarray(b) + np.sum(w, axis=1) / 4.0,
            "Unit i is in every pair with i, not only "
            "in those where it comes first.": lambda w, b: (
                np.asarray(b) / 2.0 + np.sum(np.triu(w, 1), axis=1) / 4.0
            ),
        },
        recipe="Put s = (1 + sigma) / 2 into the exponent and collect what multiplies sigma_i.",
        praise="The couplings are W / 4: the same machine, in another alphabet.",
    ),
    Exercise(
        "ising-gradient",
        expects=Routine(
            _gradient,
            cases=(
                (*_machine(3, 4), np.array([1.0, 0.0])),
                (*_machine(5, 5), np.array([0.0, 1.0, 1.0])),
                (*_machine(4, 6), np.array([1.0, 1.0, 1.0, 1.0])),
            ),
        ),
        mistakes={
            "The unclamped half is missing: differentiate -log Z as well.": _clamped_only,
            "The sign is that of descent; the likelihood is to be climbed.": _descent,
            "Every pair is counted twice: sum over i < j.": lambda *x: 2.0 * _gradient(*x),
            "Set the diagonal to zero: no unit is coupled to itself.": _with_diagonal,
        },
        recipe="Two softmax averages of s_i s_j: over matching states, over all states.",
        praise="Clamped minus unclamped, exactly.",
    ),
    Exercise(
        "ising-lone",
        expects=Value(_lone_pixel),
        mistakes={
            "The field has a factor one half in front of its logarithm.": near(
                1.0 / (1.0 + np.exp(4.0 * _COUPLING))
            ),
            "That is the chance that a pixel arrives unharmed.": near(lambda: 1.0 - _lone_pixel()),
            "Give a rate between zero and one half.": lambda a: not 0.0 < a < 0.5,
        },
        recipe="The field of the pixel must balance four neighbours, 4 J.",
        praise="Believe in less noise than that and every speck is taken for a fact.",
    ),
    Exercise(
        "ising-contrastive",
        expects=Value(_contrastive_residue, digits=2),
        mistakes={
            "At the maximum the gradient vanishes; contrastive divergence need not.": 0.0,
            "Give the size of the largest entry, without its sign.": lambda a: a < 0,
        },
        recipe="Push the data distribution through the sweep's 16 by 16 matrix once.",
        praise="Small, and not zero: contrastive divergence walks on to another machine.",
    ),
)
