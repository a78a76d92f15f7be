"""Shapes that are hard to move in: banana, donut and funnel."""

import numpy as np
import scipy

from ..target import Quantiles, Target, Truth
from ..validate import as_count, as_positive, as_real
from .truths import PROBABILITIES, Line, by_probability, drawn, mixture_quantiles, panels


def banana(curvature=1.0, *, width=0.5):
    """A Gaussian bent along a parabola.

    ``theta[0] ~ N(0, 1)``, ``theta[1] | theta[0] ~ N(curvature * (theta[0]**2 - 1), width**2)``.

    Parameters
    ----------
    curvature : float
        0 is a Gaussian; the sign says which way it opens.
    width : float
        Standard deviation of theta[1] given theta[0].

    Returns
    -------
    Target
        dim 2; mean 0, log_evidence 0, drawn exactly by its definition.

    Examples
    --------
    >>> target = bl.posteriors.banana(curvature=1.0)
    >>> draws = target.truth.sample(10_000, np.random.default_rng(1))
    >>> print(draws[:, 1].min().round(0), target.truth.mean)
    -3.0 [0. 0.]
    """
    curvature = as_real(curvature, "curvature")
    width = as_positive(width, "width")
    truth = Truth(
        mean=np.zeros(2), cov=np.diag([1.0, 2.0 * curvature**2 + width**2]),
        quantiles=Quantiles(_banana_quantiles, curvature, width), log_evidence=0.0,
        sample=drawn(_banana_sample, curvature, width),
    )  # fmt: skip
    return Target(_banana, dim=2, data=(curvature, width), fused=_banana_fused, truth=truth)


def _banana(theta, curvature, width):
    x, y = theta[0], theta[1]
    z = (y - curvature * (x**2 - 1.0)) / width
    return -0.5 * (x**2 + z**2) - np.log(2.0 * np.pi * width)


def _banana_fused(theta, grad, curvature, width):
    x, y = theta[0], theta[1]
    z = (y - curvature * (x * x - 1.0)) / width
    slope = z / width
    grad[0] = -x + 2.0 * curvature * x * slope
    grad[1] = -slope
    return -0.5 * (x * x + z * z) - np.log(2.0 * np.pi * width)


def _banana_sample(curvature, width, num_samples, rng):
    z = rng.standard_normal((num_samples, 2))
    z[:, 1] = curvature * (z[:, 0] ** 2 - 1.0) + width * z[:, 1]
    return z


def _banana_quantiles(curvature, width):
    # theta[1] mixes Gaussians over theta[0]; panels no wider than the banana is, far out
    count = int(np.clip(40.0 * abs(curvature) / width, 40, 2000))
    line = Line(lambda x: -0.5 * x**2, np.linspace(-9.0, 9.0, count + 1))
    means = curvature * (line.nodes[:, None] ** 2 - 1.0)
    second = mixture_quantiles(line.weights, means, np.full_like(means, width))
    return {p: np.array([scipy.special.ndtri(p), second[p][0]]) for p in PROBABILITIES}


def donut(radius=3.0, width=0.5):
    """A ring in the plane: the distance from the origin is close to `radius`.

    The log density is ``-(|theta| - radius)^2 / (2 width^2)``, without a constant: the evidence is
    the volume under the ring.

    Parameters
    ----------
    radius : float
        Where the density is highest.
    width : float
        Thickness: nearly the standard deviation of the distance from the origin.

    Returns
    -------
    Target
        dim 2; mean 0; drawn exactly as a radius and an angle.

    Examples
    --------
    >>> target = bl.posteriors.donut(radius=3.0, width=0.5)
    >>> draws = target.truth.sample(10_000, np.random.default_rng(1))
    >>> print(np.hypot(*draws.T).mean().round(1), round(target([0.0, 0.0]), 4))
    3.1 -18.0
    """
    radius = as_positive(radius, "radius")
    width = as_positive(width, "width")
    edges = np.linspace(max(0.0, radius - 14.0 * width), radius + 14.0 * width, 57)
    line = Line(lambda r: np.log(np.maximum(r, 1e-300)) - 0.5 * ((r - radius) / width) ** 2, edges)
    variance = 0.5 * line.expect(np.square)
    truth = Truth(
        mean=np.zeros(2), cov=variance * np.eye(2), quantiles=Quantiles(_donut_quantiles, line),
        log_evidence=float(line.log_evidence + np.log(2.0 * np.pi)),
        sample=drawn(_donut_sample, line),
    )  # fmt: skip
    return Target(_donut, dim=2, data=(radius, width), fused=_donut_fused, truth=truth)


def _donut(theta, radius, width):
    distance = np.sqrt(theta[0] ** 2 + theta[1] ** 2)
    return -0.5 * ((distance - radius) / width) ** 2


def _donut_fused(theta, grad, radius, width):
    distance = np.sqrt(theta[0] * theta[0] + theta[1] * theta[1])
    z = (distance - radius) / width
    # the tip at the origin has no gradient: any finite one leaves a chain valid
    pull = -z / (width * distance) if distance > 0.0 else 0.0
    grad[0] = pull * theta[0]
    grad[1] = pull * theta[1]
    return -0.5 * z * z


def _donut_sample(line, num_samples, rng):
    r = line.sample(num_samples, rng)[:, 0]
    angle = 2.0 * np.pi * rng.random(num_samples)
    return r[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])


def _donut_quantiles(line):
    end = line.edges[-1]

    def above(x):
        """P(theta[0] > x) for x >= 0; r = x + s^2 removes the square root at r = x."""
        start = max(x, line.edges[0])
        s, weights = panels(np.linspace(np.sqrt(start - x), np.sqrt(end - x), 81))
        r = x + s * s
        return np.sum(weights * 2.0 * s * line.pdf(r) * np.arccos(np.minimum(x / r, 1.0))) / np.pi

    def quantile(tail):
        return scipy.optimize.brentq(lambda x: above(x) - tail, 0.0, end, xtol=1e-13)

    high = [quantile(tail) for tail in PROBABILITIES[:3]]  # and as far below
    return by_probability([np.full(2, x) for x in (*np.negative(high), 0.0, *reversed(high))])


def funnel(dim):
    """Neal's funnel: a log variance and what it scales.

    ``v = theta[0] ~ N(0, 3**2)`` and ``theta[i] | v ~ N(0, exp(v))`` for the others (Neal 2003,
    "Slice sampling").

    Parameters
    ----------
    dim : int
        At least 2.

    Returns
    -------
    Target
        names v, x[0], x[1], …; mean 0, log_evidence 0, drawn exactly by its definition.

    Examples
    --------
    >>> target = bl.posteriors.funnel(3)
    >>> print(target.names, np.sqrt(target.truth.cov[0, 0]))
    ('v', 'x[0]', 'x[1]') 3.0
    """
    dim = as_count(dim, "dim", minimum=2)
    truth = Truth(
        mean=np.zeros(dim), cov=np.diag([9.0] + [np.exp(4.5)] * (dim - 1)),
        quantiles=Quantiles(_funnel_quantiles, dim), log_evidence=0.0,
        sample=drawn(_funnel_sample, dim),
    )  # fmt: skip
    names = ("v", *(f"x[{i}]" for i in range(dim - 1)))
    return Target(_funnel, dim=dim, fused=_funnel_fused, names=names, truth=truth)


def _funnel(theta):
    v = theta[0]
    log_density = -0.5 * (v / 3.0) ** 2 - np.log(3.0) - 0.5 * np.log(2.0 * np.pi)
    for i in range(1, theta.size):
        log_density += -0.5 * (theta[i] ** 2 * np.exp(-v) + v + np.log(2.0 * np.pi))
    return log_density


def _funnel_fused(theta, grad):
    v = theta[0]
    count = theta.size - 1.0
    shrink = np.exp(-v)
    total = 0.0
    for i in range(1, theta.size):
        total += theta[i] * theta[i]
        grad[i] = -theta[i] * shrink
    total *= shrink
    grad[0] = -v / 9.0 + 0.5 * (total - count)
    log_2pi = np.log(2.0 * np.pi)
    return -v * v / 18.0 - np.log(3.0) - 0.5 * (total + count * v + (count + 1.0) * log_2pi)


def _funnel_sample(dim, num_samples, rng):
    z = rng.standard_normal((num_samples, dim))
    z[:, 0] *= 3.0
    z[:, 1:] *= np.exp(0.5 * z[:, :1])
    return z


def _funnel_quantiles(dim):
    line = Line(lambda v: -0.5 * (v / 3.0) ** 2, np.linspace(-27.0, 27.0, 109))
    sds = np.exp(0.5 * line.nodes)[:, None]
    x = mixture_quantiles(line.weights, np.zeros_like(sds), sds)
    return {p: np.append(3.0 * scipy.special.ndtri(p), np.full(dim - 1, x[p][0])) for p in x}
