"""Targets: evaluation, gradients and their check, data, pickles."""

import copy
import math
import pickle
import warnings
from contextlib import nullcontext

import numpy as np
import pytest
from densities import EXACT, gaussian2
from numba import njit
from scipy import stats

import bayeslib as bl
from bayeslib import Target, Truth, cholesky_corr, metropolis, simplex
from bayeslib.compile.kinds import FAST
from bayeslib.errors import BayeslibError, GradientError, TargetError


def regression(theta, X, y, scale):
    total = -0.5 * theta @ theta
    for i in range(y.size):
        z = (y[i] - X[i] @ theta) / scale
        total -= 0.5 * z * z
    return total


def regression_gradient(theta, X, y, scale):
    return X.T @ (y - X @ theta) / scale**2 - theta


def regression_target(**options):
    rng = np.random.default_rng(1)
    data = (rng.standard_normal((20, 3)), rng.standard_normal(20), 0.7)
    return Target(regression, dim=3, data=data, **options)


def laplace(theta):
    return -abs(theta[0]) - abs(theta[1] - 1.0)


def test_values_equal_the_plain_function_one_by_one_and_many_at_once():
    target = regression_target()
    thetas = np.random.default_rng(2).standard_normal((50, 3))
    expected = [regression(theta, *target._arguments) for theta in thetas]
    np.testing.assert_allclose([target(theta) for theta in thetas], expected, rtol=1e-12)
    np.testing.assert_allclose(target.many(thetas), expected, rtol=1e-12)
    assert isinstance(target([0, 0, 0]), float) and target.many(np.empty((0, 3))).shape == (0,)


def test_one_dimension_takes_numbers_and_flat_arrays():
    target = EXACT["mixture"][0]
    x = np.linspace(-2, 2, 7)
    np.testing.assert_array_equal(target.many(x), target.many(x[:, None]))
    np.testing.assert_array_equal(target.many(x), [target(value) for value in x])
    assert target.names == ("theta",) and gaussian2().names == ("theta[0]", "theta[1]")


@pytest.mark.parametrize("gradient", ["auto", regression_gradient])
def test_gradients_automatic_and_given(gradient):
    target = regression_target(gradient=gradient)
    assert target.has_gradient
    for theta in np.random.default_rng(3).standard_normal((5, 3)):
        expected = regression_gradient(theta, *target._arguments)
        np.testing.assert_allclose(target.gradient(theta), expected, rtol=1e-11)
        assert target.check_gradient(theta) > 0


def test_no_gradient_is_said():
    target = regression_target(gradient=None)
    assert not target.has_gradient
    with pytest.raises(GradientError, match="has no gradient"):
        target.gradient(np.zeros(3))


@pytest.mark.parametrize(("factor", "component"), [(-1.0, 0), (1.001, 2), (0.0, 2)])
def test_a_wrong_gradient_is_found_and_its_component_named(factor, component):
    def wrong(theta, X, y, scale):
        grad = X.T @ (y - X @ theta) / scale**2 - theta
        grad[component] *= factor
        return grad

    target = regression_target(gradient=wrong, names=("a", "b", "c"))
    for thorough in (True, False):
        with pytest.raises(GradientError, match=rf"component {component} \({'abc'[component]}\)"):
            target.check_gradient([0.3, -0.2, 0.9], thorough=thorough)


@pytest.mark.parametrize(
    ("constraint", "start"),
    [(simplex(3), [0.2, 0.3, 0.5]), (cholesky_corr(2), [[1.0, 0.0], [0.6, 0.8]])],
)
def test_parameters_that_hold_each_other_are_compared_in_their_coordinates(constraint, start):
    def density(p, place, bent):
        at = p.w.ravel()[place]
        return at if abs(at - bent) < 1e-12 else 2.0 * at  # a slope of its own at one point

    place = constraint.size - 2
    data = place, np.ravel(start)[place]
    target = Target(density, parameters={"w": constraint}, data=data)
    with pytest.raises(GradientError, match=r"\(\w+\(w\)\[0\]\)"):
        target.check_gradient({"w": start})


def test_a_gradient_that_is_nan_is_wrong():
    target = Target(laplace, dim=2, gradient=lambda theta: np.array([-1.0, np.nan]))
    with pytest.raises(GradientError, match="nan in component 1"):
        target.check_gradient([0.3, 1.0])


def test_the_check_copes_with_tiny_huge_shifted_and_bounded_densities():
    def far(theta, mean, size):
        return -0.5 * ((theta[0] - mean) / size) ** 2

    for mean, size in [(0.0, 1e-5), (1e6, 1.0), (0.0, 1e6), (3.0, 1e-3)]:
        target = Target(far, dim=1, data=(mean, size))
        target.check_gradient(mean + 0.7 * size)
    EXACT["truncated"][0].check_gradient(-0.4999)


def test_a_kink_is_no_error_but_a_wrong_slope_there_is():
    target = Target(laplace, dim=2, gradient=lambda theta: -np.sign(theta - np.array([0.0, 1.0])))
    target.check_gradient([0.0, 1.0])
    target.check_gradient([0.0, 0.3])
    wrong = Target(laplace, dim=2, gradient=lambda theta: np.array([1.5, 0.0]))
    with pytest.raises(GradientError, match="component 0"):
        wrong.check_gradient([0.0, 1.0])


def test_a_fused_gradient_with_another_density_is_found():
    def fused(theta, grad, precision):
        grad[:] = -precision @ theta
        return 0.0

    target = Target(gaussian2().logdensity, dim=2, data=gaussian2().data, fused=fused)
    with pytest.raises(GradientError, match="but 0.0 with its gradient"):
        target.verify(np.ones(2), gradient=True)


def test_data_are_copied_and_read_only_and_new_data_compile_nothing():
    X, y = np.ones((4, 2)), np.zeros(4)

    def logdensity(theta, X, y):
        return -np.sum((y - X @ theta) ** 2)

    target = Target(logdensity, dim=2, data=(X, y))
    value = target([1.0, 2.0])
    X[:] = 7.0
    assert target([1.0, 2.0]) == value
    assert all(a.ctypes.data % 64 == 0 and not a.flags.writeable for a in target.data)
    other = Target(logdensity, dim=2, data=(X, y))
    assert other.bind(False).address == target.bind(False).address
    assert other([1.0, 2.0]) != value


@pytest.mark.parametrize(
    "array",
    [
        np.arange(4, dtype=np.int32),
        np.array([2**24, 1, 1, 1], dtype=np.float32),
        np.arange(4, dtype=">f8"),
        np.arange(8.0)[::2],
        [0, 2, 4, 6],
        np.array([True, False, True, True]),
    ],
)
def test_data_of_any_numeric_kind(array):
    target = Target(lambda theta, x: theta[0] * np.sum(x) + 0.0 * x[1], dim=1, data=(array,))
    assert target(2.0) == 2.0 * np.sum(array, dtype=float)


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16, np.uint64])
def test_integers_do_not_overflow(kind):
    data = (kind([3, 100]),)
    target = Target(lambda t, x: np.sum(t[0] - x * x * (x - x[::-1])), dim=1, data=data)
    assert target(0.0) == 97 * 9 - 970_000


@pytest.mark.parametrize("clone", [copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t))])
def test_a_target_travels(clone):
    shift = 0.5

    def local(theta, y):
        return -0.5 * (theta[0] - y - shift) ** 2

    truth = Truth(mean=np.array([2.5]), cdf=lambda x: x)
    target = Target(local, dim=1, data=(2.0,), names=["x"], support=(0, math.inf), truth=truth)
    twin = clone(target)
    assert twin(1.0) == target(1.0) and twin.names == ("x",)
    np.testing.assert_array_equal(twin.gradient(1.0), target.gradient(1.0))
    assert twin.support == ((0.0, math.inf),) and twin.truth.cdf(3) == 3 and twin.data[0] == 2.0


def test_exceptions_keep_their_type_and_say_where():
    def logdensity(theta):
        if theta[0] > 1.0:
            raise KeyError("beyond")
        return 0.0

    target = Target(logdensity, dim=1)
    for call in (lambda: target(2.0), lambda: target.many([0.0, 2.0])):
        with pytest.raises(KeyError, match="beyond"):
            call()
    assert target(0.5) == 0.0


def test_a_random_density_is_found_at_the_start():
    def logdensity(theta):
        return -0.5 * theta[0] ** 2 + np.random.rand()  # noqa: NPY002

    with pytest.raises(TargetError, match="in plain Python"):
        metropolis(Target(logdensity, dim=1, gradient=None), 0.0, num_chains=1, rng=1)


def test_support():
    density = EXACT["mixture"][0].logdensity
    assert Target(density, dim=1, support=(-1, 2)).support == ((-1.0, 2.0),)
    assert Target(density, dim=1).support is None
    for bad in [(2, -1), (1, 1), [(0, 1), (0, 1)], (0, math.nan)]:
        with pytest.raises(BayeslibError, match="support"):
            Target(density, dim=1, support=bad)


@pytest.mark.parametrize(
    ("support", "dim", "filled"),
    [
        ((0.0, None), 1, ((0.0, math.inf),)),
        ([None, (None, 1.0)], 2, ((-math.inf, math.inf), (-math.inf, 1.0))),
        (np.array([[0.0, 1.0], [2.0, 3.0]]), 2, ((0.0, 1.0), (2.0, 3.0))),
    ],
)
def test_an_open_end_of_the_support_may_be_none(support, dim, filled):
    density = EXACT["mixture"][0].logdensity
    assert Target(density, dim=dim, support=support).support == filled


def cancelled_scalar(theta):
    return -0.5 * math.exp(math.log(theta[0])) ** 2


def cancelled_array(theta):
    return -0.5 * np.sum(np.exp(np.log(theta)) ** 2)


def overflowing(theta):
    return -0.5 * math.log(math.exp(theta[0])) ** 2


@pytest.mark.parametrize("gradient", ["auto", None])
@pytest.mark.parametrize("function", [cancelled_scalar, cancelled_array, overflowing])
def test_functions_are_called_as_written(function, gradient):
    """exp(log(x)) is nan for x < 0 and must stay so, or the density is another."""
    target = Target(function, dim=1, gradient=gradient)
    assert target([2.0]) == pytest.approx(-2.0)
    if function is overflowing:
        assert target([800.0]) == -math.inf and target([-800.0]) == -math.inf
    else:
        assert math.isnan(target([-1.0]))
        if gradient:
            assert math.isnan(target.gradient([-1.0])[0])


def test_the_compiler_would_cancel_them():
    assert njit(cancelled_scalar, fastmath=set(FAST))(np.array([-1.0])) == -0.5


@pytest.mark.parametrize(
    ("shapes", "told"),
    [((6, 6), None), ((6, (6, 1)), 1), (((6, 1), 6), 0), (((6, 1), (6, 1)), None)],
)
def test_a_column_beside_as_many_numbers_is_spoken_of_unless_its_values_are_as_many(shapes, told):
    def density(theta, x, y):
        return -np.sum((y - theta[0] * x) ** 2) - theta[0] ** 2

    data = tuple(np.arange(6.0).reshape(shape) for shape in shapes)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        metropolis(Target(density, dim=1, data=data), num_samples=10, num_warmup=100, rng=1)
    said = [str(found.message) for found in caught if "ravel" in str(found.message)]
    assert len(said) == (told is not None)
    assert all(f"data[{told}] of shape (n, 1)" in words for words in said)


def test_a_column_is_an_error_where_warnings_are():
    data = np.arange(6.0), np.arange(6.0)[:, None]
    target = Target(lambda t, x, y: -np.sum((y - t[0] * x) ** 2), dim=1, data=data)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for ask in (target, target.gradient, lambda x: target.many([x])):
            with pytest.raises(bl.errors.BayeslibWarning, match="ravel"):
                ask([0.1])


@pytest.mark.parametrize("missing", [0, 1, 2])
def test_an_index_that_pandas_gives_to_a_missing_category_is_spoken_of(missing):
    data = np.array([0.3, 1.2, 2.1]), np.array([0, -missing, 1]), np.array([1, -1, -1])
    target = Target(lambda t, y, group, sign: -np.sum((y * sign - t[group]) ** 2), dim=2, data=data)
    with pytest.warns(match=r"data\[1\] has 1 indices of -[12],") if missing else nullcontext():
        target(np.zeros(2))


def test_a_parameter_that_is_a_column_is_spoken_of_too():
    for shape, told in ((5, 0), ((5, 1), 1)):
        how = {"parameters": {"m": shape}, "data": (np.arange(5.0),)}
        target = Target(lambda p, y: -np.sum((y - p.m) ** 2), **how)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            bl.nuts(target, num_samples=200, rng=1)
        assert sum("p.m of shape (n, 1)" in str(found.message) for found in caught) == told


@pytest.mark.parametrize("noisy", [False, True])
def test_what_no_chain_walks_in_is_compared_with_plain_python_too(noisy):
    def density(theta, index):
        # finite, whatever lies there
        return (theta[index] > 0.0) - theta[0] ** 2 + noisy * np.random.normal()  # noqa: NPY002

    def run(method, *args, **options):
        target = Target(density, dim=1, data=(int(not noisy),))
        with pytest.raises(TargetError if noisy else IndexError, match="write 1.0|^index"):
            method(target, *args, **options)

    for ask in (Target.__call__, Target.gradient):
        run(ask, [0.1])
    run(bl.grid_posterior, (-5.0, 5.0), num_points=10)  # as quadrature does
    run(bl.adaptive_rejection_sample, points=[-1.0, 1.0], num_samples=10, rng=1)
    run(bl.bbvi_gradients, [0.0], [1.0], estimator="score", rng=1)
    for method in (bl.smc, bl.importance_sample, bl.annealed_importance_sample):
        run(method, stats.norm(), num_samples=100, rng=1)


def test_a_column_that_is_a_matrix_is_one(recwarn):
    data = np.arange(6.0)[:, None], np.arange(6.0)
    target = Target(lambda t, X, y: -np.sum((y - X @ t) ** 2) - t[0] ** 2, dim=1, data=data)
    target.verify(np.zeros(1), gradient=True)
    assert not recwarn.list
