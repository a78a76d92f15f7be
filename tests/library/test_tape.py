"""Reverse mode: blocks of the tape, its memory, threads, and where it is chosen."""

import math
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sparing import over

import bayeslib as bl
from bayeslib import Target
from bayeslib.compile.autodiff import differentiate, differentiate_by_tape, prefers_tape
from bayeslib.compile.autodiff.arena import NUM_EDGES, new_tape
from bayeslib.errors import GradientError
from bayeslib.hamiltonian.batches import Rows

RNG = np.random.default_rng(12)
# numba's, of matrices that are not in one piece; a Target keeps silent about it
pytestmark = pytest.mark.filterwarnings("ignore:.*is faster on contiguous arrays")


def gradients_of(function, theta, *data):
    """The value and the gradient, by the tape and by dual numbers."""
    found = []
    for fused, tape in (
        (differentiate_by_tape(function, theta.size), (new_tape(),)),
        (differentiate(function, theta.size), ()),
    ):
        gradient = np.full(theta.size, np.nan)
        value = fused(theta, gradient, *tape, *data)
        if tape:  # once more, with what the first evaluation has left behind
            again = np.full(theta.size, np.nan)
            assert fused(theta, again, *tape, *data) == value
            np.testing.assert_array_equal(again, gradient)
        found.append((value, gradient))
    return found


def check(function, theta, *data, rtol=1e-11):
    (value, gradient), (other, exact) = gradients_of(function, theta, *data)
    np.testing.assert_allclose(value, other, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(gradient, exact, rtol=rtol, atol=rtol * abs(exact).max())
    return gradient


# ---- blocks ----


def quadratic(theta, X):
    """The product becomes part of a form, and is used beside it."""
    r = theta - 0.5 * theta[0]
    s = X @ r
    return r @ s + s @ r + s @ s + theta @ (X.T @ theta) + theta[::-1] @ s + np.sum(s[1:])


ORDERS = (np.asfortranarray, lambda X: X[::-1], np.ascontiguousarray)


@over(("dim", "arrange"), zip((40, 9) * 3, ORDERS * 2, strict=True), few=2)
def test_a_quadratic_form_of_a_square_matrix(dim, arrange):
    check(quadratic, RNG.normal(size=dim), arrange(RNG.normal(size=(dim, dim))))


def forms(theta, A, B, C, D, E):
    """More matrices than a tape knows, and a part of one."""
    r = theta[:15]
    part = r @ (A[:15, :15] @ r) + np.sum(B @ theta)
    return (
        part
        + theta @ (A @ theta)
        + theta @ (B @ theta)
        + theta @ C @ theta
        - theta @ (D @ theta) * (theta @ (E @ theta))
    )


@pytest.mark.parametrize("skew", [0.0, 1e-15, 1e-9])
def test_a_quadratic_form_of_a_symmetric_matrix(skew):
    """Where rounding makes the only difference, its product is its transpose's."""
    matrices = [RNG.normal(size=(30, 30)) for _ in range(5)]
    matrices = [X @ X.T / 30 + skew * X for X in matrices]
    matrices[1] = np.asfortranarray(matrices[1])
    A, B, C, D, E = matrices
    target, part = Target(forms, dim=30, data=matrices), np.zeros((30, 30))
    part[:15, :15] = A[:15, :15]
    for theta in RNG.normal(size=(3, 30)):
        X = part + A + B + C - (theta @ E @ theta) * D - (theta @ D @ theta) * E
        exact = X @ theta + X.T @ theta + B.sum(axis=0)
        size = abs(exact).max()
        np.testing.assert_allclose(target.gradient(theta), exact, atol=1e-12 * size, rtol=0)


def test_rows_that_change_are_not_taken_for_a_symmetric_matrix():
    """The room for a batch may hold one at first."""
    target = Target(lambda theta, X: theta @ (X @ theta), dim=20, data=(np.eye(40)[:, :20],))
    room = Rows((0,), 40, 20).room(target.data, 20)
    bound, gradient, theta = target.bind_to(room), np.empty(20), RNG.normal(size=20)
    for X in (np.eye(20), RNG.normal(size=(20, 20))):
        room[0][:] = X
        bound(theta, gradient)
        np.testing.assert_allclose(gradient, X @ theta + X.T @ theta, atol=1e-12)


def logistic(theta, X, y):
    eta = X @ theta
    return np.sum(y * eta - np.log1p(np.exp(eta))) - 0.5 * theta @ theta


def logistic_by_hand(theta, X, y):
    return (y - 1.0 / (1.0 + np.exp(-X @ theta))) @ X - theta


@pytest.mark.trust("S1")
@pytest.mark.parametrize("dim", [1, 300])
def test_a_logistic_regression_against_the_hand_written_gradient(dim):
    X, y = RNG.normal(size=(203, dim)) / math.sqrt(dim), (RNG.random(203) < 0.5).astype(float)
    fused, tape, theta = differentiate_by_tape(logistic, dim), new_tape(), RNG.normal(size=dim)
    wide = RNG.normal(size=(406, 2 * dim)) / math.sqrt(dim)
    for matrix in (X, np.asfortranarray(X), wide[::2, ::2], wide.T[: 2 * dim : 2, ::2].T):
        gradient = np.empty(dim)
        fused(theta, gradient, tape, matrix, y)
        exact = logistic_by_hand(theta, matrix, y)
        np.testing.assert_allclose(gradient, exact, rtol=1e-12, atol=1e-12)


def products(theta, A, whole, single):
    left = theta[:4] @ A + A.T @ theta[4:8]
    both = np.dot(theta[::2], theta[::2]) + np.vdot(theta[:10], theta[10:20])
    outer = theta[:4].reshape((4, 1)) * theta[4:9]
    nested = outer @ theta[9:14] + outer @ A[0] + outer @ np.ones(5)
    plain = whole @ theta[:5] + single @ theta[:5]
    return np.sum(left**2) + both + np.sum(nested**3) + np.sum(plain) + theta[1:6] @ whole[0]


def test_products_of_every_shape_and_type():
    A = RNG.normal(size=(4, 5))
    whole, single = RNG.integers(-3, 4, (6, 5)), RNG.normal(size=(6, 5)).astype(np.float32)
    check(products, RNG.normal(size=30), A, whole, single)


def reuse(theta, X, g):
    alpha = theta[g]
    twice = alpha * np.exp(theta[0]) + alpha
    X = X * 2.0  # made here, and overwritten before the way back
    eta = X @ theta
    X[:, :] = 0.0
    constants = np.zeros(theta.size, theta.dtype)
    still = constants * 2.0 + 1.0
    constants[2] = theta[1]
    picked = np.where(theta > 0.0, np.log(theta), 0.0)
    lp = np.sum(twice) + np.sum(eta**2) + np.sum(still) + np.sum(np.exp(constants * theta[3]))
    lp += np.sum(picked) + np.sum(picked[::2] * theta[::2])
    cube = np.exp(theta[:24]).reshape((2, 3, 4))
    return lp + np.sum(cube * cube[:, :, ::-1]) + np.sum((cube.T + 1.0) ** 2) + np.sum(theta[:0])


def test_numbers_that_are_used_again_overwritten_constant_or_left_out():
    check(reuse, RNG.normal(size=30), RNG.normal(size=(9, 30)), RNG.integers(0, 30, 50))


def many_arguments(theta):
    a, b, c, d, e, f, g, h, i = theta[:9]
    j, k, m, n, o, p, q, r, s = theta[9:18]
    x = theta[18:]
    z = x * a + b * c - d * e + f * g - h * i + j * k - m * n + o * p - q * r + s * x
    return np.sum(z**2)


def test_an_array_expression_of_many_arguments():
    check(many_arguments, RNG.normal(size=30))


REDUCTIONS = {
    "np.sum": lambda theta: np.sum(theta),
    "sum": lambda theta: theta.sum(),
    "np.mean": lambda theta: np.mean(theta),
    "mean": lambda theta: theta.mean(),
    "np.var": lambda theta: np.var(theta),
    "norm": lambda theta: np.linalg.norm(theta),
    "steps": lambda theta: np.sum(theta[::2]),
    "rows": lambda theta: np.sum(theta.reshape(4, 50)),
    "@": lambda theta: theta[:100] @ theta[100:],
}


@pytest.mark.parametrize("name", REDUCTIONS)
def test_a_reduction_leaves_blocks_and_not_an_edge_a_term(name):
    """numba has its own loops for some, which would be asked first."""
    fused, tape, gradient = differentiate_by_tape(REDUCTIONS[name], 200), new_tape(), np.empty(200)
    fused(RNG.normal(size=200), gradient, tape)
    assert tape[NUM_EDGES] < 10


def hierarchy(theta, x, y, group):
    mu, log_tau, slope, log_sigma = theta[0], theta[1], theta[2], theta[3]
    alpha = theta[4:]
    z = (y - alpha[group] - slope * x) / np.exp(log_sigma)
    u = (alpha - mu) / np.exp(log_tau)
    lp = -0.5 * np.sum(z**2) - y.size * log_sigma - 0.5 * np.sum(u**2) - alpha.size * log_tau
    return lp - 0.5 * np.sum(theta[:4] ** 2)


def hierarchy_by_hand(theta, x, y, group):
    mu, tau, slope, sigma = theta[0], math.exp(theta[1]), theta[2], math.exp(theta[3])
    alpha = theta[4:]
    z, u = (y - alpha[group] - slope * x) / sigma, (alpha - mu) / tau
    first = [u.sum() / tau, u @ u - u.size, z @ x / sigma, z @ z - z.size] - theta[:4]
    return np.concatenate((first, np.bincount(group, z, alpha.size) / sigma - u / tau))


@pytest.mark.trust("S1")
def test_a_hierarchy_against_the_hand_written_gradient():
    group = RNG.integers(0, 200, 2000)
    data, theta = (*RNG.normal(size=(2, 2000)), group), 0.5 * RNG.normal(size=204)
    target = Target(hierarchy, dim=204, data=data)
    assert target.bind(gradient=True)._tape is not None
    exact = hierarchy_by_hand(theta, *data)
    np.testing.assert_allclose(target.gradient(theta), exact, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(target(theta), hierarchy(theta, *data), rtol=1e-12)


def masked(theta, X, y, use):
    eta = X @ theta
    return np.sum(np.where(use, y * eta, 0.0)) + np.sum((eta[use] - 1.0) ** 2)


def test_rows_that_are_left_out_may_hold_anything():
    X, y, use = RNG.normal(size=(23, 40)), RNG.normal(size=23), np.ones(23, dtype=bool)
    X[[3, 21]], use[[3, 21]] = [[np.nan], [np.inf]], False
    theta = RNG.normal(size=40)
    kept = X[use]
    exact = y[use] @ kept + 2.0 * (kept @ theta - 1.0) @ kept
    for matrix in (X, np.asfortranarray(X)):
        found = gradients_of(masked, theta, matrix, y, use)
        for _, gradient in found:
            np.testing.assert_allclose(gradient, exact, rtol=1e-11)


def with_passes(theta, X, y):
    lp = bl.logistic_log_likelihood(theta, X, y) + np.sum(bl.log_sigmoid(theta))
    return lp + bl.linear_log_likelihood(theta[::-1], X, y, np.exp(theta[0]))


def test_sums_over_rows_with_their_own_gradients():
    check(with_passes, RNG.normal(size=70), RNG.normal(size=(50, 70)), RNG.random(50))


# ---- where it is chosen ----


def helped(theta):
    return inner(theta)


def inner(theta):
    lp = 0.0
    for t in theta:
        lp -= t * t
    return lp


def rows(theta, X):
    lp = 0.0
    for i in range(X.shape[0]):
        lp -= (X[i] @ theta) ** 2
    return lp


def test_it_is_chosen_by_dimension_and_by_what_the_function_does():
    for function, last in ((logistic, 16), (with_passes, 16), (rows, 20), (helped, 100)):
        assert [prefers_tape(function, dim) for dim in (2, last, last + 1)] == [False, False, True]
    assert [prefers_tape(logistic, dim, 500) for dim in (8, 9)] == [False, True]


def test_what_only_dual_numbers_can_do_is_done_by_them(monkeypatch):
    def refuse(*_, **__):
        raise NotImplementedError

    monkeypatch.setattr("bayeslib.compile.linked.emit", refuse)
    target = Target(lambda theta: -0.5 * np.sum(theta**2), dim=30)
    np.testing.assert_allclose(target.gradient(np.ones(30)), -np.ones(30), rtol=1e-15)


@pytest.mark.parametrize("dim", [2, 60])  # dual numbers, a tape
def test_a_density_may_print(capfd, dim):
    def logdensity(theta):
        print(theta[0], "and", theta[1])
        return -0.5 * np.sum(theta * theta)

    Target(logdensity, dim=dim).gradient(np.arange(1.0, dim + 1))
    said = capfd.readouterr()
    assert said.out.splitlines()[-1] == "1.0 and 2.0" and not said.err


def test_errors_are_in_words():
    target = Target(lambda theta: np.convolve(theta, theta)[0] + theta @ theta, dim=30)
    with pytest.raises(GradientError, match="convolve.*write it as a loop over numbers"):
        target.gradient(np.ones(30))


# ---- support, exceptions, threads, memory ----


def test_the_support_and_infinities():
    target = Target(lambda t: np.sum(np.log(t)) - np.sum(t), dim=30, support=[(0.0, None)] * 30)
    np.testing.assert_allclose(target.gradient(np.full(30, 2.0)), np.full(30, -0.5), rtol=1e-15)
    theta = np.ones(30)
    theta[3] = -1.0
    bound = target.bind(gradient=True)
    assert bound(theta, np.empty(30)) == -np.inf and bound.num_errors == 0
    theta[3] = 0.0
    assert bound(theta, np.empty(30)) == -np.inf


def raising(theta):
    total = np.sum(np.exp(theta))
    if theta[0] > 2.0:
        raise ValueError("theta[0] is too large")
    return -total


def test_a_tape_survives_exceptions():
    bound = Target(raising, dim=30).bind(gradient=True)
    theta, far, gradient = np.zeros(30), np.full(30, 3.0), np.empty(30)
    for _ in range(3):
        assert bound(far, gradient) == -np.inf
        assert bound(theta, gradient) == -30.0
        np.testing.assert_array_equal(gradient, -np.ones(30))
    assert bound.num_errors == 3


def test_threads_that_share_a_target_or_have_chains_of_their_own():
    X, y = RNG.normal(size=(300, 60)), (RNG.random(300) < 0.5).astype(float)
    target = Target(logistic, dim=60, data=(X, y))
    thetas = 0.1 * RNG.normal(size=(400, 60))
    alone = np.array([target.gradient(theta) for theta in thetas])
    for theta, gradient in zip(thetas[:5], alone[:5], strict=True):
        np.testing.assert_allclose(gradient, logistic_by_hand(theta, X, y), rtol=1e-10, atol=1e-11)
    with ThreadPoolExecutor(8) as pool:
        together = np.array(list(pool.map(target.gradient, thetas)))
    np.testing.assert_array_equal(together, alone)
    run = {"num_samples": 30, "num_warmup": 30, "num_chains": 4, "rng": 3, "num_steps": 4}
    draws = bl.hmc(target, **run)
    for workers in (1, 4):
        with ThreadPoolExecutor(workers) as pool:
            again = bl.hmc(target, executor=pool, **run)
        np.testing.assert_array_equal(draws.values, again.values)


def growing(theta, repeats):
    lp = 0.0
    for i in range(repeats):
        lp += np.sin(theta[i % theta.size]) * theta[0]
        if i % 100 == 0:
            lp += np.sum(np.exp(theta * 0.1))
    return lp


def test_a_tape_grows_as_it_must():
    fused, tape, theta = differentiate_by_tape(growing, 5), new_tape(), RNG.normal(size=5)
    exact, gradient = np.empty(5), np.empty(5)
    dual = differentiate(growing, 5)
    for repeats in (10, 100_000, 10, 100_000):
        fused(theta, gradient, tape, repeats)
        dual(theta, exact, repeats)
        np.testing.assert_allclose(gradient, exact, rtol=1e-9, atol=1e-9)


def test_evaluations_without_end_take_no_more_memory():
    resource = pytest.importorskip("resource")
    X = RNG.normal(size=(500, 30))
    target = Target(logistic, dim=30, data=(X, np.ones(500)))
    far = Target(raising, dim=30)

    def peak():
        bound, failing = target.bind(gradient=True), far.bind(gradient=True)
        for theta in RNG.normal(size=(1000, 30)):
            bound(theta, theta.copy())
            failing(theta + 3.0, theta.copy())
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    peak()
    first = peak()
    for _ in range(20):
        last = peak()
    assert last - first < 20_000  # kilobytes: less than half of what the tapes alone would leak
    assert threading.active_count() < 50
