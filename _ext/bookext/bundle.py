"""The book's own style sheets and scripts as one file each, and no script in the page's way.

They are kept apart in `_static/`, to be read and changed; a browser would ask for each before it
shows the first line.
"""

import hashlib
import re
from pathlib import Path

NAME = "all-the-needles"
PARTS = {
    "css": (
        re.compile(
            r'\s*<link rel="stylesheet" [^>]*href="([./]*_static/)([\w-]+\.css)\?v=\w+" ?/>'
        ),
        '\n<link rel="stylesheet" href="{}" />',
    ),
    "js": (
        re.compile(r'\s*<script (?:defer )?src="([./]*_static/)([\w-]+\.js)\?v=\w+"></script>'),
        '\n<script defer src="{}"></script>',
    ),
}
# what an inline script of the theme needs at once has to stay as it is
BLOCKING = re.compile(r'<script(?= src="[./]*_static/(?!documentation_options)[^"]*"></script>)')


def one(html, kind, own, version):
    """Return a page whose links to files of the book's own are one link, and these files' names."""
    pattern, link = PARTS[kind]
    places = [match for match in pattern.finditer(html) if match[2] in own]
    for match in reversed(places):
        address = f"{match[1]}{NAME}.{kind}?v={version}"
        text = link.format(address) if match is places[0] else ""
        html = html[: match.start()] + text + html[match.end() :]
    return html, [match[2] for match in places]


def bundle(folder, own):
    """Make one style sheet and one script of those named in `own`, on all pages below `folder`."""
    static = folder / "_static"
    for kind in PARTS:
        names = sorted(name for name in own if name.endswith(kind))
        if not names:
            continue
        texts = {name: (static / name).read_text("utf-8") for name in names}
        version = hashlib.sha256("".join(texts.values()).encode()).hexdigest()[:8]
        order = []
        for path in sorted(folder.rglob("*.html")):
            html, found = one(path.read_text("utf-8"), kind, texts, version)
            path.write_text(html, "utf-8")
            order = order or found
        (static / f"{NAME}.{kind}").write_text("\n".join(texts[name] for name in order), "utf-8")
        for name in names:
            (static / name).unlink()


def unblock(html, *, is_search):
    """Return a page that shows before its scripts have come; those of the search stay in order."""
    return html if is_search else BLOCKING.sub("<script defer", html)


def own_files(source):
    """Return the names of the book's own style sheets and scripts."""
    return {path.name for path in Path(source).glob("*") if path.suffix in (".css", ".js")}
