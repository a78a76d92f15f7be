"""Ten pages in Firefox and in WebKitGTK: nothing is amiss, formulas fit, and what moves, moves."""

import browsers
import pytest
from browsing import javascript

PAGES = ("intro", "challenge", "rejection", "mcmc", "hmc", "vi", "nuts", "cards", "exercises")
PAGES += ("bug_zoo",)
ENGINES = {
    "firefox": (browsers.firefox, browsers.FIREFOX),
    "webkit": (browsers.webkit, browsers.WEBKIT and browsers.MINI),
}


def ask(page, name):
    return page.ask(javascript("engines", name))


@pytest.fixture(params=ENGINES, scope="module")
def page(request, need, tmp_path_factory):
    start, installed = ENGINES[request.param]
    need(installed, f"{request.param} is not installed")
    with start(tmp_path_factory.mktemp("profile")) as found:
        yield found


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_well(page, home, name):
    page.trouble = []
    page.go(f"{home}/chapters/{name}.html")
    for amiss in ("fonts", "out", "torn", "moved"):
        assert ask(page, amiss) == []
    # a formula that arrives in pieces is complained of until it is whole
    assert not [text for text in page.trouble if not text.startswith("Invalid markup: ")]


def test_what_is_amiss_would_be_seen(page, home):
    page.go(f"{home}/chapters/vi.html")
    assert ask(page, "hung") and ask(page, "tear")
    assert len(ask(page, "out")) == len(ask(page, "torn")) == 1


def test_exercises_answer_and_cards_turn(page, home):
    page.go(f"{home}/chapters/mcmc.html")
    assert ask(page, "answered").startswith("Right.")
    page.go(f"{home}/chapters/cards.html")
    assert ask(page, "turned") is True


@pytest.mark.parametrize("page", ["firefox"], indirect=True)
def test_trouble_would_be_noticed(page, home):
    page.go(f"{home}/chapters/intro.html")
    page.trouble = []
    page.ask("() => { setTimeout(() => { throw new Error('on purpose'); }); return true; }")
    # each answer brings what was complained of before it
    assert any(page.ask("() => true") and page.trouble for _ in range(1000))
    assert any("on purpose" in text for text in page.trouble)
