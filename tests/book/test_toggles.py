"""A figure whose series are switched by style sheet: complete without it, labelled, unscripted."""

import re

import numpy as np
from bad_inputs import refused

from needles import plots
from needles.figures.apart import css, keep_apart
from needles.figures.toggles import toggles

GROUPS = {"first": ["a", "b"], "second": ["c"]}


def draw(unit="metres"):
    fig, ax = plots.figure(3, 2)
    ax.set(xlim=(0, 1), ylim=(0, 1), xlabel=unit)
    series, colors = {}, (plots.INK, plots.DRAWS, plots.PROPOSAL)
    for i, name in enumerate("ab" if unit == "miles" else "abc"):
        y, line = 0.2 + 0.3 * i, "--" if name == "c" else "-"
        curve = ax.plot([0, 1], [y, y], line, color=colors[i])
        series[name] = [*curve, plots.label(ax, 0.5, y, f"label {name}", color=colors[i])]
    return fig, series


def page(**options):
    settings = {"alt": "three lines", "unit": ["metres", "miles"], "shown": ["a"]} | options
    return toggles(draw, GROUPS, **settings)


def test_every_series_is_in_the_page_whatever_is_shown():
    html = page().html
    panels = re.findall(r'<div class="c0-\d">(.*?)</div>', html, re.S)
    assert [re.findall("label ([abc])", panel) for panel in panels] == [[*"abc"], [*"ab"]]
    assert html.count('role="img"') == 2 and "display:none" not in panels[0]


def test_a_group_holds_its_own_series_and_no_axes():
    panel = page().html.split('<div class="c0-0">')[1]
    layers = re.findall(r'<g class="s(\d)">(.*?)(?=<g class="s\d">|</svg>)', panel, re.S)[:3]
    for number, inner in layers:
        assert re.findall("label ([abc])", inner) == ["abc"[int(number)]]
        assert "metres" not in inner


def test_controls_are_named_and_answer_to_a_rule():
    html = page().html
    inputs = re.findall(r"<label[^>]*><input ([^>]*)>.*?<span>(.*?)</span></label>", html)
    assert [text for _, text in inputs] == ["metres", "miles", "a", "b", "c"]
    assert [text for attributes, text in inputs if "checked" in attributes] == ["metres", "a"]
    names = [re.search(r'id="([^"]+)"', attributes)[1] for attributes, _ in inputs]
    assert all(f"#{name}:not(:checked)" in html for name in names)
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


def test_labels_of_ticked_series_keep_apart_as_near_their_ends_as_they_can():
    fig, series = draw()
    labels = [label for _, label in series.values()]
    for label, y in zip(labels, (0.5, 0.51, 0.0), strict=True):
        label.set_y(y)

    def heights():
        return np.array([label.get_window_extent().y0 for label in labels]) * 72 / fig.dpi

    ends, space = heights(), 1.1 * labels[0].get_fontsize()
    keep_apart(fig, series, "abc", "ab")
    lack = (space - ends[1] + ends[0]) / 2
    np.testing.assert_allclose(heights() - ends, [-lack, lack, space / 2], atol=0.1)
    assert css("max(d1,t + -9.0*s12)") == "max(var(--d1,1),var(--t,1) + -9.0*var(--s12,1))"
    assert page(labelled=True).png.startswith(b"\x89PNG")


test_what_cannot_be_shown_is_named = refused(
    (lambda: page(shown=["z"]), "'z'"),
    (lambda: page(alt=" "), "alt"),
    (lambda: toggles(draw, {"x": ["a", "b", "c"], "y": ["a"]}, alt="lines"), "in two groups"),
)
