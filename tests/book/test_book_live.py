"""The notebooks of the built book: what its header downloads, and what the zip holds."""

import zipfile

import nbformat
import pytest
from bookext import live, mathematics
from browsing import HTML
from prose import CHAPTERS, cells, notebooks

PAGES = [path.stem for path in notebooks()]


@pytest.fixture(params=PAGES)
def name(request, book):
    return request.param


def downloaded(name):
    return nbformat.read(HTML / "_sources" / "chapters" / f"{name}.ipynb", 4)


def test_nothing_is_left_that_jupyterlab_cannot_read(name):
    made = downloaded(name)
    nbformat.validate(made)
    text = live.prose(made)
    assert not live.LITERAL.findall(text) and not mathematics.OWN.search(text)
    assert "<svg" not in text and "<script" not in text
    assert all("outputs" not in cell or not cell.outputs for cell in made.cells)


def test_its_code_is_that_of_the_page(name):
    source = [cell for cell in cells(CHAPTERS / f"{name}.ipynb") if cell.kind == "code"]
    wanted = [
        live.unasserted(cell.source) if "remove-cell" in cell.tags else cell.source
        for cell in source
    ]
    code = [cell.source for cell in downloaded(name).cells if cell.cell_type == "code"]
    assert "\n".join(code).endswith("\n".join(wanted))


def test_the_zip_has_the_same(book):
    with zipfile.ZipFile(HTML / "downloads" / "all-the-needles-notebooks.zip") as archive:
        for name in PAGES:
            packed = archive.read(f"all-the-needles/chapters/{name}.ipynb")
            assert packed == (HTML / "_sources" / "chapters" / f"{name}.ipynb").read_bytes()
