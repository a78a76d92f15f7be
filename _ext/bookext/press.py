"""Print the book: ``python _ext/bookext/press.py`` makes _build/all-the-needles.pdf.

It prints what `make book` has executed, and says so if the pages have changed since.
"""

import json
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

NAME = "all-the-needles"
EXECUTED = Path("_build") / "jupyter_execute"
PAPER = Path("_build") / "paper"
TOOLS = ("xelatex", "latexmk", "rsvg-convert", "kpsewhich")
FILES = (
    "texgyrepagella-regular.otf",
    "texgyrepagella-math.otf",
    "newunicodechar.sty",
    "tabulary.sty",
)
PACKAGES = (
    "latexmk librsvg2-bin texlive-xetex texlive-latex-recommended texlive-latex-extra "
    "texlive-fonts-recommended fonts-texgyre fonts-texgyre-math fonts-dejavu-core"
)


def missing():
    """Return the names of programs and TeX files that are not installed."""
    tools = [tool for tool in TOOLS if not shutil.which(tool)]
    if tools:
        return tools
    return [name for name in FILES if run(["kpsewhich", name], check=False).returncode]


def run(command, **options):
    return subprocess.run(command, capture_output=True, text=True, **{"check": True} | options)


def code(path):
    """Return the code of a notebook, cell by cell."""
    cells = json.loads(path.read_text("utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


def stale(root):
    """Return the pages whose code is not the code that was executed."""
    pages = re.findall(r"(?:file|root): (\S+)", (root / "_toc.yml").read_text("utf-8"))
    found = []
    for page in pages:
        source, ran = root / f"{page}.ipynb", root / EXECUTED / f"{page}.ipynb"
        if source.exists() and not (ran.exists() and code(ran) == code(source)):
            found.append(page)
    return found


def draw(svg):
    """Make the PDF of a picture beside it."""
    run(["rsvg-convert", "--format", "pdf", "--output", svg.with_suffix(".pdf"), svg])


def typeset(folder):
    """Run LaTeX as often as is needed."""
    command = ["latexmk", "-xelatex", "-interaction=nonstopmode", f"{NAME}.tex"]
    if run(command, cwd=folder, check=False).returncode:
        log = (folder / f"{NAME}.log").read_text("utf-8", errors="replace")
        sys.exit("LaTeX failed:\n" + "\n".join(re.findall(r"^!.*(?:\n.*){3}", log, re.MULTILINE)))


def main(root):
    if lacking := missing():
        sys.exit(f"missing: {', '.join(lacking)}; on Debian: apt-get install {PACKAGES}")
    if pages := stale(root):
        sys.exit(f"not executed as they stand: {', '.join(pages)}; make book first")
    build = [Path(sys.executable).with_name("jupyter-book"), "build", ".", "--all", "-W"]
    output = ["--keep-going", "--builder", "latex", "--path-output", str(PAPER)]
    folder = root / PAPER / "_build" / "latex"
    shutil.rmtree(folder, ignore_errors=True)  # latexmk remembers a run that failed
    subprocess.run([*build, *output], cwd=root, check=True)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(draw, sorted(folder.rglob("*.svg"))))
    typeset(folder)
    target = root / "_build" / f"{NAME}.pdf"
    shutil.copyfile(folder / f"{NAME}.pdf", target)
    print(f"{target.relative_to(root)}: {target.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main(Path(__file__).resolve().parents[2])
