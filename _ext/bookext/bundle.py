"""All style sheets as one file, the book's own scripts as one, and no script in the page's way.

They are kept apart in `_static/`, to be read and changed; a browser would ask for each before it
shows the first line.
"""

import hashlib
import posixpath
import re
from pathlib import Path

NAME = "all-the-needles"
PARTS = {
    "css": (
        re.compile(
            r'\s*<link (?=[^>]*rel="stylesheet")[^>]*href="([./]*_static/)([\w./-]+\.css)[^>]*>'
        ),
        '\n<link rel="stylesheet" href="{}" />',
    ),
    "js": (
        re.compile(r'\s*<script (?:defer )?src="([./]*_static/)([\w-]+\.js)\?v=\w+"></script>'),
        '\n<script defer src="{}"></script>',
    ),
}
IMPORT = re.compile(r'@import "([^"]+)";')
URL = re.compile(r"url\((['\"]?)(?!data:|https?:|#)([^)'\"]+)\1\)")
# what an inline script of the theme needs at once has to stay as it is
BLOCKING = re.compile(r'<script(?= src="[./]*_static/(?!documentation_options)[^"]*"></script>)')


def one(html, kind, names, version):
    """Return a page whose links to the files called `names` are one link, and those it had."""
    pattern, link = PARTS[kind]
    places = [match for match in pattern.finditer(html) if match[2] in names]
    for match in reversed(places):
        address = f"{match[1]}{NAME}.{kind}?v={version}"
        text = link.format(address) if match is places[0] else ""
        html = html[: match.start()] + text + html[match.end() :]
    return html, [match[2] for match in places]


def read(static, name):
    """Return a file as it must stand in the bundle: a style sheet imports nothing any more."""
    text = (static / name).read_text("utf-8")
    if not name.endswith(".css"):
        return text

    def from_here(address):
        return posixpath.normpath(posixpath.join(posixpath.dirname(name), address))

    text = URL.sub(lambda match: f'url("{from_here(match[2])}")', text)
    return IMPORT.sub(lambda match: read(static, from_here(match[1])), text)


def bundle(folder, own):
    """Make one style sheet of all, and one script of those in `own`, on all pages below `folder`.

    Whatever order the names have, the pages' own order stays.
    """
    static = folder / "_static"
    pages = {path: path.read_text("utf-8") for path in sorted(folder.rglob("*.html"))}
    for kind, (pattern, _) in PARTS.items():
        linked = {match[2] for html in pages.values() for match in pattern.finditer(html)}
        names = sorted(linked if kind == "css" else linked & own)
        texts = {name: read(static, name) for name in names}
        version = hashlib.sha256("".join(texts.values()).encode()).hexdigest()[:8]
        order = []
        for path, html in pages.items():
            pages[path], found = one(html, kind, texts, version)
            order = order or found
        missing = texts.keys() - set(order)
        assert not missing, f"only some pages link to {sorted(missing)}"
        (static / f"{NAME}.{kind}").write_text("\n".join(texts[name] for name in order), "utf-8")
        for name in names:
            (static / name).unlink()
    for path, html in pages.items():
        path.write_text(html, "utf-8")


def unblock(html, *, is_search):
    """Return a page that shows before its scripts have come; those of the search stay in order."""
    return html if is_search else BLOCKING.sub("<script defer", html)


def own_files(source):
    """Return the names of the book's own style sheets and scripts."""
    return {path.name for path in Path(source).glob("*") if path.suffix in (".css", ".js")}
