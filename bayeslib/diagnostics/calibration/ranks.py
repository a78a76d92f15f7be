"""Simulation-based calibration: ranks of true parameters among the draws of their fits."""

from dataclasses import dataclass

import numpy as np
import scipy

from ... import diagnostics
from ...errors import warn
from ...validate import as_count, as_floats, as_rng, check_finite, check_fits
from .shared import Judged, Simulator, until_interrupt

_TESTS = 3  # of each quantity: any shape, the centre, the spread


@dataclass(frozen=True, repr=False)
class Calibration(Judged):
    """The ranks of simulation-based calibration, and whether they are uniform.

    Returned by `simulation_based_calibration`, not imported.

    Attributes
    ----------
    names : tuple of str
        One for each quantity: the parameters, then the others.
    ranks : numpy.ndarray of int, shape (num_fits, k)
        How many of the fit's draws lie below the truth, 0 … num_draws.
    num_draws : int
        Draws kept of each fit.
    num_short : int
        Fits whose chains or weighted draws were worth fewer than num_draws independent ones.
    z : numpy.ndarray, shape (k, 2)
        How many standard errors the mean rank, and the mean squared distance of ranks from the
        middle, lie above those of uniform ranks. The first is positive where draws are too low, the
        second where they are too narrow: ranks are of the truth among the draws.
    pvalues : numpy.ndarray, shape (k,)
        The smallest p-value of a chi-square test in up to 20 bins and the two `z`, times three, as
        these are three tests.
    pvalue : float
        The smallest times their number (Bonferroni), at most 1: the test's own.
    problems : tuple of str
        The quantities with a p-value below 0.001 after Bonferroni, and what is wrong with them;
        an interrupt; and when more than 5 % of the fits were worth too few draws.
    interrupted : bool
        Whether these are only the fits done until an interrupt.

    Examples
    --------
    >>> calibration = bl.simulation_based_calibration(
    ...     lambda rng: rng.normal(),
    ...     lambda theta, rng: rng.normal(theta),
    ...     lambda y, rng: rng.normal(y / 2.0, 0.4, size=99),  # too narrow
    ...     names=["mu"], rng=1,
    ... )
    >>> print(calibration)
    simulation-based calibration: 500 fits, 99 draws each
         z centre   z spread          p
    mu     -0.353       15.1    5.2e-64
    ! mu is not calibrated: its posterior is too narrow on average (ranks pile up
    at the ends)
    >>> print(calibration.ranks.shape)
    (500, 1)
    """

    names: tuple
    ranks: np.ndarray
    num_draws: int
    num_short: int
    z: np.ndarray
    pvalues: np.ndarray
    interrupted: bool = False

    @property
    def problems(self):
        found = []
        if self.interrupted:
            found.append(f"interrupted: these are the ranks of the first {len(self.ranks)} fits")
        for (i,) in self._alarming:
            found.append(f"{self.names[i]} is not calibrated: {_in_words(*self.z[i])}")
        if self.num_short > 0.05 * len(self.ranks):
            short = f"{self.num_short} of {len(self.ranks)} fits were worth fewer than"
            remedy = "run the fits longer, or ask for fewer"
            found.append(f"{short} {self.num_draws} independent draws: {remedy}")
        return tuple(found)

    def __repr__(self):
        title = f"simulation-based calibration: {len(self.ranks)} fits, {self.num_draws} draws each"
        return self._table(title, "z", self.z)


def _in_words(centre, spread):
    if max(abs(centre), abs(spread)) < 4.0:
        return "the ranks are not uniform; look at their histogram"
    if abs(spread) > abs(centre):
        shape, ends = ("narrow", "at the ends") if spread > 0.0 else ("wide", "in the middle")
        return f"its posterior is too {shape} on average (ranks pile up {ends})"
    return f"its draws are too {'low' if centre > 0.0 else 'high'} on average"


def simulation_based_calibration(
    sample_prior, simulate, fit, *, quantities=None, names=None, num_fits=500, num_draws=99, rng
):
    """Fit simulated data: the ranks of the true parameters among the draws must be uniform.

    Parameters are drawn from the prior, data from the parameters, and the posterior of the data is
    sampled. If the draws are right for this prior and simulator, every rank of a parameter among
    them is equally likely, on average over the prior, and so is every rank of any function of
    parameters and data.

    Parameters
    ----------
    sample_prior : callable
        ``sample_prior(rng)`` returns theta, a number or (dim,); handed on as (dim,) either way.
    simulate : callable
        ``simulate(theta, rng)`` returns data, anything.
    fit : callable
        ``fit(data, rng)`` returns a `Draws`, an approximation with ``sample(num_samples, rng)``, or
        an array of independent draws, shape (n,) or (n, dim) with n >= num_draws.
    quantities : callable, optional
        ``quantities(theta, data)`` returns a number or (k,), finite: what is ranked besides the
        parameters. The log likelihood belongs here: with the parameters alone a fit that ignores
        the data, and returns the prior, passes.
    names : sequence of str, optional
        One for each parameter and quantity.
    num_fits : int
        At least 20. Most often 500 find posteriors 0.85 times as wide as they should be, or 0.2 of
        their standard deviations off; 5,000 find 0.9 times, or 0.1.
    num_draws : int
        Draws kept of each fit, at least 9: chains are thinned to them evenly, weighted draws
        resampled. With 99 the ranks are 0 … 99.
    rng : int, Generator, SeedSequence or None

    Returns
    -------
    Calibration
        ``ranks``, ``pvalue``, ``problems``; printing it shows a table. What is not calibrated
        stands in ``problems`` and is not warned of. An interrupt returns what was done until then,
        when that is at least 20 fits; an error has it as its ``partial``.

    Raises
    ------
    BayeslibTypeError
        When an argument is no function, or one does not return numbers.
    BayeslibError
        When what is returned is not finite, or a fit has too few draws or another dimension.

    Warns
    -----
    BayeslibWarning
        When in more than 5 % of the fits the chains or weighted draws were worth fewer than
        `num_draws` independent ones.

    Notes
    -----
    Time: that of all fits. A function outside of `fit`, given to a `Target` with its ``data``, is
    compiled once, and a fit by `nuts` may take milliseconds; one written inside is compiled anew
    in each fit.

    Draw order: ``rng.spawn(num_fits)``; the generator of a fit gives in turn the prior, the data,
    the fit, what resampling takes, and one integer for each quantity that ties with some draws,
    whose rank is then drawn among them.

    References
    ----------
    Cook, Gelman and Rubin (2006), "Validation of software for Bayesian models using posterior
    quantiles". Talts, Betancourt, Simpson, Vehtari and Gelman (2018), "Validating Bayesian
    inference algorithms with simulation-based calibration". Modrák et al. (2025),
    "Simulation-based calibration checking for Bayesian computation", for functions of parameters
    and data, and for ties.

    Examples
    --------
    >>> def sample_prior(rng):
    ...     return rng.normal()
    >>> def simulate(theta, rng):
    ...     return rng.normal(theta, 1.0)
    >>> def exact(y, rng):  # the posterior is N(y / 2, 1 / 2)
    ...     return rng.normal(y / 2.0, np.sqrt(0.5), size=99)
    >>> def prior(y, rng):  # ignores the data, which the log likelihood alone shows
    ...     return rng.normal(size=99)
    >>> def log_likelihood(theta, y):
    ...     return -0.5 * np.sum((y - theta) ** 2)
    >>> for fit in (exact, prior):
    ...     test = bl.simulation_based_calibration(
    ...         sample_prior, simulate, fit,
    ...         quantities=log_likelihood, names=["theta", "log lik"], rng=1,
    ...     )
    ...     print(fit.__name__, test.pvalues > 0.001)
    exact [ True  True]
    prior [ True False]

    A sampler of the library, in too few fits to find anything but the grossest error:

    >>> def logdensity(theta, y):
    ...     return -0.5 * theta[0] ** 2 - 0.5 * np.sum((y - theta[0]) ** 2)
    >>> def by_nuts(y, rng):
    ...     target = bl.Target(logdensity, dim=1, data=(y,))
    ...     return bl.nuts(target, num_samples=200, rng=rng)
    >>> test = bl.simulation_based_calibration(
    ...     sample_prior, simulate, by_nuts, num_fits=20, rng=1
    ... )
    >>> print(test.problems)
    ()
    """
    simulator = Simulator(sample_prior, simulate, quantities, names, fit=fit)
    num_fits = as_count(num_fits, "num_fits", minimum=20)
    num_draws = as_count(num_draws, "num_draws", minimum=9)
    rng, _ = as_rng(rng)
    fits = (_rank(simulator, fit, num_draws, generator) for generator in rng.spawn(num_fits))

    def judged(done, interrupted):
        ranks = np.array([rank for rank, _ in done])
        num_short = sum(short for _, short in done)
        z = _z(ranks, num_draws)
        normal = 2.0 * scipy.special.ndtr(-np.abs(z)).min(axis=1)
        pvalues = np.minimum(1.0, _TESTS * np.minimum(normal, _chi_square(ranks, num_draws)))
        found = Calibration(simulator.names, ranks, num_draws, num_short, z, pvalues, interrupted)
        if num_short > 0.05 * len(ranks):
            warn(found.problems[-1])
        return found

    return until_interrupt(fits, 20, "fit {} of simulation-based calibration", judged)


def _rank(simulator, fit, num_draws, rng):
    theta, data = simulator.draw(rng)
    draws, short = _thin(fit(data, rng), num_draws, theta.size, rng)
    truth = simulator.values(theta, data)
    values = np.array([simulator.values(draw, data) for draw in draws])
    rank = np.sum(values < truth, axis=0)
    ties = np.sum(values == truth, axis=0)
    for i in np.flatnonzero(ties):
        rank[i] += rng.integers(ties[i] + 1)
    return rank, short


def _thin(found, num_draws, dim, rng):
    """Return (num_draws, dim) draws of a fit, and whether they are worth less than that."""
    short = False
    chains = getattr(found, "values", None)
    weighted = getattr(found, "log_weights", None) is not None
    if chains is None and not hasattr(found, "sample"):
        draws = as_floats(found, "fit")
        draws = draws[:, None] if draws.ndim == 1 else draws
    elif chains is None or weighted:
        draws = found.sample(num_draws, rng)
        short = weighted and round(found.worth) < num_draws
    else:
        draws = found.flat
        if not found.independent:
            fixed = found.settings.get("fixed", ())
            moving = [name not in fixed for name in found.names]
            size = np.min(np.atleast_1d(diagnostics.ess(found))[moving])
            short = not size >= num_draws  # nan, of a chain that never moved, is short too
    fits = draws.ndim == 2 and draws.shape[1] == dim and len(draws) >= num_draws
    rule = f"return num_draws={num_draws} or more draws of {dim} parameters, as sample_prior"
    check_fits(fits, draws, "fit", rule, ": draw more, or ask for fewer")
    check_finite(draws, "the draws of fit")
    return draws[np.linspace(0, len(draws) - 1, num_draws).round().astype(int)], short


def _z(ranks, num_draws):
    """z of the mean rank and of the mean squared distance from the middle, (k, 2)."""
    n, count = len(ranks), num_draws + 1.0
    variance = (count**2 - 1.0) / 12.0
    fourth = (count**2 - 1.0) * (3.0 * count**2 - 7.0) / 240.0
    distance = ranks - 0.5 * num_draws
    centre = distance.mean(axis=0) / np.sqrt(variance / n)
    spread = (np.square(distance).mean(axis=0) - variance) / np.sqrt((fourth - variance**2) / n)
    return np.column_stack([centre, spread])


def _chi_square(ranks, num_draws):
    """p-values of the ranks' histograms, in bins that expect at least ten, (k,)."""
    count = num_draws + 1
    num_bins = min(20, len(ranks) // 10, count)
    edges = np.round(np.linspace(0, count, num_bins + 1)).astype(int)
    expected = len(ranks) * np.diff(edges) / count
    observed = [np.histogram(column, bins=edges - 0.5)[0] for column in ranks.T]
    return scipy.stats.chisquare(observed, expected[None], axis=1).pvalue
