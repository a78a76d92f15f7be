"""Every frame of every figure in a browser: no label lies on another, or sticks out."""

import pytest
from browsing import built

# A line box is taller than its letters, so boxes may share a little.
LAY_OUT = """
(spoilt) => {
  const place = document.createElement("div");
  place.style.cssText = "position: absolute; left: 0; top: 0; width: 640px";
  document.body.append(place);
  const found = [];
  const look = (name, k, svg) => {
    if (!svg) return; // a table
    place.replaceChildren(svg.cloneNode(true));
    const frame = place.firstChild.getBoundingClientRect();
    const texts = [...place.querySelectorAll("text")].filter((text) => text.textContent.trim());
    if (spoilt && texts.length > 1) texts[0].replaceWith(texts[1].cloneNode(true));
    const boxes = [...place.querySelectorAll("text")]
      .map((text) => [text.textContent.trim(), text.getBoundingClientRect()])
      .filter(([words]) => words);
    boxes.forEach(([words, p], i) => {
      if (p.left < frame.left - 2 || p.right > frame.right + 2 ||
          p.top < frame.top - 4 || p.bottom > frame.bottom + 4)
        found.push(`${name}, frame ${k}: "${words}" sticks out`);
      for (const [others, q] of boxes.slice(0, i)) {
        const width = Math.min(p.right, q.right) - Math.max(p.left, q.left);
        const height = Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top);
        if (width > 1.5 && height > 0.4 * Math.min(p.height, q.height))
          found.push(`${name}, frame ${k}: "${words}" lies on "${others}"`);
      }
    });
  };
  for (const figure of document.querySelectorAll(".explorer, .picture")) {
    const name = figure.closest("[id^=fig-]")?.id ?? "a figure without a name";
    const frames = [...figure.querySelectorAll("template")].map((frame) => frame.content);
    [figure, ...frames].forEach((frame, k) => look(name, k, frame.querySelector("svg")));
  }
  place.remove();
  return found;
}
"""


@pytest.mark.parametrize("name", built())
def test_no_label_lies_on_another(visit, name):
    page = visit().open(f"{name}.html")
    assert not page.evaluate(LAY_OUT)


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
    assert slider.is_visible() and svg.bounding_box()["width"] > 0.6 * page.evaluate("innerWidth")
    figure.get_by_role("button", name="Leave full screen").click()
    page.wait_for_function("!document.fullscreenElement")
    assert button.is_visible()
