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

from docutils import nodes
from sphinx.transforms import SphinxTransform
from sphinx.util.docutils import SphinxDirective

QUESTION = "Guess the bug."
FOLD = "Open the specimen: the wrong lines, what catches them, the cure"
MARK = re.compile(r"\[([ x])\]\s+")
TAG = "tag_specimen-"


class guess_node(nodes.General, nodes.Element):
    """A question, then its suspects."""


class question_node(nodes.General, nodes.Element):
    """The question: inline content."""


class suspect_node(nodes.General, nodes.Element):
    """One suspect: an `accusation_node`, then a `reply_node`."""


class accusation_node(nodes.General, nodes.Element):
    """What the suspect is accused of: inline content."""


class reply_node(nodes.General, nodes.Element):
    """What is said to a reader who chose this one: blocks."""


class score_node(nodes.General, nodes.Element):
    """How many were found on this page."""


class Guess(SphinxDirective):
    """Ask which of several suspects is the bug."""

    required_arguments = 1
    has_content = True

    def run(self):
        holder = nodes.Element()
        self.state.nested_parse(self.content, self.content_offset, holder)
        if not holder.children or not isinstance(holder.children[-1], nodes.bullet_list):
            raise self.error("guess: the content must end with a list of suspects")
        *asked, suspects = holder.children
        if len(asked) > 1:
            raise self.error("guess: the question is one paragraph")
        question = asked[0].children if asked else [nodes.Text(QUESTION)]
        name = f"{self.env.docname.rsplit('/', 1)[-1]}-{self.arguments[0]}"
        guess = guess_node("", question_node("", *question), name=name)
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
        return suspect_node(
            "",
            accusation_node("", words, *first.children[1:]),
            reply_node("", *reply),
            right=mark[1] == "x",
            name=name,
        )


class GuessScore(SphinxDirective):
    """Tell how many specimens of the page were found, where there is a script."""

    def run(self):
        return [score_node()]


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


def visit_guess(self, node):
    self.body.append(f'<div class="guess" data-guess="{node["name"]}">\n')


def depart_guess(self, node):
    self.body.append("</ul>\n</div>\n")


def visit_question(self, node):
    self.body.append('<p class="guess-question">')


def depart_question(self, node):
    self.body.append("</p>\n<ul>\n")


def visit_suspect(self, node):
    right = " data-right" if node["right"] else ""
    self.body.append(f'<li><details name="{node["name"]}"{right}>\n')


def depart_suspect(self, node):
    self.body.append("</details></li>\n")


def visit_accusation(self, node):
    self.body.append("<summary>")


def depart_accusation(self, node):
    self.body.append("</summary>\n")


def visit_reply(self, node):
    verdict = "Yes." if node.parent["right"] else "No."
    self.body.append(f'<div class="guess-reply"><p class="guess-verdict">{verdict}</p>\n')


def depart_reply(self, node):
    self.body.append("</div>\n")


def visit_score(self, node):
    self.body.append('<p class="guess-score" hidden></p>\n')


def nothing(self, node):
    """Leave the children to speak for themselves."""


def latex_paragraph(self, node):
    self.body.append("\n\n")


def latex_item(self, node):
    mark = r"\checkmark" if node["right"] else r"\times"
    self.body.append(f"\n\n\\noindent$({mark})$ ")


def setup(app):
    """Register both; Jupyter Book links guess.css and guess.js of _static by itself."""
    app.add_directive("guess", Guess)
    app.add_directive("guess-score", GuessScore)
    app.add_transform(FoldSpecimens)
    for node, html, latex in (
        (guess_node, (visit_guess, depart_guess), (latex_paragraph, latex_paragraph)),
        (question_node, (visit_question, depart_question), (latex_paragraph, latex_paragraph)),
        (suspect_node, (visit_suspect, depart_suspect), (latex_item, latex_paragraph)),
        (accusation_node, (visit_accusation, depart_accusation), (nothing, latex_paragraph)),
        (reply_node, (visit_reply, depart_reply), (nothing, nothing)),
        (score_node, (visit_score, nothing), (nothing, nothing)),
    ):
        app.add_node(node, html=html, latex=latex, text=(nothing, nothing))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
