"""The directives ``guess`` and ``guess-score``: choose a suspect, then open the specimen.

.. code-block:: md

    ```{guess} name
    What went wrong?

    - [ ] The proposal is not symmetric.

      It is.
    - [x] Rejected states are dropped.

      They are.
    ```

Each suspect is an HTML `<details>` with the reply inside, which needs no script; `guess.js` makes
radio buttons of them. What follows in the same section becomes a fold, and with it the cells before
the directive whose tag begins with ``specimen-``: they run first and are shown last.
"""

import re

from bookext import directives
from bookext.directives import wrapped
from docutils import nodes
from sphinx.transforms import SphinxTransform

QUESTION = "Guess the bug."
FOLD = "Open the specimen: the wrong lines, what catches them, the cure"
MARK = re.compile(r"\[([ x])\]\s+")
TAG = "tag_specimen-"
# what is written before and after the parts of a guess
QUESTIONED = ('<p class="guess-question">', "</p>\n<ul>\n")
SUMMARY = ("<summary>", "</summary>\n")
REPLY = '<div class="guess-reply"><p class="guess-verdict">{}</p>\n'
ITEM = "\n\n\\noindent$(\\{})$ "
PARAGRAPH = ("\n\n", "\n\n")


class guess_node(wrapped):
    """A question, then its suspects."""


class Guess(directives.Directive):
    """Ask which of several suspects is the bug."""

    required_arguments = 1
    has_content = True

    def run(self):
        parsed = self.parse_content_to_nodes()
        if not parsed or not isinstance(parsed[-1], nodes.bullet_list):
            raise self.error("guess: the content must end with a list of suspects")
        *asked, suspects = parsed
        if len(asked) > 1:
            raise self.error("guess: the question is one paragraph")
        question = asked[0].children if asked else [nodes.Text(QUESTION)]
        name = f"{self.env.docname.rsplit('/', 1)[-1]}-{self.arguments[0]}"
        question = wrapped("", *question, html=QUESTIONED, latex=PARAGRAPH)
        start = f'<div class="guess" data-guess="{name}">\n'
        guess = guess_node("", question, html=(start, "</ul>\n</div>\n"), latex=PARAGRAPH)
        guess += [self.suspect(item, name) for item in suspects]
        if sum(suspect["right"] for suspect in guess.children[1:]) != 1:
            raise self.error("guess: exactly one suspect is right, [x]")
        self.set_source_info(guess)
        return [guess]

    def suspect(self, item, name):
        first, *reply = item.children
        mark = MARK.match(first.astext())
        if not mark or not isinstance(first.children[0], nodes.Text):
            raise self.error(f"guess: a suspect begins with [ ] or [x]: {first.astext()!r}")
        if not reply:
            raise self.error(f"guess: what is said to who chooses {first.astext()!r}?")
        words = nodes.Text(first.children[0].astext()[mark.end() :])
        is_right = mark[1] == "x"
        words = wrapped("", words, *first.children[1:], html=SUMMARY, latex=("", "\n\n"))
        said = REPLY.format("Yes." if is_right else "No.")
        reply = wrapped("", *reply, html=(said, "</div>\n"))
        start = f'<li><details name="{name}"{" data-right" * is_right}>\n'
        tick = ITEM.format("checkmark" if is_right else "times")
        html, latex = (start, "</details></li>\n"), (tick, "\n\n")
        return wrapped("", words, reply, right=is_right, html=html, latex=latex)


class GuessScore(directives.Directive):
    """Tell how many specimens of the page were found, where there is a script."""

    def run(self):
        return [wrapped(html=('<p class="guess-score" hidden></p>\n', ""))]


class FoldSpecimens(SphinxTransform):
    """Fold what follows a guess, and move the specimen's own cells into the fold."""

    default_priority = 250

    def apply(self):
        for guess in list(self.document.findall(guess_node)):
            section = guess.parent
            at = section.index(guess)
            before, after = section.children[:at], section.children[at + 1 :]
            moved = [node for node in before if _is_specimen(node)]
            inside = [*moved, *after]
            for node in inside:
                section.remove(node)
            if inside:
                fold = nodes.admonition("", nodes.title("", FOLD), *inside)
                fold["classes"] = ["dropdown", "specimen"]
                section.append(fold)


def _is_specimen(node):
    return any(name.startswith(TAG) for name in node.get("classes", ()))


def setup(app):
    """Register both; Jupyter Book links guess.css and guess.js of _static by itself."""
    directives.setup(app, guess_node)
    app.add_directive("guess", Guess)
    app.add_directive("guess-score", GuessScore)
    app.add_transform(FoldSpecimens)
