"""What a page says of itself to those who link to it, and its icons.

A picture needs a full address, so it is named only if the book knows its own (`html_baseurl`).
"""

import re
from html import escape

from docutils import nodes

from .addresses import page_address
from .pictures import ICON, PREVIEW, PREVIEW_ALT, PREVIEW_SIZE, TOUCH

SENTENCE = re.compile(r"(?<=[.!?])\s+")
SHORTEST, LONGEST = 40, 200  # characters of a description
FORMULA = "\0"


def _words(node):
    """Return the text of a paragraph with a mark in place of each formula."""
    if isinstance(node, (nodes.math, nodes.image)):
        return FORMULA
    if isinstance(node, nodes.Text):
        return node.astext()
    return "".join(map(_words, node.children))


def shorten(text):
    """Cut a text that is too long at a word."""
    if len(text) <= LONGEST:
        return text
    return text[: LONGEST - 1].rsplit(" ", 1)[0].rstrip(",;:–") + "…"


def description(doctree):
    """Return the first sentence of a page that is long enough and has no formula, or ''."""
    for paragraph in doctree.findall(nodes.paragraph) if doctree else ():
        for sentence in SENTENCE.split(" ".join(_words(paragraph).split())):
            if FORMULA not in sentence and len(sentence) >= SHORTEST:
                return shorten(sentence)
    return ""


def tags(title, book, text, *, address="", image=""):
    """Return the meta tags of a page, one a line."""
    name = title if title == book else f"{title} · {book}"
    found = [("property", "og:title", name), ("property", "og:type", "article")]
    found += [("property", "og:site_name", book)]
    if text:
        found += [("name", "description", text), ("property", "og:description", text)]
    if address:
        width, height = PREVIEW_SIZE
        found += [
            ("property", "og:url", address),
            ("property", "og:image", image),
            ("property", "og:image:width", str(width)),
            ("property", "og:image:height", str(height)),
            ("property", "og:image:alt", PREVIEW_ALT),
            ("name", "twitter:card", "summary_large_image"),
        ]
    return "".join(f'\n<meta {kind}="{key}" content="{escape(v)}" />' for kind, key, v in found)


def describe(app, pagename, templatename, context, doctree):
    """Add the tags and the icons to one page."""
    base = app.config.html_baseurl.rstrip("/")
    book = app.config.html_title
    title = re.sub(r"<[^>]*>", "", context.get("title") or book)
    known = base and doctree is not None
    here = tags(
        title,
        book,
        description(doctree),
        address=page_address(base, pagename) if known else "",
        image=f"{base}/_static/{PREVIEW}" if known else "",
    )
    small, large = (context["pathto"](f"_static/{name}", 1) for name in (ICON, TOUCH))
    icons = (
        f'\n<link rel="icon" type="image/png" sizes="32x32" href="{small}" />'
        f'\n<link rel="apple-touch-icon" href="{large}" />'
    )
    context["metatags"] = context.get("metatags", "") + here + icons


def setup(app):
    app.connect("html-page-context", describe)
