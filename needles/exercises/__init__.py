"""The answers to the book's exercises: one module a chapter, each a tuple called EXERCISES.

To add an exercise, append to the chapter's tuple (`chapters/rejection.ipynb` reads
``needles/exercises/rejection.py``)::

    from ..grading import Value
    from ..study import Exercise

    EXERCISES = (
        Exercise(
            "rejection-price",
            expects=Value(lambda: 2**-1.5 * np.exp(gamma_student().truth.log_evidence)),
            mistakes={
                "That is c itself. The acceptance rate is an area divided by c.": 2**1.5,
                "A probability cannot exceed one.": lambda a: a > 1,
            },
            recipe="Compare the area under the target with the area under the envelope.",
            praise="The acceptance rate knows the evidence.",
        ),
    )

`expects` is one of five kinds, each documented in `needles.grading`: `Value` (exact number or
array), `Statistical` (an Estimate), `Sample` (draws), `Routine` (a function), `Choice` (a word). A
`Value` is right to three significant digits unless it says otherwise; the blank tells the reader
so. The `recipe` is the way to the answer, told late or on request; the gentler hint stands under
the exercise. Give truths as functions, so that they are computed when an answer is checked, not
typed and not at import. `tests/book/test_exercises.py` holds every exercise here to it: blank,
unreadable, each typical mistake told its own message, rounded or not, the truth right, and asked on
its chapter's page in the same order. A mistake that is a function of the answer needs an example in
`tests/tools/wrong_answers.py`.
"""
