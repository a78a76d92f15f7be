"""The last pass over the built pages and their assets."""

from pathlib import Path

from . import accessibility, diet, folds, purge

# style sheets worth purging, from the folder of static files
PURGED = ("styles/*.css", "basic.css")


def finish_page(path):
    """Rewrite one built page and return its text."""
    html = diet.strip(path.read_text("utf-8"), is_search=path.name == "search.html")
    html = accessibility.mend(folds.fold(html))
    path.write_text(html, "utf-8")
    return html


def finish_styles(static, pages):
    """Purge the theme's style sheets and cut the icon fonts to what is used."""
    scripts = [path.read_text("utf-8", errors="ignore") for path in static.rglob("*.js")]
    words = purge.words([*pages, *scripts])
    for pattern in PURGED:
        for path in static.glob(pattern):
            path.write_text(purge.purge(path.read_text("utf-8"), words), "utf-8")
    css = "".join(path.read_text("utf-8") for path in static.rglob("*.css"))
    diet.subset_icons(static / "vendor" / "fontawesome" / "webfonts", diet.icon_codes(css))


def finish(app, exception):
    """Make the built book what is served."""
    if exception or app.builder.format != "html":
        return
    static = Path(app.outdir) / "_static"
    diet.remove_unused(static)
    pages = [finish_page(path) for path in sorted(Path(app.outdir).rglob("*.html"))]
    finish_styles(static, pages)


def setup(app):
    app.connect("build-finished", finish)
