"""Answers that are right or wrong whatever the random numbers: values, functions, words."""

from dataclasses import dataclass

import numpy as np

from .answers import NUMBERS, UnreadableError, as_numbers, described, evaluate, places, short

NEAR = 20.0  # how many tolerances away still counts as close


def near(value, *, rtol=5e-3, at=...):
    """Return the mistake of who answers about `value`, a number, an array or a function of none.

    With `at`, that is about the number at this place of several.
    """
    return lambda answer: np.allclose(
        answer if at is ... else answer[at], evaluate(value), rtol=rtol
    )


@dataclass(frozen=True)
class Value:
    """A number or an array that can be computed exactly.

    Parameters
    ----------
    truth : float, array_like, or callable without arguments
        A callable is called when an answer is checked, so that the truth is computed, not typed.
    digits : int
        To how many significant digits every entry is to be right, be it rounded or not.
    atol : float, optional
        How far an entry may be off, in place of digits.
    with_error : bool
        Whether the truth is a value and its standard error, which an `Estimate` gives as well.
    """

    truth: object
    digits: int = 3
    atol: float | None = None
    with_error: bool = False

    def example(self):
        """Return a right answer."""
        return evaluate(self.truth)

    def read(self, answer):
        """Return the answer as a float64 array of the truth's shape."""
        if hasattr(answer, "mcse") and self.with_error:
            answer = (answer.value, answer.mcse)
        elif hasattr(answer, "mcse"):
            raise UnreadableError(
                "This asks for the exact number, and you gave an estimate with an error bar. "
                "Compute it without drawing."
            )
        return as_numbers(answer, np.shape(self.example()))

    @property
    def precision(self):
        """What accuracy is asked for, as a sentence."""
        if self.atol is None:
            return f"{NUMBERS[self.digits].capitalize()} significant digits will do."
        return f"To within {self.atol:g}." if self.atol else "An exact answer is asked for."

    def tolerance(self, other):
        """How far each entry may be from `other`."""
        if self.atol is not None:
            return np.full(np.shape(other), self.atol)
        size = np.abs(np.asarray(other, dtype=float))
        power = np.floor(np.log10(size, where=size > 0.0, out=np.full_like(size, -6.0)))
        return 0.5000001 * 10.0 ** (power + 1 - self.digits)

    def is_right(self, answer):
        """Whether every entry is within the tolerance."""
        return self.equals(answer, self.example())

    def near(self, truth):
        """How far each entry may be off and still be called close, as a coarser rounding is."""
        margin = 0.0 if self.atol is not None else 5e-3 * np.abs(truth)
        return np.maximum(NEAR * self.tolerance(truth), margin)

    def equals(self, answer, other):
        """Whether the answer is `other`, within the tolerance."""
        return bool(np.all(np.abs(answer - np.asarray(other)) <= self.tolerance(other)))

    def explain(self, answer):
        """Say how a wrong answer misses, without giving the truth away."""
        truth = np.asarray(self.example(), dtype=float)
        error = np.abs(answer - truth)
        allowed = self.tolerance(truth)
        wrong = error > allowed
        far = error > self.near(truth)
        where = f" in {places(wrong)} of {truth.size}" if truth.ndim else ""
        if not far.any():
            if np.any(error[wrong] == 1.0):
                return f"Close{where}. Off by one, perhaps in counting."
            return f"Close{where}. Was something rounded on the way? {self.precision}"
        if self.equals(-answer, truth):
            return "The size is right, the sign is not."
        with np.errstate(over="ignore"):
            undone = np.exp(answer)
        if truth.ndim == 0 and truth > 0 and self.equals(undone, truth):
            return "That is the logarithm of the right answer."
        if not truth.ndim:
            return "The answer is another number."
        if truth.shape == (2,) and self.equals(answer[::-1], truth):
            return "Both right, in the wrong order."
        if truth.size > 2 and np.unique(truth).size == 2:  # what is wrong tells what is right
            return f"Not all of the {truth.size} entries are right."
        if far.all():
            return f"None of the {truth.size} entries is right."
        kinds = {"Right": ~wrong, "Close": wrong & ~far, "Another number": far}
        return " ".join(f"{kind}: {places(which)}." for kind, which in kinds.items() if which.any())


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
            f"{short(truths[first])}. Right in {sum(agree)} of {len(agree)} cases."
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
