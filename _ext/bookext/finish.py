"""The last pass over the built pages and their assets."""

import re
import string
from pathlib import Path

from . import accessibility, bundle, diet, folds, purge, room, search, tour

# style sheets to purge, in the folder of static files, and the rules that go in any case: boxes
# have the book's own look, which then need not outdo the theme's
PURGED = {
    "styles/*.css": re.compile(r"admonition(?!-font)"),
    "basic.css": None,
    "mystnb*.css": None,
}
# what the excerpts of a search leave out; a formula is text twice
LEFT_OUT = '[".headerlink", "script", "style"]'
# The theme marks what scrolls sideways, measuring between one mark and the next, so that the page
# is laid out some dozens of times, and after every change of a figure; `_static/book.js` does it.
STOPS = ',"complete"===document.readyState?I():window.addEventListener("load",I)'
# The colours are known at once, else the theme's script sets them when all is laid out in others.
UNSURE = 'document.documentElement.dataset.theme = localStorage.getItem("theme") || "auto";'
SURE = """((root, dark) => {
      root.theme = root.mode === "auto" ? (dark ? "dark" : "light") : root.mode;
    })(document.documentElement.dataset, matchMedia("(prefers-color-scheme: dark)").matches);"""
# the hyphen before a number that the prose quotes from a cell, which is to be a minus sign
HYPHEN = re.compile(r'(<span class="pasted-text">)-(?=\.?\d)')
# and 4e-14, which is to be 4 × 10⁻¹⁴
POWER = re.compile(r'(<span class="pasted-text">[−\d.]+)e([-+]\d+)(?=</span>)')
# how a page says that it may be left out, and the link to the next page, which then says so too
OPTIONAL = "<p><em>Optional</em>:"
NEXT = re.compile(
    r'<a class="right-next"\s+href="([^"]+)".*?<p class="prev-next-title">.*?(?=</p>)', re.DOTALL
)
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def raised(number):
    """Return what a match of `POWER` says, as a power of ten on one line."""
    return f"{number[1]}\u00a0×\u00a010{str(int(number[2])).translate(RAISED)}"


def mark_optional(html, folder):
    """Say on the link to the next page, in the same folder, whether it is optional."""
    found = NEXT.search(html)
    if not found or OPTIONAL not in (folder / found[1]).read_text("utf-8"):
        return html
    return f"{html[: found.end()]}\u00a0(optional){html[found.end() :]}"


def finish_page(path):
    """Rewrite one built page and return its text."""
    is_search = path.name == "search.html"
    html = diet.strip(path.read_text("utf-8"), is_search=is_search)
    html = bundle.unblock(html, is_search=is_search)
    html = html.replace(UNSURE, SURE)
    html = HYPHEN.sub(r"\1−", accessibility.mend(folds.fold(html)))
    html = POWER.sub(raised, html)
    tour_page = path.with_name("start.html")
    if tour_page.exists() and path.name not in ("start.html", "choose.html"):
        html = tour.link_first_target(html)
    html = room.reserve(mark_optional(html, path.parent))
    path.write_text(html, "utf-8")
    return html


def finish_styles(static, pages):
    """Purge the theme's style sheets and cut all fonts to what is used."""
    scripts = [path.read_text("utf-8", errors="ignore") for path in static.rglob("*.js")]
    words = purge.words([*pages, *scripts])
    for pattern, unwanted in PURGED.items():
        for path in static.glob(pattern):
            css = purge.purge(path.read_text("utf-8"), words, unwanted)
            path.write_text(css, "utf-8")
    css = "".join(path.read_text("utf-8") for path in static.rglob("*.css"))
    diet.subset_fonts(static / "vendor" / "fontawesome" / "webfonts", diet.icon_codes(css))
    codes = diet.text_codes([*pages, string.printable])
    diet.subset_fonts(static / "katex" / "fonts", codes)
    diet.subset_fonts(static / "text", codes)


def amend(path, old, new):
    """Write `new` for `old` in a script of Sphinx or the theme, which must have it."""
    script = path.read_text("utf-8")
    assert old in script, f"{path.name} does it in another way now: no {old}"
    path.write_text(script.replace(old, new), "utf-8")


def finish(app):
    """Make the built book what is served."""
    static = Path(app.outdir) / "_static"
    diet.remove_unused(static)
    for old, new in (*search.CHANGES, (LEFT_OUT, LEFT_OUT[:-1] + ', ".katex-mathml"]')):
        amend(static / "searchtools.js", old, new)
    amend(static / "scripts" / "pydata-sphinx-theme.js", STOPS, "")
    pages = [finish_page(path) for path in sorted(Path(app.outdir).rglob("*.html"))]
    assert any(SURE in page for page in pages), "the theme sets its colours in another way now"
    finish_styles(static, pages)
    bundle.bundle(Path(app.outdir), bundle.own_files(Path(app.confdir) / "_static"))
