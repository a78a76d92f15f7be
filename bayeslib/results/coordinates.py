"""From parameters with ends to coordinates without: the logarithm, the logit, and their Jacobian.

The maps are those of Stan: log(theta - low), log(high - theta), and the logit of the place between
two ends, (theta - low) / (high - low); theta itself where there is no end. Parameters that hold
each other, as those of a simplex, have maps of their own, see `curves`.
"""

import math
from dataclasses import dataclass

import numpy as np

from ..errors import BayeslibError
from ..validate import as_floats, as_support, check_fits, shown
from .curves import CURVES


@dataclass(frozen=True)
class Transform:
    """A map between R^dim and parameters that have bounds, or are tied together.

    Parameters
    ----------
    support : sequence of (low, high)
        One pair a parameter; infinite, or None, where there is no bound.
    blocks : sequence of (kind, first, size), optional
        Which parameters, without bounds of their own, are tied together: `size` of them from
        index `first`, by a constraint of a kind, as "simplex".

    Attributes
    ----------
    size, dim : int
        The number of parameters, and of coordinates.
    alone : tuple of numpy.ndarray of int
        Which parameters stand alone, and which coordinates are theirs.

    Raises
    ------
    BayeslibError
        When `support` is no such sequence, or low >= high.

    Examples
    --------
    >>> from bayeslib.results.coordinates import Transform
    >>> transform = Transform([(0.0, None), (0.0, 1.0), (None, None)])
    >>> x = transform.unconstrain([2.0, 0.5, -3.0])
    >>> print(x.round(4), transform.constrain(x).round(4))
    [ 0.6931  0.     -3.    ] [ 2.   0.5 -3. ]
    >>> print(transform.names(["sigma", "p", "mu"]))
    ('log(sigma)', 'logit(p)', 'mu')
    """

    support: tuple
    blocks: tuple = ()

    def __post_init__(self):
        support = as_support(self.support, len(self.support))
        blocks, size = tuple(map(tuple, self.blocks)), len(support)
        tied = {first: (kind, several) for kind, first, several in blocks}
        alone, curves, i, dim = [], [], 0, 0
        while i < size:
            kind, several = tied.get(i, (None, 1))
            num = CURVES[kind].num_coordinates(several) if kind else 1
            if kind:
                curves.append((kind, slice(i, i + several), slice(dim, dim + num)))
            else:
                alone.append((i, dim))
            i, dim = i + several, dim + num
        alone = tuple(np.reshape(alone, (-1, 2)).astype(int).T)
        ends = np.reshape(support, (size, 2))[alone[0]]
        finite = np.isfinite(ends)
        vars(self).update(
            support=support, blocks=blocks, size=size, dim=dim, alone=alone, _curves=curves,
            _ends=ends, _cases=[finite.all(axis=1), *finite.T],  # ends on both sides, below, above
        )  # fmt: skip

    @property
    def is_identity(self):
        """Whether no parameter is bounded or tied to others."""
        return not (self.blocks or np.isfinite(self.support).any())

    @property
    def monotone(self):
        """Which parameters rise or fall with one coordinate of theirs, (size,) of bool."""
        return np.isin(np.arange(self.size), self.alone[0])

    @property
    def fixed(self):
        """Which parameters never change, (size,) of bool, as the upper triangle of a factor."""
        found = np.zeros(self.size, dtype=bool)
        for kind, of_theta, _ in self._curves:
            if kind == "cholesky_corr":
                n = math.isqrt(of_theta.stop - of_theta.start)
                found[of_theta] = (np.tri(n, k=-1) == 0.0).ravel()
                found[of_theta.start + n + 1 : of_theta.stop : n + 1] = False  # but L[0, 0]
        return found

    @property
    def decreasing(self):
        """Which parameters fall as their coordinate rises, (size,) of bool."""
        return np.array([low == -np.inf and high < np.inf for low, high in self.support])

    def constrain(self, x):
        """Return the parameters at coordinates `x`, any shape that ends in (dim,)."""
        x = self._checked(x, "x", self.dim)
        return x if self.is_identity else self._place(x)[0]

    def log_jacobian(self, x):
        """log |det d theta / d x| at coordinates `x`, (..., dim) -> (...)."""
        return self._place(self._checked(x, "x", self.dim))[1]

    def _place(self, x):
        theta, total = np.empty((*x.shape[:-1], self.size)), np.zeros(x.shape[:-1])
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            for kind, of_theta, of_x in self._curves:
                places = np.moveaxis(theta[..., of_theta], -1, 0)  # a view
                total = total + CURVES[kind].place(np.moveaxis(x[..., of_x], -1, 0), places)
            (low, high), u = self._ends.T, x[..., self.alone[1]]
            # from the nearer end, so that no digits of the distance to it are lost
            near = (high - low) / (1.0 + np.exp(np.abs(u)))
            between = np.where(u < 0.0, low + near, high - near)
            places = [between, low + np.exp(u), high - np.exp(u)]
            theta[..., self.alone[0]] = np.select(self._cases, places, u)
            slope = np.log(high - low) - np.abs(u) - 2.0 * np.log1p(np.exp(-np.abs(u)))
            total = total + np.select(self._cases, [slope, u, u], 0.0).sum(axis=-1)
        return theta, total

    def unconstrain(self, theta):
        """Return the coordinates of parameters, any shape that ends in (size,).

        Raises
        ------
        BayeslibError
            For a parameter that does not lie strictly between its bounds, or parameters that
            break the constraint which ties them together.
        """
        theta = self._checked(theta, "theta", self.size)
        low, high = np.array(self.support).T
        inside = (theta > low) & (theta < high)
        if not inside.all():
            first = tuple(np.argwhere(~inside)[0])
            where = f"the support {self.support[first[-1]]} of parameter {first[-1]}"
            raise BayeslibError(f"theta={shown(theta[first])} does not lie strictly inside {where}")
        x = np.empty((*theta.shape[:-1], self.dim))
        (low, high), t = self._ends.T, theta[..., self.alone[0]]
        with np.errstate(invalid="ignore"):  # of the cases that do not apply
            above, below = np.log(t - low), np.log(high - t)
            x[..., self.alone[1]] = np.select(self._cases, [above - below, above, below], t)
        for kind, of_theta, of_x in self._curves:
            rows = theta[..., of_theta].reshape(-1, of_theta.stop - of_theta.start)
            with np.errstate(divide="ignore", invalid="ignore"):
                moved = CURVES[kind].coordinates(rows.T).T
            for row, place in zip(rows, moved, strict=True):
                if not (CURVES[kind].inside(row) and np.isfinite(place).all()):
                    rule = f"it must {CURVES[kind].said}"
                    raise BayeslibError(f"theta={shown(row)} is no {kind}, or on its edge: {rule}")
            x[..., of_x] = moved.reshape(x[..., of_x].shape)
        return x

    def inside(self, theta):
        """Whether each theta is strictly inside the support, (..., size) -> (...)."""
        low, high = np.array(self.support).T
        found = np.all((theta > low) & (theta < high), axis=-1)
        for kind, of_theta, _ in self._curves:
            found &= np.apply_along_axis(CURVES[kind].inside, -1, theta[..., of_theta])
        return found

    def names(self, names):
        """Names of the coordinates: log(theta), log(3 - theta), logit(theta), or theta's own.

        Those of a block are called by its kind: simplex(w)[0] and so on.
        """
        found = [""] * self.dim
        for i, c in zip(*self.alone, strict=True):
            name, (low, high) = names[i], self.support[i]
            if np.isfinite(low) and np.isfinite(high):
                name = f"logit({name})"
            elif np.isfinite(low):
                sign = "+" if low < 0.0 else "-"
                name = f"log({name} {sign} {abs(low):g})" if low else f"log({name})"
            elif np.isfinite(high):
                name = f"log({high:g} - {name})" if high else f"log(-{name})"
            found[c] = name
        for kind, of_theta, of_x in self._curves:
            base = names[of_theta.start].partition("[")[0]
            found[of_x] = [f"{kind}({base})[{k}]" for k in range(of_x.stop - of_x.start)]
        return tuple(found)

    def _checked(self, value, name, size):
        array = as_floats(value, name)
        check_fits(array.shape[-1:] == (size,), array, name, f"have shape (..., {size})")
        return array


def as_transform(given, dim):
    """Return a `Transform`: one, its fields, or the support of `dim` parameters, None for no ends.

    For one parameter a pair alone will do.
    """
    if isinstance(given, dict):  # from a file
        return Transform(**given)
    if not isinstance(given, Transform):
        given = Transform(as_support(given, dim) or ((None, None),) * dim)
    return given
