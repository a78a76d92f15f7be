"""The whole built book as one zip that reads without a server and without a network.

    python _ext/bookext/archive.py _build/html _build/all-the-needles.zip

Pages opened from disk differ in one thing from pages that are served: Firefox takes every file for
a site of its own and loads no font from another one. So the style sheets in the zip carry their
fonts inside. The same book gives the same bytes.
"""

import base64
import re
import sys
import zipfile
from pathlib import Path

FOLDER = "all-the-needles"
LICENCES = ("LICENSE", "LICENSE-text")
# for servers and for Sphinx
LEFT_OUT = {".buildinfo", "404.html", "objects.inv", "robots.txt", "sitemap.xml"}
FONT = re.compile(r"""url\(\s*["']?([^"')]+\.woff2)(?:[?#][^"')]*)?["']?\s*\)""")
EARLY = re.compile(r'<link rel="preload" as="font"[^>]*>\n?')


def with_fonts(path):
    """Return the text of a style sheet with its fonts inside, which are never late."""

    def inside(match):
        font = base64.b64encode((path.parent / match[1]).read_bytes()).decode()
        return f"url(data:font/woff2;base64,{font})"

    return FONT.sub(inside, path.read_text("utf-8")).replace("display: optional", "display: swap")


def contents(html):
    """Yield (name in the zip's folder, bytes) of every file, in order."""
    for path in sorted(html.rglob("*")):
        if path.is_file() and path.name not in LEFT_OUT:
            data = path.read_bytes()
            if path.suffix == ".css":
                data = with_fonts(path).encode()
            elif path.suffix == ".html":
                data = EARLY.sub("", data.decode()).encode()
            yield path.relative_to(html).as_posix(), data
    for name in LICENCES:
        yield name, (Path(__file__).parents[2] / name).read_bytes()


def write(target, files):
    """Write (name, bytes) of files into a zip, a path or a buffer, without their dates."""
    with zipfile.ZipFile(target, "w") as archive:
        for name, data in files:
            entry = zipfile.ZipInfo(name)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system, entry.external_attr = 3, 0o644 << 16
            archive.writestr(entry, data)


def pack(html, target):
    """Write the zip and return its path."""
    target = Path(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    write(target, ((f"{FOLDER}/{name}", data) for name, data in contents(Path(html))))
    return target


if __name__ == "__main__":
    done = pack(*sys.argv[1:])
    print(f"{done}: {done.stat().st_size / 1e6:.1f} MB; unpack, open {FOLDER}/index.html")
