"""Exact gradients of log densities, by forward-mode automatic differentiation.

The log density is compiled a second time with dual numbers in place of floats: every quantity that
depends on theta carries its partial derivatives along, exact to rounding. The user's code is
neither rewritten nor restricted to special functions. What works:

* arithmetic, comparisons, branches, loops, slices, iteration, unpacking, lists, helper functions;
* `math` and `np`: exp, log and their relatives, powers, roots, trigonometric and hyperbolic
  functions with their inverses, abs, min, max, erf, erfc, lgamma, gamma, logaddexp, hypot,
  atan2, isnan, isinf, isfinite (the whole list is in `rules`), and those of `functions`;
* whole arrays: elementwise arithmetic and functions, comparisons, boolean masks, np.where, np.sum,
  np.mean, np.prod, np.cumsum, np.max, np.min, np.diff, @ and np.dot with vectors and matrices.

What does not: linear algebra, sorting, in-place arithmetic on whole arrays, storing a function of
theta in an array of floats (give it theta.dtype). It raises `GradientError`, which names it.

At a kink (abs, min, max, a branch) the derivative is that of the side that is evaluated. Where the
log density is -inf the gradient is meaningless and may be nan.

The cost grows with the dimension: one pass per 16 parameters. Above some 50 parameters a
hand-written gradient is much faster.
"""

import functools

from numba import config, njit

from ..arithmetic import INLINED
from ..functions.regression import SUMS_OVER_ROWS
from .explain import explain
from .rewrite import calls_any, convert, unique

__all__ = ["compilable", "differentiate"]

LANES = 16
# Where one pass over the rows yields the whole gradient, fewer passes are worth wider numbers.
WIDE = 64


def compilable(function, **options):
    """Compile a function and, with it, the plain Python functions that it calls.

    Parameters
    ----------
    function : callable
        Plain Python in numba's subset, or already compiled by `numba.njit`.
    **options
        Passed to `numba.njit`, for `function` and for its plain helpers; helpers that are compiled
        already keep their own.

    Returns
    -------
    numba dispatcher
        Nothing is compiled before its first call.
    """

    def wrap(copy, original):
        own = dict(getattr(original, "targetoptions", options) if original is not function else {})
        chosen = {**options, **own, "parallel": False}
        chosen.pop("nopython", None)
        chosen.pop("locals", None)
        return njit(**chosen)(copy)

    return convert(function, wrap)


def differentiate(function, dim):
    """Compile the gradient of a log density.

    Parameters
    ----------
    function : callable
        `logdensity(theta, *data) -> float`, plain Python in numba's subset or already compiled.
    dim : int
        Length of theta; becomes a constant of the compiled code.

    Returns
    -------
    numba dispatcher
        `fused(theta, grad, *data) -> float`: returns the log density at `theta` and writes its
        gradient into `grad`, both contiguous (dim,) arrays of float64. Callable from Python and
        from compiled code; compiled at the first call for each type of data, and can be cached on
        disk as part of its caller. Under NUMBA_DISABLE_JIT a plain Python function that does the
        same, slowly.

    Raises
    ------
    GradientError
        When it is compiled (called, or called by something that is compiled): the function uses
        something that cannot be differentiated; the message names it and says what to do.

    Notes
    -----
    Forward mode with dual numbers (Wengert 1964), several directions at once.
    """
    if config.DISABLE_JIT:
        from .plain import differentiate_plain

        return differentiate_plain(function, dim)

    from . import arrays, scalars  # noqa: F401  (they teach numba about dual numbers)
    from .duals import partial, seed, value_of

    logdensity = compilable(function, no_cpython_wrapper=True, **INLINED)
    k = num_lanes(dim, WIDE if calls_any(function, SUMS_OVER_ROWS) else LANES)

    def fused(theta, grad, *data):
        value = 0.0
        for first in range(0, dim, k):
            result = logdensity(seed(theta, first, dim, k), *data)
            value = value_of(result)
            # not min(): numba compiles that as a function of its own
            for lane in range(k if k < dim - first else dim - first):
                grad[first + lane] = partial(result, lane)
        return value

    fused.__qualname__ = unique(fused.__qualname__)
    # Inlined, or a first process and the next, which has it from the disk, could round differently.
    fused = njit(**INLINED)(fused)
    compile_fused = fused.compile

    @functools.wraps(compile_fused)
    def compile_or_explain(signature):
        try:
            return compile_fused(signature)
        except Exception as error:
            raise explain(error, function) from None

    fused.compile, fused.explain = compile_or_explain, functools.partial(explain, function=function)
    return fused


def num_lanes(dim, lanes=LANES):
    """Partial derivatives to a pass: at most `lanes`, the passes of even size."""
    if dim <= lanes:
        return dim
    passes = -(-dim // lanes)
    per_pass = -(-dim // passes)
    return min(lanes, 4 * -(-per_pass // 4))
