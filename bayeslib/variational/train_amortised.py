"""Amortised inference: a network is trained once, for all data, and then infers at a glance."""

from dataclasses import dataclass

import numpy as np

from ..errors import BayeslibError, BayeslibTypeError, warn
from ..results import Gaussian
from ..results.coordinates import Transform, as_transform
from ..target import as_names
from ..validate import as_choice, as_count, as_position, as_positive, as_rng, as_rows, check_finite
from ..waiting import watched
from .gaussian_family import FAMILIES
from .training import Trainer, as_inputs, as_joint, gaussians, simulated

_UNSEEN = 10  # fewer simulations than this beyond a datum make it unusual
_OBJECTIVES = ("simulations", "elbo")
_MOST_DENSE = 20  # dimensions of a full covariance


@dataclass(frozen=True, repr=False, eq=False)
class Amortised:
    """A trained recognition network: data in, an approximate posterior out.

    Made by `train_amortised`. It can be saved with Python's pickle.

    Attributes
    ----------
    layers : list of numpy.ndarray
        Weights (inputs, outputs) and biases (outputs,) in turn.
    names : tuple of str
    transform : Transform or None
        To unconstrained coordinates; None when they are the parameters.
    dense : bool
        Whether the family is "fullrank".
    centre, spread : numpy.ndarray, shape (dim,)
        Of the simulated parameters in unconstrained coordinates, in which units the network works.
    data_centre, data_spread, data_low, data_high : numpy.ndarray, shape (k,)
        Medians and robust standard deviations of the simulated data; and the limits beyond which
        fewer than ten simulations lay.
    loss_trace : numpy.ndarray, shape (num_steps,)
        What each step minimised, in nats: minus the batch's mean of log q, or of the evidence
        lower bound; in unconstrained coordinates.
    validation_trace : numpy.ndarray, shape (m,)
        The same of simulations held back from training, as the training went.
    num_evals : int
        Simulations, and for the objective "elbo" evaluations of the joint density.
    settings : dict
        What was asked for.
    problems : tuple of str
        What speaks against it, see Warns of `train_amortised`.

    Examples
    --------
    >>> def simulate(n, rng):
    ...     theta = rng.normal(size=n)
    ...     return theta, rng.normal(theta, 1.0)
    >>> network = bl.train_amortised(simulate, num_steps=200, rng=1)
    >>> means, sds = network.predict([-1.0, 0.0, 1.0])
    >>> print(means.shape, (np.diff(means[:, 0]) > 0).all(), sds.round(1).ravel())
    (3, 1) True [0.7 0.7 0.7]
    """

    layers: list
    names: tuple
    transform: Transform | None
    dense: bool
    centre: np.ndarray
    spread: np.ndarray
    data_centre: np.ndarray
    data_spread: np.ndarray
    data_low: np.ndarray
    data_high: np.ndarray
    loss_trace: np.ndarray
    validation_trace: np.ndarray
    num_evals: int
    settings: dict
    problems: tuple = ()

    @property
    def dim(self):
        """The number of parameters."""
        return self.centre.size

    def posterior(self, y):
        """Return the approximate posterior of one data set.

        Parameters
        ----------
        y : float or array_like, shape (k,)

        Returns
        -------
        Gaussian
            Not judged for this `y`: if you have a density, correct it as in the example of
            `laplace`. Its ``num_evals`` is 0: the cost was paid in training.

        Raises
        ------
        BayeslibError
            When `y` has another shape, or is not finite.

        Warns
        -----
        BayeslibWarning
            When fewer than ten simulations were as extreme as `y` in some entry: the network was
            hardly taught there.
        """
        y = as_position(y, "y", self.data_centre.size)
        means, factors = self._gaussians(y[None])
        problems = tuple(self._unusual(y))
        warn(*problems)
        return Gaussian(
            means[0], factors[0] @ factors[0].T,
            names=self.names, method="train_amortised", transform=self.transform,
            settings=dict(self.settings), problems=(*self.problems, *problems),
        )  # fmt: skip

    def predict(self, data):
        """Return means and standard deviations of many posteriors, in unconstrained coordinates.

        Parameters
        ----------
        data : array_like, shape (n, k)
            (n,) too when k is 1.

        Returns
        -------
        means, sds : numpy.ndarray, shape (n, dim)
            A positive parameter's are those of its logarithm: `posterior` knows the way back. Those
            of data beyond `data_low` or `data_high` come without its warning.
        """
        data = as_rows(data, "data", self.data_centre.size)
        check_finite(data, "data")
        means, factors = self._gaussians(data)
        return means, np.sqrt(np.square(factors).sum(axis=2))

    def _gaussians(self, data):
        inputs = as_inputs(data, self.data_centre, self.data_spread)
        means, factors = gaussians(self.layers, inputs, self.dim)
        return self.centre + self.spread * means, self.spread[:, None] * factors

    def _unusual(self, y):
        for i in np.flatnonzero((y < self.data_low) | (y > self.data_high))[:1]:
            found = f"y[{i}]={y[i]:g} lies outside [{self.data_low[i]:g}, {self.data_high[i]:g}]"
            yield f"{found}: the network was hardly taught there; fit this y by itself"

    def __repr__(self):
        size = self.data_centre.size
        return f"Amortised(dim={self.dim}, data={size}, num_evals={self.num_evals})"


@watched()
def train_amortised(
    simulate,
    *,
    num_simulations=20_000,
    hidden=(32,),
    family="meanfield",
    objective="simulations",
    joint=None,
    num_steps=3000,
    batch_size=256,
    step_size=0.01,
    support=None,
    names=None,
    progress=None,
    rng,
):
    """Train a network that maps data to an approximate posterior, for all data at once.

    Parameters
    ----------
    simulate : callable
        simulate(num_simulations, rng) -> (thetas, data): parameters from the prior, (n, dim) or
        (n,), and for each a data set, (n, k) or (n,).
    num_simulations : int
        At least 100. A tenth of them, at most 2000, is held back to validate.
    hidden : tuple of int
        Units of each hidden layer; their activation is tanh.
    family : {"meanfield", "fullrank"}
        A Gaussian of unconstrained coordinates: independent ones ("meanfield"), whose lost
        correlations are not judged, or with any covariance ("fullrank", up to 20 parameters).
    objective : {"simulations", "elbo"}
        "simulations" maximises the mean of log q(theta | y) over simulated pairs, so that q covers
        the posterior: neural posterior estimation. "elbo" maximises the mean over the simulated y
        of the evidence lower bound, and is as narrow as variational inference; it needs `joint`.
    joint : Target, optional
        log p(theta, y), with a gradient, of one vector of dim + k numbers: theta, then y. Its
        support is theta's, and unbounded for y.
    num_steps : int
        Steps of Adam.
    batch_size : int
        Pairs in each step.
    step_size : float
        Of Adam's first step; it falls to zero in a straight line.
    support : sequence of (low, high), optional
        Of theta, as `Target` has it.
    names : sequence of str, optional
        Of the parameters; else ``theta``, or ``theta[0]`` and so on.
    progress : bool, optional
        None shows a bar on runs of more than about two seconds.
    rng : int, Generator, SeedSequence or None

    Returns
    -------
    Amortised
        Its method ``posterior(y)`` gives a `Gaussian`.

    Raises
    ------
    BayeslibTypeError
        When `simulate` is no function, or returns no pair of numbers.
    BayeslibError
        For arguments out of range, each named; when simulations are not finite or of unequal
        number, or a theta lies outside the support.
    TargetError
        When the joint density is not finite at a draw.

    Warns
    -----
    BayeslibWarning
        For what is listed in ``problems``; simulations that were held back from the training show

        - overfitting: they are predicted over 0.05 nats worse than earlier in the training;
        - posteriors too narrow or too wide by a factor of 1.2, or off by 0.45 standard deviations
          (a 90% interval of a Gaussian posterior then holds 83%, 95% or 87%), if that is five
          standard errors from right. Judged are all simulations, and quarters of them, sorted by a
          datum or by the network's own mean or spread. For "too wide", errors are first regressed
          on the data: else a bias of the means would make a spread look right.

    Notes
    -----
    The network sees ``3 * arcsinh(u / 3)`` of ``u = (y - median) / spread``, spread being the
    quartiles' distance over 1.349, so that a few huge data do not drown the rest; parameters are
    standardised in unconstrained coordinates. Gradients are exact.

    Draw order: what `simulate` draws; standard normals for each layer's weights (inputs × outputs)
    and, but for the last layer, its biases; for "elbo" the normals of the validation; then for each
    pass over the training pairs a permutation of them, taken in batches (a last, shorter one is
    left out), for "elbo" followed in each step by batch_size × dim standard normals.

    References
    ----------
    Gershman and Goodman (2014), "Amortized inference in probabilistic reasoning". Papamakarios and
    Murray (2016), "Fast ε-free inference of simulation models with Bayesian conditional density
    estimation", for "simulations"; Kingma and Welling (2014), "Auto-encoding variational Bayes",
    for "elbo".

    Examples
    --------
    >>> def simulate(n, rng):
    ...     theta = rng.normal(size=n)
    ...     return theta, rng.normal(theta, 1.0)
    >>> network = bl.train_amortised(simulate, num_steps=500, rng=1)
    >>> for y in (-1.0, 0.0, 2.0):  # the posteriors are N(y / 2, 1 / 2)
    ...     q = network.posterior(y)
    ...     print(y / 2, q.mean.round(1), q.cov.round(1))
    -0.5 [-0.5] [[0.5]]
    0.0 [0.] [[0.5]]
    1.0 [1.] [[0.5]]
    """
    num_simulations = as_count(num_simulations, "num_simulations", minimum=100)
    num_steps = as_count(num_steps, "num_steps")
    batch_size = as_count(batch_size, "batch_size")
    step_size = as_positive(step_size, "step_size")
    if not isinstance(hidden, (tuple, list)) or not hidden:
        raise BayeslibTypeError(f"hidden must be a tuple of sizes such as (32,), got {hidden!r}")
    hidden = tuple(as_count(units, f"hidden[{i}]") for i, units in enumerate(hidden))
    dense = as_choice(family, "family", FAMILIES) == "fullrank"
    elbo = as_choice(objective, "objective", _OBJECTIVES) == "elbo"
    if elbo != (joint is not None):
        raise BayeslibError('objective="elbo" needs joint, and "simulations" takes none')
    rng, seed = as_rng(rng)
    thetas, data = simulated(simulate, num_simulations, rng)
    dim, size = thetas.shape[1], data.shape[1]
    if dense and dim > _MOST_DENSE:
        raise BayeslibError(f'family="fullrank" takes up to {_MOST_DENSE} parameters, got {dim}')
    names = as_names(names, dim)
    transform = as_transform(support, dim)
    free = as_joint(joint, transform, dim, size) if elbo else None
    trainer = Trainer(
        transform.unconstrain(thetas), data, rng, names=names, hidden=hidden, dense=dense,
        free=free, batch_size=batch_size,
    )  # fmt: skip
    trainer.run(num_steps, step_size, rng)
    edges = np.sort(data, axis=0)
    trained = Amortised(
        trainer.layers, names, None if transform.is_identity else transform, dense,
        trainer.centre, trainer.spread, trainer.data_centre, trainer.data_spread,
        edges[_UNSEEN - 1], edges[-_UNSEEN], np.array(trainer.loss), np.array(trainer.validation),
        num_simulations + trainer.num_evals,
        settings={
            "num_simulations": num_simulations, "hidden": hidden, "family": family,
            "objective": objective, "num_steps": num_steps, "batch_size": trainer.batch_size,
            "step_size": step_size, "seed": seed,
        },
        problems=tuple(trainer.problems(num_steps)),
    )  # fmt: skip
    warn(*trained.problems)
    return trained
