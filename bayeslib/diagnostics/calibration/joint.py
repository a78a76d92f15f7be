"""Geweke's test: two ways to draw parameters and data together that must agree."""

from dataclasses import dataclass

import numpy as np
from scipy import special

from ...validate import as_count, as_rng, check_shape
from .shared import Judged, Simulator, as_vector, until_interrupt


@dataclass(frozen=True, repr=False)
class JointTest(Judged):
    """What a joint distribution test found.

    Returned by `geweke_test`, not imported.

    Attributes
    ----------
    names : tuple of str
        One for each quantity.
    forward : numpy.ndarray, shape (num_chains * num_steps, k)
        The quantities of independent draws of parameters and data.
    chains : numpy.ndarray, shape (num_chains, num_steps, k)
        Those of the chains that alternate between the sampler and the simulator.
    t : numpy.ndarray, shape (k, 2)
        How many standard errors the chains' ranks among the forward draws are too high, and too
        far out; nearly Student's t of num_chains - 1 degrees of freedom if the sampler is right.
        The second is negative where the chains are too narrow: unlike ``z`` of
        `simulation_based_calibration`, ranks are of the chains' draws, not of the truth.
    pvalues : numpy.ndarray, shape (k, 2)
        Two-sided, of each `t`, and corrected for nothing, unlike `pvalue` and the ``pvalues`` of
        `simulation_based_calibration`.
    pvalue : float
        The smallest times their number (Bonferroni), at most 1: the test's own.
    problems : tuple of str
        The quantities with a p-value below 0.001 after Bonferroni, and how they differ; and an
        interrupt.
    interrupted : bool
        Whether ``chains`` are only those done until an interrupt.

    Examples
    --------
    >>> test = bl.geweke_test(
    ...     lambda rng: rng.normal(),
    ...     lambda theta, rng: rng.normal(theta),
    ...     lambda theta, y, rng: rng.normal(y / 2.0, 0.5),  # too narrow
    ...     names=["mu"], num_steps=20, rng=1,
    ... )
    >>> print(test)
    joint test: 100 chains of 20 steps
         t centre   t spread          p
    mu     -0.222      -9.51    1.3e-15
    ! mu is too narrow in the chains (t = -9.5): sampler and model disagree
    >>> print(test.forward.shape, test.chains.shape)
    (2000, 1) (100, 20, 1)
    """

    names: tuple
    forward: np.ndarray
    chains: np.ndarray
    t: np.ndarray
    pvalues: np.ndarray
    interrupted: bool = False

    @property
    def problems(self):
        found = []
        if self.interrupted:
            found.append(f"interrupted: these are the first {len(self.chains)} chains")
        for i, j in self._alarming:
            name, t = self.names[i], self.t[i, j]
            how = [("low", "high"), ("narrow", "wide")][j][int(t > 0.0)]
            wrong = f"{name} is too {how} in the chains (t = {t:.1f})"
            found.append(f"{wrong}: sampler and model disagree")
        return tuple(found)

    def __repr__(self):
        chains, steps = self.chains.shape[:2]
        return self._table(f"joint test: {chains} chains of {steps} steps", "t", self.t)


def geweke_test(
    sample_prior,
    simulate,
    transition,
    *,
    quantities=None,
    names=None,
    num_chains=100,
    num_steps=100,
    rng,
):
    """Test whether a sampler and its model agree on parameters and data jointly.

    Parameters and data are drawn in two ways: independently, from the prior and then from the
    simulator; and by chains that start like that and go on by turns, the sampler moving the
    parameters given the data, the simulator making new data given the parameters. Both have the
    same distribution if the sampler leaves the posterior invariant. So one that stands still
    passes, a wrong one that is slow may (`ess` shows how slow), and so does a mistake that
    simulator and sampler share.

    Parameters
    ----------
    sample_prior : callable
        ``sample_prior(rng)`` returns theta, a number or (dim,); handed on as (dim,) either way.
    simulate : callable
        ``simulate(theta, rng)`` returns data, anything.
    transition : callable
        ``transition(theta, data, rng)`` returns theta after one or more steps of the sampler, of
        fixed settings: a warm-up, which adapts, need not leave the posterior invariant.
    quantities : callable, optional
        ``quantities(theta, data)`` returns a number or (k,), finite: what is compared besides the
        parameters. Functions of the data, as the log likelihood, find what parameters hide.
    names : sequence of str, optional
        One for each parameter and quantity.
    num_chains : int
        At least 10. Chains are independent, which gives the standard error.
    num_steps : int
        Of each chain. Long enough to move far: a wrong sampler departs from the truth step by step.
    rng : int, Generator, SeedSequence or None

    Returns
    -------
    JointTest
        ``pvalue``, ``problems``; printing it shows a table. What is wrong stands in ``problems``
        and is not warned of. An interrupt returns what was done until then, when that is at least
        10 chains; an error has it as its ``partial``.

    Raises
    ------
    BayeslibTypeError
        When an argument is no function, or one does not return numbers.
    BayeslibError
        When what is returned is not finite, or changes its shape.

    Notes
    -----
    Time: that of num_chains * num_steps transitions. As for `simulation_based_calibration`, let a
    `Target` have its ``data``, lest it be compiled anew in each.

    Each quantity is replaced by its rank among the forward draws, u in [0, 1], so that heavy tails
    do no harm; the means of u and of ``(2 * u - 1)**2`` are compared. Chains are read after each
    transition: the new parameters with the data they were drawn for. Nothing is thrown away, as
    chains start from the distribution that they should keep.

    Draw order: ``rng.spawn(num_chains + 1)``. The first generator makes num_chains * num_steps
    forward draws, prior then data each; every other one a chain: prior, then by turns data and
    transition.

    References
    ----------
    Geweke (2004), "Getting it right: joint distribution tests of posterior simulators".

    Examples
    --------
    >>> def sample_prior(rng):
    ...     return rng.normal()
    >>> def simulate(theta, rng):
    ...     return rng.normal(theta, 1.0)
    >>> def exact(theta, y, rng):  # the posterior is N(y / 2, 1 / 2)
    ...     return rng.normal(y / 2.0, np.sqrt(0.5))
    >>> def narrow(theta, y, rng):
    ...     return rng.normal(y / 2.0, 0.5)
    >>> for move in (exact, narrow):
    ...     test = bl.geweke_test(sample_prior, simulate, move, num_steps=20, rng=1)
    ...     print(move.__name__, test.pvalue > 0.001, len(test.problems))
    exact True 0
    narrow False 1

    A sampler of the library, one transition a call, in too few chains to find much:

    >>> def logdensity(theta, y):
    ...     return -0.5 * theta[0] ** 2 - 0.5 * np.sum((y - theta[0]) ** 2)
    >>> def walk(theta, y, rng):
    ...     target = bl.Target(logdensity, dim=1, data=(y,))
    ...     once = dict(num_samples=1, num_warmup=0, num_chains=1, scale=1.0)
    ...     return bl.metropolis(target, theta[None], **once, rng=rng).flat[0]
    >>> few = dict(num_chains=10, num_steps=20)
    >>> test = bl.geweke_test(sample_prior, simulate, walk, **few, rng=1)
    >>> print(test.problems)
    ()
    """
    simulator = Simulator(sample_prior, simulate, quantities, names, transition=transition)
    num_chains = as_count(num_chains, "num_chains", minimum=10)
    num_steps = as_count(num_steps, "num_steps")
    rng, _ = as_rng(rng)
    first, *others = rng.spawn(num_chains + 1)
    num_draws = num_chains * num_steps
    forward = np.array([simulator.values(*simulator.draw(first)) for _ in range(num_draws)])
    runs = (_chain(simulator, transition, num_steps, own) for own in others)

    def judged(chains, interrupted):
        chains = np.array(chains)
        t = np.array([_compare(forward[:, i], chains[:, :, i]) for i in range(forward.shape[1])])
        pvalues = 2.0 * special.stdtr(len(chains) - 1, -np.abs(t))
        return JointTest(simulator.names, forward, chains, t, pvalues, interrupted)

    return until_interrupt(runs, 10, "chain {} of Geweke's test", judged)


def _chain(simulator, transition, num_steps, rng):
    theta, data = simulator.draw(rng)
    rows = []
    for step in range(num_steps):
        if step > 0:
            data = simulator.simulate(theta, rng)
        shape, theta = theta.shape, as_vector(transition(theta.copy(), data, rng), "transition")
        check_shape(theta, "transition", shape, f"return theta of shape {shape}")
        rows.append(simulator.values(theta, data))
    return rows


def _compare(forward, chains):
    """t of the chains' mean rank and mean squared distance from the middle, (2,)."""
    ordered = np.sort(forward)

    def scores(x):
        below, upto = (np.searchsorted(ordered, x, side) for side in ("left", "right"))
        u = (0.5 * (below + upto)) / ordered.size
        return np.stack([u, (2.0 * u - 1.0) ** 2])

    expected, found = scores(forward), scores(chains).mean(axis=-1)
    variance = found.var(axis=-1, ddof=1) / len(chains) + expected.var(axis=-1) / forward.size
    change = found.mean(axis=-1) - expected.mean(axis=-1)
    return np.divide(change, np.sqrt(variance), out=np.zeros(2), where=variance > 0.0)
