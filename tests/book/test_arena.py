"""The arena: the call, what it writes into a page, and the page in a browser."""

import gzip
import html
import json
import re

import numpy as np
import pytest
from bad_inputs import refused
from browsing import javascript
from test_plots import contrast

from bayeslib.errors import BayeslibTypeError
from needles import plots
from needles.arena import arena
from needles.arena.catalogue import ALGORITHMS, SETTINGS, targets
from needles.arena.figure import script

ALT = "Chains at play on five targets."
MAX_KILOBYTES = 25


def facts_of(page):
    return json.loads(html.unescape(re.search(r'data-facts="([^"]*)"', page)[1]))


# The call


def test_it_starts_where_it_is_told():
    given = {"target": "donut", "algorithm": "hmc", "step_size": 0.3, "position": (1, 2), "seed": 7}
    told = facts_of(arena(alt=ALT, start=given).html)["start"]
    assert told.pop("settings") == {"step_size": given.pop("step_size")}
    assert told == given | {"position": [1.0, 2.0]}
    assert facts_of(arena(alt=ALT).html)["start"]["target"] == "gaussian"


test_bad_arguments_are_named = refused(
    ({"target": "needle"}, "start has target='needle', which is not one of .*'donut'"),
    ({"algorithm": "HMC"}, "start has algorithm='HMC', which is not one of .*'hmc'"),
    ({"scale": 0.123}, r"start has scale=0.123, which is not one of \[0.05"),
    ({"algorithm": "nuts", "num_steps": 5}, "nuts has only 'step_size'"),
    ({"speed": 1}, "start names 'speed', which is not a parameter"),
    ({"position": (1, 2, 3)}, r'start\["position"\] must have shape \(2,\)'),
    ({"position": (99, 0)}, r"is \[99.0, 0.0\]; coordinate 0 of the gaussian is shown from -4"),
    ({"position": (0, float("nan"))}, r'start\["position"\]\[1\] is nan'),
    ({"seed": -1}, r'start\["seed"\] must be at least 0'),
    ({"seed": "one"}, BayeslibTypeError, "must be an integer"),
    ({"target": ["donut"]}, BayeslibTypeError, "target=.'donut'., which is not one of"),
    ([1, 2], "must be a dict"),
    ({"alt": 3}, BayeslibTypeError, "alt must be text"),
    ({"alt": " "}, "alt is"),
    by=lambda *other, alt=ALT, **start: arena(alt=alt, start=other[0] if other else start),
)


@pytest.mark.parametrize("target", list(targets()))
def test_the_page_is_small_loads_nothing_and_is_repeatable(target):
    page = arena(alt=ALT, start={"target": target}).html
    assert page == arena(alt=ALT, start={"target": target}).html
    assert len(gzip.compress(page.encode(), 6)) <= 1000 * MAX_KILOBYTES
    assert not re.search(r"https?:|//cdn|(?:src|href)=\"(?!#)|import\(|fetch\(", page)
    assert "</script" not in script()


def test_the_still_picture_is_for_those_without_scripts_and_for_print():
    picture = arena(alt=ALT)
    assert picture.png.startswith(b"\x89PNG")
    assert f'aria-label="{ALT} (' in picture.html.split("<script>")[0]


def test_the_colours_are_the_books():
    names = ("draws", "rejected", "proposal", "truth")
    found = facts_of(arena(alt=ALT).html)["colors"]
    assert found == {name: getattr(plots, name.upper()) for name in names}


# In the browser


@pytest.fixture(scope="module")
def source():
    """A page of two arenas, in the page's two modes."""
    second = arena(alt="Another.", start={"target": "funnel", "algorithm": "nuts", "seed": 3})
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>t</title>'
        "<style>:root { color-scheme: light dark } body { background: Canvas; color: CanvasText }"
        "</style>"
    )
    both = arena(alt=ALT).html + second.html
    return f"<!doctype html><html lang=en>{head}<main><h1>t</h1>{both}</main>"


@pytest.fixture
def root(opened, source):
    """The first of two arenas."""
    return opened(source).locator(".arena").first


@pytest.fixture
def clock(root):
    """The page's clock, stopped."""
    root.page.clock.install()
    root.page.clock.pause_at("2030-01-01")
    return root.page.clock


def number(root, name):
    """Return a read-out by its label."""
    found = root.locator("dl div", has=root.page.get_by_text(name, exact=True)).locator("dd")
    return found.inner_text()


def press(root, name, times=1):
    for _ in range(times):
        root.get_by_role("button", name=name, exact=True).click()


def choose(root, label, value):
    root.get_by_role("combobox", name=label).select_option(value)


def words(root):
    return root.locator("p[role=status]").inner_text()


def drawn(root):
    return root.locator("canvas").evaluate("(canvas) => canvas.toDataURL()")


def test_every_target_with_every_algorithm(root):
    for target in targets():
        choose(root, "Target", target)
        assert "✓" in root.locator(".arena-certificate").inner_text()
        assert root.locator(".arena-certificate.is-wrong").count() == 0
        for algorithm, told in ALGORITHMS.items():
            choose(root, "Algorithm", algorithm)
            assert told["label"] in words(root)
            assert number(root, "draws") == "0" and number(root, "evaluations") == "1"
            before = drawn(root)
            press(root, "Step", 2)
            assert words(root).startswith("Draw 2: ")
            assert drawn(root) != before
            press(root, "+ 100 draws")
            assert number(root, "draws") == "102"
            assert "±" in number(root, "E[θ₁] ± MCSE")


def test_a_density_that_differs_is_marked(opened, source):
    other = source.replace("-0.5 * (x * x + z * z)", "-0.4999 * (x * x + z * z)")
    root = opened(other).locator(".arena").first
    choose(root, "Target", "banana")
    assert "✗" in root.locator(".arena-certificate.is-wrong").inner_text()


def test_the_same_seed_makes_the_same_chain_and_another_another(root):
    means = []
    for seed in ("5", "6", "5"):
        root.get_by_label("Seed").fill(seed)
        root.get_by_label("Seed").press("Enter")
        press(root, "+ 100 draws")
        means.append(number(root, "E[θ₁] ± MCSE"))
    assert means[0] == means[2] != means[1]
    rows = root.locator("tbody tr")
    assert rows.count() == 2  # the run at hand is not an earlier one
    root.locator("summary").click()
    assert "random-walk Metropolis (1)" in rows.first.inner_text()


def test_sliders_by_keyboard_change_the_run(root):
    choose(root, "Algorithm", "hmc")
    slider = root.get_by_role("slider", name="leapfrog steps")
    assert slider.get_attribute("aria-valuetext") == "10"
    slider.press("End")
    assert slider.get_attribute("aria-valuetext") == str(SETTINGS["num_steps"]["values"][-1])
    press(root, "Step")
    assert "a trajectory of 100 leapfrog steps" in words(root)
    assert number(root, "evaluations") == "101"
    choose(root, "Algorithm", "gibbs")
    assert root.get_by_role("slider").count() == 0  # both conditionals are known
    choose(root, "Target", "banana")
    assert root.get_by_role("slider", name="width").count() == 1


def test_the_start_is_placed_by_arrow_keys_numbers_and_clicks(root):
    marker = root.get_by_role("button", name=re.compile("^Start"))
    first, second = root.get_by_label("Start θ₁"), root.get_by_label("θ₂", exact=True)
    marker.press("ArrowRight")
    marker.press("Shift+ArrowDown")
    assert (first.input_value(), second.input_value()) == ("-2.9", "1")
    assert "(−2.90, 1.00)" in words(root) and "(−2.90, 1.00)" in marker.get_attribute("aria-label")
    first.fill("0.5")
    first.press("Tab")
    assert "(0.50, 1.00)" in words(root)
    for _ in range(9):
        marker.press("Shift+ArrowUp")
    assert second.input_value() == "4"  # the end of the picture
    box = root.locator("canvas").bounding_box()
    before = first.input_value(), second.input_value()
    root.locator("canvas").click(position={"x": 0.3 * box["width"], "y": 0.7 * box["height"]})
    assert (first.input_value(), second.input_value()) != before
    at = marker.bounding_box()
    assert at["x"] + at["width"] / 2 - box["x"] == pytest.approx(0.3 * box["width"], abs=1.5)
    assert at["y"] + at["height"] / 2 - box["y"] == pytest.approx(0.7 * box["height"], abs=1.5)


def test_everything_can_be_reached_and_run_by_keyboard_alone(root):
    reached, active = [], "document.activeElement.dataset"
    for _ in range(20):
        root.page.keyboard.press("Tab")
        reached.append(root.page.evaluate(f"{active}.is || {active}.setting"))
    wanted = ["target", "algorithm", "scale", "marker", "step", "play", "batch", "many"]
    wanted += ["restart", "speed", "startX", "startY", "seed", "from"]
    assert reached[: len(wanted)] == wanted
    root.get_by_role("button", name="Step").press("Enter")
    assert number(root, "draws") == "1"


def test_play_moves_by_itself_until_it_is_paused(root, clock):
    clock.run_for(3000)
    assert number(root, "draws") == "0"
    choose(root, "Speed", "2")
    press(root, "Play")
    clock.run_for(2000)
    reached = int(number(root, "draws"))
    assert 30 <= reached <= 45
    press(root, "Pause")
    assert words(root).startswith(f"{reached} draws for {reached + 1} density evaluations")
    clock.run_for(3000)
    assert int(number(root, "draws")) == reached


def test_a_slow_move_is_shown_before_it_is_decided(root, clock):
    choose(root, "Speed", "0")
    press(root, "Play")
    pictures = []
    for _ in range(6):
        clock.run_for(100)
        pictures.append(drawn(root))
    assert number(root, "draws") == "1" and len(set(pictures)) >= 3


def test_a_full_chain_stops(opened, source):
    short = source.replace("const MAX_DRAWS = 20000;", "const MAX_DRAWS = 250;")
    root = opened(short).locator(".arena").first
    press(root, "+ 100 draws", 4)
    assert number(root, "draws") == "250" and "as many draws as the arena keeps" in words(root)
    press(root, "Play")
    press(root, "Step")
    assert number(root, "draws") == "250"


def test_nothing_moves_under_reduced_motion_but_steps_are_taken(opened, source):
    root = opened(source, reduced_motion="reduce").locator(".arena").first
    assert not root.get_by_role("button", name="Play").is_visible()
    assert not root.get_by_role("combobox", name="Speed").is_visible()
    press(root, "Step")
    assert number(root, "draws") == "1"


def test_a_chain_in_one_mode_is_called_by_its_name(root):
    """Seed 1, scale 0.3: the standard error is small, the estimate far from the exact mean."""
    choose(root, "Target", "mixture")
    slider = root.get_by_role("slider", name="scale")
    slider.press("Home")
    for _ in range(3):
        slider.press("ArrowRight")
    press(root, "+ 100 draws", 20)
    assert "standard errors off" in words(root)
    assert words(root) in root.locator("canvas").get_attribute("aria-label")


def test_a_thousand_draws_are_a_click(root):
    press(root, "+ 1000 draws", 2)
    assert number(root, "draws") == "2,000"


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_the_exact_marginals_stand_out_from_the_page(opened, source, mode):
    """A contrast of 4.5 for their dashed line, above the square: its most opaque dot."""
    page = opened(source, color_scheme=mode)
    canvas = page.locator(".arena canvas").first
    found = canvas.evaluate(javascript("arena", "mostOpaque"))
    assert contrast(*np.divide(found, 255)) > 4.5


def test_a_coordinate_with_two_decimals_fits_its_box(root):
    box = root.get_by_label("Start θ₁")
    box.fill("-0.84")
    wide = box.evaluate(javascript("arena", "room"))
    assert wide[0] <= wide[1]


def test_the_second_half_leaves_the_start_out(root):
    press(root, "+ 100 draws")
    whole = number(root, "E[θ₁] ± MCSE")
    choose(root, "Estimate from", "half")
    assert number(root, "E[θ₁] ± MCSE") != whole


def test_two_arenas_do_not_disturb_each_other(opened, source):
    page = opened(source)
    first, second = page.locator(".arena").all()
    press(first, "Step", 3)
    assert number(second, "draws") == "0"
    press(second, "Step")
    assert "from which" in words(second) and number(first, "draws") == "3"
    assert page.evaluate("Object.keys(window).filter((name) => /chain|target/i.test(name))") == []


def test_ink_follows_the_mode_while_the_page_is_open(opened, source):
    page = opened(source, color_scheme="light")
    root = page.locator(".arena").first
    before = drawn(root)
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(
        "([canvas, before]) => canvas.toDataURL() !== before",
        arg=[root.locator("canvas").element_handle(), before],
    )


def test_an_output_that_a_notebook_inserts_comes_to_life(opened):
    """As JupyterLab does: the HTML parsed apart, its scripts made anew, all of it then attached."""
    page = opened("<!doctype html><html lang=en><title>t</title><main></main></html>")
    page.evaluate(javascript("arena", "insert"), arena(alt=ALT).html)
    root = page.locator(".arena")
    press(root, "Step")
    assert words(root).startswith("Draw 1: ")
    assert root.locator("canvas").evaluate("(canvas) => canvas.height") > 100


def test_without_javascript_the_still_picture_is_seen(opened, source):
    root = opened(source, java_script_enabled=False).locator(".arena").first
    assert root.get_by_role("img").is_visible()
    assert root.get_by_role("button").count() == 0
