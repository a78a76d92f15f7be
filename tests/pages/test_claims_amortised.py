"""What the page on amortised inference claims of one seed, asserted over several: no luck."""

from functools import cache

import numpy as np
import pytest
from scipy import stats
from sparing import over
from twins import page, quiet

import bayeslib as bl

pytestmark = quiet
every_seed = over("seed", [2, 3, 4])


@cache
def trained(seed, **options):
    return bl.train_amortised(page("amortised", "simulate"), support=(0, None), rng=seed, **options)


@every_seed
def test_amortised_the_slopes_are_derivatives(seed):
    """Against central differences, to 1e-6; the uphill twin must miss."""
    loss_and_slopes = page("amortised", "loss_and_slopes")
    rng = np.random.default_rng(seed)
    layers = [rng.standard_normal(shape) for shape in ((1, 4), (4,), (4, 2), (2,))]
    layers[2] *= 0.3
    u, x = rng.standard_normal((2, 20, 1))
    _, slopes = loss_and_slopes(layers, u, x)
    for layer, slope in zip(layers, slopes, strict=True):
        for index in np.ndindex(layer.shape):
            here, ends = layer[index], []
            for step in (1e-5, -1e-5):
                layer[index] = here + step
                ends.append(loss_and_slopes(layers, u, x)[0])
            layer[index] = here
            numeric = (ends[0] - ends[1]) / 2e-5
            assert abs(numeric - slope[index]) < 1e-6 * max(1.0, abs(numeric))
    assert max(np.abs(slope).max() for slope in slopes) > 0.1


@pytest.mark.parametrize(("m", "s"), [(1.0, 0.3), (1.5, 0.6), (0.8, 0.5)])
def test_amortised_the_gaps_add_up(m, s):
    """KL(pi, q) = KL(pi, q*) + KL(q*, q) with moments; not with another q*."""
    log_exact, DX, moments, X = page("amortised", "log_exact", "DX", "moments", "X")
    y = 9.0
    log_p = log_exact(y)[0][0]
    weights = np.exp(log_p) * DX
    mean, sd = (v[0] for v in moments(y))

    def to(a, b):
        return weights @ (log_p - stats.norm(a, b).logpdf(X))

    def between(a, b):
        return np.log(s / b) + (b**2 + (a - m) ** 2) / (2 * s**2) - 0.5

    assert abs(to(m, s) - to(mean, sd) - between(mean, sd)) < 1e-9
    assert abs(to(m, s) - to(mean, 0.8 * sd) - between(mean, 0.8 * sd)) > 0.01


@every_seed
def test_amortised_more_units_shrink_the_gap_and_rare_data_keep_it(seed):
    simulate, amortisation_gap = page("amortised", "simulate", "amortisation_gap")
    fresh = simulate(1500, np.random.default_rng(100 + seed))[1]
    nets = [trained(seed, hidden=(units,), num_steps=1000) for units in (1, 2, 32)]
    gaps = [amortisation_gap(fresh, net).mean() for net in nets]
    assert gaps[0] > gaps[1] > 1.5 * gaps[2]
    few = trained(seed, num_simulations=500, num_steps=1000)
    assert amortisation_gap(fresh, few).mean() > 2 * gaps[2]
    for net in nets[1:]:
        common, rare = (amortisation_gap(y, net).max() for y in ([1, 3, 5], [15, 20]))
        assert rare > 10 * common


@every_seed
def test_amortised_under_reaction_to_outliers(seed):
    """The exact mean comes back to the prior; the learned ones late, with two units later."""
    exact_mean, learned_mean = page("amortised", "exact_mean", "learned_mean")
    exact = exact_mean(20.0)[0]
    large, small = trained(seed), trained(seed, hidden=(2,), num_steps=1000)
    assert exact < 4 and exact + 0.5 < learned_mean(20.0, large) < learned_mean(20.0, small)
    assert abs(learned_mean(5.0, large) - exact_mean(5.0)[0]) < 0.2


@every_seed
def test_amortised_schools_decide_the_reaction(seed):
    school, learned = page("amortised", "school", "learned")
    reaction = []
    for c in (0.5, 1, 2, 4):
        net = bl.train_amortised(
            school(c), hidden=(2,), num_simulations=5000, num_steps=700, rng=seed
        )
        reaction.append(learned(3.0, net)[0][0] / 2.4)
    assert np.all(np.diff(reaction) > 0) and reaction[0] < 0.6 and reaction[-1] > 0.75


def test_amortised_choosing_by_the_datum_leaves_the_posterior():
    """z-scores of means at y near 1 below 4.9 (false alarm 1e-6); choosing by theta fails."""
    theta, y = page("amortised", "on_the_line")(400_000, np.random.default_rng(1))
    near = np.abs(y - 1) < 0.02
    mean = 0.8 * y
    for kept, fine in ((np.abs(y) < 1.5, True), (theta > 0.5, False)):
        off = (theta - mean)[near & kept]
        z = off.mean() / (off.std() / np.sqrt(off.size))
        assert (abs(z) < 4.9) == fine


@pytest.mark.filterwarnings("ignore:simulations that were held back show")
@every_seed
def test_amortised_calibration_convicts_by_the_datum(seed):
    """After ten steps |y - theta| has p < 1e-6, whatever the seed; after 2000 nothing has."""
    on_the_line, calibrate, line, draws_of = page(
        "amortised", "on_the_line", "calibrate", "line", "draws_of"
    )
    hasty = bl.train_amortised(on_the_line, num_steps=10, rng=seed)
    trial = calibrate(line, draws_of(hasty))
    assert trial.pvalues[1] < 1e-6 and trial.pvalues[1] < 1e-6 * trial.pvalues[0]
    straight = bl.train_amortised(on_the_line, num_steps=2000, rng=seed)
    trial = calibrate(line, draws_of(straight))
    assert trial.pvalues.min() > 1e-6


@pytest.mark.parametrize("k", [0.0, 0.6])
def test_amortised_an_honest_spread_hides_the_fault_from_the_parameter(k):
    """theta - k y has variance (1 - k)^2 + k^2/4; with another spread theta convicts as well."""
    calibrate, line = page("amortised", "calibrate", "line")
    sd = np.sqrt((1 - k) ** 2 + 0.25 * k**2)

    def answer(scale):
        return lambda y, rng: k * y + scale * sd * rng.standard_normal(99)

    pvalues = calibrate(line, answer(1.0)).pvalues
    assert pvalues[1] < 1e-6 < pvalues[0]
    assert calibrate(line, answer(0.7)).pvalues[0] < 1e-6


def test_amortised_the_family_is_at_fault():
    """The best Gaussian is as uncalibrated as the network; weights repair it (p > 1e-6)."""
    calibrate, running, best_gaussian, draws_of, net, repaired = page(
        "amortised", "calibrate", "running", "best_gaussian", "draws_of", "net", "repaired"
    )
    failed = calibrate(running, best_gaussian)
    learned_too = calibrate(running, draws_of(net, True))
    assert max(failed.pvalues[0], learned_too.pvalues[0]) < 1e-3
    assert failed.z[0, 1] * learned_too.z[0, 1] > 0 or failed.z[0, 0] * learned_too.z[0, 0] > 0
    weighed = calibrate(running, repaired, num_fits=2_000, rng=21)
    assert weighed.pvalues.min() > 1e-6


def test_amortised_the_loss_is_drawn_from_its_beginning(monkeypatch):
    """The curve of the page: at step 0 the first batch alone, later a mean over the past only."""
    recent = page("amortised", "recent")
    trace = np.concatenate([[1.0, 0.9, 0.8], np.full(97, 0.6)])
    monkeypatch.setitem(recent.__globals__, "trace", trace)
    assert [recent(t) for t in (0, 1, 2, 3)] == [1.0, 0.9, 0.8, 0.6]
    trace[:] = np.where(np.arange(100) > 50, 0.0, 1.0)  # what comes later does not count
    assert recent(50) == 1.0 and recent(60) < 0.5 and recent(99) == recent(100) == 0.0


@pytest.mark.parametrize("y", [0.0, 2.0, 5.0, 9.0, 15.0, 20.0, 30.0])
def test_amortised_weights_repair_every_answer(y):
    """|z| < 4.9 for the weighted mean (false alarm 1e-6); a network far off is seen by it."""
    weighted, exact_mean, learned_mean = page("amortised", "weighted", "exact_mean", "learned_mean")
    theta, w = weighted(y, 20_000, np.random.default_rng(11))
    w = w / w.sum()
    mean = w @ theta
    mcse = np.sqrt(np.sum((w * (theta - mean)) ** 2))
    assert abs(mean - exact_mean(y)[0]) < 4.9 * mcse
    assert w.max() * w.size < 60 and 1 / np.sum(w**2) > 0.4 * w.size
    if y >= 15:
        assert abs(mean - learned_mean(y)) > 10 * mcse


def test_amortised_the_bound_of_the_weights():
    """Joint over the defensive mixture: at most ten likelihoods."""
    for y in (-50.0, 5.0, 1000.0):
        theta, w = page("amortised", "weighted")(y, 5000, np.random.default_rng(1))
        assert np.all(w <= 10 * (2 + (y - theta) ** 2) ** -1.5 * (1 + 1e-9))


@pytest.mark.parametrize("y", [0.0, 5.0, 15.0, 30.0])
def test_amortised_bare_weights_have_no_variance(y):
    """p^2/q grows without limit towards log theta -> -inf; under the mixture it vanishes."""
    m, s = (v[0] for v in page("amortised", "learned")(y))
    x = np.array([-10.0, -20.0, -40.0, -80.0])
    log_prior = 3 * x - np.exp(x) - np.log(2)
    log_p = log_prior - 1.5 * np.log1p(0.5 * (y - np.exp(x)) ** 2)
    log_q = stats.norm(m, s).logpdf(x)
    mixture = np.logaddexp(np.log(0.9) + log_q, np.log(0.1) + log_prior)
    assert np.all(np.diff(2 * log_p - log_q) > 10)
    assert np.all(np.diff(2 * log_p - mixture) < -10)


def test_amortised_the_plateau():
    net = page("amortised", "net")
    with pytest.warns(bl.BayeslibWarning, match="lies outside"):
        net.posterior(1e6)
    near, far = net.predict([1e5]), net.predict([1e7])
    assert abs(near[0][0, 0] - far[0][0, 0]) < 0.1
