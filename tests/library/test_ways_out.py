"""What surrounds the pages: the zip, redirects, what a page says of itself, pictures."""

import re
import zipfile
from types import SimpleNamespace

import numpy as np
import pytest
import yaml
from bookext import addresses, archive, pictures, social
from docutils import nodes
from matplotlib.image import imread
from prose import ROOT

SVG = (ROOT / "_static" / "favicon.svg").read_text("utf-8")


@pytest.fixture
def site(tmp_path):
    """Return the folder of a very small site."""
    files = {
        "index.html": "<p>",
        "chapters/a.html": "<p>",
        ".buildinfo": "x",
        "sitemap.xml": "x",
        "_static/a.css": "@font-face{src:url('f/f.woff2?v=1') format('woff2')}b{c:url(d.svg)}",
        "_static/f/f.woff2": "font",
    }
    for name, text in files.items():
        path = tmp_path / "html" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return tmp_path / "html"


def test_the_zip_holds_the_site_in_one_folder(site, tmp_path):
    with zipfile.ZipFile(archive.pack(site, tmp_path / "out" / "a.zip")) as packed:
        names = [name.removeprefix("all-the-needles/") for name in packed.namelist()]
        css = packed.read("all-the-needles/_static/a.css").decode()
    assert names[:2] == ["_static/a.css", "_static/f/f.woff2"]
    assert set(names[2:]) == {"chapters/a.html", "index.html", "LICENSE", "LICENSE-text"}
    font = "url(data:font/woff2;base64,Zm9udA==)"
    assert css == f"@font-face{{src:{font} format('woff2')}}b{{c:url(d.svg)}}"


def test_the_zip_is_the_same_each_time(site, tmp_path):
    first = archive.pack(site, tmp_path / "a.zip").read_bytes()
    (site / "index.html").touch()
    assert archive.pack(site, tmp_path / "b.zip").read_bytes() == first
    (site / "index.html").write_text("<h1>", "utf-8")
    assert archive.pack(site, tmp_path / "b.zip").read_bytes() != first


@pytest.mark.parametrize(
    ("old", "new", "link"),
    [
        ("index", "chapters/intro", "chapters/intro.html"),
        ("chapters/bugs", "chapters/bug_zoo#sec-a", "bug_zoo.html#sec-a"),
        ("a/b/c", "d", "../../d.html"),
        ("chapters/speed", "chapters/trust", "trust.html"),
    ],
)
def test_a_redirect_leads_there(old, new, link):
    page = addresses.stub(old, new, "A < B")
    assert f'content="0; url={link}"' in page and f'<a href="{link}">' in page
    assert f'location.replace("{link.partition("#")[0]}" + location.hash)' in page
    assert "<title>A &lt; B</title>" in page and "canonical" not in page
    page = addresses.stub(old, new, "A", "https://example.org/book/")
    assert f'href="https://example.org/book/{new.split("#")[0]}.html"' in page


def test_redirects_lead_from_no_page_to_a_page():
    pages = set(re.findall(r"file: (\S+)", (ROOT / "_toc.yml").read_text("utf-8")))
    pages.add("chapters/intro")
    table = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))["sphinx"]["config"]
    for old, new in table["redirects"].items():
        assert old not in pages and new.partition("#")[0] in pages, (old, new)


@pytest.mark.parametrize(
    ("table", "kept"),
    [({"x": "a"}, {"x": "a"}), ({"x": "a#b"}, {"x": "a#b"}), ({"x": "z"}, {}), ({"a": "b"}, {})],
)
def test_only_redirects_that_can_be_kept_are_made(table, kept):
    config = SimpleNamespace(root_doc="a", redirects=table)
    app = SimpleNamespace(config=config, env=SimpleNamespace(found_docs={"a", "b"}))
    assert addresses.redirects(app) == {"index": "a", **kept}


def doctree(*paragraphs):
    return nodes.container("", *(nodes.paragraph("", "", *p) for p in paragraphs))


def test_a_page_is_described_by_its_first_plain_sentence():
    short = [nodes.Text("Too short.")]
    formula = [nodes.Text("Here is a long sentence that needs "), nodes.math("", "x^2")]
    formula += [nodes.Text(" to be understood. "), nodes.emphasis("", "This")]
    formula += [nodes.Text(" sentence\nsays what the page is about, in full. And more.")]
    assert social.description(doctree(short, formula)) == (
        "This sentence says what the page is about, in full."
    )
    assert social.description(doctree(short)) == social.description(None) == ""
    cut = social.description(doctree([nodes.Text("word " * 80)]))
    assert len(cut) <= social.LONGEST and cut.endswith("word…")


def test_the_mark_is_read_as_it_is_drawn():
    (stems, curve) = pictures.strokes(SVG)
    assert stems[:2] == ("#d2751d", 1.5) and len(stems[2]) == 8
    assert stems[2][0] == [[6.2, 29.0], [6.2, 26.5]]
    assert len(curve[2]) == 1 and curve[2][0][-1] == [30.0, 25.4]


@pytest.mark.parametrize(("side", "paper"), [(32, None), (180, pictures.PAPER)])
def test_an_icon_has_its_size_and_its_ground(tmp_path, side, paper):
    pictures.save(pictures.draw_mark(SVG, side, paper=paper), tmp_path / "icon.png")
    image = imread(tmp_path / "icon.png")
    assert image.shape == (side, side, 4)
    assert image[0, 0, 3] == (0 if paper is None else 1)
    assert np.ptp(image[..., :3]) > 0.5


def test_the_preview_has_its_size_and_says_its_title(tmp_path):
    pictures.save(pictures.draw_preview(), tmp_path / "a.png")
    pictures.save(pictures.draw_preview(), tmp_path / "b.png")
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()
    image = imread(tmp_path / "a.png")
    assert image.shape[:2] == pictures.PREVIEW_SIZE[::-1]
    title = image[50:140, 200:1000, :3].min(axis=2) < 0.3
    assert 0.1 < title.mean() < 0.5, "no title"
    assert not (image[:40, :, :3].min(axis=2) < 0.9).any(), "the title leaves the picture"
