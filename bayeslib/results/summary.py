"""A table of marginals that prints in a terminal and renders in a notebook."""

from dataclasses import dataclass
from html import escape

import numpy as np

from ..errors import BayeslibError

PROBABILITIES = (0.05, 0.5, 0.95)  # of the quantiles shown
QUANTILES = tuple(f"{100 * p:g}%" for p in PROBABILITIES)


@dataclass(frozen=True)
class Summary:
    """A table of the marginals, and what is wrong with them.

    Attributes
    ----------
    title : str
        The method, the number of draws or points, and what they cost.
    columns : tuple of str
        Of `Draws`: the mean and its Monte Carlo standard error (`mcse`), the standard deviation,
        the quantiles at 5, 50 and 95 %, and where they apply the effective sample sizes (`ess`) and
        R-hat (`rhat`). A `Gaussian` has no mcse, a `Grid` has the error of its rule instead, an
        `Enumeration` only "probability".
    rows : dict
        Name of each dimension, or hypothesis: its numbers, in the order of `columns`.
    problems : tuple of str
        Why the draws are not to be trusted as they stand; empty when nothing was found.

    Examples
    --------
    >>> values = np.random.default_rng(1).normal(size=(1, 1000, 1))
    >>> summary = bl.Draws(values, names=["height"], independent=True).summary()
    >>> print(summary)
    draws: 1 × 1000 draws, 0 evaluations
              mean   mcse     sd      5%     50%    95%   ess
    height  -0.054  0.031  0.986  -1.649  -0.035  1.600  1000
    >>> round(summary["height", "sd"], 2), summary.problems
    (0.99, ())
    """

    title: str
    columns: tuple
    rows: dict
    problems: tuple = ()

    def __getitem__(self, key):
        """The number at (name, column), as ``summary["theta", "mean"]``."""
        try:
            name, column = key
            return self.rows[name][self.columns.index(column)]
        except (TypeError, LookupError, ValueError):
            known = f"{tuple(self.rows)}, {self.columns}"
            raise BayeslibError(f"give a name and a column of {known}, got {key!r}") from None

    def _cells(self):
        yield ("", *self.columns)
        for name, numbers in self.rows.items():
            pairs = list(zip(self.columns, numbers, strict=True))
            error = dict(pairs).get("mcse", np.nan)
            # as many as show two digits of the error, unless that is more than a float has
            shown = 1e-14 <= error < np.inf
            decimals = max(1 - int(np.floor(np.log10(error))), 0) if shown else None
            yield (name, *(_cell(column, number, decimals) for column, number in pairs))

    def __str__(self):
        cells = list(self._cells())
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = [self.title]
        for name, *numbers in cells:
            padded = [name.ljust(widths[0]), *map(str.rjust, numbers, widths[1:])]
            lines.append("  ".join(padded).rstrip())
        lines += [f"! {problem}" for problem in self.problems]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self):
        head, *body = self._cells()
        header = "".join(f'<th scope="col">{escape(c)}</th>' for c in head[1:])
        rows = ""
        for name, *numbers in body:
            cells = "".join(f"<td>{escape(c)}</td>" for c in numbers)
            rows += f'<tr><th scope="row">{escape(name)}</th>{cells}</tr>'
        problems = "".join(f"<li>{escape(p)}</li>" for p in self.problems)
        problems = f'<ul class="problems">{problems}</ul>' if problems else ""
        return (
            f'<table class="summary"><caption>{escape(self.title)}</caption><thead><tr>'
            f"<td></td>{header}</tr></thead><tbody>{rows}</tbody></table>{problems}"
        )


class Summarised:
    """A result that a notebook shows as its summary."""

    def _repr_html_(self):
        return self.summary()._repr_html_()


def tabulate(title, columns, names, problems=()):
    """Return the `Summary` of `columns`, a dict of arrays with one number for each name."""
    rows = {name: tuple(float(c[i]) for c in columns.values()) for i, name in enumerate(names)}
    return Summary(title, tuple(columns), rows, problems)


def _cell(column, number, decimals):
    if not np.isfinite(number):
        return str(number)
    if column.startswith("ess"):
        return f"{number:.0f}"
    if column == "rhat":
        return f"{number:.3f}"
    return f"{number:.4g}" if decimals is None or abs(number) > 1e15 else f"{number:.{decimals}f}"
