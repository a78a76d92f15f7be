"""The pages as notebooks in one zip, with all that they need, for readers without git.

Written into the built book as ``downloads/all-the-needles-notebooks.zip``: its pages are those
under the header's download button. The same book gives the same bytes.
"""

import io
import re
from pathlib import Path

from bookext import archive
from exercise_form import read_cells
from sphinx_external_toc.parsing import parse_toc_yaml

NAME = "all-the-needles-notebooks.zip"
COPIED = ("LICENSE", "LICENSE-text", "constraints.txt", "pyproject.toml")
CODE = {".py", ".pyi", ".typed", ".toml", ".css", ".js"}
READ = re.compile(r"[\"']\.\./([\w./-]+)[\"']")  # what a page reads outside its own folder

README = """# All the Needles: the notebooks

Every page of the book as a live notebook, the data it reads, and `bayeslib`, the library it is
written with. Python 3.11 to 3.13 is needed, and the network once, for the packages. In this
folder:

    python3 -m venv .venv
    .venv/bin/pip install -r requirements.txt
    .venv/bin/jupyter lab chapters

(On Windows: `py -m venv .venv`, and `.venv\\Scripts\\` in place of `.venv/bin/`.)

Open any page and choose Run, Run All Cells. The first page takes a minute longer, while the library
compiles itself. The sliders then compute instead of replaying, and every cell is yours to change.
Exercises are at the end of a page: put your answer in place of the dots, and `check` says what it
thinks of it. Their solutions are below them, folded, and so is the code that draws and keeps book:
a click on the bar at its left opens a cell.

Code is under the BSD 3-Clause licence (LICENSE), text and figures under CC BY 4.0 (LICENSE-text).
"""


def requirements(root):
    """Return what a reader installs: what Binder does."""
    lines = (root / "binder" / "requirements.txt").read_text("utf-8").splitlines()
    kept = [line.replace("../constraints.txt", "constraints.txt") for line in lines]
    return "\n".join(line for line in kept if not line.startswith("#")) + "\n"


def read_by(page):
    """Yield the files and folders that the code of a page names by a path from its own folder."""
    for kind, source in read_cells(page):
        if kind == "code":
            yield from READ.findall(source)


def contents(root, live):
    """Return the files of the zip, a dict of path to bytes, the pages from the folder `live`."""
    root = Path(root)
    listed = [root / f"{page}.ipynb" for page in parse_toc_yaml(root / "_toc.yml")]
    pages = [page for page in listed if page.is_file()]
    paths = [*(root / name for name in COPIED), *(root / "chapters" / "data").iterdir()]
    for package in (root / "bayeslib", root / "needles"):
        paths += (path for path in package.rglob("*") if path.suffix in CODE)
    for path in (root / name for page in pages for name in read_by(page)):
        paths += path.iterdir() if path.is_dir() else [path]
    files = {str(path.relative_to(root)): path.read_bytes() for path in paths if path.is_file()}
    names = [str(page.relative_to(root)) for page in pages]
    files |= {name: (Path(live) / name).read_bytes() for name in names}
    files["README.md"] = README.encode()
    files["requirements.txt"] = requirements(root).encode()
    return files


def pack(files):
    """Return the bytes of a zip of `files`, in one folder, without dates."""
    buffer = io.BytesIO()
    archive.write(buffer, ((f"{archive.FOLDER}/{name}", files[name]) for name in sorted(files)))
    return buffer.getvalue()


def write(app, exception):
    """Put the zip beside the pages; a book without a library has none."""
    root = Path(app.srcdir)
    if exception or app.builder.format != "html" or not (root / "bayeslib").is_dir():
        return
    folder = Path(app.outdir) / "downloads"
    folder.mkdir(exist_ok=True)
    (folder / NAME).write_bytes(pack(contents(root, Path(app.outdir) / "_sources")))


def offer(app, pagename, templatename, context, doctree):
    """Put the zip into the header's download menu, below the page itself."""
    for group in context.get("header_buttons", ()):
        if group.get("label") == "download-buttons" and (Path(app.srcdir) / "bayeslib").is_dir():
            button = {
                "type": "link",
                "url": context["pathto"](f"downloads/{NAME}", 1),
                "text": "all pages .zip",
                "tooltip": "All notebooks, with their data and the library",
                "icon": "fas fa-file-zipper",
                "label": "download-zip-button",
            }
            group["buttons"].insert(-1, button)


def setup(app):
    app.connect("html-page-context", offer, priority=502)  # after the theme's buttons
    app.connect("build-finished", write, priority=750)  # after the live notebooks
