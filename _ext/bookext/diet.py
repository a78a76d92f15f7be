"""What the theme would load and the book does not need."""

import re
from html import unescape

from fontTools import subset

# the icons come from the icon font; this script redraws them as SVG and weighs half a page
ICON_SCRIPT = re.compile(r'\s*<script defer src="[^"]*scripts/fontawesome\.js[^"]*"></script>')
THEBE = re.compile(
    r'\s*<script type="text/x-thebe-config">.*?</script>|\s*<script>kernelName = .*?</script>',
    re.DOTALL,
)
# scripts that only buttons need, asked for before the style sheet that the first line needs
HURRY = re.compile(r'\s*<link rel="preload" as="script" [^>]*>')
SEARCH = re.compile(
    r'\s*<script src="[^"]*(?:searchtools|language_data|searchindex)\.js[^"]*"></script>'
)
# no thebe; boxes fold without a script and have the book's own look; no tabs or grids
UNWANTED = re.compile(
    r"thebe|toggle(?:button|Hint|OpenOnPrint)|design-tabs|sphinx-design|(?:proof|exercise)\.css",
    re.IGNORECASE,
)
UNUSED = (
    *("*.map", "fontawesome.js", "sphinx-thebe.*", "togglebutton.*", "*webpack-macros.html"),
    *("design-tabs.js", "sphinx-design.min.css", "proof.css", "exercise.css"),
)
ICON_CODE = re.compile(r"\"\\([0-9a-f]{2,4})\"")


def is_wanted(asset):
    """Tell whether a page should keep this script or style sheet."""
    name = str(getattr(asset, "filename", None) or "")
    body = str(getattr(asset, "attributes", {}).get("body") or "")
    return not UNWANTED.search(name) and not UNWANTED.search(body)


def drop_assets(app, pagename, templatename, context, doctree):
    """Remove unwanted scripts and style sheets from one page."""
    for kind in ("script_files", "css_files"):
        context[kind] = [asset for asset in context.get(kind, []) if is_wanted(asset)]


def strip(html, *, is_search):
    """Return a page without the scripts that the theme writes into it directly."""
    html = HURRY.sub("", THEBE.sub("", ICON_SCRIPT.sub("", html)))
    return html if is_search else SEARCH.sub("", html)


def icon_codes(css):
    """Return the code points that purged style sheets still draw."""
    return {int(code, 16) for code in ICON_CODE.findall(css)}


def text_codes(pages):
    """Return the code points of everything that the built pages say."""
    return {ord(character) for page in pages for character in set(unescape(page))}


def subset_fonts(folder, codes):
    """Cut the fonts in `folder` down to `codes`; drop the formats for old browsers."""
    for font in folder.glob("*.ttf"):
        font.unlink()
    options = subset.Options(flavor="woff2", hinting=False)
    for font in folder.glob("*.woff2"):
        loaded = subset.load_font(str(font), options)
        cutter = subset.Subsetter(options)
        cutter.populate(unicodes=codes)
        cutter.subset(loaded)
        subset.save_font(loaded, str(font), options)


def remove_unused(static):
    """Delete files that no page loads any more."""
    for pattern in UNUSED:
        for path in static.rglob(pattern):
            path.unlink()


def setup(app):
    app.connect("html-page-context", drop_assets, priority=900)
