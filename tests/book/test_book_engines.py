"""Ten pages in Firefox and in WebKitGTK: nothing is amiss, formulas fit, and what moves, moves."""

from contextlib import contextmanager

import browsers
import pytest

PAGES = ("intro", "challenge", "rejection", "mcmc", "hmc", "vi", "nuts", "cards", "exercises")
PAGES += ("bug_zoo",)
ENGINES = {
    "firefox": (browsers.firefox, browsers.FIREFOX),
    "webkit": (browsers.webkit, browsers.WEBKIT and browsers.MINI),
}

FONTS = """async () => {
  await document.fonts.ready;
  return [...document.fonts].filter((font) => font.status === "error").map((font) => font.family);
}"""
# pieces of formulas that stick out of their box at the right, by how many pixels
OUT = """() => [...document.querySelectorAll(".katex-html .base")].map((base) => {
  const range = document.createRange();
  range.selectNodeContents(base);
  return range.getBoundingClientRect().right - base.getBoundingClientRect().right;
}).filter((wide) => wide > 3)"""
HUNG = """() => {
  const [base] = document.querySelectorAll(".katex-html .base");
  const piece = document.createElement("span");
  piece.style = "position: relative; left: 6px; display: inline-block";
  piece.textContent = ")";
  base.append(piece);
  return true;
}"""
MOVED = """async () => {
  const still = [];
  for (const slider of document.querySelectorAll(".explorer input[type=range]")) {
    if (!slider.checkVisibility() || slider.disabled) continue;
    const box = slider.closest(".explorer");
    const before = box.innerHTML;
    slider.value = Number(slider.value) === Number(slider.max) ? slider.min : slider.max;
    slider.dispatchEvent(new Event("input", { bubbles: true }));
    slider.dispatchEvent(new Event("change", { bubbles: true }));
    for (let tries = 0; tries < 100 && box.innerHTML === before; tries += 1) {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    if (box.innerHTML === before) still.push(slider.getAttribute("aria-label") ?? slider.id);
  }
  return still;
}"""
ANSWERED = """() => {
  const form = document.querySelector("form.answer[data-name=mcmc-repeat]");
  form.querySelector("input").value = "25/4";
  form.requestSubmit();
  return form.querySelector(".answer-said").textContent;
}"""
TURNED = """() => {
  document.querySelector(".study-card").click();
  return document.querySelector(".study-back").checkVisibility();
}"""


@contextmanager
def started(name, need, folder):
    start, installed = ENGINES[name]
    need(installed, f"{name} is not installed")
    with start(folder) as page:
        yield page


@pytest.fixture(params=ENGINES, scope="module")
def page(request, need, tmp_path_factory):
    with started(request.param, need, tmp_path_factory.mktemp("profile")) as found:
        yield found


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_well(page, home, name):
    for _ in range(2):  # on a slow machine Firefox may see a formula in pieces, and complain
        page.trouble = []
        page.go(f"{home}/chapters/{name}.html")
        assert page.ask(FONTS) == [] and page.ask(OUT) == []
        assert page.ask(MOVED) == []
        if not page.trouble:
            break
    assert not page.trouble


def test_a_piece_that_sticks_out_would_be_seen(page, home):
    page.go(f"{home}/chapters/vi.html")
    page.ask(HUNG)
    assert len(page.ask(OUT)) == 1


def test_exercises_answer_and_cards_turn(page, home):
    page.go(f"{home}/chapters/mcmc.html")
    assert page.ask(ANSWERED).startswith("Right.")
    page.go(f"{home}/chapters/cards.html")
    assert page.ask(TURNED) is True


def test_trouble_would_be_noticed(need, home, tmp_path):
    with started("firefox", need, tmp_path) as page:
        page.go(f"{home}/chapters/intro.html")
        page.ask("() => { setTimeout(() => { throw new Error('on purpose'); }); return true; }")
        # each answer brings what was complained of before it
        assert any(page.ask("() => true") and page.trouble for _ in range(1000))
        assert any("on purpose" in text for text in page.trouble)
