"""Wrong programs: a right one with a line changed, and which checks catch it."""

import inspect
import linecache
from html import escape
from itertools import count
from textwrap import dedent

from bayeslib.errors import BayeslibError, BayeslibTypeError

from .prose import aligned

_copies = count()
WORDS = {True: "caught", False: "passes", None: "–"}
KINDS = {True: "caught", False: "passes", None: "none"}


def plant(function, right, wrong):
    """Return a copy of a function with some of its lines changed.

    Parameters
    ----------
    function : callable
        Written in Python, its source at hand; it may itself have been planted.
    right, wrong : str
        The text as it stands, once, and as it will be. Further lines of `wrong` are indented as the
        first.

    Returns
    -------
    callable
        With the same globals and defaults as the original.

    Raises
    ------
    BayeslibError
        If the text does not occur exactly once.

    Examples
    --------
    >>> from textwrap import dedent
    >>> from needles.specimens import plant
    >>> average = plant(dedent, "text = ", "words = ")
    Traceback (most recent call last):
    ...
    bayeslib.errors.BayeslibError: 'text = ' stands 2 times in dedent, not once
    """
    source = dedent(inspect.getsource(function))
    times = source.count(right)
    if times != 1:
        raise BayeslibError(f"{right!r} stands {times} times in {function.__name__}, not once")
    line = next(line for line in source.splitlines() if right.splitlines()[0] in line)
    indent = line[: len(line) - len(line.lstrip())]
    source = source.replace(right, dedent(wrong).replace("\n", f"\n{indent}"))
    name = f"<{function.__name__}, planted {next(_copies)}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    place = dict(function.__globals__)
    exec(compile(source, name, "exec"), place)  # the caller's own program, changed by the caller
    return place[function.__name__]


class Findings:
    """A table of verdicts, specimen by check, filled in as a page runs.

    Parameters
    ----------
    *checks : str
        Names of the checks, the columns in their order.

    Examples
    --------
    >>> from needles.specimens import Findings
    >>> zoo = Findings("R-hat", "z")
    >>> zoo.judge("no accept step", {"R-hat": False, "z": [True, False, True, False]})
                    R-hat   z
    no accept step  passes  2 of 4
    """

    def __init__(self, *checks):
        self.checks, self.rows = checks, {}

    def judge(self, specimen, verdicts):
        """Add a row and return it as a table of its own.

        Parameters
        ----------
        specimen : str
        verdicts : dict
            For each check that applies, whether it caught the specimen, or a list of that for
            each time it was tried. A check left out is one that does not apply.

        Returns
        -------
        Findings

        Raises
        ------
        BayeslibError
            If a check is not one of the columns.
        BayeslibTypeError
            If a verdict is neither True nor False nor a list of these.
        """
        if unknown := set(verdicts) - set(self.checks):
            raise BayeslibError(f"no column for {sorted(unknown)}; there are {self.checks}")
        verdicts = {check: _summed_up(check, caught) for check, caught in verdicts.items()}
        self.rows[specimen] = {check: verdicts.get(check) for check in self.checks}
        return self.part(specimen)

    def part(self, *specimens):
        """Return the table of some specimens, with the checks that apply to any of them."""
        rows = {name: self.rows[name] for name in specimens}
        part = Findings(
            *(c for c in self.checks if any(row[c] is not None for row in rows.values()))
        )
        part.rows = {name: {c: row[c] for c in part.checks} for name, row in rows.items()}
        return part

    def __getitem__(self, key):
        """The verdict of (specimen, check): True, False, "2 of 4", or None if it does not apply."""
        specimen, check = key
        return self.rows[specimen][check]

    def blind(self, check):
        """Return the specimens that a check looked at and let pass, each time."""
        return [name for name, row in self.rows.items() if row[check] is False]

    def __str__(self):
        rows = [(name, *(_word(row[c]) for c in self.checks)) for name, row in self.rows.items()]
        return aligned([("", *self.checks), *rows], "l" * (len(self.checks) + 1))

    __repr__ = __str__

    def _repr_html_(self):
        head = "".join(f'<th scope="col">{escape(check)}</th>' for check in self.checks)
        body = "".join(self._html_row(name, row) for name, row in self.rows.items())
        return (
            f'<table class="findings"><thead><tr><td></td>{head}</tr></thead>'
            f"<tbody>{body}</tbody></table>"
        )

    def _html_row(self, name, row):
        cells = "".join(
            f'<td class="{KINDS.get(row[c], "sometimes")}">{_word(row[c])}</td>'
            for c in self.checks
        )
        return f'<tr><th scope="row">{escape(name)}</th>{cells}</tr>'


def _word(verdict):
    return WORDS.get(verdict, verdict)


def _summed_up(check, caught):
    """Return True, False, or how often of several times as words."""
    times = list(caught) if isinstance(caught, list) else [caught]
    if not times or any(one not in (True, False) for one in times):
        raise BayeslibTypeError(f"{check} must be True or False or a list of these, got {caught!r}")
    if len({bool(one) for one in times}) == 1:
        return bool(times[0])
    return f"{sum(times)} of {len(times)}"
