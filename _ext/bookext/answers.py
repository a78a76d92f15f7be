"""Exercises that are answered on the page: a field in place of the blank cell.

An exercise that asks for numbers or a word is judged in the browser, by `_static/judge.js` and by
what its definition says: the truth, how far off an answer may be, the typical mistakes and what is
said. A mistake that is a function of the answer is called once with a stand-in that notes what is
done to it. The page holds all this scrambled, so that nobody reads an answer by accident.
"""

import base64
import json
import re
from html import escape
from pathlib import Path

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from needles.grading import Choice, Value
from needles.grading.answers import NUMBERS
from needles.study import exercises

BOX = re.compile(r'<div class="[^"]*\bexercise\b[^"]*" id="ex-([\w-]+)"')
CELL = re.compile(r'<div class="[^"]*\bcell\b[^"]*">')
OUTPUT = re.compile(r'<div class="[^"]*\bcell_output\b[^"]*">')
DIV = re.compile(r"<(/?)div\b[^>]*>")
TAG = re.compile(r"<[^>]*>")
JUDGE = Path(__file__).parents[2] / "_static" / "judge.js"
KNOWN = set(re.findall(r"^    (\w+): ", JUDGE.read_text("utf-8").split("OPERATIONS = {")[1], re.M))
KEY = 0x5A
FORM = """<form class="answer" data-name="{name}" data-asked="{asked}" hidden>
{field}
<button type="submit">Check</button>
<p class="answer-wanted" id="answer-{name}">{wanted}</p>
<div class="answer-said" role="status"></div>
</form>"""
TEXT = (
    '<label>Your answer <input type="text" autocomplete="off" autocapitalize="off" '
    'spellcheck="false" aria-describedby="answer-{name}"></label>'
)
CHOICE = "<fieldset><legend>Your answer</legend>{options}</fieldset>"
OPTION = '<label><input type="radio" name="answer" value="{option}"> {option}</label>'
CODE = (
    '<p class="answer-code">The answer is code: write and check it in a '
    '<a href="#exercises">live notebook</a>.</p>'
)


class UndecidedError(Exception):
    """A condition that has not been decided; its note is the argument."""


class StandIn(NDArrayOperatorsMixin):
    """Stands for an answer, and notes what a function does to it."""

    def __init__(self, note, decided):
        self.note, self._decided = note, decided

    def _noted(self, name, *operands):
        if name not in KNOWN:
            raise ValueError(f"judge.js cannot do {name}, which a mistake asks for")
        return StandIn([name, *map(as_note, operands)], self._decided)

    def __bool__(self):
        if not self._decided:
            raise UndecidedError(self.note)
        return self._decided.pop(0)

    def __getitem__(self, index):
        if index == slice(None, None, -1):
            return self._noted("reversed", self)
        return self._noted("at", self, index)

    def __array_ufunc__(self, ufunc, method, *operands):
        return self._noted(ufunc.__name__, *operands)

    def __array_function__(self, function, types, args, kwargs):
        name = function.__name__
        if name in ("isclose", "allclose"):
            args = (*args, kwargs.get("rtol", 1e-5), kwargs.get("atol", 1e-8))
        return self._noted(name, *args)


def as_note(operand):
    """Return what JSON can say of an operand."""
    if isinstance(operand, StandIn):
        return operand.note
    plain = np.asarray(operand)
    if plain.ndim:
        return ["list", *map(as_note, plain)]
    return plain.item()


def noted(function, decided=()):
    """Return what a function of an answer decides, as nested lists ``[operation, *operands]``.

    Where Python asks for a condition, as in ``or``, both ways are followed.
    """
    try:
        return bool(function(StandIn("answer", list(decided))))
    except UndecidedError as stop:
        ways = (noted(function, (*decided, way)) for way in (True, False))
        return ["if", stop.args[0], *ways]


def floats(values):
    """Return numbers as a flat list."""
    return np.ravel(np.asarray(values, dtype=float)).tolist()


def mistake(kind, message, wrong):
    """Return a typical mistake for the browser."""
    if isinstance(kind, Choice):
        return {"option": wrong, "message": message}
    if callable(wrong):
        one = np.shape(kind.example()) == ()
        return {"holds": noted(wrong), "holdsOne": one, "message": message}
    value = np.broadcast_to(wrong, np.shape(kind.example()))
    return {"value": floats(value), "allowed": floats(kind.tolerance(value)), "message": message}


def asked(exercise):
    """Return what the browser must know of an exercise, or None if it asks for code."""
    kind = exercise.expects
    if type(kind) not in (Choice, Value) or np.ndim(kind.example()) > 1:
        return None
    found = {
        "mistakes": [mistake(kind, *pair) for pair in exercise.mistakes.items()],
        "recipe": exercise.recipe,
        "praise": exercise.praise,
        "precision": getattr(kind, "precision", ""),
    }
    if isinstance(kind, Choice):
        return found | {"options": list(kind.options), "truth": kind.right}
    truth = kind.example()
    return found | {
        "truth": floats(truth),
        "allowed": floats(kind.tolerance(truth)),
        "near": floats(kind.near(np.asarray(truth, dtype=float))),
        "isOne": np.ndim(truth) == 0,
    }


def scrambled(data):
    """Return data as text that says nothing to the eye."""
    text = json.dumps(data, ensure_ascii=False).encode()
    return base64.b64encode(bytes(byte ^ KEY for byte in text)).decode()


def form(exercise):
    """Return the field, as HTML, for an exercise that is answered on the page, or else None."""
    known = asked(exercise)
    if known is None:
        return None
    name, count = exercise.id.replace("_", "-"), len(known["truth"])
    if "options" in known:
        options = "".join(OPTION.format(option=escape(word)) for word in known["options"])
        field, wanted = CHOICE.format(options=options), ""
    else:
        field, wanted = TEXT.format(name=name), known["precision"]
        if count > 1:
            wanted = f"{NUMBERS[count].capitalize()} numbers with commas between. {wanted}"
    return FORM.format(name=name, asked=scrambled(known), field=field, wanted=wanted)


def end(html, start):
    """Return where the `div` that starts at `start` ends."""
    depth = 0
    for tag in DIV.finditer(html, start):
        depth += -1 if tag[1] else 1
        if depth == 0:
            return tag.end()
    raise ValueError("a div is not closed")


def with_fields(html, fields):
    """Return a page with a field, or a word on where to write code, at each blank cell.

    Parameters
    ----------
    html : str
    fields : dict of str to str or None
        By the exercise's label without its ``ex-``.
    """
    for box in reversed(list(BOX.finditer(html))):
        cell = CELL.search(html, end(html, box.start()))
        output = OUTPUT.search(html, cell.start())
        lines = TAG.sub("", html[cell.start() : output.start()]).split("\n")
        field = fields[box[1]]
        start, stop = output.start(), end(html, output.start())
        if field is not None and sum(map(bool, map(str.strip, lines))) <= 2:
            start, stop = cell.start(), end(html, cell.start())  # nothing but the dots
        html = html[:start] + (field or CODE) + html[stop:]
    return html


def write(app):
    """Put the fields on the pages."""
    fields = {one.id.replace("_", "-"): form(one) for one in exercises()}
    for path in sorted(Path(app.outdir).glob("chapters/*.html")):
        html = path.read_text("utf-8")
        if BOX.search(html):
            path.write_text(with_fields(html, fields), "utf-8")
