"""What the web edition shows as HTML, as LaTeX: figures stand still, tables are set."""

import hashlib
import re
from html import unescape
from pathlib import Path
from xml.etree import ElementTree

from bs4 import BeautifulSoup
from docutils import nodes
from sphinx.util import texescape

FIGURES = "figures"  # folder beside the TeX file; `press` makes a PDF of each SVG in it
SANS, SERIF = "TeX Gyre Heros, DejaVu Sans", "TeX Gyre Pagella, DejaVu Serif"
MOVES = "The figure moves in the web edition."
SVG = re.compile(r"<svg\b.*?</svg>", re.DOTALL)
MIX = re.compile(r"color-mix\(in srgb, #(\w\w)(\w\w)(\w\w) (\d+)%, currentColor\)")
PAPER = re.compile(r"var\((?:[^()]|\([^()]*\))*\)")
COLOURED = ("style", "fill", "stroke")
CHARACTER = 0.48  # em that one takes
WIDE = 92  # characters of a table that fit the page
LONG = 20  # rows of a table that is kept on one page

texescape.init()


def escape(text):
    """Return a text as TeX."""
    return texescape.escape(text, "xelatex")


def tex(source):
    """Return a node that holds TeX."""
    return nodes.raw("", source, format="latex")


def on_paper(html, folder, *, floats=False):
    """Return the nodes that stand for an output; pictures are written into `folder`.

    A table in a float (`floats`) is kept on one page, however long.
    """
    soup = BeautifulSoup(SVG.sub("", html), "html.parser")
    first = soup.find(True)
    kind = (first.get("class") or [""])[0] if first else ""
    picture = SVG.search(html)
    if picture and kind in ("explorer", "picture", "arena"):
        return [*figure(picture[0], hidden_series(soup), folder), *remarks(soup, kind)]
    if kind == "verdict":
        return verdict(first)
    return [tex(table(found, floats)) for found in soup.find_all("table")]


# ---- figures ----


def mixed(match):
    """Return a colour mixed with black."""
    share = int(match[4]) / 100
    return "#" + "".join(f"{round(int(match[k], 16) * share):02x}" for k in (1, 2, 3))


def ink(value):
    """Return the value of a style or a colour with the colours of paper."""
    value = PAPER.sub("#ffffff", MIX.sub(mixed, value)).replace("currentColor", "#000000")
    value = re.sub(r"font-family:sans-serif", f"font-family:{SANS}", value)
    return re.sub(r"font-family:serif", f"font-family:{SERIF}", value)


def still(svg, hidden=()):
    """Return a picture of a page as a file of its own, without the series called `hidden`."""
    root = ElementTree.fromstring(svg)
    for parent in list(root.iter()):
        for child in [c for c in parent if c.get("class") in hidden]:
            parent.remove(child)
        for name in COLOURED:
            if name in parent.attrib:
                parent.set(name, ink(parent.get(name)))
    root.attrib |= {"xmlns": "http://www.w3.org/2000/svg", "font-family": SANS}
    width, height = size(svg)
    root.attrib |= {"width": f"{width}pt", "height": f"{height}pt"}
    return ElementTree.tostring(root, encoding="unicode")


def size(svg):
    """Return the width and height of a picture in points."""
    return tuple(float(v) for v in re.search(r'viewBox="([^"]+)"', svg)[1].split()[2:])


def hidden_series(soup):
    """Return the classes of the series whose check box is not ticked at first."""
    boxes = soup.select('input[type="checkbox"]:not([checked])')
    return [box["id"].rpartition("-")[2] for box in boxes]


def figure(svg, hidden, folder):
    """Write a picture into the folder; return what includes it."""
    drawn = still(svg, hidden)
    name = hashlib.sha256(drawn.encode()).hexdigest()[:16]
    path = Path(folder) / FIGURES / f"{name}.svg"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(drawn, "utf-8")
    alt = unescape(re.search(r'aria-label="([^"]*)"', svg)[1])
    width = size(svg)[0]
    said = alt.encode("utf-16-be").hex().upper()
    return [tex(rf"\bookfigure{{{FIGURES}/{name}.pdf}}{{{width}bp}}{{FEFF{said}}}")]


def remarks(soup, kind):
    """Return the lines below a picture: its words and the setting that it shows."""
    if kind == "picture":
        return []
    words = [node.get_text() for node in soup.select(".explorer > figure > figcaption")]
    words += [node.get_text() for node in soup.select(".arena-note")]
    if shown := settings(soup):
        words.append(f"Shown: {'; '.join(shown)}.")
    words.append(MOVES)
    said = [word if word[-1] in ".?!" else f"{word}." for word in words if word]
    return [tex(rf"\figureremark{{{escape(' '.join(said))}}}")]


def settings(soup):
    """Return "name = value" for each control of a figure as it stands at first."""
    found = []
    for box in soup.select(".explorer-controls > div"):
        chosen = box.select_one("option[selected]") or box.select_one("output")
        found.append(f"{box.select_one('label > span').get_text()} = {chosen.get_text()}")
    for group in soup.select("fieldset"):
        for chosen in group.select('input[type="radio"][checked]'):
            label = chosen.parent.get_text().strip()
            found.append(f"{group.legend.get_text().strip()} = {label}")
    return found


# ---- words and tables ----


def is_verdict(html):
    """Tell whether an output is what a checker says."""
    return html.startswith('<div class="verdict')


def verdict(box):
    """Return what a checker says."""
    heading = box.strong.extract().get_text()
    return [nodes.paragraph("", "", nodes.strong("", heading), nodes.Text(box.get_text()))]


def table(found, floats=False):
    """Return a table as TeX."""
    rows = [row.find_all(["td", "th"]) for row in found.find_all("tr")]
    texts = [[cell.get_text().strip() for cell in row] for row in rows]
    head, *body = [[escape(text) for text in row] for row in texts]
    # a heading of the rows below it, which has no part in the widths
    across = rf"\multicolumn{{{len(head)}}}{{l}}"
    body = [row if len(row) == len(head) else [rf"{across}{{\emph{{{row[0]}}}}}"] for row in body]
    texts = [row for row in texts if len(row) == len(head)]
    caption = escape(found.caption.get_text().strip()) if found.caption else ""
    kind = "longbooktable" if len(rows) > LONG and not floats else "booktable"
    columns = "".join(widths(alignment(found, rows), texts))
    lines = " \\\\\n".join(" & ".join(row) for row in body)
    return (
        f"\\begin{{{kind}}}{{{columns}}}{{{caption}}}{{{' & '.join(head)}}}\n{lines} \\\\\n"
        f"\\end{{{kind}}}\n"
    )


def alignment(found, rows):
    """Return the columns of a table: text to the left, numbers to the right."""
    kind = found.get("class") or []
    if "summary" in kind:
        return "l" + "r" * (len(rows[0]) - 1)
    last = rows[-1]
    return "".join("r" if "number" in (cell.get("class") or []) else "l" for cell in last)


def widths(columns, texts):
    """Give columns of text a width, in which they break, where the table is wider than the page."""
    longest = [max(map(len, column)) + 2 for column in zip(*texts, strict=True)]
    breaks = [a == "l" and n > WIDE / len(columns) for a, n in zip(columns, longest, strict=True)]
    free = WIDE - sum(n for n, b in zip(longest, breaks, strict=True) if not b)
    wish = sum(n for n, b in zip(longest, breaks, strict=True) if b)
    for align, length, can in zip(columns, longest, breaks, strict=True):
        if can and wish > free:
            em = CHARACTER * max(10, free * length / wish)
            yield rf">{{\raggedright\arraybackslash}}p{{{em:.1f}em}}"
        else:
            yield align
