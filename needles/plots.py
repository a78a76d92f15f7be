"""The book's one look, and the few drawings that more than one page needs.

Six roles, each with its colour in every figure in which it occurs:

=========== ======== =============================================
`INK`       ink      the target
`PRIOR`     grey     the prior
`PROPOSAL`  orange   the proposal, or an approximation q
`DRAWS`     blue     draws
`REJECTED`  red      what is rejected, or diverges
`TRUTH`     green    the exact truth, always dashed
=========== ======== =============================================

Each colour has a contrast of at least 3:1 with the white and with the dark page, and the five stay
apart for readers with any of the three kinds of colour blindness (`tests/book/test_plots.py`).
"""

import sys

from bayeslib.errors import BayeslibError, BayeslibTypeError
from bayeslib.validate import as_choice

from .figures.svg import HALO, check_alt, check_figure, to_png, to_svg

INK = "#000000"  # drawn in the page's own text colour
PRIOR = "#909093"
PROPOSAL = "#d2751d"
DRAWS = "#1389dd"
REJECTED = "#d21138"
TRUTH = "#1a766a"

STYLE = {
    "figure.figsize": (5.4, 3.2),
    "figure.dpi": 100,
    "figure.constrained_layout.use": True,
    "font.size": 11,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.8,
    "xtick.labelsize": 10,
    "ytick.labelsize": 10,
    "legend.frameon": False,
    "legend.fontsize": 10,
    "lines.linewidth": 1.8,
    "lines.solid_capstyle": "round",
    "image.cmap": "cividis",
    "mathtext.fontset": "dejavuserif",
}
_CYCLE = (INK, DRAWS, PROPOSAL, PRIOR, TRUTH, REJECTED)


def style():
    """Return a context manager inside which matplotlib draws in the book's look."""
    from matplotlib import cycler, rc_context

    return rc_context(STYLE | {"axes.prop_cycle": cycler(color=_CYCLE)})


def figure(width=5.4, height=3.2, *, rows=1, columns=1):
    """Return a new figure in the book's look and its axes.

    The figure is not one of pyplot's, so there is nothing to close.

    Parameters
    ----------
    width, height : float
        In inches. A page shows a width of 5.4 as 518 pixels; a phone shrinks it to two thirds, text
        and all.
    rows, columns : int
        Panels.

    Returns
    -------
    fig : matplotlib.figure.Figure
    axes : matplotlib.axes.Axes, or an array of them for more than one panel

    Examples
    --------
    >>> fig, (left, right) = plots.figure(6.0, 2.5, columns=2)
    >>> print(fig.get_size_inches(), left.get_title() == "")
    [6.  2.5] True
    """
    from matplotlib.figure import Figure

    with style():
        fig = Figure(figsize=(width, height))
        return fig, fig.subplots(rows, columns)


class Picture:
    """A figure ready for a page: inline SVG where HTML is read, PNG elsewhere.

    Attributes
    ----------
    html : str
    png : bytes

    Examples
    --------
    >>> fig, ax = plots.figure()
    >>> line = ax.plot([1, 2, 3], [9.0, 3.0, 1.0])
    >>> picture = plots.show(fig, alt="Each step divides the error by three")
    >>> print(picture.html[:21], picture.png[1:4])
    <div class="picture"> b'PNG'
    """

    def __init__(self, html, png):
        self.html = html
        self.png = png

    def __repr__(self):
        return f"Picture({len(self.html)} characters of SVG)"

    def _repr_html_(self):
        return self.html

    def _repr_png_(self):
        return self.png


def show(fig, *, alt):
    """Show a figure on the page, as the last line of a cell.

    Parameters
    ----------
    fig : matplotlib.figure.Figure
        From `figure` or from pyplot; a pyplot figure is closed, so that it is not shown twice.
    alt : str
        What the figure shows, for readers who do not see it: the finding, not the ink.

    Returns
    -------
    Picture

    Raises
    ------
    BayeslibTypeError, BayeslibError
        If `fig` is not a figure, or `alt` says nothing.

    Examples
    --------
    >>> fig, ax = plots.figure()
    >>> lines = ax.loglog([10, 100, 1000], [1e-1, 1e-4, 1e-7])
    >>> picture = plots.show(fig, alt="Ten times the points, a thousandth of the error")
    >>> print(">1,000</text>" in picture.html, ">10⁻⁴</text>" in picture.html)
    True True
    """
    check_alt(alt)
    check_figure(fig)
    try:
        with style():
            picture = to_svg(fig, alt)
            return Picture(f'<div class="picture">{picture}</div>', to_png(fig))
    finally:
        close(fig)


def close(fig):
    """Close a figure if pyplot keeps it open."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.close(fig)


def label(ax, x, y, text, *, color=INK, align="left"):
    """Write a label beside a curve, in its colour, legible over what it covers.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
    x, y : float
        Where, in data coordinates: the middle of the text's height, and its `align` end.
    text : str
        Use Unicode (θ, π̃, √2) rather than TeX: it is drawn in the page's own font.
    color : str
        The colour of the curve; `plots.INK`, by default, of the target.
    align : {"left", "center", "right"}

    Returns
    -------
    matplotlib.text.Text

    Examples
    --------
    >>> fig, ax = plots.figure()
    >>> written = plots.label(ax, 0.5, 0.5, "θ", color=plots.DRAWS)
    >>> print(written.get_text(), written.get_color())
    θ #1389dd
    """
    as_choice(align, "align", ("left", "center", "right"))
    written = ax.text(x, y, text, color=color, ha=align, va="center")
    written.set_gid(HALO)
    return written


def plot_target(ax, target, x, *, log_scale=0.0, filled=False):
    """Draw the density of a one-dimensional target as an ink line.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
    target : Target
        With `dim` 1.
    x : array_like, shape (n,)
        Where to evaluate it.
    log_scale : float
        Added to the log density: minus the log evidence draws the normalised density.
    filled : bool
        Shade the area beneath.

    Returns
    -------
    density : numpy.ndarray, shape (n,)
        What was drawn.

    Raises
    ------
    BayeslibError
        If the target has more than one dimension.

    Examples
    --------
    >>> target = bl.posteriors.gamma_student()
    >>> fig, ax = plots.figure()
    >>> x = np.linspace(0.01, 12.0, 400)
    >>> log_scale = -target.truth.log_evidence
    >>> density = plots.plot_target(ax, target, x, log_scale=log_scale)
    >>> print(np.trapezoid(density, x).round(2))
    1.0
    """
    import numpy as np

    if target.dim != 1:
        raise BayeslibError(f"plot_target draws one dimension, the target has dim={target.dim}")
    x = np.asarray(x, dtype=float)
    density = np.exp(np.asarray(target.many(x)) + log_scale)
    ax.plot(x, density, color=INK, linewidth=1.8)
    if filled:
        ax.fill_between(x, density, color=INK, alpha=0.08, linewidth=0)
    return density


def plot_draws(ax, draws, *, bins=40, component=0):
    """Draw a histogram of draws (weighted ones with their weights), of area one, in blue.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
    draws : Draws or array_like
        An array is (n,) or (..., dim) draws of equal weight.
    bins : int or array_like
        As in `numpy.histogram`.
    component : int
        Which dimension.

    Returns
    -------
    heights : numpy.ndarray
    edges : numpy.ndarray

    Raises
    ------
    BayeslibTypeError
        If `draws` holds no numbers.

    Examples
    --------
    >>> fig, ax = plots.figure()
    >>> draws = np.random.default_rng(1).normal(size=10_000)
    >>> heights, edges = plots.plot_draws(ax, draws, bins=30)
    >>> print((heights * np.diff(edges)).sum().round(6))
    1.0
    """
    import numpy as np

    values = np.asarray(getattr(draws, "values", draws))
    if values.size == 0 or not np.issubdtype(values.dtype, np.number):
        raise BayeslibTypeError(f"draws must hold numbers, got {values.size} of {values.dtype}")
    values = values.ravel() if values.ndim == 1 else values[..., component].ravel()
    log_weights = getattr(draws, "log_weights", None)
    weights = None
    if log_weights is not None:
        weights = np.exp(np.ravel(log_weights) - np.max(log_weights))
    heights, edges = np.histogram(values, bins=bins, weights=weights, density=True)
    # One outline rather than a bar a bin: a tenth of the bytes in a frame.
    ax.stairs(heights, edges, fill=True, color=DRAWS, alpha=0.35, linewidth=0)
    ax.stairs(heights, edges, color=DRAWS, linewidth=1.2)
    return heights, edges


def mark_truth(ax, value, *, axis="x", text=None):
    """Mark an exact value by a dashed green line across the axes, with a label at its end.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
    value : float
    axis : {"x", "y"}
        Which coordinate it is a value of.
    text : str, optional

    Raises
    ------
    BayeslibError
        For another `axis`.

    Examples
    --------
    >>> fig, ax = plots.figure()
    >>> plots.mark_truth(ax, 3.8, text="exact")
    >>> print(ax.lines[0].get_color() == plots.TRUTH)
    True
    """
    if axis not in ("x", "y"):
        raise BayeslibError(f"axis must be 'x' or 'y', got {axis!r}")
    draw = ax.axvline if axis == "x" else ax.axhline
    draw(value, color=TRUTH, linestyle=(0, (5, 3)), linewidth=1.5)
    if text is not None:
        transform = ax.get_xaxis_transform() if axis == "x" else ax.get_yaxis_transform()
        x, y = (value, 1.0) if axis == "x" else (1.0, value)
        ha, va = ("left", "top") if axis == "x" else ("right", "bottom")
        text = f"\N{NO-BREAK SPACE}{text}"
        written = ax.text(x, y, text, color=TRUTH, transform=transform, ha=ha, va=va)
        written.set_gid(HALO)
