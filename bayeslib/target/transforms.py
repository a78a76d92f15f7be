"""A target on unconstrained coordinates: the whole line for every parameter, Jacobian included."""

from dataclasses import replace

import numpy as np

from ..compile.compiler import paired
from ..compile.functions import sigmoid
from ..diagnostics.trouble import settings_with_noise
from ..results import Draws
from ..results.coordinates import as_transform
from ..validate import as_floats, as_positions
from .parameters import place_one
from .target import Target, as_target
from .truth import Quantiles, Truth


class UnconstrainedTarget(Target):
    """The target that `unconstrained` returns: a `Target` on R^dim, with the way back.

    Attributes
    ----------
    original : Target
    transform : Transform
        The map between the coordinates x and the parameters theta.

    Examples
    --------
    >>> free = bl.unconstrained(bl.posteriors.coin(8, 2))
    >>> print(free.unconstrain([0.2, 0.5]).round(4))
    [-1.3863  0.    ]
    >>> print(free.constrain([-2.0, 0.0]).round(4))
    [0.1192 0.5   ]
    """

    def __init__(self, original):
        logdensity, data = original.logdensity, original.data
        gradient, fused = original._gradient, original._fused
        if original.layout:
            transform, logdensity = original.layout.transform, original.layout.free(logdensity)
        elif not (transform := as_transform(original.support, original.dim)).is_identity:
            data = (*np.array(transform.support).T, *data)
            if callable(gradient):
                gradient, fused = None, fused or paired(logdensity, gradient)
            logdensity, fused = _moved_logdensity(logdensity), fused and _moved_fused(fused)
        super().__init__(
            logdensity, dim=transform.dim, data=data, gradient=gradient, fused=fused,
            names=transform.names(original.names), truth=_moved_truth(original.truth, transform),
        )  # fmt: skip
        self.original, self.transform = original, transform

    def __repr__(self):
        return f"UnconstrainedTarget({self.original!r})"

    def __reduce__(self):
        return unconstrained, (self.original,)

    def constrain(self, x):
        """Return parameters for coordinates.

        Parameters
        ----------
        x : array_like or Draws
            One point (dim,), or (n, dim), or (num_chains, num_samples, dim); for dim 1 a number
            or (n,) numbers too. Or draws of this target.

        Returns
        -------
        numpy.ndarray or Draws
            Of the shape of `x`. Draws have the names of the original target and its own log
            density, without the Jacobian; weights, stats and settings are kept.

        Raises
        ------
        BayeslibError
            For an array of another shape.
        """
        if not isinstance(x, Draws):
            return self._mapped(self.transform.constrain, x, "x")
        logdensity = x.logdensity
        if logdensity is not None:
            logdensity = logdensity - self.transform.log_jacobian(x.values)
        settings, fixed = settings_with_noise(x), self.transform.fixed
        if len(settings.get("divergences", ())):
            settings = settings | {"divergences": self.transform.constrain(settings["divergences"])}
        if fixed.any():
            settings = settings | {"fixed": [self.original.names[i] for i in np.flatnonzero(fixed)]}
        return replace(
            x, values=self.transform.constrain(x.values), logdensity=logdensity,
            names=self.original.names, settings=settings,
        )  # fmt: skip

    def starts(self, initial_position, number):
        """Move `number` starts, given in the original's parameters, to these coordinates.

        None, for random starts, stays None.
        """
        if initial_position is None:
            return None
        own, given = self.original, self.original.flatten(initial_position)
        return self.unconstrain(as_positions(given, "initial_position", own.dim, number))

    def _place(self, theta):
        """Return the parameters where chains walk unasked in other coordinates, else theta."""
        return self.constrain(theta) if self.maps_back else theta

    def unconstrain(self, theta):
        """Return coordinates for parameters, in the shapes of `constrain`.

        Parameters
        ----------
        theta : array_like

        Returns
        -------
        numpy.ndarray

        Raises
        ------
        BayeslibError
            For a parameter at or beyond a bound of its support.
        """
        return self._mapped(self.transform.unconstrain, self.original.flatten(theta), "theta")

    def _mapped(self, function, value, name):
        array = as_floats(value, name)
        if self.dim == self.original.dim == 1 and array.ndim < 2 and array.shape != (1,):
            return function(array[..., None])[..., 0][()]
        return function(array)


def unconstrained(target):
    """Move a target to coordinates without bounds.

    Samplers that walk by gradients, and Gaussian approximations, want the whole line: each
    parameter is mapped by its `support`, log(theta - low), log(high - theta) or
    logit((theta - low) / (high - low)), as Stan does.

    Parameters
    ----------
    target : Target

    Returns
    -------
    UnconstrainedTarget
        A `Target` of as many coordinates as numbers (fewer for a simplex and a Cholesky factor),
        whose log density at x is that of `target` at theta(x) plus log |det d theta / d x|, so
        that both have the same evidence. Its gradient is exact, made of the one that `target` has,
        if it has one. Its truth keeps the evidence. Sample, cdf and quantiles are mapped, unless
        parameters are tied together, as on a simplex; moments are kept if nothing is bounded.
        ``unconstrain`` takes points to its coordinates, ``constrain`` points and draws back.

    Raises
    ------
    BayeslibTypeError
        When `target` is not a Target.

    Notes
    -----
    Where rounding puts theta(x) on a bound, or at infinity, the log density is -inf.

    References
    ----------
    Stan Development Team, Stan Reference Manual, "Constraint Transforms".

    Examples
    --------
    >>> target = bl.posteriors.gamma_student()  # a rate, above 0
    >>> free = bl.unconstrained(target)
    >>> print(free.names, free.support)
    ('log(theta)',) None
    >>> draws = bl.nuts(free, num_samples=2000, rng=1)
    >>> back = free.constrain(draws)
    >>> print(back.names, back.expect(), target.truth.mean.round(3))
    ('theta',) [4.166 ± 0.029] [4.167]
    """
    return UnconstrainedTarget(as_target(target))


def walked(target):
    """Return the target in which chains walk: one with parameters= without its constraints.

    What a chain draws from it, `Algorithm.sample` maps back.
    """
    if not as_target(target).layout:
        return target
    if target.walk is None:
        walk = UnconstrainedTarget(target)
        walk.maps_back = True
        target.walk = walk  # complete, for another thread may take it
    return target.walk


def _chain_rule(slope, x, low, high):
    """Derivative by x of the log density, Jacobian included, from `slope`, that by theta."""
    if low > -np.inf and high < np.inf:
        inner = sigmoid(x)
        outer = sigmoid(-x)
        return slope * (high - low) * inner * outer + outer - inner
    if low > -np.inf:
        return slope * np.exp(x) + 1.0
    if high < np.inf:
        return 1.0 - slope * np.exp(x)
    return slope


def _place(x, low, high, theta):
    """Write the parameters into `theta`; return log |d theta / d x|, -inf outside the support."""
    total = 0.0 * x[0]
    for i in range(x.size):
        theta[i], log_slope = place_one(x[i], low[i], high[i])
        if not (low[i] < theta[i] and theta[i] < high[i]):
            return -np.inf + total
        total = total + log_slope
    return total


def _moved_logdensity(logdensity):
    def moved(x, low, high, *data):
        theta = np.empty(x.size, x.dtype)
        total = _place(x, low, high, theta)
        return total + logdensity(theta, *data) if total > -np.inf else total

    return moved


def _moved_fused(fused):
    def moved(x, grad, low, high, *data):
        theta = np.empty(x.size)
        total = _place(x, low, high, theta)
        if not total > -np.inf:
            grad[:] = 0.0
            return total
        total += fused(theta, grad, *data)
        for i in range(x.size):
            grad[i] = _chain_rule(grad[i], x[i], low[i], high[i])
        return total

    return moved


def _moved_truth(truth, transform):
    if truth is None or transform.is_identity:
        return truth
    if transform.blocks:
        return Truth(log_evidence=truth.log_evidence)
    sample, quantiles = truth.sample, truth.quantiles

    def moved_cdf(x):
        theta = transform.constrain(np.asarray(x, dtype=float)[..., None])[..., 0]
        return 1.0 - truth.cdf(theta) if transform.decreasing[0] else truth.cdf(theta)

    return Truth(
        log_evidence=truth.log_evidence,
        sample=None if sample is None else lambda n, rng: transform.unconstrain(sample(n, rng)),
        cdf=truth.cdf and moved_cdf,
        quantiles=quantiles and Quantiles(_moved_quantiles, quantiles, transform),
    )


def _moved_quantiles(original, transform):
    """Quantiles of the coordinates: where these fall, of one minus the probability."""
    falls = transform.decreasing
    mirrored = {round(1.0 - p, 12): row for p, row in original.items()}
    return {
        p: transform.unconstrain(np.where(falls, mirrored.get(round(p, 12), row), row))
        for p, row in original.items()
        if not falls.any() or round(p, 12) in mirrored
    }
