"""Small books, built for a test in its own process; those of several pages stand in tests/data."""

import io
import json
import warnings
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace

SAMPLES = Path(__file__).parents[1] / "data" / "books"
# Sphinx keeps the suffixes of one application for the next of the same process, unless told.
SETTINGS = {
    "source_suffix": {".md": "markdown"},
    "myst_enable_extensions": ["dollarmath"],
    "html_math_renderer": "mathjax",
    "html_theme": "basic",
}


def sample(name):
    """Return the files of a book of tests/data/books: {path in its folder: text}."""
    folder = SAMPLES / name
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_text("utf-8") for path in files}


def write(folder, files):
    """Write files by name: texts, and notebooks or tables as JSON."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text if isinstance(text, str) else json.dumps(text), "utf-8")


def build(folder, files, *extensions, kind="html", **settings):
    """Write a book and build it; return {stem of a page, or "tex": text} and the warnings."""
    settings = SETTINGS | {"extensions": ["myst_parser", *extensions]} | settings
    conf = "".join(f"{name} = {value!r}\n" for name, value in settings.items())
    write(folder, files | {"conf.py": conf})
    heard, out = io.StringIO(), folder / kind
    # what extensions register is forgotten afterwards
    with docutils_namespace(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        Sphinx(folder, folder, out, folder / f"trees-{kind}", kind, None, None, heard).build()
    texts = {path.stem: path.read_text("utf-8") for path in out.rglob("*.html")}
    for path in out.glob("*.tex"):
        texts["tex"] = path.read_text("utf-8")
    return texts, heard.getvalue()
