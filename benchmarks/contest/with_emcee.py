"""emcee's stretch move, without gradients, on NumPy densities of many walkers at a time."""

import emcee
import numpy as np

from . import problems

# Steps of burn-in and again of sampling, and how many of the latter go for one kept: the walkers'
# autocorrelation time grows with the dimension.
LENGTHS = {
    "gaussian_2": (1000, 1),
    "funnel_10": (5000, 5),
    "schools": (5000, 5),
    "logistic": (2000, 4),
    "gaussian_100": (10000, 40),
}


class Contestant:
    def __init__(self, posterior, variant, unit, seed):
        dim = problems.PROBLEMS[posterior].dim
        self._num_walkers = max(2 * dim + 2, 32)
        self._length, self._thin = LENGTHS[posterior]
        self._posterior = posterior
        self._sampler = emcee.EnsembleSampler(
            self._num_walkers, dim, _density(posterior, unit), vectorize=True
        )

    def call(self, seed):
        rng = np.random.default_rng(seed)
        sampler = self._sampler
        sampler.reset()
        sampler.random_state = np.random.RandomState(seed).get_state()
        start = 0.5 * rng.standard_normal((self._num_walkers, sampler.ndim))
        state = sampler.run_mcmc(start, self._length, store=False)
        sampler.run_mcmc(state, self._length // self._thin, thin_by=self._thin)
        return sampler.get_chain()

    def read(self, chain):
        return np.ascontiguousarray(chain.transpose(1, 0, 2)), {"num_gradients": None}


def _density(posterior, unit):
    """Return a function of walkers (n, dim) that returns their log densities (n,)."""
    data = problems.data(posterior)
    if posterior.startswith("gaussian"):
        return lambda x: -0.5 * unit * np.einsum("ij,ij->i", x @ data[0], x)
    if posterior == "funnel_10":
        return _funnel
    if posterior == "schools":
        return lambda x: _schools(x, *data)
    rows, labels = data

    def logistic(x):
        s = x @ rows.T
        prior = -0.5 * unit * np.einsum("ij,ij->i", x, x)
        # faster than logaddexp
        softplus = np.maximum(s, 0.0) + np.log(1.0 + np.exp(-np.abs(s)))
        return prior + s @ labels - softplus.sum(axis=1)

    return logistic


def _funnel(x):
    v, rest = x[:, 0], x[:, 1:]
    squares = np.einsum("ij,ij->i", rest, rest)
    with np.errstate(over="ignore"):
        return -v * v / 18.0 - 0.5 * squares * np.exp(-v) - 0.5 * rest.shape[1] * v


def _schools(x, y, sigma):
    mu, log_tau, eta = x[:, :1], x[:, 1], x[:, 2:]
    tau = np.exp(log_tau)
    z = (y - mu - tau[:, None] * eta) / sigma
    prior = -0.5 * mu[:, 0] ** 2 / 25.0 - np.log1p((tau / 5.0) ** 2) + log_tau
    return prior - 0.5 * (eta**2).sum(axis=1) - 0.5 * (z**2).sum(axis=1)
