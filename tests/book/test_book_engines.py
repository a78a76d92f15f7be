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
    for _ in range(2):  # on a slow machine Firefox may see a formula in pieces, and complain
        page.trouble = []
        page.go(f"{home}/chapters/{name}.html")
        assert ask(page, "fonts") == [] and ask(page, "out") == []
        assert ask(page, "moved") == []
        if not page.trouble:
            break
    assert not page.trouble


def test_a_piece_that_sticks_out_would_be_seen(page, home):
    page.go(f"{home}/chapters/vi.html")
    ask(page, "hung")
    assert len(ask(page, "out")) == 1


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
