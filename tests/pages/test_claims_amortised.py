"""What the page on amortised inference claims of one seed, asserted over several: no luck."""

import numpy as np
import pytest
from scipy import stats
from twins import page, quiet

import bayeslib as bl

pytestmark = quiet


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


def test_amortised_choosing_by_the_datum_leaves_the_posterior():
    """z-scores of means at y near 1 below 4.9 (false alarm 1e-6); choosing by theta fails."""
    theta, y = page("amortised", "on_the_line")(400_000, np.random.default_rng(1))
    near = np.abs(y - 1) < 0.02
    mean = 0.8 * y
    for kept, fine in ((np.abs(y) < 1.5, True), (theta > 0.5, False)):
        off = (theta - mean)[near & kept]
        z = off.mean() / (off.std() / np.sqrt(off.size))
        assert (abs(z) < 4.9) == fine


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


def test_amortised_the_loss_is_drawn_from_its_beginning(monkeypatch):
    """The curve of the page: at step 0 the first batch alone, later a mean over the past only."""
    recent = page("amortised", "recent")
    trace = np.concatenate([[1.0, 0.9, 0.8], np.full(97, 0.6)])
    monkeypatch.setitem(recent.__globals__, "trace", trace)
    assert [recent(t) for t in (0, 1, 2, 3)] == [1.0, 0.9, 0.8, 0.6]
    trace[:] = np.where(np.arange(100) > 50, 0.0, 1.0)  # what comes later does not count
    assert recent(50) == 1.0 and recent(60) < 0.5 and recent(99) == recent(100) == 0.0


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
