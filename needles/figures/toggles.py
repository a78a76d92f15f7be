"""A figure whose series the reader switches on and off, with neither kernel nor script."""

import hashlib
import html
import itertools
import re

from bayeslib.errors import BayeslibError

from ..plots import Picture, close, style
from .apart import keep_apart
from .ranges import call
from .svg import to_png, to_svg

_BARE = "margin:0;padding:0;border:0;min-width:0"
_MARKS = {"o": "●", "s": "■", "D": "◆", "^": "▲", "v": "▼", "P": "✚", "X": "✖"}  # of matplotlib
_ROW = "display:flex;flex-wrap:wrap;gap:.1rem 1rem;align-items:center"


def toggles(draw, groups, *, alt, shown=None, labelled=False, **choices):
    """Show a figure whose reader chooses which series to compare.

    Every series is drawn into the page; check boxes hide and show them by style sheet alone, folded
    by group above the figure. A browser that does not know the rule shows all series, and print
    shows what the page shows.

    Parameters
    ----------
    draw : callable
        ``draw(**choice)`` returns a matplotlib Figure and a dict of the artists (curves and their
        labels) of each series in it. A series may be absent from some figures.
    groups : dict of str to sequence of str
        The series by group, in the order of their check boxes.
    alt : str or callable
        What the figure shows, for readers who do not see it; ``alt(**choice)`` for each figure.
    shown : sequence of str, optional
        The series that are visible at first; default all.
    labelled : bool
        Whether the first artist of each series is its curve, and the last a label to the right of
        the curve's end, at the same height. The labels of the ticked series are then kept apart,
        and a dotted line leads to each.
    **choices : sequence of str
        Menus, each with its settings; a figure is drawn for each combination, and the first of each
        is shown first. An underscore in a name is a space on the page.

    Returns
    -------
    Picture

    Raises
    ------
    BayeslibError
        For a series that is in two groups, or to be shown and in none.
    """
    names = [name for group in groups.values() for name in group]
    shown = names if shown is None else list(shown)
    _check(names, shown)
    panels, looks, png = [], {}, None
    for index in itertools.product(*(range(len(values)) for values in choices.values())):
        choice = {name: choices[name][i] for name, i in zip(choices, index, strict=True)}
        words = alt(**choice) if callable(alt) else alt
        with style():
            svg, image, rules = _layers(
                draw, choice, names, shown, words, looks, labelled, png is None
            )
        png = png or image
        tags = " ".join(f"c{c}-{i}" for c, i in enumerate(index))
        rules = rules and f' style="{rules}"'
        panels.append(f'<div class="{tags}"{rules}>{svg}</div>')
    return Picture(_page(panels, groups, names, shown, choices, looks, labelled), png)


def _check(names, shown):
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise BayeslibError(f"the series {twice} are in two groups; name each once")
    unknown = [name for name in shown if name not in names]
    if unknown:
        raise BayeslibError(f"shown={unknown} are no series; those are {names}")


def _layers(draw, choice, names, shown, words, looks, labelled, wants_png):
    """Draw one figure as an svg with a group for each series; note colour and line of each."""
    fig, series = draw(**choice)
    try:
        fig.draw_without_rendering()
        fig.set_layout_engine("none")
        ours = {artist for artists in series.values() for artist in artists}
        rest = {child for ax in fig.axes for child in ax.get_children()} - ours
        rest = {artist for artist in rest if artist.get_visible()}
        image, (rules, drawn) = None, ("", {})
        if labelled:
            rules, drawn = keep_apart(fig, series, names, shown)
        if wants_png:
            _show(ours, [a for name in series if name in shown for a in series[name]])
            image = to_png(fig)
        _show(ours, [])
        seed = f"{words} {call(choice)}".encode()
        prefix = "t" + hashlib.sha256(seed).hexdigest()[:7]  # every layer's ids are its own
        base = to_svg(fig, words, prefix=f"{prefix}b")
        _show(rest, [])
        layers = ""
        for name, artists in series.items():
            _show(ours, artists)
            dashed = getattr(artists[0], "get_linestyle", str)() == "--"
            line = "dashed" if dashed else "solid"
            looks.setdefault(name, (artists[0].get_color(), line, _mark(artists)))
            k = names.index(name)
            inner = _inside(to_svg(fig, name, prefix=f"{prefix}s{k}i"))
            if labelled:
                leader, style = drawn[name]
                moved = rf'<g style="{style}">\g<0></g>'
                inner = leader + re.sub(r"<text\b.*</text>", moved, inner, flags=re.S)
            layers += f'<g class="s{k}">{inner}</g>'
        return base.removesuffix("</svg>") + layers + "</svg>", image, rules
    finally:
        close(fig)


def _show(artists, visible):
    for artist in artists:
        artist.set_visible(artist in visible)


def _mark(artists):
    """The first mark of a series as a character, or nothing."""
    marks = (getattr(artist, "get_marker", str)() for artist in artists)
    return next((_MARKS[mark] for mark in marks if mark in _MARKS), "")


def _inside(svg):
    return svg[svg.index(">") + 1 : svg.rindex("</svg>")]


def _page(panels, groups, names, shown, choices, looks, labelled):
    key = "t" + hashlib.sha256("".join(panels).encode()).hexdigest()[:7]
    controls = [f"s{k}" for k in range(len(names))]
    controls += [
        f"c{c}-{i}" for c, values in enumerate(choices.values()) for i in range(len(values))
    ]
    rules = "".join(
        f"#{key}:has(#{key}-{name}:not(:checked)) .{name}{{display:none}}" for name in controls
    )
    menus = "".join(
        _fieldset(
            name.replace("_", " "),
            (_input(key, f"c{c}-{i}", text, not i, group=c) for i, text in enumerate(values)),
        )
        for c, (name, values) in enumerate(choices.items())
    )
    boxes = "".join(
        _fold(
            key,
            group,
            (
                _input(key, f"s{names.index(name)}", name, name in shown, look=looks[name])
                for name in members
            ),
        )
        for group, members in groups.items()
    )
    if labelled:
        rules += "".join(
            f"#{key}:has(#{key}-s{k}:not(:checked)){{--s{k}:0}}" for k in range(len(names))
        )
    rules += f"#{key} details[open]{{flex-basis:100%}}"
    lit = f"#{key} svg:has(>g[class]:hover)>g[class]"
    rules += f"{lit}:not(:hover){{opacity:.2}}"
    # `data-live` keeps the explorers' script away: nothing here is scripted.
    return (
        f'<div class="explorer" id="{key}" data-live=""><style>{rules}</style>{menus}'
        f'<div style="{_ROW}">{boxes}</div>'
        f'<figure style="margin:.5rem 0">{"".join(panels)}</figure></div>'
    )


def _fold(key, group, inputs):
    """Boxes of a group; one group is open at a time, so that they and the figure fit a screen."""
    return (
        f'<details name="{key}" style="text-align:left"><summary style="line-height:2.75rem;'
        f'font-size:.9em;font-weight:600">{html.escape(group)}</summary>'
        f'<div role="group" aria-label="{html.escape(group)}" '
        f'style="{_ROW}">{"".join(inputs)}</div></details>'
    )


def _fieldset(legend, inputs):
    return (
        f'<fieldset style="{_BARE}"><legend style="{_BARE};font-size:.9em;font-weight:600;'
        f'text-align:left;float:none;width:auto">{html.escape(legend)}</legend>'
        f'<div style="{_ROW}">{"".join(inputs)}</div></fieldset>'
    )


def _input(key, name, text, checked, *, group=None, look=None):
    kind = 'type="checkbox"' if group is None else f'type="radio" name="{key}-{group}"'
    swatch = ""
    if look is not None:
        color, line, mark = look
        ink = "currentColor" if color in ("#000000", "k", "black") else color
        swatch = (
            '<span aria-hidden="true" style="display:inline-block;width:1.2rem;'
            f'border-top:.2rem {line} {ink}"></span>'
            + f'<span aria-hidden="true" style="color:{ink}">{mark}</span>'
            * bool(mark)
        )
    return (
        '<label style="display:flex;align-items:center;gap:.4rem;margin:0;min-height:2.75rem;'
        f'font-size:.9em"><input {kind} id="{key}-{name}"{" checked" * checked} '
        f'autocomplete="off" style="width:1.1rem;height:1.1rem;margin:0">{swatch}'
        f"<span>{html.escape(text)}</span></label>"
    )
