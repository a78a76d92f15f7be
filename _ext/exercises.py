"""The directive ``exercise-index``: every exercise of the book, by chapter, read from the pages.

.. code-block:: md

    ```{exercise-index}
    ```
"""

from pathlib import Path

from docutils import nodes
from exercise_form import LEVELS, read_book
from sphinx.addnodes import pending_xref
from sphinx.util.docutils import SphinxDirective


class ExerciseIndex(SphinxDirective):
    """List the exercises, a section for each chapter."""

    def run(self):
        folder = Path(self.env.srcdir)
        self.env.note_dependency(str(folder / "_toc.yml"))
        try:
            chapters = read_book(folder)
        except (OSError, ValueError) as error:
            raise self.error(f"exercises: {error}") from None
        tools = nodes.container(classes=["exercise-tools"])
        return [self.sentence(chapters), tools, *(self.section(*c) for c in chapters)]

    def sentence(self, chapters):
        levels = [exercise.level for _, _, exercises in chapters for exercise in exercises]
        counts = ", ".join(f"{levels.count(level)} {level}" for level in LEVELS)
        text = f"{len(levels)} exercises in {len(chapters)} chapters: {counts}."
        return nodes.paragraph("", text)

    def section(self, page, title, exercises):
        self.env.note_dependency(str(Path(self.env.srcdir) / f"{page}.ipynb"))
        name = f"exercises-{page.rsplit('/', 1)[-1].replace('_', '-')}"
        link = self.link("doc", f"/{page}", title)
        listed = nodes.bullet_list(classes=["exercise-list"])
        for exercise in exercises:
            level = nodes.inline("", exercise.level, classes=["exercise-level"])
            to = self.link("ref", exercise.label, exercise.title)
            listed += nodes.list_item("", nodes.paragraph("", "", to, nodes.Text(" "), level))
        return nodes.section("", nodes.title("", "", link), listed, ids=[name], names=[name])

    def link(self, kind, target, text):
        return pending_xref(
            "",
            nodes.inline("", text),
            refdomain="std",
            reftype=kind,
            reftarget=target,
            refexplicit=True,
            refwarn=True,
            refdoc=self.env.docname,
        )


def outdated(app, env, added, changed, removed):
    """Read the index again when any page has changed."""
    index = {name for name in env.found_docs if name.endswith("/exercises")}
    return index if added or changed or removed else ()


def setup(app):
    """Register the directive; Jupyter Book links its style and script by itself."""
    app.add_directive("exercise-index", ExerciseIndex)
    app.connect("env-get-outdated", outdated)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
