"""Interactive figures: one call that recomputes with a kernel and needs none in the built page."""

import html
import os
from typing import NamedTuple

from bayeslib.errors import BayeslibError, BayeslibTypeError

from ..plots import close, style
from .prerender import PLAY_MILLISECONDS, figcaption, prerender
from .ranges import (
    call,
    check_draw,
    check_keys,
    check_range,
    check_size,
    check_start,
    listed,
    texts,
)
from .svg import check_alt, kind, to_png, to_svg


def explore(
    draw, *, alt, labels=None, caption=None, start=None, play=None, autoplay=False, **ranges
):
    """Show a figure that its reader can change.

    With a kernel, sliders that draw each frame when it is first asked for. In the built book
    (environment variable ``BAYESLIB_PRERENDER=1``, which the book's Sphinx extension sets), every
    frame is drawn ahead into the page, which then needs no kernel, no widgets and no network.

    Parameters
    ----------
    draw : callable
        ``draw(**settings)`` returns a matplotlib Figure (from `plots.figure` or pyplot). The same
        settings must give the same figure: make generators inside it. Fix the axis limits, or the
        axes will jump.
    alt : str or callable
        What the figure shows, for readers who do not see it. Text is followed by the settings;
        ``alt(**settings)`` returns a text for each frame.
    labels : dict of str, optional
        What to call a parameter on the page, in Unicode: ``{"step_size": "step size ε"}``.
    caption : str or callable, optional
        A line beneath the figure; ``caption(**settings)`` returns one for each frame.
    start : dict, optional
        The setting to begin with, where it is not the first of its range: the one that surprises.
    play : str, optional
        A parameter that gets a play button: it runs to its last setting and stays there. Without
        `autoplay` nothing moves before the button is pressed; for readers who ask for reduced
        motion each press makes one step.
    autoplay : bool
        In the built book, run through `play` once when the figure comes into sight, from the first
        setting to the last; `start` must name the last, which is all that is seen where nothing
        may move.
    **ranges : sequence
        One to three parameters, each with two settings or more, in all at most 400 frames:
        numbers become a slider, texts a menu. A parameter cannot have the name of one of the
        arguments above.

    Returns
    -------
    ipywidgets.VBox, or a `Picture` in the built book
        To be the last line of a cell.

    Raises
    ------
    BayeslibError
        For a range, a start or a `play` that cannot be used, each named; and for a `draw` that
        draws the same settings in two ways.
    BayeslibTypeError
        If `draw` does not take the ranges' names, or does not return a Figure.

    Examples
    --------
    >>> def draw(scale):
    ...     x = np.linspace(-4.0, 4.0, 101)
    ...     fig, ax = plots.figure()
    ...     ax.plot(x, np.exp(-0.5 * (x / scale) ** 2) / scale)
    ...     ax.set(ylim=(0.0, 2.1))
    ...     return fig
    >>> widget = explore(
    ...     draw, alt="A bell, lower as it widens", labels={"scale": "scale σ"},
    ...     play="scale", scale=[0.5, 1.0, 2.0])
    >>> print(type(widget).__name__)
    VBox
    """
    story = Story(draw, alt, labels, caption, start, play, autoplay, ranges)
    if os.environ.get("BAYESLIB_PRERENDER") == "1":
        return prerender(story)
    return _live(story)


class Frame(NamedTuple):
    """One setting, drawn: its `<svg>`, the words beneath (or None), and its PNG (or None)."""

    svg: str
    caption: str | None
    png: bytes | None


class Story:
    """The checked arguments of `explore`, and how to draw one frame."""

    def __init__(self, draw, alt, labels, caption, start, play, autoplay, ranges):
        self.draw, self.alt, self.caption = draw, alt, caption
        self.values = {name: check_range(name, values) for name, values in ranges.items()}
        self.names = list(self.values)
        check_size(self.values)
        check_draw(draw, {name: values[0] for name, values in self.values.items()})
        if not callable(alt):
            check_alt(alt)
        self.labels = {name: name.replace("_", " ") for name in self.names}
        self.labels |= check_keys("labels", labels, self.names)
        self.texts = {name: texts(values) for name, values in self.values.items()}
        self.start = check_start(start, self.values)
        if play is not None and play not in self.names:
            raise BayeslibError(f"play={play!r} is not a parameter; those are {listed(self.names)}")
        if autoplay and (play is None or self.settings(self.start)[play] != self.values[play][-1]):
            raise BayeslibError(
                "autoplay=True needs a parameter to play, and start= at its last setting, where "
                "the figure comes to rest"
            )
        self.play, self.autoplay = play, autoplay

    def settings(self, index):
        """Return the keyword arguments of one frame."""
        return {name: self.values[name][i] for name, i in zip(self.names, index, strict=True)}

    def frame(self, index, *, prefix=None, png=False):
        """Draw one frame, as SVG and where asked for as PNG too."""
        from matplotlib.figure import Figure

        settings = self.settings(index)
        with style():
            fig = self.draw(**settings)
            if not isinstance(fig, Figure):
                raise BayeslibTypeError(
                    f"draw({call(settings)}) returned {kind(fig)}; it must return the Figure"
                )
            try:
                svg = to_svg(fig, self._alt(index, settings), prefix=prefix)
                image = to_png(fig) if png else None
            finally:
                close(fig)
        caption = self.caption(**settings) if callable(self.caption) else self.caption
        if not isinstance(caption, str | None):
            raise BayeslibTypeError(f"caption({call(settings)}) returned {caption!r}, not text")
        return Frame(svg, caption, image)

    def _alt(self, index, settings):
        if callable(self.alt):
            return self.alt(**settings)
        pairs = zip(self.names, index, strict=True)
        said = ", ".join(f"{self.labels[name]} = {self.texts[name][i]}" for name, i in pairs)
        return f"{self.alt} ({said})"


def _live(story):
    """Build widgets that draw a frame the first time it is asked for."""
    import ipywidgets

    drawn = {}
    picture = ipywidgets.HTML()
    controls = [_widget(ipywidgets, story, i) for i in range(len(story.names))]

    def update(_=None):
        index = tuple(control.index for control in controls)
        if index not in drawn:
            try:
                frame = story.frame(index)
            except Exception as error:
                # A callback's traceback is not shown; the old picture must not stand for this.
                said = html.escape(f"{type(error).__name__}: {error}")
                picture.value = f'<p role="alert">{said}</p>'
                raise
            drawn[index] = f"<figure>{frame.svg}{figcaption(frame.caption)}</figure>"
        picture.value = drawn[index]

    update()
    for control in controls:
        control.observe(update, "index")
    rows = [picture, *controls]
    if story.play is not None:
        control = controls[story.names.index(story.play)]
        button = ipywidgets.Play(
            min=0, max=len(control.options) - 1, value=control.index, interval=PLAY_MILLISECONDS
        )
        ipywidgets.jslink((button, "value"), (control, "index"))
        rows.append(button)
    return ipywidgets.VBox(rows)


def _widget(ipywidgets, story, i):
    name = story.names[i]
    is_text = isinstance(story.values[name][0], str)
    kind = ipywidgets.Dropdown if is_text else ipywidgets.SelectionSlider
    options = [(text, k) for k, text in enumerate(story.texts[name])]
    return kind(
        options=options,
        index=story.start[i],
        description=story.labels[name],
        style={"description_width": "initial"},
    )
