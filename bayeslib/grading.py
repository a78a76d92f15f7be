"""What an exercise can ask for, and how near an answer comes to it.

Each kind of answer reads what the reader gave (or says what is wrong with it), decides whether it
is right, and says how it misses. An estimate or a sample is judged by its own standard error:
`TOLERANCE` of them, a false alarm in two million right answers.
"""

from dataclasses import dataclass

import numpy as np

from .answers import UnreadableError, as_numbers, described, evaluate, short

TOLERANCE = 5.0  # standard errors; P(|z| > 5) = 5.7e-7
NEAR = 20.0  # how many tolerances away still counts as close


@dataclass(frozen=True)
class Value:
    """A number or an array that can be computed exactly.

    Parameters
    ----------
    truth : float, array_like, or callable without arguments
        A callable is called when an answer is checked, so that the truth is computed, not typed.
    rtol, atol : float
        Relative and absolute tolerance, as in `numpy.isclose`.
    """

    truth: object
    rtol: float = 1e-3
    atol: float = 0.0

    def example(self):
        """Return a right answer."""
        return evaluate(self.truth)

    def read(self, answer):
        """Return the answer as a float64 array of the truth's shape."""
        if hasattr(answer, "mcse"):
            raise UnreadableError(
                "This asks for the exact number, and you gave an estimate with an error bar. "
                "Compute it without drawing."
            )
        return as_numbers(answer, np.shape(self.example()))

    def is_right(self, answer):
        """Whether every entry is within the tolerance."""
        return self.equals(answer, self.example())

    def equals(self, answer, other):
        """Whether the answer is `other`, within the tolerance."""
        return bool(np.allclose(answer, other, rtol=self.rtol, atol=self.atol))

    def explain(self, answer):
        """Say how a wrong answer misses, without giving the truth away."""
        truth = np.asarray(self.example(), dtype=float)
        error = np.abs(answer - truth)
        allowed = self.atol + self.rtol * np.abs(truth)
        wrong = error > allowed
        where = f" in {wrong.sum()} of {truth.size} entries" if truth.ndim else ""
        if np.all(error <= NEAR * allowed):
            accuracy = f"a relative {self.rtol:g}" if self.rtol else f"{self.atol:g}"
            return f"Close{where}, but not to within {accuracy}. Was something rounded on the way?"
        if np.allclose(answer, -truth, rtol=self.rtol, atol=self.atol):
            return "The size is right, the sign is not."
        if truth.ndim == 0 and truth > 0 and self.equals(np.exp(answer), truth):
            return "That is the logarithm of the right answer."
        return f"Not right{where}."


@dataclass(frozen=True)
class Statistical:
    """An `Estimate` of a known number: it must agree with it, and be precise enough.

    Parameters
    ----------
    truth : float or callable without arguments
    max_mcse : float
        The largest standard error that will do.
    """

    truth: object
    max_mcse: float

    def example(self):
        """Return a right answer."""
        from .results import Estimate

        return Estimate(evaluate(self.truth), self.max_mcse / 2)

    def read(self, answer):
        """Return (value, mcse)."""
        if not (hasattr(answer, "value") and hasattr(answer, "mcse")):
            raise UnreadableError(
                f"{described(answer)} has no error bar. Give the whole Estimate (value and mcse), "
                "such as what draws.expect(f) returns."
            )
        value = as_numbers(answer.value, ())
        mcse = as_numbers(answer.mcse, ())
        if mcse <= 0:
            raise UnreadableError(f"A standard error of {mcse:g} cannot be: it must be positive.")
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
        return f"Not right: {far}, so chance does not explain it."


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

    def read(self, answer):
        """Return a `Draws`; an array is taken as independent draws, one a row."""
        from .results import Draws

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


@dataclass(frozen=True)
class Routine:
    """A function that the reader writes, compared with a reference on several inputs.

    Parameters
    ----------
    reference : callable
    cases : sequence of tuple
        The arguments of each call.
    rtol, atol : float
    """

    reference: object
    cases: tuple
    rtol: float = 1e-6
    atol: float = 1e-12

    def example(self):
        """Return a right answer."""
        return self.reference

    def read(self, answer):
        """Return what the function gives for every case, as arrays of the reference's shapes."""
        if not callable(answer):
            raise UnreadableError(
                f"This asks for a function, and {described(answer)} is none. "
                "Pass its name, without calling it."
            )
        results = []
        for case in self.cases:
            call = f"{getattr(answer, '__name__', 'function')}({', '.join(map(short, case))})"
            try:
                # Copies: an answer that writes into its arguments must not spoil the next case.
                result = answer(*(np.copy(a) if isinstance(a, np.ndarray) else a for a in case))
            except Exception as error:
                raise UnreadableError(f"{call} raised {type(error).__name__}: {error}") from None
            if result is None or result is ...:
                raise UnreadableError(f"{call} returned {result!r}. Is a return missing?")
            try:
                results.append(as_numbers(result, np.shape(self.reference(*case))))
            except UnreadableError as error:
                raise UnreadableError(f"{call}: {error}") from None
        return results

    def is_right(self, answer):
        """Whether every case agrees with the reference."""
        return self.equals(answer, self.reference)

    def equals(self, answer, other):
        """Whether the answers are those of the function `other`."""
        pairs = zip(answer, self.cases, strict=True)
        return all(np.allclose(a, other(*c), rtol=self.rtol, atol=self.atol) for a, c in pairs)

    def explain(self, answer):
        """Show the first case that misses, and count the others."""
        truths = [self.reference(*case) for case in self.cases]
        agree = [
            np.allclose(a, t, rtol=self.rtol, atol=self.atol)
            for a, t in zip(answer, truths, strict=True)
        ]
        first = agree.index(False)
        given = ", ".join(map(short, self.cases[first]))
        return (
            f"For ({given}) your function gives {short(answer[first])}, it should give "
            f"{short(truths[first])}. {sum(agree)} of {len(agree)} cases are right."
        )


@dataclass(frozen=True)
class Choice:
    """One of several words.

    Parameters
    ----------
    options : tuple of str
    right : str
    """

    options: tuple
    right: str

    def example(self):
        """Return the right answer."""
        return self.right

    def read(self, answer):
        """Return the option that was meant, whatever its case."""
        listed = ", ".join(repr(option) for option in self.options)
        if not isinstance(answer, str):
            raise UnreadableError(f"Answer with one of {listed}; {described(answer)} is none.")
        for option in self.options:
            if option.casefold() == answer.strip().casefold():
                return option
        raise UnreadableError(f"{answer!r} is not among the choices: {listed}.")

    def is_right(self, answer):
        """Whether the right option was chosen."""
        return answer == self.right

    def equals(self, answer, other):
        """Whether the option `other` was chosen."""
        return answer == other

    def explain(self, answer):
        """Say no more than that it is another."""
        return f"It is not {answer!r}."
