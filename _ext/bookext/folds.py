"""Folded boxes as `<details>`: they open with a key, by a link to what is inside, without a script.

The theme folds an admonition of class ``dropdown`` with a script of its own, which does not know
proofs. Here the built HTML is rewritten instead, box by box, and nothing else in it is touched.
A box of class ``open`` too is open at first.
"""

import re
from collections import deque
from html.parser import HTMLParser
from typing import NamedTuple

TITLE = re.compile(r'\s*<p class="admonition-title">(.*?)</p>', re.DOTALL)
PROOF = re.compile(r"(\s*<p>)Proof\.\s*")
LINK = re.compile(r"</?a\b[^>]*>")


class Box(NamedTuple):
    """One folded box: where its tags start and end, and its classes and id."""

    start: int
    inner: int
    inner_end: int
    end: int
    classes: str
    id: str


class _Boxes(HTMLParser):
    """Find the `div`s of class ``dropdown``."""

    def __init__(self, html):
        super().__init__()
        self.lines = [0]
        for line in html.splitlines(keepends=True):
            self.lines.append(self.lines[-1] + len(line))
        self.open, self.found = [], []
        self.feed(html)

    def here(self):
        line, column = self.getpos()
        return self.lines[line - 1] + column

    def handle_starttag(self, tag, attrs):
        if tag == "div":
            start = self.here()
            self.open.append((start, start + len(self.get_starttag_text()), dict(attrs)))

    def handle_endtag(self, tag):
        if tag == "div" and self.open:
            start, inner, attrs = self.open.pop()
            classes = attrs.get("class") or ""
            if {"dropdown", "admonition"} <= set(classes.split()):
                here = self.here()
                end = here + len("</div>")
                self.found.append(Box(start, inner, here, end, classes, attrs.get("id") or ""))


def _details(box, body):
    """Return a box with content `body` as a `details` element."""
    title = TITLE.match(body)
    if title:
        summary, body = LINK.sub("", title[1]), body[title.end() :]
    else:
        summary, body = "Proof", PROOF.sub(r"\1", body, count=1)
    attributes = f' id="{box.id}"' if box.id else ""
    attributes += " open" if "open" in box.classes.split() else ""
    return (
        f'<details class="{box.classes}"{attributes}>'
        f'<summary class="admonition-title">{summary}</summary>{body}</details>'
    )


def fold(html):
    """Return `html` with its folded boxes as `details` elements, nested ones too."""
    boxes = deque(sorted(_Boxes(html).found))  # a box comes before those in it

    def folded(start, end):
        written = []
        while boxes and boxes[0].start < end:
            box = boxes.popleft()
            written += [html[start : box.start], _details(box, folded(box.inner, box.inner_end))]
            start = box.end
        return "".join([*written, html[start:end]])

    return folded(0, len(html))
