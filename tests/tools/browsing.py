"""The built book, served on this machine and opened in Chromium with every other host cut off."""

import functools
import gzip
import http.server
import shutil
import threading
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from bs4 import BeautifulSoup

ROOT = Path(__file__).parents[2]
HTML = ROOT / "_build" / "html"
SOURCES = (
    "_config.yml",
    "_toc.yml",
    "references.bib",
    "_ext",
    "_static",
    "chapters",
    "bayeslib",
    "needles",
)
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"]
FLAGS += ["--disable-component-update", "--no-first-run", "--disable-quic"]
DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
COMPRESSED = {".woff2", ".png", ".webp", ".jpg"}


def newest_source():
    """Return the time of the last change to anything the book is made of."""
    times = []
    for name in SOURCES:
        path = ROOT / name
        files = [path] if path.is_file() else path.rglob("*")
        times += [f.stat().st_mtime for f in files if f.is_file() and "__pycache__" not in f.parts]
    return max(times)


def built():
    """Return the names of the built pages, without suffix, relative to the built book.

    A redirect is no page: it has no source.
    """
    names = (str(p.relative_to(HTML).with_suffix("")) for p in HTML.glob("chapters/*.html"))
    return sorted(name for name in names if any(HTML.glob(f"_sources/{name}.*")))


def soup(name):
    """Return a built page as a tree, without what its templates hold ready."""
    tree = BeautifulSoup((HTML / f"{name}.html").read_text("utf-8"), "html.parser")
    for template in tree.find_all("template"):
        template.decompose()
    return tree


@contextmanager
def serving(folder):
    """Serve a folder on a free port and give its address."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *arguments):
            pass

    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder))
    )
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class Visit:
    """A page in the browser, what went wrong on it and what it loaded."""

    def __init__(self, context, address):
        self.home = address
        self.page = context.new_page()
        self.foreign, self.trouble, self.weights = [], [], {}
        self.page.route("**/*", self._admit)
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.trouble.append(str(error)))
        self.page.on("response", self._weigh)

    def _admit(self, route):
        if route.request.url.startswith((self.home, "data:", "blob:")):
            route.continue_()
        else:
            self.foreign.append(route.request.url)
            route.abort()

    def _console(self, message):
        if message.type in ("error", "warning"):
            self.trouble.append(message.text)

    def _weigh(self, response):
        path = urlsplit(response.url).path
        if response.status >= 400:
            self.trouble.append(f"{response.status} {path}")
        file = Path(self.folder) / path.lstrip("/")
        if response.url.startswith(self.home) and file.is_file():
            body = file.read_bytes()
            packed = body if file.suffix in COMPRESSED else gzip.compress(body, 6)
            self.weights[path] = len(packed)

    folder = HTML

    def open(self, name, wait="load"):
        self.page.goto(f"{self.home}/{name}", wait_until=wait)
        return self.page
