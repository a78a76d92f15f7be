"""Numbers that the prose of a page quotes, and tables of what a page computes."""

import numbers
from html import escape

import numpy as np

from bayeslib.errors import BayeslibError, BayeslibTypeError
from bayeslib.results import Estimate

# The marks by which MyST-NB finds what `{glue:text}` quotes; written here, because readers who
# only run a notebook have no MyST-NB.
_PREFIX = "application/papermill.record/"
_LONG = 16  # characters of a cell that deserves some width


def record(**values):
    """Keep numbers and texts for the page's prose, which quotes them as ``{glue:text}`name```.

    Parameters
    ----------
    **values : float, int, str, numpy scalar, or Estimate
        An `Estimate` is kept as its text, value ± error; arrays of one number as that number.

    Raises
    ------
    BayeslibTypeError
        For anything else, named.
    """
    from IPython.display import display

    for name, value in values.items():
        data = {_PREFIX + "text/plain": _plain(name, value)}
        display(data, raw=True, metadata={"scrapbook": {"name": name, "mime_prefix": _PREFIX}})


def _plain(name, value):
    if isinstance(value, Estimate):
        value = str(value).strip("[]").replace(" ± ", "\u00a0±\u00a0")
    if isinstance(value, str):
        return repr(value)
    if isinstance(value, np.ndarray) and value.size == 1:
        value = value.item()
    if isinstance(value, numbers.Integral) and not isinstance(value, bool):
        return repr(int(value))
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        return repr(float(value))
    raise BayeslibTypeError(f"{name} must be a number, a text or an Estimate, got {value!r}")


class Table:
    """A table ready for a page: HTML where that is read, aligned text elsewhere."""

    def __init__(self, html, text):
        self.html = html
        self.text = text

    def __repr__(self):
        return self.text

    def _repr_html_(self):
        return self.html


def table(columns, rows, *, caption, align=""):
    """Show rows of text as the last line of a cell; the first of each row is its heading.

    On a narrow screen the table scrolls by itself, by touch and by keyboard.

    Parameters
    ----------
    columns : sequence of str
        Their headings.
    rows : sequence of sequence
        One cell a column.
    caption : str
        What the table shows.
    align : str
        A letter a column, "l" or "r" (for numbers); the left by default.

    Returns
    -------
    Table

    Raises
    ------
    BayeslibError
        If a row has not one cell a column, or the caption says nothing.
    """
    columns, rows = list(columns), [list(row) for row in rows]
    if not caption.strip():
        raise BayeslibError("caption must say what the table shows")
    for row in rows:
        if len(row) != len(columns):
            raise BayeslibError(f"a row of {len(row)} cells under {len(columns)} columns: {row}")
    align = align.ljust(len(columns), "l")
    head = "".join(
        f'<th scope="col"{_side(a)}>{escape(text)}</th>'
        for text, a in zip(columns, align, strict=True)
    )
    body = "".join(f"<tr>{''.join(map(_table_cell, range(len(r)), r, align))}</tr>" for r in rows)
    html = (
        f'<div class="tabular" role="region" tabindex="0" aria-label="{escape(caption)}">'
        f'<table class="table"><caption>{escape(caption)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )
    return Table(html, f"{caption}\n{aligned([columns, *rows], align)}")


def _table_cell(place, cell, align):
    if place == 0:
        return f'<th scope="row"{_side(align, cell)}>{escape(str(cell))}</th>'
    return f"<td{_side(align, cell)}>{escape(str(cell))}</td>"


def _side(align, cell=""):
    if align == "r":
        return ' class="number"'
    return ' class="long"' if isinstance(cell, str) and len(cell) > _LONG else ""


def aligned(rows, align):
    """Return rows of cells as lines of text, in columns."""
    rows = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    put = {"l": str.ljust, "r": str.rjust}
    return "\n".join(
        "  ".join(put[a](c, w) for c, w, a in zip(row, widths, align, strict=True)).rstrip()
        for row in rows
    )


def tables(parts, data):
    """Return as text what each of some functions makes of the data: (columns, rows, align).

    The docstring of a function is the caption of its table.
    """
    made = []
    for part in parts:
        columns, rows, align = part(data)
        made.append(table(columns, rows, caption=part.__doc__, align=align).text)
    return made
