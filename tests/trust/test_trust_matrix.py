"""Chains on so few states that their transition matrix can be written down, and judged exactly.

Its entries are the acceptance probabilities that the compiled kernel computes, one by one.
"""

import math

import numpy as np
import pytest
from recording import measured
from steps import algorithm, moves, steps

from bayeslib import Target

# Five states, and a proposal that is far from symmetric.
WEIGHTS = np.array([0.1, 0.3, 0.05, 0.35, 0.2])
PROPOSAL = np.random.default_rng(430).dirichlet(np.ones(5), size=5)


def five_states(theta, weights):
    return math.log(weights[int(theta[0])])


def to_state(theta, rng, state, proposal):
    return np.array([state])


def proposal_ratio(proposed, current, state, proposal):
    i, j = int(current[0]), int(proposed[0])
    return math.log(proposal[j, i]) - math.log(proposal[i, j])


def acceptance(target, starts, options):
    """The probability with which each state accepts what is proposed to it."""
    rng, sampler = np.random.default_rng(1), algorithm("metropolis_hastings")
    return steps(sampler, target, starts, options, num_steps=1, rng=rng)[1]["acceptance_rate"]


def five_state_matrix(weights=WEIGHTS, log_ratio=proposal_ratio):
    """K[i, j]: the proposal's probability times that of its acceptance; what is left stays."""
    target = Target(five_states, dim=1, data=(weights,), gradient=None)
    starts = np.arange(5.0)[:, None]
    matrix = np.zeros((5, 5))
    for j in range(5):
        options = moves(1, to_state, log_ratio, float(j), PROPOSAL)
        matrix[:, j] = PROPOSAL[:, j] * acceptance(target, starts, options)
    return completed(matrix), weights


def spins(theta, couplings, fields):
    """Log weight of a Boltzmann machine with units -1 and 1."""
    total = 0.0
    for i in range(theta.size):
        total += fields[i] * theta[i]
        for j in range(i):
            total += couplings[i, j] * theta[i] * theta[j]
    return total


def flip(theta, rng, unit):
    proposed = theta.copy()
    proposed[unit] = -proposed[unit]
    return proposed


def spin_matrix(couplings, fields, inverse_temperature=1.0):
    """K of a flip at a random unit; the exact weights are those at inverse temperature 1."""
    dim = fields.size
    states = np.array([[1.0 if s >> k & 1 else -1.0 for k in range(dim)] for s in range(2**dim)])
    data = (inverse_temperature * couplings, inverse_temperature * fields)
    target = Target(spins, dim=dim, data=data, gradient=None)
    matrix = np.zeros((2**dim, 2**dim))
    here = np.arange(2**dim)
    for unit in range(dim):
        rates = acceptance(target, states, moves(dim, flip, None, unit))
        matrix[here, here ^ (1 << unit)] = rates / dim
    pairs = 0.5 * np.einsum("si,ij,sj->s", states, couplings + couplings.T, states)
    weights = np.exp(pairs + states @ fields)
    return completed(matrix), weights / weights.sum()


def completed(matrix):
    """Let a row's missing probability be that of staying."""
    np.fill_diagonal(matrix, 0.0)
    return matrix + np.diag(1.0 - matrix.sum(axis=1))


def lattice(size, coupling):
    """Couplings of neighbours on a square of size by size, each pair once, below the diagonal."""
    couplings = np.zeros((size**2, size**2))
    for i in range(size**2):
        row, column = divmod(i, size)
        if row > 0:
            couplings[i, i - size] = coupling
        if column > 0:
            couplings[i, i - 1] = coupling
    return couplings


_RNG = np.random.default_rng(431)
BOLTZMANN = np.tril(0.5 * _RNG.standard_normal((8, 8)), -1), 0.3 * _RNG.standard_normal(8)
ISING = lattice(3, 0.4), np.full(9, 0.1)

CHAINS = {
    "five states": five_state_matrix,
    "Ising 3 by 3": lambda: spin_matrix(*ISING),
    "Boltzmann machine of 8": lambda: spin_matrix(*BOLTZMANN),
}
WRONG = {
    "a weight 1 % off": lambda: (five_state_matrix(WEIGHTS * [1.01, 1, 1, 1, 1])[0], WEIGHTS),
    "no correction": lambda: five_state_matrix(log_ratio=None),
    "temperature 1 % off": lambda: spin_matrix(*ISING, inverse_temperature=1.01),
    "a Boltzmann machine 1 % off": lambda: spin_matrix(*BOLTZMANN, inverse_temperature=1.01),
}


def faults(matrix, weights, *, right):
    """How far from invariance, and from detailed balance."""
    flow = weights[:, None] * matrix
    invariance, balance = np.abs(weights @ matrix - weights).max(), np.abs(flow - flow.T).max()
    measured("invariance of a matrix", max(invariance, balance), 1e-12, right=right)
    return invariance, balance


@pytest.mark.trust("S6", of="metropolis_hastings")
@pytest.mark.parametrize("name", CHAINS)
def test_transition_matrix_leaves_the_target_alone(name):
    matrix, weights = CHAINS[name]()
    invariance, balance = faults(matrix, weights, right=True)
    assert invariance < 1e-12 and balance < 1e-12
    np.testing.assert_allclose(matrix.sum(axis=1), 1.0, rtol=1e-12)
    assert matrix.min() > -1e-15
    # It reaches every state, and forgets where it began: no identity passes.
    moves = np.linalg.matrix_power(matrix, 64)
    assert moves.min() > 0.0
    values = np.sort(np.abs(np.linalg.eigvals(matrix)))
    assert values[-1] == pytest.approx(1.0) and values[-2] < 0.999


@pytest.mark.trust("S6")
@pytest.mark.parametrize("name", WRONG)
def test_a_slightly_wrong_acceptance_shows_in_the_matrix(name):
    assert max(faults(*WRONG[name](), right=False)) > 1e-5
