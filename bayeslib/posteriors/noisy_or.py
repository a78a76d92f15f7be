"""Diagnosis: which diseases explain the findings, in a noisy-OR network."""

from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from scipy import special

from ..errors import BayeslibError
from ..target import Truth, as_names
from ..validate import as_floats, as_rows, check_each, check_fits, check_memory

_MOST_DISEASES = 20


@dataclass(frozen=True, eq=False, repr=False)
class NoisyOr:
    """Binary diseases and the findings that they cause, each independently of the others.

    A finding is absent when the leak and every disease that is present fail to cause it:
    ``p(absent | d) = (1 - leak) prod_j (1 - strength_j)**d_j`` (Pearl 1988, "Probabilistic
    reasoning in intelligent systems").

    Attributes
    ----------
    findings : numpy.ndarray, shape (num_findings,)
        1 where present, 0 where absent.
    prior : numpy.ndarray, shape (dim,)
        Probability of each disease.
    strengths : numpy.ndarray, shape (num_findings, dim)
        Probability that a disease alone causes a finding.
    leak : numpy.ndarray, shape (num_findings,)
        Probability of the finding when there is no disease.
    names : tuple of str

    Examples
    --------
    >>> model = bl.posteriors.noisy_or([1], [0.1, 0.2], strengths=[[0.8, 0.3]])
    >>> model.names
    ('disease[0]', 'disease[1]')
    >>> model.hypotheses().tolist()
    [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
    >>> print(np.exp(model.many(model.hypotheses())).round(4))
    [0.0072 0.0553 0.0642 0.0172]
    """

    findings: np.ndarray
    prior: np.ndarray
    strengths: np.ndarray
    leak: np.ndarray
    names: tuple = ()

    @property
    def dim(self):
        """The number of diseases."""
        return self.prior.size

    def log_joint(self, diseases):
        """Log prior + log likelihood of one set of diseases, (dim,) of 0 and 1."""
        return float(self.many(np.reshape(diseases, (1, -1)))[0])

    def many(self, diseases):
        """The same for each row of `diseases`, shape (n, dim); -inf for the impossible."""
        diseases = as_rows(diseases, "diseases", self.dim)
        check_each(diseases, "diseases", "0 or 1", np.isin(diseases, (0.0, 1.0)))
        log_prior = special.xlogy(diseases, self.prior)
        log_prior += special.xlog1py(1.0 - diseases, -self.prior)
        log_absent = np.log1p(-self.leak) + diseases @ np.log1p(-self.strengths).T
        with np.errstate(divide="ignore"):
            log_present = np.log(-np.expm1(log_absent))
        log_likelihood = np.where(self.findings == 1.0, log_present, log_absent)
        return log_prior.sum(axis=1) + log_likelihood.sum(axis=1)

    def hypotheses(self):
        """Every set of diseases, shape (2**dim, dim), in the order of binary numbers."""
        if self.dim > _MOST_DISEASES:
            found = f"{self.dim} diseases make 2**{self.dim} hypotheses"
            raise BayeslibError(f"{found}; at most {_MOST_DISEASES} can be enumerated: sample them")
        check_memory((2**self.dim, self.dim), "the hypotheses")
        return np.indices((2,) * self.dim).reshape(self.dim, -1).T.astype(float, order="C")

    @cached_property
    def truth(self):
        """The `Truth` by enumeration; its mean is the probability of each disease.

        Quantiles are left out.

        Raises
        ------
        BayeslibError
            For more than 20 diseases, and for findings that nothing can have caused.
        """
        hypotheses = self.hypotheses()
        log_joint = self.many(hypotheses)
        log_evidence = special.logsumexp(log_joint)
        if log_evidence == -np.inf:
            raise BayeslibError("no diseases can have caused these findings; give a leak above 0")
        probabilities = np.exp(log_joint - log_evidence)
        probabilities /= probabilities.sum()
        mean = probabilities @ hypotheses
        centred = hypotheses - mean
        return Truth(
            mean=mean, cov=(centred.T * probabilities) @ centred, log_evidence=float(log_evidence),
            sample=partial(_sample, hypotheses, probabilities),
        )  # fmt: skip

    def __repr__(self):
        present = int(self.findings.sum())
        return f"NoisyOr({self.dim} diseases, {present} of {self.findings.size} findings present)"


def noisy_or(findings, prior, strengths, *, leak=0.01, names=None):
    """Diagnosis with a noisy-OR network: a posterior over 2**dim sets of diseases.

    Parameters
    ----------
    findings : array, shape (num_findings,)
        1 where present, 0 where absent; what was not looked for is left out.
    prior : array, shape (dim,)
        Probability of each disease, independent of the others.
    strengths : array, shape (num_findings, dim)
        Probability, below 1, that a disease alone causes a finding.
    leak : float or array, shape (num_findings,)
        Probability, below 1, of a finding without any of the diseases.
    names : sequence of str, optional
        Of the diseases; "disease[0]" and so on.

    Returns
    -------
    NoisyOr
        ``log_joint`` and ``hypotheses()`` for `enumerate_posterior`, ``truth`` for comparison.

    Raises
    ------
    BayeslibError
        For shapes that do not agree, findings other than 0 and 1, or probabilities outside their
        range.

    Examples
    --------
    >>> model = bl.posteriors.noisy_or(
    ...     findings=[1, 0], prior=[0.1, 0.2],
    ...     strengths=[[0.8, 0.3], [0.1, 0.9]], names=["cold", "flu"],
    ... )
    >>> posterior = bl.enumerate_posterior(model.log_joint, model.hypotheses())
    >>> print(posterior.expect().value.round(4), model.truth.mean.round(4))
    [0.8233 0.0983] [0.8233 0.0983]
    """
    findings, prior = as_floats(findings, "findings"), as_floats(prior, "prior")
    strengths, leak = as_floats(strengths, "strengths"), as_floats(leak, "leak")
    fits = findings.ndim == prior.ndim == 1 and strengths.shape == (findings.size, prior.size)
    rule = "have shape (len(findings), len(prior)), with one disease at least"
    given = f" for {findings.shape} and {prior.shape}"
    check_fits(fits and prior.size, strengths, "strengths", rule, given)
    check_fits(leak.shape in ((), findings.shape), leak, "leak", f"be a number or {findings.shape}")
    check_each(findings, "findings", "0 or 1", np.isin(findings, (0.0, 1.0)))
    check_each(prior, "prior", "from 0 to 1", (prior >= 0.0) & (prior <= 1.0))
    for array, name in ((strengths, "strengths"), (leak, "leak")):
        check_each(array, name, "from 0 to below 1", (array >= 0.0) & (array < 1.0))
    names = as_names(names or [f"disease[{j}]" for j in range(prior.size)], prior.size)
    leak = np.broadcast_to(leak, findings.shape).copy()
    return NoisyOr(findings, prior, strengths, leak, names)


def _sample(hypotheses, probabilities, num_samples, rng):
    rng = np.random.default_rng(rng)
    return hypotheses[rng.choice(len(hypotheses), size=num_samples, p=probabilities)]
