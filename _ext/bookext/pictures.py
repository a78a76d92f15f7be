"""Pictures made with the book: its preview for those who link to it, and its icons."""

import re
import tempfile
from pathlib import Path

import numpy as np
from fontTools.ttLib import TTFont
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties

from .vendor import package

PREVIEW, ICON, TOUCH = "preview.png", "favicon-32.png", "apple-touch-icon.png"
PREVIEW_SIZE = (1200, 630)
PREVIEW_ALT = "All the Needles: a curve with two hills, and needles standing under all of it."
PAPER, INK, MUTED, NEEDLE, CURVE = "#fffefc", "#15181c", "#575d66", "#d2751d", "#4f86bd"
PATH = re.compile(r'<path stroke="([^"]+)" stroke-width="([\d.]+)"[^>]*? d="([^"]+)"')
NEEDLES = 100
HILLS = ((0.62, 0.27, 0.1), (0.38, 0.71, 0.07))  # weight, centre, width


def strokes(svg):
    """Yield (colour, width, list of polylines) of each path of the mark, made of M, V and L."""
    for colour, width, d in PATH.findall(svg):
        lines = []
        for command, numbers in re.findall(r"([MVL])([\d. ]+)", d):
            values = [float(number) for number in numbers.split()]
            if command == "M":
                lines.append([values])
            else:
                lines[-1].append(values if command == "L" else [lines[-1][-1][0], values[0]])
        yield colour, float(width), lines


def draw_mark(svg, side, *, paper=None, margin=0.0):
    """Return a square figure of `side` pixels with the book's mark."""
    fig = Figure(figsize=(side / 100, side / 100), dpi=100, facecolor=paper or "none")
    ax = fig.add_axes((margin, margin, 1 - 2 * margin, 1 - 2 * margin))
    ax.set(xlim=(0, 32), ylim=(32, 0))
    ax.axis("off")
    point = side * (1 - 2 * margin) / 32 * 0.72  # of a unit of the drawing
    for colour, width, lines in strokes(svg):
        for line in lines:
            x, y = np.transpose(line)
            ax.plot(x, y, color=colour, linewidth=width * point, solid_capstyle="round")
    return fig


def font(weight):
    """Return the book's text font in a form that matplotlib reads, and the file that holds it."""
    source = package("@fontsource/source-serif-4") / "files"
    loaded = TTFont(source / f"source-serif-4-latin-{weight}-normal.woff2")
    loaded.flavor = None
    with tempfile.NamedTemporaryFile(suffix=".ttf", delete=False) as file:
        loaded.save(file)
    return FontProperties(fname=file.name)


def hills(x):
    """Density of the preview's landscape."""
    return sum(w / s * np.exp(-0.5 * ((x - m) / s) ** 2) for w, m, s in HILLS)


def draw_preview():
    """Return the preview: the title over a landscape with its needles."""
    width, height = PREVIEW_SIZE
    fig = Figure(figsize=(width / 100, height / 100), dpi=100, facecolor=PAPER)
    ax = fig.add_axes((0, 0, 1, 1))
    ax.set(xlim=(0, 1), ylim=(-0.25, 12))
    ax.axis("off")
    x = np.linspace(0, 1, 600)
    rng = np.random.default_rng(1777)
    level = (np.arange(NEEDLES) + rng.random(NEEDLES)) / NEEDLES  # one draw from each share
    at = np.interp(level, np.cumsum(hills(x)) / np.sum(hills(x)), x)
    top = hills(at) * rng.uniform(0.6, 0.94, NEEDLES)
    ax.vlines(at, 0.1, np.maximum(top, 0.2), color=NEEDLE, linewidth=2)
    ax.plot(x, hills(x), color=CURVE, linewidth=5)
    for text, y, weight, size, colour in (
        ("All the Needles", 0.79, 600, 72, INK),
        ("Approximate Bayesian inference you can run", 0.68, 400, 33, MUTED),
    ):
        face = font(weight)
        fig.text(0.5, y, text, fontproperties=face, fontsize=size, color=colour, ha="center")
        fig.draw_without_rendering()
        Path(face.get_file()).unlink()
    return fig


def save(fig, path):
    FigureCanvasAgg(fig).print_png(str(path), metadata={"Software": None})


def add_pictures(app):
    """Draw the pictures and put them beside the book's own static files."""
    if app.builder.format != "html":
        return
    folder = Path(app.doctreedir).parent / ".pictures"
    folder.mkdir(parents=True, exist_ok=True)
    svg = (Path(app.srcdir) / app.config.html_favicon).read_text("utf-8")
    save(draw_mark(svg, 32), folder / ICON)
    save(draw_mark(svg, 180, paper=PAPER, margin=0.1), folder / TOUCH)
    save(draw_preview(), folder / PREVIEW)
    app.config.html_static_path.append(str(folder))


def setup(app):
    app.connect("builder-inited", add_pictures)
