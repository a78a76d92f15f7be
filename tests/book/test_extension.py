"""The parts of the book's Sphinx extension that work on text."""

import re
import shutil
import tarfile
import types
from pathlib import Path

import bookext
import pytest
from bookext import (
    accessibility,
    audit,
    bundle,
    diet,
    finish,
    folds,
    mathematics,
    parted,
    purge,
    room,
    vendor,
)
from prose import ROOT
from sphinx.errors import ExtensionError


@pytest.mark.parametrize(
    ("remote", "address"),
    [
        ("git@github.com:someone/needles.git\n", "https://github.com/someone/needles"),
        ("https://github.com/someone/needles", "https://github.com/someone/needles"),
        ("ssh://git@gitlab.com/some/where.git", "https://gitlab.com/some/where"),
        ("/srv/git/needles.git", ""),
        ("https://example.org/a/b", ""),
        ("", ""),
    ],
)
def test_only_a_public_remote_has_an_address(remote, address):
    assert bookext.web_address(remote) == address


def test_the_footer_says_whom_to_cite(tmp_path):
    assert bookext.imprint(tmp_path) == "" == bookext.git(tmp_path, "log")  # no git here
    text = "title: T\nversion: 1.2\nauthors: [{name: A}, {name: B}]\n"
    (tmp_path / "CITATION.cff").write_text(text, "utf-8")
    assert bookext.imprint(tmp_path) == "<p>Cite as: A, B, <em>T</em>, version 1.2.</p>"
    day = bookext.git(ROOT, "log", "-1", "--format=%cs").strip()
    edition = r"version [\d.]+" + (f", {day}" if day else "")
    assert re.search(rf"{edition}\.</p>$", bookext.imprint(ROOT))


def test_an_address_for_the_site_is_taken_from_the_environment(monkeypatch, tmp_path):
    app = types.SimpleNamespace(confdir=tmp_path)
    for url, base in (("", "as it was"), ("https://a.org/b", "https://a.org/b/")):
        monkeypatch.setenv("BOOK_URL", url)
        config = types.SimpleNamespace(html_theme_options={}, html_baseurl="as it was")
        bookext.sign(app, config)
        assert config.html_baseurl == base
        footer = config.html_theme_options["extra_footer"]
        assert ("https://a.org/b/downloads/all-the-needles.pdf" in footer) == bool(url)


def test_boxes_have_an_address_and_folds_the_name_they_show():
    title = '<p class="admonition-title">Theorem 1 (<em>T</em>)'
    for kind in ("proof theorem admonition", "exercise admonition"):
        box = f'<div class="{kind}" id="thm-a">\n{title}</p><p>in</p></div>'
        link = '<a class="headerlink" href="#thm-a" title="Link to this box">#</a>'
        heading = box.replace('title">', 'title" role="heading" aria-level="3">')
        assert accessibility.mend(box) == heading.replace("</p>", f"{link}</p>", 1)
        assert accessibility.mend(accessibility.mend(box)) == accessibility.mend(box)
    fold = '<summary aria-label="Toggle hidden content"><span>Show</span></summary>'
    assert accessibility.mend(fold) == "<summary><span>Show</span></summary>"


def test_folds_become_details_and_the_rest_stays():
    html = (
        '<svg viewBox="0 0 1 1"><path/></svg><div class="a">'
        '<div class="tip dropdown admonition" id="x"><p class="admonition-title">See <a href="#y">'
        "this</a></p><div>in</div></div></div><div>"
    )
    assert folds.fold(html) == (
        '<svg viewBox="0 0 1 1"><path/></svg><div class="a">'
        '<details class="tip dropdown admonition" id="x"><summary class="admonition-title">See '
        "this</summary><div>in</div></details></div><div>"
    )


def test_a_fold_in_a_fold():
    title = '<span id="b"></span><p class="admonition-title">B</p>'
    inner = f'<div class="tip dropdown admonition">{title}b</div>'
    outer = f'<div class="admonition dropdown"><p class="admonition-title">A</p>{inner}a</div>'
    folded = folds.fold(outer)
    assert "<div" not in folded
    assert folded.count("<details") == folded.count("</details>") == 2
    assert '>B</summary><span id="b"></span>b' in folded
    assert folded.index(">A</summary>") < folded.index(">B</summary>") < folded.index("a</details>")


def test_a_folded_proof_is_titled_once():
    folded = folds.fold('<div class="proof dropdown admonition">\n<p>Proof. Let it be.</p></div>')
    assert '<summary class="admonition-title">Proof</summary>' in folded
    assert "<p>Let it be.</p>" in folded


def test_purging_keeps_what_is_used_in_its_order():
    css = (
        "@charset 'x';/* c */.a,.b:hover{x:1}.b{x:2}#c .a{x:3}p{y:url('}')}"
        "@media (w){.b{x:4}.a>p{x:5}}.a:not(.b){x:6}.x\\:y{x:7}@font-face{f:g}"
    )
    assert purge.purge(css, {"a"}) == (
        "@charset 'x';.a{x:1}p{y:url('}')}@media (w){.a>p{x:5}}.a:not(.b){x:6}@font-face{f:g}"
    )


def test_icons_are_found_by_their_code():
    assert diet.icon_codes('.fa-x{--fa:"\\f0c9"}i{content:"\\2014"}') == {0xF0C9, 0x2014}


def test_a_page_loses_its_scripts_but_search_keeps_its_own():
    script = '<script src="../_static/searchtools.js"></script>'
    icons = '<script defer src="../_static/scripts/fontawesome.js?digest=1"></script>'
    assert diet.strip(script + icons, is_search=False) == ""
    assert diet.strip(script + icons, is_search=True) == script


def test_mending_says_a_heading_that_is_a_formula():
    formula = (
        '<p><span class="math"><annotation encoding="application/x-tex">\\hat p</annotation>'
        "<b>p</b></span></p>"
    )
    mended = accessibility.mend(f'<th class="head">{formula}</th><th class="head">a {formula}</th>')
    assert mended.count("visually-hidden") == 1
    assert '<span class="visually-hidden">hat p</span><span aria-hidden="true"><span' in mended
    assert accessibility.mend('<th class="head text-left"></th>') == (
        '<td class="head text-left"></td>'
    )


@pytest.mark.parametrize("macro", sorted(mathematics.MACROS))
def test_every_macro_can_be_drawn(macro):
    formula = f"x{macro}" + ("{y}" if "#1" in mathematics.MACROS[macro] else " ")
    assert "katex-html" in mathematics.draw(formula, display=False)


def test_a_formula_that_cannot_be_read_says_so():
    with pytest.raises(ValueError, match="Undefined control sequence"):
        mathematics.draw(r"\nosuchthing", display=True)
    with pytest.raises(ValueError, match="MathML is invalid"):
        mathematics.draw(r"\sigma_{\min}", display=False)
    assert "<math" in mathematics.draw(r"\sigma_{\mathrm{min}} + \min_x x", display=True)


def test_safari_hangs_no_bracket_of_a_formula():
    """Only WebKit knows the property, and no WebKit runs here."""
    style = (ROOT / "_static" / "book.css").read_text("utf-8")
    katex = re.search(r"\.katex \{[^}]*\}", style)[0]
    assert "hanging-punctuation: none" in katex or "hanging-punctuation" not in style


def test_the_audit_knows_the_symptoms():
    assert audit.symptoms("<pre>Traceback (most recent call last):</pre>") == ["a traceback"]
    assert audit.symptoms("<p>well</p>") == []


def test_a_quoted_number_is_written_as_in_print(tmp_path):
    page = tmp_path / "page.html"
    span = '<span class="pasted-text">{}</span>'
    quoted = ("-1,375", "-0.25 ± 0.01", "-x", "1.5e-05", "-4e+12", "one-05")
    page.write_text("".join(map(span.format, quoted)), "utf-8")
    found = finish.finish_page(page).replace("\u00a0", " ")
    for text in ("−1,375", "−0.25 ± 0.01", "-x", "1.5 × 10⁻⁵", "−4 × 10¹²", "one-05"):
        assert span.format(text) in found


def test_a_link_to_an_optional_page_says_so(tmp_path):
    link = '<a class="right-next"\n  href="{}.html"><p class="prev-next-title">Next</p></a>'
    for name, text, said in (("a", finish.OPTIONAL, "\u00a0(optional)"), ("b", "", "")):
        (tmp_path / f"{name}.html").write_text(text)
        found = finish.mark_optional(link.format(name), tmp_path)
        assert found == link.format(name).replace("Next<", f"Next{said}<")


def test_room_is_kept_for_what_is_seen_of_each_section_below_the_title():
    fold = "<details><summary>Solution</summary><div><p>{}</p></div></details>".format
    page = '<section id="top"><h1>A</h1><section id="a">{}<section id="b">{}</section></section>{}'
    page = (page + "</section>").format

    def kept(*parts):
        found = re.findall(
            r'<section id="(\w+)"(?: style="--room: (\d+)px")?>', room.reserve(page(*parts))
        )
        return {name: int(height) for name, height in found if height}

    (least,) = kept("", "", "").values()
    assert set(kept("", "", "")) == {"a"}
    assert kept("", "", "<p>outside</p>")["a"] == least
    assert kept("<p>a</p>", "<p>b</p>", "")["a"] > kept("<p>a</p>", "", "")["a"] > least
    assert kept(fold("long" * 99), "", "") == kept(fold("short"), "", "")
    shown = "<details class='a' open><summary>Step</summary><p>{}</p></details>".format
    assert kept(shown("long" * 99), "", "")["a"] > kept(shown("short"), "", "")["a"]
    assert kept("<svg><text>long</text></svg><math>a</math>", "", "")["a"] == least
    assert kept('<div class="explorer"></div>', "", "")["a"] > least + 100


def test_two_processes_may_fetch_a_package_at_once(tmp_path, monkeypatch):
    source = tmp_path / "package"
    source.mkdir()
    (source / "file.css").write_text("a {}")

    def pack(name, version, folder):
        with tarfile.open(Path(folder) / "a.tgz", "w:gz") as archive:
            archive.add(source, "package")
        if is_second:
            shutil.copytree(source, home)
        return Path(folder) / "a.tgz"

    digest = types.SimpleNamespace(hexdigest=lambda: "1")
    monkeypatch.setattr(vendor, "pack", pack)
    monkeypatch.setattr(vendor.hashlib, "sha256", lambda archive: digest)
    monkeypatch.setattr(vendor, "PACKAGES", {"a": ("1", "1")})
    for is_second in (False, True):
        monkeypatch.setattr(vendor.sys, "prefix", str(tmp_path / str(is_second)))
        home = tmp_path / str(is_second) / "share/bookext/a-1"
        assert vendor.package("a") == home
        assert [path.name for path in home.iterdir()] == ["file.css"]
        assert list(home.parent.iterdir()) == [home]


SHEETS = """<head>
<link href="{0}_static/styles/theme.css?digest=1" rel="stylesheet" />
<link rel="stylesheet" type="text/css" href="{0}_static/b.css?v=2" />
<link rel="icon" href="{0}_static/a.svg" />
<link rel="stylesheet" type="text/css" href="{0}_static/a.css" />
<script src="{0}_static/documentation_options.js?v=9"></script>
<script src="{0}_static/doctools.js?v=9"></script>
<script src="{0}_static/a.js?v=3"></script>
</head>"""


def test_sheets_and_the_books_own_scripts_are_one_file_each_in_their_order(tmp_path):
    static = tmp_path / "_static"
    (static / "styles").mkdir(parents=True)
    (tmp_path / "deep").mkdir()
    (static / "styles" / "theme.css").write_text(
        '@import "../basic.css";a{src:url(../fonts/a.woff2);mask:url("data:x")}'
    )
    (static / "basic.css").write_text("i{src:url('file.png')}")
    for name in ("a.css", "b.css", "a.js"):
        (static / name).write_text(f"/* {name} */")
    for path, up in (("index.html", ""), ("deep/page.html", "../")):
        html = bundle.unblock(SHEETS.format(up), is_search=False)
        (tmp_path / path).write_text(html)
    bundle.bundle(tmp_path, {"a.css", "b.css", "a.js"})
    found = (tmp_path / "deep" / "page.html").read_text()
    assert re.findall(r'(?:href|src)="([^"?]+)', found) == [
        *("../_static/all-the-needles.css", "../_static/a.svg"),
        *("../_static/documentation_options.js", "../_static/doctools.js"),
        "../_static/all-the-needles.js",
    ]
    assert found.count("<script defer") == 2
    kept = {path.name: path.read_text() for path in static.glob("all-the-needles.*")}
    theme = 'i{src:url("file.png")}a{src:url("fonts/a.woff2");mask:url("data:x")}'
    assert kept == {
        "all-the-needles.css": f"{theme}\n/* b.css */\n/* a.css */",
        "all-the-needles.js": "/* a.js */",
    }
    assert not any((static / name).exists() for name in ("a.css", "b.css", "a.js"))
    app = types.SimpleNamespace(outdir=tmp_path, builder=types.SimpleNamespace(format="html"))
    env = types.SimpleNamespace(found_docs={"index", "deep/page"})
    bookext.check_start(app, env, ["deep/page", "index"])
    with pytest.raises(ExtensionError, match="say make book"):
        bookext.check_start(app, env, ["index"])


def test_a_sheet_of_some_pages_only_is_an_error(tmp_path):
    (tmp_path / "_static").mkdir()
    for name in "ab":
        (tmp_path / "_static" / f"{name}.css").write_text("")
        (tmp_path / f"{name}.html").write_text(f'<link rel="stylesheet" href="_static/{name}.css">')
    with pytest.raises(AssertionError, match="only some pages"):
        bundle.bundle(tmp_path, set())


def test_what_has_moved_is_led_to_from_where_it_was():
    old = '<article><p id="stays">x</p></article>'
    new = (
        '<p id="outside"></p><article><h2 id="stays">x</h2><figure class="a" id="fig-b">'
        '<svg><path id="clip"/></svg></figure><span id="equation-eq-c"></span></article>'
    )
    found = parted.lines(old, new, "new.html", "A & B")
    assert re.findall(r'id="(.+?)" href="(.+?)"', found) == [
        ("fig-b", "new.html#fig-b"),
        ("equation-eq-c", "new.html#equation-eq-c"),
    ]
    assert "A &amp; B" in found
