"""The numbers on the flash cards: found in the text, and compared with what backs them.

A claim returns, for each number as its card writes it, what it ought to be: a value, a list where
the same number stands for several things, `near(value, relative error)`, or `given(reason)`.
"""

import re
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import yaml

CLAIMS = {}  # card: the function that backs its numbers
# Card: numbers that need no computing, each with the reason; most of what a card says its page
# asserts when it runs, or a test of the page.
REASONS = Path(__file__).parents[1] / "data" / "card_reasons.yml"
GIVEN = yaml.safe_load(REASONS.read_text("utf-8"))

MARK = re.compile(r"^\s*\d+\.\s", re.MULTILINE)  # of a numbered list
POWER = re.compile(r"[\^_](?:\d|\{\s*-?\d+(?:/\d+)?\s*\})")
GLUED = re.compile(r"(\\(?![dt]?frac)[A-Za-z]+)(?=\d)")
DIGITS = r"\d+(?:(?:[.,]|\\,)\d+)*"
NUMBER = re.compile(
    r"\\[dt]?frac\s*(?:\d\d|\d\s*\{\d+\}|\{\d+\}\s*\{\d+\}|\{\d+\}\s*\d)"
    rf"|(?<![\w.]){DIGITS}(?:/{DIGITS})?"
)
FRACTION = re.compile(r"\\[dt]?frac\s*(?:\{(\d+)\}|(\d))\s*(?:\{(\d+)\}|(\d))")
WORDS = {
    **{"half": "1/2", "halve": "1/2", "third": "1/3", "quarter": "1/4", "fifth": "1/5"},
    **{"sixth": "1/6", "eighth": "1/8", "tenth": "1/10", "nineteenth": "1/19", "twice": "2"},
    **{"eight": "8", "nine": "9", "ten": "10", "twelve": "12", "nineteen": "19"},
    **{"twentieth": "1/20", "twenty": "20", "hundred": "100", "thousand": "1000"},
    **{"per cent": "1/100"},
}
WORD = re.compile(rf"\b({'|'.join(sorted(WORDS, key=len, reverse=True))})s?\b", re.IGNORECASE)


class given(str):
    """Why a number needs no computing."""


class near(NamedTuple):
    """A value, and the relative error that the card's words allow."""

    value: float
    error: float


def claim(card):
    """Register a function as what backs the numbers of a card."""

    def register(function):
        assert card not in CLAIMS, card
        CLAIMS[card] = cache(function)
        return function

    return register


def said(card):
    """Return what a card says: front, back and correction."""
    return "\n\n".join(card[part] for part in ("front", "back", "corrected") if part in card)


def numbers(text):
    """Return the numbers of a card that need an entry.

    All but 0, 1, the marks of lists, and numerals as bare exponents and indices.
    """
    text = GLUED.sub(r"\1 ", POWER.sub(" ", MARK.sub(" ", text)))
    found = {number for number in NUMBER.findall(text) if number not in ("0", "1")}
    return found | {word.lower() for word in WORD.findall(text)}


def meaning(token):
    """Return the number that a token means, and to how many decimals it says so, if to any."""
    if token in WORDS:
        return Fraction(WORDS[token]), None
    if fraction := FRACTION.fullmatch(token):
        above, below = (int(digits) for digits in fraction.groups() if digits)
        return Fraction(above, below), None
    plain = token.replace(r"\,", "").replace(",", "")
    last = re.findall(r"\d+(?:\.\d+)?(?:/\d+)?", plain)[-1]
    return Fraction(last), len(last.partition(".")[2]) if "." in last else None


def wrong(token, truth):
    """Say what is wrong with a number of a card, or return nothing."""
    if isinstance(truth, given):
        return None if truth.strip() else f"{token} is given without a reason"
    number, decimals = meaning(token)
    for one in truth if isinstance(truth, list) else [truth]:
        if isinstance(one, near):
            good = abs(float(number) - one.value) <= one.error * abs(one.value)
        elif decimals is not None:
            good = round(float(one), decimals) == float(number)
        else:
            good = np.isclose(float(number), float(one), rtol=1e-6, atol=0)
        if not good:
            return f"{token} is {one}"
    return None


def trouble_with(card):
    """Return what is wrong with the numbers of a card, as phrases."""
    text = said(card)
    truths = {token: given(reason) for token, reason in GIVEN.get(card["id"], {}).items()}
    truths |= CLAIMS[card["id"]]() if card["id"] in CLAIMS else {}
    loose = [f"{token} has no entry" for token in sorted(numbers(text) - truths.keys())]
    stale = [f"no {token} on the card" for token in truths if token not in text + text.lower()]
    return loose + stale + [*filter(None, (wrong(*pair) for pair in truths.items()))]
