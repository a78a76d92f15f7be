"""Exact answers in one or two dimensions for smooth posteriors, by the trapezium rule."""

from dataclasses import replace

import numpy as np
from scipy import special

from ..target.truth import Quantiles, Truth
from .truths import Line, by_probability, drawn, line_truth

_NEGLIGIBLE = -80.0  # in logarithms, below the mode
_MARGIN = 0.3  # by which the logarithm of a ratio may exceed its largest value on the lattice
_FREEDOM = 4.0
_MOST_STEPS = 1200


def lattice_truth(logdensity, mode, factor, strip):
    """The `Truth` of a log-concave density with Gaussian tails, in 1 or 2 dimensions.

    Parameters
    ----------
    logdensity : callable
        Takes (m, dim), returns (m,).
    mode : array, shape (dim,)
    factor : array, shape (dim, dim)
        ``factor @ factor.T`` is the inverse of the negative Hessian at the mode.
    strip : float
        In standardised coordinates, how far off the real axis the density is analytic.

    Returns
    -------
    Truth or None
        To 10 digits: the trapezium rule of step h errs by about exp(-2 pi strip / h) (Trefethen &
        Weideman 2014, "The exponentially convergent trapezoidal rule"). None where it would take
        too many points.
    """
    step = min(0.5, strip / 4.0)
    if mode.size == 1:
        return _truth_on_line(logdensity, mode, factor, step)
    grid = _grid(logdensity, mode, factor, step)
    if grid is None:
        return None
    z, log_p = grid
    x = mode + z @ factor.T
    shift = log_p.max()
    weights = np.exp(log_p - shift)
    log_cell = 2.0 * np.log(step) + np.linalg.slogdet(factor)[1]
    log_evidence = float(shift + np.log(weights.sum()) + log_cell)
    weights /= weights.sum()
    mean = weights @ x
    centred = x - mean
    return Truth(
        mean=mean, cov=(centred.T * weights) @ centred,
        quantiles=Quantiles(_quantiles, logdensity, mode, factor, step, np.abs(z).max(axis=0)),
        log_evidence=log_evidence, sample=rejection(logdensity, mode, factor, log_p, z),
    )  # fmt: skip


def _grid(logdensity, mode, factor, step):
    """Standardised points and log densities, out to the negligible; None if that is too far."""
    reach = 10.0
    while 2.0 * reach / step < _MOST_STEPS:
        axis = step * np.arange(-np.ceil(reach / step), np.ceil(reach / step) + 1)
        z = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
        log_p = logdensity(mode + z @ factor.T)
        edge = np.abs(z).max(axis=1) == axis[-1]
        if log_p[edge].max() < log_p.max() + _NEGLIGIBLE:
            return z, log_p
        reach *= 1.4
    return None


def _truth_on_line(logdensity, mode, factor, step):
    def on_line(x):
        return logdensity(np.reshape(x, (-1, 1))).reshape(np.shape(x))

    line = Line(on_line, _edges(on_line, mode[0], factor[0, 0], step))
    z = (line.nodes[:, None] - mode) / factor[0, 0]
    sample = rejection(logdensity, mode, factor, on_line(line.nodes), z)
    return replace(line_truth(line), sample=sample)


def _edges(logdensity, mode, scale, step):
    """Panels four steps wide, out to where the density is negligible."""
    reach, least = 10.0, logdensity(np.array([mode]))[0] + _NEGLIGIBLE
    while np.max(logdensity(mode + scale * np.array([-reach, reach]))) > least:
        reach *= 1.4
    half = np.arange(0.0, reach + 4.0 * step, 4.0 * step)
    return mode + scale * np.concatenate([-half[:0:-1], half])


def _quantiles(logdensity, mode, factor, step, reach):
    cov = factor @ factor.T
    steps = np.ceil(1.5 * reach.max() / step)

    def column(i):
        """Quantiles of one coordinate, whose marginal density is a sum over the other."""
        slope = cov[0, 1] / cov[i, i]
        offsets = np.sqrt(np.linalg.det(cov) / cov[i, i]) * step * np.arange(-steps, steps + 1)

        def log_marginal(x):
            pair = np.empty((*x.shape, offsets.size, 2))
            pair[..., i] = x[..., None]
            pair[..., 1 - i] = mode[1 - i] + slope * (x[..., None] - mode[i]) + offsets
            values = logdensity(pair.reshape(-1, 2)).reshape(pair.shape[:-1])
            return special.logsumexp(values, axis=-1)

        return Line(log_marginal, _edges(log_marginal, mode[i], np.sqrt(cov[i, i]), step)).ppf()

    return by_probability(np.column_stack([column(0), column(1)]))


def rejection(logdensity, mode, factor, log_p, z):
    """Return exact draws, as a `Truth` has them, by rejection from a Student-t.

    Its location is `mode`, its scale `factor`; `log_p` are log densities at standardised points
    `z`, (n, dim), among which the ratio of the two densities is at its highest.
    """
    return drawn(_draw, logdensity, mode, factor, np.max(log_p - _log_student(z)) + _MARGIN)


def _log_student(z):
    """Log density of a Student-t at each row, up to its constant."""
    return -0.5 * (_FREEDOM + z.shape[1]) * np.log1p(np.sum(z * z, axis=1) / _FREEDOM)


def _draw(logdensity, mode, factor, bound, num_samples, rng):
    kept, missing = [], num_samples
    while missing > 0:
        n = missing + missing // 2 + 10
        scale = np.sqrt(rng.chisquare(_FREEDOM, n) / _FREEDOM)
        z = rng.standard_normal((n, mode.size)) / scale[:, None]
        x = mode + z @ factor.T
        log_ratio = logdensity(x) - _log_student(z) - bound
        kept.append(x[np.log(rng.random(n)) < log_ratio][:missing])
        missing -= len(kept[-1])
    return np.concatenate(kept)
