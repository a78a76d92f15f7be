"""The first `bl.Target` that a page shows leads to the tour of the library."""

import re

TARGET = re.compile(
    r'(?<=<span class="n">bl</span><span class="o">.</span>)<span class="n">Target</span>'
)
FOLDED = re.compile(r'<details class="[^"]*\bhide\b.*?</details>', re.DOTALL)
TOUR = "start.html#sec-start-model"
LINK = '<a class="tour" href="{}" title="How to write a target of your own">{}</a>'


def link_first_target(html):
    """Return a page with its first `bl.Target` in open code linked, if it has one."""
    folds = [match.span() for match in FOLDED.finditer(html)]
    for match in TARGET.finditer(html):
        if not any(start < match.start() < end for start, end in folds):
            return html[: match.start()] + LINK.format(TOUR, match[0]) + html[match.end() :]
    return html
