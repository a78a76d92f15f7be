"""The exercises of the page on sampling in the mind."""

import numpy as np

from ..grading import Choice, Routine, Value, near
from ..study import Exercise
from ..variants import race

_SLOW = np.array([[0.9, 0.1, 0.0], [0.05, 0.9, 0.05], [0.0, 0.1, 0.9]])
_RESTLESS = np.array([[0.2, 0.8], [0.4, 0.6]])


def _best_number():
    numbers = np.arange(1, 1000, 2)
    right = 0.75 - 1.0 / (4.0 * (numbers + 2))
    return float(numbers[np.argmax(right / (1.0 + 0.01 * numbers))])


def _traces(matrix, first, last):
    return sum(np.trace(np.linalg.matrix_power(matrix, t)) for t in range(first, last))


def _sum_of_parts(matrix, num_ideas):
    return _traces(matrix, 0, num_ideas) / num_ideas


def _without_the_start(matrix, num_ideas):
    return _traces(matrix, 1, num_ideas + 1) / num_ideas


def _one_too_many(matrix, num_ideas):
    return _traces(matrix, 0, num_ideas + 1) / (num_ideas + 1)


def _not_averaged(matrix, num_ideas):
    return _traces(matrix, 0, num_ideas)


def _last_only(matrix, num_ideas):
    return np.trace(np.linalg.matrix_power(matrix, num_ideas - 1))


EXERCISES = (
    Exercise(
        "minds-majority",
        expects=Value(lambda: 0.7**3 + 3.0 * 0.7**2 * 0.3),
        mistakes={
            "That is one sample: matching. The majority of three sharpens it.": 0.7,
            "That is all three; two of the three are enough.": 0.7**3,
            "That is exactly two; three of three are a majority, too.": 3.0 * 0.7**2 * 0.3,
            "So would the ideal observer; three samples may still mislead.": 1.0,
            "Give a probability, between zero and one.": lambda a: a > 1.0 or a < 0.0,
        },
        recipe="Add the probabilities of two and of three votes for A.",
        praise="A little sharper than matching, and far from certain.",
    ),
    Exercise(
        "minds-worth",
        expects=Value(_best_number, atol=0.0),
        mistakes={
            "One is best only while a sample takes at least 1/39 of an action.": 1.0,
            "Three is close; compare its rate with that of five.": 3.0,
            "Seven is more often right, but fewer decisions fit into the hour.": 7.0,
            "An even number is worth no more than the odd one before it.": 6.0,
            "So many are hardly ever right more often, and take time.": lambda a: a > 7.0,
        },
        recipe="Compare V_N / (1 + N/100) for N = 1, 3, 5, 7.",
        praise="Five, though a hundred samples would fit into the time of an action.",
    ),
    Exercise(
        "minds-anchor",
        expects=Value(lambda: np.log(0.01) / np.log(0.95)),
        mistakes={
            "That is 1/(1 - lambda): after it about a third of the bias is left.": 20.0,
            "That is the time in which the bias halves.": near(
                np.log(0.5) / np.log(0.95), rtol=1e-2
            ),
            "Use the same logarithm above and below.": lambda a: (
                np.isclose(a, np.log(0.01) / np.log10(0.95), rtol=1e-2)
                or np.isclose(a, np.log10(0.01) / np.log(0.95), rtol=1e-2)
            ),
        },
        recipe="Take logarithms of 0.95**t = 0.01.",
        praise="Ninety steps of thought to get rid of a number on a wheel.",
    ),
    Exercise(
        "minds-sum",
        expects=Routine(
            _sum_of_parts, cases=((_SLOW, 1), (_SLOW, 4), (_RESTLESS, 2), (np.eye(5), 3))
        ),
        mistakes={
            "The first of the N ideas is the start itself: t = 0.": _without_the_start,
            "N ideas are t = 0 ... N - 1, not N + 1 of them.": _one_too_many,
            "A judgement is a share: divide by N.": _not_averaged,
            "All N ideas count, not only the last.": _last_only,
        },
        recipe="Sum the traces of P**0 ... P**(N-1) and divide by N.",
        praise="Always above one, and the eigenvalues say by how much.",
    ),
    Exercise(
        "minds-race",
        expects=Value(race(0.8, 2)),
        mistakes={
            "That is a single sample; here one option has to lead by two.": [0.8, 1.0],
            "That is two votes for A at once; after one each the race goes on.": near(0.8**2, at=0),
            "The choice is right; four samples is the mean at even odds.": lambda a: (
                np.isclose(a[0], race(0.8, 2)[0], rtol=5e-3) and np.isclose(a[1], 4.0)
            ),
        },
        recipe="Put p = 4/5, m = 2 and r = 1/4 into the theorem.",
        praise="Under three samples on average, and A in sixteen cases of seventeen.",
    ),
    Exercise(
        "minds-design",
        expects=Choice(
            ("choice curve", "average of two answers", "effect of a named example"),
            "effect of a named example",
        ),
        mistakes={
            "By the theorem on races the two can have the same choice curve.": "choice curve",
            "Any independent noise makes the average better.": "average of two answers",
        },
        recipe="Which row of the table of predictions differs between the two columns?",
        praise="Starts that matter, in either direction and for a while, are the chain's mark.",
    ),
)
