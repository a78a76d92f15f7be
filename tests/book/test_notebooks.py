"""The notebooks as one zip: complete, the same each time, and enough to run a page."""

import io
import re
import zipfile

import notebooks
import pytest
from bookext import archive
from calling import interpreter
from prose import CHAPTERS, ROOT, cells
from prose import notebooks as pages
from sphinx_external_toc.parsing import parse_toc_yaml

NAMED = re.compile(r"[\"']((?:data|\.\.)/[\w./-]+)[\"']")


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    folder = tmp_path_factory.mktemp("zip")
    packed = notebooks.pack(notebooks.contents(ROOT, ROOT))
    with zipfile.ZipFile(io.BytesIO(packed)) as zipped:
        assert zipped.testzip() is None
        zipped.extractall(folder)
    return folder / archive.FOLDER


def test_the_same_sources_give_the_same_bytes(unpacked):
    files = notebooks.contents(ROOT, ROOT)
    packed = notebooks.pack(dict(reversed(files.items())))
    assert packed == notebooks.pack(files)
    assert packed != notebooks.pack({**files, "README.md": b"another"})
    with zipfile.ZipFile(io.BytesIO(packed)) as zipped:
        assert {entry.date_time for entry in zipped.infolist()} == {(1980, 1, 1, 0, 0, 0)}
    assert len(packed) < 2_000_000


def missing(folder, sources):
    """Return what code names by a path, and is here, and is not in `folder`."""
    named = {name for source in sources for name in NAMED.findall(source)}
    here = sorted(name for name in named if (CHAPTERS / name).exists())
    return [name for name in here if not (folder / "chapters" / name).exists()]


def test_every_page_and_all_that_it_reads_is_there(unpacked, tmp_path):
    sources = [c.source for path in pages() for c in cells(path) if c.kind == "code"]
    assert missing(unpacked, sources) == []
    assert "data/nile.csv" in missing(tmp_path, sources)
    assert "../benchmarks/results" in missing(tmp_path, sources)
    assert any((unpacked / "benchmarks" / "results").iterdir())
    listed = {path.name for path in (unpacked / "chapters").glob("*.ipynb")}
    names = {name.removeprefix("chapters/") for name in parse_toc_yaml(ROOT / "_toc.yml")}
    assert listed == {path.name for path in pages() if path.stem in names}
    for name in ("README.md", "LICENSE", "LICENSE-text", "requirements.txt", "constraints.txt"):
        assert (unpacked / name).is_file()


def test_the_whole_library_is_there(unpacked):
    def tree(root):
        files = (p.relative_to(root) for p in root.rglob("*") if p.is_file())
        return {p for p in files if "__pycache__" not in p.parts}

    assert tree(unpacked / "bayeslib") == tree(ROOT / "bayeslib")
    shown = interpreter("-c", "import bayeslib; print(bayeslib.__file__)", cwd=unpacked)
    assert shown.strip() == str(unpacked / "bayeslib" / "__init__.py")


def test_a_reader_installs_what_binder_does(unpacked):
    def lines(path):
        text = path.read_text("utf-8")
        return [line for line in text.splitlines() if not line.startswith(("#", "-c"))]

    wanted = lines(unpacked / "requirements.txt")
    assert wanted == lines(ROOT / "binder" / "requirements.txt")
    pinned = {line.split("==")[0] for line in lines(unpacked / "constraints.txt")}
    assert set(wanted) - {"-e .", "-e ./needles"} <= pinned
    assert "-c constraints.txt" in (unpacked / "requirements.txt").read_text("utf-8")


RUN = """import nbclient, nbformat
page = nbformat.read("rejection.ipynb", 4)
page.cells.append(nbformat.v4.new_code_cell("print(bl.__file__)"))
nbclient.NotebookClient(page, timeout=600).execute()
print(page.cells[-1].outputs[0].text)
"""


@pytest.mark.slow
def test_the_library_installs_and_a_page_runs_with_it(unpacked, tmp_path):
    options = ("--no-deps", "--no-index", "--no-build-isolation", "--quiet")
    both = ("--target", str(tmp_path), str(unpacked), str(unpacked / "needles"))
    interpreter("-m", "pip", "install", *options, *both, cwd=unpacked)
    assert (tmp_path / "needles" / "arena").is_dir()
    (unpacked / "run.py").write_text(RUN, "utf-8")
    chapters = unpacked / "chapters"
    said = interpreter("../run.py", cwd=chapters, PYTHONPATH=str(tmp_path))
    assert said.strip() == str(tmp_path / "bayeslib" / "__init__.py")
