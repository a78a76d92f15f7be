"""The built book in a browser: complete, quiet, light, and usable by everybody."""

import json
from collections import Counter
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

import ledgers
import pytest
from axe_playwright_python.sync_playwright import Axe
from browsing import DESKTOP, HTML, PHONE, ROOT, built, soup
from prose import words_of

MAX_KILOBYTES = 400
EXTRA = ["search", "genindex"]

every_page = pytest.mark.parametrize("name", [*built(), *EXTRA])
every_chapter = pytest.mark.parametrize("name", built())


pytestmark = pytest.mark.usefixtures("book")
COVERAGE = [
    (entry["item"], place, phrase)
    for entry in ledgers.entries(ROOT / "chapters", "coverage")
    for place, phrase in entry["at"].items()
]


@pytest.mark.parametrize("page", sorted({place.partition("#")[0] for _, place, _ in COVERAGE}))
def test_a_section_says_what_coverage_says_of_it(page):
    tree = soup(f"chapters/{page}")
    for formula in tree.find_all(class_=["katex", "math"]):
        formula.replace_with(" ∎ ")
    for item, place, phrase in COVERAGE:
        if place.startswith(f"{page}#"):
            section = tree.find(id=place.partition("#")[2])
            section = section if section.name == "section" else section.find_parent("section")
            said = f" {words_of(section.get_text(' '))} "
            assert f" {words_of(phrase)} " in said, (item, place, phrase)


@every_page
def test_a_page_needs_no_other_host_and_has_no_trouble(visit, name, record_property, capsys):
    visitor = visit()
    visitor.open(f"{name}.html", wait="networkidle")
    assert not visitor.foreign
    assert not visitor.trouble
    kilobytes = sum(visitor.weights.values()) / 1000
    heaviest = Counter(visitor.weights).most_common(4)
    with capsys.disabled():
        parts = ", ".join(f"{path.rsplit('/', 1)[-1]} {size / 1000:.0f}" for path, size in heaviest)
        print(f"\n  {name}: {kilobytes:.0f} kB compressed ({parts}) ", end="")
    record_property("kilobytes", round(kilobytes))
    assert kilobytes <= MAX_KILOBYTES


@every_page
@pytest.mark.parametrize(
    ("mode", "viewport"), [("light", DESKTOP), ("dark", PHONE)], ids=["light-desktop", "dark-phone"]
)
def test_no_accessibility_violation(visit, name, mode, viewport):
    page = visit(viewport=viewport, color_scheme=mode, reduced_motion="reduce").open(f"{name}.html")
    assert page.evaluate("document.documentElement.dataset.theme") == mode
    page.evaluate("document.querySelectorAll('details').forEach((fold) => (fold.open = true))")
    page.wait_for_timeout(100)
    found = Axe().run(page).response["violations"]
    assert not [(rule["id"], [node["html"][:120] for node in rule["nodes"]]) for rule in found]


def test_axe_would_notice(visit, name="chapters/intro"):
    page = visit().open(f"{name}.html")
    page.evaluate(
        "document.querySelector('article').insertAdjacentHTML('beforeend', '<img src=x>')"
    )
    assert "image-alt" in {rule["id"] for rule in Axe().run(page).response["violations"]}


@every_page
@pytest.mark.parametrize("width", [320, PHONE["width"]])  # WCAG 1.4.10 asks for 320
def test_nothing_is_wider_than_a_phone(visit, name, width):
    page = visit(viewport=PHONE | {"width": width}).open(f"{name}.html")
    page.evaluate("document.querySelectorAll('details').forEach((fold) => (fold.open = true))")
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


@every_chapter
def test_every_slider_moves_its_figure(visit, name):
    visitor = visit()
    page = visitor.open(f"{name}.html")
    for explorer in page.locator(".explorer").all():
        for slider in explorer.locator("input[type=range]").all():
            shown = explorer.locator("figure svg").first
            before, words = shown.inner_html(), slider.get_attribute("aria-valuetext")
            at_end = slider.evaluate("(slider) => slider.value === slider.max")
            slider.press("ArrowLeft" if at_end else "ArrowRight")
            page.wait_for_function(
                "([figure, before]) => figure.querySelector('svg').innerHTML !== before",
                arg=[explorer.locator("figure").first.element_handle(), before],
            )
            assert shown.get_attribute("aria-label")
            assert words is None or slider.get_attribute("aria-valuetext") != words
    assert not visitor.trouble


@every_chapter
def test_a_page_reads_without_scripts(visit, name):
    page = visit(java_script_enabled=False).open(f"{name}.html")
    for explorer in page.locator(".explorer").all():
        assert explorer.locator("figure svg").first.is_visible()
    for arena in page.locator(".arena").all():
        assert arena.locator("svg").is_visible()
    for fold in page.locator("details.admonition:not(.hide)").all():
        if fold.locator("xpath=ancestor::details").count() == 0:
            was_open = fold.evaluate("(fold) => fold.open")
            fold.locator("summary").first.click()
            assert fold.evaluate("(fold) => fold.open") != was_open


@every_chapter
def test_every_arena_is_certified_and_steps(visit, name):
    visitor = visit()
    page = visitor.open(f"{name}.html")
    for arena in page.locator(".arena").all():
        assert "✓" in arena.locator(".arena-certificate").inner_text()
        arena.get_by_role("button", name="Step", exact=True).click()
        assert arena.locator(".arena-words").inner_text().startswith("Draw 1: ")
    assert not visitor.trouble


def test_search_finds_a_page(visit):
    visitor = visit()
    page = visitor.open("search.html?q=needle")
    page.locator("#search-results li a").first.wait_for()
    assert not visitor.foreign and not visitor.trouble


@every_chapter
def test_dark_is_dark_and_light_is_light(visit, name):
    brightness = {}
    for mode in ("light", "dark"):
        page = visit(color_scheme=mode).open(f"{name}.html")
        colour = page.evaluate(
            """() => {
              const canvas = new OffscreenCanvas(1, 1).getContext("2d");
              canvas.fillStyle = getComputedStyle(document.body).backgroundColor;
              canvas.fillRect(0, 0, 1, 1);
              return [...canvas.getImageData(0, 0, 1, 1).data];
            }"""
        )
        brightness[mode] = sum(colour[:3]) / 3
    assert brightness["light"] > 240 and brightness["dark"] < 40


@every_page
def test_every_picture_has_a_text_alternative(name):
    page = soup(name)
    for image in page.find_all("img"):
        assert image.has_attr("alt"), image
        assert image["alt"].strip() or not image.find_parent("article"), image
    for drawing in page.select("article svg"):
        if not drawing.find_parent(["svg", "math"]) and "katex" not in str(drawing.parent.attrs):
            hidden = drawing.find_parent(attrs={"aria-hidden": "true"})
            assert hidden or (drawing.get("role") == "img" and drawing.get("aria-label")), drawing


@every_page
def test_every_link_within_the_book_leads_somewhere(name):
    page = soup(name)
    ids = {}
    for element in page.find_all(href=True) + page.find_all(src=True):
        link = element.get("href") or element.get("src")
        if not link or urlsplit(link).scheme or link.startswith("//"):
            continue
        target, anchor = urldefrag(urljoin(f"{name}.html", link.split("?")[0]))
        target = unquote(target) or f"{name}.html"
        assert (HTML / target).is_file(), link
        if anchor and target.endswith(".html"):
            if target not in ids:
                ids[target] = {e["id"] for e in soup(target[:-5]).find_all(id=True)}
            assert unquote(anchor) in ids[target], link


@every_page
def test_no_id_is_given_twice(name):
    twice = [i for i, n in Counter(e["id"] for e in soup(name).find_all(id=True)).items() if n > 1]
    assert not twice


@every_chapter
def test_the_notebook_can_be_downloaded(name):
    links = [a["href"] for a in soup(name).find_all("a", href=True) if "_sources/" in a["href"]]
    assert links
    for link in links:
        source = HTML / urljoin(f"{name}.html", link)
        if source.suffix == ".ipynb":
            cells = json.loads(source.read_text("utf-8"))["cells"]
            assert all(not cell.get("outputs") for cell in cells)
