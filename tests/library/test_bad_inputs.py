"""Bad targets: log densities, gradients, data."""

import ctypes
import math
import re
from functools import partial

import numpy as np
import pytest
from bad_inputs import FIXED, SAMPLERS, refused, run, value_only
from densities import cut_off, gaussian2
from scipy import special, stats
from scipy.special import jv

from bayeslib import Draws, Gaussian, Target, metropolis
from bayeslib.errors import (
    BayeslibError,
    BayeslibTypeError,
    BayeslibWarning,
    GradientError,
    StartError,
    TargetError,
)
from bayeslib.validate import shown

pytestmark = pytest.mark.trust("S15")

# The log density at the start and on the way: rows 1 to 10


@pytest.mark.row(1, 3, 4)
@pytest.mark.parametrize("sampler", ["metropolis", "hmc", "nuts"])
@pytest.mark.parametrize(
    ("value", "words"),
    [(math.nan, "is nan"), (-math.inf, "outside the support"), (math.inf, r"is \+inf")],
)
def test_start_is_not_finite(sampler, value, words):
    target = Target(lambda theta, v: v + 0.0 * theta[0], dim=2, data=(value,))
    with pytest.raises(StartError, match=words) as caught:
        run(target, sampler=sampler)
    assert "[0.1, 0.2]" in str(caught.value)


def test_a_long_position_is_shortened():
    target = Target(lambda theta: math.nan * theta[0], dim=204, gradient=None)
    with pytest.raises(StartError) as caught:
        run(target, [0.123456789, 2e-7, *[0.5] * 202])
    assert "[0.123457, 2e-07, 0.5, 0.5, 0.5, 0.5, ... 204 in all]" in str(caught.value)
    assert len(str(caught.value)) < 250
    texts = [shown(x) for x in (np.zeros((1, 2)), 0.25, [True], np.arange(7))]
    assert texts == ["[0.0, 0.0]", "0.25", "[True]", "[0, 1, 2, 3, 4, 5, ... 7 in all]"]


def cut_off_at(end, value):
    slope = lambda theta, end, value: -theta  # noqa: E731
    return Target(cut_off, dim=1, data=(end, value), gradient=slope)


@pytest.mark.row(2)
@pytest.mark.parametrize("sampler", SAMPLERS)
def test_nan_on_the_way_is_rejected_counted_and_said_once(sampler):
    with pytest.warns(BayeslibWarning) as caught:
        draws = run(cut_off_at(1.0, math.nan), 0.5, sampler, num_samples=500)
    said = [str(w.message) for w in caught if "nan" in str(w.message)]
    assert len(said) == 1 and f"{draws.settings['num_nan']} proposals" in said[0]
    assert "was nan at" in str(draws.problems) and np.all(draws.values < 1.0)


@pytest.mark.row(4)
@pytest.mark.parametrize("sampler", FIXED)
def test_plus_infinity_on_the_way_ends_the_run(sampler):
    with pytest.raises(TargetError, match=r"\+inf at theta=.*iteration") as caught:
        run(cut_off_at(2.0, math.inf), 0.5, sampler, num_samples=5000, num_warmup=0,
            **FIXED[sampler])  # fmt: skip
    assert np.all(caught.value.partial.values < 2.0)


def returns_array_inside(theta):
    if theta[0] < 0:
        return -np.inf
    return -0.5 * theta**2


def returns_nothing_on_one_branch(theta):
    if theta[0] > 0:
        return -0.5 * theta[0] ** 2


test_density_of_the_wrong_type = pytest.mark.row(5, 6, 7)(
    refused(
        (lambda theta: -0.5 * theta**2, TypeError, "must return a float, got an array; sum it, or"),
        (returns_array_inside, TypeError, "returns an array, not a number.*; add up"),
        (returns_nothing_on_one_branch, TypeError, "must return a float.*None on one branch"),
        (lambda theta: theta[0] > 0, TypeError, "must return a float, got a bool"),
        by=lambda function: run(value_only(function)),
    )
)


@pytest.mark.row(7)
def test_an_integer_density_is_accepted():
    assert run(value_only(lambda theta: 0 if abs(theta[0]) < 1.0 else -5)).logdensity.dtype == float


@pytest.mark.row(9)
def test_zero_division_and_domain_errors_follow_numpy():
    """log(0) is -inf, 1/0 inf, exp(1000) inf, without an exception, and the manual says so."""
    assert "log(0) is ``-inf`` and 1/0 is ``inf``" in Target.__doc__

    def edge(theta):
        return math.log(theta[0]) if theta[0] >= 0.0 else -1.0 / (theta[0] - theta[0])

    target = value_only(edge, dim=1)
    assert target(0.0) == -math.inf and target(-1.0) == -math.inf
    assert value_only(lambda theta: -math.exp(theta[0]), dim=1)(1000.0) == -math.inf


# Functions: rows 11 to 14


@pytest.mark.row(11)
def test_what_does_not_compile_is_named():

    def opens_a_file(theta):
        with open("data.csv") as file:
            return float(file.read())

    with pytest.raises(BayeslibTypeError, match="'opens_a_file' does not compile.*subset"):
        run(value_only(opens_a_file))

    def overwrites(theta):
        theta[0] = 1.0
        return 0.0

    with pytest.raises(BayeslibTypeError, match="read-only: write to a copy"):
        run(value_only(overwrites))
    for not_a_function in (3.0, "logp", np.sin, None):
        with pytest.raises(BayeslibTypeError, match="logdensity must be a function"):
            Target(not_a_function, dim=1)


def import_inside(theta):
    import math

    return -math.exp(theta[0])


def raises_always(theta):
    raise ValueError("never")


async def waits(theta):
    return -theta[0]


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda theta: special.jv(1.0, theta[0]), r"scipy.special.jv.*; write out its formula"),
        (lambda theta: jv(1.0, theta[0]), r"scipy.special.jv.*; write out its formula, .*Targets"),
        (lambda theta: stats.norm.logpdf(theta[0]), r"scipy.stats.norm.*; write bl.logpdf.normal"),
        (import_inside, r"imports something.*; import outside the function"),
        (raises_always, "got None; return a number on every path, outside the support -np.inf"),
        (lambda theta, **options: 0.0, r"takes \(theta, \*\*options\): leave out the keywords"),
        (lambda theta, *, s: 0.0, r"takes \(theta, \*, s\): leave out the keywords"),
        (waits, r"must be a function, got <function.*; wrap in a def f\(theta\)"),
        (partial(import_inside), r"got functools.par.*; wrap in a def f\(theta\)"),
        (lambda theta, y: 0.0, r"takes \(theta, y\): pass data=\(y,\)"),
        (lambda theta, x, y: 0.0, r"takes \(theta, x, y\): pass data=\(x, y,\)"),
    ],
)
def test_what_a_function_may_not_do_is_said_with_what_to_do_instead(function, words):
    with pytest.raises(BayeslibTypeError, match=words) as caught:
        Target(function, dim=1, gradient=None)(0.5)
    assert len(str(caught.value)) < 300


def test_a_slice_with_steps_and_a_foreign_function_compile_without_a_warning():
    """`warnings` are errors here; numba has one on each."""
    X = np.arange(15.0).reshape(5, 3)
    target = Target(lambda theta, X: np.sum(X[:, ::2] @ theta[::2]), dim=3, data=(X,))
    assert target([1.0, 0.0, 1.0]) == 70.0
    np.testing.assert_allclose(target.gradient([1.0, 0.0, 1.0]), [30.0, 0.0, 40.0])
    cosine = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(("cos", ctypes.CDLL(None)))
    assert value_only(lambda theta: cosine(theta[0]), dim=1)(0.0) == 1.0


test_wrong_arity = pytest.mark.row(12)(
    refused(
        ((lambda x, y: 0.0, {}), TypeError, r"must take \(theta\), but .* takes \(x, y\)"),
        ((lambda x: 0.0, {"data": (1.0,)}), TypeError, r"must take \(theta, data\[0\]\)"),
        ((lambda x: 0.0, {"gradient": lambda: 0.0}), TypeError, "gradient must take"),
        ((lambda x: 0.0, {"fused": lambda x: 0.0}), TypeError, r"fused must take \(theta, grad\)"),
        by=lambda function, options: Target(function, dim=1, **options),
    )
)


@pytest.mark.row(13)
@pytest.mark.parametrize("factor", [-1.0, 0.85])
def test_wrong_gradient(factor):
    target = Target(
        gaussian2().logdensity, dim=2, data=(*gaussian2().data,),
        gradient=lambda theta, precision: np.array([1.0, factor]) * -(precision @ theta),
    )  # fmt: skip
    with pytest.raises(GradientError, match=r"in component 1 \(theta\[1\]\).*finite differences"):
        run(target, sampler="hmc")
    with pytest.raises(GradientError, match="begin elsewhere"):  # what is derived cannot be mended
        Target(lambda theta: -np.sqrt(np.abs(theta[0])), dim=1).check_gradient([0.0])


test_gradient_of_the_wrong_shape_or_none = pytest.mark.row(14)(
    refused(
        (lambda theta: np.ones(1), GradientError, r"gradient must return .*, got \(1,\)"),
        (lambda theta: np.ones(3), GradientError, r"must return shape \(2,\), got \(3,\)"),
        (lambda theta: np.ones((2, 2)), GradientError, r"got \(2, 2\)"),
        (lambda theta: 1.0, GradientError, r"got \(\)"),
        (lambda theta: np.array([-theta[0], np.nan]), GradientError, "nan in component 1"),
        (None, GradientError, "no gradient"),
        by=lambda gradient: run(
            Target(lambda theta: -0.5 * theta @ theta, dim=2, gradient=gradient), sampler="hmc"
        ),
    )
)


# Targets


class Labelled(np.ndarray):
    """A stand-in for a column of pandas, with its numbers for labels."""

    iloc, index = None, property(lambda self: self)
    equals = lambda self, other: np.array_equal(self, other)  # noqa: E731


ORDERS = [np.array(rows).view(Labelled) for rows in ([1.0, 2.0], [2.0, 1.0])]

test_bad_targets = pytest.mark.row(52)(
    refused(
        ({"dim": 0}, "dim must be at least 1"),
        ({"dim": 1.5}, "dim must be a whole number"),
        ({"dim": "1"}, TypeError, "dim must be an integer"),
        ({"dim": 1, "names": ("a", "b")}, "names must be 1 different strings"),
        ({"dim": 2, "names": ("a", "a")}, "names must be 2 different strings"),
        ({"dim": 1, "names": (1,)}, TypeError, "names must be strings"),
        ({"dim": 2, "names": ["T[0]", "T[1]"]}, "every array has a .T: in names= call it T_"),
        ({"dim": 1, "gradient": "numeric"}, TypeError, 'gradient must be "auto", None'),
        ({"dim": 1, "truth": 3.0}, TypeError, "truth must be a Truth"),
        ({"dim": 1, "data": np.ones(3)}, TypeError, r"write data=\(array,\)"),
        ({"dim": 1, "data": ORDERS}, r"data\[1\] has other row labels than data\[0\]"),
        ({"dim": 10**9}, "dim must be at most 10000000, got 1000000000"),
        *(({"dim": 1, "names": n}, "words of one line") for n in ("", " ", "a\n", "a\x1b[0m")),
        by=lambda **options: Target(lambda theta: 0.0, **options),
    )
)


@pytest.mark.row(51)
@pytest.mark.parametrize(
    ("item", "words"),
    [*((item, "") for item in ("text", ["a"], None, {"a": 1}, np.array([None]))),
     ([[1.0], [1.0, 2.0]], "give its rows one length")],
)  # fmt: skip
def test_data_that_are_not_numbers(item, words):
    with pytest.raises(BayeslibTypeError, match=rf"data\[0\].*{words}"):
        Target(lambda theta, y: 0.0, dim=1, data=(item,))


@pytest.mark.parametrize("theta", [[1.0], [[1.0, 2.0]], 1.0, ["a", "b"], [1.0, math.nan]])
def test_a_target_refuses_other_points(theta):
    for call in (gaussian2(), gaussian2().gradient, gaussian2().check_gradient):
        with pytest.raises(BayeslibError, match="theta"):
            call(theta)
    with pytest.raises(BayeslibError, match="thetas must"):
        gaussian2().many(np.ones((2, 3)))


@pytest.mark.row(51)
def test_nan_in_the_data_is_counted():
    y = np.array([1.0, np.nan, np.nan])
    target = Target(lambda theta, y: -np.sum((y - theta[0]) ** 2), dim=1, data=(y,))
    with pytest.raises(StartError, match=r"^data\[0\] holds 2 nan, the first at data\[0\]\[1\]"):
        metropolis(target, 0.0, num_chains=1, rng=1)


def test_a_model_may_expect_nan_in_the_data():
    def observed(theta, y):
        total = 0.0
        for value in y:
            if not np.isnan(value):
                total -= (value - theta[0]) ** 2
        return total

    target = Target(observed, dim=1, data=(np.array([1.0, np.nan, 3.0]),))
    assert target(2.0) == -2.0
    assert metropolis(target, 0.0, num_samples=50, num_warmup=50, num_chains=1, rng=1).dim == 1


HOLES = np.ma.array([[1.0, 2.0], [3.0, 999.0]], mask=[[0, 0], [0, 1]])


@pytest.mark.row(51)
@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda x: Target(lambda theta, y: 0.0, dim=1, data=(x,)), "data[0]"),
        (lambda x: Target(lambda theta, y: 0.0, dim=1, data=(list(x),)), "data[0]"),
        (lambda x: gaussian2().many(x), "thetas"),
        (lambda x: metropolis(gaussian2(), x, num_chains=2, rng=1), "initial_position"),
        (Draws, "values"),
        (lambda x: Gaussian([0.0, 0.0], x), "cov"),
    ],
)
def test_masked_entries_are_refused(call, name):
    with pytest.raises(BayeslibError, match=rf"^{re.escape(name)} has masked entries"):
        call(HOLES)
    assert Target(lambda theta, y: np.sum(y), dim=1, data=(np.ma.array([1.0, 2.0]),))(0.0) == 3.0


@pytest.mark.row(51)
@pytest.mark.parametrize(
    ("number", "kind"), [(np.longdouble(1.0), "float"), (np.ones(2, np.clongdouble), "complex")]
)
def test_more_digits_than_compiled_code_has_are_refused(number, kind):
    if number.dtype.itemsize <= np.dtype(kind).itemsize:
        pytest.skip("a long double is a double here")
    with pytest.raises(BayeslibTypeError, match=rf"double precision, got dtype .*astype\({kind}\)"):
        value_only(lambda theta, y: 0.0, data=(number,))


@pytest.mark.parametrize("name", ["dim", "names", "data", "support", "logdensity", "truth"])
def test_a_target_does_not_change(name):
    with pytest.raises(AttributeError, match=f"{name} of a Target is fixed"):
        setattr(gaussian2(), name, 3)
