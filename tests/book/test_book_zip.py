"""The built book as one zip, unpacked and opened from disk, with the network cut."""

import zipfile

import pytest
import yaml
from bookext import archive
from browsing import DESKTOP, HTML, ROOT, Visit, built, javascript
from test_book import move_sliders, step_arenas
from test_book_exercises import PRICE, TOTAL, give, total

REDIRECTS = yaml.safe_load((ROOT / "_config.yml").read_bytes())["sphinx"]["config"]["redirects"]


@pytest.fixture(scope="module")
def folder(need, tmp_path_factory):
    """Return the folder of the unpacked book; its path is an awkward one."""
    need((HTML / "index.html").is_file(), "the book is not built: run make book first")
    place = tmp_path_factory.mktemp("way out")
    with zipfile.ZipFile(archive.pack(HTML, place / "book.zip")) as packed:
        packed.extractall(place / "böok #1")
    return place / "böok #1" / archive.FOLDER


@pytest.fixture
def visitor(contexts):
    """Who reads files of the book without a network; nothing may go wrong."""
    visitor = Visit(contexts(offline=True, viewport=DESKTOP), "file:")
    yield visitor
    assert not visitor.trouble and not visitor.foreign


@pytest.fixture
def open_file(visitor, folder):
    """Return ``open_file(name)``: a file of the book, in the visitor's page."""

    def start(name):
        name, mark, anchor = name.partition("#")
        visitor.page.goto((folder / name).as_uri() + mark + anchor)
        return visitor.page

    return start


@pytest.mark.parametrize("name", [*built(), "search", "genindex"])
def test_a_page_opens_from_disk(open_file, name):
    page = open_file(f"{name}.html")
    page.evaluate("document.fonts.ready")
    fonts = page.evaluate("[...document.fonts].map(({family, status}) => [family, status])")
    assert not [family for family, status in fonts if status == "error"]
    loaded = {family.strip('"') for family, status in fonts if status == "loaded"}
    assert page.evaluate(javascript("pages", "fontIsUsed"))
    assert not page.locator(".katex").count() or any(f.startswith("KaTeX") for f in loaded)
    broken = "[...document.images].filter((i) => i.complete && !i.naturalWidth).length"
    assert page.evaluate(broken) == 0


def test_trouble_would_be_noticed(open_file, visitor):
    page = open_file("chapters/intro.html")
    with page.expect_console_message(lambda message: "fetch" in message.text):
        page.evaluate("(new Image().src = 'https://example.org/x.png', fetch('intro.html'), 0)")
    assert visitor.foreign == ["https://example.org/x.png"]
    assert "fetch" in " ".join(visitor.trouble)
    visitor.trouble.clear()
    visitor.foreign.clear()


def test_the_front_door_leads_in(open_file):
    page = open_file("index.html")
    page.wait_for_url("**/chapters/intro.html")
    page.locator("nav.bd-links a", has_text="Rejection sampling").click()
    page.wait_for_url("**/chapters/rejection.html")


def test_sliders_move_their_figures(open_file):
    move_sliders(open_file("chapters/rejection.html"))


def test_the_arena_runs(open_file):
    step_arenas(open_file("chapters/mcmc.html"))


# A busy Chromium loses one in ten of the stores of files (of a server, none in a hundred).
TRIES = range(5)


def progress_kept(open_file):
    page = open_file("chapters/cards.html")
    page.evaluate("localStorage.clear()")
    page.locator(".study-card").press("Space")
    page.locator(".study-know").click()
    page.reload()
    cards = page.locator(".study-counts").inner_text()
    field = open_file("chapters/mcmc.html").locator("form.answer[data-name=mcmc-repeat]")
    assert give(field, "6.25").startswith("Right.")
    page = open_file("chapters/exercises.html")
    page.get_by_role("checkbox", name=PRICE).press("Space")
    page.reload()
    return "new today 19" in cards and total(page) == f"2 of {TOTAL} done"


def test_progress_is_kept(open_file):
    assert any(progress_kept(open_file) for _ in TRIES)


def test_a_card_turns(open_file):
    card = open_file("chapters/rejection.html").locator("details.card").first
    assert not card.locator(".card-back").is_visible()
    card.locator("> summary").press("Enter")
    assert card.locator(".card-back").is_visible()


def test_search_finds_and_leads_there(open_file):
    page = open_file("chapters/intro.html")
    page.locator(".search-button__button").first.click()
    page.locator("#pst-search-dialog input").fill("butterfly")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search.html?q=butterfly*")
    page.locator("#search-results li a[href*='rejection.html']").first.click()
    page.wait_for_url("**/chapters/rejection.html*")


def test_the_theme_is_chosen_and_kept(open_file):
    page = open_file("chapters/intro.html")
    theme = "document.documentElement.dataset.theme"
    button = page.locator(".theme-switch-button").locator("visible=true").first
    seen = {button.click() or page.evaluate(theme) for _ in range(3)}
    assert seen == {"light", "dark"}

    def kept():
        open_file("chapters/intro.html")
        while page.evaluate(theme) != "dark":
            button.click()
        return open_file("chapters/mcmc.html").evaluate(theme) == "dark"

    assert any(kept() for _ in TRIES)


@pytest.mark.parametrize("old", sorted(REDIRECTS))
def test_a_redirect_arrives(open_file, old):
    page = open_file(f"{old}.html")
    page.wait_for_url(f"**/{REDIRECTS[old].partition('#')[0]}.html*", wait_until="commit")
    assert page.locator("h1").first.inner_text()


@pytest.mark.parametrize(
    ("old", "moved", "new"),
    [
        ("challenge", "sec-challenge-hardness", "hardness"),
        ("challenge", "fig-time", "hardness"),
        ("challenge", "thm-hard", "hardness"),
        ("together", "sec-together-pathfinder", "pathfinder"),
        ("together", "ex-together-acceptance", "pathfinder"),
        ("notation", "sec-notation-sources", "sources"),
        ("notation", "tab-notation-sources", "sources"),
        ("speed", "the-contest", "trust"),
        ("speed", "sec-speed-verdicts", "trust"),
        ("trust", "fig-trust-heldback", "trust"),
    ],
)
def test_a_link_to_what_has_moved_arrives(open_file, old, moved, new):
    page = open_file(f"chapters/{old}.html#{moved}")
    page.wait_for_url(f"**/{new}.html#{moved}", wait_until="commit")
    page.locator(f"#{moved}").wait_for(state="attached")


def test_every_link_in_the_zip_is_in_the_zip(folder):
    packed = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    site = {path.relative_to(HTML).as_posix() for path in HTML.rglob("*") if path.is_file()}
    assert {name for name in site - packed if "/" in name} == set()
    assert site - packed <= archive.LEFT_OUT and packed - site == set(archive.LICENCES)
    for sheet in folder.rglob("*.css"):
        assert not archive.FONT.search(sheet.read_text("utf-8")), sheet
