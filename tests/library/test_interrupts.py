"""Long calls outside chains: each ends when it is interrupted, and keeps what it can."""

import sys

import numpy as np
import pytest
from test_doors import FITS, WEIGHTED
from test_fits import pairs

import bayeslib as bl
from bayeslib import posteriors, waiting
from bayeslib.compile import callback
from bayeslib.errors import BayeslibWarning
from bayeslib.markov import boltzmann
from bayeslib.variational import advi_ascent, bbvi_ascent, training, verdict

TARGET = posteriors.gaussian([0.0, 1.0], [1.0, 4.0])
WIDE = bl.Gaussian([0.0, 0.0], 9.0)


class Interrupted:
    """A kernel during whose call number `last` an interrupt is sent, from 0."""

    def __init__(self, kernel, last):
        self._kernel, self._last = kernel, last
        self.compile = getattr(kernel, "compile", None)

    def __call__(self, *arguments, **options):
        if self._last == 0:
            raise KeyboardInterrupt
        self._last -= 1
        return self._kernel(*arguments, **options)


@pytest.fixture
def interrupt(monkeypatch):
    """Return interrupt(last), which does so at a block of evaluations, and fixes their sizes."""
    monkeypatch.setattr(waiting, "BLOCK_SECONDS", np.inf)  # blocks of 1, 20, 400, ...

    def send(last, home=callback, name="evaluate_rows"):
        monkeypatch.setattr(home, name, Interrupted(getattr(home, name), last))

    return send


def test_importance_sampling_keeps_the_draws_weighted_so_far(interrupt):
    whole = bl.importance_sample(TARGET, WIDE, num_samples=2000, rng=1)
    assert whole.settings["interrupted"] is False
    interrupt(3)
    with pytest.warns(BayeslibWarning, match="the run was interrupted"):
        draws = bl.importance_sample(TARGET, WIDE, num_samples=2000, rng=1)
    assert draws.num_samples == draws.num_evals == 421 and draws.settings["interrupted"]
    for name in ("values", "logdensity", "log_weights"):
        np.testing.assert_array_equal(getattr(draws, name), getattr(whole, name)[:, :421])
    assert abs(draws.log_evidence.z(TARGET.truth.log_evidence)) < 4.9


def test_rejection_keeps_the_draws_accepted_so_far(interrupt):
    how = {"log_bound": 4.0, "num_samples": 1000, "rng": 1}
    whole = bl.rejection_sample(TARGET, WIDE, **how)
    interrupt(3)
    with pytest.warns(BayeslibWarning, match="of 1000 draws are kept"):
        draws = bl.rejection_sample(TARGET, WIDE, **how)
    assert draws.num_evals == 421 and draws.settings["interrupted"] and draws.num_samples > 2
    assert "interrupted" in draws.problems[0]
    np.testing.assert_array_equal(draws.values, whole.values[:, : draws.num_samples])
    interrupt(0)
    with pytest.raises(KeyboardInterrupt):
        bl.rejection_sample(TARGET, WIDE, **how)


@pytest.mark.parametrize(
    ("method", "words"),
    [
        (bl.smc, "keeps nothing, for before its last temperature"),
        (bl.annealed_importance_sample, "keeps nothing, for before the last temperature"),
        (bl.adaptive_importance_sample, "keeps nothing, for what it draws while it learns"),
    ],
)
def test_what_has_nothing_to_keep_says_why(method, words, interrupt):
    method(TARGET, WIDE, num_samples=50, rng=1)
    interrupt(4)
    with pytest.raises(KeyboardInterrupt) as caught:
        method(TARGET, WIDE, num_samples=50, rng=1)
    assert words in caught.value.__notes__[0]


def test_adaptive_sampling_keeps_the_last_draws(interrupt):
    how = {"num_adapt": 100, "num_rounds": 2, "rng": 1}
    whole = bl.adaptive_importance_sample(TARGET, WIDE, num_samples=2000, **how)
    interrupt(2 * 3 + 3)
    with pytest.warns(BayeslibWarning, match="the run was interrupted"):
        draws = bl.adaptive_importance_sample(TARGET, WIDE, num_samples=2000, **how)
    assert draws.num_samples == 421 and draws.num_evals == 621 and draws.settings["interrupted"]
    np.testing.assert_array_equal(draws.values, whole.values[:, :421])


@pytest.mark.filterwarnings("ignore:k-hat:bayeslib.errors.BayeslibWarning")
@pytest.mark.parametrize("how", [{}, {"num_steps": 3000}, {"family": "fullrank"}])
def test_a_fit_keeps_where_it_had_come_to(how, interrupt, monkeypatch):
    """Blocks of steps leave no trace; what an interrupt leaves is the path until then."""
    target = posteriors.challenger()
    with monkeypatch.context() as patch:
        patch.setattr(waiting, "BLOCK_SECONDS", 1e-9)  # blocks of one step
        small = bl.advi(target, rng=1, keep_path=True, **how)
    whole = bl.advi(target, rng=1, keep_path=True, **how)
    np.testing.assert_array_equal(small.settings["means"], whole.settings["means"])
    np.testing.assert_array_equal(small.cov, whole.cov)
    assert not whole.settings["interrupted"]
    interrupt(4, advi_ascent, "ascent_kernel")
    with pytest.warns(BayeslibWarning, match="interrupted after .* steps; interrupted before its"):
        q = bl.advi(target, rng=1, keep_path=True, **how)
    steps = len(q.elbo_trace)
    assert q.settings["interrupted"] and 100 < steps == q.settings["num_steps"]
    np.testing.assert_array_equal(q.settings["means"], whole.settings["means"][:steps])
    np.testing.assert_allclose(np.sqrt(np.diag(q.cov)), q.settings["scales"][-1], rtol=0.5)
    interrupt(0, advi_ascent, "ascent_kernel")
    with pytest.raises(KeyboardInterrupt):
        bl.advi(target, rng=1, **how)


def test_what_was_fitted_or_learned_is_kept(interrupt):
    interrupt(2, bbvi_ascent, "bbvi_kernel")
    with pytest.warns(BayeslibWarning, match="interrupted after 21 of 1000 steps"):
        q = bl.bbvi(TARGET, num_steps=1000, rng=1)
    assert q.settings["interrupted"] and q.elbo_trace.shape == (21,)
    interrupt(2, bbvi_ascent, "bbvi_kernel")
    with pytest.raises(KeyboardInterrupt):  # no row is missing from what it returns
        bl.bbvi_gradients(TARGET, [0.0, 1.0], 1.0, estimator="score", rng=1)
    interrupt(7, training, "adam_step")
    with pytest.warns(BayeslibWarning, match="interrupted after 7 of 50 steps"):
        net = bl.train_amortised(pairs, num_simulations=500, num_steps=50, rng=1)
    assert net.loss_trace.shape == (7,)
    interrupt(3, boltzmann, "Gradient")
    with pytest.warns(BayeslibWarning, match="interrupted after 3 iterations"):
        learned = bl.BoltzmannMachine([[0.0]], [1.0]).fit([[0], [1], [1], [0]], rng=1)
    assert learned.log_likelihood.shape == (4,) and learned.settings["interrupted"]


def test_an_interrupt_of_the_verdict_leaves_the_fit(interrupt):
    target = posteriors.challenger()
    whole = bl.laplace(target)
    interrupt(0, verdict, "weigh")
    with pytest.warns(BayeslibWarning, match="nothing is known of its errors"):
        q = bl.laplace(target)
    np.testing.assert_array_equal(q.mean, whole.mean)
    assert q.settings["interrupted"] and np.isnan(q.settings["khat"])
    interrupt(0, sys.modules["bayeslib.variational.laplace"], "climb")
    with pytest.raises(KeyboardInterrupt) as caught:
        bl.laplace(target)
    assert "laplace keeps nothing, for a point on the way is no mode" in caught.value.__notes__[0]


class Bar:
    """What tqdm does, noted."""

    made = []

    def __init__(self, **options):
        self.options, self.n, self.open = options, 0, True
        self.made.append(self)

    def update(self, more):
        self.n += more

    def close(self):
        self.open = False


@pytest.fixture
def bars(monkeypatch):
    """Return the bars that are made."""
    monkeypatch.setattr(waiting, "_bar", Bar)
    monkeypatch.setattr(Bar, "made", [])
    return Bar.made


def test_a_bar_counts_the_evaluations_of_the_outermost_run(bars):
    with waiting.watching("outer", progress=True):
        TARGET.many(np.zeros((7, 2)))
        TARGET.many(np.zeros((5, 2)))
    (bar,) = bars
    assert bar.options["desc"] == "outer" and bar.n == 12 and not bar.open
    TARGET.many(np.zeros((7, 2)))
    with waiting.watching("silent", progress=False):
        TARGET.many(np.zeros((7, 2)))
    assert len(bars) == 1


LONG, LINE = WEIGHTED | FITS, posteriors.gaussian([1.0], [[2.0]])


@pytest.mark.filterwarnings("ignore::bayeslib.errors.BayeslibWarning")
@pytest.mark.parametrize("name", LONG)
def test_every_long_method_has_one_bar_of_its_evaluations(name, bars):
    shown = LONG[name](LINE, progress=True)
    (bar,) = bars
    assert bar.options["desc"] == name and 0 < bar.n <= shown.num_evals
    silent = LONG[name](LINE, progress=False)
    assert len(bars) == 1
    np.testing.assert_array_equal(shown.expect().value, silent.expect().value)
    with pytest.raises(TypeError, match="progress must be None, True or False, got 3"):
        LONG[name](LINE, progress=3)
