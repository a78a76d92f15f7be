"""Reading what a reader gives as an answer, and naming it in a message."""

import re

import numpy as np

COMMA = (
    " The decimal sign is a point, and thousands take neither comma nor space: 2e6 is two million."
)
# The same as in judge.js.
CALCULATOR = "pi π e sqrt exp log ln atan arctan".split()
SCALES = {"hundred": "e2", "thousand": "e3", "k": "e3", "million": "e6", "M": "e6", "billion": "e9"}
MEASURED = re.compile(
    r"(?:.*[=≈~<>≤≥]\s*|(?:about|around|roughly|nearly|ca\.?|approx\w*\.?)\s+)?"
    r"([-+]?(?:\d(?:[\d,]|\s(?=\d{3}))*\.?\d*|\.\d+)(?:e[-+]?\d+)?)(\s*%|\s*per\s?cent\b)?"
    r"\s*(?:([^\W\d_]+|[°$€£(])(?:\D|\^-?\d)*)?",
    re.IGNORECASE,
)
THOUSANDS = re.compile(r"[-+]?[1-9]\d{0,2}([,\s]\d{3})+(\.\d+)?")
NUMBERS = dict(enumerate("no one two three four five six".split()))


class UnreadableError(Exception):
    """The answer is not of the kind that the exercise asks for; the message says why."""


def evaluate(truth):
    """Return a truth, computing it where it is a callable."""
    return truth() if callable(truth) else truth


def as_numbers(answer, shape):
    """Return an answer as a float64 array; a `shape` of None takes any."""
    if isinstance(answer, (bool, np.bool_)):
        raise UnreadableError(f"{answer} is true or false; this asks for numbers.")
    if isinstance(answer, str) or callable(answer):
        help = alone(answer) if isinstance(answer, str) else ""
        raise UnreadableError(f"This asks for numbers, and you gave {described(answer)}.{help}")
    blank = np.array([item is ... for item in answer] if isinstance(answer, (list, tuple)) else [])
    if blank.any():
        raise UnreadableError(f"Still blank: {places(blank)}.")
    try:
        array = np.asarray(answer)
        if array.dtype == bool:
            raise UnreadableError("This asks for numbers: 1 in place of True, 0 in place of False.")
        if np.iscomplexobj(array):
            raise TypeError
        array = np.array(array, dtype=float)
    except (TypeError, ValueError):
        raise UnreadableError(
            f"This asks for real numbers, and you gave {described(answer)}."
        ) from None
    if shape is not None and array.size == np.prod(shape) == 1:
        array = array.reshape(shape)
    if shape is not None and array.shape != shape:
        if max(len(shape), array.ndim) > 1:
            raise UnreadableError(f"The shape should be {shape}, and is {array.shape}.")
        wanted, given = (NUMBERS.get(size, str(size)) for size in (np.prod(shape), array.size))
        are = "number is" if wanted == "one" else "numbers are"
        comma = isinstance(answer, tuple) and np.asarray(answer).dtype.kind == "i"  # 3,000 or 0,5
        help = COMMA if comma and array.size > np.prod(shape) else ""
        raise UnreadableError(f"{wanted.capitalize()} {are} asked for, and you gave {given}.{help}")
    if not np.all(np.isfinite(array)):
        bad = array[~np.isfinite(array)]
        raise UnreadableError(f"The answer holds {bad[0]}; {bad.size} of {array.size} not finite.")
    return array


def alone(text):
    """Return the sentence that mends a text: the reader's own number without unit or words."""
    if not re.search(r"\d", text) and re.search(r"[^\W_]{2}", text):
        return " Write it in digits."
    match = MEASURED.fullmatch(text.strip().removesuffix("."))
    if not match or match[3] in CALCULATOR:
        words = re.findall(r"[^\W\d_]+", re.sub("[^,;]*[=≈~<>≤≥]", "", text))
        unknown = [word for word in words if word.lower() not in CALCULATOR]
        return f" {unknown[0]!r} is none." if unknown else ""
    number, hundredths, word = match.groups()
    if THOUSANDS.fullmatch(number):
        number = re.sub(r"[,\s]", "", number)
    number = number.replace(",", ".") + SCALES.get(word, "")
    try:
        number = f"{float(number) / 100:.12g}" if hundredths else number
        float(number)
    except ValueError:
        return ""
    return f" Write the number alone: {number}."


def described(answer):
    """Name an answer in a message: short text as it is, anything else by its type."""
    if callable(answer):
        return f"the function {getattr(answer, '__name__', '')!r}; call it".replace("''; ", "")
    if isinstance(answer, str | int | float):
        return repr(answer) if len(repr(answer)) <= 60 else f"a text of {len(answer)} characters"
    name = type(answer).__name__
    return f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}"


def places(which):
    """Name the entries that a mask chooses, counted from one."""
    listed = ", ".join(str(place) for place in np.flatnonzero(which) + 1)
    return f"{'entry' if np.sum(which) == 1 else 'entries'} {listed}"


def short(value):
    """Write an argument or a result on one line, and nothing near a whole number as one."""
    if isinstance(value, np.ndarray):
        rounded = np.round(value, 6) if value.dtype.kind == "f" else value
        hidden = np.any((rounded != value) & (rounded == np.round(value)) & (rounded != 0.0))
        precision = 17 if hidden else 6
        return np.array2string(value, precision=precision, threshold=6, separator=", ")
    return f"{value:.6g}" if isinstance(value, float) else repr(value)
