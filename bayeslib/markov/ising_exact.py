"""What is exactly known of the Ising model: small lattices, tori, and the infinite one."""

from dataclasses import dataclass

import numpy as np
import scipy

from ..errors import BayeslibError
from ..validate import as_floats, as_positive, check_each
from .ising_model import as_model

CRITICAL = 0.5 * np.log1p(np.sqrt(2.0))  # inverse temperature times coupling (Kramers, Wannier)
MOST_SITES = 20


@dataclass(frozen=True)
class IsingTruth:
    """Exact expectations under an Ising model; None where no formula is known.

    Attributes
    ----------
    log_partition : float
        Logarithm of the sum over all states of ``exp(-inverse_temperature * E)``.
    energy : float
        Per site.
    heat_capacity : float
        Per site: ``inverse_temperature**2 * num_sites`` times the variance of the energy per site.
    magnetisation, abs_magnetisation : float or None
        Means of the mean spin, and of its absolute value.
    mean_spins : numpy.ndarray, shape (rows, cols), or None

    Examples
    --------
    >>> how = dict(inverse_temperature=0.4, field=0.1, periodic=False)
    >>> truth = bl.ising_exact((3, 3), **how)
    >>> print(round(truth.log_partition, 4), round(truth.magnetisation, 4))
    7.2926 0.1377
    >>> print(truth.mean_spins.round(2))
    [[0.12 0.14 0.12]
     [0.14 0.17 0.14]
     [0.12 0.14 0.12]]
    """

    log_partition: float
    energy: float
    heat_capacity: float
    magnetisation: float | None = None
    abs_magnetisation: float | None = None
    mean_spins: np.ndarray | None = None


def ising_exact(shape, *, inverse_temperature, field=0.0, coupling=1.0, periodic=True):
    """Exact answers for an Ising model, by enumeration or by Kaufman's formula.

    Parameters
    ----------
    shape : tuple of int
        (rows, cols); up to 20 sites, or any number when the lattice is periodic, coupling and
        inverse temperature are positive, and there is no field.
    inverse_temperature : float
    field : float or array_like, shape (rows, cols)
    coupling : float
    periodic : bool
        As `ising_sample` takes them.

    Returns
    -------
    IsingTruth
        Beyond 20 sites, `abs_magnetisation` is None.

    Raises
    ------
    BayeslibError
        When the lattice is too large and no formula is known.

    References
    ----------
    Kaufman (1949), Crystal statistics II: partition function evaluated by spinor analysis.

    Examples
    --------
    >>> small = bl.ising_exact((4, 4), inverse_temperature=0.3)
    >>> large = bl.ising_exact((64, 64), inverse_temperature=0.3)
    >>> print(round(small.energy, 4), round(large.energy, 4))
    -0.8441 -0.7045
    """
    model = as_model(shape, inverse_temperature, field, coupling, periodic)
    if model.num_sites <= MOST_SITES:
        return _enumerated(model)
    if not model.periodic or model.has_field or model.coupling <= 0.0 or model.beta == 0.0:
        known = "periodic=True, field=0, and inverse_temperature and coupling above 0"
        raise BayeslibError(f"{model.num_sites} sites are too many to enumerate; pass {known}")
    k, n = model.beta * model.coupling, model.num_sites
    value, first, second = _torus(*model.shape, k)
    energy, capacity = -model.coupling * first / n, k * k * second / n
    return IsingTruth(value, energy, capacity, magnetisation=0.0, mean_spins=np.zeros(model.shape))


def _enumerated(model):
    """Sum over all states: arrays have an axis of length 2 for each spin."""
    n = model.num_sites
    spins = [np.array([-1.0, 1.0]).reshape(np.where(np.arange(n) == i, 2, 1)) for i in range(n)]
    fields = model.field.ravel() if model.field.size else np.full(n, model.uniform_field)
    total, energy = sum(spins), np.zeros((2,) * n)
    for i, j in _bonds(model):
        energy -= model.coupling * spins[i] * spins[j]
    for spin, own in zip(spins, fields, strict=True):
        energy -= own * spin
    shift = model.beta * energy.min()
    p = np.exp(shift - model.beta * energy)
    partition = p.sum()
    p /= partition
    mean = float(np.sum(p * energy))
    return IsingTruth(
        log_partition=float(np.log(partition) - shift),
        energy=mean / n,
        heat_capacity=float(model.beta**2 * np.sum(p * np.square(energy - mean))) / n,
        magnetisation=float(np.sum(p * total)) / n,
        abs_magnetisation=float(np.sum(p * np.abs(total))) / n,
        mean_spins=np.array([np.sum(p * spin) for spin in spins]).reshape(model.shape),
    )


def _bonds(model):
    """Yield the two sites of every bond."""
    sites = np.arange(model.num_sites).reshape(model.shape)
    for axis, length in enumerate(model.shape):
        ends = range(length if model.periodic else length - 1)
        here, there = (s.take(ends, axis).flat for s in (sites, np.roll(sites, -1, axis)))
        yield from zip(here, there, strict=True)


def _torus(rows, cols, k):
    """Return log Z of a torus and its first two derivatives by k (Kaufman, 1949).

    Z is half of (2 sinh 2k)^(rows cols / 2) times the sum of four products, of 2 cosh and of
    2 sinh of rows g / 2, over the odd and the even of the modes j = 0, …, 2 cols - 1, where
    cosh g = cosh 2k coth 2k - cos(pi j / cols).
    """
    modes = [0.5 * rows * part for part in _modes(cols, k)]
    kinds = [(parity, is_cosh) for parity in (1, 0) for is_cosh in (True, False)]
    terms = [_product(*(part[parity::2] for part in modes), is_cosh) for parity, is_cosh in kinds]
    logs, values, firsts, seconds = np.array(terms).T
    weights = np.exp(logs - logs.max())
    total = weights @ values
    mean, square = weights @ firsts / total, weights @ seconds / total
    sites, sinh, cosh = rows * cols, np.sinh(2.0 * k), np.cosh(2.0 * k)
    value = 0.5 * sites * np.log(2.0 * sinh) - np.log(2.0) + logs.max() + np.log(total)
    first = sites * cosh / sinh + mean
    second = -2.0 * sites / sinh**2 + square - mean**2
    return float(value), float(first), float(second)


def _modes(cols, k):
    """Return g of every mode, and its two derivatives by k."""
    sinh, cosh = np.sinh(2.0 * k), np.cosh(2.0 * k)
    a = cosh**2 / sinh
    da = 2.0 * cosh * (1.0 - 1.0 / sinh**2)
    dda = 4.0 * (sinh - 1.0 / sinh + 2.0 * cosh**2 / sinh**3)
    x = a - np.cos(np.pi * np.arange(2 * cols) / cols)
    g = np.arccosh(np.maximum(x, 1.0))
    root = np.sinh(g)
    root[0] = 1.0  # replaced: mode 0 goes through zero at the critical point, smoothly
    dg, ddg = da / root, dda / root - x * da**2 / root**3
    g[0] = 2.0 * k + np.log(np.tanh(k))
    dg[0], ddg[0] = 2.0 + 2.0 / sinh, -4.0 * cosh / sinh**2
    return g, dg, ddg


def _product(y, dy, ddy, is_cosh):
    """Return a product of 2 cosh y or 2 sinh y: log of a scale, and over it, value, first, second.

    The first factor, which may be zero, is kept apart from the logarithms of the others.
    """
    rest, size = y[1:], np.abs(y[1:])
    small = np.exp(-2.0 * size)
    scale = np.sum(size + np.log1p(small if is_cosh else -small)) + abs(y[0])
    ratio = np.tanh(rest) if is_cosh else 1.0 / np.tanh(rest)
    log_first = np.sum(dy[1:] * ratio)
    log_second = np.sum(ddy[1:] * ratio + dy[1:] ** 2 * (1.0 - ratio**2)) + log_first**2
    even = 1.0 + np.exp(-2.0 * abs(y[0]))
    odd = -np.sign(y[0]) * np.expm1(-2.0 * abs(y[0]))
    f, slope = (even, odd) if is_cosh else (odd, even)
    df = slope * dy[0]
    ddf = f * dy[0] ** 2 + slope * ddy[0]
    return scale, f, log_first * f + df, log_second * f + 2.0 * log_first * df + ddf


def onsager_magnetisation(inverse_temperature, *, coupling=1.0):
    """Spontaneous magnetisation per site of the infinite square lattice.

    Parameters
    ----------
    inverse_temperature : float or array_like
    coupling : float
        Positive.

    Returns
    -------
    float or numpy.ndarray
        ``(1 - sinh(2 * k)**-4) ** (1 / 8)`` with ``k = inverse_temperature * coupling``; 0 up to
        ``k = log(1 + sqrt(2)) / 2``.

    References
    ----------
    Onsager (1949, announced at Florence); Yang (1952), The spontaneous magnetization of a
    two-dimensional Ising model.

    Examples
    --------
    >>> print(bl.onsager_magnetisation([0.3, 0.45, 0.6]).round(4))
    [0.     0.7493 0.9736]
    """
    k = _reduced(inverse_temperature, coupling)
    with np.errstate(divide="ignore", over="ignore"):
        inside = 1.0 - np.sinh(2.0 * k) ** -4.0
    return np.where(k > CRITICAL, np.maximum(inside, 0.0) ** 0.125, 0.0)[()]


def onsager_energy(inverse_temperature, *, coupling=1.0):
    """Energy per site of the infinite square lattice without field.

    Parameters
    ----------
    inverse_temperature : float or array_like
    coupling : float
        Positive.

    Returns
    -------
    float or numpy.ndarray
        ``-coupling * (1 + 2 / pi * d * K(1 - d**2)) / tanh(2 * k)``: k as in
        `onsager_magnetisation`, ``d = 2 * tanh(2 * k)**2 - 1``, and ``K(m)`` the complete elliptic
        integral of the first kind.

    References
    ----------
    Onsager (1944), Crystal statistics I: a two-dimensional model with an order-disorder
    transition.

    Examples
    --------
    >>> print(bl.onsager_energy([0.0, 0.4406868, 1.0]).round(4))
    [ 0.     -1.4142 -1.9972]
    """
    k = _reduced(inverse_temperature, coupling)
    tanh = np.tanh(2.0 * k)
    # 1 minus the modulus squared is (2 tanh^2 - 1)^2, which keeps its digits at the critical point.
    distance = 2.0 * tanh**2 - 1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        log_part = np.where(distance == 0.0, 0.0, distance * scipy.special.ellipkm1(distance**2))
        energy = -(1.0 + 2.0 / np.pi * log_part) / tanh
    return (coupling * np.where(k == 0.0, 0.0, energy))[()]


def _reduced(inverse_temperature, coupling):
    coupling = as_positive(coupling, "coupling")
    beta = as_floats(inverse_temperature, "inverse_temperature")
    fine = (beta >= 0.0) & np.isfinite(beta)
    check_each(beta, "inverse_temperature", "finite and at least 0", fine)
    return beta * coupling
