"""Pages that were one: links into the old page arrive at what has moved to the new one.

`parted` in the configuration says of which page each was a part. On the old page, each address
that only the new one has becomes a line that shows when it is asked for, and leads there.
"""

import re
from html import escape
from pathlib import Path
from posixpath import dirname, relpath

ADDRESS = re.compile(r'<\w+[^>]*?\sid="([\w.-]+)"')
DRAWING = re.compile(r"<svg.*?</svg>", re.DOTALL)
LINE = '<a class="parted" id="{0}" href="{1}#{0}">This part is now on the page {2}.</a>'


def lines(old, new, link, title):
    """Return the lines for the addresses in the article of `new` that `old` has not."""
    article = DRAWING.sub("", new[new.index("<article") : new.index("</article>")])
    here = set(ADDRESS.findall(old))
    moved = dict.fromkeys(name for name in ADDRESS.findall(article) if name not in here)
    return "".join(LINE.format(escape(name), escape(link), escape(title)) for name in moved)


def write(app):
    """Add the lines to the pages that were parted."""
    out = Path(app.outdir)
    for new, old in app.config.parted.items():
        if {new, old} <= app.env.found_docs:
            path, title = out / f"{old}.html", app.env.titles[new].astext()
            page, other = path.read_text("utf-8"), (out / f"{new}.html").read_text("utf-8")
            found = lines(page, other, relpath(f"{new}.html", dirname(old)), title)
            path.write_text(page.replace("</article>", f"{found}</article>", 1), "utf-8")


def setup(app):
    app.add_config_value("parted", {}, "html", [dict])
