"""Exact gradients of log densities, by automatic differentiation.

The log density is compiled a second time with other numbers in place of floats. Those carry their
partial derivatives along, or leave a record of where they come from; exact to rounding. The user's
code is neither rewritten nor restricted to special functions. What works:

* arithmetic, comparisons, branches, loops, slices, iteration, unpacking, lists, helper functions;
* `math` and `np`: exp, log and their relatives, powers, roots, trigonometric and hyperbolic
  functions with their inverses, abs, min, max, erf, erfc, lgamma, gamma, logaddexp, hypot,
  atan2, isnan, isinf, isfinite (the whole list is in `rules`), and those of `functions`;
* whole arrays: elementwise arithmetic, in place too, and functions, comparisons, boolean masks,
  np.where, sums and other reductions, products of vectors and matrices, Cholesky factors, solutions
  and determinants; the names of scipy.special in `functions.special`.

What does not: eigenvalues, rounding, storing a function of theta in an array of floats (give it
theta.dtype). It raises `GradientError`, which names it.

At a kink (abs, min, max, a branch) the derivative is that of the side that is evaluated. Where the
log density is -inf the gradient is meaningless and may be nan.

In a few dimensions it is forward mode: dual numbers, one pass per 32 parameters. Where that costs
more, beyond 16 parameters if the function is made of whole arrays (beyond 8 if the data are long),
beyond 100 if of loops over numbers, it is reverse mode: a tape, whose cost does not grow with the
dimension.
"""

from numba import config, njit

from ..functions.regression import SUMS_OVER_ROWS
from ..functions.special import teach
from ..kinds import INLINED, OURS
from .rewrite import calls_any, convert, looks, unique

__all__ = ["compilable", "differentiate", "differentiate_by_tape", "prefers_tape"]

# Partial derivatives to a pass, in whole registers beyond the first.
LANES, REGISTER = 32, 8
# Up to so many parameters forward mode is cheaper: for arrays as a whole and for a pass over rows
# that yields the whole gradient, for loops over rows that are arrays, and for loops over numbers.
FORWARD, FORWARD_IN_ROWS, FORWARD_IN_LOOPS = 16, 20, 100
MANY_ROWS = 500  # of data, from which on a dual number must fit into one register


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

    teach()

    def wrap(copy, original):
        own = {} if original is function else getattr(original, "targetoptions", options)
        chosen = {**options, **own, "parallel": False}
        return njit(**{k: v for k, v in chosen.items() if k not in ("nopython", "locals")})(copy)

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

    from . import arrays, scalars  # noqa: F401  (they teach numba about active numbers)
    from .duals import seed, value_of, write_partials

    logdensity = compilable(function, **OURS)
    k = num_lanes(dim)

    def fused(theta, grad, *data):
        value = 0.0
        for first in range(0, dim, k):
            result = logdensity(seed(theta, first, dim, k), *data)
            value = value_of(result)
            # not min(): numba compiles that as a function of its own
            write_partials(result, grad, first, k if k < dim - first else dim - first)
        return value

    return _jitted(fused)


def differentiate_by_tape(function, dim):
    """Compile the gradient of a log density in reverse mode: at one cost in any dimension.

    Parameters
    ----------
    function : callable
        As for `differentiate`.
    dim : int
        Length of theta; becomes a constant of the compiled code.

    Returns
    -------
    numba dispatcher
        `fused(theta, grad, tape, *data) -> float`, as that of `differentiate`. `tape`, from
        `arena.new_tape`, is used by one evaluation at a time.

    Raises
    ------
    GradientError
        As `differentiate`.

    Notes
    -----
    Reverse mode (Linnainmaa 1970; Griewank and Walther 2008), the entries of array expressions
    differentiated forward.
    """
    from . import arrays, scalars, tape  # noqa: F401  (they teach numba about active numbers)

    logdensity = compilable(function, **OURS)
    return _jitted(tape.fused_with_tape(logdensity, dim))


def _jitted(fused):
    fused.__qualname__ = unique(fused.__qualname__)
    # Inlined, or a first process and the next, which has it from the disk, could round differently.
    return njit(**INLINED)(fused)


def prefers_tape(function, dim, rows=0):
    """Whether the gradient of a log density of `dim` parameters is cheaper in reverse mode.

    `rows` is the longest side of its data.
    """
    if dim <= (REGISTER if rows >= MANY_ROWS else FORWARD) or config.DISABLE_JIT:
        return False
    loops, multiplies = looks(function)
    if not loops or calls_any(function, SUMS_OVER_ROWS):
        return True
    return dim > (FORWARD_IN_ROWS if multiplies else FORWARD_IN_LOOPS)


def num_lanes(dim):
    """Partial derivatives to a pass: at most `LANES`, the passes of even size."""
    if dim <= REGISTER:
        return dim
    passes = -(-dim // LANES)
    return REGISTER * -(-dim // (REGISTER * passes))
