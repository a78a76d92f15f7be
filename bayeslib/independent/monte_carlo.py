"""Simple Monte Carlo: the average of f over draws, with its error."""

import numpy as np

from ..errors import BayeslibError
from ..results import Estimate
from ..results.rows import apply_rows
from ..target.proposals import check_frozen
from ..validate import as_count, as_rng, check_callable, check_fits, check_memory, shown


def monte_carlo(f, sample, *, num_samples, rng):
    """Estimate the expectation of `f` by its average over independent draws.

    Parameters
    ----------
    f : callable
        Takes all draws at once, as `sample` makes them, and returns one number a draw, (n,), or k
        numbers, (n, k), which is fast; or takes one draw, and returns a number or k numbers; see
        `Draws.expect`.
    sample : callable or distribution
        ``sample(num_samples, rng)`` returning (num_samples, …) independent draws; or a frozen
        `scipy.stats` distribution; or an approximation, whose own ``sample`` is used.
    num_samples : int
        At least 2: one draw has no measurable error.
    rng : int, Generator, SeedSequence or None

    Returns
    -------
    Estimate
        Floats for an `f` of shape (n,), arrays (k,) else. The error is sd / sqrt(num_samples): it
        means something only when f has a finite variance. It is 0 when every draw gave the same
        number: of an event that none showed, it is known only that its probability is below
        3 / num_samples (at 95 %).

        An interrupt keeps nothing, for `sample` and `f` are asked about all draws at once; where
        they are slow, make several calls and average what they return.

    Raises
    ------
    BayeslibTypeError
        When `f` is not callable or returns no numbers, or `sample` cannot be drawn from.
    BayeslibError
        When `sample` returns another number of rows than `num_samples`, or `f` is nan or infinite
        at a draw.

    Notes
    -----
    Draw order: ``sample(num_samples, rng)``, which for a frozen distribution is exactly
    ``sample.rvs(size=num_samples, random_state=rng)``.

    Examples
    --------
    >>> from scipy import stats
    >>> normal = stats.norm(0.0, 1.0)
    >>> print(bl.monte_carlo(lambda x: x**2, normal, num_samples=10_000, rng=1))
    0.997 ± 0.014
    >>> def dice(num_samples, rng):  # two at a time
    ...     return rng.integers(1, 7, size=(num_samples, 2))
    >>> def is_seven(d):
    ...     return d.sum(axis=1) == 7
    >>> seven = bl.monte_carlo(is_seven, dice, num_samples=10_000, rng=1)
    >>> print(seven, round(1 / 6, 4))
    0.1652 ± 0.0037 0.1667
    """
    check_callable(f=f)  # before drawing
    num_samples = as_count(num_samples, "num_samples", minimum=2)
    check_memory((num_samples,), "the draws")
    rng, _ = as_rng(rng)
    draws = _draw(sample, num_samples, rng)
    results = apply_rows(f, draws).astype(float)
    bad = np.argwhere(~np.isfinite(results))
    if bad.size:
        first, others = bad[0], f"at {len(bad) - 1} other places"
        found = f"f is {results[tuple(first)]} at draw {first[0]}, theta={shown(draws[first[0]])}"
        raise BayeslibError(f"{found}, and {others}: its average means nothing")
    value = results.mean(axis=0)
    error = results.std(axis=0, ddof=1) / np.sqrt(num_samples)
    return Estimate(value, error, num_samples)


def _draw(sample, num_samples, rng):
    if hasattr(sample, "rvs"):
        check_frozen(sample, getattr(sample, "name", sample))
        draws = sample.rvs(size=num_samples, random_state=rng)
    else:
        draw = getattr(sample, "sample", sample)
        check_callable(sample=draw)
        try:
            draws = draw(num_samples, rng)
        except Exception as error:
            error.add_note("bayeslib: sample was called as sample(num_samples, rng)")
            raise
    draws = np.asarray(draws)
    fits = draws.shape[:1] == (num_samples,)
    check_fits(fits, draws, "sample", f"return a row for each draw when asked for {num_samples}")
    return draws


def inverse_cdf_sample(ppf, *, num_samples, rng):
    """Draw by sending uniforms through a quantile function.

    Parameters
    ----------
    ppf : callable
        The quantile function (the generalised inverse of the distribution function): takes (n,)
        probabilities in [0, 1) and returns (n,), which is fast, or takes one probability.
    num_samples : int
    rng : int, Generator, SeedSequence or None

    Returns
    -------
    numpy.ndarray, shape (num_samples,)
        Independent draws, of the type that `ppf` returns.

    Raises
    ------
    BayeslibTypeError
        When `ppf` is not callable or returns no numbers.
    BayeslibError
        When `ppf` returns more than one number for a probability, returns nan, or decreases
        somewhere.

    Notes
    -----
    Draw order: ``rng.random(num_samples)``.

    Examples
    --------
    >>> def quantile(u):  # of the exponential distribution
    ...     return -np.log1p(-u)
    >>> draws = bl.inverse_cdf_sample(quantile, num_samples=10_000, rng=1)
    >>> print(draws.shape, draws.mean().round(2))
    (10000,) 1.01
    """
    check_callable(ppf=ppf)
    num_samples = as_count(num_samples, "num_samples")
    check_memory((num_samples,), "the draws")
    rng, _ = as_rng(rng)
    u = rng.random(num_samples)
    values = np.array(apply_rows(ppf, u, "ppf"))
    rule = f"return one number for each of {num_samples} uniforms"
    check_fits(values.shape == u.shape, values, "ppf", rule)
    nan = np.isnan(values)
    if nan.any():
        raise BayeslibError(f"ppf({u[nan.argmax()]:.6g}) is nan")
    order = np.argsort(u)
    drop = np.diff(values[order])
    # an inverse found numerically may waver by its own tolerance
    if np.any(drop < -1e-6 * (1.0 + np.abs(values[order][1:]))):
        i = order[drop.argmin() : drop.argmin() + 2]
        points = " and ".join(f"ppf({u[k]:.6g}) is {values[k]:.6g}" for k in i)
        raise BayeslibError(f"a quantile function increases, but {points}")
    return values
