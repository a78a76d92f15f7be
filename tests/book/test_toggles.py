"""A figure whose series are switched by style sheet: complete without it, labelled, unscripted."""

import re

from bad_inputs import refused

from needles import plots
from needles.figures.toggles import toggles

GROUPS = {"first": ["a", "b"], "second": ["c"]}


def draw(unit="metres"):
    fig, ax = plots.figure(3, 2)
    ax.set(xlim=(0, 1), ylim=(0, 1), xlabel=unit)
    colors = {"a": plots.INK, "b": plots.DRAWS, "c": plots.PROPOSAL}
    series = {}
    for i, (name, color) in enumerate(colors.items()):
        if unit == "miles" and name == "c":
            continue
        y = 0.2 + 0.3 * i
        series[name] = [
            *ax.plot([0, 1], [y, y], "--" if name == "c" else "-", color=color),
            plots.label(ax, 0.5, y, f"label {name}", color=color),
        ]
    return fig, series


def page(**options):
    settings = {"alt": "three lines", "unit": ["metres", "miles"], "shown": ["a"]} | options
    return toggles(draw, GROUPS, **settings)


def test_every_series_is_in_the_page_whatever_is_shown():
    html = page().html
    panels = re.findall(r'<div class="c0-\d">(.*?)</div>', html, re.S)
    assert len(panels) == 2
    assert [f"label {name}" in panels[0] for name in "abc"] == [True, True, True]
    assert [f"label {name}" in panels[1] for name in "abc"] == [True, True, False]
    assert html.count('role="img"') == 2 and "display:none" not in panels[0]


def test_a_group_holds_its_own_series_and_no_axes():
    panel = page().html.split('<div class="c0-0">')[1]
    layers = re.findall(r'<g class="s(\d)">(.*?)(?=<g class="s\d">|</svg>)', panel, re.S)[:3]
    for number, inner in layers:
        own = "abc"[int(number)]
        assert [f"label {name}" in inner for name in "abc"] == [name == own for name in "abc"]
        assert "metres" not in inner


def test_controls_are_named_and_answer_to_a_rule():
    html = page().html
    inputs = re.findall(r"<label[^>]*><input ([^>]*)>.*?<span>(.*?)</span></label>", html)
    assert [text for _, text in inputs] == ["metres", "miles", "a", "b", "c"]
    checked = [text for attributes, text in inputs if "checked" in attributes]
    assert checked == ["metres", "a"]
    for attributes, _ in inputs:
        name = re.search(r'id="([^"]+)"', attributes)[1]
        assert f"#{name}:not(:checked)" in html
    assert re.findall(r"border-top:.2rem (\w+)", html) == ["solid", "solid", "dashed"]
    assert "<script" not in html and [html.count(tag) for tag in ("<legend", "<summary")] == [1, 2]


def test_a_box_shows_the_mark_of_its_series():
    def marked():
        fig, series = draw()
        (dot,) = fig.axes[0].plot(0.5, 0.5, "D", color=plots.DRAWS)
        series["b"].append(dot)
        return fig, series

    html = toggles(marked, GROUPS, alt="three lines").html
    boxes = re.findall(r"<label.*?</label>", html)
    assert ["◆" in box for box in boxes] == [False, True, False]
    assert "◆" not in page().html


def test_two_figures_share_no_id():
    ids = [set(re.findall(r' id="([^"]+)"', page(alt=words).html)) for words in ("one", "two")]
    assert ids[0] and not ids[0] & ids[1]


def test_the_picture_for_print_shows_the_first_figure():
    assert page().png.startswith(b"\x89PNG")


test_what_cannot_be_shown_is_named = refused(
    (lambda: page(shown=["z"]), "'z'"),
    (lambda: page(alt=" "), "alt"),
    (lambda: toggles(draw, {"x": ["a", "b", "c"], "y": ["a"]}, alt="lines"), "in two groups"),
)
