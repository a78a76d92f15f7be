"""Posteriors over finitely many hypotheses, by enumeration."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from scipy import special

from ..errors import BayeslibError, BayeslibTypeError
from ..results import Estimate, Summary
from ..results.rows import apply_rows
from ..results.summary import Summarised
from ..validate import as_array, as_count, as_floats, as_rng, check_shape, frozen

_LISTED = 10


@dataclass(frozen=True, repr=False)
class Enumeration(Summarised):
    """A posterior over a finite list of hypotheses, exact.

    Attributes
    ----------
    hypotheses : numpy.ndarray, shape (n,) or (n, k)
        One row for each hypothesis.
    probabilities : numpy.ndarray, shape (n,)
        Sum to 1.
    log_evidence : Estimate
        Without error.
    num_evals : int
        One for each hypothesis.
    method : str
        "enumerate_posterior".

    Examples
    --------
    >>> log_joint = [-1.0, -2.0, -np.inf]
    >>> posterior = bl.enumerate_posterior(log_joint, ["cold", "flu", "neither"])
    >>> print(posterior.summary())
    enumerate_posterior: 3 hypotheses
             probability
    cold          0.7311
    flu           0.2689
    neither            0
    >>> round(posterior["flu"], 4)
    0.2689
    >>> np.unique(posterior.sample(100, rng=1)).tolist()
    ['cold', 'flu']
    """

    hypotheses: np.ndarray
    probabilities: np.ndarray
    log_evidence: Estimate
    num_evals: int
    method: str = field(default="enumerate_posterior", init=False)

    def __getitem__(self, hypothesis):
        """The posterior probability of one hypothesis, summed where it is listed twice.

        Raises
        ------
        BayeslibError
            For a hypothesis that is not in the list.
        """
        rows = self.hypotheses.reshape(len(self.hypotheses), -1)
        wanted = _array(hypothesis).ravel()
        same = np.all(rows == wanted, axis=1) if wanted.size == rows.shape[1] else np.zeros(1)
        if not same.any():
            raise BayeslibError(f"{hypothesis!r} is not among the {len(rows)} hypotheses")
        return float(self.probabilities[same].sum())

    def expect(self, f=None):
        """The exact posterior expectation of `f`.

        Parameters
        ----------
        f : callable, optional
            Takes all `hypotheses` at once, returns (n,) or (n, k); or takes one, and returns a
            number or k numbers; see `Draws.expect`. None is the identity, for hypotheses that
            are numbers.

        Returns
        -------
        Estimate
            Without error.
        """
        if f is None:
            results = as_floats(self.hypotheses, "hypotheses")
        else:
            results = apply_rows(f, self.hypotheses).astype(float)
        # a hypothesis that is impossible may have an infinite f
        possible = self.probabilities > 0.0
        value = self.probabilities[possible] @ results[possible]
        return Estimate(value, np.zeros_like(value), self.num_evals)

    def sample(self, num_samples, rng):
        """Draw hypotheses with their probabilities, shape (num_samples,) or (num_samples, k).

        Draw order: ``rng.choice(n, size=num_samples, p=probabilities)``, one uniform each.
        """
        num_samples = as_count(num_samples, "num_samples")
        rng, _ = as_rng(rng)
        index = rng.choice(self.probabilities.size, size=num_samples, p=self.probabilities)
        return self.hypotheses[index]

    def summary(self):
        """The most probable hypotheses and their probabilities, as a `Summary`."""
        order = np.argsort(-self.probabilities, kind="stable")[:_LISTED]
        rows = {str(self.hypotheses[i]): (float(self.probabilities[i]),) for i in order}
        title = f"{self.method}: {self.probabilities.size:,} hypotheses"
        if len(order) < self.probabilities.size:
            title += f", the {len(order)} most probable"
        return Summary(title, ("probability",), rows)

    def __repr__(self):
        best = int(np.argmax(self.probabilities))
        likeliest = f"{self.hypotheses[best]!s}: {self.probabilities[best]:.6g}"
        return f"Enumeration({self.probabilities.size} hypotheses, most probable {likeliest})"


def enumerate_posterior(log_joint, hypotheses):
    """Apply Bayes' rule to every hypothesis in a list.

    Parameters
    ----------
    log_joint : callable or array, shape (n,)
        ``log_joint(hypothesis)`` is log prior + log likelihood of one hypothesis, -inf when it is
        impossible; or all their values.
    hypotheses : sequence or other iterable of n hypotheses
        Numbers, strings, or equally long tuples or rows. They must exclude each other.

    Returns
    -------
    Enumeration
        ``probabilities``, ``log_evidence``, ``expect`` and ``sample``.

    Raises
    ------
    BayeslibError
        When there is no hypothesis, a value is nan or +inf, or all are -inf.

    Examples
    --------
    >>> def log_joint(p):  # 8 heads, 2 tails; three coins, equally likely at first
    ...     return np.log(1 / 3) + 8 * np.log(p) + 2 * np.log(1 - p)
    >>> posterior = bl.enumerate_posterior(log_joint, [0.3, 0.5, 0.8])
    >>> print(posterior.probabilities.round(4), round(posterior[0.8], 4))
    [0.0042 0.1265 0.8693] 0.8693
    >>> print(posterior.expect(lambda p: p > 0.4))
    0.995835 ± 0
    """
    if isinstance(hypotheses, Iterable) and not isinstance(hypotheses, (str, np.ndarray)):
        hypotheses = list(hypotheses)
    hypotheses = _array(hypotheses)
    if hypotheses.ndim == 0 or len(hypotheses) == 0:
        raise BayeslibError(f"hypotheses must be a sequence of at least one, got {hypotheses!r}")
    if callable(log_joint):
        log_joint = np.array([_value(log_joint, h) for h in frozen(hypotheses)])
    log_joint, size = as_floats(log_joint, "log_joint"), len(hypotheses)
    check_shape(log_joint, "log_joint", (size,), f"have shape ({size},), as hypotheses")
    bad = np.flatnonzero(~(log_joint < np.inf))  # nan too
    if bad.size:
        found = f"{log_joint[bad[0]]} for {hypotheses[bad[0]]!s}"
        raise BayeslibError(f"log_joint must be finite or -inf, got {found}")
    log_evidence = special.logsumexp(log_joint)
    if log_evidence == -np.inf:
        raise BayeslibError("log_joint is -inf for every hypothesis: none can have made the data")
    probabilities = np.exp(log_joint - log_evidence)
    probabilities /= probabilities.sum()
    return Enumeration(hypotheses, probabilities, Estimate(log_evidence, 0.0, size), size)


def _array(values):
    """Return an array, of objects where NumPy would turn numbers beside text into text."""
    array = as_array(values, "hypotheses")
    if array.dtype.kind in "US" and array is not values:
        objects = np.asarray(values, dtype=object)
        if not all(isinstance(value, (str, bytes)) for value in objects.flat):
            return objects
    return array


def _value(log_joint, hypothesis):
    value = log_joint(hypothesis)
    if np.ndim(value) != 0 or isinstance(value, (bool, np.bool_)):
        raise BayeslibTypeError(f"log_joint must return a number, got {value!r} for {hypothesis!s}")
    return value
