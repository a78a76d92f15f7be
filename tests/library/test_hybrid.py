"""Black-box variational inference: gradients whose moments are known, and where they lead."""

import numpy as np
import pytest
from bad_inputs import refused
from densities import cut_off, exponential, raising
from scipy import stats

import bayeslib as bl
from bayeslib import posteriors
from bayeslib.variational import gaussian_family

ESTIMATORS = ("score", "baseline", "loo", "rao_blackwell", "reparam")
NUM_DRAWS = {"score": 1, "baseline": 1, "loo": 4, "rao_blackwell": 1, "reparam": 1}
Z_LIMIT = float(stats.norm.isf(1e-6 / 32 / 2))  # of at most 32 numbers in a test


SQUARE = bl.Target(lambda theta: theta[0] ** 2, dim=1)
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(40)
WEIGHTS = WEIGHTS / WEIGHTS.sum()


def moments_by_quadrature(estimator, baseline=0.0):
    """Mean and variance of one draw's gradient of E[x^2] at q = N(1, 1), exact: polynomials."""
    x = 1.0 + NODES
    score = np.array([NODES, NODES**2 - 1.0])
    draws = {
        "score": (x**2 - baseline) * score,
        "rao_blackwell": (x**2 - 1.0) * score,
        "reparam": 2.0 * x * np.array([np.ones_like(NODES), NODES]),
    }["score" if estimator == "baseline" else estimator]
    mean = draws @ WEIGHTS
    return mean, np.square(draws - mean[:, None]) @ WEIGHTS


def z_of_moments(gradients, mean, variance):
    """z of the sample's means and variances, (2, parameters)."""
    size = len(gradients)
    squares = np.square(gradients - mean)
    of_mean = (gradients.mean(axis=0) - mean) / np.sqrt(variance / size)
    of_variance = (squares.mean(axis=0) - variance) / (squares.std(axis=0) / np.sqrt(size))
    return np.array([of_mean, of_variance])


LADDER = [
    ("score", None, 30.0),
    ("rao_blackwell", None, 23.0),
    ("baseline", 2.0, 18.0),
    ("baseline", 4.0, 14.0),
    ("reparam", None, 4.0),
]


@pytest.mark.trust("M7", of="bbvi")
@pytest.mark.parametrize(("estimator", "baseline", "variance"), LADDER)
def test_one_draws_gradient_has_the_moments_of_the_theory(estimator, baseline, variance):
    """For q = N(mu, 1), f = x^2 and mu = 1: mean 2, variances 30, 18, 14 and 4."""
    exact = moments_by_quadrature(estimator, baseline or 0.0)
    np.testing.assert_allclose([exact[0][0], exact[1][0]], [2.0, variance], rtol=1e-12)
    gradients = bl.bbvi_gradients(
        SQUARE, 1.0, 1.0, estimator=estimator, baseline=baseline, entropy=False,
        num_samples=200_000, rng=1,
    )  # fmt: skip
    assert np.abs(z_of_moments(gradients, *exact)).max() < Z_LIMIT
    wrong = exact[0] * 1.05, exact[1] * 1.2  # the twin: 5 % and 20 % beside the truth
    assert np.all(np.abs(z_of_moments(gradients, *wrong)).max(axis=1) > Z_LIMIT)


@pytest.mark.parametrize("num_draws", [2, 4, 10])
def test_leaving_one_out_is_the_variance_of_a_sample_covariance(num_draws):
    """The estimate is that of Cov(f, h), whose moments give 18 + 10 / (n - 1) a draw."""
    gradients = bl.bbvi_gradients(
        SQUARE, 1.0, 1.0, estimator="loo", num_draws=num_draws, entropy=False,
        num_samples=200_000, rng=4,
    )[:, :1]  # fmt: skip
    variance = (18.0 + 10.0 / (num_draws - 1)) / num_draws
    assert np.abs(z_of_moments(gradients, 2.0, variance)).max() < Z_LIMIT
    assert z_of_moments(gradients, 2.0, 14.0 / num_draws)[1, 0] > Z_LIMIT  # the twin


def test_the_best_baseline_is_found():
    """E[f h^2] / E[h^2] is 4 for the mean; what others make of it stands in `LADDER`."""
    gradients = bl.bbvi_gradients(
        SQUARE, 1.0, 1.0, estimator="baseline", entropy=False, num_samples=200_000, rng=2
    )
    assert gradients[:, 0].var() == pytest.approx(14.0, rel=0.05)


BANANA = posteriors.banana(1.0, width=0.8)
MEAN, FACTOR = np.array([0.4, -0.3]), np.array([[0.9, 0.0], [0.5, 0.7]])


def bound_by_quadrature(parameters):
    """The evidence bound of q for the banana: log p is a polynomial, so that it is exact."""
    mean, factor = gaussian_family.unpack(parameters, 2)
    z = np.stack(np.meshgrid(NODES, NODES), axis=-1).reshape(-1, 2)
    weights = np.outer(WEIGHTS, WEIGHTS).ravel()
    entropy = np.log(np.diag(factor)).sum() + 1.0 + np.log(2.0 * np.pi)
    return weights @ BANANA.many(mean + z @ factor.T) + entropy


@pytest.mark.parametrize(
    ("estimator", "dense"),
    [(e, d) for e in ESTIMATORS for d in (False, True) if (e, d) != ("rao_blackwell", True)],
)
def test_every_estimator_is_unbiased(estimator, dense):
    """The mean of many estimates is the derivative of the bound, by central differences."""
    factor = FACTOR if dense else np.diag(np.diag(FACTOR))
    parameters = gaussian_family.pack(MEAN, factor, dense)
    exact = np.array(
        [
            (bound_by_quadrature(parameters + step) - bound_by_quadrature(parameters - step)) / 2e-5
            for step in 1e-5 * np.eye(parameters.size)
        ]
    )
    gradients = bl.bbvi_gradients(
        BANANA, MEAN, factor if dense else np.diag(factor), estimator=estimator,
        num_draws=NUM_DRAWS[estimator], num_samples=100_000, rng=3,
    )  # fmt: skip
    error = gradients.std(axis=0) / np.sqrt(len(gradients))
    assert np.abs((gradients.mean(axis=0) - exact) / error).max() < Z_LIMIT
    # The twin: a gradient a fifth too small, as that of four draws about their common mean would
    # be if it were divided by four.
    assert np.abs((0.75 * gradients.mean(axis=0) - exact) / error).max() > Z_LIMIT


def plain_bbvi(target, start, estimator, optimiser, num_steps, num_draws, rng, step, decay, delay):
    """Black-box variational inference as one reads it, mean-field, on the whole line."""
    dim = target.dim
    mean, log_sd = np.array(start, dtype=float), np.zeros(dim)
    first, second = np.zeros(2 * dim), np.zeros(2 * dim)
    above, below = np.zeros(2 * dim), np.zeros(2 * dim)
    trace, kept = [], []
    for t in range(num_steps):
        z = rng.standard_normal((num_draws, dim))
        sd = np.exp(log_sd)
        theta = mean + sd * z
        f = np.array([target(x) for x in theta]) - stats.norm.logpdf(theta, mean, sd).sum(axis=1)
        h = np.column_stack([z / sd, z**2 - 1.0])
        each = h * f[:, None]
        if estimator == "baseline":
            each = h * (f[:, None] - np.where(below > 0.0, above / np.where(below, below, 1), 0))
            above = 0.9 * above + 0.1 * np.mean(f[:, None] * h**2, axis=0)
            below = 0.9 * below + 0.1 * np.mean(h**2, axis=0)
        elif estimator == "loo":
            others = (f.sum() - f) / (num_draws - 1)
            each = h * (f - others)[:, None]
        gradient = each.mean(axis=0)
        trace.append(f.mean())
        rate = step * (1.0 + t / delay) ** -decay
        if optimiser == "adam":
            first = 0.9 * first + 0.1 * gradient
            second = 0.999 * second + 0.001 * gradient**2
            spread = np.sqrt(second / (1.0 - 0.999 ** (t + 1))) + 1e-8
            move = first / (1.0 - 0.9 ** (t + 1)) / spread
        elif optimiser == "adagrad":
            second = second + gradient**2
            move = gradient / (np.sqrt(second) + 1e-8)
        else:
            move = gradient
        mean, log_sd = mean + rate * move[:dim], log_sd + rate * move[dim:]
        kept.append(np.concatenate([mean, log_sd]))
    average = np.mean(kept[num_steps // 2 :], axis=0)
    return average[:dim], np.exp(average[dim:]), np.array(trace), kept[-1][:dim]


@pytest.mark.filterwarnings("ignore::bayeslib.BayeslibWarning")  # forty steps are few
@pytest.mark.parametrize("optimiser", ["sgd", "adagrad", "adam"])
@pytest.mark.parametrize("estimator", ["score", "baseline", "loo"])
def test_the_loop_is_the_plain_one(estimator, optimiser):
    options = {"num_steps": 40, "num_draws": 5}
    q, last = (
        bl.bbvi(
            BANANA, [0.5, 0.5], estimator=estimator, optimiser=optimiser, step_size=0.01, decay=0.6,
            delay=7.0, num_check=100, average=average, rng=5, **options,
        )
        for average in (True, False)
    )  # fmt: skip
    mean, sd, trace, end = plain_bbvi(
        BANANA, [0.5, 0.5], estimator, optimiser, rng=np.random.default_rng(5), step=0.01,
        decay=0.6, delay=7.0, **options,
    )  # fmt: skip
    np.testing.assert_allclose([q.mean, last.mean], [mean, end], rtol=1e-9)
    np.testing.assert_allclose(np.sqrt(np.diag(q.cov)), sd, rtol=1e-9)
    np.testing.assert_allclose(q.elbo_trace, trace, rtol=1e-9, atol=1e-12)


GAMMA_STUDENT = posteriors.gamma_student()
OPTIMUM = np.array([1.427870, 0.265447, -2.474257])  # mean and sd of log theta, and the bound


def fitted(target, seed, **options):
    q = bl.bbvi(target, rng=seed, **options)
    return np.array([q.mean[0], np.sqrt(q.cov[0, 0]), q.elbo.value])


@pytest.mark.trust("M7", of="bbvi")
@pytest.mark.filterwarnings("ignore::bayeslib.BayeslibWarning")
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_finds_the_best_gaussian_of_the_running_example(estimator):
    """Sixteen fits scatter about the optimum, known by quadrature; their mean by a quarter."""
    fits = np.array([fitted(GAMMA_STUDENT, seed, estimator=estimator) for seed in range(16)])
    error = fits.mean(axis=0) - OPTIMUM
    # A step of the scatter is 0.003, and the bound's own error 0.0075: seven errors of the mean.
    assert np.all(np.abs(error) < [0.006, 0.006, 0.014])
    assert np.all(fits.std(axis=0) < [0.012, 0.012, 0.02])
    flat = bl.Target(lambda x, y: 1.2 * original(x, y), dim=1, data=(5.0,), support=(0.0, None))
    assert abs(fitted(flat, 1)[1] - OPTIMUM[1]) > 0.012  # the twin: another density


original = GAMMA_STUDENT.logdensity


@pytest.mark.parametrize("estimator", ["score", "baseline", "loo"])
def test_a_full_covariance_is_exact_on_a_gaussian(estimator):
    """f is constant there, so that these gradients lose their noise on the way."""
    target = posteriors.gaussian([1.0, -2.0], [[1.0, 0.9], [0.9, 2.0]])
    q = bl.bbvi(target, family="fullrank", estimator=estimator, rng=1)
    np.testing.assert_allclose(q.mean, [1.0, -2.0], atol=1e-4)
    np.testing.assert_allclose(q.cov, [[1.0, 0.9], [0.9, 2.0]], atol=1e-3)
    assert q.elbo.value == pytest.approx(0.0, abs=1e-4) and q.problems == ()


@pytest.mark.filterwarnings("ignore::bayeslib.BayeslibWarning")  # fifty steps are few
@pytest.mark.parametrize("estimator", ESTIMATORS[:-1])
def test_the_score_asks_for_no_gradient(estimator):
    blind = bl.Target(BANANA.logdensity, dim=2, data=BANANA.data, gradient=None)
    options = {"estimator": estimator, "num_steps": 50, "num_check": 100, "rng": 1}
    one, other = (bl.bbvi(t, [0.0, 0.0], **options) for t in (blind, BANANA))
    np.testing.assert_allclose(one.mean, other.mean, rtol=1e-10)
    with pytest.raises(bl.GradientError, match="has no gradient"):
        bl.bbvi(blind, [0.0, 0.0], **options | {"estimator": "reparam"})


@pytest.mark.filterwarnings("ignore::bayeslib.BayeslibWarning")
def test_speaks_the_targets_coordinates():
    q = bl.bbvi(GAMMA_STUDENT, 3.0, rng=1)
    assert q.names == GAMMA_STUDENT.names and q.method == "bbvi"
    assert np.all(q.sample(1000, 1) > 0.0)
    assert q.expect().value[0] == pytest.approx(np.exp(OPTIMUM[0] + OPTIMUM[1] ** 2 / 2), rel=0.02)
    assert q.logdensity(-1.0) == -np.inf
    assert q.settings["khat"] > 0.7 and q.problems == ()  # of the far tail alone
    again = bl.elbo(GAMMA_STUDENT, q, num_samples=4000, rng=2)
    assert abs(q.elbo.value - again.value) < Z_LIMIT * np.hypot(q.elbo.mcse, again.mcse)
    assert again.value < GAMMA_STUDENT.truth.log_evidence - 0.05  # the twin: no evidence


@pytest.mark.filterwarnings("ignore::bayeslib.BayeslibWarning")  # thirty steps are few
def test_costs_are_counted():
    options = {"num_steps": 30, "num_draws": 4, "num_check": 200}
    for estimator, each in (("loo", 1), ("rao_blackwell", 3)):
        q = bl.bbvi(BANANA, [0.0, 0.0], estimator=estimator, rng=1, **options)
        weighed, scouted = q.settings["num_weighed"], q.settings["num_scouted"]
        assert q.num_evals == 1 + 30 * 4 * each + weighed + scouted == q.elbo.num_evals
        assert weighed >= 250
        assert q.elbo_trace.shape == (30,)
    settings = bl.bbvi(BANANA, rng=7, **options).settings
    assert settings["num_check"] == 200 and (settings["initial_scale"] > 0.0).all()


def never(theta):
    return -np.inf if theta[0] != 0.0 else 0.0


@pytest.mark.trust("S15", "M8")
def test_mass_outside_the_support_is_said():
    target = bl.Target(exponential, dim=1)
    with pytest.warns(bl.BayeslibWarning, match="steps were not taken.*support") as caught:
        q = bl.bbvi(target, 2.0, num_steps=300, rng=1)
    assert len(caught) == 1 and q.settings["num_skipped"] > 0
    assert np.isnan(q.elbo_trace).sum() > 0 and q.elbo.value == -np.inf
    said = bl.Target(exponential, dim=1, support=(0.0, None))
    fine = bl.bbvi(said, 2.0, num_steps=300, step_size=0.02, rng=1)
    assert fine.settings["num_skipped"] == 0 and np.isfinite(fine.elbo.value)


@pytest.mark.trust("S15")
def test_densities_that_cannot_be_followed():
    with pytest.raises(bl.TargetError, match=r"\+inf at x=.*step"):
        bl.bbvi(bl.Target(cut_off, dim=1, data=(1.0, np.inf)), 0.0, rng=1)
    with pytest.raises(bl.TargetError, match="every one of 20 steps"):
        bl.bbvi(bl.Target(never, dim=1), 0.0, num_steps=20, rng=1)
    with pytest.warns(bl.BayeslibWarning, match="not finite"):
        bl.bbvi(bl.Target(cut_off, dim=1, data=(3.0, np.nan)), 0.0, rng=1)
    with pytest.raises(ValueError, match="too far") as caught:
        bl.bbvi(bl.Target(raising, dim=1, data=(1.0,)), 0.0, rng=1)
    assert any("theta=[" in note and "step" in note for note in caught.value.__notes__)
    for step_size in (100.0, 1e6):  # a mean; a scale, of which the square is no number any more
        how = {"estimator": "score", "optimiser": "sgd", "step_size": step_size, "rng": 1}
        with pytest.raises(bl.BayeslibError, match="ran off at step.*smaller step_size"):
            bl.bbvi(BANANA, [0.0, 0.0], **how)
    with pytest.raises(bl.TargetError, match="not finite at .* narrower scale"):
        bl.bbvi_gradients(bl.Target(exponential, dim=1), 1.0, 1.0, estimator="score", rng=1)


@pytest.mark.trust("M8")
def test_a_bound_that_still_rises_is_said():
    far = posteriors.gaussian([50.0], [[1.0]])
    with pytest.warns(bl.BayeslibWarning, match="the bound rose by .* not converged"):
        bl.bbvi(far, 0.0, num_steps=400, rng=1)
    assert bl.bbvi(far, 49.0, num_steps=2000, rng=1).problems == ()


test_bad_arguments_are_named = refused(
    ({"initial_position": [0.0]}, "initial_position must have shape"),
    ({"initial_position": [np.nan, 0.0]}, "finite"),
    ({"initial_scale": 0.0}, "initial_scale must be positive"),
    ({"initial_scale": [1.0, 1.0, 1.0]}, "initial_scale"),
    ({"family": "full"}, 'family must be one of "meanfield", "fullrank"'),
    ({"estimator": "reinforce"}, "estimator must be one of"),
    ({"estimator": "loo", "num_draws": 1}, "num_draws must be at least 2"),
    ({"estimator": "rao_blackwell", "family": "fullrank"}, "of family=.meanfield"),
    ({"num_steps": 0}, "num_steps must be at least 1"),
    ({"num_draws": 2.5}, "num_draws must be a whole number"),
    ({"num_check": 10}, "num_check must be at least 100"),
    ({"optimiser": "newton"}, "optimiser must be one of"),
    ({"step_size": 0.0}, "step_size must be positive"),
    ({"step_size": np.nan}, "step_size must be finite"),
    ({"decay": 1.5}, "decay must be at most 1"),
    ({"decay": -0.1}, "decay must be at least 0"),
    ({"delay": 0.0}, "delay must be positive"),
    ({"average": 1}, "average must be True or False"),
    ({"target": GAMMA_STUDENT, "initial_position": -1.0}, "strictly inside the support"),
    (
        {"target": bl.Target(exponential, dim=1), "initial_position": -1.0},
        bl.StartError,
        "initial_position",
    ),
    by=lambda **changes: bl.bbvi(
        **{"target": BANANA, "initial_position": [0.0, 0.0], "rng": 1} | changes
    ),
)


test_bad_arguments_of_gradients_are_named = refused(
    ({"scale": [1.0, 0.0]}, "scale must be positive"),
    ({"scale": np.eye(3)}, "scale must have shape"),
    ({"scale": [[1.0, 0.5], [0.0, 1.0]]}, "lower triangular"),
    ({"scale": [[1.0, 0.0], [0.0, -1.0]]}, "positive diagonal"),
    ({"mean": [0.0]}, "mean must have shape"),
    ({"estimator": "baseline", "baseline": [1.0]}, "baseline must be a number or have shape"),
    ({"estimator": "score", "baseline": 1.0}, "baseline belongs to"),
    ({"num_samples": 0}, "num_samples must be at least 1"),
    ({"estimator": "loo"}, "num_draws must be at least 2"),
    by=lambda **changes: bl.bbvi_gradients(
        BANANA,
        **{"mean": [0.0, 0.0], "scale": [1.0, 1.0], "estimator": "score", "rng": 1} | changes,
    ),
)
