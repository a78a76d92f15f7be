"""The room that a phone keeps for a section it has not yet drawn (`content-visibility`)."""

import re

SECTION = re.compile(r"<section\b[^>]*>|</section>")
CLOSED = re.compile(
    r"<details\b(?![^>]*\sopen\b)[^>]*>(\s*<summary.*?</summary>)?.*?</details>", re.S
)
UNSEEN = re.compile(r"<(math|svg|script|style|template)\b.*?</\1>", re.S)
TAG = re.compile(r"<[^>]*>")
BLOCK = re.compile(r"<(?:p|li|pre|tr|summary|h\d)\b")


def height(html):
    """Return about how high a section is on a phone, in pixels, and rather more than less.

    The weights are a fit to the sections of the book, 360 pixels wide, times 1.25: with too little
    room the end of a section lies, unseen, on the next.
    """
    folds, players = html.count("<details"), html.count('class="explorer')
    html = UNSEEN.sub("", CLOSED.sub(r"\1", html))
    blocks = len(BLOCK.findall(html))
    letters = len(" ".join(TAG.sub("", html).split()))
    return round(1.1 * letters + 6 * blocks + 70 * folds + 130 * players)


def reserve(html):
    """Return the page with the room of each section below its title, as ``--room``."""
    marks, open_ = [], []
    for tag in SECTION.finditer(html):
        if tag[0] != "</section>":
            open_.append(tag)
        elif len(open_) == 2:
            start = open_.pop()
            marks.append((start, height(html[start.end() : tag.start()])))
        else:
            open_.pop()
    for start, room in reversed(marks):
        html = f'{html[: start.end() - 1]} style="--room: {room}px"{html[start.end() - 1 :]}'
    return html
