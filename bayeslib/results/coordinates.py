"""From parameters with ends to coordinates without: the logarithm, the logit, and their Jacobian.

The maps are those of Stan: log(theta - low), log(high - theta), and the logit of the place between
two ends, (theta - low) / (high - low); theta itself where there is no end.
"""

from dataclasses import dataclass

import numpy as np

from ..errors import BayeslibError
from ..validate import as_floats, as_pairs, shown


@dataclass(frozen=True)
class Transform:
    """A monotone map of each coordinate between R and the interval of its parameter.

    Parameters
    ----------
    support : sequence of (low, high)
        One pair a dimension; infinite, or None, where there is no end. A pair alone is that of a
        single dimension.

    Raises
    ------
    BayeslibError
        When `support` is not that, or low >= high.

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

    def __post_init__(self):
        support = self.support
        try:
            alone = len(support) == 2 and np.ndim(support[0]) == np.ndim(support[1]) == 0
            if alone and tuple(support) != (None, None):
                support = (support,)
            pairs = as_pairs(support, "support", len(support))
        except (TypeError, ValueError):
            raise BayeslibError(
                "support must be pairs (low, high) with low < high, one a parameter, got "
                f"{self.support!r}"
            ) from None
        object.__setattr__(self, "support", tuple((float(a), float(b)) for a, b in pairs))

    @property
    def dim(self):
        """The number of parameters."""
        return len(self.support)

    @property
    def is_identity(self):
        """Whether no parameter has an end."""
        return not np.isfinite(self.support).any()

    @property
    def decreasing(self):
        """Which parameters fall as their coordinate rises, (dim,) of bool."""
        return np.array([low == -np.inf and high < np.inf for low, high in self.support])

    def constrain(self, x):
        """Return the parameters at coordinates `x`, any shape that ends in (dim,)."""
        x = self._checked(x, "x")
        theta = x.copy()
        for i, (low, high) in enumerate(self.support):
            u = x[..., i]
            with np.errstate(over="ignore"):  # to infinity, where the density is zero
                if np.isfinite(low) and np.isfinite(high):
                    # from the nearer end, so that no digits of the distance to it are lost
                    near = (high - low) / (1.0 + np.exp(np.abs(u)))
                    theta[..., i] = np.where(u < 0.0, low + near, high - near)
                elif np.isfinite(low):
                    theta[..., i] = low + np.exp(u)
                elif np.isfinite(high):
                    theta[..., i] = high - np.exp(u)
        return theta

    def unconstrain(self, theta):
        """Return the coordinates of parameters, any shape that ends in (dim,).

        Raises
        ------
        BayeslibError
            For a parameter that does not lie strictly between its ends.
        """
        theta = self._checked(theta, "theta")
        inside = self.inside(theta)
        if not inside.all():
            first = theta[tuple(np.argwhere(~inside)[0])]
            raise BayeslibError(
                f"theta={shown(first)} does not lie strictly inside the support {self.support}, "
                "so that it has no unconstrained coordinates"
            )
        x = theta.copy()
        for i, (low, high) in enumerate(self.support):
            t = theta[..., i]
            if np.isfinite(low) and np.isfinite(high):
                x[..., i] = np.log(t - low) - np.log(high - t)
            elif np.isfinite(low):
                x[..., i] = np.log(t - low)
            elif np.isfinite(high):
                x[..., i] = np.log(high - t)
        return x

    def inside(self, theta):
        """Say of each theta, (..., dim) -> (...), whether it is strictly inside the support."""
        low, high = np.array(self.support).T
        return np.all((theta > low) & (theta < high), axis=-1)

    def log_jacobian(self, x):
        """log |det d theta / d x| at coordinates `x`, (..., dim) -> (...)."""
        x = self._checked(x, "x")
        total = np.zeros(x.shape[:-1])
        for i, (low, high) in enumerate(self.support):
            u = x[..., i]
            if np.isfinite(low) and np.isfinite(high):
                total += np.log(high - low) - np.abs(u) - 2.0 * np.log1p(np.exp(-np.abs(u)))
            elif np.isfinite(low) or np.isfinite(high):
                total += u
        return total

    def names(self, names):
        """Names of the coordinates: log(theta), log(3 - theta), logit(theta), or theta's own."""
        found = []
        for name, (low, high) in zip(names, self.support, strict=True):
            if np.isfinite(low) and np.isfinite(high):
                name = f"logit({name})"
            elif np.isfinite(low):
                sign = "+" if low < 0.0 else "-"
                name = f"log({name} {sign} {abs(low):g})" if low else f"log({name})"
            elif np.isfinite(high):
                name = f"log({high:g} - {name})" if high else f"log(-{name})"
            found.append(name)
        return tuple(found)

    def _checked(self, value, name):
        array = as_floats(value, name)
        if array.shape[-1:] != (self.dim,):
            raise BayeslibError(f"{name} must have shape (..., {self.dim}), got {array.shape}")
        return array
