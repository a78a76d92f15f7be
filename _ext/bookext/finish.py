"""The last pass over the built pages and their assets."""

import re
import string
from pathlib import Path

from . import accessibility, bundle, diet, folds, purge

# style sheets to purge, in the folder of static files, and the rules that go in any case: boxes
# have the book's own look, which then need not outdo the theme's
PURGED = {
    "styles/*.css": re.compile(r"admonition(?!-font)"),
    "basic.css": None,
    "mystnb*.css": None,
}
# what the excerpts of a search leave out; a formula is text twice
LEFT_OUT = '[".headerlink", "script", "style"]'
# the hyphen before a number that the prose quotes from a cell, which is to be a minus sign
HYPHEN = re.compile(r'(<span class="pasted-text">)-(?=\.?\d)')


def finish_page(path):
    """Rewrite one built page and return its text."""
    is_search = path.name == "search.html"
    html = diet.strip(path.read_text("utf-8"), is_search=is_search)
    html = bundle.unblock(html, is_search=is_search)
    html = HYPHEN.sub(r"\1−", accessibility.mend(folds.fold(html)))
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


def finish(app, exception):
    """Make the built book what is served."""
    if exception or app.builder.format != "html":
        return
    static = Path(app.outdir) / "_static"
    diet.remove_unused(static)
    search = static / "searchtools.js"
    script = search.read_text("utf-8")
    assert LEFT_OUT in script, "Sphinx makes excerpts in another way now"
    search.write_text(script.replace(LEFT_OUT, LEFT_OUT[:-1] + ', ".katex-mathml"]'), "utf-8")
    pages = [finish_page(path) for path in sorted(Path(app.outdir).rglob("*.html"))]
    finish_styles(static, pages)
    bundle.bundle(Path(app.outdir), bundle.own_files(Path(app.confdir) / "_static"))


def setup(app):
    app.connect("build-finished", finish)
