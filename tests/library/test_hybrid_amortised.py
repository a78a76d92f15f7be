"""Amortised inference: exact gradients, known optima, and what must be said."""

import pickle
from functools import partial

import numpy as np
import pytest
from bad_inputs import refused
from scipy import special, stats

import bayeslib as bl
from bayeslib.errors import BayeslibError, BayeslibTypeError, BayeslibWarning, TargetError
from bayeslib.variational import training

NOISE = 0.5
X = np.array([[1.0, 0.9], [0.0, 0.4], [1.0, 1.1]])
COV = np.linalg.inv(np.eye(2) + X.T @ X / NOISE**2)


def on_the_line(num, rng):
    theta = rng.standard_normal(num)
    return theta, theta + NOISE * rng.standard_normal(num)


def in_the_plane(num, rng):
    theta = rng.standard_normal((num, 2))
    return theta, theta @ X.T + NOISE * rng.standard_normal((num, 3))


def joint_in_the_plane(v, X):
    lp = -0.5 * (v[0] ** 2 + v[1] ** 2)
    for i in range(3):
        lp -= 2.0 * (v[2 + i] - X[i, 0] * v[0] - X[i, 1] * v[1]) ** 2
    return lp


PLANE = bl.Target(joint_in_the_plane, dim=5, data=(X,))


def running_example(num, rng):
    theta = rng.gamma(3.0, size=num)
    return theta, theta + rng.standard_t(2.0, size=num)


def joint_of_the_example(v):
    x, y = v[0], v[1]
    if x <= 0.0:
        return -np.inf
    return 2.0 * np.log(x) - x - 1.5 * np.log1p(0.5 * (y - x) ** 2) - 2.5 * np.log(2.0)


EXAMPLE = bl.Target(joint_of_the_example, dim=2, support=((0.0, None), None))


@pytest.mark.trust("S1", of="train_amortised")
@pytest.mark.parametrize("free", [None, PLANE], ids=["simulations", "elbo"])
@pytest.mark.parametrize("dense", [False, True])
def test_the_gradient_is_the_derivative_of_the_loss(free, dense):
    """Of every weight of two hidden layers, against central differences, to 1e-6."""
    rng = np.random.default_rng(1)
    thetas, data = in_the_plane(100, rng)
    trainer = training.Trainer(
        thetas, data, rng, names=("a", "b"), hidden=(4, 3), dense=dense, free=free, batch_size=100
    )
    for layer in trainer.layers:
        layer += 0.3 * rng.standard_normal(layer.shape)
    rows, normals = np.arange(30), rng.standard_normal((30, 2))
    _, gradients = trainer.gradient(rows, normals)
    worst = 0.0
    for layer, gradient in zip(trainer.layers, gradients, strict=True):
        for index in np.ndindex(layer.shape):
            here, ends = layer[index], []
            for step in (1e-5, -1e-5):
                layer[index] = here + step
                ends.append(trainer.gains(rows, normals)[0].mean())
            layer[index] = here
            slope = (ends[0] - ends[1]) / 2e-5
            worst = max(worst, abs(slope - gradient[index]) / max(1.0, abs(slope)))
    assert worst < 1e-6
    largest = max(np.abs(gradient).max() for gradient in gradients)
    assert largest > 0.1  # the twin: a gradient of zero would be 0.1 away


@pytest.mark.filterwarnings("ignore:y.*lies outside")
@pytest.mark.trust("M7", of="train_amortised")
@pytest.mark.parametrize(
    ("objective", "joint"), [("simulations", None), ("elbo", PLANE)], ids=["simulations", "elbo"]
)
def test_learns_a_correlated_posterior(objective, joint):
    """Two parameters, three data: KL(exact || learned) below 0.02 nats on average."""
    net = bl.train_amortised(
        in_the_plane, objective=objective, joint=joint, family="fullrank", num_steps=2000, rng=1
    )
    _, data = in_the_plane(200, np.random.default_rng(2))
    gaps, ignorant = [], []
    for y in data:
        exact = bl.Gaussian(COV @ X.T @ y / NOISE**2, COV)
        gaps.append(exact.kl(net.posterior(y)))
        ignorant.append(exact.kl(bl.Gaussian(exact.mean, np.diag(np.diag(COV)))))
    assert np.mean(gaps) < 0.02
    assert np.mean(ignorant) > 0.3  # the twin: without the correlation


def best_gaussians(data):
    """Mean and sd of log theta in the running example for each y, by quadrature."""
    x = np.linspace(-8.0, 6.0, 4001)
    theta = np.exp(x)
    log_p = 3.0 * x - theta - 1.5 * np.log1p(0.5 * (data[:, None] - theta) ** 2)
    p = np.exp(log_p - special.logsumexp(log_p, axis=1, keepdims=True))
    means = p @ x
    return means, np.sqrt(p @ x**2 - means**2)


def kl(mean, sd, other_mean, other_sd):
    return np.log(other_sd / sd) + 0.5 * (sd**2 + (mean - other_mean) ** 2) / other_sd**2 - 0.5


@pytest.mark.trust("M7", of="train_amortised")
def test_learns_the_best_gaussians_of_the_running_example():
    """Those that share mean and variance of log theta with the posterior of y, known exactly."""
    net = bl.train_amortised(running_example, support=(0.0, None), rng=1)
    thetas, data = running_example(2000, np.random.default_rng(5))
    means, sds = best_gaussians(data)
    learned = [part[:, 0] for part in net.predict(data)]
    gaps = kl(means, sds, *learned)
    assert gaps.mean() < 0.02
    # The amortisation gap is small, the loss that of the best Gaussians within its error.
    best = -stats.norm.logpdf(np.log(thetas), means, sds)
    assert abs(net.validation_trace[-1] - best.mean()) < 6.0 * best.std() * np.sqrt(2.0 / 2000)
    constant = kl(means, sds, np.log(thetas).mean(), np.log(thetas).std())
    assert constant.mean() > 0.2  # the twin: the prior, whatever the data
    q = net.posterior(5.0)
    assert np.all(q.sample(1000, 1) > 0.0) and q.names == ("theta",)
    exact, _ = best_gaussians(np.array([5.0]))
    assert q.expect(np.log).value[0] == pytest.approx(exact[0], abs=0.06)


@pytest.mark.trust("M7", of="train_amortised")
@pytest.mark.filterwarnings("ignore:simulations that were held back show")  # in the tails of y
def test_the_bound_leads_to_variational_inference_of_each_y():
    """At y = 5 the optimum is known by quadrature: log theta ~ N(1.42787, 0.265447^2)."""
    net = bl.train_amortised(
        running_example, support=(0.0, None), objective="elbo", joint=EXAMPLE, rng=1
    )
    means, sds = net.predict([5.0])
    assert abs(means[0, 0] - 1.427870) < 0.03 and abs(sds[0, 0] - 0.265447) < 0.02
    assert abs(best_gaussians(np.array([5.0]))[1][0] - 0.265447) > 0.1  # the twin: forward KL
    assert net.num_evals == 20_000 + 3000 * 256 + 2000 * len(net.validation_trace)


def test_a_network_is_pickled():
    one = bl.train_amortised(on_the_line, num_simulations=500, num_steps=20, rng=3)
    near = partial(np.testing.assert_allclose, rtol=1e-9)  # BLAS: rounding depends on addresses
    back = pickle.loads(pickle.dumps(one))
    near(back.posterior(1.0).mean, one.posterior(1.0).mean)
    means, sds = one.predict([1.0])
    near(one.posterior(1.0).mean, means[0])
    near(np.sqrt(np.diag(one.posterior(1.0).cov)), sds[0])
    assert repr(one) == "Amortised(dim=1, data=1, num_evals=500)"
    assert one.loss_trace.shape == (20,) and one.num_evals == 500


@pytest.mark.trust("M8")
def test_data_that_were_hardly_simulated_are_said():
    net = bl.train_amortised(running_example, support=(0.0, None), num_steps=300, rng=1)
    with pytest.warns(BayeslibWarning, match=r"y\[0\]=1000 lies outside .* fit this y by itself"):
        q = net.posterior(1000.0)
    assert len(q.problems) == 1
    assert net.posterior(5.0).problems == ()


@pytest.mark.trust("M8")
def test_learning_by_heart_is_said():
    with pytest.warns(BayeslibWarning, match="learns the others by heart"):
        net = bl.train_amortised(
            in_the_plane, num_simulations=500, hidden=(64,), num_steps=1000, rng=1
        )
    assert net.problems and net.posterior([0.0, 0.0, 0.0]).problems


def with_nan(num, rng):
    theta, data = on_the_line(num, rng)
    data[3] = np.nan
    return theta, data


test_bad_arguments_are_named = refused(
    ({"simulate": 3}, BayeslibTypeError, "simulate must be callable"),
    ({"simulate": lambda n, rng: np.ones(n)}, BayeslibTypeError, r"must return \(thetas, data\)"),
    ({"simulate": lambda n, rng: (np.ones(n), np.ones(n + 1))}, "must return 500 rows of data"),
    ({"simulate": with_nan}, "data of simulate.* is nan"),
    ({"simulate": lambda n, rng: (np.ones(n), rng.random(n))}, "theta is constant"),
    ({"support": (0.0, None)}, "strictly inside the support"),
    ({"support": ((0.0, None), (0.0, None))}, "support must be 1 pairs"),
    ({"names": ("a", "b")}, "names must be 1 different strings"),
    ({"num_simulations": 10}, "num_simulations must be at least 100"),
    ({"hidden": 32}, BayeslibTypeError, "hidden must be a tuple"),
    ({"hidden": (0,)}, r"hidden\[0\] must be at least 1"),
    ({"family": "flow"}, "family must be one of"),
    ({"objective": "map"}, "objective must be one of"),
    ({"objective": "elbo"}, "needs joint"),
    ({"joint": PLANE}, "takes none"),
    ({"objective": "elbo", "joint": PLANE}, "joint must have dim 2"),
    ({"objective": "elbo", "joint": EXAMPLE}, "the support of joint"),
    ({"num_steps": 0}, "num_steps must be at least 1"),
    ({"batch_size": 0}, "batch_size must be at least 1"),
    ({"step_size": -1.0}, "step_size must be positive"),
    by=lambda **changes: bl.train_amortised(
        **{"simulate": on_the_line, "num_simulations": 500, "num_steps": 5, "rng": 1} | changes
    ),
)


@pytest.mark.trust("S15")
def test_bad_data_are_named():
    net = bl.train_amortised(in_the_plane, num_simulations=500, num_steps=5, rng=1)
    for y, words in (([0.0], "y must have shape"), ([0.0, np.nan, 0.0], "finite")):
        with pytest.raises(BayeslibError, match=words):
            net.posterior(y)
    with pytest.raises(BayeslibError, match="data must have shape"):
        net.predict([0.0, 1.0, 2.0])


def outside(v):
    return -0.5 * v[0] ** 2 - 2.0 * (v[1] - v[0]) ** 2 if v[0] > 0.0 else -np.inf


@pytest.mark.trust("S15")
def test_a_joint_density_of_zero_is_said():
    joint = bl.Target(outside, dim=2)
    with pytest.raises(TargetError, match="not finite at .* support of theta"):
        bl.train_amortised(on_the_line, objective="elbo", joint=joint, rng=1)


def heteroscedastic(n, rng):
    """y = theta + noise of a known scale; the posterior's spread runs from 0.1 to 1."""
    theta, log_scale = rng.standard_normal((2, n))
    noise = np.exp(log_scale) * rng.standard_normal(n)
    return theta, np.column_stack([theta + noise, log_scale])


def correlated(n, rng):
    theta = rng.standard_normal((n, 2))
    return theta, theta.sum(axis=1) + 0.3 * rng.standard_normal(n)


def correlated_joint(x):
    return -0.5 * (x[0] ** 2 + x[1] ** 2) - 0.5 * (x[2] - x[0] - x[1]) ** 2 / 0.09


def test_spreads_that_held_back_simulations_contradict_are_spoken_of():
    """Too wide where the training was cut short, too narrow where the bound asks for it. The twin
    would have to be 1.2 times off in a quarter of 2000 simulations, by five errors: below 1e-6 for
    each of 12 quarters.
    """
    with pytest.warns(BayeslibWarning, match="too wide by a factor of 1.[2-9]"):
        short = bl.train_amortised(heteroscedastic, num_steps=50, rng=1)
    _, sds = short.predict([[0.0, -2.0]])
    assert sds[0, 0] > 1.2 / np.sqrt(1.0 + np.exp(4.0))
    assert short.problems == short.posterior([0.0, 0.0]).problems
    joint = bl.Target(correlated_joint, dim=3)
    how = {"objective": "elbo", "joint": joint, "num_steps": 300, "rng": 1}
    with pytest.warns(BayeslibWarning, match=r"too narrow by a factor of 2\.\d.*objective="):
        bl.train_amortised(correlated, **how)
    for seed in range(3):
        fine = bl.train_amortised(heteroscedastic, num_steps=1500, rng=seed)
        assert fine.problems == ()
    assert bl.train_amortised(correlated, family="fullrank", **how).problems == ()
