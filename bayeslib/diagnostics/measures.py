"""How much do these draws tell: autocorrelation, effective sample size, R-hat, Monte Carlo error.

Every function takes a `Draws` or an array of shape (num_chains, num_samples) or
(num_chains, num_samples, dim), and returns a float, or one value per dimension, shape (dim,).
The definitions are those of Vehtari, Gelman, Simpson, Carpenter and Bürkner (2021).
An array with more chains than draws is taken as it is, with a warning.
What cannot be estimated is nan: a constant array, a nan or infinite draw, fewer than 4 draws.
Draws with weights are refused, since every one would count the same.
"""

import numpy as np

from ..errors import BayeslibError, warn
from ..validate import as_choice, as_count, as_floats, as_fraction, check_fits
from .estimators import ESS, MCSE, autocovariance, rhat_of_ranks


def ess(draws, *, kind="bulk", probability=None):
    """Effective sample size: how many independent draws would be worth as much.

    It is ``S / (1 + 2 * (rho_1 + rho_2 + ...))`` of S draws with autocorrelations rho_t, which
    count as larger where chains disagree. To judge a run, take "bulk" and "tail"; for the error of
    one estimate, the kind of its name.

    Parameters
    ----------
    draws : Draws or array, shape (num_chains, num_samples[, dim])
    kind : {"bulk", "tail", "mean", "sd", "quantile"}
        Of what the autocorrelations are; chains are halved first.

        - "bulk": of the draws' ranks, turned into normal scores;
        - "tail": the smaller effective sample size of the 5 % and the 95 % quantile;
        - "mean": of the draws as they are;
        - "sd": of their squared distances from the mean;
        - "quantile": of 1 where a draw lies at or below the quantile at `probability`, else 0.
    probability : float, optional
        Between 0 and 1; for kind "quantile" only.

    Returns
    -------
    float or numpy.ndarray, shape (dim,)
        nan where it cannot be estimated: from fewer than 4 draws a chain, of a constant, or when a
        draw is nan or infinite. May exceed the number S of draws where these are negatively
        correlated, up to S log10(S). `Draws.summary` asks for 100 a chain, of bulk and tail.

    Raises
    ------
    BayeslibError
        For another kind or shape, a probability that is missing or out of place, or draws with
        weights.

    Warns
    -----
    BayeslibWarning
        When an array has more chains than draws, as one has whose first two axes are swapped.

    References
    ----------
    Geyer (1992), "Practical Markov chain Monte Carlo", for where the sum of autocorrelations ends.
    Vehtari, Gelman, Simpson, Carpenter and Bürkner (2021), "Rank-normalization, folding, and
    localization: an improved R-hat for assessing convergence of MCMC", for
    ranks and tails.

    Examples
    --------
    >>> fresh = np.random.default_rng(1).normal(size=(4, 1000))
    >>> stale = np.repeat(fresh[:, :100], 10, axis=1)  # every draw ten times
    >>> print(round(bl.ess(fresh), -2), round(bl.ess(stale), -2))
    4000.0 400.0

    Of a run, a number for each parameter, in the order of ``draws.names``:

    >>> draws = bl.nuts(bl.posteriors.challenger(), rng=1)
    >>> print(draws.names, bl.ess(draws).round(-3))
    ('intercept', 'slope') [3000. 2000.]
    """
    return _per_dimension(draws, _chosen(ESS, kind, probability))


def rhat(draws):
    """R-hat: the spread of all draws beside that within half chains; near 1 where these agree.

    It is ``sqrt((n - 1) / n + V / W)``: V is the variance of the means of all half chains, W the
    mean of the variances within them, n the length of a half. It is computed from the draws' ranks,
    turned into normal scores, and again from those of the distances from the median. The larger of
    the two is returned.

    Parameters
    ----------
    draws : Draws or array, shape (num_chains, num_samples[, dim])

    Returns
    -------
    float or numpy.ndarray, shape (dim,)
        Near 1 when the chains agree, though all may miss the same mode; above 1.01 they do not yet:
        run longer, or look where they differ. Of correlated chains worth fewer than some 250 draws
        each (`ess`) noise alone may exceed 1.01: of four worth 100 each, a third of the time or
        more.
        nan for one chain, whose halves cannot show a mode that it never saw, and where `ess` is
        nan; inf or huge when each stands still, at values that differ.

    Raises
    ------
    BayeslibError
        As `ess`, and it warns as `ess` does.

    References
    ----------
    Vehtari, Gelman, Simpson, Carpenter and Bürkner (2021), "Rank-normalization, folding, and
    localization: an improved R-hat for assessing convergence of MCMC".

    Examples
    --------
    >>> together = np.random.default_rng(1).normal(size=(4, 1000))
    >>> apart = together + np.array([[0.0], [0.0], [0.0], [2.0]])
    >>> print(round(bl.rhat(together), 2), round(bl.rhat(apart), 2))
    1.0 1.31
    """
    return _per_dimension(draws, _known(rhat_of_ranks))


def mcse(draws, *, kind="mean", probability=None):
    """Monte Carlo standard error of the mean, of the standard deviation, or of a quantile.

    Parameters
    ----------
    draws : Draws or array, shape (num_chains, num_samples[, dim])
    kind : {"mean", "sd", "quantile"}
        - "mean": ``sd / sqrt(ess of the mean)``;
        - "sd": by the delta method, ``sqrt(var(d) / ess of the sd) / (2 * sd)`` with d the squared
          distances from the mean;
        - "quantile": half the width of a 68 % interval for the quantile, which is one standard
          error either way. It is rough: for the 95 % quantile of 4,000 independent draws it is
          itself off by about a fifth, and by more where draws are fewer.
    probability : float, optional
        Between 0 and 1; for kind "quantile" only.

    Returns
    -------
    float or numpy.ndarray, shape (dim,)
        In the units of the draws; nan where the effective sample size is.

    Raises
    ------
    BayeslibError
        As `ess`, and it warns as `ess` does.

    References
    ----------
    Vehtari, Gelman, Simpson, Carpenter and Bürkner (2021), "Rank-normalization, folding, and
    localization: an improved R-hat for assessing convergence of MCMC", for
    quantiles. Kenney and Keeping (1951), "Mathematics of statistics, part two", for the standard
    deviation.

    Examples
    --------
    >>> draws = np.random.default_rng(1).normal(size=(4, 1000))
    >>> print(f"{bl.mcse(draws):.4f} {1 / np.sqrt(4000):.4f}")
    0.0158 0.0158
    >>> print(f"{bl.mcse(draws, kind='quantile', probability=0.95):.3f}")  # 0.033 would be right
    0.030
    """
    return _per_dimension(draws, _chosen(MCSE, kind, probability, power=1))


def hdi(draws, *, probability=0.9):
    """Highest density interval: the shortest interval that holds this `probability`.

    Parameters
    ----------
    draws : Draws or array, shape (num_chains, num_samples[, dim])
    probability : float
        Between 0 and 1.

    Returns
    -------
    numpy.ndarray, shape (2,) or (2, dim)
        Its ends, in the units of the draws; nan when a draw is nan or infinite. Of a density with
        several peaks it is one interval, valleys included. Its ends depend on the scale: their
        logarithms are not the ends for the logarithm. Around a smooth peak the error of the ends
        falls with the cube root of the number of draws only; quantiles are steadier.

    Raises
    ------
    BayeslibError
        As `ess`, and it warns as `ess` does.

    References
    ----------
    Chen and Shao (1999), "Monte Carlo estimation of Bayesian credible and HPD intervals".

    Examples
    --------
    >>> draws = np.random.default_rng(1).exponential(size=(4, 5000))
    >>> print(bl.hdi(draws, probability=0.5).round(2))  # the shortest half
    [0.   0.69]
    >>> print(np.quantile(draws, [0.25, 0.75]).round(2))  # the middle half
    [0.29 1.39]
    """
    probability = as_fraction(probability, "probability")

    def interval(x):
        if not (x.size and np.isfinite(x).all()):
            return np.full(2, np.nan)
        x = np.sort(x, axis=None)
        inside = min(int(probability * x.size), x.size - 1)
        first = int(np.argmin(x[inside:] - x[: x.size - inside]))
        return x[[first, first + inside]]

    return _per_dimension(draws, interval)


def autocorrelation(draws, *, max_lag=None):
    """Autocorrelation at lags 0 … max_lag, from autocovariances averaged over chains.

    Each chain is taken about its own mean: chains that disagree show in `rhat`, not here.

    Parameters
    ----------
    draws : Draws or array, shape (num_chains, num_samples[, dim])
    max_lag : int, optional
        At most num_samples - 1, which is the default.

    Returns
    -------
    numpy.ndarray, shape (max_lag + 1,) or (max_lag + 1, dim)
        Sums over the pairs at a lag are divided by num_samples, so that long lags, which have few
        pairs, shrink to 0.

    Raises
    ------
    BayeslibError
        As `ess`, and for a lag beyond the draws; it warns as `ess` does.

    Examples
    --------
    >>> fresh = np.random.default_rng(1).normal(size=(4, 5000))
    >>> stale = np.repeat(fresh, 2, axis=1)  # every draw twice
    >>> print(bl.autocorrelation(stale, max_lag=1).round(1))
    [1.  0.5]
    """
    longest = _values(draws).shape[1] - 1
    max_lag = longest if max_lag is None else max_lag
    max_lag = as_count(max_lag, "max_lag", minimum=0, maximum=longest)

    def correlation(x):
        covariance = autocovariance(_in_units(x)[0])[:, : max_lag + 1].mean(axis=0)
        return covariance / covariance[0] if covariance[0] > 0.0 else covariance * np.nan

    return _per_dimension(draws, correlation)


def bfmi(energy):
    """Bayesian fraction of missing information of Hamiltonian chains (E-BFMI).

    Parameters
    ----------
    energy : Draws or array, shape (num_chains, num_samples) or (num_samples,)
        The Hamiltonian after each transition; of a `Draws`, its ``stats["energy"]``.

    Returns
    -------
    numpy.ndarray, shape (num_chains,)
        The mean squared change of the energy between draws, over the energy's variance: near 1 for
        a Gaussian. Below 0.3 fresh momenta change the energy too slowly: reparameterise. nan for a
        chain of which `ess` would be nan.

    Raises
    ------
    BayeslibError
        For draws that have no energy, or an array of another shape; it warns as `ess` does.

    References
    ----------
    Betancourt (2016), "Diagnosing suboptimal cotangent disintegrations in Hamiltonian Monte
    Carlo".

    Examples
    --------
    >>> import warnings
    >>> for target in (bl.posteriors.gaussian([0.0, 0.0], 1.0), bl.posteriors.funnel(9)):
    ...     with warnings.catch_warnings(action="ignore"):
    ...         print(bl.bfmi(bl.nuts(target, num_samples=500, rng=1)).round(1))
    [1.  1.1 1.4 1.2]
    [0.1 0.1 0.1 0.1]
    """
    if hasattr(energy, "stats"):
        if "energy" not in energy.stats:
            raise BayeslibError(f"{energy.method or 'these'} draws have no energy: use hmc or nuts")
        energy = energy.stats["energy"]
    else:
        energy = _values(np.atleast_2d(as_floats(energy, "energy")))
    check_fits(energy.ndim == 2, energy, "energy", "have shape (num_chains, num_samples)")
    share = _known(lambda x: np.square(np.diff(x)).mean() / x.var(ddof=1))
    return np.array([share(chain[None]) for chain in energy])


def _chosen(kinds, kind, probability, power=0):
    """Return the function of chains that estimates this kind, in this power of their units."""
    as_choice(kind, "kind", sorted(kinds))
    if kind == "quantile":
        probability = as_fraction(probability, "probability")
        return _known(lambda x: kinds[kind](x, probability), power)
    if probability is not None:
        raise BayeslibError(f'probability={probability!r} needs kind="quantile", got {kind!r}')
    return _known(kinds[kind], power)


def _known(estimate, power=0):
    """Return nan where chains do not say, else the estimate, in this power of their units."""

    def known(x):
        if x.shape[1] < 4 or not np.isfinite(x).all() or x.min() == x.max():
            return np.nan
        x, exponent = _in_units(x)
        return np.ldexp(estimate(x), power * exponent)

    return known


def _in_units(x):
    """Return x over a power of two, and its exponent: squares of tiny or huge are no floats."""
    exponent = np.frexp(np.ptp(0.5 * x))[1]
    return np.ldexp(x, -exponent), exponent


def _values(draws):
    if getattr(draws, "log_weights", None) is not None:
        raise BayeslibError("these draws have weights, which this would ignore: resample() first")
    values = as_floats(getattr(draws, "values", draws), "draws")
    rule = "have shape (num_chains, num_samples[, dim])"
    check_fits(values.ndim in (2, 3), values, "draws", rule, "; one chain of draws x is x[None]")
    if values.shape[0] > values.shape[1] > 0 and not hasattr(draws, "stats"):
        found = "{} chains of {} draws".format(*values.shape)
        warn(f"an array of {found}: chains come first; if they do not, pass x.swapaxes(0, 1)")
    return values


def _per_dimension(draws, statistic):
    values = _values(draws)
    if values.ndim == 2:
        return statistic(values)
    return np.stack([statistic(values[:, :, i]) for i in range(values.shape[2])], axis=-1)
