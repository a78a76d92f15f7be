"""Draws from the posterior: what every sampler returns."""

import reprlib
from dataclasses import dataclass, field, replace

import numpy as np

from .. import diagnostics
from ..diagnostics.trouble import find_problems, settings_with_noise
from ..errors import BayeslibError, BayeslibTypeError, ZeroWeightsError
from ..validate import as_array, as_bool, as_count, as_rng, check_each, check_fits, check_shape
from .estimate import Estimate, family_totals, mean_and_error
from .files import write
from .named import as_names, named, variables
from .rows import apply_rows, each_row
from .summary import PROBABILITIES, QUANTILES, Summarised, tabulate


@dataclass(frozen=True, repr=False, eq=False)
class Draws(Summarised):
    """What samplers return: draws from the posterior, weighted or not, in one or several chains.

    Parameters
    ----------
    values : array, shape (num_chains, num_samples, dim)
    logdensity : array, shape (num_chains, num_samples), optional
        The unnormalised log density of the target at each draw.
    log_weights : array, shape (num_chains, num_samples), optional
        Unnormalised log importance weights; None when every draw counts the same.
    stats : dict of arrays, shape (num_chains, num_samples)
        What stands beside each draw, by ArviZ's name if it has one, as ``stats["diverging"]``; the
        entry of each method lists its own, see for instance `nuts`. ``family`` is one integer for
        all draws that descend from the same one.
    num_evals : int
        Evaluations of the density (one with its gradient counts once), warm-up included.
    method : str
        The name of the function that drew them.
    settings : dict
        What it was asked for and what it settled on; "seed" repeats the run, or is None when no
        seed would, as when `rng` was a generator that had been used.
    names : sequence of str, optional
        One for each dimension; by default theta, or theta[0], theta[1] and so on.
    log_evidence : Estimate, optional
        The logarithm of the target's integral, where the method estimates it.
    independent : bool
        Whether the draws are independent of each other; those of a Markov chain are not.

    Raises
    ------
    BayeslibError
        When shapes disagree, a log weight is nan or +inf, or two names are the same.

    Examples
    --------
    >>> values = np.random.default_rng(1).normal(size=(4, 500, 2))  # made elsewhere
    >>> draws = bl.Draws(values, names=["mu", "tau"], method="by_hand")
    >>> draws
    Draws(by_hand, num_chains=4, num_samples=500, dim=2, num_evals=0)
    >>> draws["tau"].shape, draws.flat.shape, round(draws.worth)
    ((4, 500), (2000, 2), 2000)
    >>> draws[::10], draws[["tau"]].names
    (Draws(by_hand, num_chains=4, num_samples=50, dim=2, num_evals=0), ('tau',))
    """

    values: np.ndarray
    logdensity: np.ndarray | None = None
    log_weights: np.ndarray | None = None
    stats: dict = field(default_factory=dict)
    num_evals: int = 0
    method: str = ""
    settings: dict = field(default_factory=dict)
    names: tuple = ()
    log_evidence: Estimate | None = None
    independent: bool = False

    def __post_init__(self):
        values = as_array(self.values, "values").astype(float, copy=False)
        fits = values.ndim == 3 and 0 not in (values.shape[0], values.shape[2])
        check_fits(fits, values, "values", "have shape (num_chains, num_samples, dim)")
        for name in ("logdensity", "log_weights"):
            if getattr(self, name) is not None:
                vars(self)[name] = array = np.asarray(getattr(self, name), dtype=float)
                check_shape(array, name, values.shape[:2])
                if name == "log_weights":
                    check_each(array, name, "finite or -inf", array < np.inf)
        for name, array in self.stats.items():
            fits = np.shape(array)[:2] == values.shape[:2]
            check_fits(fits, np.asarray(array), f"stats[{name!r}]", f"begin as {values.shape[:2]}")
        num_evals = as_count(self.num_evals, "num_evals", minimum=0)
        vars(self).update(num_evals=num_evals, independent=as_bool(self.independent, "independent"))
        vars(self).update(values=values, names=as_names(self.names, values.shape[2]))

    @property
    def num_chains(self):
        """How many chains."""
        return self.values.shape[0]

    @property
    def num_samples(self):
        """How many draws in each chain."""
        return self.values.shape[1]

    @property
    def dim(self):
        """How many numbers in each draw."""
        return self.values.shape[2]

    @property
    def flat(self):
        """All draws in one array, chain after chain, shape (num_chains * num_samples, dim)."""
        return self.values.reshape(-1, self.dim)

    @property
    def weights(self):
        """Normalised weights of `flat`, shape (num_chains * num_samples,), summing to 1."""
        self._check_some()
        if self.log_weights is None:
            return np.full(len(self.flat), 1.0 / len(self.flat))
        log_weights = np.ravel(self.log_weights)
        if log_weights.max() == -np.inf:
            raise ZeroWeightsError(f"all {log_weights.size} weights are zero: nothing to average")
        weights = np.exp(log_weights - log_weights.max())
        return weights / weights.sum()

    @property
    def worth(self):
        """How many independent draws these are worth, by weights and families alone.

        One over the sum of squared `weights`, where those of a family are added up first. It does
        not see what chains lose by their memory: `ess` does.
        """
        weights = self.weights
        if "family" in self.stats:
            weights = family_totals(weights, np.ravel(self.stats["family"]))
        return float(1.0 / np.square(weights).sum())

    def _check_some(self):
        if self.num_chains * self.num_samples == 0:
            raise BayeslibError(f"there are no draws, values has shape {self.values.shape}")

    def __getitem__(self, which):
        """The draws of one name, ``draws["alpha"]``, of a list of names, or of a slice.

        Parameters
        ----------
        which : str, list of str or slice
            The name of a dimension, or of a parameter, whose dimensions are called alpha[0],
            alpha[1] and so on. Or a slice of the draws of each chain.

        Returns
        -------
        numpy.ndarray, shape (num_chains, num_samples, …), or Draws
            Of one name, in its shape. For a list, or a slice, `Draws` of these alone.

        Raises
        ------
        BayeslibError
            For another name; BayeslibTypeError for what is no name.
        """
        if isinstance(which, slice) and float not in map(type, (which.start, which.stop)):
            arrays = {name: getattr(self, name) for name in ("values", "logdensity", "log_weights")}
            kept = {name: a[:, which] for name, a in arrays.items() if a is not None}
            stats = {name: array[:, which] for name, array in self.stats.items()}
            return replace(self, stats=stats, **kept)
        if isinstance(which, list):
            if not which:
                raise BayeslibError("name at least one dimension: draws[[]] has none")
            columns = np.concatenate([np.ravel(self._columns(name)) for name in which])
            names, settings = [self.names[i] for i in columns], settings_with_noise(self)
            return replace(self, values=self.values[:, :, columns], names=names, settings=settings)
        return np.array(self.values[:, :, self._columns(which)])

    def _columns(self, name):
        """Where the dimensions of a name lie, an int or an array of its shape."""
        if not isinstance(name, str):
            rule = "draws take a name, a list of names, or a slice, as draws[100:]"
            raise BayeslibTypeError(f"{rule}, got {name!r}")
        if name in self.names:
            return self.names.index(name)
        found = variables(self.names)
        if name not in found:
            known = reprlib.repr((*found, *(n for n in self.names if n not in found)))
            raise BayeslibError(f"no dimension is named {name!r}; there are {known}")
        return found[name][0]

    def thin(self, step):
        """Keep every `step`-th draw of each chain, beginning with the first.

        Only to save memory: what is left says less than all.

        Parameters
        ----------
        step : int

        Returns
        -------
        Draws

        Examples
        --------
        >>> bl.Draws(np.zeros((4, 500, 2))).thin(10)
        Draws(num_chains=4, num_samples=50, dim=2, num_evals=0)
        """
        return self[:: as_count(step, "step")]

    def predict(self, simulate, *, rng):
        """Simulate data from each draw: posterior predictive, or prior predictive for prior draws.

        Parameters
        ----------
        simulate : callable
            ``simulate(p, rng)`` returns a number or an array for one draw p, (dim,), with the
            parameters as attributes: ``rng.normal(p.mu, p.sigma, size=20)``.
        rng : int, Generator, SeedSequence or None
            Handed to `simulate`, for one draw after the other, chain after chain.

        Returns
        -------
        numpy.ndarray, shape (num_chains, num_samples, …)

        Raises
        ------
        BayeslibError
            When the draws have weights (draw by them first, with `resample`), or the simulations
            are not of one shape.

        Examples
        --------
        >>> draws = bl.Draws(np.ones((4, 500, 2)), names=["mu", "sigma"])
        >>> ahead = draws.predict(
        ...     lambda p, rng: rng.normal(p.mu, p.sigma, size=3), rng=1)
        >>> ahead.shape
        (4, 500, 3)
        """
        if self.log_weights is not None:
            raise BayeslibError("these have weights: draw by them first, with bl.resample")
        rng, _ = as_rng(rng)
        return self._each("simulate", simulate, rng=rng)

    def _each(self, name, f, **arguments):
        """Return f of each draw, one by one, (num_chains, num_samples, …)."""
        self._check_some()
        results = each_row(f, named(self.flat, self.names), name, arguments)
        return np.reshape(results, (self.num_chains, self.num_samples, *results[0].shape))

    def expect(self, f=None):
        """Estimate the posterior expectation of `f`.

        Parameters
        ----------
        f : callable, optional
            Takes all draws at once, shape (n, dim), and returns (n,) or (n, k), which is fast;
            or takes one draw, shape (dim,), and returns a number or k numbers. Parameters are
            attributes of what it takes: ``p.tau``, (n,), or ``p.alpha``, (n, 50) if alpha has 50
            entries. It is tried on all draws, then on two of them alone. If it fails on all, or
            says other things of the two (as when it mixes the entries of a draw, without
            ``axis=-1``), it is called with each draw. It cannot write to them. None is the
            identity: the posterior mean.

        Returns
        -------
        Estimate
            value and mcse are floats for an `f` that returns (n,), else shape (k,).
            The error is that of independent draws, of weighted ones (delta method), of families
            (each counted as one), or of chains (through the effective sample size of `f` itself).
            Where every draw gives the same number it means nothing: 0, and nan of chains.

        Raises
        ------
        BayeslibError
            When there are no draws; when `f` does not return a number or a vector of numbers for
            one; when `f` takes all draws and mixes them, as by taking off their mean.
            ZeroWeightsError when every weight is zero.

        Examples
        --------
        >>> values = np.random.default_rng(1).normal(3.0, 1.0, size=(1, 10_000, 1))
        >>> draws = bl.Draws(values, independent=True)
        >>> print(draws.expect())
        [2.9891 ± 0.0100]
        >>> print(draws.expect(lambda theta: theta[:, 0] ** 2))
        9.932 ± 0.061
        >>> print(draws.expect(lambda theta: theta[0] > 3.0))
        0.4955 ± 0.0050
        >>> print(draws.expect(lambda p: np.exp(-p.theta)))
        0.0831 ± 0.0011
        """
        self._check_some()
        results = self.flat
        if f is not None:
            results = apply_rows(f, named(results, self.names)).astype(float)
        if len(results) == 1:
            value, error = results[0], np.nan * results[0]
        elif "family" in self.stats:
            value, error = mean_and_error(results, self.weights, np.ravel(self.stats["family"]))
        elif self.log_weights is not None:
            weights = self.weights
            value = weights @ results
            error = np.sqrt(np.square(weights) @ np.square(results - value))
        else:
            value = results.mean(axis=0)
            if self.independent:
                error = results.std(axis=0, ddof=1) / np.sqrt(len(results))
            else:
                chains = Draws(results.reshape(self.num_chains, self.num_samples, -1))
                error = diagnostics.mcse(chains).reshape(results.shape[1:])
        return Estimate(value, error, self.num_evals)

    def sample(self, num_samples, rng):
        """Draw with replacement from these draws, by their weights where they have some.

        Parameters
        ----------
        num_samples : int
        rng : int, Generator, SeedSequence or None
            Draw order: for each draw one integer, or one uniform where there are weights.

        Returns
        -------
        numpy.ndarray, shape (num_samples, dim)

        Examples
        --------
        >>> weights = [[0.0, -np.inf, 0.0]]
        >>> draws = bl.Draws([[[1.0], [2.0], [3.0]]], log_weights=weights)
        >>> print(np.unique(draws.sample(1000, rng=1)))
        [1. 3.]
        """
        self._check_some()
        num_samples = as_count(num_samples, "num_samples")
        rng, _ = as_rng(rng)
        weights = None if self.log_weights is None else self.weights
        return self.flat[rng.choice(len(self.flat), size=num_samples, p=weights)]

    @property
    def problems(self):
        """Why these draws are not to be trusted, tuple of str; empty is no proof that they are."""
        self._check_some()
        return find_problems(self)

    def summary(self):
        """Marginal means, errors, quantiles and diagnostics.

        Returns
        -------
        Summary
            Prints in a terminal, renders in a notebook, and lists the problems found. For other
            intervals see `hdi`.

        Examples
        --------
        >>> chains = np.random.default_rng(1).normal(size=(4, 1000, 1))
        >>> chains[3] += 5.0  # one has lost its way
        >>> summary = bl.Draws(chains).summary()
        >>> summary.columns
        ('mean', 'mcse', 'sd', '5%', '50%', '95%', 'ess_bulk', 'ess_tail', 'rhat')
        >>> print(summary.problems[0].partition(";")[0])
        R-hat is 1.529 for theta, above 1.01: the chains disagree
        """
        weights = self.weights
        mean = self.expect()
        # Infinite draws are said among the problems.
        with np.errstate(over="ignore", invalid="ignore"):
            spread = np.sqrt(weights @ np.square(self.flat - mean.value))
        how = {"axis": 0, "weights": weights, "method": "inverted_cdf"}
        quantiles = np.quantile(self.flat, PROBABILITIES, **how)
        table = {"mean": mean.value, "mcse": mean.mcse, "sd": spread}
        table |= zip(QUANTILES, quantiles, strict=True)
        if self.log_weights is not None or self.independent or "family" in self.stats:
            table["ess"] = np.full(self.dim, self.worth)
        else:
            table["ess_bulk"] = diagnostics.ess(self)
            table["ess_tail"] = diagnostics.ess(self, kind="tail")
            table["rhat"] = diagnostics.rhat(self)
        title = f"{self.method or 'draws'}: {self.num_chains} × {self.num_samples} draws"
        title += f", {self.num_evals:,} evaluations"
        if "acceptance" in self.settings:
            title += f", acceptance {self.settings['acceptance']:.3g}"
        if "khat" in self.settings:
            title += f", k-hat {self.settings['khat']:.2g}"
        return tabulate(title, table, self.names, self.problems)

    def save(self, path):
        """Save everything to a file, from which `load` makes the same draws again.

        Parameters
        ----------
        path : str or path-like
            ``.npz`` is added when it is missing. A file of that name is replaced, and only when
            the new one is complete.

        Returns
        -------
        pathlib.Path
            The file written: an npz archive that ``numpy.load`` opens too, with the arrays under
            their names ("values", "stats/energy") and the rest as JSON under "header".

        Raises
        ------
        BayeslibError
            For a setting that is neither a number, text, array, nor a tuple, list or dictionary
            of them.
        OSError
            When the file cannot be written.

        Examples
        --------
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> target = bl.posteriors.gaussian([0.0], 1.0)
        >>> draws = bl.nuts(target, num_samples=100, rng=1)
        >>> with TemporaryDirectory() as folder:
        ...     path = draws.save(Path(folder) / "run")
        ...     again = bl.load(path)
        >>> print(path.name, np.array_equal(again.values, draws.values))
        run.npz True
        """
        return write(path, self)

    def to_arviz(
        self, *, log_likelihood=None, posterior_predictive=None, observed_data=None, dims=None,
        coords=None,
    ):  # fmt: skip
        """Convert to what ArviZ takes, as in ``arviz.plot_trace(draws.to_arviz())``.

        Parameters
        ----------
        log_likelihood : callable, optional
            ``log_likelihood(p)`` returns (num_rows,), the log likelihood of each row of the data at
            one draw p, as in `predict`: what ``arviz.loo`` and ``arviz.compare`` need.
        posterior_predictive : array or dict of arrays, shape (num_chains, num_samples, …), optional
            From `predict`, as in ``draws.to_arviz(posterior_predictive=draws.predict(f, rng=1),
            observed_data=y)``; an array alone is called "y".
        observed_data : array or dict of arrays, optional
            The data it predicts, under the same names.
        dims, coords : dict, optional
            Names of the axes of a variable, ``{"alpha": ["school"]}``, and labels along them,
            ``{"school": ["A", "B"]}``.

        Returns
        -------
        xarray.DataTree or arviz.InferenceData
            The former from ArviZ 1.0 on. Group ``posterior`` has the draws, with one variable ``a``
            for dimensions named a[0], a[1], …; ``sample_stats`` the stats and, as ``lp``, the log
            density; neither has the warm-up. Their attributes name the method and the seed.

        Raises
        ------
        BayeslibError
            When the draws have weights, which ArviZ would ignore, or when there are none; for a
            log likelihood without rows, or `dims` of another name.
        ImportError
            When ArviZ is not installed.

        Examples
        --------
        >>> weighted = bl.Draws([[[1.0], [2.0]]], log_weights=[[0.0, -1.0]])
        >>> try:
        ...     data = weighted.to_arviz()
        ... except bl.BayeslibError as error:
        ...     print(error)
        these have weights: draw by them first, with bl.resample
        """
        from .arviz import to_arviz

        self._check_some()
        data = {"posterior_predictive": posterior_predictive, "observed_data": observed_data}
        if log_likelihood is not None:
            data["log_likelihood"] = self._each("log_likelihood", log_likelihood)
        data = {name: group for name, group in data.items() if group is not None}
        for name, group in data.items():
            data[name] = group if isinstance(group, dict) else {"y": np.asarray(group)}
        return to_arviz(self, data, dims, coords)

    def __repr__(self):
        method = f"{self.method}, " if self.method else ""
        size = f"num_chains={self.num_chains}, num_samples={self.num_samples}, dim={self.dim}"
        return f"Draws({method}{size}, num_evals={self.num_evals})"
