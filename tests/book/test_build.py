"""A small book: it builds, and it fails to build whenever a page is wrong."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from prose import ROOT
from small_book import sample

PROLOGUE = "from myst_nb import glue\n\nglue('share', 0.3846, display=False)"
BIBLIOGRAPHY = "@book{One2000, author={One, Ann}, title={A Book}, publisher={P}, year={2000}}"


def notebook(*cells):
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return new_notebook(cells=list(cells), metadata={"kernelspec": kernel})


def page():
    svg = 'from IPython.display import HTML\nHTML(\'<svg role="img" aria-label="a"></svg>\')'
    figure = {"name": "fig-a", "caption": "Share {glue:text}`share:.2f`, $x$."}
    drawn = {"mystnb": {"figure": figure}, "tags": ["hide-input"]}
    return notebook(
        new_code_cell(PROLOGUE),
        new_code_cell(svg, metadata=drawn),
        new_markdown_cell(sample("one_page")["page.md"]),
        new_code_cell("1 + 1"),
        new_markdown_cell("````{solution-end}\n````\n\n```{bibliography}\n```\n"),
    )


def build(folder, notebook, *, url="", base="", chapters=()):
    """Build a book in `folder`: a page, and chapters that are there already.

    Returns the process and the page's HTML path.
    """
    for name in ("_ext", "_static"):
        (folder / name).symlink_to(ROOT / name)
    config = (ROOT / "_config.yml").read_text("utf-8")
    config = config.replace('  url: ""', f'  url: "{url}"')
    config = config.replace('  baseurl: ""', f'  baseurl: "{base}"')
    (folder / "_config.yml").write_text(config, "utf-8")
    contents = {"format": "jb-book", "root": "page"}
    if chapters:
        contents["chapters"] = [{"file": name} for name in chapters]
    (folder / "_toc.yml").write_text(json.dumps(contents), "utf-8")
    (folder / "references.bib").write_text(BIBLIOGRAPHY, "utf-8")
    (folder / "page.ipynb").write_text(json.dumps(notebook), "utf-8")
    command = [str(Path(sys.executable).with_name("jupyter-book")), "build", ".", "--all"]
    environment = {**os.environ, "GIT_CEILING_DIRECTORIES": str(folder.parent)}
    done = subprocess.run(
        [*command, "-W", "-n", "--keep-going"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return done, folder / "_build" / "html" / "page.html"


@pytest.mark.slow
def test_a_good_page_builds(tmp_path):
    done, path = build(tmp_path, page())
    assert done.returncode == 0, done.stdout + done.stderr
    html = path.read_text("utf-8")
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", html))
    for wanted in ("Of all darts 38.5% hit", "Share 0.38", "Figure 1", "Theorem 1", "Exercise 1"):
        assert wanted in text, wanted
    assert "One [2000]" in text
    live = (path.parent / "_sources" / "page.ipynb").read_text("utf-8")
    assert "Of all darts 38.5% hit" in live and "> **Theorem 1" in live and "{glue" not in live
    assert html.count("<details") == 3  # code, proof, solution
    assert 'class="katex-html"' in html and "katex.min.js" not in html
    assert "mybinder.org" not in html and "<iframe" not in html
    assert not re.search(r'(?:src|rel="stylesheet" href)="(?:https?:)?//', html)
    early = re.findall(r'<link rel="preload" as="font"[^>]*href="([^"]+)"', html)
    assert len(early) == 3 and all((path.parent / font).is_file() for font in early)
    assert not re.search(r"fontawesome\.js|thebe|require\.js|mathjax[@/]", html, re.IGNORECASE)
    assert 'og:title" content="A page · All the Needles"' in html and "og:image" not in html
    assert 'href="page.html"' in (path.parent / "index.html").read_text("utf-8")
    assert not (path.parent / "sitemap.xml").exists()


@pytest.mark.slow
def test_addresses_follow_the_repository_and_the_site(tmp_path):
    base = "https://example.org/book/"
    done, path = build(tmp_path, page(), url="https://github.com/someone/needles", base=base)
    assert done.returncode == 0, done.stdout + done.stderr
    html = path.read_text("utf-8")
    assert "/v2/gh/someone/needles/main?urlpath=lab/tree/page.ipynb" in html
    assert 'href="https://github.com/someone/needles"' in html
    assert f'rel="canonical" href="{base}page.html"' in html
    assert f'og:url" content="{base}page.html"' in html
    picture = re.search(rf'og:image" content="{base}([^"]+)"', html)[1]
    assert (path.parent / picture).is_file()
    assert f"<loc>{base}page.html</loc>" in (path.parent / "sitemap.xml").read_text("utf-8")
    assert f'href="{base}"' in (path.parent / "404.html").read_text("utf-8")
    assert f"Sitemap: {base}sitemap.xml" in (path.parent / "robots.txt").read_text("utf-8")


WRONG = {
    "warning": ({"last": "import warnings\nwarnings.warn('trouble')"}, "stderr"),
    "formula": ({"text": r"# A page" + "\n\n" + r"$\nosuchthing$"}, "Undefined control sequence"),
    "reference": ({"text": "# A page\n\n{prf:ref}`nowhere`"}, "nowhere"),
    "number": ({"text": "# A page\n\n{glue:text}`never:.2f`"}, "never"),
}


def short_page(text="# A page", last="1 + 1"):
    return notebook(new_markdown_cell(text), new_code_cell(last))


def test_each_wrong_page_is_complained_of(tmp_path):
    """Every complaint is a warning or an error, of which one is enough to fail the build."""
    for name, (changes, _) in WRONG.items():
        (tmp_path / f"{name}.ipynb").write_text(json.dumps(short_page(**changes)), "utf-8")
    done, _ = build(tmp_path, page(), chapters=WRONG)
    assert done.returncode != 0
    complaints = [
        line for line in (done.stdout + done.stderr).splitlines()
        if re.search("WARNING|ERROR", line)
    ]  # fmt: skip
    for name, (_, complaint) in WRONG.items():
        found = [line for line in complaints if f"{name}.ipynb" in line and complaint in line]
        assert found, (name, complaints)
    assert not [line for line in complaints if "page.ipynb" in line]


def test_a_raising_cell_ends_the_build(tmp_path):
    done, _ = build(tmp_path, short_page(last="1 / 0"))
    assert done.returncode != 0
    assert "ZeroDivisionError" in done.stdout + done.stderr
