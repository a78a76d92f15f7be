"""A target: an unnormalised log density, its gradient, and what is exactly known about it."""

import functools
import math

import cloudpickle
import numpy as np

from ..compile.arguments import as_data, as_function
from ..compile.callback import evaluate_many
from ..compile.compiler import as_arguments, bind, paired
from ..errors import BayeslibError, BayeslibTypeError, GradientError, TargetError
from ..results.named import as_names
from ..validate import as_count, as_position, as_rows, as_support, check_memory, frozen, shown
from .parameters import MOST, Layout
from .truth import Truth
from .verify import check_gradient, try_plain, verify

_GIVEN = frozenset(("logdensity", "dim", "data", "names", "support", "truth", "layout"))


class Target:
    """An unnormalised log density to be approximated.

    Parameters
    ----------
    logdensity : callable
        ``logdensity(theta, *data) -> float``, in numba's subset of Python; numba may have
        compiled it already. ``theta`` is (dim,) float64, not to be written to; ``-inf`` means
        outside the support. At nan `grid_posterior`, `quadrature`, `adaptive_rejection_sample`,
        `elbo` and `bbvi_gradients` raise TargetError; elsewhere it counts as ``-inf``, and samplers
        warn of it. ``+inf`` is an error nearly everywhere. With `parameters` it is
        ``logdensity(p, *data)``, where ``p.alpha`` is alpha in its shape.
    dim : int
        The number of parameters. Left out if `parameters` are given, as are `names` and `support`.
    parameters : dict
        The name of each parameter, and its shape, () for a number, or a constraint: `positive`,
        `lower`, `upper`, `interval`, `ordered`, `simplex`, `unit_vector`, `cholesky_corr`. Write
        the density of the parameters as they are, without Jacobians; `gradient` must then be
        "auto" or None, and `fused` left out.

        - Chains and fits walk in unconstrained coordinates, and return the parameters.
          `metropolis_hastings` and `independence_metropolis` walk in the parameters themselves, as
          their proposals do.
        - `theta` below, and ``values`` of `Draws`, hold the numbers of all parameters in the
          order declared; for one point, a dict of parameters will do too,
          and for the starts of several chains a list of dicts.
    data : tuple of arrays and numbers, optional
        Passed on to every function. Copied, integers as int64, floats as float64, and read-only;
        other data of the same types need no new compilation.
    gradient : "auto", callable or None
        gradient(theta, *data) -> (dim,). "auto" differentiates `logdensity` exactly, in any
        dimension at a small multiple of the density's cost if it is made of whole arrays,
        ``X @ theta``, and at a larger one if it loops over numbers.
    fused : callable, optional
        fused(theta, grad, *data) -> float writes the gradient into `grad` and returns the log
        density, in one pass: the fastest form. A `gradient` beside it is neither needed nor used.
    names : sequence of str, optional
        One a dimension, not T, size and the like, which arrays have. None is "theta", or "theta[0]"
        and so on. Read any by ``draws["mu"]``; functions of draws read a word as ``p.mu``.
    support : sequence of (low, high), optional
        For a density of a vector; bounds in `parameters` are easier, as all samplers know them.
        One pair a dimension, or one pair for dim 1; None for an end, or a pair, that is open.
        Beyond it every method takes the log density for ``-inf``, and `logdensity` must return that
        too: chains and `laplace` try a point beyond each end before they start, and raise
        TargetError at another value.

        - Grids, quadrature, starts and `adaptive_rejection_sample` look within the support only.
        - `unconstrained`, `advi`, `bbvi`, both pathfinders and, if asked, `laplace` map the
          support to the line; `hmc` and `nuts` do not, and diverge at its edge.
    truth : Truth, optional
        What is exactly known about the target, such as its mean.

    Attributes
    ----------
    logdensity, dim, data, names, support, truth
        As given; an open end of the support is infinite.
    parameters : dict or None
        Each `Parameter` by its name.

    Raises
    ------
    BayeslibTypeError
        For a function with other arguments than (theta, *data) or (p, *data), or data that are not
        numbers. At first use: for a function that does not compile or returns no float.
    BayeslibError
        For names, support, dim or parameters that do not fit.

    Notes
    -----
    Compiled at first use, kept on disk under ``NUMBA_CACHE_DIR`` or the user's cache folder, so
    that the next process finds it in milliseconds. When a global number or array, a helper or a
    closure has changed, the next call or run compiles again.

    Compiled arithmetic follows NumPy, not Python: log(0) is ``-inf`` and 1/0 is ``inf``. An index
    out of bounds is not noticed (unless ``NUMBA_BOUNDSCHECK=1`` is set). So the plain function is
    called first, which raises IndexError where the index is of data. And the first finite value
    of each compilation, whoever asks for it, is compared with the plain function's or, of data of
    more than 200,000 numbers, with that of one compiled to notice it. A warning tells where data,
    or a parameter, of shape (n, 1) made (n, n) numbers of n. Floats stored in an array of whole
    numbers, which NumPy would cut, do not compile.

    Examples
    --------
    >>> def logdensity(p, y):
    ...     log_p = bl.logpdf.normal(p.mu, 0.0, 10.0)
    ...     log_p += bl.logpdf.half_normal(p.sigma, 5.0)
    ...     return log_p + np.sum(bl.logpdf.normal(y, p.mu, p.sigma))
    >>> parameters = {"mu": (), "sigma": bl.positive()}
    >>> y = np.array([4.9, 5.6, 5.1, 6.2])
    >>> target = bl.Target(logdensity, parameters=parameters, data=(y,))
    >>> print(round(target({"mu": 5.0, "sigma": 1.0}), 3))
    -9.788
    >>> print(target.gradient([5.0, 1.0]).round(2))
    [ 1.75 -2.22]

    With ``dim`` in place of ``parameters``, the density takes one vector, here mu and log sigma:

    >>> def logdensity(theta, y):
    ...     mu, log_sigma = theta
    ...     log_p = bl.logpdf.normal(mu, 0.0, 10.0)
    ...     log_p += bl.logpdf.normal(log_sigma, 0.0, 1.0)
    ...     return log_p + np.sum(bl.logpdf.normal(y, mu, np.exp(log_sigma)))
    >>> target = bl.Target(logdensity, dim=2, data=(y,), names=["mu", "log_sigma"])
    >>> print(round(target([5.0, 0.0]), 3))
    -8.851
    """

    maps_back = False  # see `walked`

    def __init__(
        self, logdensity, *, dim=None, parameters=None, data=(), gradient="auto", fused=None,
        names=None, support=None, truth=None,
    ):  # fmt: skip
        self.layout = None if parameters is None else Layout(parameters)
        if self.layout:
            own = {"dim": dim, "names": names, "support": support, "fused": fused}
            own |= {"gradient": gradient if callable(gradient) else None}
            for name, value in own.items():
                if value is not None:
                    raise BayeslibError(f"with parameters= leave out {name}=, or declare dim=")
            dim, names, support = len(self.layout.names), self.layout.names, self.layout.support
        elif dim is None:
            raise BayeslibTypeError('a Target needs dim=, or parameters=, as {"mu": ()}')
        self.dim = as_count(dim, "dim", maximum=MOST)
        self.data = as_data(data)
        self._arguments = as_arguments(self.data)
        taken = "p" if self.layout else "theta"
        self.logdensity = as_function(logdensity, "logdensity", (taken,), self.data)
        self._flat = self.layout.flat(self.logdensity) if self.layout else self.logdensity
        self._gradient = gradient
        if callable(gradient):
            self._gradient = as_function(gradient, "gradient", ("theta",), self.data)
        elif gradient not in ("auto", None):
            raise BayeslibTypeError(f'gradient must be "auto", None or callable, got {gradient!r}')
        self._fused = None
        if fused is not None:
            self._fused = as_function(fused, "fused", ("theta", "grad"), self.data)
        self.names = as_names(names, self.dim)
        self.support = as_support(support, self.dim)
        if not (truth is None or isinstance(truth, Truth)):
            raise BayeslibTypeError(f"truth must be a Truth or None, got {truth!r}")
        self.truth = truth
        self._bound, self.walk = {}, None  # `walk` by `walked`
        self._verified, self._tried, self._careful = set(), False, None  # the last by `careful`

    def __setattr__(self, name, value):
        if name in _GIVEN and hasattr(self, name):
            raise AttributeError(f"{name} of a Target is fixed; make another Target")
        super().__setattr__(name, value)

    def __repr__(self):
        return f"Target({self.logdensity.__name__}, dim={self.dim})"

    def __reduce__(self):
        given = {"gradient": self._gradient, "fused": self._fused, "truth": self.truth}
        if self.layout:
            given["parameters"] = self.parameters
        else:
            given |= {"dim": self.dim, "names": self.names, "support": self.support}
        return _rebuild, (cloudpickle.dumps((self.logdensity, given)), self._arguments)

    @property
    def parameters(self):
        """The parameters by name, each a `Parameter`, or None where dim= was given."""
        return self.layout and self.layout.parameters

    def flatten(self, theta):
        """Return the numbers, (dim,), of a dict of parameters; anything else as it is.

        Of a list of such dicts a row each, (n, dim).

        Raises
        ------
        BayeslibError
            For other names or shapes than those of the parameters.

        Examples
        --------
        >>> parameters = {"mu": (), "w": bl.simplex(2)}
        >>> target = bl.Target(
        ...     lambda p: -p.mu**2 + np.log(p.w[0]), parameters=parameters
        ... )
        >>> print(target.flatten({"w": [0.4, 0.6], "mu": 1.0}))
        [1.  0.4 0.6]
        """
        if isinstance(theta, (list, tuple)) and {*map(type, theta)} == {dict}:
            return np.stack([self.flatten(row) for row in theta])
        if not isinstance(theta, dict):
            return theta
        if not self.layout:
            raise BayeslibTypeError(f"a Target without parameters= takes {self.dim} numbers")
        return self.layout.flatten(theta)

    def _place(self, theta):
        """Return theta as messages are to show it."""
        return theta

    @property
    def has_gradient(self):
        """Whether gradients were given or are to be derived."""
        return self._fused is not None or self._gradient is not None

    def __call__(self, theta):
        """Return the log density at theta: (dim,), a dict of parameters, or a number for dim 1."""
        return self._at(theta, np.empty(self.dim), gradient=False)

    def gradient(self, theta):
        """Return the gradient of the log density at theta, (dim,); a dict of parameters will do.

        Beyond the support it means nothing.

        Examples
        --------
        >>> target = bl.posteriors.gaussian([0.0, 0.0], [1.0, 4.0])
        >>> print(target.gradient([1.0, 1.0]))
        [-1.   -0.25]
        """
        grad = np.full(self.dim, np.nan)
        self._at(theta, grad, gradient=True)
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
        thetas = as_rows(thetas, "thetas", self.dim)
        check_memory(thetas.shape[:1], "the log densities")
        bound = self.bind(gradient=False)
        self._try(thetas)
        values = evaluate_many(bound, thetas)
        if bound.num_errors:
            raise self.explain(bound.failed_at)
        if (finite := np.isfinite(values)).any():
            self._compare(thetas[finite.argmax()], gradient=False)
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
            In place of `data`, of the same types and ndim; not copied: a kernel may change those
            that are writeable.
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
        """Compare the gradient at theta with finite differences, extrapolated to step zero.

        Where parameters hold each other, as those of a simplex, that of their coordinates.

        Parameters
        ----------
        theta : array_like, shape (dim,)
        thorough : bool
            Every component. Otherwise two fixed directions, which is cheaper in many dimensions,
            and the components only if one disagrees.

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
        if self.layout and self.layout.transform.blocks:  # numbers that cannot move one by one
            move, free = self.layout.transform, self.layout.free(self.logdensity)
            how = {"data": self.data, "gradient": self._gradient, "names": move.names(self.names)}
            theta, free = move.unconstrain(self.flatten(theta)), Target(free, dim=move.dim, **how)
            return free.check_gradient(theta, thorough=thorough)
        theta = as_position(self.flatten(theta), "theta", self.dim)
        return check_gradient(self, theta, thorough=thorough)

    def explain(self, theta, where=""):
        """Return the exception that the plain functions raise at theta, with a note of where."""
        error, own = self._raised(theta), getattr(self, "constrain", np.asarray)(theta)
        error.add_note(f"bayeslib: raised at theta={shown(own)}{where}")
        return error

    def _raised(self, theta):
        shapes = "".join(f", data[{i}] {a.shape}" for i, a in enumerate(self.data) if a.ndim)
        try:
            self._plain(theta)
            if self._fused is not None:
                self._fused(theta, np.empty(self.dim), *self._arguments)
            elif callable(self._gradient):
                shape = np.shape(self._gradient(theta, *self._arguments))
                if shape != (self.dim,):
                    raise GradientError(f"gradient must return shape ({self.dim},), got {shape}")
        except Exception as error:
            error._render_traceback_ = functools.partial(BayeslibError._render_traceback_, error)
            if isinstance(error, np.linalg.LinAlgError):
                error.add_note("bayeslib: add a little to its diagonal, or declare cholesky_corr")
            if shapes and "shape" in str(error):
                error.add_note(f"bayeslib: the shapes are {shapes[2:]}")
            return error
        found = f"{self.logdensity.__name__!r} raised at theta={shown(theta)} when compiled alone"
        remedy = "look for an index out of bounds, a matrix hardly positive definite, or unlike "
        remedy += "shapes in a function of bl.logpdf"
        shapes += ": of (n, 1) pass the .ravel(), else loop, or pass (y[:, None] - mu) / sigma"
        return TargetError(f"{found}: {remedy}{shapes}")

    def _plain(self, theta, function=None, data=None):
        with np.errstate(all="ignore"):
            return (function or self._flat)(frozen(theta), *(data or self._arguments))

    def _recipe(self, gradient):
        if not gradient:
            return "value", self._flat
        if self._fused is not None:
            return "fused", self._fused
        if self._gradient is None:
            raise GradientError(f'{self!r} has no gradient: leave gradient="auto", or give one')
        if self._gradient == "auto":
            return "auto", self._flat
        return "fused", paired(self._flat, self._gradient)

    def _current(self, gradient):
        """Return the Bound of the functions as they are now, with the globals that they use."""
        bound = self._bound.get(gradient)
        if bound is None or bound.outdated:
            if bound is not None:  # a global has changed
                self._tried, self._careful = False, None
            bound = bind(*self._recipe(gradient), self.data, self.dim, self.support)
            self._bound[gradient] = bound
        return bound

    def _compare(self, theta, gradient):
        if (self._bound[gradient].address, False) not in self._verified:
            verify(self, theta, gradient=gradient, walks=False)

    def _at(self, theta, grad, *, gradient):
        theta = as_position(self.flatten(theta), "theta", self.dim)
        value = self._evaluate(theta, grad, gradient=gradient)
        if math.isfinite(value):
            self._compare(theta, gradient)
        return value

    def _try(self, thetas):
        """Let plain Python find an index out of bounds, before compiled code uses it."""
        if not self._tried and len(thetas):
            try_plain(self, thetas[0])
            self._tried = True

    def _evaluate(self, theta, grad, *, gradient):
        bound = self._current(gradient)
        self._try([theta])
        value = bound(theta, grad)
        if bound.num_errors:
            bound.handle[-1] = 0
            raise self.explain(theta)
        return value


def as_target(target):
    """Return `target`, or raise BayeslibTypeError when it is not a Target."""
    if not isinstance(target, Target):
        raise BayeslibTypeError(f"got {target!r} as target: write Target(logdensity, dim=...)")
    return target


def as_separate(target, method):
    """Return `target`, or raise for one whose parameters hold each other, as those of a simplex."""
    for name, p in (as_target(target).parameters or {}).items():
        if p.kind:
            remedy = "pass bl.unconstrained(target), and map back by its constrain()"
            raise BayeslibError(f"{method} moves numbers one by one, {name} is {p.kind}: {remedy}")
    return target


def _rebuild(pickled, data):
    logdensity, given = cloudpickle.loads(pickled)
    return Target(logdensity, data=data, **given)
