"""Interactive figures: both faces of one call, its arguments, and the page in a browser."""

import html
import re

import ipywidgets
import matplotlib.pyplot as plt
import numpy as np
import pytest
from browsing import PHONE
from ipywidgets.widgets import widget

from bayeslib.errors import BayeslibError, BayeslibTypeError
from needles import plots
from needles.figures.interactive import explore


class Drawing:
    """A figure of two parameters that counts how often it is drawn."""

    def __init__(self):
        self.calls = []

    def __call__(self, power, shape="line"):
        self.calls.append((power, shape))
        fig, ax = plots.figure(4, 2)
        x = np.linspace(0.5, 1.5, 9)
        ax.plot(x, x**power if shape == "line" else 1 - x**power, color=plots.DRAWS)
        return fig


RANGES = {"power": [1, 2.5, -3], "shape": ["line", "mirror"]}


@pytest.fixture
def prerender(monkeypatch):
    monkeypatch.setenv("BAYESLIB_PRERENDER", "1")


@pytest.fixture
def live(monkeypatch):
    monkeypatch.delenv("BAYESLIB_PRERENDER", raising=False)


def page_of(**arguments):
    arguments = {"alt": "A power", **RANGES, **arguments}
    return explore(Drawing(), **arguments).html


# The static face


def test_static_page_holds_every_frame_once(prerender):
    page = page_of(start={"power": 2.5})
    alts = [html.unescape(a) for a in re.findall(r'aria-label="(A power[^"]*)"', page)]
    assert len(alts) == 6 and len(set(alts)) == 6
    shown, *hidden = page.split("<template>")
    assert 'aria-label="A power (power = 2.5, shape = line)"' in shown
    assert len(hidden) == 5 and 'data-start="2"' in shown
    assert "A power (power = −3, shape = mirror)" in alts


def test_static_page_has_native_labelled_controls(prerender):
    page = page_of(labels={"power": "power β"}, start={"power": 2.5, "shape": "mirror"})
    assert re.search(
        r'<label><span>power β</span> <input type="range" min="0" max="2" value="1"', page
    )
    assert 'aria-valuetext="2.5"' in page
    assert html.unescape(re.search(r'data-labels="([^"]*)"', page)[1]) == '["1", "2.5", "−3"]'
    assert '<option value="1" selected>mirror</option>' in page
    assert re.search(r'class="explorer-controls"[^>]* hidden>', page)  # useless without JavaScript
    assert "data-autoplay" not in page and "<button" not in page


def test_static_page_is_small_and_loads_nothing(prerender):
    page = page_of(play="power")
    assert not re.search(r'(?:src|href)="(?!#)', page) and "http" not in page
    assert '<button type="button" data-plays="0"' in page


def test_alt_and_caption_of_each_frame(prerender):
    page = page_of(
        alt=lambda power, shape: f"{shape} at <{power}>",
        caption=lambda power, shape: f"{2 * power:g} & {shape}",
    )
    assert 'aria-label="mirror at &lt;2.5&gt;"' in page
    assert '<figcaption aria-live="polite">−6 &amp; mirror</figcaption>' in page
    assert page.count("<figcaption") == 6


def test_static_output_is_repeatable_and_creates_no_widget(prerender):
    widgets = set(widget._instances)
    figures = plt.get_fignums()
    assert page_of() == page_of()
    assert set(widget._instances) == widgets
    assert plt.get_fignums() == figures


def test_static_pyplot_figures_are_closed(prerender):
    def draw(a):
        fig, ax = plt.subplots()
        ax.plot([0, a])
        return fig

    figures = plt.get_fignums()
    explore(draw, alt="A line", a=[1, 2])
    assert plt.get_fignums() == figures


def test_static_face_carries_a_png_for_print(prerender):
    picture = explore(Drawing(), alt="A power", **RANGES)
    assert picture.png.startswith(b"\x89PNG")


def test_two_explorers_share_no_id(prerender):
    pages = [page_of(), page_of(alt="Another")]
    ids = [set(re.findall(r' id="([^"]+)"', page)) for page in pages]
    assert ids[0] and not ids[0] & ids[1]


def test_a_draw_that_is_not_repeatable_is_refused(prerender):
    rng = np.random.default_rng(1)

    def draw(a):
        fig, ax = plots.figure()
        ax.plot(rng.normal(size=3))
        return fig

    with pytest.raises(BayeslibError, match=r"draw\(a=1\) gave two different figures"):
        explore(draw, alt="Noise", a=[1, 2])


# The live face


def test_live_draws_a_frame_when_it_is_first_asked_for(live):
    draw = Drawing()
    box = explore(draw, alt="A power", start={"shape": "mirror"}, play="power", **RANGES)
    picture, slider, menu, play = box.children
    assert draw.calls == [(1, "mirror")]
    assert "A power (power = 1, shape = mirror)" in picture.value
    slider.index = 2
    assert "A power (power = −3, shape = mirror)" in picture.value
    menu.index = 0
    slider.index = 0
    menu.index = 1
    assert draw.calls == [(1, "mirror"), (-3, "mirror"), (-3, "line"), (1, "line")]
    assert isinstance(slider, ipywidgets.SelectionSlider) and isinstance(menu, ipywidgets.Dropdown)
    assert isinstance(play, ipywidgets.Play) and not play.playing


def test_live_shows_the_error_of_a_frame(live):
    def draw(a):
        fig, ax = plots.figure()
        ax.plot([1 / a])
        return fig

    box = explore(draw, alt="One over a", a=[1, 0])
    with pytest.raises(ZeroDivisionError):
        box.children[1].index = 1
    assert "ZeroDivisionError" in box.children[0].value and "<svg" not in box.children[0].value


# Bad input, the same for both faces


@pytest.fixture(params=["0", "1"])
def either(request, monkeypatch):
    monkeypatch.setenv("BAYESLIB_PRERENDER", request.param)


@pytest.mark.parametrize(
    "ranges, words",
    [
        ({}, "one to three parameters, got 0"),
        ({"power": 3}, r"power=3 is no range"),
        ({"power": "abc"}, r"power='abc' is no range"),
        ({"power": [1]}, r"power=\[1\] must have at least two"),
        ({"power": [1, 1]}, "holds a setting twice"),
        ({"power": [1, float("nan")]}, "no nan"),
        ({"power": [1, "a"]}, "only numbers"),
        ({"power": range(500)}, "500 power are 500 frames"),
        ({k: [1, 2] for k in "abcd"}, "got 4"),
        ({**RANGES, "start": {"power": 7}}, "start has power=7, which is not among"),
        ({**RANGES, "start": {"pow": 1}}, "start names 'pow'"),
        ({**RANGES, "start": [1, 2]}, "rename it"),
        ({**RANGES, "labels": {"pow": "x"}}, "labels names 'pow'"),
        ({**RANGES, "play": "pow"}, "play='pow' is not a parameter"),
        ({**RANGES, "alt": ""}, "alt is ''"),
    ],
)
def test_bad_arguments_are_named(either, ranges, words):
    with pytest.raises(BayeslibError, match=words):
        explore(Drawing(), **{"alt": "A power", **ranges})


@pytest.mark.parametrize(
    "draw, words",
    [
        (lambda power: plots.figure()[1], r"draw\(power=1\) returned matplotlib.axes._axes.Axes"),
        (lambda power: None, r"draw\(power=1\) returned NoneType"),
        (lambda other: None, r"draw\(other\) cannot be called as draw\(power=1\)"),
        ("text", "draw must be a function"),
    ],
)
def test_bad_draws_are_named(either, draw, words):
    with pytest.raises(TypeError, match=words) as caught:
        explore(draw, alt="A power", power=[1, 2])
    assert isinstance(caught.value, BayeslibTypeError)


def test_a_caption_that_is_no_text_is_named(either):
    with pytest.raises(BayeslibTypeError, match="caption"):
        explore(Drawing(), alt="A power", caption=lambda power: 3.0, power=[1, 2])


def test_settings_reach_draw_as_plain_numbers(live):
    draw = Drawing()
    explore(draw, alt="A power", power=np.linspace(0, 1, 3))
    assert type(draw.calls[0][0]) is float


# In the browser


@pytest.fixture(scope="module")
def two_explorers():
    said = {"caption": lambda power, shape: f"Power {power}"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BAYESLIB_PRERENDER", "1")
        pages = page_of(play="power", **said) + page_of(alt="B", start={"power": 2.5})
    head = '<meta name="viewport" content="width=device-width"><title>t</title>'
    return f"<!doctype html><html lang=en>{head}{pages}"


@pytest.fixture
def first(opened, two_explorers):
    """The first of two explorers, on a page whose clock stands still."""
    explorer = opened(two_explorers).locator(".explorer").first
    explorer.page.clock.install()
    return explorer


def shown(explorer):
    return explorer.locator("svg").get_attribute("aria-label")


def test_keys_move_one_figure_and_not_the_other(opened, two_explorers):
    page = opened(two_explorers)
    first, second = page.locator(".explorer").all()
    before = shown(second)
    slider = first.get_by_role("slider", name="power")
    assert shown(first) == "A power (power = 1, shape = line)"
    slider.focus()
    page.keyboard.press("ArrowRight")
    assert shown(first) == "A power (power = 2.5, shape = line)"
    assert slider.get_attribute("aria-valuetext") == "2.5"
    assert first.locator("output").inner_text() == "2.5"
    assert first.locator("figcaption").inner_text() == "Power 2.5"
    page.keyboard.press("End")
    first.get_by_role("combobox", name="shape").select_option("mirror")
    assert shown(first) == "A power (power = −3, shape = mirror)"
    assert first.locator("output").inner_text() == "−3"
    slider.focus()
    page.keyboard.press("Home")
    first.get_by_role("combobox", name="shape").select_option("line")
    assert shown(first) == "A power (power = 1, shape = line)"
    assert shown(second) == before == "B (power = 2.5, shape = line)"


def test_touch_moves_the_figure(opened, two_explorers):
    page = opened(two_explorers, has_touch=True, is_mobile=True, viewport=PHONE)
    first = page.locator(".explorer").first
    box = first.locator("input").bounding_box()
    page.touchscreen.tap(box["x"] + box["width"] - 4, box["y"] + box["height"] / 2)
    assert "power = −3" in shown(first)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_play_moves_by_itself_only_after_it_is_pressed(first):
    button = first.get_by_role("button")
    first.page.clock.run_for(5000)
    assert "power = 1," in shown(first) and button.inner_text() == "Play"
    button.click()
    assert "power = 2.5" in shown(first) and button.inner_text() == "Pause"
    button.click()
    first.page.clock.run_for(5000)
    assert "power = 2.5" in shown(first) and button.inner_text() == "Play"


def test_play_stays_at_the_last_setting_and_begins_anew_from_there(first):
    button = first.get_by_role("button")
    button.click()
    first.page.clock.run_for(5000)
    assert "power = −3" in shown(first) and button.inner_text() == "Play"
    button.click()
    assert "power = 1," in shown(first) and button.inner_text() == "Pause"
    first.get_by_role("slider", name="power").press("ArrowRight")
    assert "power = 2.5" in shown(first) and button.inner_text() == "Play"
    button.click()
    first.page.clock.run_for(5000)
    assert "power = −3" in shown(first) and button.inner_text() == "Play"


def test_play_steps_under_reduced_motion(opened, two_explorers):
    page = opened(two_explorers, reduced_motion="reduce")
    page.clock.install()
    first = page.locator(".explorer").first
    button = first.get_by_role("button", name="Step")
    button.click()
    first.page.clock.run_for(5000)
    assert "power = 2.5" in shown(first)
    button.click()
    assert "power = −3" in shown(first)


@pytest.fixture(scope="module")
def alone():
    """A page with a figure that plays by itself."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BAYESLIB_PRERENDER", "1")
        page = page_of(play="power", autoplay=True, start={"power": -3})
    return f"<!doctype html><html lang=en><title>t</title>{page}"


def playing(contexts, alone):
    """Return a page whose clock only tests move, and its figure, which has begun to play."""
    page = contexts().new_page()
    page.clock.install(time=0)
    page.clock.pause_at(1000)  # or a busy machine's own time goes on
    page.set_content(alone)
    first = page.locator(".explorer")
    page.wait_for_function("document.querySelector('.explorer button').textContent === 'Pause'")
    return page, first


def test_a_figure_plays_by_itself_once_and_rests_at_its_end(contexts, alone):
    page, first = playing(contexts, alone)
    button = first.get_by_role("button")
    assert "power = 1," in shown(first)
    for milliseconds, power, word in [
        (1450, "2.5", "Pause"),
        (5000, "−3", "Play"),
        (5000, "−3", "Play"),
    ]:
        page.clock.run_for(milliseconds)
        assert f"power = {power}," in shown(first) and button.inner_text() == word


def test_a_hand_on_the_slider_ends_it(contexts, alone):
    page, first = playing(contexts, alone)
    first.get_by_role("slider", name="power").press("ArrowRight")
    page.clock.run_for(5000)
    assert "power = 2.5" in shown(first) and first.get_by_role("button").inner_text() == "Play"


@pytest.mark.parametrize("still", [{"reduced_motion": "reduce"}, {"java_script_enabled": False}])
def test_where_nothing_may_move_its_end_is_seen(contexts, alone, still):
    page = contexts(**still).new_page()
    page.clock.install()
    page.set_content(alone)
    page.clock.run_for(5000)
    assert "power = −3" in shown(page.locator(".explorer"))


def test_a_figure_that_plays_by_itself_starts_where_it_will_rest(prerender):
    for arguments in ({"play": "power"}, {"start": {"power": -3}}):
        with pytest.raises(BayeslibError, match="last setting"):
            explore(Drawing(), alt="A power", autoplay=True, **arguments, **RANGES)


def test_without_javascript_the_start_is_seen(opened, two_explorers):
    page = opened(two_explorers, java_script_enabled=False)
    second = page.locator(".explorer").nth(1)
    assert second.locator("svg").is_visible()
    assert not second.locator("input").is_visible()
