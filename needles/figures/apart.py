"""Labels at the ends of curves, kept apart by style sheet: over the ticked curves alone.

Labels are pushed down, one by the other, and up; the mean of the two is nearest to the ends. Style
sheets can do that sum: whether series k is ticked is their variable `--sk`, one or zero.
"""

import re
from contextlib import contextmanager

SPACE = 1.1  # between the middles of two labels, in font sizes


def ends_of(fig, series):
    """Where the label of each series stands, and where its curve ends, in points from the top."""
    found, height = {}, fig.get_figheight() * 72
    for name, artists in series.items():
        curve, label = artists[0], artists[-1]
        at = [
            curve.get_transform().transform(curve.get_xydata()[-1]),
            label.get_transform().transform(label.get_position()),
        ]
        (x, _), (edge, y) = (p * 72 / fig.dpi for p in at)
        found[name] = (x, edge, height - y, label.get_fontsize() * SPACE)
    return found


def limits_of(fig):
    """Top and bottom of the axes, in points from the top."""
    box, height = fig.axes[0].get_window_extent(), fig.get_figheight() * 72
    return height - box.y1 * 72 / fig.dpi, height - box.y0 * 72 / fig.dpi


def sums(ends, names, limits):
    """Return variables of a style sheet, and of each series the sum that places its label."""
    order = sorted(ends, key=lambda name: ends[name][2])
    (top, bottom), last = limits, len(order) - 1
    rules, places = [], {}
    for i, name in enumerate(order):
        *_, end, space = ends[name]
        before = f"{space:.1f}*var(--s{names.index(order[i - 1])},1)"
        after = f"{space:.1f}*var(--s{names.index(order[min(i + 1, last)])},1)"
        rules += [
            f"--d{i}:" + (f"max({end:.1f},var(--d{i - 1}) + {before})" if i else f"{end:.1f}"),
            f"--t{i}:" + (f"var(--t{i - 1}) + {before}" if i else f"{top + space / 2:.1f}"),
        ]
        if i == last:
            rules += [f"--u{i}:{end:.1f}", f"--b{i}:{bottom - space / 2:.1f}"]
        else:
            rules += [
                f"--u{i}:min({end:.1f},var(--u{i + 1}) - {after})",
                f"--b{i}:var(--b{i + 1}) - {after}",
            ]
        between = f"(var(--d{i}) + var(--u{i}))/2"
        places[name] = f"max(var(--t{i}),min(var(--b{i}),{between})) - {end:.1f}"
    return ";".join(rules), places


def shifts(ends, shown, limits):
    """The same sums for the series `shown`, as numbers: how far down each label is moved."""
    order = sorted((name for name in ends if name in shown), key=lambda name: ends[name][2])
    down, up = {}, {}
    for pushed, sign, names in ((down, 1, order), (up, -1, order[::-1])):
        for i, name in enumerate(names):
            *_, end, space = ends[name]
            pushed[name] = sign * end
            if i:
                pushed[name] = max(sign * end, pushed[names[i - 1]] + space)
    (top, bottom), n, moved = limits, len(order), {}
    for i, name in enumerate(order):
        *_, end, space = ends[name]
        y = min((down[name] - up[name]) / 2, bottom - (n - i - 0.5) * space)
        moved[name] = max(y, top + (i + 0.5) * space) - end
    return moved


@contextmanager
def moved_down(fig, series, moved):
    """Move labels while the figure is drawn without a style sheet."""
    from matplotlib.transforms import ScaledTranslation

    labels = [(series[name][-1], by) for name, by in moved.items()]
    before = [label.get_transform() for label, _ in labels]
    for label, by in labels:
        down = ScaledTranslation(0, -by / 72, fig.dpi_scale_trans)
        label.set_transform(label.get_transform() + down)
    yield
    for (label, _), transform in zip(labels, before, strict=True):
        label.set_transform(transform)


def apart(inner, end, place, moved, color):
    """Move the label in the layer of a series, and lead a dotted line to it from its curve.

    A reader of svg that knows no sums (print) takes the attributes, which are of the series shown.
    """
    x, edge, y, _ = end
    x, edge = x + 5, edge - 3
    slope, ink = f"({place})/{edge - x:.1f}", "currentColor" if color == "#000000" else color
    fixed = moved / (edge - x)
    leader = (
        f'<path d="M{x:.1f} {y:.1f}H{edge:.1f}" '
        f'transform="matrix(1 {fixed:.4f} 0 1 0 {-x * fixed:.2f})" '
        f'style="fill:none;stroke:{ink};stroke-width:.7;stroke-dasharray:.7 1.2;'
        f'transform:matrix(1,calc({slope}),0,1,0,calc({-x:.1f}*{slope}))"/>'
    )
    style = f"transform:translate(0,calc(1px*({place})))"
    label = rf'<g transform="translate(0 {moved:.1f})" style="{style}">\1</g>'
    return leader + re.sub(r"(<text\b.*?</text>)", label, inner, flags=re.S)
