"""A target: an unnormalised log density, its gradient, and what is exactly known about it."""

import math

import numpy as np

from ..compile.arguments import as_data, as_function
from ..compile.callback import evaluate_many
from ..compile.compiler import as_arguments, bind, plain_function
from ..errors import BayeslibError, BayeslibTypeError, GradientError, TargetError
from ..results import default_names
from ..validate import as_count, as_floats, as_position, as_support, check_memory, shown
from .differences import check_gradient
from .truth import Truth
from .verify import verify

_MOST = 10**7  # parameters
_GIVEN = frozenset(("logdensity", "dim", "data", "names", "support", "truth"))


class Target:
    """An unnormalised log density to be approximated.

    Parameters
    ----------
    logdensity : callable
        logdensity(theta, *data) -> float, in numba's subset of Python, jitted or not. theta is
        (dim,) float64, not to be written to; -inf means outside the support.
    dim : int
        The number of parameters.
    data : tuple of arrays and numbers, optional
        Passed on to every function, never compiled in. Copied; read-only to the functions.
    gradient : "auto", callable or None
        gradient(theta, *data) -> (dim,). "auto" differentiates `logdensity` exactly, at a cost
        that grows with the dimension: a small multiple of the density's up to 25 or so, and a
        reason to write the gradient by hand above 100.
    fused : callable, optional
        fused(theta, grad, *data) -> float writes the gradient into `grad` and returns the log
        density, in one pass: the fastest form. It goes before `gradient`.
    names : sequence of str, optional
        One a dimension; "theta", or "theta[0]" and so on.
    support : sequence of (low, high), optional
        One pair a dimension, or one pair for dim 1; None for an end, or a pair, that is open.
        Beyond it the log density counts as -inf, for every method; chains, which the density
        itself shall turn back, refuse one that is finite there. Where grids, quadrature and
        starts look; where `adaptive_rejection_sample` ends; what `unconstrained`, `advi`, `bbvi`,
        both pathfinders and, if asked, `laplace` map to the line.
    truth : Truth, optional

    Attributes
    ----------
    logdensity, dim, data, names, support, truth
        As given; of the support, an end that is open is infinite.

    Raises
    ------
    BayeslibTypeError
        For a function with other arguments than (theta, *data), or data that are not numbers. At
        first use: for a function that does not compile or returns no float.
    BayeslibError
        For names, support or dim that do not fit.

    Notes
    -----
    Compiled at first use, kept on disk under ``NUMBA_CACHE_DIR`` or the user's cache folder, so
    that the next process finds it in milliseconds. Arithmetic follows NumPy, not Python:
    log(0) is -inf and 1/0 is inf. An index out of bounds is not noticed by compiled code (set
    ``NUMBA_BOUNDSCHECK=1``); each run's start is compared with the plain function. A global, a
    helper, a closure or a global array that has changed is noticed at the next call, or the next
    run, and compiled again.

    Examples
    --------
    >>> def logdensity(theta, y):
    ...     mu, log_sigma = theta[0], theta[1]
    ...     z = (y - mu) * np.exp(-log_sigma)
    ...     return -0.5 * np.sum(z**2) - y.size * log_sigma - 0.5 * log_sigma**2
    >>> data = (np.array([4.9, 5.6, 5.1, 6.2]),)
    >>> target = bl.Target(logdensity, dim=2, data=data, names=["mu", "log s"])
    >>> print(round(target([5.0, 0.0]), 4), target.gradient([5.0, 0.0]))
    -0.91 [ 1.8  -2.18]
    """

    def __init__(
        self,
        logdensity,
        *,
        dim,
        data=(),
        gradient="auto",
        fused=None,
        names=None,
        support=None,
        truth=None,
    ):
        self.dim = as_count(dim, "dim", maximum=_MOST)
        self.data = as_data(data)
        self._arguments = as_arguments(self.data)
        self.logdensity = as_function(logdensity, "logdensity", ("theta",), self.data)
        self._gradient = gradient
        if callable(gradient):
            self._gradient = as_function(gradient, "gradient", ("theta",), self.data)
        elif gradient not in ("auto", None):
            raise BayeslibTypeError(
                f'gradient must be "auto", None or a function, got {gradient!r}'
            )
        self._fused = None
        if fused is not None:
            self._fused = as_function(fused, "fused", ("theta", "grad"), self.data)
        self.names = as_names(names, self.dim)
        self.support = as_support(support, self.dim)
        if not (truth is None or isinstance(truth, Truth)):
            raise BayeslibTypeError(f"truth must be a Truth or None, got {truth!r}")
        self.truth = truth
        self._bound = {}
        self._verified = set()

    def __setattr__(self, name, value):
        if name in _GIVEN and hasattr(self, name):
            raise AttributeError(f"{name} of a Target is fixed; make another Target")
        super().__setattr__(name, value)

    def __repr__(self):
        return f"Target({self.logdensity.__name__}, dim={self.dim})"

    def __reduce__(self):
        import cloudpickle

        parts = (self.logdensity, self._gradient, self._fused, self.truth)
        return _rebuild, (
            cloudpickle.dumps(parts), self.dim, self._arguments, self.names, self.support,
        )  # fmt: skip

    @property
    def has_gradient(self):
        """Whether gradients were given or are to be derived."""
        return self._fused is not None or self._gradient is not None

    def __call__(self, theta):
        """Return the log density at theta, shape (dim,), or a number when dim is 1."""
        theta = as_position(theta, "theta", self.dim)
        return self._evaluate(theta, np.empty(self.dim), gradient=False)

    def gradient(self, theta):
        """Return the gradient of the log density at theta, shape (dim,).

        Examples
        --------
        >>> target = bl.posteriors.gaussian([0.0, 0.0], [1.0, 4.0])
        >>> print(target.gradient([1.0, 1.0]))
        [-1.   -0.25]
        """
        theta = as_position(theta, "theta", self.dim)
        grad = np.full(self.dim, np.nan)
        self._evaluate(theta, grad, gradient=True)
        return grad

    def many(self, thetas):
        """Return the log density at each row.

        Parameters
        ----------
        thetas : array_like, shape (n, dim)
            (n,) too when dim is 1.

        Returns
        -------
        numpy.ndarray, shape (n,)

        Examples
        --------
        >>> target = bl.posteriors.coin(8, 2)
        >>> print(np.exp(target.many([0.2, 0.5, 0.8, 1.2])).round(4))
        [0.     0.001  0.0067 0.    ]
        """
        thetas = as_floats(thetas, "thetas")
        if thetas.ndim == 1 and self.dim == 1:
            thetas = thetas[:, None]
        if thetas.ndim != 2 or thetas.shape[1] != self.dim:
            raise BayeslibError(f"thetas must have shape (n, {self.dim}), got {thetas.shape}")
        check_memory(thetas.shape[:1], "the log densities")
        bound = self.bind(gradient=False)
        values = evaluate_many(bound, thetas)
        if bound.num_errors:
            raise self.explain(bound.failed_at)
        return values

    def bind(self, gradient):
        """Return a new `Bound`: what kernels need to evaluate this density.

        Parameters
        ----------
        gradient : bool
            Whether the callback shall also fill the gradient.

        Raises
        ------
        GradientError
            When a gradient is wanted and there is none.
        """
        return self._current(gradient).renew()

    def bind_to(self, data):
        """Return a new `Bound` of the density with its gradient, on other data.

        Parameters
        ----------
        data : tuple of numpy.ndarray
            In place of `data`, of the same types and ndim; not copied: a kernel may change them.
        """
        return bind(*self._recipe(True), data, self.dim, self.support)

    def finite(self, theta, *, gradient=False):
        """Say whether the log density at theta, (dim,), is finite.

        With `gradient` the one that comes with it is asked first, the other if that is not finite.
        """
        if gradient and math.isfinite(self._evaluate(theta, np.empty(self.dim), gradient=True)):
            return True
        return math.isfinite(self(theta))

    def many_with_gradient(self, thetas):
        """Return the log density at each row, (n,), as it comes with the gradient.

        Returns
        -------
        numpy.ndarray or None
            None when the density raised.
        """
        bound = self.bind(gradient=True)
        values = evaluate_many(bound, np.ascontiguousarray(thetas, dtype=np.float64))
        return None if bound.num_errors else values

    def verify(self, theta, *, gradient=False):
        """Compare the compiled functions with plain Python at theta, if finite, once a compilation.

        Parameters
        ----------
        theta : numpy.ndarray, shape (dim,)
        gradient : bool
            Also whether the gradient's own log density agrees.

        Raises
        ------
        TargetError
            If they differ: an index out of bounds, or a function that is not a function of its
            arguments. Or if the log density is finite beyond an end of the support.
        """
        verify(self, theta, gradient=gradient)

    def check_gradient(self, theta, *, thorough=True):
        """Compare the gradient at theta with Richardson-extrapolated finite differences.

        Parameters
        ----------
        theta : array_like, shape (dim,)
        thorough : bool
            Every component. Otherwise two oblique directions, the components only if one disagrees.

        Returns
        -------
        int
            Evaluations spent.

        Raises
        ------
        GradientError
            Naming the component, its value and the finite difference.

        Examples
        --------
        >>> target = bl.posteriors.gaussian([0.0, 0.0], [1.0, 4.0])
        >>> print(target.check_gradient([1.0, 1.0]) > 0)  # a wrong one would raise
        True
        """
        theta = as_position(theta, "theta", self.dim)
        return check_gradient(self, theta, thorough=thorough)

    def explain(self, theta):
        """Return the exception that the plain functions raise at theta."""
        try:
            self._plain(theta)
            if self.has_gradient:
                kind, functions = self._recipe(True)
                if kind != "auto":
                    plain = plain_function(kind, functions, self.dim)
                    plain(theta, np.empty(self.dim), *self._arguments)
        except Exception as error:
            return error
        return TargetError(
            f"{self.logdensity.__name__!r} raised when compiled at theta={shown(theta)}, "
            "but does not in plain Python"
        )

    def _plain(self, theta):
        theta = theta.copy()
        theta.flags.writeable = False
        with np.errstate(all="ignore"):
            return self.logdensity(theta, *self._arguments)

    def _recipe(self, gradient):
        if not gradient:
            return "value", (self.logdensity,)
        if self._fused is not None:
            return "fused", (self._fused,)
        if self._gradient is None:
            raise GradientError(
                f"{self!r} has no gradient: give the Target gradient= or fused=, "
                'or let gradient="auto" derive it'
            )
        if self._gradient == "auto":
            return "auto", (self.logdensity,)
        return "pair", (self.logdensity, self._gradient)

    def _current(self, gradient):
        """Return the Bound of the functions as they are now, with the globals that they use."""
        bound = self._bound.get(gradient)
        if bound is None or bound.outdated:
            bound = bind(*self._recipe(gradient), self.data, self.dim, self.support)
            self._bound[gradient] = bound
        return bound

    def _evaluate(self, theta, grad, *, gradient):
        bound = self._current(gradient)
        value = bound(theta, grad)
        if bound.num_errors:
            bound.handle[-1] = 0
            error = self.explain(theta)
            error.add_note(f"bayeslib: raised at theta={shown(theta)}")
            raise error
        return value


def as_target(target):
    """Return `target`, or raise BayeslibTypeError when it is not a Target."""
    if not isinstance(target, Target):
        raise BayeslibTypeError(
            f"target must be a Target, got {target!r}; write Target(logdensity, dim=...)"
        )
    return target


def _rebuild(pickled, dim, data, names, support):
    import cloudpickle

    logdensity, gradient, fused, truth = cloudpickle.loads(pickled)
    return Target(
        logdensity, dim=dim, data=data, gradient=gradient, fused=fused, names=names,
        support=support, truth=truth,
    )  # fmt: skip


def as_names(names, dim):
    """Return `dim` different names; None gives the default ones."""
    if names is None:
        return default_names(dim)
    if isinstance(names, str) or np.ndim(names) == 0:
        names = (names,)
    names = tuple(names)
    if len(names) != dim or len(set(names)) != dim:
        raise BayeslibError(f"names must be {dim} different strings, got {names!r}")
    if not all(isinstance(name, str) for name in names):
        raise BayeslibTypeError(f"names must be strings, got {names!r}")
    if not all(name.strip() and name.isprintable() for name in names):
        raise BayeslibError(f"names must be words of one line, got {names!r}")
    return names
