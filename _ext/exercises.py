"""The directive ``exercise-index``: every exercise of the book, by chapter, read from the pages.

.. code-block:: md

    ```{exercise-index}
    ```
"""

from pathlib import Path

from bookext import directives
from docutils import nodes
from exercise_form import LEVELS, read_book


class ExerciseIndex(directives.Directive):
    """List the exercises, a section for each chapter."""

    def run(self):
        toc = Path(self.env.srcdir) / "_toc.yml"
        chapters = self.read(toc, lambda toc: read_book(toc.parent))
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
        return directives.link(kind, target, nodes.inline("", text), self.env.docname)


def setup(app):
    """Register the directive; Jupyter Book links its style and script by itself."""
    app.add_directive("exercise-index", ExerciseIndex)
    app.connect("env-get-outdated", directives.read_anew("exercises"))
