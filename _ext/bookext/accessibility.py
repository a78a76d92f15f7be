"""Mends of the theme's pages that readers with assistive technology need."""

import re

MENDS = [
    # the visible text already names the search button; another name must contain it
    (re.compile(r'(<button[^>]*search-button-field[^>]*?) aria-label="[^"]*"'), r"\1"),
    # a list of references whose items are not list items
    (re.compile(r'<div role="list" class="citation-list">'), '<div class="citation-list">'),
    (re.compile(r' role="doc-biblioentry"'), ""),
    # the logo lies outside every landmark
    (
        re.compile(r'<div class="sidebar-primary-item">\s*(?=<a class="navbar-brand)'),
        '<div class="sidebar-primary-item" role="region" aria-label="Book">',
    ),
    # the empty corner of a table heads nothing
    (re.compile(r'<th class="head([^"]*)">(?:<p></p>)?</th>'), r'<td class="head\1"></td>'),
    # every theorem, exercise and solution carries the same id
    (
        re.compile(
            r'<section( class="[\w-]+-content")? id="(?:proof|exercise|solution)-content">(.*?)'
            r"</section>",
            re.DOTALL,
        ),
        r"<div\1>\2</div>",
    ),
    (re.compile(r'(<(?:div|details) class="proof[^"]*") id="proof(?:-\d+)?"'), r"\1"),
    # a fold's name is what it shows
    (re.compile(r'<summary aria-label="Toggle hidden content">'), "<summary>"),
    # theorems, algorithms and exercises are headings to a screen reader, and have an address
    (
        re.compile(
            r'(<div class="[^"]*\b(?:proof|exercise)\b[^"]*" id="([\w-]+)">\s*'
            r'<p class="admonition-title")(>(?:(?!</p>|headerlink).)*)(?=</p>)',
            re.DOTALL,
        ),
        r'\1 role="heading" aria-level="3"\3'
        r'<a class="headerlink" href="#\2" title="Link to this box">#</a>',
    ),
    # the pages below a page fold behind a button without a name
    (
        re.compile(r'<summary>(?=<span class="toctree-toggle")'),
        '<summary aria-label="Pages of this part">',
    ),
    # the lines of a signature are a definition list without terms
    (
        re.compile(r'<dl>\s*((?:<dd><em class="sig-param">.*</dd>\s*)+)</dl>'),
        r'<span class="sig-list">\1</span>',
    ),
    (re.compile(r'<dd>(<em class="sig-param">.*)</dd>'), r'<span class="sig-item">\1</span>'),
]

# a heading that is one formula, which has a sound in few screen readers and in no checker
FORMULA_HEADING = re.compile(
    r'(<th class="head[^"]*"><p>)(<span class="math">(?:(?!</th>).)*?'
    r'<annotation encoding="application/x-tex">((?:(?!</th>).)*?)</annotation>'
    r"(?:(?!</th>).)*?</span>)(</p></th>)",
    re.DOTALL,
)


def _say_heading(match):
    words = re.sub(r"[\\{}]", "", match[3]).strip()
    spoken = f'<span class="visually-hidden">{words}</span>'
    return f'{match[1]}{spoken}<span aria-hidden="true">{match[2]}</span>{match[4]}'


def mend(html):
    """Return `html` with every mend applied."""
    for pattern, replacement in MENDS:
        html = pattern.sub(replacement, html)
    return FORMULA_HEADING.sub(_say_heading, html)
