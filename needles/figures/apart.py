"""Labels at the ends of curves, kept apart by style sheet: over the ticked curves alone.

Labels are pushed down, one by the other, and up; the mean of the two is nearest to the ends. Style
sheets can do that sum, and Python reads the same text: in it, `s3` is one if series 3 is ticked.
"""

import re

SPACE = 1.1  # between the middles of two labels, in font sizes


def keep_apart(fig, series, names, shown):
    """Move the labels of the series shown; return what a style sheet needs to do it for any.

    Returns
    -------
    rules : str
        Variables, for what holds the figure.
    drawn : dict of str to (str, str)
        Of each series a dotted line, from its curve to its label, and the label's style.
    """
    from matplotlib.transforms import ScaledTranslation

    scale, height = 72 / fig.dpi, fig.get_figheight() * 72
    box, ends = fig.axes[0].get_window_extent(), []
    for name, (curve, *_, label) in series.items():
        x, _ = curve.get_transform().transform(curve.get_xydata()[-1]) * scale
        edge, y = label.get_transform().transform(label.get_position()) * scale
        ends.append((height - y, names.index(name), x + 5, edge - 3))
        space = label.get_fontsize() * SPACE
    ends.sort()
    top, bottom = height - box.y1 * scale + space / 2, height - box.y0 * scale - space / 2
    known, rules, drawn = {f"s{k}": name in shown for k, name in enumerate(names)}, [], {}

    def let(name, text):
        known[name] = eval(text, known)
        rules.append(f"--{name}:{css(text)}")

    let("s", "0")
    for pushed, wall, pick, start, gap, order in (
        ("d", "t", "max", top, space, ends),
        ("u", "b", "min", bottom, -space, ends[::-1]),
    ):
        let(pushed, f"{start:.1f}")
        let(wall, f"{start:.1f}")
        last = ""
        for end, k, *_ in order:
            step = f"{last} + {gap:.1f}*s{last}"
            let(f"{pushed}{k}", f"{pick}({end:.1f},{pushed}{step})")
            let(f"{wall}{k}", f"{wall}{step}")
            last = k
    for end, k, x, edge in ends:
        curve, *_, label = series[names[k]]
        place = f"max(t{k},min(b{k},(d{k} + u{k})/2)) - {end:.1f}"
        by, color = eval(place, known), curve.get_color()
        down = ScaledTranslation(0, -by / 72, fig.dpi_scale_trans)
        label.set_transform(label.get_transform() + down)
        more, ink = f"({css(place)} - {by:.1f})", "currentColor" if color == "#000000" else color
        slope = f"{more}/{edge - x:.1f}"
        leader = (
            f'<path d="M{x:.1f} {end:.1f}L{edge:.1f} {end + by:.1f}" style="fill:none;'
            f"stroke:{ink};stroke-width:.7;stroke-dasharray:.7 1.2;"
            f'transform:matrix(1,calc({slope}),0,1,0,calc({-x:.1f}*{slope}))"/>'
        )
        drawn[names[k]] = leader, f"transform:translate(0,calc(1px*{more}))"
    return ";".join(rules), drawn


def css(text):
    """Return a sum as a style sheet has it."""
    return re.sub(r"\b([a-z]\d*)\b", r"var(--\1,1)", text)
