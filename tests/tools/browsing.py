"""The built book, served on this machine and opened in Chromium with every other host cut off."""

import functools
import gzip
import http.server
import re
import shutil
import threading
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from axe_playwright_python.sync_playwright import Axe
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
FLAGS += ["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]
DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
COMPRESSED = {".woff2", ".png", ".webp", ".jpg"}
TEMPLATE = re.compile(r"<template\b.*?</template>", re.DOTALL)


def newest_source():
    """Return the time of the last change to anything the book is made of."""
    paths = [path for name in SOURCES for path in ((ROOT / name), *(ROOT / name).rglob("*"))]
    return max(p.stat().st_mtime for p in paths if p.is_file() and "__pycache__" not in p.parts)


def built():
    """Return the names of the built pages, without suffix, relative to the built book.

    A redirect is no page: it has no source.
    """
    names = (str(p.relative_to(HTML).with_suffix("")) for p in HTML.glob("chapters/*.html"))
    return sorted(name for name in names if any(HTML.glob(f"_sources/{name}.*")))


@functools.cache
def markup(name):
    """Return the text of a built page, without what its templates hold ready."""
    return TEMPLATE.sub("", (HTML / f"{name}.html").read_text("utf-8"))


def soup(name):
    """Return the same as a tree."""
    return BeautifulSoup(markup(name), "html.parser")


def javascript(file, name):
    """Return a function of tests/book/`file`.js, an object of functions, as a page is asked it."""
    text = (ROOT / "tests" / "book" / f"{file}.js").read_text("utf-8")
    return f"{text.rstrip()}.{name}"


@contextmanager
def serving(folder):
    """Serve a folder on a free port and give its address."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *arguments):
            pass

    answer = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), answer) as server:
        threading.Thread(target=server.serve_forever).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


class Visit:
    """A page in the browser, what went wrong on it and what it loaded."""

    def __init__(self, context, address):
        self.home = address
        self.page = context.new_page()
        self.foreign, self.trouble, self.loaded = [], [], set()
        self.page.on("request", self._asked)
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.trouble.append(str(error)))
        self.page.on("response", self._answered)

    def _asked(self, request):
        if not request.url.startswith((self.home, "data:", "blob:", "about:")):
            self.foreign.append(request.url)

    def _console(self, message):
        if message.type in ("error", "warning"):
            self.trouble.append(message.text)

    def _answered(self, response):
        path = urlsplit(response.url).path
        if response.status >= 400:
            self.trouble.append(f"{response.status} {path}")
        elif response.url.startswith(self.home):
            self.loaded.add(path)

    def weights(self):
        """Return {path: bytes} of what was loaded, as it travels."""
        return {path: travelling(HTML / path.lstrip("/")) for path in self.loaded}

    def open(self, name):
        self.page.goto(f"{self.home}/{name}")
        return self.page


def violations(page, context=None, **options):
    """Return what axe finds on a page, or in `context`: the rule before the elements."""
    options = {"resultTypes": ["violations"], **options}
    found = Axe().run(page, context=context, options=options).response["violations"]
    return [(rule["id"], [node["html"][:120] for node in rule["nodes"]]) for rule in found]


@functools.cache
def travelling(file):
    """Return how many bytes of a file travel, compressed where that helps."""
    body = file.read_bytes()
    return len(body if file.suffix in COMPRESSED else gzip.compress(body, 6))
