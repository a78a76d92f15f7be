"""A matplotlib figure as a small inline SVG that reads well on light and on dark pages.

Matplotlib's own SVG is a stand-alone black-on-white file. Inside a page it needs ink that follows
the page's text colour, ids that no other figure on the page has, a text alternative, and a
fraction of the bytes, because an interactive figure holds dozens of them.
"""

import hashlib
import io
import math
import re
from xml.etree import ElementTree

from bayeslib.errors import BayeslibError, BayeslibTypeError

HALO = "halo"  # gid of a text that must stay legible over the curves it labels

_PAPER = "var(--pst-color-background, var(--jp-layout-color0, #fff))"
_MARK = "\ue000"  # stands for the id prefix until the content, and so its hash, is known
_NUMBERS_TO_ROUND = ("x", "y", "width", "height", "cx", "cy", "r")
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_PAIRS = {"M": 1, "L": 1, "Q": 2, "C": 3}


def to_svg(fig, alt, *, prefix=None):
    """Return a figure as one inline `<svg>` element.

    Black becomes the page's text colour and white its background; a coloured text is mixed with
    the text colour until it is legible on both pages. Coordinates are rounded to 0.1 pt, text is
    left as text. Log axes that show two decades or more have these alone, in plain text, unless
    the figure set its own. The same figure and `alt` give the same bytes.

    Parameters
    ----------
    fig : matplotlib.figure.Figure
        Not closed.
    alt : str
        What the figure shows, for those who do not see it.
    prefix : str, optional
        Start of every id inside; default a hash of the content, so that two different figures on
        one page never share an id.

    Returns
    -------
    str

    Raises
    ------
    BayeslibTypeError
        If `fig` is not a figure or `alt` is not text.
    BayeslibError
        If `alt` is empty.
    """
    from matplotlib import rc_context

    check_figure(fig)
    check_alt(alt)
    _name_decades(fig)
    buffer = io.StringIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "bayeslib"}):
        fig.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    root = _parse(buffer.getvalue())
    _name_ids(root)
    _rewrite(root, in_defs=False)
    _dress(root, alt)
    text = ElementTree.tostring(root, encoding="unicode", short_empty_elements=True)
    if prefix is None:
        prefix = "f" + hashlib.sha256(text.encode()).hexdigest()[:7]
    return text.replace(_MARK, prefix)


def to_png(fig):
    """Return a figure as PNG bytes on white, for readers that take no HTML (print)."""
    buffer = io.BytesIO()
    fig.savefig(buffer, format="png", dpi=144, facecolor="white", metadata={"Software": None})
    return buffer.getvalue()


def check_alt(alt):
    """Raise unless `alt` is a text alternative that says something."""
    if not isinstance(alt, str):
        raise BayeslibTypeError(f"alt must be text that says what the figure shows, got {alt!r}")
    if not alt.strip():
        raise BayeslibError(f"alt is {alt!r}; say in a sentence what the figure shows")


def check_figure(fig):
    """Raise unless `fig` is a matplotlib Figure."""
    from matplotlib.figure import Figure

    if not isinstance(fig, Figure):
        raise BayeslibTypeError(f"fig must be a matplotlib Figure, got {kind(fig)}")


def kind(thing):
    """Return the name of a thing's type, as an error message calls it."""
    return f"{type(thing).__module__}.{type(thing).__qualname__}".removeprefix("builtins.")


def _name_decades(fig):
    """Label log axes in plain text: mathtext and small ticks are most of a frame's time."""
    from matplotlib.ticker import LogFormatter, NullLocator

    for axis in (axis for ax in fig.axes for axis in (ax.xaxis, ax.yaxis)):
        if axis.get_scale() != "log" or not isinstance(axis.get_major_formatter(), LogFormatter):
            continue
        low, high = sorted(axis.get_view_interval())
        if math.floor(math.log10(high)) > math.ceil(math.log10(low)):
            few = 5e-5 < low and high < min(2e5, 2e5 * low)
            axis.set_major_formatter("{x:,g}" if few else _power)
            axis.set_minor_locator(NullLocator())


def _power(value, _):
    return "10" + f"{math.log10(value):.0f}".translate(_RAISED)


def _parse(text):
    root = ElementTree.fromstring(text)
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        for name in [name for name in element.attrib if "}" in name]:
            element.set(name.rpartition("}")[2], element.attrib.pop(name))
        if element.tag not in ("text", "tspan"):
            element.text = None
        element.tail = None
    return root


def _name_ids(root):
    """Shorten the ids that are used and drop the others; keep the mark of a halo."""
    used = set()
    for element in root.iter():
        for value in element.attrib.values():
            used.update(re.findall(r"^#(.+)|url\(#(.+?)\)", value))
    used = {a or b for a, b in used}
    ids = [e.get("id") for e in root.iter() if e.get("id") in used]
    names = {name: f"{_MARK}{i}" for i, name in enumerate(dict.fromkeys(ids))}
    for element in root.iter():
        if "id" in element.attrib:
            name = element.attrib.pop("id")
            if name in names:
                element.set("id", names[name])
            elif name == HALO:
                for text in element.iter("text"):
                    text.set(HALO, "")
        for key in ("href", "clip-path", "mask", "filter"):
            value = element.get(key)
            if value and "#" in value:
                old = value.removeprefix("#").removeprefix("url(#").removesuffix(")")
                element.set(key, value.replace(old, names[old]))


def _rewrite(element, in_defs):
    """Rewrite one element and its descendants: colours, coordinates, groups without a purpose."""
    in_defs = in_defs or element.tag == "defs"
    children = []
    for child in element:
        if child.tag in ("metadata", "style"):
            continue
        _rewrite(child, in_defs)
        if child.get("style") == "fill:none":
            continue  # neither filled nor stroked
        if child.tag in ("g", "defs") and not child.attrib and (child.tag == "g" or not len(child)):
            children.extend(child)
        else:
            children.append(child)
    element[:] = children
    if "d" in element.attrib:
        element.set("d", _path(element.get("d"), digits=2 if in_defs else 1))
    for name in _NUMBERS_TO_ROUND:
        value = element.get(name)
        if value and element.tag != "tspan" and re.fullmatch(r"-?[\d.]+(e-?\d+)?", value):
            element.set(name, _number(round(float(value), 1)))
    if "transform" in element.attrib:
        _transform(element)
    if "style" in element.attrib:
        _style(element)
    _hoist_style(element)


def _path(d, digits):
    """Write a path with relative coordinates, rounded without accumulating error."""
    tokens = d.split()
    unit = 10**digits
    out, last, here, start, i = [], "", (0, 0), (0, 0), 0
    while i < len(tokens):
        command = tokens[i]
        i += 1
        if command in "zZ":
            out.append("z")
            last, here = "z", start
            continue
        points = []
        for _ in range(_PAIRS[command]):
            points.append((round(float(tokens[i]) * unit), round(float(tokens[i + 1]) * unit)))
            i += 2
        # After an m, further pairs are lines: the letter can be left out.
        letter = "" if (last == command and command != "M") or (last + command == "ML") else command
        numbers = ""
        for x, y in points:
            for step in (x - here[0], y - here[1]):
                numbers += ("" if step < 0 else " ") + _number(step / unit)
        out.append(letter.lower() + (numbers if not letter else numbers.lstrip()))
        last, here = command, points[-1]
        if command == "M":
            start = here
    return "".join(out)


def _number(value):
    text = f"{value:.6g}"
    if text in ("-0", "0"):
        return "0"
    return re.sub(r"^(-?)0\.", r"\1.", text)


def _transform(element):
    text = re.sub(r"rotate\(-?0( [^)]*)?\)", "", element.get("transform")).strip()
    text = re.sub(
        r"(translate|rotate)\(([^)]*)\)",
        lambda m: f"{m[1]}({' '.join(_number(round(float(v), 1)) for v in m[2].split())})",
        text,
    )
    if text:
        element.set("transform", text)
    else:
        del element.attrib["transform"]


def _style(element):
    is_text = element.tag in ("text", "tspan")
    pairs = (rule.partition(":") for rule in element.get("style").split(";"))
    rules = {name.strip(): value.strip() for name, _, value in pairs}
    for name in ("fill", "stroke"):
        color = rules.get(name)
        if color == "#000000":
            rules[name] = "currentColor"
        elif color == "#ffffff" and not is_text:
            rules[name] = _PAPER
        elif color and is_text and color.startswith("#") and color != "#ffffff":
            rules[name] = f"color-mix(in srgb, {color} {TEXT_SHARE}%, currentColor)"
    family = rules.pop("font-family", None)
    if family and element.tag == "tspan":  # set glyph by glyph: needs a font of its own
        rules["font-family"] = "serif" if "Serif" in family else "sans-serif"
    if HALO in element.attrib:
        del element.attrib[HALO]
        rules |= {"paint-order": "stroke", "stroke": _PAPER, "stroke-width": "3px"}
    element.set("style", ";".join(f"{name}:{value}" for name, value in rules.items()))


TEXT_SHARE = 60  # per cent of its own colour in a coloured text; the rest is the page's text colour


def _hoist_style(group):
    """Give a group the style that all its marks repeat; opacity is not inherited and stays."""
    styles = {child.get("style") for child in group}
    if group.tag != "g" or "style" in group.attrib or len(group) < 2 or len(styles) != 1:
        return
    style = styles.pop()
    if style and not re.search(r"(^|;)opacity:", style) and {c.tag for c in group} == {"use"}:
        group.set("style", style)
        for child in group:
            del child.attrib["style"]


def _dress(root, alt):
    width, height = (float(v) for v in root.get("viewBox").split()[2:])
    view_box = root.get("viewBox")
    root.attrib.clear()
    root.attrib.update(
        {
            "role": "img",
            "aria-label": " ".join(alt.split()),
            "viewBox": view_box,
            "width": f"{width * 4 / 3:.0f}",
            "height": f"{height * 4 / 3:.0f}",
            "fill": "currentColor",
            "style": "max-width:100%;height:auto;stroke-linejoin:round;stroke-linecap:butt",
        }
    )
