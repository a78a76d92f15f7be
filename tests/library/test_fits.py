"""What fits and noisy chains say of odd input, of an exact fit, and of modes they did not cover."""

import numpy as np
import pytest
from bad_inputs import refused
from calling import quietly
from densities import cut_off
from test_importance_filter import run as filtered

import bayeslib as bl
from bayeslib.diagnostics.tails import fit_weights
from bayeslib.errors import (
    BayeslibError,
    BayeslibTypeError,
    BayeslibWarning,
    ImproperError,
    TargetError,
)


def standard(theta):
    return -0.5 * np.sum(theta**2)


def flat(theta):
    return 0.0 * theta[0]


BLOWS_UP = bl.Target(cut_off, dim=1, data=(2.8, np.inf))
LINE = bl.Target(standard, dim=1)
PLANE = bl.Target(standard, dim=2)
SCHOOLS = bl.posteriors.eight_schools(centered=False)
TWO_MODES = bl.posteriors.mixture([0.5, 0.5], [-20.0, 20.0], 1.0)
WORDS = np.array(["meanfield", "fullrank"])


def pairs(num, rng):
    theta = rng.normal(size=num)
    return theta, theta + rng.normal(size=num)


# What has a seed and is not in the registry: a result, its numbers, and to what they repeat. BLAS
# sums in an order that depends on where in memory arrays lie; where a path has all but converged,
# its curvatures are differences of nearly equal gradients.
SEEDED = {
    "advi": (lambda rng: bl.advi(PLANE, num_steps=50, rng=rng), "mean", 0.0),
    "bbvi": (lambda rng: bl.bbvi(PLANE, num_steps=30, num_check=200, rng=rng), "mean", 0.0),
    "pathfinder": (
        lambda rng: bl.pathfinder(SCHOOLS, num_check=100, num_elbo_draws=10, rng=rng), "mean", 1e-6,
    ),
    "train_amortised": (
        lambda rng: bl.train_amortised(pairs, num_simulations=500, num_steps=20, rng=rng),
        "loss_trace", 1e-9,
    ),
    "particle_filter": (lambda rng: filtered(num_particles=100, rng=rng), "particles", 0.0),
    "ising_sample": (
        lambda rng: bl.ising_sample((8, 8), inverse_temperature=0.4, num_samples=60, rng=rng),
        "values", 0.0,
    ),
}  # fmt: skip


@pytest.mark.trust("S14")
@pytest.mark.parametrize("name", SEEDED)
def test_the_seed_decides_everything(name):
    run, numbers, rtol = SEEDED[name]
    first, same, other = (quietly(run, rng) for rng in (3, np.random.default_rng(3), 4))
    fresh = quietly(run, None)
    again = quietly(run, fresh.settings["seed"])
    for one, two in ((first, same), (fresh, again)):
        np.testing.assert_allclose(getattr(one, numbers), getattr(two, numbers), rtol=rtol)
    assert not np.allclose(getattr(first, numbers), getattr(other, numbers), rtol=1e-3)
    assert first.settings["seed"] == 3


@pytest.mark.trust("S15")
@pytest.mark.parametrize("name", SEEDED)
@pytest.mark.parametrize("rng", [True, "one", 1.5, -1])
def test_bad_seeds_are_refused(name, rng):
    with pytest.raises(BayeslibError, match="rng"):
        SEEDED[name][0](rng)


test_odd_arguments_are_named = refused(
    (lambda: bl.laplace(LINE, coordinates=WORDS), "coordinates must be"),
    (lambda: bl.advi(LINE, family=WORDS, rng=1), "family must be one of"),
    (lambda: bl.advi(LINE, keep_path="no", rng=1), BayeslibTypeError, "keep_path must be True"),
    (lambda: bl.elbo(LINE, bl.Gaussian(0, 1), entropy=WORDS, rng=1), "entropy must be"),
    (lambda: bl.bbvi_gradients(LINE, 0, 1, estimator="score", entropy="no", rng=1),
     BayeslibTypeError, "entropy must be True"),
    (lambda: bl.bbvi_gradients(LINE, 0, 1, estimator="score", num_draws=1e13, rng=1),
     MemoryError, "the draws of shape"),
    (lambda: bl.pathfinder(LINE, [], rng=1), r"got \(0,\)"),
    (lambda: bl.pathfinder(LINE, keep_path=2, rng=1), BayeslibTypeError, "keep_path must be"),
    (lambda: bl.pathfinder(LINE, num_paths=1e10, rng=1), "at most 10000"),
    (lambda: bl.pathfinder(LINE, num_check=1e13, rng=1), MemoryError, "the draws of shape"),
    (lambda: bl.bbvi(LINE, num_steps=1e13, rng=1), MemoryError, "the trace of shape"),
    (lambda: bl.Gaussian(0, 1).sample(1e13, 1), MemoryError, "the draws of shape"),
    (lambda: bl.pathfinder(BLOWS_UP, [0.5], rng=1), TargetError, r"inf at theta=\["),
    (lambda: bl.Gaussian([], []), r"must have shape \(1,\), got \(0,\)"),
    (lambda: bl.Gaussian(0, 1, names=5), BayeslibTypeError, "names must be strings"),
    (lambda: bl.Gaussian(0, 1, transform=5), "support must be 1 pairs"),
    (lambda: bl.Gaussian(0, 1, transform=[(0,)]), "support must be 1 pairs"),
    (lambda: bl.Gaussian(0, 1).logdensity("a"), BayeslibTypeError, "x must hold real numbers"),
    (lambda: bl.train_amortised(pairs, support=5, rng=1), "support must be 1 pairs"),
    (lambda: bl.train_amortised(pairs, names=5, rng=1), BayeslibTypeError, "must be strings"),
    (lambda: bl.train_amortised(lambda n, r: (1e200 * r.normal(size=n), np.ones(n)), rng=1),
     "parameters reach .* other units"),
)  # fmt: skip


def test_a_pair_alone_is_the_support_of_one_dimension():
    one = bl.Gaussian(0.0, 1.0, transform=(0, None))
    assert one.transform == bl.Gaussian(0.0, 1.0, transform=[(0.0, np.inf)]).transform
    assert bl.Gaussian([0.0, 1.0], 1.0, transform=(None, None)).transform is None


@pytest.mark.parametrize("transform", [None, [(None, None), (0.0, None)]])
def test_the_density_of_a_gaussian_at_nan_and_infinity(transform):
    q = bl.Gaussian([0.0, 1.0], np.eye(2), transform=transform)
    found = q.logdensity([[0.1, 0.2], [np.nan, 1.0], [np.inf, 1.0], [0.1, np.inf]])
    assert np.isfinite(found[0]) and np.isnan(found[1]) and np.all(found[2:] == -np.inf)
    assert found[0] == pytest.approx(q.logdensity([0.1, 0.2]), rel=1e-14)


def test_weights_that_differ_by_rounding_have_no_tail():
    rng = np.random.default_rng(1)
    noise = rng.choice([0.0, -1.1e-16, -2.2e-16], p=[0.001, 0.009, 0.99], size=2000)
    assert fit_weights(noise)[0] == -np.inf
    assert np.isfinite(fit_weights(1e14 * noise)[0])  # the same shape, in differences that count


def test_an_exact_fit_raises_no_alarm():
    for seed in range(12):
        assert not bl.advi(LINE, family="fullrank", num_steps=400, rng=seed).problems
        assert not bl.multipathfinder(PLANE, rng=seed).problems


def test_a_fit_whose_draws_meet_nan_is_kept_and_told():
    with pytest.warns(BayeslibWarning, match="draws have no finite density"):
        q = bl.advi(bl.Target(cut_off, dim=1, data=(1.0, np.nan)), -0.5, num_steps=200, rng=1)
    assert q.elbo.value == -np.inf and q.settings["num_outside"] > 0


def test_a_flat_density_is_improper_and_nothing_overflows():
    with pytest.raises(ImproperError, match="ran off.*improper, or flat"):
        bl.advi(bl.Target(flat, dim=1), rng=1)


@pytest.mark.filterwarnings("ignore:another mode:bayeslib.BayeslibWarning")
@pytest.mark.parametrize(
    ("fit", "name"),
    [
        (lambda starts: bl.advi(TWO_MODES, starts, num_restarts=2, num_steps=400, rng=1), "fit"),
        (lambda starts: bl.pathfinder(TWO_MODES, starts, rng=1), "path"),
    ],
)
def test_a_fit_that_ended_at_another_mode_is_told(fit, name):
    with pytest.warns(BayeslibWarning, match=rf"{name} . of 2 ended elsewhere, about theta=\[-?20"):
        assert fit([[-19.0], [18.0]]).problems
    assert not any("ended elsewhere" in said for said in fit([[19.0], [18.0]]).problems)


def test_weighted_chains_that_disagree_are_told():
    step_sizes = (1.0 + np.arange(600) / 100) ** -0.6
    options = {"batch_size": None, "num_samples": 500, "num_warmup": 100, "num_steps": 5, "rng": 1}
    apart = bl.sgld(TWO_MODES, [[-20], [-20], [-20], [20]], step_size=0.1 * step_sizes, **options)
    assert any("R-hat" in problem for problem in apart.problems)
    together = bl.sgld(LINE, [[-2], [-1], [1], [2]], step_size=0.5 * step_sizes, **options)
    assert not together.problems
