"""Checking one's answers to the book's exercises, offline."""

import difflib
import dis
import html
import importlib
import pkgutil
from dataclasses import dataclass, field

from bayeslib.errors import BayeslibError, BayeslibTypeError

from .grading import Routine, UnreadableError
from .variants import variant

# Of a verdict, in the book's colours or, in JupyterLab, which has not its style, in these.
EDGES = {
    "": "var(--pst-color-border, #888)",
    " right": "var(--pst-color-success, #2a8a3e)",
    " wrong": "var(--pst-color-danger, #c8372d)",
}
_TRIED = {}  # the wrong answers that nothing explains, by exercise


@dataclass(frozen=True)
class Exercise:
    """One question and how its answer is judged.

    Parameters
    ----------
    id : str
        ``"<chapter>-<word>"``, as the chapter's page calls it.
    expects : Value, Statistical, Sample, Routine or Choice
        What is asked for, from `needles.grading`.
    mistakes : dict of str to wrong
        What to tell who gives a typical wrong answer: `wrong` is the answer itself, or for all
        kinds but a Routine also a function of the answer as read, returning True where it applies.
        The first that applies is told.
    recipe : str
        The way to the answer, for the third answer that is wrong in no typical way, or on request.
    praise : str
        What to notice now that it is right.
    """

    id: str
    expects: object
    mistakes: dict = field(default_factory=dict)
    recipe: str = ""
    praise: str = ""


@dataclass(frozen=True)
class Verdict:
    """What `check` says about an answer; true where it is right.

    Attributes
    ----------
    passed : bool
    message : str
    outcome : {"right", "blank", "unreadable", "mistake", "wrong", "recipe"}
        "unreadable" is not the kind of thing that is asked for; "mistake" is wrong in a typical
        way, "wrong" in another; "recipe" is the way to the answer, which ``"?"`` asks for.

    Examples
    --------
    >>> verdict = check("rejection-price", ...)
    >>> bool(verdict), verdict.outcome
    (False, 'blank')
    >>> print(verdict.message)
    Put your answer in place of the dots and run the cell. Three significant
    digits will do.
    """

    passed: bool
    message: str
    outcome: str

    def __bool__(self):
        return self.passed

    def _heading(self):
        headings = {"right": "Right.", "blank": "Nothing to check yet.", "recipe": "The way there."}
        return headings.get(self.outcome, "Not yet.")

    def __repr__(self):
        return f"{self._heading()} {self.message}".strip()

    def _repr_html_(self):
        state = {"right": " right", "blank": "", "recipe": ""}.get(self.outcome, " wrong")
        return (
            f'<div class="verdict{state}" style="border-left: 0.25rem solid {EDGES[state]}; '
            f'padding-left: 0.9rem"><strong>{self._heading()}</strong> '
            f"{html.escape(self.message)}</div>"
        )


@dataclass(frozen=True)
class Question:
    """The text of an exercise with the numbers of a seed; a notebook prints it as Markdown.

    Attributes
    ----------
    text : str

    Examples
    --------
    >>> ask("minds-majority", seed=1).text
    'An option has posterior probability 0.72. How often is it chosen by the
    majority of three samples?'
    """

    text: str

    def __repr__(self):
        return self.text

    def _repr_markdown_(self):
        return self.text


def ask(exercise, *, seed):
    """Ask an exercise with other numbers than those of the page.

    About two exercises a chapter take a seed; a lecturer gives each student another.

    Parameters
    ----------
    exercise : str
        The exercise's name on the page, such as ``"rejection-dimension"``.
    seed : int
        At least 0; the same seed, the same numbers.

    Returns
    -------
    Question
        A notebook prints it as Markdown.

    Raises
    ------
    BayeslibError
        If no seed changes this exercise: the message lists those of its chapter that take one. If
        the seed is no whole number, or negative.

    Examples
    --------
    >>> ask("minds-majority", seed=1)
    An option has posterior probability 0.72. How often is it chosen by the
    majority of three samples?
    """
    return Question(variant(exercise).question(seed))


def check(exercise, answer, *, seed=None):
    """Check an answer to an exercise, and say what is wrong with a wrong one.

    Nothing is sent anywhere: the checkers are part of `needles`. A wrong answer never raises. A
    typical mistake is named; any other wrong answer is told how it misses or, where that would give
    the answer away, of the exercise's hint; from the third different one on, the way is told.

    Parameters
    ----------
    exercise : str
        The exercise's name on the page, such as ``"rejection-price"``.
    answer : object
        A number, array, Estimate, Draws, function or word, whichever the exercise asks for.
        Dots (``...``), None, or a function that does nothing, count as not yet answered; ``"?"``
        asks for the way to the answer.
    seed : int, optional
        Judge by the numbers that `ask` gives for this seed. The only mistake named is then the
        answer for the page's numbers, and the way is not told.

    Returns
    -------
    Verdict
        Shown if it is the last line of a cell; elsewhere, print it.

    Raises
    ------
    BayeslibError
        If there is no such exercise, or a `seed` is given and none changes it: the message lists
        those to choose from. If the seed is no whole number, or negative.

    Examples
    --------
    >>> check("rejection-price", ...)
    Nothing to check yet. Put your answer in place of the dots and run the cell.
    Three significant digits will do.
    >>> check("rejection-price", 3)
    Not yet. Fewer proposals than draws? Each draw needs at least one.
    """
    if not isinstance(exercise, Exercise):
        exercise = find(exercise)
    if seed is not None:
        exercise = _with_numbers(exercise, seed)
    if isinstance(answer, str) and answer.strip() == "?" and exercise.recipe:
        return Verdict(False, exercise.recipe, "recipe")
    if seed is not None and isinstance(answer, str) and answer.strip() == "?":
        return Verdict(False, "With a seed the way is not told.", "blank")
    if _is_blank(answer):
        precision = getattr(exercise.expects, "precision", "")
        message = f"Put your answer in place of the dots and run the cell. {precision}".strip()
        return Verdict(False, message, "blank")
    try:
        return _grade(exercise, answer)
    except UnreadableError as error:
        return Verdict(False, str(error), "unreadable")
    except Exception as error:
        # Whatever a reader passes, the page goes on; what cannot be judged says why.
        message = f"Your answer could not be judged ({type(error).__name__}: {error})."
        return Verdict(False, message, "unreadable")


def find(name):
    """Return the exercise of that name.

    Raises
    ------
    BayeslibTypeError
        If the name is not text.
    BayeslibError
        If there is none; lists those of its chapter, or the chapters.
    """
    if not isinstance(name, str):
        raise BayeslibTypeError(f"exercise must be a name such as 'rejection-price', got {name!r}")
    known = {exercise.id: exercise for exercise in exercises()}
    if name in known:
        return known[name]
    close = difflib.get_close_matches(name, known, n=1)
    hint = f" (did you mean {close[0]!r}?)" if close else ""
    begin = name.partition("-")[0] + "-"
    there = [key for key in known if key.startswith(begin)]
    there = there or dict.fromkeys(key.partition("-")[0] + "-…" for key in known)
    raise BayeslibError(f"no exercise is called {name!r}{hint}; there are: {', '.join(there)}")


def _with_numbers(exercise, seed):
    """Return the exercise as a seed asks it, without slips and recipe, which know other numbers."""
    varied = variant(exercise.id)
    slips = {"That is the page's answer; your numbers are others.": varied.answer(**varied.page)}
    name = f"{exercise.id}, seed {seed}"
    return Exercise(name, varied.expects(seed), slips)


def exercises():
    """Return every exercise of the book, by chapter, in the order of each chapter's file."""
    package = importlib.import_module("needles.exercises")
    found = []
    for module in sorted(info.name for info in pkgutil.iter_modules(package.__path__)):
        found.extend(importlib.import_module(f"needles.exercises.{module}").EXERCISES)
    return found


def _is_blank(answer):
    if answer is None or answer is ... or answer is NotImplemented:
        return True
    if isinstance(answer, str):
        return answer.strip() in ("", "...", "…", "?")
    if isinstance(answer, (list, tuple, dict)):
        return all(item is ... for item in answer)
    return _does_nothing(answer)


def _does_nothing(answer):
    """Whether `answer` is a function whose whole body is ``...``, ``pass`` or ``return ...``."""
    code = getattr(answer, "__code__", None)
    if code is None:
        return False
    steps = [step for step in dis.get_instructions(code) if step.opname not in ("RESUME", "NOP")]
    plain = all(step.opname in ("LOAD_CONST", "RETURN_CONST", "RETURN_VALUE") for step in steps)
    values = [step.argval for step in steps if step.opname != "RETURN_VALUE"]
    return plain and all(value is None or value is ... for value in values)


def _grade(exercise, answer):
    kind = exercise.expects
    read = kind.read(answer)
    if kind.is_right(read):
        return Verdict(True, exercise.praise, "right")
    for message, wrong in exercise.mistakes.items():
        if _applies(kind, wrong, read):
            return Verdict(False, message, "mistake")
    tried = _TRIED.setdefault(exercise.id, set())
    tried.add(repr(read))
    more = exercise.recipe if len(tried) >= 3 else "There is a hint under the exercise."
    return Verdict(False, f"{kind.explain(read)} {more}".strip(), "wrong")


def _applies(kind, wrong, read):
    if callable(wrong) and not isinstance(kind, Routine):
        return bool(wrong(read))
    return kind.equals(read, wrong)
