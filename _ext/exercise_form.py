"""The form of the book's exercises, read from the pages as they stand and as they ran.

An exercise has a title, the label ``ex-<name>`` and its level in italics, with the word "code"
where paper, the page and a pocket calculator will not do; the cell below it checks the answer
called ``<name>``, and so does the last cell of its worked solution.
"""

import json
import re
from pathlib import Path
from typing import NamedTuple

from bookext.cells import read
from sphinx_external_toc.parsing import parse_toc_yaml

LEVELS = ("warm-up", "core", "stretch")
FENCE = re.compile(r"^(?:`{3,}|:{3,})\{(exercise|solution-start|solution-end)\}", re.MULTILINE)
EXERCISE = re.compile(
    r"`{3,}\{exercise\} (?P<title>[^$\n]+)\n:label: (?P<label>\S+)\n"
    r"\*\((?P<level>[^),\n]+)(?P<code>, code)?\)\* \S"
)
CHECK = re.compile(r"^\s*check\(\"([^\"]+)\"", re.MULTILINE)


class Exercise(NamedTuple):
    """An exercise as its page gives it."""

    name: str
    title: str
    label: str
    level: str
    code: bool = False


def label_of(name):
    """Return the label of the exercise that `check` calls `name`; an anchor has no underscore."""
    return f"ex-{name.replace('_', '-')}"


def read_cells(path):
    """Return the cells of a notebook as pairs (kind, source)."""
    cells = json.loads(Path(path).read_text("utf-8"))["cells"]
    return [(cell["cell_type"], "".join(cell["source"])) for cell in cells]


def read_exercises(path):
    """Return the exercises of a notebook, in order.

    Raises
    ------
    ValueError
        Naming the exercise that is not in the form.
    """
    found, checked, place = [], [], None
    for kind, source in read_cells(path):
        if kind == "code" and place:
            checked += [(place, name) for name in CHECK.findall(source)]
        for fence in FENCE.finditer(source) if kind == "markdown" else ():
            place = {"exercise": "below", "solution-start": "solution"}.get(fence[1])
            if fence[1] == "exercise":
                found.append(_exercise(source[fence.start() :], path))
            elif fence[1] == "solution-start":
                target = source[fence.end() :].split(maxsplit=1)[0]
                if not found or target != found[-1].label:
                    raise ValueError(f"{path}: the solution to {target} follows another exercise")
                checked.append(("solution", ""))
    names = [name for where, name in checked if where == "below"]
    solved = _last_of_each(checked)
    if not len(names) == len(found) == len(solved) or names != solved:
        raise ValueError(f"{path}: {names} are checked below their exercises, {solved} are solved")
    exercises = [e._replace(name=name) for e, name in zip(found, names, strict=True)]
    for exercise in exercises:
        if exercise.label != label_of(exercise.name):
            raise ValueError(f"{path}: {exercise.name} has the label {exercise.label}")
    return exercises


def _exercise(source, path):
    match = EXERCISE.match(source)
    if not match:
        raise ValueError(f"{path}: no title, label or level: {source.splitlines()[0]}")
    if match["level"] not in LEVELS:
        raise ValueError(f"{path}: {match['label']} is {match['level']}, not one of {LEVELS}")
    return Exercise("", match["title"].strip(), match["label"], match["level"], bool(match["code"]))


def _last_of_each(checked):
    """Return the last name that each solution checks; an empty one opens a solution."""
    solved = []
    for where, name in checked:
        if where == "solution":
            solved[len(solved) - bool(name) :] = [name]
    return solved


def unsolved(cells):
    """Return what is wrong with the exercises of a notebook that has run, as phrases.

    Below an exercise stands a blank, and `check` says so; the worked solution is right.

    Parameters
    ----------
    cells : sequence of dict
        The cells with their outputs.
    """
    wrong, place = [], None
    for cell in cells:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            for fence in FENCE.finditer(source):
                place = {"exercise": "Nothing", "solution-start": "Right."}.get(fence[1])
        elif place and (names := CHECK.findall(source)):
            if not any(place in said for said in _said(cell)):
                wrong.append(f"{names[-1]} should say {place!r}, and says {_said(cell)}")
    return wrong


def _said(cell):
    results = [output.get("data", {}) for output in cell["outputs"]]
    return ["".join(data["text/plain"])[:200] for data in results if "text/plain" in data]


def read_book(folder):
    """Return the chapters that have exercises: triples (page, title, exercises)."""
    chapters = []
    for page in parse_toc_yaml(Path(folder) / "_toc.yml"):
        path = Path(folder) / f"{page}.ipynb"
        if path.is_file() and (exercises := read_exercises(path)):
            chapters.append((page, read(path).title, exercises))
    return chapters
