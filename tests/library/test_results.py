"""Results: shapes, expectations with the right error, tables, and what they complain about."""

import math

import numpy as np
import pytest
from bad_inputs import refused
from scipy import special, stats

from bayeslib import BayeslibError, Draws, Estimate, Gaussian, ZeroWeightsError
from bayeslib.results.rows import apply_rows


def normal_draws(chains=4, n=1000, dim=2, **more):
    return Draws(np.random.default_rng(1).standard_normal((chains, n, dim)), **more)


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (4.166974, 0.0123, "4.167 ± 0.012"),
        (0.0934831740, 1.04e-5, "0.093483 ± 0.000010"),
        (123456.0, 234.0, "123460 ± 230"),
        (-2.0, 0.0, "-2 ± 0"),
        (1.0, np.nan, "1 ± nan"),
        (5.0, 0.96, "5.00 ± 0.96"),
        (1.837877066409345339, 3e-17, "1.83787706640935 ± 3e-17"),
        (1.23456e-30, 1e-32, "1.235e-30 ± 1e-32"),
    ],
)
def test_estimates_print_no_more_than_they_know(value, error, text):
    assert str(Estimate(value, error)) == text


def test_estimate_z_and_float():
    estimate = Estimate(np.array([1.5]), np.array([0.25]), 10)
    assert estimate.z(1.0) == pytest.approx(2.0)
    assert [Estimate(1.0, 0.0).z(exact) for exact in (1.0, 2.0)] == [0.0, -np.inf]
    assert np.array_equal(np.exp([estimate, estimate]), np.exp([[1.5], [1.5]]))
    assert float(estimate) == 1.5 and f"{estimate:.2f}" == "1.50"


def test_error_of_independent_weighted_and_chained_draws():
    rng = np.random.default_rng(2)
    x = rng.standard_normal((1, 4000, 1))
    independent = Draws(x, independent=True).expect(lambda t: t[:, 0])
    assert independent.mcse == pytest.approx(1 / np.sqrt(4000), rel=0.1)
    sticky = np.repeat(x[:, :1000], 4, axis=1)
    assert Draws(sticky).expect().mcse[0] == pytest.approx(1 / np.sqrt(1000), rel=0.15)
    log_weights = rng.standard_normal((1, 4000))
    weighted = Draws(x, log_weights=log_weights)
    weights = weighted.weights
    expected = np.sqrt(np.sum(weights**2 * (x[0, :, 0] - weights @ x[0, :, 0]) ** 2))
    assert weighted.expect().mcse[0] == pytest.approx(expected, rel=1e-12)


def test_weighted_error_is_honest_over_replications():
    """z of 400 weighted estimates has variance one; chi-square bounds at 1e-6."""
    rng = np.random.default_rng(3)
    z = []
    for _ in range(400):
        x = 1.5 * rng.standard_normal((1, 1000, 1))
        log_weights = stats.norm.logpdf(x[..., 0]) - stats.norm.logpdf(x[..., 0], scale=1.5)
        z.append(Draws(x, log_weights=log_weights).expect(lambda t: t[:, 0] ** 2).z(1.0))
    low, high = stats.chi2(400).ppf([5e-7, 1 - 5e-7])
    assert low < np.sum(np.square(z)) < high and not low < np.sum(np.square(2 * np.array(z))) < high


def test_names_and_shapes():
    draws = Draws(np.zeros((1, 3, 1)) + [2.0, 0.0], names=["a[2]", "a[0]"])
    assert draws["a"][0, 0].tolist() == [0.0, 2.0] and draws != Draws(draws.values)
    assert isinstance(normal_draws().expect(lambda t: t[:, 0]).value, float)
    with pytest.raises(BayeslibError) as caught:
        Draws(np.zeros((1, 3, 100)))["sigma"]
    assert len(str(caught.value)) < 200, "a hundred names are not all listed"


FEW = np.zeros((1, 3, 2))
AB = Draws(FEW, names=["a", "b"])

test_what_disagrees_is_refused = refused(
    (lambda: Draws(FEW, log_weights=np.zeros(3)), "log_weights must have shape"),
    (lambda: Draws(FEW, log_weights=[[0.0, np.nan, 1.0]]), r"log_weights\[0, 1\] is nan"),
    (lambda: Draws(FEW, log_weights=[[0.0, -np.inf, np.inf]]), r"log_weights\[0, 2\] is inf"),
    (lambda: Draws(FEW, names=("a",)), "names must be 2 different"),
    (lambda: Draws(FEW, stats={"family": np.zeros((1, 2))}), r"stats\['family'\] must begin as"),
    (lambda: Draws(FEW, independent="no"), "independent must be True or False"),
    (lambda: AB.expect(lambda p: p[..., ::-1].a), AttributeError, "no dimension is named 'a'"),
    (lambda: AB.expect(lambda p: p["a"]), "write p.a for"),
    (lambda: Draws(FEW).predict(lambda p: 0.0, rng=1), r"simulate must take \(p, rng\): too many"),
    (lambda: Gaussian([0.0, 0.0], [[1.0, 2.0], [2.0, 1.0]]), "positive definite"),
    (lambda: Gaussian([0.0, 0.0], [[1.0, 0.5], [0.4, 1.0]]), "symmetric"),
    (lambda: Gaussian([0.0], np.eye(2)), "cov must have shape"),
    (lambda: Gaussian([0.0, np.nan], np.eye(2)), "mean must be finite"),
    (lambda: Draws(FEW).expect(lambda t: np.outer(t, t) if t.ndim == 1 else t[0]), "np.ravel"),
    (lambda: Draws(FEW).expect(lambda t: t.sort()), ValueError, "read-only"),
)


@pytest.mark.trust("S11")
@pytest.mark.parametrize("shape", [(0, 0, 0), (0, 5, 1), (2, 5, 0), (2, 5)])
def test_values_have_chains_and_dimensions(shape):
    with pytest.raises(BayeslibError, match="values must have shape"):
        Draws(np.zeros(shape))
    assert Draws(np.zeros((2, 0, 1))).num_samples == 0


def test_resampling_follows_the_weights():
    draws = Draws(np.arange(3.0).reshape(1, 3, 1), log_weights=np.log([[0.5, 0.5, 1e-300]]))
    assert set(draws.sample(1000, 5).ravel()) == {0.0, 1.0}


def test_summary_is_a_table_with_its_problems():
    good = normal_draws(names=("mu", "tau"), method="test").summary()
    assert good.problems == () and good["mu", "rhat"] < 1.01
    assert "ess_bulk" in str(good) and "<th scope=" in good._repr_html_()


LEAN = np.arange(100.0)[None] / 50.0  # of minus log weights: worth 76 of a hundred draws


SHIFTED = normal_draws(n=500, dim=1).values + np.arange(4)[:, None, None]


@pytest.mark.row(43)
@pytest.mark.parametrize(
    ("draws", "words"),
    [
        (Draws(np.zeros((4, 100, 1))), "never moved in theta: take larger steps, if any"),
        (Draws(np.zeros((1, 9, 1)), stats={"acceptance_rate": np.zeros((1, 9))}), "take smaller"),
        (normal_draws(n=3), "fewer than 4 draws"),
        (normal_draws(n=50), "bulk ESS"),
        (Draws(np.repeat(normal_draws(n=50).values, 20, axis=1)), "bulk ESS"),
        (Draws(SHIFTED), "R-hat is"),
        (Draws(np.cumsum(normal_draws(n=500).values, axis=1)), "R-hat is"),
        (normal_draws(chains=1), "one chain"),
        (normal_draws(stats={"diverging": np.eye(4, 1000, dtype=bool)}), "diverged"),
        (normal_draws(settings={"interrupted": True}), "interrupted"),
        (Draws(np.full((4, 100, 1), np.inf)), "nan or infinite"),
        (Draws(np.zeros((1, 100, 1)), log_weights=-np.arange(100.0)[None]), "worth"),
        (Draws(np.zeros((1, 100, 1)), log_weights=-LEAN, settings={"khat": 0.9}), "k-hat"),
    ],
)
def test_problems_are_named(draws, words):
    assert any(words in problem for problem in draws.problems)
    lines = str(draws.summary()).splitlines()
    assert any(words in line for line in lines if line.startswith("!"))
    assert "problems" in draws.summary()._repr_html_()


def test_a_summary_shows_no_more_digits_than_the_error_allows():
    draws = Draws(4.0 + 0.5 * np.random.default_rng(8).standard_normal((4, 1000, 1)))
    assert "e-20  " in str(Draws(1e-20 * draws.values).summary())
    row = str(draws.summary()).splitlines()[2].split()
    mean, mcse = draws.expect().value[0], draws.expect().mcse[0]
    assert row[1:3] == [f"{mean:.4f}", f"{mcse:.4f}"] and 0.001 < mcse < 0.01
    assert row[-1] == f"{draws.summary()['theta', 'rhat']:.3f}"
    for key in ("theta", 3, ("theta", "median"), ("mu", "mean"), ("theta", "mean", "sd"), [[], 1]):
        with pytest.raises(BayeslibError, match="a name and a column.*'theta'.*'rhat'"):
            draws.summary()[key]


def test_gaussian_density_samples_and_expectations():
    cov = np.array([[2.0, 0.6], [0.6, 1.0]])
    gaussian = Gaussian([1.0, -1.0], cov)
    x = np.random.default_rng(7).standard_normal((5, 2))
    exact = stats.multivariate_normal([1.0, -1.0], cov)
    np.testing.assert_allclose(gaussian.logdensity(x), exact.logpdf(x), rtol=1e-12)
    assert gaussian.logdensity(x[0]) == pytest.approx(exact.logpdf(x[0]))
    np.testing.assert_array_equal(gaussian.expect().value, [1.0, -1.0])
    second = gaussian.expect(lambda t: t[:, 0] * t[:, 1], num_samples=20_000, rng=1)
    assert abs(second.z(0.6 - 1.0)) < 5.0
    np.testing.assert_array_equal(gaussian.sample(3, 1), gaussian.sample(3, 1))
    assert gaussian.summary()["theta[0]", "sd"] == pytest.approx(np.sqrt(2.0))


PER_DRAW = [
    (lambda t: t[0] ** 2, lambda t: t[:, 0] ** 2),
    (lambda t: (t[0], t[1] ** 2), lambda t: np.stack([t[:, 0], t[:, 1] ** 2], axis=1)),
    (lambda t: 1.0 if t[0] > t[1] else 0.0, lambda t: t[:, 0] > t[:, 1]),
    (lambda t: math.exp(t[1]), lambda t: np.exp(t[:, 1])),
    (np.sum, lambda t: t.sum(axis=1)),
    (lambda t: 2.0, lambda t: np.full(len(t), 2.0)),
]


@pytest.mark.parametrize("n", [1, 2, 3, 200])  # 2 is also the dimension, met by chance
@pytest.mark.parametrize(("one", "many"), PER_DRAW)
def test_a_function_may_take_one_draw_or_all(one, many, n):
    draws = np.random.default_rng(1).normal(size=(n, 2))
    np.testing.assert_allclose(apply_rows(one, draws), many(draws))
    np.testing.assert_allclose(apply_rows(many, draws), many(draws))


MIXING = [
    special.softmax, lambda t: t / t.sum(), lambda t: t - t.mean(), lambda t: np.roll(t, 1),
    lambda t: t / np.linalg.norm(t), lambda t: t > t.mean(), lambda t: t == t.max(),
]  # fmt: skip


@pytest.mark.parametrize("n", [1, 2, 3, 100, 101, 2000])
@pytest.mark.parametrize("f", MIXING)
def test_a_function_that_mixes_the_entries_of_a_draw_gets_one_draw(f, n):
    draws = np.random.default_rng(1).normal(size=(n, 3))
    np.testing.assert_allclose(apply_rows(f, draws), [f(row) for row in draws], atol=1e-12)


ROW_BY_ROW = [
    lambda t: t[:, 0],
    lambda t: t**2,
    lambda t: t.sum(axis=-1),
    lambda t: t.sum(axis=-1) - t @ np.ones(3),  # nothing but rounding
    lambda t: np.column_stack([t[:, 0], t[:, 1] > 0.0]),
    lambda t: special.softmax(t, axis=-1),
    lambda t: np.float32(t) @ np.arange(3, dtype=np.float32),
    lambda t: np.squeeze(t @ np.ones((3, 1))),
    lambda t: np.where(t > 2.0, np.inf, np.nan),
    lambda t: (t[:, 0] - t[:, 0].mean()) ** 2,  # of all draws by design
    lambda t: np.cov(t.T)[0, 1] + t[:, 0],
]


@pytest.mark.parametrize("n", [3, 100, 2000])
@pytest.mark.parametrize("f", ROW_BY_ROW)
def test_what_is_right_for_all_draws_is_kept(f, n):
    draws = np.random.default_rng(1).normal(size=(n, 3))
    sizes = []

    def watched(t):
        sizes.append(t.size)
        return f(t)

    np.testing.assert_array_equal(apply_rows(watched, draws), f(draws))
    assert sizes[0] == draws.size and sum(sizes[1:]) <= 4 * 3  # and tried on two draws more


@pytest.mark.parametrize(
    ("f", "names"),
    [
        (lambda t: (t - t.mean(axis=0)) ** 2, "abc"),
        (lambda t: (t - t.mean()) ** 2, "a"),
        (lambda t: t - t[0], "abc"),
        (lambda t: special.softmax(t, axis=0), "abc"),
        (lambda p: (p.a - p.a.mean()) * (p.b - p.b.mean()), "abc"),
        (np.errstate(all="ignore")(lambda p: p.a / np.std(p.a)), "abc"),
        (lambda p: p.M[:, 0], ("M[0,0]", "M[0,1]", "M[1,0]", "M[1,1]")),  # a row, or a column
    ],
)
def test_a_function_that_says_two_things_is_refused(f, names):
    """Of all draws together, or of the entries of one: nothing tells which is meant."""
    draws = Draws(np.random.default_rng(1).normal(size=(4, 500, len(names))), names=list(names))
    with pytest.raises(BayeslibError, match=r"among all draws.*shape \(2000, .*axis=-1"):
        draws.expect(f)


@pytest.mark.parametrize("n", [199, 200])  # as many as draws
def test_rows_of_data_are_no_draws(n):
    draws = Draws(np.random.default_rng(1).normal(size=(4, 50, 2)), names=["a", "b"])
    x = np.linspace(0.0, 1.0, n)
    assert draws.expect(lambda p: p.a + p.b * x).value.shape == (n,)
    assert 0.0 < draws.expect(lambda p: np.mean(p.a + p.b * x > 0.1)).value < 1.0


def test_a_random_function_of_either_gets_one_draw():
    rng = np.random.default_rng(1)
    draws = np.tile([0.5, 0.5], (2000, 1))
    counts = apply_rows(lambda p: rng.multinomial(10, p / p.sum()), draws)
    assert counts.shape == (2000, 2) and abs(counts[:, 0].mean() - 5.0) < 0.2
    noisy = apply_rows(lambda t: t[:, 0] + rng.normal(size=len(t)), np.zeros((2000, 2)))
    assert noisy.shape == (2000,) and 0.9 < noisy.std() < 1.1


def test_what_a_function_raises_says_how_it_was_called():
    for f, words in [
        (lambda t: t[:, 5], "index 5"),
        (lambda t: t[5], "index 5"),
        (lambda t: (t[0], t), "f must return a number or .* np.hstack"),
        (lambda t: t.sort() or t[0], r"read-only\n.*at draw 0 of 4000, \["),  # it would change them
    ]:
        with pytest.raises((IndexError, ValueError), match=words) as error:
            normal_draws().expect(f)
        assert "all draws at once" in error.value.__notes__[-1]
    with pytest.raises(BayeslibError, match="f must return numbers; for the first draw it is 'a'"):
        normal_draws().expect(lambda t: "a")


def test_a_gaussian_of_one_dimension_takes_numbers():
    g = Gaussian(1.0, 4.0)
    assert g.logdensity(1.0) == g.logdensity([1.0]) == g.logdensity([[1.0]])[0]
    np.testing.assert_allclose(g.logdensity([1.0, 2.0]), g.logdensity([[1.0], [2.0]]))


def test_no_draws_and_no_weights_are_said():
    empty = Draws(np.zeros((1, 0, 2)))
    for ask in (empty.expect, empty.summary, lambda: empty.problems, lambda: empty.sample(1, 1)):
        with pytest.raises(BayeslibError, match="there are no draws"):
            ask()
    one = Draws(FEW[:, :1], log_weights=[[0.0]])
    assert np.isnan(one.expect().mcse).all() and Draws(FEW, log_weights=[[0.0] * 3]).problems == ()
    assert "round differences away" in Draws(FEW, logdensity=[[-1e17] * 3]).problems[0]
    weightless = Draws(FEW, log_weights=np.full((1, 3), -np.inf))
    for ask in (weightless.expect, weightless.summary, lambda: weightless.sample(3, 1)):
        with pytest.raises(ZeroWeightsError, match="weights are zero"):
            ask()


def test_summaries_of_independent_draws_say_what_they_cost():
    assert "acceptance 0.264" in str(normal_draws(1, settings={"acceptance": 0.26441}).summary())
    assert "k-hat 0.41" in str(normal_draws(1, settings={"khat": 0.412}).summary())
