"""The built book and pages of our own, in a browser."""

import pytest
from browsing import DESKTOP, HTML, Visit, built, newest_source, serving


@pytest.fixture(scope="session")
def book(need):
    """The built book, newer than its sources."""
    index = HTML / "index.html"
    need(index.is_file(), "the book is not built: run make book first")
    need(index.stat().st_mtime >= newest_source(), "the book is older than its sources: make book")
    assert built(), "the built book has no page"


@pytest.fixture(scope="session")
def home(book):
    """The address at which the built book is served."""
    with serving(HTML) as address:
        yield address


@pytest.fixture
def contexts(browser):
    """Return ``contexts(**options)``: a new context of the browser, closed after the test."""
    made = []

    def start(**options):
        made.append(browser.new_context(**options))
        return made[-1]

    yield start
    for context in made:
        context.close()


@pytest.fixture
def visit(contexts, home):
    """Return ``visit(**options)``: a fresh visitor with these options of a browser context.

    Nothing may go wrong where visitors are, nor any other host be asked.
    """
    visitors = []

    def start(**options):
        visitors.append(Visit(contexts(**{"viewport": DESKTOP, **options}), home))
        return visitors[-1]

    yield start
    for visitor in visitors:
        assert not visitor.trouble and not visitor.foreign


@pytest.fixture
def opened(contexts):
    """Return ``opened(html, **options)``: a page that must load nothing and complain of nothing."""
    trouble = []

    def open_page(html, **options):
        page = contexts(**options).new_page()
        page.on("pageerror", lambda error: trouble.append(str(error)))
        page.on("console", lambda message: trouble.append(message.text))
        page.on("request", lambda request: trouble.append(request.url))
        page.set_content(html)
        return page

    yield open_page
    assert not trouble
