"""What amortised inference trains: a network that infers at a glance."""

from dataclasses import dataclass

import numpy as np

from ..errors import warn
from ..results import Gaussian
from ..results.coordinates import Transform
from ..validate import as_position, as_rows, check_finite
from .network import gaussians
from .training import as_inputs

UNSEEN = 10  # fewer simulations than this beyond a datum make it unusual


@dataclass(frozen=True, repr=False, eq=False)
class Amortised:
    """A trained recognition network: data in, an approximate posterior out.

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
    problems : tuple of str

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
            Its ``num_evals`` is 0: the cost was paid in training.

        Raises
        ------
        BayeslibError
            When `y` has another shape, or is not finite.

        Warns
        -----
        BayeslibWarning
            When fewer than ten simulations were as extreme as `y` in some entry: what the network
            says there, it was hardly taught.
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
            yield (
                f"y[{i}]={y[i]:g} lies outside [{self.data_low[i]:g}, {self.data_high[i]:g}], "
                f"beyond which fewer than {UNSEEN} simulations lay: the network was hardly taught "
                "there, and tends to react too little; fit this y by itself"
            )

    def __repr__(self):
        return (
            f"Amortised(dim={self.dim}, data={self.data_centre.size}, num_evals={self.num_evals})"
        )
