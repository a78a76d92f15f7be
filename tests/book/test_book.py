"""The built book in Chromium: quiet, light, and usable by everybody.

To open a page costs more than to ask it: each is visited at a desk by day, on a phone by night and
without scripts, and answers all that it is asked there.
"""

import json
from collections import Counter

import pytest
import yaml
from browsing import HTML, PHONE, ROOT, built, javascript, violations

MAX_KILOBYTES = 400
QUERIES = yaml.safe_load((ROOT / "tests" / "data" / "queries.yml").read_text("utf-8"))
every_page = pytest.mark.parametrize("name", [*built(), "search", "genindex"])
pytestmark = pytest.mark.usefixtures("book")

NAMES = "stays brightness layOut plain bare astray idle looks".split()
STAYS, BRIGHTNESS, LAY_OUT, PLAIN, BARE, ASTRAY, IDLE, LOOKS = (
    javascript("pages", name) for name in NAMES
)
# the rules of axe whose answer depends on the width, or on colours; the rest is as at a desk
SEEN = {"runOnly": ["link-in-text-block", "scrollable-region-focusable"]}
NO_CONTRAST = {"rules": {"color-contrast": {"enabled": False}}}
TOO_WIDE = "document.documentElement.scrollWidth - innerWidth"


def small_targets(page):
    """Return what is too small or too crowded for a finger (WCAG 2.5.8), as the page first lies.

    Its fonts are waited for: in others, a section may be higher than its room.
    """
    page.evaluate("""() => {
        for (const text of document.querySelectorAll("p, .katex-html")) text.getClientRects();
        return document.fonts.ready.then(() => true);
    }""")
    page.evaluate(BARE)
    found = violations(page, runOnly=["target-size"])
    page.evaluate(BARE)
    return found


def all_violations(page, options=NO_CONTRAST):
    """Return what axe finds; the contrast of text, where its look is the first of its kind."""
    page.evaluate(LOOKS)
    first = {"include": [["[data-look=first]"]], "exclude": [["[data-look=again]"]]}
    return violations(page, **options) + violations(page, first, runOnly=["color-contrast"])


def open_all(page):
    """Open all folds, and draw what a phone would draw when it comes near."""
    page.add_style_tag(content=".bd-article * { content-visibility: visible !important }")
    page.evaluate("document.querySelectorAll('details').forEach((fold) => (fold.open = true))")
    page.evaluate("dispatchEvent(new Event('resize'))")
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def move_sliders(page):
    """Move every slider: its figure and its words change."""
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


def step_arenas(page):
    for arena in page.locator(".arena").all():
        assert "✓" in arena.locator(".arena-certificate").inner_text()
        arena.get_by_role("button", name="Step", exact=True).click()
        assert arena.locator(".arena-words").inner_text().startswith("Draw 1: ")


@every_page
def test_a_page_at_a_desk_by_day(visit, name, record_property):
    """It needs no other host, has no trouble, is light, moves, and everybody can use it."""
    visitor = visit(color_scheme="light")
    page = visitor.open(f"{name}.html")
    assert page.evaluate("document.documentElement.dataset.theme") == "light"
    assert page.evaluate(BRIGHTNESS) > 240
    assert not page.evaluate(LAY_OUT)
    page.wait_for_load_state("networkidle")
    weights = visitor.weights()
    kilobytes = sum(weights.values()) / 1000
    record_property("kilobytes", round(kilobytes))
    assert kilobytes <= MAX_KILOBYTES, Counter(weights).most_common(4)
    move_sliders(page)
    step_arenas(page)
    page.emulate_media(reduced_motion="reduce")
    open_all(page)
    assert not page.evaluate(PLAIN)
    assert not all_violations(page)


@every_page
def test_a_page_on_a_phone_by_night(visit, name):
    """It is dark, fingers find their targets, nothing is too wide, and everybody can use it."""
    options = {"viewport": PHONE, "color_scheme": "dark", "reduced_motion": "reduce"}
    page = visit(**options).open(f"{name}.html")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert page.evaluate(BRIGHTNESS) < 40
    assert not small_targets(page)
    open_all(page)
    for width in (320, PHONE["width"]):  # WCAG 1.4.10
        page.set_viewport_size(PHONE | {"width": width})
        page.wait_for_function(f"innerWidth === {width}")
        assert page.evaluate(TOO_WIDE) <= 0 and not page.evaluate(ASTRAY)
    assert not page.evaluate(PLAIN)
    assert not all_violations(page, NO_CONTRAST if name == "chapters/intro" else SEEN)


@every_page
def test_a_page_reads_without_scripts(visit, name):
    page = visit(java_script_enabled=False).open(f"{name}.html")
    for explorer in page.locator(".explorer").all():
        assert explorer.locator("figure svg").first.is_visible()
    for arena in page.locator(".arena").all():
        assert arena.locator("svg").is_visible()
    folds = page.locator("details.admonition:not(.hide, details details)")
    assert folds.evaluate_all(javascript("pages", "stuck")) == 0
    for fold in folds.all()[:1]:
        was_open = fold.evaluate("(fold) => fold.open")
        fold.locator("summary").first.click()
        assert fold.evaluate("(fold) => fold.open") != was_open


def test_axe_would_notice(visit, name="chapters/intro"):
    page = visit().open(f"{name}.html")
    page.evaluate("document.querySelector('article').append(new Image())")
    page.locator("article p").last.evaluate("(words) => { words.style.color = '#bbb'; }")
    assert {"image-alt", "color-contrast"} <= dict(all_violations(page)).keys()


def test_a_faint_word_of_code_is_seen(visit, name="chapters/minds"):
    page = visit().open(f"{name}.html")
    page.locator(".highlight pre .k").last.evaluate("(word) => { word.style.color = '#999'; }")
    assert [word.partition(":")[0] for word in page.evaluate(PLAIN)] == ["return"]


def test_a_section_with_too_little_room_would_be_noticed(visit):
    page = visit(viewport=PHONE).open("chapters/mcmc.html")
    page.add_style_tag(content="section { --room: 500px !important }")
    assert small_targets(page)


def test_a_label_on_another_is_seen(visit, name="chapters/rejection"):
    page = visit().open(f"{name}.html")
    assert "lies on" in page.evaluate(LAY_OUT, True)[0]


def test_a_figure_fills_the_screen_and_comes_back(visit, name="chapters/rejection"):
    page = visit().open(f"{name}.html")
    figure = page.locator(".explorer").first
    button = figure.get_by_role("button", name="Show full screen")
    figure.hover()
    button.click()
    page.wait_for_function("document.fullscreenElement?.matches('.explorer')")
    slider, svg = figure.locator("input[type=range]").first, figure.locator("svg").first
    assert figure.bounding_box()["width"] == page.evaluate("innerWidth")
    assert slider.is_visible() and svg.bounding_box()["width"] > 0.6 * page.evaluate("innerWidth")
    figure.get_by_role("button", name="Leave full screen").click()
    page.wait_for_function("!document.fullscreenElement")
    assert button.is_visible()


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
    assert not page.evaluate(IDLE)


@pytest.mark.parametrize("way", ["address", "hash"])
@pytest.mark.parametrize("place", ["mcmc#sec-mcmc-arena", "mcmc#cards", "vi#cards", "vi#ex-vi-gap"])
def test_a_link_to_a_late_section_arrives_on_a_phone(visit, place, way):
    name, _, address = place.partition("#")
    page = visit(viewport=PHONE).open(f"chapters/{name}.html{f'#{address}' * (way == 'address')}")
    if way == "hash":
        page.evaluate("(address) => { location.hash = address; }", address)
    page.wait_for_function(STAYS, arg=address)


def test_a_link_of_a_list_that_lies_over_a_phones_page_leads_out_of_it(visit):
    page = visit(viewport=PHONE, has_touch=True).open("chapters/vi.html")
    for _ in range(2):  # the second time the address stays as it is
        page.locator(".secondary-toggle").tap()
        page.locator("dialog[open] a[href='#cards']").tap()
        page.wait_for_function("!document.querySelector('dialog[open]')")
        page.wait_for_function(STAYS, arg="cards")


def test_the_magnifier_stands_before_what_is_searched(visit):
    page = visit().open("chapters/vi.html")
    page.locator(".search-button-field").click()
    icon = page.locator("#pst-search-dialog .fa-magnifying-glass").bounding_box()
    field = page.locator("#pst-search-dialog input")
    padding = field.evaluate("(field) => parseFloat(getComputedStyle(field).paddingLeft)")
    assert icon["x"] + icon["width"] < field.bounding_box()["x"] + padding


def test_search_puts_first_what_teaches(visit):
    page = visit().open("search.html?q=needle")
    page.wait_for_function("Search.hasIndex()")
    first = page.evaluate(javascript("pages", "first"), list(QUERIES))
    assert dict(zip(QUERIES, first, strict=True)) == QUERIES


def test_search_shows_terms_and_sections_by_their_names_and_addresses(visit):
    page = visit().open("search.html?q=detailed+balance")
    found = page.locator("#search-results li a")
    page.wait_for_function("document.querySelectorAll('#search-results li a').length > 2")
    assert found.first.inner_text() == "Glossary: detailed balance"
    names = dict.fromkeys(link.inner_text() for link in found.all())
    assert "Markov chains: Balance, as a picture of flows" in names
    found.first.click()
    page.wait_for_url("**/glossary.html*#term-detailed-balance")


@pytest.mark.parametrize(
    ("query", "hit", "said"),
    [("NUTS", "Glossary: NUTS", "doubles"), ("bl.nuts", "Hamiltonian flow: nuts", "num_warmup")],
)
def test_search_quotes_what_is_said_of_each_hit(visit, query, hit, said):
    page = visit().open(f"search.html?q={query}")
    page.wait_for_selector("#search-results li:first-child .context")
    first = page.locator("#search-results li").first.inner_text()
    assert first.startswith(hit) and said in first


def test_what_teaches_nothing_is_not_searched(home):
    index = json.loads((HTML / "searchindex.js").read_text("utf-8")[len("Search.setIndex(") : -1])
    assert {"chapters/vi", "chapters/glossary"} <= set(index["docnames"])
    unsearched = {f"chapters/{name}" for name in ("errata", "coverage", "formulas", "sources")}
    assert not unsearched & set(index["docnames"])
    # folded code, the source of formulas
    assert not {"figsiz", "mathcal", "operatornam", "varepsilon"} & index["terms"].keys()
