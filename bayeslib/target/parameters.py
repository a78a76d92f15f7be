"""Parameters with names, shapes and constraints, and how a flat vector holds them."""

import keyword
import math
import unicodedata
from collections import namedtuple
from dataclasses import dataclass

import numpy as np

from ..compile.functions import log_sigmoid, sigmoid
from ..errors import BayeslibError, BayeslibTypeError
from ..results.coordinates import Transform
from ..results.curves import CURVES
from ..validate import as_count, as_floats, as_real, check_shape

MOST = 10**7  # numbers in all


@dataclass(frozen=True)
class Parameter:
    """The shape of a parameter and where it may lie, as `positive` and the others make it.

    Parameters
    ----------
    shape : tuple of int
    low, high : float
        Infinite where there is no end.
    kind : str, optional
        The constraint that ties its numbers together, as "ordered" or "simplex"; None without.

    Examples
    --------
    >>> corr = bl.cholesky_corr(3)
    >>> print(corr.size, corr.num_coordinates, bl.positive().is_free)
    9 3 False
    """

    shape: tuple = ()
    low: float = -np.inf
    high: float = np.inf
    kind: str | None = None

    @property
    def size(self):
        """How many numbers it has."""
        return math.prod(self.shape)

    @property
    def num_coordinates(self):
        """How many unconstrained coordinates it has."""
        return CURVES[self.kind].num_coordinates(self.size) if self.kind else self.size

    @property
    def is_free(self):
        """Whether it has neither bound nor constraint."""
        return self.kind is None and self.low == -np.inf and self.high == np.inf


def positive(shape=()):
    """A parameter above zero, or an array of such.

    Parameters
    ----------
    shape : int or tuple of int
        () for a number.

    Returns
    -------
    Parameter

    Raises
    ------
    BayeslibError
        For an invalid `shape`, here and in `lower`, `upper` and `interval`.

    Examples
    --------
    >>> def logdensity(p, y):
    ...     z = (y - p.mu) / p.sigma
    ...     return -0.5 * np.sum(z**2) - (y.size + 1) * np.log(p.sigma)
    >>> data = (np.array([4.9, 5.6, 5.1, 6.2]),)
    >>> parameters = {"mu": (), "sigma": bl.positive()}
    >>> target = bl.Target(logdensity, parameters=parameters, data=data)
    >>> draws = bl.nuts(target, rng=1)
    >>> print(draws.names, draws["sigma"].min() > 0.0)
    ('mu', 'sigma') True
    """
    return lower(0.0, shape)


def lower(low, shape=()):
    """A parameter above the bound `low`; see `positive`.

    Parameters
    ----------
    low : float
    shape : int or tuple of int
        () for a number.

    Examples
    --------
    >>> bl.lower(2.0, shape=3)
    Parameter(shape=(3,), low=2.0, high=inf, kind=None)
    """
    return Parameter(_as_shape(shape), low=as_real(low, "low"))


def upper(high, shape=()):
    """A parameter below the bound `high`; see `positive`.

    Parameters
    ----------
    high : float
    shape : int or tuple of int
        () for a number.

    Examples
    --------
    >>> bl.upper(0.0)
    Parameter(shape=(), low=-inf, high=0.0, kind=None)
    """
    return Parameter(_as_shape(shape), high=as_real(high, "high"))


def interval(low, high, shape=()):
    """A parameter between the bounds `low` and `high`; see `positive`.

    Parameters
    ----------
    low, high : float
    shape : int or tuple of int
        () for a number.

    Raises
    ------
    BayeslibError
        When `low` is not below `high`, and as in `positive`.

    Examples
    --------
    >>> bl.interval(0.0, 1.0)
    Parameter(shape=(), low=0.0, high=1.0, kind=None)
    """
    low, high = as_real(low, "low"), as_real(high, "high")
    if not low < high:
        raise BayeslibError(f"low must be below high, got low={low:g} and high={high:g}")
    return Parameter(_as_shape(shape), low, high)


def ordered(n):
    """A vector of `n` numbers, each above the one before.

    Parameters
    ----------
    n : int

    Raises
    ------
    BayeslibError
        For `n` below 2, here and in the constraints that follow.

    Examples
    --------
    >>> bl.ordered(3).num_coordinates
    3
    """
    return Parameter((_as_several(n),), kind="ordered")


def simplex(n):
    """A vector of `n` positive numbers that sum to 1.

    The density is with respect to the first n - 1 of them, as the Dirichlet's is.

    Parameters
    ----------
    n : int

    Examples
    --------
    >>> parameters = {"w": bl.simplex(3)}
    >>> target = bl.Target(lambda p: np.sum(np.log(p.w)), parameters=parameters)
    >>> draws = bl.nuts(target, rng=1)  # Dirichlet(2, 2, 2)
    >>> print(draws["w"].shape, np.allclose(draws["w"].sum(axis=-1), 1.0))
    (4, 1000, 3) True
    """
    return Parameter((_as_several(n),), kind="simplex")


def unit_vector(n):
    """A vector of `n` numbers and of length 1.

    The density is with respect to area on the sphere. The vector is the direction of its `n`
    unconstrained coordinates, whose length is drawn as that of `n` standard normal numbers.

    Parameters
    ----------
    n : int

    Examples
    --------
    >>> bl.unit_vector(2).num_coordinates
    2
    """
    return Parameter((_as_several(n),), kind="unit_vector")


def cholesky_corr(n):
    """The lower Cholesky factor, (n, n), of a correlation matrix.

    The density is with respect to the numbers below the diagonal, as `lkj_cholesky` is.

    Parameters
    ----------
    n : int

    Examples
    --------
    >>> bl.cholesky_corr(3).num_coordinates
    3
    """
    n = _as_several(n)
    return Parameter((n, n), kind="cholesky_corr")


def _as_several(n):
    return as_count(n, "n", minimum=2)


def _as_shape(shape):
    sizes = shape if isinstance(shape, (tuple, list)) else (shape,)
    return tuple(as_count(size, "a size in a shape") for size in sizes)


class Layout:
    """How parameters lie in a flat vector, one after the other, and in its coordinates.

    Parameters
    ----------
    parameters : dict
        Name: a shape, or a `Parameter`.

    Attributes
    ----------
    parameters : dict
        Name: `Parameter`.
    names : tuple of str
        Of the numbers: mu, alpha[0], L[1,0].
    transform : Transform
    support : tuple of (low, high) or None
        None where no number has an end.

    Raises
    ------
    BayeslibError, BayeslibTypeError
        For names that Python or an array of draws could not take as attributes, and for what is
        neither a shape nor a constraint.
    """

    def __init__(self, parameters):
        if not isinstance(parameters, dict) or not parameters:
            raise BayeslibTypeError(f'parameters must be a dict, as {{"a": 3}}, got {parameters!r}')
        self.parameters = {name: _as_parameter(name, p) for name, p in parameters.items()}
        total = sum(p.size for p in self.parameters.values())
        as_count(total, "numbers in parameters", maximum=MOST)
        self.names, support, blocks = (), (), ()
        self._slices, self._coordinates, c = [], [], 0
        for name, p in self.parameters.items():
            if p.kind:
                blocks += ((p.kind, len(support), p.size),)
            self._slices.append((len(support), len(support) + p.size))
            self._coordinates.append((c, c + p.num_coordinates))
            c += p.num_coordinates
            support += ((p.low, p.high),) * p.size
            places = np.ndindex(*p.shape)
            self.names += tuple(f"{name}[{','.join(map(str, i))}]" if i else name for i in places)
        self.transform = Transform(support, blocks)
        self.support = support if np.isfinite(support).any() else None
        self._record = namedtuple("Parameters", self.parameters)

    def flatten(self, values):
        """Return the numbers, (size,), of a dict of parameters."""
        if set(values) != set(self.parameters):
            raise BayeslibError(f"the parameters are {[*self.parameters]}, got {[*values]}")
        parts = []
        for name, p in self.parameters.items():
            part = as_floats(values[name], name)
            check_shape(part, name, p.shape)
            parts.append(part.ravel())
        return np.concatenate(parts)

    def flat(self, logdensity):
        """Return logdensity(p, *data) as a function of the flat vector, -inf where it holds not."""
        lines, arguments = [], []
        for p, (i, j) in zip(self.parameters.values(), self._slices, strict=True):
            if not p.is_free:
                where = f"theta[{i}:{j}]"
                how = f"{p.kind}({where})" if p.kind else f"ends({where}, {p.low!r}, {p.high!r})"
                lines += [f"if not inside_{how}:", f"    return 0.0 * theta[{i}] - np.inf"]
            arguments.append(_argument("theta", p, i, j))
        return self._made(logdensity, "theta", lines, arguments)

    def free(self, logdensity):
        """Return logdensity(p, *data) as a function of the coordinates, Jacobian included."""
        lines, arguments, first = [], [], 0
        for p, (c, d) in zip(self.parameters.values(), self._coordinates, strict=True):
            if p.is_free:
                arguments.append(_argument("x", p, c, d))
                continue
            last = first + p.size
            where = f"x[{c}:{d}], theta[{first}:{last}]"
            how = f"{p.kind}({where})" if p.kind else f"ends({where}, {p.low!r}, {p.high!r})"
            lines.append(f"total = total + place_{how}")
            if p.kind == "ordered":
                lines += [f"if not theta[{last - 1}] < np.inf:", "    return total - np.inf"]
            arguments.append(_argument("theta", p, first, last))
            first = last
        if first:
            make = [f"theta = np.empty({first}, x.dtype)", "total = 0.0 * x[0]"]
            end = ["if not total > -np.inf:", "    return total"]
            lines = [*make, *lines, *end]
        return self._made(logdensity, "x", lines, arguments, "total + " if first else "")

    def _made(self, logdensity, argument, lines, arguments, more=""):
        call = f"return {more}_logdensity(_Parameters({', '.join(arguments)}), *data)"
        body = "".join(f"    {line}\n" for line in [*lines, call])
        scope = {
            "__name__": logdensity.__module__, "np": np, "inf": np.inf, "place_ends": place_ends,
            "inside_ends": inside_ends, "_logdensity": logdensity, "_Parameters": self._record,
            "_parameters": self.parameters,  # for messages
        }  # fmt: skip
        for kind, curve in CURVES.items():
            scope |= {f"place_{kind}": curve.place, f"inside_{kind}": curve.inside}
        fits = logdensity.__name__.isidentifier() and logdensity.__name__ not in scope
        name = logdensity.__name__ if fits else "logdensity"
        exec(f"def {name}({argument}, *data):\n{body}", scope)
        return scope[name]


def _as_parameter(name, value):
    if not isinstance(name, str):
        raise BayeslibTypeError(f"names of parameters must be strings, got {name!r}")
    if not name.isidentifier() or name.startswith("_"):
        raise BayeslibError(f"names of parameters must be public identifiers, got {name!r}")
    if (read := unicodedata.normalize("NFKC", name)) != name:
        raise BayeslibError(f"Python reads p.{name} as p.{read}, another letter: call it {read!r}")
    if keyword.iskeyword(name) or hasattr(np.ndarray, name) or hasattr(tuple, name):
        raise BayeslibError(f"{name!r} is a word of Python or of arrays: call it {name}_")
    if isinstance(value, Parameter):
        return value
    if isinstance(value, (int, np.integer, tuple, list)) and not isinstance(value, bool):
        return Parameter(_as_shape(value))
    raise BayeslibTypeError(f"{name} must be a shape, as (), or a constraint, got {value!r}")


def _argument(vector, p, i, j):
    """What stands for a parameter in the call: a number, a slice, or one of another shape."""
    if p.shape == ():
        return f"{vector}[{i}]"
    part = f"{vector}[{i}:{j}]"
    return part if len(p.shape) == 1 else f"{part}.reshape({p.shape!r})"


def place_one(x, low, high):
    """Return one parameter and log |d theta / d x|; an end that is infinite is none."""
    if low > -np.inf and high < np.inf:
        if x < 0.0:
            theta = low + (high - low) * sigmoid(x)
        else:
            theta = high - (high - low) * sigmoid(-x)
        return theta, np.log(high - low) + log_sigmoid(x) + log_sigmoid(-x)
    if low > -np.inf:
        return low + np.exp(x), x
    if high < np.inf:
        return high - np.exp(x), x
    return x, 0.0 * x


def inside_ends(theta, low, high):
    """Say whether parameters lie strictly between two ends, where a density may be undefined."""
    for i in range(len(theta)):
        if not (low < theta[i] and theta[i] < high):
            return False
    return True


def place_ends(x, theta, low, high):
    """Write parameters between two ends; return log |d theta / d x|, -inf on an end."""
    total = 0.0 * x[0]
    for i in range(len(x)):
        theta[i], log_slope = place_one(x[i], low, high)
        if not (low < theta[i] and theta[i] < high):
            return total - np.inf
        total = total + log_slope
    return total
