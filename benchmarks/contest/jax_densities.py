"""The log densities in JAX, double precision, as JAX's samplers take them."""

import jax
import jax.numpy as jnp

from . import problems

jax.config.update("jax_enable_x64", True)


def logdensity(posterior, unit):
    """Return logdensity(theta (dim,)) -> scalar."""
    data = [jnp.asarray(array) for array in problems.data(posterior)]
    if posterior.startswith("gaussian"):
        return lambda x: -0.5 * unit * x @ (data[0] @ x)
    if posterior == "funnel_10":
        return _funnel(unit)
    if posterior == "schools":
        return _schools(unit, *data)
    if posterior.startswith("ar"):
        return _ar(unit)
    if posterior.startswith("groups"):
        return _groups(unit, *data)
    return _logistic(unit, *data)


def _funnel(unit):
    def funnel(x):
        v, rest = x[0], x[1:]
        return -unit * v**2 / 18.0 - 0.5 * jnp.sum(rest**2) * jnp.exp(-v) - 0.5 * rest.size * v

    return funnel


def _schools(unit, y, sigma):
    def schools(x):
        mu, log_tau, eta = x[0], x[1], x[2:]
        tau = jnp.exp(log_tau)
        z = (y - mu - tau * eta) / sigma
        prior = -0.5 * unit * mu**2 / 25.0 - jnp.log1p((tau / 5.0) ** 2) + log_tau
        return prior - 0.5 * jnp.sum(eta**2) - 0.5 * jnp.sum(z**2)

    return schools


def _ar(unit):
    rho = problems.CORRELATION

    def ar(x):
        steps = x[1:] - rho * x[:-1]
        return -0.5 * unit * (x[0] ** 2 + jnp.sum(steps**2) / (1.0 - rho**2))

    return ar


def _groups(unit, y, group):
    def groups(x):
        mu, log_tau, eta = x[0], x[1], x[2:]
        z = (y - mu - jnp.exp(log_tau) * eta[group]) / problems.NOISE
        prior = -0.5 * unit * (mu / 5.0) ** 2 - 0.5 * log_tau**2 - 0.5 * jnp.sum(eta**2)
        return prior - 0.5 * jnp.sum(z**2)

    return groups


def _logistic(unit, rows, labels):
    def logistic(x):
        s = rows @ x
        return -0.5 * unit * x @ x + jnp.sum(labels * s - jax.nn.softplus(s))

    return logistic
