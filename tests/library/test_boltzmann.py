"""Boltzmann machines: exact against sampled, gradients against differences, learning."""

import numpy as np
import pytest
from bad_inputs import refused
from judging import pvalues_of_means
from scipy import special

import bayeslib as bl
from bayeslib.chains.algorithm import run_chain
from bayeslib.chains.loop import Unasked
from bayeslib.chains.run import Control
from bayeslib.markov.boltzmann import BOLTZMANN

ALPHA = 1e-6


def machine(n=6, num_visible=4, seed=1, scale=1.0):
    rng = np.random.default_rng(seed)
    weights = np.triu(scale * rng.standard_normal((n, n)), 1)
    return bl.BoltzmannMachine(
        weights + weights.T, 0.5 * scale * rng.standard_normal(n), num_visible=num_visible
    )


def data(m=30, num_visible=4, seed=2):
    rng = np.random.default_rng(seed)
    rows = (rng.random((m, num_visible)) < 0.5).astype(int)
    rows[:, 1] = rows[:, 0]
    return rows


def plain_energy(weights, biases, s):
    pairs = sum(weights[i, j] * s[i] * s[j] for i in range(len(s)) for j in range(i))
    return -pairs - sum(biases[i] * s[i] for i in range(len(s)))


def test_enumeration_is_what_the_definition_says():
    m = machine()
    states = m.states()
    assert states.shape == (64, 6) and len({tuple(s) for s in states}) == 64
    np.testing.assert_array_equal(states[1], [0, 0, 0, 0, 0, 1])
    energies = np.array([plain_energy(m.weights, m.biases, s) for s in states])
    np.testing.assert_allclose(m.energy(states), energies, atol=1e-12)
    assert isinstance(m.energy(states[5]), float)
    weights = np.exp(-energies)
    assert m.log_partition == pytest.approx(np.log(weights.sum()), rel=1e-12)
    p = m.probabilities()
    np.testing.assert_allclose(p, weights / weights.sum(), rtol=1e-10)
    moments = m.moments()
    np.testing.assert_allclose(moments.means, p @ states, rtol=1e-12)
    np.testing.assert_allclose(moments.products[1, 4], p @ (states[:, 1] * states[:, 4]))
    clamped = m.moments(clamped=[1, 0, 1, 1])
    keep = np.all(states[:, :4] == [1, 0, 1, 1], axis=1)
    np.testing.assert_allclose(clamped.means, p[keep] @ states[keep] / p[keep].sum(), rtol=1e-10)


@pytest.mark.trust("S7")
def test_conditionals_are_ratios_of_the_joint():
    m, rng = machine(), np.random.default_rng(3)
    for _ in range(100):
        state, unit = (rng.random(6) < 0.5).astype(float), int(rng.integers(6))
        on, off = state.copy(), state.copy()
        on[unit], off[unit] = 1.0, 0.0
        expected = special.expit(m.energy(off) - m.energy(on))
        assert m.conditional(state, unit) == pytest.approx(expected, rel=1e-10)
        assert abs(special.expit(m.weights[unit] @ state * 1.01 + m.biases[unit] + 1e-6)
                   - expected) > 1e-10  # fmt: skip


def plain_sample(m, num_samples, rng, clamped=None):
    rng, out = np.random.default_rng(rng), []
    state = np.array([1.0 if rng.random() < 0.5 else 0.0 for _ in range(m.num_units)])
    first = 0
    if clamped is not None:
        first = m.num_visible
        state[:first] = clamped
    for _ in range(num_samples):
        for i in range(first, m.num_units):
            p = special.expit(m.weights[i] @ state + m.biases[i])
            state[i] = 1.0 if rng.random() < p else 0.0
        out.append(state.copy())
    return np.array(out)


@pytest.mark.parametrize("clamped", [None, [1, 0, 0, 1]])
def test_follows_the_plain_loop_unit_by_unit(clamped):
    m = machine()
    options = {"num_warmup": 0, "num_chains": 1, "clamped": clamped}
    draws = m.sample(300, rng=5, **options)
    np.testing.assert_array_equal(draws.flat, plain_sample(m, 300, 5, clamped))
    assert not np.array_equal(draws.flat, plain_sample(m, 300, 6, clamped))
    np.testing.assert_allclose(draws.logdensity[0], -m.energy(draws.flat), atol=1e-12)
    assert draws.names == tuple(f"s[{i}]" for i in range(6))


@pytest.mark.trust("M1")
def test_recovers_the_exact_moments():
    """21 means and products at alpha 1e-6 together; those of weights 10 % larger are refused."""
    m = machine()
    draws = m.sample(20_000, rng=7)

    def smallest(exact):
        p = []
        for i in range(6):
            for j in range(i + 1):
                products = draws.values[:, :, i] * draws.values[:, :, j]
                p.append(pvalues_of_means(products, exact.products[i, j]))
        return len(p) * min(p)

    assert smallest(m.moments()) > ALPHA
    wrong = bl.BoltzmannMachine(1.1 * m.weights, m.biases)
    assert smallest(wrong.moments()) < ALPHA


def shifted(m, i, j, h):
    weights, biases = m.weights.copy(), m.biases.copy()
    if j is None:
        biases[i] += h
    else:
        weights[i, j] += h
        weights[j, i] += h
    return bl.BoltzmannMachine(weights, biases, num_visible=m.num_visible)


@pytest.mark.trust("S1")
@pytest.mark.parametrize("num_visible", [4, 6])
def test_gradient_is_the_slope_of_the_likelihood(num_visible):
    m, rows = machine(num_visible=num_visible), data(num_visible=num_visible)
    gradient, h = m.gradient(rows), 1e-5
    for i in range(6):
        for j in [None, *range(i)]:
            slope = (
                shifted(m, i, j, h).log_likelihood(rows) - shifted(m, i, j, -h).log_likelihood(rows)
            ) / (2.0 * h)
            found = gradient.biases[i] if j is None else gradient.weights[i, j]
            assert found == pytest.approx(slope, abs=1e-8)
    np.testing.assert_array_equal(gradient.weights, gradient.weights.T)
    assert np.all(np.diag(gradient.weights) == 0.0)


def test_log_likelihood_is_the_mean_over_rows():
    m, rows = machine(), data()
    p, states = m.probabilities(), m.states()
    each = [np.log(p[np.all(states[:, :4] == row, axis=1)].sum()) for row in rows]
    assert m.log_likelihood(rows) == pytest.approx(np.mean(each), rel=1e-12)
    assert m.log_likelihood(rows.astype(bool)) == m.log_likelihood(rows)


@pytest.mark.parametrize("num_visible", [4, 6])
def test_sampled_gradient_is_the_exact_one_within_its_error(num_visible):
    """21 entries, |z| below 6 (alpha 1e-6 with room for estimated errors); a wrong one is not."""
    m, rows = machine(num_visible=num_visible), data(num_visible=num_visible)
    sampled = m.sampled_gradient(rows, num_sweeps=4_000, rng=8)
    exact, pairs = m.gradient(rows), np.triu_indices(6, 1)
    z = np.append(sampled.weights.z(exact.weights)[pairs], sampled.biases.z(exact.biases))
    assert np.all(np.isfinite(z)) and np.max(np.abs(z)) < 6.0
    assert 0.4 < np.sqrt(np.mean(z**2)) < 1.8
    wrong = -m.moments().means  # the unclamped phase alone
    assert np.max(np.abs(sampled.biases.z(wrong))) > 6.0
    assert sampled.weights.num_evals == sampled.biases.num_evals > 0


BLANK, ROWS = bl.BoltzmannMachine(np.zeros((4, 4)), np.zeros(4)), data(400)
ROWS[:40, 1] = 1 - ROWS[:40, 0]  # or the weight between the two would grow without end


@pytest.fixture(scope="module")
def learned():
    return BLANK.fit(ROWS, num_iterations=3000, learning_rate=1.0, rng=9)


def test_learning_reaches_the_largest_likelihood(learned):
    assert learned.converged and learned.problems == ()
    assert np.all(np.diff(learned.log_likelihood) > -1e-12)
    assert learned.log_likelihood[0] == pytest.approx(-4.0 * np.log(2.0))
    moments = learned.machine.moments()
    np.testing.assert_allclose(moments.means, ROWS.mean(axis=0), atol=2e-3)
    products = ROWS.T @ ROWS / len(ROWS)
    np.testing.assert_allclose(moments.products, products, atol=2e-3)
    for i, j in ((0, None), (0, 1), (2, 3)):
        for h in (0.2, -0.2):
            worse = shifted(learned.machine, i, j, h).log_likelihood(ROWS)
            assert worse < learned.log_likelihood[-1]
    assert "converged after" in learned.summary()


def test_hidden_units_learn_what_pairs_cannot():
    """Of three bits, the third the parity of the others: no pair tells anything."""
    rows = np.array([[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]])
    options = {"num_iterations": 3000, "learning_rate": 1.0, "tolerance": 3e-3}
    flat = bl.BoltzmannMachine(np.zeros((3, 3)), np.zeros(3)).fit(rows, rng=1, **options)
    assert flat.log_likelihood[-1] == pytest.approx(-3.0 * np.log(2.0), abs=1e-9)
    hidden = bl.BoltzmannMachine(np.zeros((6, 6)), np.zeros(6), num_visible=3)
    learned = hidden.fit(rows, rng=1, **options)
    assert learned.converged and learned.problems == ()
    assert -2.0 * np.log(2.0) > learned.log_likelihood[-1] > -2.0 * np.log(2.0) - 0.06


def test_hidden_units_that_learned_nothing_are_flagged():
    """Weights so small that the parity, a matter of third order, does not show."""
    rows = np.array([[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]])
    weights = np.zeros((4, 4))
    weights[0, 3] = weights[3, 0] = 0.05
    start = bl.BoltzmannMachine(weights, np.zeros(4), num_visible=3)
    with pytest.warns(bl.BayeslibWarning, match="hidden units 3 do not depend on the data"):
        learned = start.fit(rows, rng=1)
    assert learned.converged and learned.log_likelihood[-1] < -2.9 * np.log(2.0)


def test_rhat_of_draws_that_are_half_zeros():
    """Their folded ranks are all the same, which is no disagreement."""
    half = np.tile([0.0, 1.0, 1.0, 0.0], (4, 50))
    half[1] = half[1, ::-1]
    assert bl.rhat(half) < 1.01
    apart = np.repeat([[0.0], [1.0]], 100, axis=1)
    apart[:, 0] = 1.0 - apart[:, 0]
    assert bl.rhat(apart) > 3.0


def test_sampled_learning_gets_as_far_as_its_noise(learned):
    best, how = learned.log_likelihood[-1], {"learning_rate": 1.0, "num_sweeps": 400, "rng": 9}
    sampled, again = (BLANK.fit(ROWS, num_iterations=60, **how) for _ in range(2))
    np.testing.assert_array_equal(sampled.log_likelihood, again.log_likelihood)
    assert best - 0.05 < sampled.log_likelihood[-1] <= best + 1e-9
    assert sampled.log_likelihood[0] < best - 0.2


def test_learning_says_what_went_wrong():
    start, rows = BLANK, data(400)
    with pytest.warns(bl.BayeslibWarning, match="not converged"):
        short = start.fit(rows, num_iterations=3, rng=1)
    assert not short.converged and short.log_likelihood.shape == (4,)
    with pytest.warns(bl.BayeslibWarning, match="learning_rate=50 is too large"):
        start.fit(rows, num_iterations=20, learning_rate=50.0, rng=1)
    same = np.ones((5, 4))
    with pytest.warns(bl.BayeslibWarning, match="may grow on"):
        start.fit(same, num_iterations=500, learning_rate=20.0, tolerance=1e-12, rng=1)


def test_slow_chains_are_warned_of():
    n = 8
    m = bl.BoltzmannMachine(4.0 * (1.0 - np.eye(n)), np.full(n, -14.0))
    with pytest.warns(bl.BayeslibWarning, match="R-hat of the unclamped machine"):
        m.sampled_gradient(np.ones((2, n)), num_sweeps=50, num_warmup=0, rng=10)


def test_a_stopped_chain_ends_before_its_next_sweep():
    control = Control(1)
    control.stop()
    m, start, rng = machine(), np.full(6, np.nan), np.random.default_rng(1)
    options = {"moving": np.arange(6), "weights": m.weights, "biases": m.biases}
    begun = rng, start, None, BOLTZMANN
    assert run_chain(control, 0, Unasked(6), *begun, options, (9, 0, 1)).done == 0


test_bad_machines_are_refused_in_words = refused(
    ((np.zeros((2, 3)), np.zeros(2), {}), r"weights must have shape \(n, n\), got .*\(2, 3\)"),
    (([[0.0, 1.0], [2.0, 0.0]], np.zeros(2), {}), "symmetric"),
    (([[1.0, 0.0], [0.0, 0.0]], np.zeros(2), {}), "zero on the diagonal"),
    (([[0.0, np.nan], [np.nan, 0.0]], np.zeros(2), {}), r"weights\[0, 1\] is nan"),
    ((np.zeros((2, 2)), [0.0, np.inf], {}), r"biases\[1\] is inf"),
    ((np.zeros((0, 0)), [], {}), "biases must have shape"),
    ((np.zeros((2, 2)), np.zeros(2), {"num_visible": 3}), "at most 2"),
    ((np.zeros((2, 2)), np.zeros(2), {"num_visible": 0}), "at least 1"),
    by=lambda weights, biases, options: bl.BoltzmannMachine(weights, biases, **options),
)


test_bad_calls_are_refused_in_words = refused(
    (lambda m: m.energy([0, 1]), "states must have shape"),
    (lambda m: m.energy([-1, 1, 1, 1, 1, 1]), r"pass \(s \+ 1\) / 2"),
    (lambda m: m.conditional(np.zeros(6), 6), "unit must be at most 5"),
    (lambda m: m.log_likelihood(np.zeros((3, 6))), r"data must have shape \(4,\)"),
    (lambda m: m.log_likelihood(np.zeros((0, 4))), "no rows"),
    (lambda m: m.sample(0, rng=1), "num_samples"),
    (lambda m: m.sample(5, clamped=[1, 0], rng=1), "clamped must have shape"),
    (lambda m: m.sample(5, clamped=np.ones((2, 4)), rng=1), "one row"),
    (lambda m: m.sample(5, initial=np.ones((3, 6)), rng=1), "for one state a chain"),
    (lambda m: m.fit(data(), learning_rate=0.0, rng=1), "learning_rate"),
    (lambda m: m.fit(data(), num_sweeps=1, rng=1), "num_sweeps"),
    (lambda m: m.fit(data(), tolerance=-1.0, rng=1), "tolerance"),
    (lambda m: m.sample(5, rng="one"), "rng"),
    by=lambda call: call(machine()),
)


def test_what_cannot_be_enumerated_can_be_sampled():
    n = 25
    m = bl.BoltzmannMachine(np.zeros((n, n)), np.zeros(n))
    for call in (m.states, m.probabilities, m.moments, lambda: m.log_partition):
        with pytest.raises(bl.BayeslibError, match="20 units at most"):
            call()
    assert m.sample(10, num_warmup=0, num_chains=1, rng=1).values.shape == (1, 10, n)
    with pytest.raises(bl.BayeslibError, match="nothing to sample"):
        m.sample(10, clamped=np.ones(n), rng=1)
    with pytest.warns(bl.BayeslibWarning, match="same state"):
        m.sample(10, initial=np.ones(n), rng=1)
