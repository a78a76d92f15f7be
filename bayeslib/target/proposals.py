"""Proposal distributions: one interface for scipy's frozen distributions and for our own."""

import numpy as np

from ..errors import BayeslibError, BayeslibTypeError
from ..validate import check_shape, frozen, shown


class Proposal:
    """A distribution to draw from, whose normalised log density is known.

    Parameters
    ----------
    sample : callable
        ``sample(num_samples, rng)`` returns (num_samples, dim) or, for dim = 1, (num_samples,).
    logdensity : callable
        ``logdensity(x)`` of (n, dim) returns (n,); for dim = 1 it may return (n, 1).
    dim : int
    label : str
        What error messages and `settings` call it.

    Examples
    --------
    >>> from bayeslib.target.proposals import Proposal
    >>> def sample(n, rng):  # uniform on a triangle
    ...     return np.sort(rng.random((n, 2)), axis=1)
    >>> def logdensity(x):
    ...     inside = (0.0 < x[:, 0]) & (x[:, 0] < x[:, 1]) & (x[:, 1] < 1.0)
    ...     return np.where(inside, np.log(2.0), -np.inf)
    >>> triangle = Proposal(sample, logdensity, dim=2, label="triangle")
    >>> target = bl.posteriors.gaussian([0.3, 0.6], 0.01)
    >>> draws = bl.importance_sample(target, triangle, num_samples=4000, rng=1)
    >>> print(draws.expect())
    [0.2986 ± 0.0022, 0.6006 ± 0.0022]
    """

    def __init__(self, sample, logdensity, dim, label):
        self._sample, self._logdensity = sample, logdensity
        self.dim, self.label = dim, label

    def sample(self, num_samples, rng):
        """Draw an array of shape (num_samples, dim) with the generator `rng`."""
        return self._shaped(self._sample(num_samples, rng), (num_samples, self.dim), "sample")

    def logdensity(self, x):
        """Normalised log density of each row of `x`, (n, dim) -> (n,)."""
        return self._shaped(self._logdensity(frozen(x)), (len(x),), "logdensity")

    def own_logdensity(self, draws):
        """As logdensity, for rows that it drew itself, at which it must be finite."""
        log_q = self.logdensity(draws)
        self.check_own(draws, log_q)
        return log_q

    def check_own(self, draws, log_q):
        """Check that the log density is finite at rows that it drew itself."""
        bad = np.flatnonzero(~np.isfinite(log_q))
        if bad.size:
            i, rule = bad[0], "its sample and logdensity disagree"
            found = f"the log density of the proposal {self.label} is {log_q[i]} at a point it drew"
            raise BayeslibError(f"{found}, theta={shown(draws[i])}: {rule}")

    def _shaped(self, result, shape, what):
        result = np.asarray(result, dtype=float)
        # scipy drops or keeps a trailing dimension of one, as it likes
        if not (result.size == np.prod(shape) and (self.dim == 1 or shape[0] == 1)):
            check_shape(result, f"{what} of the proposal {self.label}", shape)
        return result.reshape(shape)


def as_proposal(proposal, dim):
    """Turn `proposal` into a distribution with `sample` and `logdensity`.

    Parameters
    ----------
    proposal : object
        A frozen continuous distribution of `scipy.stats`: univariate for ``dim=1``; for more
        dimensions multivariate, or univariate with parameters of shape (dim,), which then
        stands for independent coordinates. Or an approximation of bayeslib, or any object with
        ``sample(num_samples, rng) -> (n, dim)`` and ``logdensity(x (n, dim)) -> (n,)``.
    dim : int
        The dimension of the target.

    Returns
    -------
    Proposal

    Raises
    ------
    BayeslibTypeError
        When it can be neither drawn from nor evaluated, or is discrete, or is not frozen.
    BayeslibError
        When its dimension is not `dim`.

    Notes
    -----
    Draw order: a univariate frozen distribution draws exactly
    ``proposal.rvs(size=num_samples, random_state=rng)``.

    Examples
    --------
    >>> from scipy import stats
    >>> from bayeslib.target.proposals import as_proposal
    >>> q = as_proposal(stats.norm([0.0, 1.0], 2.0), dim=2)  # two independent ones
    >>> x = q.sample(3, np.random.default_rng(1))
    >>> print(x.shape, q.logdensity(np.array([[0.0, 1.0]])).round(4))
    (3, 2) [-3.2242]
    """
    label = proposal.label if isinstance(proposal, Proposal) else _label(proposal)
    found = getattr(proposal, "dim", dim)
    if found != dim:
        raise BayeslibError(f"the proposal {label} has dim={found}, the target dim={dim}")
    if isinstance(proposal, Proposal):
        return proposal
    if hasattr(proposal, "rvs"):
        return _from_scipy(proposal, dim, label)
    if all(callable(getattr(proposal, name, None)) for name in ("sample", "logdensity")):
        return Proposal(proposal.sample, proposal.logdensity, dim, label)
    rule = "sample and logdensity, as a frozen scipy.stats one has"
    raise BayeslibTypeError(f"the proposal {label} needs {rule}")


def check_frozen(dist, called):
    """Raise for a distribution of `scipy.stats` that has no parameters yet."""
    # scipy names the classes of its generic, unfrozen families norm_gen, gamma_gen, …
    if isinstance(dist, type) or type(dist).__name__.endswith("_gen"):
        raise BayeslibTypeError(f"{called} is not frozen: call it, as in scipy.stats.norm(0, 1)")


def _from_scipy(dist, dim, label):
    check_frozen(dist, f"the proposal {label}")
    if not hasattr(dist, "logpdf"):
        raise BayeslibTypeError(f"the proposal {label} is discrete; a continuous one is needed")
    if not hasattr(dist, "args"):  # the multivariate families keep theirs elsewhere
        density = dist.logpdf
        if type(dist).__name__ == "dirichlet_frozen":  # alone among all, it takes points as columns

            def density(x):
                inside = (x >= 0.0).all(axis=1) & (np.abs(x.sum(axis=1) - 1.0) < 1e-10)
                found = np.full(len(x), -np.inf)
                if inside.any():
                    found[inside] = dist.logpdf(x[inside].T)
                return found

        return Proposal(lambda n, rng: dist.rvs(size=n, random_state=rng), density, dim, label)
    shape = np.broadcast_shapes(*(np.shape(p) for p in (*dist.args, *dist.kwds.values())))
    if np.prod(shape) != dim:
        raise BayeslibError(f"the proposal {label} needs parameters of shape ({dim},), got {shape}")
    return Proposal(
        lambda n, rng: dist.rvs(size=(n, dim), random_state=rng),
        lambda x: dist.logpdf(x).sum(axis=1), dim, label,
    )  # fmt: skip


def _label(proposal):
    if hasattr(getattr(proposal, "dist", None), "name"):
        parameters = [*map(str, proposal.args), *(f"{k}={v}" for k, v in proposal.kwds.items())]
        return f"{proposal.dist.name}({', '.join(parameters)})"
    return proposal.__name__ if isinstance(proposal, type) else type(proposal).__name__
