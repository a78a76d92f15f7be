"""The Ising model: exact answers against each other, and samplers against them."""

import numpy as np
import pytest
from bad_inputs import refused
from calling import interrupted_after, needs_signals
from judging import pvalues_of_means
from scipy import special
from twins import plain_twin

import bayeslib as bl
from bayeslib.chains.algorithm import run_chain
from bayeslib.chains.loop import Unasked
from bayeslib.chains.run import Control
from bayeslib.markov.ising_exact import CRITICAL, _enumerated, _torus
from bayeslib.markov.ising_model import as_model, bordered, tables
from bayeslib.markov.ising_sample import ISING, METHODS

ALPHA = 1e-6
HEAT_BATH = METHODS[:3]
FIELD = 0.7 * np.random.default_rng(11).standard_normal((4, 4))

# Computed elsewhere, by enumeration of 2**16 states.
GOLDEN = {
    (0.2, True): (11.771470, -0.456135, 0.342766),
    (0.4406868, True): (15.521916, -1.565624, 0.843860),
    (0.6, True): (20.056533, -1.908070, 0.972867),
    (0.4, False): (13.186573, None, None),
}


@pytest.mark.parametrize("case", GOLDEN)
def test_enumeration_gives_the_known_numbers(case):
    beta, periodic = case
    truth = bl.ising_exact((4, 4), inverse_temperature=beta, periodic=periodic)
    found = (truth.log_partition, truth.energy, truth.abs_magnetisation)
    for value, known in zip(found, GOLDEN[case], strict=True):
        assert known is None or value == pytest.approx(known, abs=6e-7)
    assert abs(truth.magnetisation) < 1e-12 and np.abs(truth.mean_spins).max() < 1e-12


@pytest.mark.parametrize("shape", [(2, 2), (4, 4), (3, 5), (5, 3), (2, 7), (4, 5)])
@pytest.mark.parametrize("k", [0.1, 0.3, CRITICAL, 0.5, 1.5])
def test_kaufmans_formula_is_the_enumeration(shape, k):
    truth = _enumerated(as_model(shape, k / 0.7, 0.0, 0.7, True))
    value, first, second = _torus(*shape, k)
    sites = shape[0] * shape[1]
    assert value == pytest.approx(truth.log_partition, rel=1e-12)
    assert -0.7 * first / sites == pytest.approx(truth.energy, rel=1e-9)
    assert k**2 * second / sites == pytest.approx(truth.heat_capacity, rel=1e-6, abs=1e-9)
    assert _torus(*shape, 1.001 * k)[0] != pytest.approx(truth.log_partition, rel=1e-6)


def test_large_lattices_tend_to_the_infinite_one():
    for beta in (0.0, 0.2, 0.5, 1.0):
        energy = bl.onsager_energy(beta)
        if beta:
            large = bl.ising_exact((128, 128), inverse_temperature=beta)
            assert large.energy == pytest.approx(energy, rel=1e-8)
        assert bl.onsager_energy(beta / 2.0, coupling=2.0) == pytest.approx(2.0 * energy)
    assert bl.onsager_energy(CRITICAL) == pytest.approx(-np.sqrt(2.0), rel=1e-12)
    np.testing.assert_array_equal(bl.onsager_magnetisation([0.0, 0.3, CRITICAL]), 0.0)
    assert bl.onsager_magnetisation(0.5) == pytest.approx((1 - np.sinh(1.0) ** -4) ** 0.125)
    assert pytest.approx(np.log1p(np.sqrt(2.0)) / 2.0) == CRITICAL


def neighbours(s, r, c, periodic):
    rows, cols = s.shape
    places = [(r - 1, c), (r + 1, c), (r, c - 1), (r, c + 1)]
    if periodic:
        return [(i % rows, j % cols) for i, j in places]
    return [(i, j) for i, j in places if 0 <= i < rows and 0 <= j < cols]


def plain_sweep(s, rng, beta, coupling, field, periodic, method):
    rows, cols = s.shape
    sites = [(r, c) for r in range(rows) for c in range(cols)]
    if method == "checkerboard":
        sites.sort(key=lambda site: (site[0] + site[1]) % 2)
    for site in sites:
        if method == "random":
            site = divmod(int(rng.random() * s.size), cols)
        total = sum(s[place] for place in neighbours(s, *site, periodic))
        p = special.expit(2.0 * beta * (coupling * total + field[site]))
        s[site] = 1 if rng.random() < p else -1


def plain_cluster(s, rng, beta, coupling, periodic):
    start = divmod(int(rng.random() * s.size), s.shape[1])
    old, size = s[start], 1
    s[start] = -old
    stack = [start]
    while stack:
        for place in neighbours(s, *stack.pop(), periodic):
            if s[place] == old and rng.random() < -np.expm1(-2.0 * beta * coupling):
                s[place] = -old
                stack.append(place)
                size += 1
    return size


def energy(s, coupling, field, periodic):
    pairs = sum(
        s[r, c] * s[place] for r, c in np.ndindex(s.shape)
        for place in neighbours(s, r, c, periodic)
    )  # fmt: skip
    return -(coupling * pairs / 2.0 + np.sum(field * s)) / s.size


WITH_FIELDS = [(m, f) for m in HEAT_BATH for f in ("none", "number", "array")]


@pytest.mark.parametrize(("method", "field"), [*WITH_FIELDS, ("wolff", "none")])
@pytest.mark.parametrize("periodic", [True, False])
@pytest.mark.parametrize("shape", [(4, 6), (5, 3), (2, 2)])
def test_follows_the_plain_loop_spin_by_spin(method, periodic, field, shape):
    values = {"none": 0.0, "number": 0.3, "array": np.random.default_rng(12).normal(size=shape)}
    coupling = -0.8 if field == "number" else 0.8
    beta, whole = 0.5, np.broadcast_to(values[field], shape)
    fast = bl.ising_sample(
        shape, inverse_temperature=beta, coupling=coupling, field=values[field], method=method,
        periodic=periodic, num_samples=25, num_warmup=3, num_chains=1, rng=13,
    )  # fmt: skip
    rng, means, found, sizes = np.random.default_rng(13), np.zeros(shape), [], []
    s = np.where(rng.random(shape) < 0.5, 1, -1)
    for t in range(28):
        if method == "wolff":
            sizes.append(plain_cluster(s, rng, beta, coupling, periodic))
        else:
            plain_sweep(s, rng, beta, coupling, whole, periodic, method)
        if t >= 3:
            found.append([energy(s, coupling, whole, periodic), s.mean()])
            means += s / 25.0
    np.testing.assert_allclose(fast.values[0], found, rtol=1e-10, atol=1e-12)
    np.testing.assert_array_equal(fast.settings["lattices"][0], s)
    np.testing.assert_allclose(fast.settings["mean_spins"][0], means, atol=1e-12)
    np.testing.assert_allclose(
        fast.logdensity[0], -beta * s.size * np.array(found)[:, 0], rtol=1e-10, atol=1e-12
    )
    if method == "wolff":
        np.testing.assert_array_equal(fast.stats["cluster_size"][0], sizes[3:])
    assert fast.settings["order"] == method


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_follows_the_cell_of_the_page(seed):
    page, run = plain_twin("ising", "ising_sample"), {"inverse_temperature": 0.4, "num_samples": 50}
    fast = bl.ising_sample((8, 6), num_warmup=0, num_chains=1, rng=seed, **run)
    np.testing.assert_allclose(page((8, 6), rng=seed, **run), fast.values[0], atol=1e-12)
    assert not np.allclose(page((8, 6), rng=seed + 9, **run), fast.values[0])


def run(beta, method, seed, **changes):
    options = {"num_samples": 20_000, "num_warmup": 100} | changes
    return bl.ising_sample((4, 4), inverse_temperature=beta, method=method, rng=seed, **options)


def pvalues(draws, truth):
    values = [draws["energy"], np.abs(draws["magnetisation"]), draws["magnetisation"]]
    exact = [truth.energy, truth.abs_magnetisation, truth.magnetisation]
    return [pvalues_of_means(v, e) for v, e in zip(values, exact, strict=True)]


@pytest.mark.parametrize("method", METHODS)
def test_recovers_what_enumeration_says(method):
    """Three means at alpha 1e-6; a temperature 5 % off is refused by the same judge."""
    for periodic in (True, False):
        truth = bl.ising_exact((4, 4), inverse_temperature=0.4, periodic=periodic)
        assert min(pvalues(run(0.4, method, 14, periodic=periodic), truth)) > ALPHA
        assert min(pvalues(run(0.42, method, 14, periodic=periodic), truth)) < ALPHA


def heat_bath_matrices(shape, beta, field, periodic, off=1.0):
    """One matrix for each site, from the tables that the kernel reads; and the exact weights."""
    sites = shape[0] * shape[1]
    spins = 2 * ((np.arange(1 << sites)[:, None] >> np.arange(sites)) & 1) - 1
    table, odds = tables(as_model(shape, off * beta, field, 1.0, periodic))
    lattices = [bordered(s.reshape(shape).astype(np.int8), periodic) for s in spins]
    matrices, here = [], np.arange(1 << sites)
    for site in range(sites):
        r, c = np.array(divmod(site, shape[1])) + 1
        total = [m[r - 1, c] + m[r + 1, c] + m[r, c - 1] + m[r, c + 1] for m in lattices]
        p = table[np.array(total, dtype=int) + 4]
        if odds.size:
            p = p * odds[r - 1, c - 1] / (1.0 + p * odds[r - 1, c - 1])
        matrix = np.zeros((1 << sites, 1 << sites))
        matrix[here, here | (1 << site)] = p
        matrix[here, here & ~(1 << site)] = 1.0 - p
        matrices.append(matrix)
    whole = np.broadcast_to(field, shape)
    log_w = [-beta * sites * energy(s.reshape(shape), 1.0, whole, periodic) for s in spins]
    return matrices, special.softmax(log_w)


@pytest.mark.trust("S6", of="ising_sample")
@pytest.mark.parametrize("periodic", [True, False])
@pytest.mark.parametrize("field", [0.1, FIELD[:3, :3]], ids=["number", "array"])
def test_transition_matrices_leave_the_model_alone(periodic, field):
    """Each update, their mixture and their product; only the product is not reversible."""
    matrices, weights = heat_bath_matrices((3, 3), 0.4, field, periodic)
    sweep = np.linalg.multi_dot(matrices)
    for matrix in (*matrices, sum(matrices) / 9.0, sweep):
        assert np.abs(weights @ matrix - weights).max() < 1e-12
        np.testing.assert_allclose(matrix.sum(axis=1), 1.0, rtol=1e-12)
    for matrix in (*matrices, sum(matrices) / 9.0):
        flow = weights[:, None] * matrix
        assert np.abs(flow - flow.T).max() < 1e-12
    flow = weights[:, None] * sweep
    assert np.abs(flow - flow.T).max() > 1e-5
    truth = bl.ising_exact((3, 3), inverse_temperature=0.4, field=field, periodic=periodic)
    spins = 2 * ((np.arange(512)[:, None] >> np.arange(9)) & 1) - 1
    np.testing.assert_allclose(truth.mean_spins.ravel(), weights @ spins, rtol=1e-10)
    wrong, _ = heat_bath_matrices((3, 3), 0.4, field, periodic, off=1.01)
    assert max(np.abs(weights @ matrix - weights).max() for matrix in wrong) > 1e-6


def test_a_run_goes_on_where_another_ended():
    options = {"inverse_temperature": 0.4, "num_warmup": 0, "num_chains": 1}
    whole = bl.ising_sample((6, 6), num_samples=30, rng=18, **options)
    rng = np.random.default_rng(18)
    first = bl.ising_sample((6, 6), num_samples=10, rng=rng, **options)
    rest = bl.ising_sample(
        (6, 6), num_samples=20, rng=rng, initial=first.settings["lattices"], **options
    )
    parts = np.concatenate([first.values, rest.values], axis=1)
    np.testing.assert_array_equal(parts, whole.values)


def test_extreme_odds_are_certain_and_not_nan():
    strong = 1e6 * np.sign(FIELD)
    draws = run(2.0, "systematic", 21, field=strong, num_samples=20, num_warmup=1)
    np.testing.assert_array_equal(draws.settings["lattices"], np.broadcast_to(
        np.sign(FIELD), (4, 4, 4)
    ))  # fmt: skip
    cold = run(1e5, "systematic", 21, num_samples=20, num_warmup=50, num_chains=1)
    assert np.isfinite(cold.values).all()


def test_a_stopped_chain_ends_before_its_next_sweep():
    control = Control(1)
    control.stop()
    model = as_model((8, 8), 0.4, 0.0, 1.0, True)
    for method in ("random", "wolff"):
        rng = np.random.default_rng(1)
        options = {"model": model, "method": method}
        stopped = run_chain(control, 0, Unasked(2), rng, None, None, ISING, options, (50, 0, 1))
        assert stopped.done == 0


def test_a_common_start_is_warned_of():
    with pytest.warns(bl.BayeslibWarning, match="same state"):
        run(0.4, "checkerboard", 1, initial="up", num_samples=10)


test_bad_input_is_refused_in_words = refused(
    ({"shape": 4}, "shape must be"),
    ({"shape": (4, 4, 4)}, "shape must be"),
    ({"shape": (0, 4)}, r"shape\[0\] must be at least 1"),
    ({"shape": (1, 8)}, "at least 2 rows"),
    ({"inverse_temperature": -0.1}, "inverse_temperature must be at least 0"),
    ({"inverse_temperature": np.nan}, "inverse_temperature"),
    ({"coupling": np.inf}, "coupling must be finite"),
    ({"field": np.zeros((3, 4))}, r"field must be a number or have shape \(4, 4\)"),
    ({"field": np.full((4, 4), np.nan)}, "field"),
    ({"field": FIELD, "inverse_temperature": 50.0}, "at most 35"),
    ({"periodic": 1.5}, "periodic must be"),
    ({"method": "metropolis"}, "method must be one of"),
    ({"method": "wolff", "field": 0.1}, "field=0"),
    ({"method": "wolff", "field": FIELD}, "field=0"),
    ({"method": "wolff", "coupling": -1.0}, "positive coupling"),
    ({"initial": "left"}, "initial must be"),
    ({"initial": np.ones((3, 3))}, "initial must have shape"),
    ({"initial": np.zeros((4, 4))}, "must be -1 or 1, .* is 0"),
    ({"num_samples": 0}, "num_samples"),
    by=lambda **changes: bl.ising_sample(
        **{"shape": (4, 4), "inverse_temperature": 0.4, "rng": 1} | changes
    ),
)


def test_no_exact_answer_is_made_up():
    for options in ({"field": 0.1}, {"periodic": False}, {"coupling": -1.0}):
        with pytest.raises(bl.BayeslibError, match="too many to enumerate"):
            bl.ising_exact((5, 5), inverse_temperature=0.4, **options)
    with pytest.raises(bl.BayeslibError, match="inverse_temperature"):
        bl.onsager_energy(-1.0)


@needs_signals
def test_mean_spins_of_an_interrupted_run_are_means():
    """A frozen lattice has a mean of exactly 1, with the sweep that was cut off or without it."""
    frozen = {"inverse_temperature": 50.0, "initial": "up", "num_warmup": 0, "num_chains": 1}
    bl.ising_sample((64, 64), num_samples=2, rng=1, **frozen)
    with interrupted_after(0.5), pytest.warns(bl.BayeslibWarning, match="a chain are kept"):
        draws = bl.ising_sample((64, 64), num_samples=10**6, rng=1, progress=False, **frozen)
    assert draws.settings["interrupted"] and 1 < draws.num_samples < 10**6
    np.testing.assert_array_equal(draws.settings["mean_spins"], 1.0)
