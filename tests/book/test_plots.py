"""The one look: colours that can be told apart and read, and SVG that is safe inside a page."""

import itertools
import re
from types import SimpleNamespace
from xml.etree import ElementTree

import matplotlib.pyplot as plt
import numpy as np
import pytest
import yaml
from bad_inputs import refused
from calling import python
from IPython.core.formatters import DisplayFormatter
from matplotlib.figure import Figure
from prose import ROOT

from bayeslib.errors import BayeslibTypeError
from needles import plots
from needles.figures.svg import TEXT_SHARE, to_svg

COLORS = {
    name: getattr(plots, name) for name in ("PRIOR", "PROPOSAL", "DRAWS", "REJECTED", "TRUTH")
}


def pages():
    """The book's own (paper, ink) in light and dark, and the theme's without the book's style."""
    css = (ROOT / "_static" / "book.css").read_text(encoding="utf-8")
    pattern = r"--pst-color-{}: light-dark\((#\w{{6}}), (#\w{{6}})\)"
    papers, inks = (re.search(pattern.format(n), css).groups() for n in ("background", "text-base"))
    return {
        "light": (papers[0], inks[0]),
        "dark": (papers[1], inks[1]),
        "plain light": ("#ffffff", "#222832"),
        "plain dark": ("#121212", "#ced6dd"),
    }


PAGES = pages()

VISION = yaml.safe_load((ROOT / "tests" / "data" / "vision.yml").read_text("utf-8"))
TO_CONES, TO_LAB = (np.array(VISION.pop(name)) for name in ("to cones", "to lab"))
EYES = [np.eye(3), *map(np.array, VISION.values())]


def rgb(color):
    return np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / 255


def linear(channels):
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def contrast(a, b):
    """WCAG 2 contrast ratio of two sRGB colours."""
    levels = sorted(float(linear(c) @ [0.2126, 0.7152, 0.0722]) + 0.05 for c in (a, b))
    return levels[1] / levels[0]


def oklab(light):
    """Björn Ottosson's OKLab of linear RGB, in which distances are roughly perceptual."""
    return TO_LAB @ np.cbrt(np.clip(TO_CONES @ light, 0, None))


def smallest_distance(colors):
    """The distance of the two most alike colours, in the eyes that see them most alike."""
    return min(
        np.linalg.norm(
            oklab(np.clip(eye @ linear(rgb(a)), 0, 1)) - oklab(np.clip(eye @ linear(rgb(b)), 0, 1))
        )
        for eye in EYES
        for a, b in itertools.combinations(colors, 2)
    )


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("name", COLORS)
def test_colors_are_legible_on_both_pages(name, page):
    paper, ink = (rgb(c) for c in PAGES[page])
    color = rgb(COLORS[name])
    assert contrast(color, paper) >= 3.0  # graphics (WCAG 1.4.11)
    text = TEXT_SHARE / 100 * color + (1 - TEXT_SHARE / 100) * ink
    assert contrast(text, paper) >= 4.5  # text (WCAG 1.4.3)


def test_colors_differ_for_every_eye():
    assert smallest_distance(COLORS.values()) >= 0.1
    # Matplotlib's own green and red would not do.
    assert smallest_distance(["#2ca02c", "#d62728"]) < 0.1


def curve(height=1.0):
    fig, ax = plots.figure()
    x = np.linspace(0, 1, 50)
    ax.plot(x, height * x * (1 - x), color=plots.INK)
    ax.plot(x, x, "o", ms=3, color=plots.DRAWS)
    plots.label(ax, 0.5, 0.123456, "q(θ) < 17.1428", color=plots.PROPOSAL)
    plots.mark_truth(ax, 0.25, text="truth")
    return fig


def parsed(svg):
    return ElementTree.fromstring(svg)


def test_svg_has_role_alternative_and_text():
    root = parsed(to_svg(curve(), 'A "curve" < 1\n  & more'))
    assert root.tag == "svg"
    assert root.get("role") == "img"
    assert root.get("aria-label") == 'A "curve" < 1 & more'
    assert "q(θ) < 17.1428" in [text.text for text in root.iter("text")]


def test_svg_follows_the_page():
    svg = to_svg(curve(), "A curve")
    assert "#000000" not in svg and "DejaVu" not in svg and "<style" not in svg
    assert f"stroke:{plots.DRAWS}" in svg
    (label,) = [t for t in parsed(svg).iter("text") if t.text.startswith("q(θ)")]
    assert f"color-mix(in srgb, {plots.PROPOSAL} {TEXT_SHARE}%, currentColor)" in label.get("style")
    assert "paint-order:stroke" in label.get("style")


def test_svg_is_repeatable_and_its_ids_are_its_own():
    first, again, other = (to_svg(curve(h), "A curve") for h in (1.0, 1.0, 2.0))
    assert first == again
    ids = [set(re.findall(r' id="([^"]+)"', svg)) for svg in (first, other)]
    assert ids[0] and not ids[0] & ids[1]
    used = set(re.findall(r'(?:url\(|href=")#([^")]+)', first))
    assert used == ids[0]
    assert set(re.findall(r' id="([^"]+)"', to_svg(curve(), "A curve", prefix="z"))) >= {"z0"}


def absolute(d):
    """Undo the relative coordinates of a path of lines: its corners, in points."""
    numbers = iter(re.findall(r"[mlz]|-?[\d.]+", d))
    here, corners = np.zeros(2), []
    for token in numbers:
        if token in "ml":
            token = next(numbers)
        here = here + [float(token), float(next(numbers))]
        corners.append(here)
    return np.array(corners)


def test_rounding_moves_no_point_by_more_than_a_tenth():
    x = np.linspace(0, 1, 400)
    y = np.sin(40 * x) * x
    with plots.style():
        fig = Figure(figsize=(5, 3), layout="none")
        ax = fig.add_axes((0, 0, 1, 1))
        ax.set(xlim=(0, 1), ylim=(-1, 1))
        ax.axis("off")
        (line,) = ax.plot(x, y)
        line.get_path().should_simplify = False
    (path,) = [p for p in parsed(to_svg(fig, "A wave")).iter("path") if "clip-path" in p.attrib]
    expected = np.column_stack([360 * x, 216 * (1 - y) / 2])
    np.testing.assert_allclose(absolute(path.get("d")), expected, atol=0.0501)


def test_show_gives_html_and_png_and_closes_pyplot():
    before = plt.get_fignums()
    fig, ax = plt.subplots()
    ax.plot([0, 1])
    picture = plots.show(fig, alt="A line")
    assert plt.get_fignums() == before
    shown, _ = DisplayFormatter().format(picture)
    assert 'aria-label="A line"' in shown["text/html"]
    assert shown["image/png"].startswith(b"\x89PNG")


def test_figure_is_not_kept_by_pyplot():
    before = plt.get_fignums()
    fig, axes = plots.figure(5, 2, columns=2)
    assert axes.shape == (2,) and plt.get_fignums() == before
    assert not axes[0].spines["top"].get_visible()


AXES = plots.figure()[1]
test_what_cannot_be_drawn_is_named = refused(
    (lambda: plots.show(curve(), alt=""), "alt"),
    (lambda: plots.show(curve(), alt="  "), "alt"),
    (lambda: plots.show(curve(), alt=None), BayeslibTypeError, "alt"),
    (lambda: plots.show(AXES, alt="An axes"), BayeslibTypeError, "matplotlib.axes._axes.Axes"),
    (lambda: plots.plot_target(AXES, SimpleNamespace(dim=2), np.zeros(9)), "dim=2"),
    (lambda: plots.plot_draws(AXES, []), BayeslibTypeError, "draws must hold numbers"),
    (lambda: plots.mark_truth(AXES, 2.0, axis="z"), "'z'"),
)


class Triangle:
    dim = 1

    def many(self, x):
        with np.errstate(divide="ignore"):
            return np.log(np.clip(1 - np.abs(x), 0, None))


def test_plot_target_draws_the_density():
    _, ax = plots.figure()
    x = np.linspace(-2, 2, 9)
    heights = plots.plot_target(ax, Triangle(), x, log_scale=np.log(2), filled=True)
    np.testing.assert_allclose(heights, 2 * np.clip(1 - np.abs(x), 0, None))
    np.testing.assert_allclose(ax.lines[0].get_ydata(), heights)


def test_plot_draws_honours_weights_and_dimension():
    class Weighted:
        values = np.array([[[0.0, 5.0], [1.0, 6.0]]])
        log_weights = np.log([[1.0, 3.0]]) + 1000.0

    _, ax = plots.figure()
    heights, edges = plots.plot_draws(ax, Weighted(), bins=[-0.5, 0.5, 1.5])
    np.testing.assert_allclose(heights, [0.25, 0.75])
    heights, _ = plots.plot_draws(ax, Weighted.values, bins=[4.5, 5.5, 6.5], component=1)
    np.testing.assert_allclose(heights, [0.5, 0.5])


def test_mark_truth_is_dashed_and_green():
    _, ax = plots.figure()
    plots.mark_truth(ax, 2.0, axis="y")
    (line,) = ax.lines
    assert line.get_color() == plots.TRUTH and line.get_linestyle() == "--"


def test_importing_costs_neither_matplotlib_nor_widgets():
    code = (
        "import sys, needles.plots, needles.figures.interactive, needles.study;"
        "print([m for m in ('matplotlib', 'ipywidgets', 'scipy.stats') if m in sys.modules])"
    )
    assert python(code).strip() == "[]"
