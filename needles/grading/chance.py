"""Answers that differ from run to run: estimates and samples, judged by their standard errors."""

from dataclasses import dataclass

from bayeslib.results import Draws, Estimate

from .answers import UnreadableError, as_numbers, described, evaluate

TOLERANCE = 5.0  # standard errors; P(|z| > 5) = 5.7e-7


@dataclass(frozen=True)
class Statistical:
    """An `Estimate` of a known number: it must agree with it, and be precise enough.

    Parameters
    ----------
    truth : float or callable without arguments
    max_mcse : float
        The largest standard error that will do.
    max_evals : int, optional
        The most evaluations that the estimate may have cost.
    """

    truth: object
    max_mcse: float
    max_evals: int | None = None

    @property
    def precision(self):
        """What accuracy is asked for, as a sentence."""
        return f"An Estimate with an error of at most {self.max_mcse:g} will do."

    def example(self):
        """Return a right answer."""
        return Estimate(evaluate(self.truth), self.max_mcse / 2)

    def read(self, answer):
        """Return (value, mcse)."""
        if not (hasattr(answer, "value") and hasattr(answer, "mcse")):
            raise UnreadableError(
                "This asks for an Estimate (value and mcse), such as what draws.expect(f) returns, "
                f"and you gave {described(answer)}."
            )
        value = as_numbers(answer.value, ())
        mcse = as_numbers(answer.mcse, ())
        if mcse <= 0:
            raise UnreadableError(f"A standard error of {mcse:g} cannot be: it must be positive.")
        num_evals = getattr(answer, "num_evals", 0)
        if self.max_evals is not None and num_evals > self.max_evals:
            raise UnreadableError(
                f"That took {num_evals:,} evaluations; at most {self.max_evals:,} are allowed."
            )
        return float(value), float(mcse)

    def is_right(self, answer):
        """Whether the error bar is small enough and covers the truth."""
        return answer[1] <= self.max_mcse and self.equals(answer, evaluate(self.truth))

    def equals(self, answer, other):
        """Whether the estimate agrees with `other`, and no better with the truth."""
        value, mcse = answer
        far = abs(value - other)
        return far <= TOLERANCE * mcse and far <= abs(value - evaluate(self.truth))

    def explain(self, answer):
        """Say whether it is the value or its precision that misses."""
        value, mcse = answer
        truth = evaluate(self.truth)
        if self.equals(answer, truth):
            factor = (mcse / self.max_mcse) ** 2
            return (
                f"Nothing contradicts it, but the error bar of {mcse:.2g} is wider than the "
                f"{self.max_mcse:g} asked for: about {factor:.1f} times as many draws will do."
            )
        far = f"{abs(value - truth) / mcse:.0f} of its own standard errors from the truth"
        if abs(value - truth) <= TOLERANCE * self.max_mcse:
            return f"Close, but {far}: the error bar of {mcse:.2g} claims too much."
        return f"The value is {far}, so chance does not explain it."


@dataclass(frozen=True)
class Sample:
    """Draws from a known distribution, judged by expectations and, where given, its cdf.

    Parameters
    ----------
    expectations : dict of str to (callable, float or callable)
        ``{"mean": (lambda x: x[:, 0], 4.17)}``: name, vectorised function of (n, dim) draws, truth.
    num_samples : int
        The fewest draws that will do.
    cdf : callable, optional
        For independent one-dimensional draws: also compare the whole distribution
        (Kolmogorov-Smirnov, at the same false-alarm rate).
    """

    expectations: dict
    num_samples: int = 100
    cdf: object = None

    @property
    def precision(self):
        """How many draws are asked for, as a sentence."""
        return f"{self.num_samples:,} draws will do."

    def read(self, answer):
        """Return a `Draws`; an array is taken as independent draws, one a row."""
        if isinstance(answer, Draws):
            draws = answer
        else:
            values = as_numbers(answer, None)
            if values.ndim not in (1, 2):
                raise UnreadableError(
                    f"The draws have shape {values.shape}; give (n,), (n, dim) or a Draws."
                )
            values = values.reshape(1, len(values), -1)
            draws = Draws(values=values, independent=True)
        count = draws.num_chains * draws.num_samples
        if count < self.num_samples:
            raise UnreadableError(f"{count} draws are too few to judge; give {self.num_samples}.")
        return draws

    def is_right(self, answer):
        """Whether no expectation, and not the distribution, contradicts the truth."""
        return self._contradiction(answer) is None

    def equals(self, answer, other):
        """Whether the first expectation agrees with `other`, and no better with the truth."""
        f, truth = next(iter(self.expectations.values()))
        estimate = answer.expect(f)
        far = abs(float(estimate) - other)
        return far <= TOLERANCE * estimate.mcse and far <= abs(float(estimate) - evaluate(truth))

    def explain(self, answer):
        """Name the first expectation that misses."""
        return self._contradiction(answer)

    def _contradiction(self, draws):
        for name, (f, truth) in self.expectations.items():
            estimate = draws.expect(f)
            if not estimate.mcse > 1e-14 * abs(estimate.value):
                return f"All your draws give the same {name}: {estimate.value:.6g}."
            z = float(estimate.z(evaluate(truth)))
            if not abs(z) <= TOLERANCE:
                side = "above" if z > 0 else "below"
                return (
                    f"The {name} of your draws is {estimate}, {abs(z):.0f} standard errors {side} "
                    "the target's."
                )
        if self.cdf is not None and draws.independent and draws.log_weights is None:
            from scipy import stats

            if stats.kstest(draws.flat[:, 0], self.cdf).pvalue < 1e-6:
                return (
                    "The averages agree, but the draws as a whole do not follow the target. Draw "
                    "their histogram over its density."
                )
        return None
