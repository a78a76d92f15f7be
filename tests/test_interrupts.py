"""Long calls outside chains: each ends when it is interrupted, and keeps what it can."""

import numpy as np
import pytest
from scipy import stats

import bayeslib as bl
from bayeslib import posteriors
from bayeslib.engine import callback, waiting
from bayeslib.errors import BayeslibWarning

TARGET = posteriors.gaussian([0.0, 1.0], [1.0, 4.0])
WIDE = bl.Gaussian([0.0, 0.0], 9.0)


class Interrupted:
    """A kernel during whose call number `last` an interrupt is sent, from 0."""

    def __init__(self, kernel, last):
        self._kernel, self._last = kernel, last
        self.compile = getattr(kernel, "compile", None)

    def __call__(self, *arguments):
        if self._last == 0:
            raise KeyboardInterrupt
        self._last -= 1
        return self._kernel(*arguments)


@pytest.fixture
def interrupt(monkeypatch):
    """Return interrupt(last), which does so at a block of evaluations, and fixes their sizes."""
    monkeypatch.setattr(waiting, "BLOCK_SECONDS", np.inf)  # blocks of 1, 20, 400, ...

    def send(last, home=callback, name="_evaluate_rows"):
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
    draws = bl.rejection_sample(TARGET, WIDE, **how)
    assert draws.num_evals == 421 and draws.settings["interrupted"] and draws.num_samples > 2
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


class Bar:
    """What tqdm does, noted."""

    made = []

    def __init__(self, **options):
        self.options, self.n = options, 0
        self.made.append(self)

    def update(self, more):
        self.n += more

    def close(self):
        pass


LONG = {
    "importance_sample": lambda **how: bl.importance_sample(TARGET, WIDE, num_samples=99, **how),
    "smc": lambda **how: bl.smc(TARGET, WIDE, num_samples=99, **how),
    "annealed_importance_sample": lambda **how: bl.annealed_importance_sample(
        TARGET, WIDE, num_samples=99, **how
    ),
    "adaptive_importance_sample": lambda **how: bl.adaptive_importance_sample(
        TARGET, WIDE, num_samples=99, **how
    ),
    "rejection_sample": lambda **how: bl.rejection_sample(
        posteriors.coin(8, 2), stats.uniform(), log_bound=0.0, num_samples=9, **how
    ),
}


@pytest.mark.filterwarnings("ignore::bayeslib.errors.BayeslibWarning")
@pytest.mark.parametrize("name", LONG)
def test_every_long_method_has_one_bar_of_its_evaluations(name, monkeypatch):
    monkeypatch.setattr(waiting, "_bar", Bar)
    monkeypatch.setattr(Bar, "made", [])
    shown = LONG[name](rng=1, progress=True)
    (bar,) = Bar.made
    assert bar.options["desc"] == name and 0 < bar.n <= shown.num_evals
    silent = LONG[name](rng=1, progress=False)
    assert len(Bar.made) == 1
    np.testing.assert_array_equal(shown.expect().value, silent.expect().value)
    with pytest.raises(TypeError, match="progress must be None, True or False, got 3"):
        LONG[name](rng=1, progress=3)
