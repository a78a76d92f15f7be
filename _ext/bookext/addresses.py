"""Where pages are found: redirects from addresses that readers guess, a sitemap for machines.

`redirects` in the configuration is a table of old and new pages, without suffix; the new one may
have an anchor, for those who come without one. A sitemap and 404.html are written only if the book
knows its own address (`html_baseurl`).
"""

from html import escape
from pathlib import Path
from posixpath import dirname, relpath

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
{head}<title>{title}</title>
</head>
<body>
<main><h1>{title}</h1><p>{text}</p></main>
</body>
</html>
"""
REFRESH = """<meta name="robots" content="noindex">
<meta http-equiv="refresh" content="0; url={link}">
<script>if (location.hash) location.replace("{page}" + location.hash)</script>
"""
LOST = (
    'No page has this address. <a href="{base}">All the Needles begins here</a>, and '
    '<a href="{base}search.html">can be searched</a>.'
)


def page_address(base, name):
    """Return the full address of a page, given the address of the book."""
    return f"{base.rstrip('/')}/{name}.html"


def stub(old, new, title, base=""):
    """Return the page that stands at `old` and sends its reader to `new`, both without suffix."""
    page, _, anchor = new.partition("#")
    path = relpath(f"{page}.html", dirname(old) or ".")
    link = path + (f"#{anchor}" if anchor else "")
    canonical = f'<link rel="canonical" href="{page_address(base, page)}">\n' if base else ""
    head = REFRESH.format(link=escape(link), page=escape(path)) + canonical
    text = f'<a href="{escape(link)}">This page is here.</a>'
    return PAGE.format(head=head, title=escape(title), text=text)


def sitemap(base, names):
    """Return the sitemap of the pages named."""
    places = "".join(f"<url><loc>{escape(page_address(base, n))}</loc></url>\n" for n in names)
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{places}</urlset>\n'
    )


def redirects(app):
    """Return the table of redirects between pages of this build."""
    found = app.env.found_docs
    table = {"index": app.config.root_doc}
    for old, new in app.config.redirects.items():
        if new.partition("#")[0] in found and old not in found:
            table[old] = new
    return table


def write(app):
    """Write redirects and, where the address is known, sitemap, robots.txt and 404.html."""
    out, base = Path(app.outdir), app.config.html_baseurl
    for old, new in redirects(app).items():
        title = app.env.titles[new.partition("#")[0]].astext()
        (out / f"{old}.html").write_text(stub(old, new, title, base), "utf-8")
    if base:
        text = LOST.format(base=escape(f"{base.rstrip('/')}/"))
        lost = PAGE.format(head="", title="Not in this book", text=text)
        (out / "404.html").write_text(lost, "utf-8")
        names = sorted(app.env.found_docs)
        (out / "sitemap.xml").write_text(sitemap(base, names), "utf-8")
        where = f"{base.rstrip('/')}/sitemap.xml"
        (out / "robots.txt").write_text(f"User-agent: *\nAllow: /\nSitemap: {where}\n", "utf-8")


def setup(app):
    app.add_config_value("redirects", {}, "html", [dict])
