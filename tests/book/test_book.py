"""The built book in a browser: complete, quiet, light, and usable by everybody."""

import json
import posixpath
import re
from collections import Counter
from functools import cache
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


def open_all(page):
    """Open all folds, and draw what a phone would draw when it comes near."""
    page.add_style_tag(content=".bd-article * { content-visibility: visible !important }")
    page.evaluate("document.querySelectorAll('details').forEach((fold) => (fold.open = true))")
    page.evaluate("dispatchEvent(new Event('resize'))")
    page.wait_for_timeout(100)


@every_page
@pytest.mark.parametrize(
    ("mode", "viewport"), [("light", DESKTOP), ("dark", PHONE)], ids=["light-desktop", "dark-phone"]
)
def test_no_accessibility_violation(visit, name, mode, viewport):
    page = visit(viewport=viewport, color_scheme=mode, reduced_motion="reduce").open(f"{name}.html")
    assert page.evaluate("document.documentElement.dataset.theme") == mode
    open_all(page)
    found = Axe().run(page).response["violations"]
    assert not [(rule["id"], [node["html"][:120] for node in rule["nodes"]]) for rule in found]


def test_axe_would_notice(visit, name="chapters/intro"):
    page = visit().open(f"{name}.html")
    page.evaluate(
        "document.querySelector('article').insertAdjacentHTML('beforeend', '<img src=x>')"
    )
    assert "image-alt" in {rule["id"] for rule in Axe().run(page).response["violations"]}


def small_targets(page):
    """Return what is too small or too crowded for a finger (WCAG 2.5.8), as the page first lies."""
    options = {"runOnly": ["target-size"]}
    return [
        node["html"][:120]
        for rule in Axe().run(page, options=options).response["violations"]
        for node in rule["nodes"]
    ]


@every_chapter
def test_a_finger_finds_its_target(visit, name):
    assert not small_targets(visit(viewport=PHONE).open(f"{name}.html"))


def test_a_section_with_too_little_room_would_be_noticed(visit):
    page = visit(viewport=PHONE).open("chapters/mcmc.html")
    page.add_style_tag(content="section { --room: 500px !important }")
    assert small_targets(page)


@every_page
@pytest.mark.parametrize("width", [320, PHONE["width"]])  # WCAG 1.4.10 asks for 320
def test_nothing_is_wider_than_a_phone(visit, name, width):
    page = visit(viewport=PHONE | {"width": width}).open(f"{name}.html")
    open_all(page)
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


def test_a_phone_draws_a_section_when_it_comes_near(visit):
    """What is far is not drawn, and still a link arrives and the keyboard finds what scrolls."""
    deep = "ex-vi-gap"
    page = visit(viewport=PHONE).open("chapters/vi.html")
    drawn = f"""document.getElementById('{deep}').closest('.bd-article > section > section')
        .querySelector('p').checkVisibility({{contentVisibilityAuto: true}})"""
    assert not page.evaluate(drawn)
    page.evaluate(f"location.hash = '{deep}'")
    page.wait_for_function(drawn)
    page.wait_for_function(
        f"Math.abs(document.getElementById('{deep}').getBoundingClientRect().top) < innerHeight"
    )
    page.wait_for_function("""[...document.querySelectorAll("pre, .katex-display")].filter(
        (box) => box.checkVisibility({contentVisibilityAuto: true})
            && box.scrollWidth > box.clientWidth).every((box) => box.tabIndex === 0)""")
    page.emulate_media(media="print")
    page.wait_for_function(
        "[...document.querySelectorAll('.bd-article section > p')]"
        ".every((text) => text.checkVisibility({contentVisibilityAuto: true}))"
    )


@pytest.mark.parametrize("way", ["address", "hash"])
@pytest.mark.parametrize("place", ["mcmc#sec-mcmc-arena", "mcmc#cards", "vi#cards", "vi#ex-vi-gap"])
def test_a_link_to_a_late_section_arrives_on_a_phone(visit, place, way):
    name, _, address = place.partition("#")
    page = visit(viewport=PHONE).open(f"chapters/{name}.html{f'#{address}' * (way == 'address')}")
    if way == "hash":
        page.evaluate("(address) => { location.hash = address; }", address)
    page.wait_for_timeout(1500)  # what is drawn late has moved all it will
    top = page.evaluate("(id) => document.getElementById(id).getBoundingClientRect().top", address)
    assert -20 <= top <= 200


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


# what a reader may ask, and what is to come first
QUERIES = {
    "burn-in": "glossary#term-burn-in",
    "warmup": "glossary#term-warm-up",
    "ELBO": "glossary#term-evidence-lower-bound",
    "KL divergence": "glossary#term-kullbackleibler-divergence",
    "effective sample size": "glossary#term-effective-sample-size",
    "detailed balance": "glossary#term-detailed-balance",
    "Metropolis algorithm": "glossary#term-metropolis-algorithm",
    "reparameterization": "glossary#term-reparameterisation",
    "particle filter": "glossary#term-particle-filter",
    "stationary distribution": "glossary#term-stationary-distribution",
    "hastings proposals": "mcmc#hastings-lopsided-proposals",
    "choose the step size": "nuts#who-chooses-the-step-size",
    "draws that remember": "diagnostics#what-draws-that-remember-are-worth",
    "is my code right": "diagnostics#is-the-code-right",
    "adaptive importance sampling": "particles#adaptive-importance-sampling",
    "estimator error": "monte_carlo#the-estimator-and-its-error",
    "Markov chains": "mcmc",
    "Hamiltonian Monte Carlo": "glossary#term-hamiltonian-monte-carlo",
    "which method": "choose",
    "models of your own": "models",
}


def test_search_puts_first_what_teaches(visit):
    page = visit().open("search.html?q=needle")
    page.wait_for_function("Search.hasIndex()")
    first = page.evaluate(
        """(queries) => queries.map((query) => {
            const found = Search._performSearch(...Search._parseQuery(spelled(query)));
            const [name, , anchor] = found.at(-1) ?? [];
            return name?.replace("chapters/", "") + anchor;
        })""",
        list(QUERIES),
    )
    assert dict(zip(QUERIES, first, strict=True)) == QUERIES


def test_search_shows_terms_and_sections_by_their_names_and_addresses(visit):
    visitor = visit()
    page = visitor.open("search.html?q=detailed+balance")
    found = page.locator("#search-results li a")
    page.wait_for_function("document.querySelectorAll('#search-results li a').length > 2")
    assert found.first.inner_text() == "Glossary: detailed balance"
    names = dict.fromkeys(link.inner_text() for link in found.all())
    assert "Markov chains: Balance, as a picture of flows" in names
    found.first.click()
    page.wait_for_url("**/glossary.html*#term-detailed-balance")
    assert not visitor.foreign and not visitor.trouble


def test_what_teaches_nothing_is_not_searched(home):
    index = json.loads((HTML / "searchindex.js").read_text("utf-8")[len("Search.setIndex(") : -1])
    assert {"chapters/vi", "chapters/glossary"} <= set(index["docnames"])
    assert not {"chapters/errata", "chapters/coverage"} & set(index["docnames"])
    # folded code, the source of formulas
    assert not {"figsiz", "mathcal", "operatornam", "varepsilon"} & index["terms"].keys()


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


NUMBERED = re.compile(
    r"(Figure|Table|Theorem|Definition|Proposition|Lemma|Corollary|Algorithm|Exercise) ([\d.]+)"
)


@cache
def numbers(name):
    """Return {id: "Figure 3.2"} of what a page counts."""
    found = {}
    for mark in soup(name).select("article :is(.caption-number, .admonition > .admonition-title)"):
        if match := NUMBERED.match(" ".join(mark.get_text().split())):
            owner = mark.find_parent(id=True)
            found[owner["id"]] = f"{match[1]} {match[2].rstrip('.')}"
    return found


@every_chapter
def test_what_is_counted_has_the_number_of_its_chapter_and_is_referred_to_by_it(name):
    tree = soup(name)
    chapter = tree.select_one("article h1 > .section-number")
    first = chapter.get_text().strip() if chapter else ""
    for number in numbers(name).values():
        count = number.split()[1]
        assert count.startswith(first) and count.count(".") == len(first[:1]), number
    for link in tree.select("article a.reference.internal[href]"):
        said = " ".join(link.get_text().split())
        page, _, anchor = link["href"].partition("#")
        if match := NUMBERED.fullmatch(said):
            there = posixpath.join("chapters", page[:-5]) if page else name
            assert numbers(there)[anchor] == f"{match[1]} {match[2]}", link["href"]


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
