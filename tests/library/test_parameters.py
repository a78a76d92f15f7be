"""Parameters with names, shapes and constraints: one posterior, however it is written."""

import pickle
import re

import numpy as np
import pytest
from bad_inputs import refused
from scipy import stats

import bayeslib as bl

Y = np.array([4.9, 5.6, 5.1, 6.2, 5.8])
EVERYTHING = {
    "mu": (), "sigma": bl.positive(), "beta": (2, 3), "w": bl.simplex(3),
    "r": bl.interval(-1, 2, 2), "c": bl.ordered(3), "z": bl.upper(3.0), "u": bl.unit_vector(3),
    "a": bl.lower(-2.0, (2, 2)),
    "L": bl.cholesky_corr(3),
}  # fmt: skip


def every(p, y):
    total = -0.5 * (p.mu - 5.0) ** 2 - 0.5 * np.sum(p.beta**2) + p.beta[1, 2] * (p.mu - 5.0)
    total = total - 2.0 * np.log(p.sigma) ** 2
    total = total + 2.0 * np.sum(np.log(p.w)) + p.r[0] * p.r[1] - 0.5 * np.sum(p.c**2)
    total = total + p.z - 0.5 * np.sum(p.a**2) - p.a[0, 1] + 3.0 * p.u[2]
    total = total + 2.0 * np.log(p.L[1, 1]) + 3.0 * np.log(p.L[2, 2])
    return total - 0.5 * np.sum((y - p.mu) ** 2) / p.sigma**2 - y.size * np.log(p.sigma)


@pytest.fixture(scope="module")
def target():
    return bl.Target(every, parameters=EVERYTHING, data=(Y,))


@pytest.fixture(scope="module")
def free(target):
    return bl.unconstrained(target)


def normal_of(mu, sigma, y):
    prior = -0.5 * (mu - 5.0) ** 2 - 8.0 * np.log(sigma) ** 2
    return prior - 0.5 * np.sum(((y - mu) / sigma) ** 2) - y.size * np.log(sigma)


def normal(p, y):
    return normal_of(p.mu, p.sigma, y)


def normal_flat(theta, y):
    return normal_of(theta[0], theta[1], y)


NAMED = bl.Target(normal, parameters={"mu": (), "sigma": bl.positive()}, data=(Y,))
DIRICHLET = bl.Target(lambda p: np.sum(np.log(p.w)), parameters={"w": bl.simplex(3)})
FLAT = bl.Target(normal_flat, dim=2, names=["mu", "sigma"], support=[None, (0.0, None)], data=(Y,))


def test_names_say_where_each_number_belongs(target):
    assert target.dim == len(target.names) == 1 + 1 + 6 + 3 + 2 + 3 + 1 + 3 + 4 + 9
    assert target.names[2:8] == tuple(f"beta[{i},{j}]" for i in range(2) for j in range(3))
    assert target.names[-9:][3] == "L[1,0]"
    assert target.parameters["w"].num_coordinates == 2


def test_constrained_values_meet_their_constraints_and_come_back(target, free):
    x = np.random.default_rng(1).normal(size=(200, free.dim))
    theta = free.constrain(x)
    assert theta.shape == (200, target.dim) and free.transform.inside(theta).all()
    np.testing.assert_array_equal(free.transform.fixed, np.ptp(theta, axis=0) == 0.0)
    draws = bl.Draws(theta[None], names=target.names)
    np.testing.assert_allclose(draws["w"].sum(axis=-1), 1.0, rtol=1e-14)
    np.testing.assert_allclose(np.square(draws["u"]).sum(axis=-1), 1.0, rtol=1e-14)
    correlations = draws["L"] @ np.swapaxes(draws["L"], -1, -2)
    np.testing.assert_allclose(np.diagonal(correlations, axis1=-2, axis2=-1), 1.0, rtol=1e-14)
    assert (np.diff(draws["c"], axis=-1) > 0.0).all() and (draws["a"] > -2.0).all()
    assert not type(target.layout)({"a": (3,), "u": bl.unit_vector(2)}).transform.fixed.any()
    again = free.unconstrain(theta)
    ray = [i for i, name in enumerate(free.names) if name.startswith("unit_vector")]
    others = np.setdiff1d(np.arange(free.dim), ray)  # a direction has no length
    np.testing.assert_allclose(again[:, others], x[:, others], atol=1e-9)
    np.testing.assert_allclose(free.constrain(again), theta, atol=1e-12)


def test_the_density_of_the_coordinates_is_that_of_the_parameters_and_the_jacobian(target, free):
    x = np.random.default_rng(2).normal(size=(50, free.dim))
    theta = free.constrain(x)
    expected = target.many(theta) + free.transform.log_jacobian(x)
    np.testing.assert_allclose(free.many(x), expected, rtol=1e-11)
    for point in x[:3]:
        assert free.check_gradient(point)
    plain = free.logdensity(x[0], Y)
    np.testing.assert_allclose(free(x[0]), plain, rtol=1e-12)


@pytest.mark.parametrize("kind", ["w", "c", "L"])
def test_jacobians_are_the_determinants_that_differences_find(kind):
    """The coordinates against the parameters that the density is one of."""
    parameter = EVERYTHING[kind]
    target = bl.Target(lambda p: 0.0 * p[0].flat[0], parameters={kind: parameter})
    transform = bl.unconstrained(target).transform
    own = {"w": [0, 1], "c": [0, 1, 2], "L": [3, 6, 7]}[kind]
    x, step = np.random.default_rng(3).normal(size=transform.dim), 1e-5
    moves = step * np.eye(transform.dim)
    slopes = (transform.constrain(x + moves) - transform.constrain(x - moves)) / (2.0 * step)
    determinant = np.linalg.slogdet(slopes[:, own])[1]
    np.testing.assert_allclose(transform.log_jacobian(x), determinant, rtol=1e-8)
    wrong = transform.log_jacobian(x) + 0.01 * x[0]
    assert abs(wrong - determinant) > 1e-4


def test_the_flat_form_and_the_named_one_are_one_posterior():
    theta = np.array([1.3, 0.7])
    assert NAMED.support == FLAT.support and NAMED.names == FLAT.names
    assert NAMED(theta) == FLAT(theta) == NAMED({"sigma": 0.7, "mu": 1.3})
    np.testing.assert_array_equal(NAMED.gradient(theta), FLAT.gradient(theta))
    assert NAMED([0.0, -1.0]) == -np.inf
    named, flat = bl.unconstrained(NAMED), bl.unconstrained(FLAT)
    assert named.names == flat.names == ("mu", "log(sigma)")
    np.testing.assert_allclose(named([0.3, 0.2]), flat([0.3, 0.2]), rtol=1e-14)


WALKS = {
    "nuts": lambda t: bl.nuts(t, rng=1),
    "hmc": lambda t: bl.hmc(t, num_steps=5, rng=1),
    "metropolis": lambda t: bl.metropolis(t, None, rng=1),
    "slice_sample": lambda t: bl.slice_sample(t, None, rng=1),
    "parallel_tempering": lambda t: bl.parallel_tempering(
        t, None, inverse_temperatures=[0.3, 1.0], rng=1
    ),
    "sgld": lambda t: bl.sgld(t, batch_size=None, step_size=0.02, rng=1),
    "sghmc": lambda t: bl.sghmc(t, batch_size=None, step_size=0.05, friction=2.0, rng=1),
}


@pytest.mark.filterwarnings("ignore::bayeslib.BayeslibWarning")
@pytest.mark.parametrize("name", WALKS)
def test_chains_walk_without_constraints_and_return_the_parameters(name):
    """To the last bit as if the user had gone there and back by hand."""
    draws = WALKS[name](NAMED)
    free = bl.unconstrained(NAMED)
    by_hand = free.constrain(WALKS[name](free))
    np.testing.assert_array_equal(draws.values, by_hand.values)
    np.testing.assert_array_equal(draws.logdensity, by_hand.logdensity)
    np.testing.assert_allclose(draws.logdensity[0, :9], NAMED.many(draws.values[0, :9]), rtol=1e-9)
    assert draws.names == ("mu", "sigma") and draws["sigma"].min() > 0.0


def test_starts_are_given_in_the_parameters():
    start = {"mu": 5.0, "sigma": 0.5}
    draws = bl.nuts(NAMED, start, num_warmup=0, num_samples=5, num_chains=1, rng=1, step_size=1e-9)
    np.testing.assert_allclose(draws.values[0, 0], [5.0, 0.5], rtol=1e-6)
    assert bl.laplace(NAMED, start).settings["coordinates"] == "unconstrained"
    for fit in (bl.advi, bl.bbvi, bl.pathfinder):
        assert fit(NAMED, start, rng=1).names == NAMED.names


def test_what_was_drawn_before_an_error_is_in_the_parameters():
    def fails(p, y):
        if p.sigma > 3.0:
            raise ValueError("too wide")
        return -p.sigma

    target = bl.Target(fails, parameters={"sigma": bl.positive()}, data=(Y,))
    with pytest.raises(ValueError, match="too wide") as caught:
        bl.metropolis(target, [1.0], scale=2.0, num_warmup=0, num_chains=1, rng=1)
    assert caught.value.partial.names == ("sigma",)
    assert caught.value.partial.values.min() > 0.0


def test_the_evidence_is_the_same_in_the_coordinates():
    parameters = {"w": bl.simplex(3), "u": bl.unit_vector(2), "c": bl.ordered(2)}

    def density(p):  # Dirichlet(2, 2, 2), uniform on the circle, two ordered normals
        return np.sum(np.log(p.w)) + np.log(120.0) - 0.5 * np.sum(p.c**2)

    free = bl.unconstrained(bl.Target(density, parameters=parameters))
    wide = stats.multivariate_t(np.zeros(free.dim), 3.0 * np.eye(free.dim), df=5, seed=1)
    draws = bl.importance_sample(free, wide, num_samples=200_000, rng=1)
    truth = np.log(2.0 * np.pi) + np.log(2.0 * np.pi) - np.log(2.0)
    assert abs(draws.log_evidence.z(truth)) < 4.9


def test_fits_speak_of_the_parameters(tmp_path):
    parameters = {"w": bl.simplex(3), "s": bl.positive()}
    target = bl.Target(
        lambda p: 50.0 * (np.sum(np.log(p.w)) + np.log(p.s) - p.s), parameters=parameters
    )
    q = bl.advi(target, family="fullrank", rng=1)
    assert q.names == ("w[0]", "w[1]", "w[2]", "s") and q.dim == 4 and q.mean.size == 3
    assert bl.laplace(target).problems == bl.pathfinder(target, rng=1).problems == ()
    np.testing.assert_allclose(q.expect().value[:3], 1.0 / 3.0, atol=0.01)
    assert q.expect(lambda p: p.w.sum(axis=-1)).value == pytest.approx(1.0)
    np.testing.assert_allclose(q.summary()["w[1]", "mean"], 1.0 / 3.0, atol=0.01)
    again = bl.load(q.save(tmp_path / "fit"))
    assert again.transform == q.transform
    np.testing.assert_array_equal(again.sample(5, 1), q.sample(5, 1))
    inside = q.sample(3, 2)
    expected = q.base.logdensity(q.transform.unconstrain(inside))
    expected -= q.transform.log_jacobian(q.transform.unconstrain(inside))
    np.testing.assert_allclose(q.logdensity(inside), expected)
    assert q.logdensity([0.5, 0.6, 0.1, 1.0]) == -np.inf


def test_an_end_itself_is_outside():
    """Where log(0) - 1/0 would be nan."""
    assert NAMED([5.0, 0.0]) == -np.inf
    found = bl.quadrature(NAMED, [(3.0, 7.0), (0.0, 6.0)])
    draws = bl.nuts(NAMED, rng=1)
    assert draws.problems == () and not draws.stats["diverging"].any()
    assert abs(draws.expect().z(found.mean)).max() < 4.9


def test_a_target_travels(target):
    cloudpickle = pytest.importorskip("cloudpickle")
    again = pickle.loads(cloudpickle.dumps(target))
    theta = bl.unconstrained(target).constrain(np.full(bl.unconstrained(target).dim, 0.1))
    assert again.names == target.names and again(theta) == target(theta)


def test_fields_are_part_of_what_a_density_means():
    """Two models of the same code and other names for the same places."""
    one = bl.Target(lambda p: p.a - 2.0 * p.b, parameters={"a": (), "b": ()})
    two = bl.Target(lambda p: p.a - 2.0 * p.b, parameters={"b": (), "a": ()})
    assert one([1.0, 0.0]) == 1.0 and two([1.0, 0.0]) == -2.0


def test_numbers_off_the_constraint_have_no_density(target, free):
    theta = free.constrain(np.full(free.dim, 0.2))
    assert np.isfinite(target(theta))
    for name in ("w[0]", "c[0]", "u[1]", "L[0,1]", "L[1,1]", "sigma", "z"):
        off = theta.copy()
        off[target.names.index(name)] = {"c[0]": 9.0, "sigma": -1.0, "z": 4.0}.get(name, 0.9)
        assert target(off) == -np.inf, name


test_what_is_no_parameter_is_said = refused(
    (({},), "must be a dict"),
    ([1], "must be a dict"),
    (({"a b": ()},), "public identifiers"),
    (({"if": ()},), "a word of Python or of arrays: call it if_"),
    (({"_a": ()},), "public identifiers"),
    (({"mean": ()},), "call it mean_"),
    (({"\u03d5": ()},), "another letter: call it '\u03c6'"),
    (({3: ()},), "must be strings"),
    (({"a": 0},), "at least 1"),
    (({"a": 2.5},), "shape"),
    (({"a": 10**9},), "numbers in parameters must be at most"),
    (({"a": "positive"},), "must be a shape"),
    by=lambda parameters: bl.Target(lambda p: 0.0, parameters=parameters),
)


test_bad_input_is_named = refused(
    (lambda: bl.ordered(1), "n must be at least 2"),
    (lambda: bl.interval(1.0, 1.0), "low must be below high"),
    (lambda: bl.positive(-1), "size in a shape"),
    (lambda: bl.Target(normal, data=(Y,)), "dim=.*parameters="),
    (lambda: bl.Target(normal, parameters={"mu": ()}, dim=1, data=(Y,)), "leave out dim="),
    (lambda: bl.Target(normal, parameters={"mu": ()}, names=["a"], data=(Y,)), "out names="),
    (
        lambda: bl.Target(normal, parameters={"mu": ()}, gradient=lambda t, y: t, data=(Y,)),
        "leave out gradient=",
    ),
    (lambda: NAMED({"mu": 1.0}), "the parameters are .*'mu', 'sigma'"),
    (lambda: NAMED({"mu": [1.0], "sigma": 1.0}), r"mu must have shape \(\)"),
    (lambda: FLAT({"mu": 1.0, "sigma": 1.0}), "a Target without parameters= takes 2 numbers"),
    (lambda: bl.nuts(NAMED, {"mu": 1.0, "sigma": -1.0}, rng=1), "strictly inside"),
    (lambda: bl.nuts(NAMED, [{"mu": 1.0, "sigma": -1.0}] * 4, rng=1), "strictly inside"),
    (lambda: bl.nuts(NAMED, [1.0], rng=1), "initial_position must have shape"),
    (lambda: bl.Target(lambda p: p.nope, parameters={"a": ()})([0.0]), "'nope'. There are a: mend"),
)


@pytest.mark.parametrize("method", ["smc", "adaptive_importance_sample", "quadrature", "laplace"])
def test_methods_that_move_numbers_one_by_one_refuse_those_that_hold_each_other(method):
    rest = {"laplace": {"coordinates": "own"}, "quadrature": {}}.get(method, {"rng": 1})
    proposal = () if method in ("laplace", "quadrature") else (stats.dirichlet([1, 1, 1]),)
    if method in ("smc", "adaptive_importance_sample"):
        rest["num_samples"] = 100
    with pytest.raises(bl.BayeslibError, match="w is simplex: pass bl.unconstrained"):
        getattr(bl, method)(DIRICHLET, *proposal, **rest)


# ------------------------------------------------------------------- what draws answer, by name
def some_draws(seed=1):
    values = np.random.default_rng(seed).normal(size=(4, 50, 5))
    names = ("mu", "a[0]", "a[1]", "b[x]", "b[y]")
    return bl.Draws(values, names=names, logdensity=values[..., 0], stats={"s": values[..., 1]})


def test_draws_by_name_list_and_slice():
    draws = some_draws()
    np.testing.assert_array_equal(draws["a"], draws.values[..., 1:3])
    np.testing.assert_array_equal(draws["b"], draws.values[..., 3:])
    np.testing.assert_array_equal(draws["a[1]"], draws.values[..., 2])
    part = draws[["b", "mu"]]
    assert part.names == ("b[x]", "b[y]", "mu")
    mu = draws["mu"]
    mu -= 1.0  # a copy
    np.testing.assert_array_equal(part["mu"], draws["mu"])
    thinned = draws.thin(10)
    np.testing.assert_array_equal(thinned.stats["s"], draws.stats["s"][:, ::10])
    np.testing.assert_array_equal(draws[40:].logdensity, draws.logdensity[:, 40:])
    with pytest.raises(bl.BayeslibError, match="no dimension is named 'c'; there are .*'a'"):
        draws["c"]
    for which in (0, [0], slice(2.5), (slice(None), slice(10))):
        with pytest.raises(bl.BayeslibTypeError, match=r"draws take a name.*draws\[100:\], got"):
            draws[which]


def test_functions_of_draws_take_parameters_by_name():
    draws = some_draws()
    one = draws.expect(lambda p: p.a[0] * p.mu)  # of one draw
    many = draws.expect(lambda p: p.a[:, 0] * p.mu)  # of all
    flat = draws.expect(lambda theta: theta[:, 1] * theta[:, 0])
    assert one.value == pytest.approx(many.value) == pytest.approx(flat.value)
    with pytest.raises(AttributeError, match="no dimension is named 'nope'"):
        draws.expect(lambda p: p.nope)


def test_an_array_to_fill_is_made_from_the_parameters():
    def plain(p, y):
        path = np.zeros(y.size)
        for t in range(y.size):
            path[t] = p.mu * y[t]
        return -np.sum(path**2)

    def made(p, y):
        path = np.zeros_like(p.mu * y)
        for t in range(y.size):
            path[t] = p.mu * y[t]
        return -np.sum(path**2)

    with pytest.raises(bl.GradientError, match=r"np.zeros_like\(p.tau \* y\)"):
        bl.Target(plain, parameters={"mu": ()}, data=(Y,)).gradient([0.1])
    slope = bl.Target(made, parameters={"mu": ()}, data=(Y,)).gradient([0.1])
    np.testing.assert_allclose(slope, [-0.2 * Y @ Y])


@pytest.mark.parametrize(
    ("density", "words"),
    [
        (lambda p, y: bl.logpdf.normal(p.c, 0.0, 1.0), "an array.*and those of c, 3 numbers"),
        (lambda p, y: np.sum(p.b * y), "no parameter is named 'b'.*are ab, c: mend.*or name it in"),
    ],
)
def test_common_slips_are_named(density, words):
    target = bl.Target(density, parameters={"c": 3, "ab": bl.positive()}, data=(Y,))
    with pytest.raises(bl.GradientError, match=words):
        bl.nuts(target, num_samples=5, rng=1)


def test_predict_simulates_once_a_draw():
    draws = some_draws()
    room = np.empty(2)  # filled again for each draw
    ahead = draws.predict(lambda p, rng: np.add(p.a, rng.normal(0.0, 0.0), out=room), rng=1)
    np.testing.assert_array_equal(ahead, draws["a"])
    numbers = draws.predict(lambda p, rng: rng.poisson(np.exp(p.mu)), rng=1)
    again = draws.predict(lambda p, rng: rng.poisson(np.exp(p.mu)), rng=1)
    assert numbers.shape == (4, 50) and (numbers == again).all()
    with pytest.raises(bl.BayeslibError, match="one shape"):
        draws.predict(lambda p, rng: np.zeros(rng.integers(1, 5)), rng=1)
    with pytest.raises(ValueError, match="read-only"):  # it would be lost
        draws.predict(lambda p, rng: p.a.fill(0.0), rng=1)
    with pytest.raises(bl.BayeslibError, match=r"array of numbers, got .*'y': 0.0"):
        draws.predict(lambda p, rng: {"y": 0.0}, rng=1)
    weighted = bl.Draws(draws.values, log_weights=draws.values[..., 0])
    with pytest.raises(bl.BayeslibError, match="draw by them first"):
        weighted.predict(lambda p, rng: 0.0, rng=1)


# ------------------------------------------------- what a parameter does to what surrounds it
def test_the_density_of_a_direction_is_no_number_of_its_coordinates():
    target = bl.Target(lambda p: 3.0 * p.u[0], parameters={"u": bl.unit_vector(2)})
    q = bl.advi(target, family="fullrank", rng=1)
    with pytest.raises(bl.BayeslibError, match="unit_vector has one coordinate more"):
        q.logdensity([1.0, 0.0])


def test_what_is_the_same_everywhere_accuses_no_fit():
    target = bl.Target(lambda p: 20.0 * np.log(p.L[1, 1]), parameters={"L": bl.cholesky_corr(2)})
    assert bl.laplace(target).problems == bl.advi(target, rng=1).problems == ()
    draws = bl.nuts(target, rng=1)
    assert draws.problems == ()  # nor its upper triangle, draws
    with pytest.raises(bl.BayeslibError, match="at least one dimension"):
        draws[[]]


@pytest.mark.parametrize("beside", [None, bl.unit_vector(2), bl.cholesky_corr(2)])
def test_heavy_tails_are_told_beside_what_holds_each_other(beside):
    parameters = {"t": ()} | ({"u": beside} if beside else {})
    target = bl.Target(lambda p: -1.5 * np.log1p(p.t**2 / 2), parameters=parameters)
    draws = bl.nuts(target, num_samples=2000, rng=1)
    assert draws.settings["tail_index"] == pytest.approx(2.0, abs=0.1)
    assert any("variances do not exist" in said for said in draws.problems)


@pytest.mark.filterwarnings("ignore::bayeslib.BayeslibWarning")
def test_noise_is_judged_where_the_chain_walked():
    target = bl.Target(
        lambda p: np.sum(np.log(p.w)) - p.s, parameters={"w": bl.simplex(3), "s": bl.positive()}
    )
    how = {"batch_size": None, "friction": 2.0, "num_samples": 300, "rng": 1}
    draws = bl.sghmc(target, step_size=0.05, **how)
    assert draws[["s"]].settings["noise"] == draws.settings["noise"]
    assert draws.summary().columns


def test_a_dirichlet_proposes_for_a_simplex():
    draws = bl.importance_sample(DIRICHLET, stats.dirichlet([1.0] * 3), num_samples=5000, rng=1)
    assert abs(draws.log_evidence.z(-np.log(120.0))) < 4.9


def test_edges_have_no_density_and_corners_come_back():
    parameters = {"w": bl.simplex(3)}
    q = bl.advi(
        bl.Target(lambda p: 9.0 * np.sum(np.log(p.w)), parameters=parameters),
        family="fullrank", rng=1,
    )  # fmt: skip
    assert q.logdensity([0.0, 0.5, 0.5]) == -np.inf
    L = bl.Target(lambda p: 0.0 * p.L[0, 0], parameters={"L": bl.cholesky_corr(3)})
    free = bl.unconstrained(L)
    x = 12.0 * np.random.default_rng(1).standard_normal((50, 3))
    np.testing.assert_allclose(free.unconstrain(free.constrain(x)), x, atol=1e-9)


def test_a_density_of_any_name():
    def _logdensity(p):
        return -0.5 * p.mu**2

    assert bl.Target(_logdensity, parameters={"mu": ()})([2.0]) == -2.0


def test_starts_are_told_in_the_parameters():
    target = bl.Target(lambda p: -np.inf if p.s > 2.0 else -p.s, parameters={"s": bl.positive()})
    with pytest.raises(bl.StartError, match=r"initial_position=\[3\.0\] is -inf"):
        bl.nuts(target, {"s": 3.0}, rng=1, num_chains=1)
    with pytest.raises(bl.BayeslibError, match="leapfrog moves numbers one by one"):
        bl.leapfrog(DIRICHLET, [0.3, 0.3, 0.4], [0.1] * 3, step_size=0.01, num_steps=5)


def test_trouble_is_told_in_the_parameters():
    def density(p):
        return np.nan if p.tau > 3.0 else -p.tau

    target = bl.Target(density, parameters={"tau": bl.positive()}, gradient=None)
    with pytest.warns(bl.BayeslibWarning, match="nan at") as told:
        draws = bl.metropolis(target, {"tau": 1.0}, num_chains=1, rng=1)
    assert float(re.search(r"theta=\[(.*)\]", str(told[0].message))[1]) > 3.0
    assert draws.values.max() < 3.0 and draws.settings["unconstrained"]

    def neck(p):
        scale = bl.logpdf.half_normal(p.tau, 1.0)
        return scale + np.sum(bl.logpdf.normal(p.x, 0.0, p.tau))

    with pytest.warns(bl.BayeslibWarning, match="diverged"):
        draws = bl.nuts(bl.Target(neck, parameters={"tau": bl.positive(), "x": 9}), rng=1)
    assert draws.settings["divergences"][:, 0].min() > 0.0


@pytest.mark.parametrize(
    "parameters",
    [
        {"sigma": bl.positive(), "mu": ()},
        {"mu": (), "tau": bl.positive()},
        {"mu": (), "sigma": bl.lower(1.0)},
        None,
    ],
)
def test_a_reference_is_of_the_same_parameters(parameters):
    other = FLAT
    if parameters:
        other = bl.Target(lambda p: 0.0 * p[0], parameters=parameters, gradient=None)
    with pytest.raises(bl.BayeslibError, match="the same parameters, names and constraints"):
        bl.parallel_tempering(NAMED, None, reference=other, rng=1)
